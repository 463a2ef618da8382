//! `workflow.repair_and_rerun`: a workflow that failed is corrected and run anew.

use milepost_engine::state::{End, State};
use milepost_model::problem::{Code, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::author_and_run::{checked, mend};
use super::{Orchestration, errand};
use crate::call::Call;
use crate::later::Later;
use crate::operation::Door;
use crate::run::journal::{self, Source, of_runs};
use crate::run::view::RunView;
use crate::tool::{Task, Tool};
use crate::workflow;
use crate::workflow::validate::of_document;
use crate::writer::Writer;

/// Corrects a workflow and runs it.
#[derive(Debug)]
pub struct RepairAndRerun;

/// What failed.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// A run that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Or a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// The corrected text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repaired_manifest: Option<String>,
    /// Inputs; those of the run unless given.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
}

/// What is to be corrected.
struct Broken {
    text: String,
    /// What is known to be wrong with it beside what validation finds.
    why: String,
    inputs: Map<String, Value>,
}

impl Later for RepairAndRerun {
    type Request = Request;
    type Response = RunView;
    type Hands = Writer;

    const NAME: &'static str = "workflow.repair_and_rerun";
    const TITLE: &'static str = "Correct a workflow and run it";
    const DESCRIPTION: &'static str = include_str!("repair_and_rerun.md");
    const DOORS: &'static [Door] = &[Door::Tool(Tool::FULL.calls_out().task(Task::Required))];

    async fn run(writer: &Writer, call: &dyn Call, request: Request) -> Result<RunView, Problem> {
        let broken = match (request.run_id, request.manifest) {
            (Some(run), None) => failed(writer, &run)?,
            (None, Some(text)) => Broken { text, why: String::new(), inputs: Map::new() },
            _ => {
                let hint = "name the run that failed";
                let message = "give either `run_id` or `manifest`";
                return Err(Problem::new(Code::ParamsInvalid, message, hint));
            }
        };
        let keeps = super::keeps(writer, &broken.text, None)?;
        let subject = match &request.repaired_manifest {
            Some(text) => checked(writer, text).await,
            None if broken.why.is_empty() => checked(writer, &broken.text).await,
            None => super::Subject::Drafted(prompt(writer, &broken).await),
        };
        let mut inputs = broken.inputs;
        inputs.extend(request.inputs);
        let orchestration = Orchestration {
            id: "milepost.repair-and-rerun",
            title: Self::TITLE,
            subject,
            keeps,
            inputs,
        };
        orchestration.begin(writer, call).await
    }

    fn example() -> Request {
        let run_id = Some("run_00000000000000000000000001".to_owned());
        Request { run_id, ..Request::default() }
    }
}

/// A run that failed.
fn failed(writer: &Writer, run: &str) -> Result<Broken, Problem> {
    let drive = writer.drive()?;
    let run = drive.inner.sight.find(run)?;
    let runs = &drive.inner.runs;
    let loaded = journal::load(runs, &run)?;
    let text = Source::text(runs, loaded.row.text).map_err(|error| of_runs(&error))?;
    let text = text.ok_or_else(|| journal::damaged(&run, "its text is gone"))?;
    let Some(End::Failed(failure)) = &loaded.state.end else {
        let message = format!("run `{run}` has not failed");
        let hint = "look at it with workflow.status; only what failed is corrected";
        return Err(Problem::new(Code::RunConflict, message, hint).context("run_id", run.as_str()));
    };
    let details = failure.context.as_deref().map(|details| json!(details).to_string());
    let details = details.map(|details| format!("\n  {details}")).unwrap_or_default();
    let why = format!("- the run failed: {} ({}){details}", failure.message, failure.hint);
    Ok(Broken { text, why, inputs: plain(&loaded.state) })
}

/// The inputs of a run but its secrets, which only whoever gave them knows.
fn plain(state: &State) -> Map<String, Value> {
    let head = &state.head;
    let plain = head.inputs.iter().filter(|(name, _)| !head.secrets.contains(*name));
    plain.map(|(name, value)| (name.clone(), value.clone())).collect()
}

async fn prompt(writer: &Writer, broken: &Broken) -> String {
    let seen = of_document(&workflow::read(&writer.reader, broken.text.as_bytes(), None));
    let errors = format!("{}\n{}", broken.why, errand::told(&seen.violations));
    mend(writer, &broken.text, errors.trim_end()).await
}

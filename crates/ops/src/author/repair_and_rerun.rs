//! `workflow.repair_and_rerun`: corrects a workflow that failed, and runs it again.

use milepost_driver::{RunError, Snapshot};
use milepost_engine::ports::RunFilter;
use milepost_engine::state::{End, State};
use milepost_engine::{Failure, StepKey};
use milepost_model::digest::Digest;
use milepost_model::id::RunId;
use milepost_model::wording::Neutral;

use super::author_and_run::{checked, mend};
use super::{DRAFT, INPUTS, Orchestration, SAVE, builtin_command, reject_secrets};
use crate::masked_values;
use crate::prelude::*;
use crate::run::errors::of_run;
use crate::run::view::RunView;
use crate::workflow;
use crate::workflow::validate::of_document;

/// What to repair.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// A failed run.
    pub run_id: Option<String>,
    /// Or a workflow's source.
    pub manifest: Option<String>,
    /// The corrected text.
    pub repaired_manifest: Option<String>,
    /// Inputs; defaults to the run's.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
}

/// The workflow to correct.
struct Broken {
    text: String,
    /// What is known to be wrong with it, apart from validation errors.
    why: String,
    inputs: Map<String, Value>,
}

operation! {
    /// Corrects a workflow and runs it.
    RepairAndRerun: "workflow.repair_and_rerun", "Correct a workflow and run it",
        include_str!("repair_and_rerun.md");
    doors: [Door::Tool(Tool { calls_out: true, task: Task::Required, ..Tool::FULL })];
    run: repair_and_rerun(Writer, Request) -> RunView;
    example: {"run_id": "run_00000000000000000000000001"};
}

async fn repair_and_rerun(writer: &Writer, call: &dyn Caller, request: Request) -> Result<RunView> {
    masked_values::refuse_in_map("inputs", &request.inputs)?;
    for text in [&request.manifest, &request.repaired_manifest].into_iter().flatten() {
        masked_values::refuse_in_text("manifest", text)?;
    }
    let broken = match (request.run_id, request.manifest) {
        (Some(run), None) => failed(writer, call, &run).await?,
        (None, Some(text)) => Broken { text, why: String::new(), inputs: Map::new() },
        _ => {
            let hint = "name the run that failed";
            let message = "give either `run_id` or `manifest`";
            return Err(Problem::new(Code::ParamsInvalid, message, hint));
        }
    };
    for text in [Some(&broken.text), request.repaired_manifest.as_ref()].into_iter().flatten() {
        reject_secrets::of_text(writer, text, &request.inputs)?;
    }
    let keeps = super::keeps(writer, &broken.text, None)?;
    let subject = match &request.repaired_manifest {
        Some(text) => checked(writer, text).await,
        None if broken.why.is_empty() => checked(writer, &broken.text).await,
        None => super::Subject::Drafted(prompt(writer, &broken).await),
    };
    let mut inputs = broken.inputs;
    if let Some(text) = &request.repaired_manifest {
        // Inputs that were not secret before may be secret in the repaired source.
        inputs.retain(|name, value| {
            let one = Map::from_iter([(name.clone(), value.clone())]);
            reject_secrets::of_text(writer, text, &one).is_ok()
        });
    }
    inputs.extend(request.inputs);
    let orchestration = Orchestration {
        id: "milepost.repair-and-rerun",
        title: RepairAndRerun::TITLE,
        subject,
        keeps,
        inputs,
    };
    orchestration.begin(writer, call).await
}

/// Loads a failed run. For an orchestration, the workflow to correct is the one that it ran.
async fn failed(writer: &Writer, call: &dyn Caller, run: &str) -> Result<Broken> {
    let runs = writer.reader.runs();
    let run = crate::run::find(runs, call, run).await?;
    let snapshot = runs.snapshot(&run).await.or_problem()?;
    let Some(End::Failed(failure)) = &snapshot.state.end else { return Err(not_failed(&run)) };
    if !super::is_orchestration(&snapshot.state.head.workflow) {
        return Broken::of(writer, &snapshot, failure).await;
    }
    let filter = RunFilter { parent: Some(run.clone()), ..RunFilter::default() };
    let child = runs.list(&filter, 1).await.or_problem()?;
    if let Some(child) = child.runs.into_iter().next() {
        let child = runs.snapshot(&child.id).await.or_problem()?;
        return match &child.state.end {
            Some(End::Failed(failure)) => Broken::of(writer, &child, failure).await,
            _ => Err(not_failed(&run)),
        };
    }
    Broken::before_it_ran(writer, &snapshot.state, failure)
        .ok_or_else(|| gone(&run, "the workflow that it should have run no longer exists"))
}

fn gone(run: &RunId, reason: &str) -> Problem {
    of_run(&RunError::Damaged { run: run.clone(), reason: reason.to_owned() })
}

impl Broken {
    /// A run's workflow, in the version that ran.
    async fn of(writer: &Writer, snapshot: &Snapshot, failure: &Failure) -> Result<Broken> {
        let (run, state) = (&snapshot.run, &*snapshot.state);
        let hash = Digest::parse(&state.head.text_hash);
        let hash = hash.ok_or_else(|| gone(run, "its workflow's hash is not valid"))?;
        let text = writer.reader.ports.journal.text(hash).await.or_problem()?;
        let text = text.ok_or_else(|| gone(run, "its workflow's text is missing"))?;
        Ok(Broken { text, why: why(failure), inputs: plain(state) })
    }

    /// The workflow of an orchestration that failed before running it.
    fn before_it_ran(writer: &Writer, state: &State, failure: &Failure) -> Option<Broken> {
        let named = |value: &Value, name: &str| Some(value.get(name)?.as_str()?.to_owned());
        let output = |step: &str| state.step(&StepKey::of_walk(step))?.output.as_ref();
        let inputs = Value::Object(state.head.inputs.clone());
        let drafted = output(DRAFT).and_then(|output| named(output, "manifest"));
        let kept = output(SAVE).unwrap_or(&inputs);
        let text = drafted.or_else(|| named(&inputs, "manifest")).or_else(|| {
            let entry = writer.reader.workflow(&named(kept, "workflow_id")?).ok()?;
            Some(entry.document.source.as_ref()?.text().to_owned())
        })?;
        let given = inputs.get(INPUTS).and_then(Value::as_object).cloned().unwrap_or_default();
        Some(Broken { text, why: why(failure), inputs: given })
    }
}

fn not_failed(run: &RunId) -> Problem {
    let message = format!("run `{run}` has not failed");
    let hint = "check it with workflow.status; only failed runs can be repaired";
    Problem::new(Code::RunConflict, message, hint).context("run_id", run.as_str())
}

fn why(failure: &Failure) -> String {
    let details = failure.context.as_deref().map(|details| json!(details).to_string());
    let details = details.map(|details| format!("\n  {details}")).unwrap_or_default();
    // Worded neutrally, because the model is to correct the workflow, not to act on this run.
    let hint = failure.hint().worded(&Neutral);
    format!("- the run failed: {} ({hint}){details}", failure.message())
}

/// A run's inputs, except secrets, whose values are not in the journal.
fn plain(state: &State) -> Map<String, Value> {
    let head = &state.head;
    let plain = head.inputs.iter().filter(|(name, _)| !head.secrets.contains(*name));
    plain.map(|(name, value)| (name.clone(), value.clone())).collect()
}

async fn prompt(writer: &Writer, broken: &Broken) -> String {
    let seen = of_document(&workflow::read(&writer.reader, broken.text.as_bytes(), None));
    let errors = format!("{}\n{}", broken.why, builtin_command::told(&seen.violations));
    mend(writer, &broken.text, errors.trim_end()).await
}

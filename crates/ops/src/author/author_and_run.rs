//! `workflow.author_and_run`: from a goal to a workflow that has run.

use milepost_model::problem::{Code, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Orchestration, Subject, errand, hush};
use crate::call::Call;
use crate::later::Later;
use crate::operation::Door;
use crate::prompts;
use crate::run::view::RunView;
use crate::tool::{Task, Tool};
use crate::workflow;
use crate::workflow::validate::of_document;
use crate::writer::Writer;

/// Writes a workflow and runs it.
#[derive(Debug)]
pub struct AuthorAndRun;

/// What is wanted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What is to be achieved.
    pub goal: String,
    /// The API it works with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_system: Option<String>,
    /// What it must or must not do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraints: Option<String>,
    /// A first draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manifest: Option<String>,
    /// A workflow that is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow_id: Option<String>,
    /// Inputs of the run.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
}

impl Later for AuthorAndRun {
    type Request = Request;
    type Response = RunView;
    type Hands = Writer;

    const NAME: &'static str = "workflow.author_and_run";
    const TITLE: &'static str = "Write a workflow and run it";
    const DESCRIPTION: &'static str = include_str!("author_and_run.md");
    const DOORS: &'static [Door] = &[Door::Tool(Tool::FULL.calls_out().task(Task::Required))];

    async fn run(writer: &Writer, call: &dyn Call, request: Request) -> Result<RunView, Problem> {
        let mut keeps = None;
        let subject = match (&request.manifest, &request.workflow_id) {
            (Some(text), id) => {
                hush::of_text(writer, text, &request.inputs)?;
                keeps = super::keeps(writer, text, id.as_deref())?;
                checked(writer, text).await
            }
            (None, Some(id)) => {
                hush::of_workflow(writer, id, &request.inputs)?;
                Subject::Kept(id.clone())
            }
            (None, None) => Subject::Drafted(task(writer, &request).await?),
        };
        let orchestration = Orchestration {
            id: "milepost.author-and-run",
            title: Self::TITLE,
            subject,
            keeps,
            inputs: request.inputs,
        };
        orchestration.begin(writer, call).await
    }

    fn example() -> Request {
        let goal = "Refund order 1001 after a person has approved it".to_owned();
        let target_system = Some("shop".to_owned());
        Request { goal, target_system, ..Request::default() }
    }
}

/// The prompt for a draft.
async fn task(writer: &Writer, request: &Request) -> Result<String, Problem> {
    if request.goal.trim().is_empty() {
        let hint = "say what the workflow is to achieve";
        return Err(Problem::new(Code::ParamsInvalid, "`goal` is empty", hint));
    }
    let target = request.target_system.as_deref().unwrap_or_default();
    let about = format!("{} {target}", request.goal);
    let given = |name: &str| match name {
        "goal" => Some(request.goal.clone()),
        "target_system" => request.target_system.clone(),
        "constraints" => request.constraints.clone(),
        _ => None,
    };
    Ok(prompts::filled(&writer.reader, prompts::AUTHOR, &about, given).await)
}

/// A text that is taken as it is when it is valid, and is to be corrected when it is not.
pub(super) async fn checked(writer: &Writer, text: &str) -> Subject {
    let seen = of_document(&workflow::read(&writer.reader, text.as_bytes(), None));
    match seen.valid {
        true => Subject::Text(text.to_owned()),
        false => Subject::Drafted(mend(writer, text, &errand::told(&seen.violations)).await),
    }
}

/// The prompt for a correction.
pub(super) async fn mend(writer: &Writer, text: &str, errors: &str) -> String {
    let given = |name: &str| match name {
        "manifest" => Some(text.to_owned()),
        "errors" => Some(errors.to_owned()),
        _ => None,
    };
    prompts::filled(&writer.reader, prompts::FIX, "", given).await
}

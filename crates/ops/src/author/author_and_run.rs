//! `workflow.author_and_run`: writes a workflow for a goal, and runs it.

use super::{Orchestration, Subject, builtin_command, reject_secrets};
use crate::masked_values;
use crate::prelude::*;
use crate::prompts;
use crate::run::view::RunView;
use crate::workflow;
use crate::workflow::validate::of_document;

/// What to write and run.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// What to achieve.
    pub goal: String,
    /// The API it works with.
    pub target_system: Option<String>,
    /// What it must or must not do.
    pub constraints: Option<String>,
    /// A first draft.
    pub manifest: Option<String>,
    /// An existing workflow.
    pub workflow_id: Option<String>,
    /// The run's inputs.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
}

operation! {
    /// Writes a workflow and runs it.
    AuthorAndRun: "workflow.author_and_run", "Write a workflow and run it",
        include_str!("author_and_run.md");
    doors: [Door::Tool(Tool { calls_out: true, task: Task::Required, ..Tool::FULL })];
    run: author_and_run(Writer, Request) -> RunView;
    example: {
        "goal": "Refund order 1001 after a person has approved it",
        "target_system": "shop",
    };
}

async fn author_and_run(writer: &Writer, call: &dyn Caller, request: Request) -> Result<RunView> {
    masked_values::refuse_in_map("inputs", &request.inputs)?;
    masked_values::refuse_in_text("manifest", request.manifest.as_deref().unwrap_or_default())?;
    let mut keeps = None;
    let subject = match (&request.manifest, &request.workflow_id) {
        (Some(text), id) => {
            reject_secrets::of_text(writer, text, &request.inputs)?;
            keeps = super::keeps(writer, text, id.as_deref())?;
            checked(writer, text).await
        }
        (None, Some(id)) => {
            reject_secrets::of_workflow(writer, id, &request.inputs)?;
            Subject::Kept(id.clone())
        }
        (None, None) => Subject::Drafted(task(writer, &request).await?),
    };
    let orchestration = Orchestration {
        id: "milepost.author-and-run",
        title: AuthorAndRun::TITLE,
        subject,
        keeps,
        inputs: request.inputs,
    };
    orchestration.begin(writer, call).await
}

/// The prompt for writing a draft.
async fn task(writer: &Writer, request: &Request) -> Result<String> {
    if request.goal.trim().is_empty() {
        let hint = "say what the workflow should achieve";
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

/// Uses a valid source as is, and has an invalid one corrected.
pub(super) async fn checked(writer: &Writer, text: &str) -> Subject {
    let seen = of_document(&workflow::read(&writer.reader, text.as_bytes(), None));
    match seen.valid {
        true => Subject::Text(text.to_owned()),
        false => {
            Subject::Drafted(mend(writer, text, &builtin_command::told(&seen.violations)).await)
        }
    }
}

/// The prompt for correcting a source.
pub(super) async fn mend(writer: &Writer, text: &str, errors: &str) -> String {
    let given = |name: &str| match name {
        "manifest" => Some(text.to_owned()),
        "errors" => Some(errors.to_owned()),
        _ => None,
    };
    prompts::filled(&writer.reader, prompts::FIX, "", given).await
}

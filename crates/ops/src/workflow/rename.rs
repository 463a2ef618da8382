//! `workflow.rename`: a workflow gets another id.

use milepost_model::id::WorkflowId;

use super::{
    DocumentFormat, ReadOnlyWorkflow, change, elsewhere, expecting, id_of, problem, runners,
};
use crate::prelude::*;

/// From what to what.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The id it has.
    pub workflow_id: String,
    /// The id it gets.
    pub new_id: String,
    /// The version you have seen.
    pub expected_version: Option<String>,
}

/// What it is now.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Its id.
    pub workflow_id: String,
    /// The id it had.
    pub previous_id: String,
    /// Its file.
    pub path: String,
    /// How it is written.
    pub format: DocumentFormat,
    /// Its version: another one, because its text says the new id.
    pub version: String,
    /// The version it had, which can be restored.
    pub previous_version: String,
    /// Which workflows still run the old id.
    pub warnings: Vec<String>,
}

operation! {
    /// Renames a workflow.
    RenameWorkflow: "workflow.rename", "Rename a workflow", include_str!("rename.md");
    doors: [Door::Tool(Tool::FULL), Door::Command("workflow rename")];
    run: rename_workflow(Writer, Request) -> Response;
    example: {"workflow_id": "greet", "new_id": "greet-newcomers"};
}

async fn rename_workflow(writer: &Writer, _: &dyn Caller, request: Request) -> Result<Response> {
    let (from, to) = (id_of(&request.workflow_id)?, id_of(&request.new_id)?);
    if from != to
        && let Some((there, version)) = elsewhere(&writer.reader, &to)
    {
        return Err(taken(&to, &there, &version));
    }
    let change = change(expecting(request.expected_version.as_deref())?);
    let saved = writer.workflows.rename(&from, &to, change);
    let saved = saved.map_err(|error| {
        let mut problem = problem::of_change(error, &writer.reader);
        if problem.code == Code::WorkflowExists {
            problem.hint = "choose another id, or delete or rename the other one first".into();
        }
        problem
    })?;
    let warnings = match from == to {
        true => Vec::new(),
        false => runners(&writer.reader, &from, &format!("change that to `{to}`"))?,
    };
    Ok(Response {
        workflow_id: to.to_string(),
        previous_id: from.to_string(),
        path: saved.path.display().to_string(),
        format: saved.format.into(),
        version: saved.version.to_string(),
        previous_version: saved.previous.unwrap_or(saved.version).to_string(),
        warnings,
    })
}

/// The new id is that of a workflow in a source that is only read, which would be hidden.
fn taken(id: &WorkflowId, there: &ReadOnlyWorkflow, version: &str) -> Problem {
    let message = format!("there is a workflow `{id}` already ({})", there.source);
    Problem::new(Code::WorkflowExists, message, "choose another id")
        .context("workflow_id", id.as_str())
        .context("version", version)
        .context("path", there.path.as_str())
}

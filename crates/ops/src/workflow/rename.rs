//! `workflow.rename`: gives a workflow a new id.

use milepost_model::id::WorkflowId;

use super::{
    DocumentFormat, ReadOnlyWorkflow, change, elsewhere, expecting, id_of, problem, runners,
};
use crate::prelude::*;

/// The old and the new id.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The current id.
    pub workflow_id: String,
    /// The new id.
    pub new_id: String,
    /// The version last seen.
    pub expected_version: Option<String>,
}

/// The renamed workflow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Its id.
    pub workflow_id: String,
    /// The old id.
    pub previous_id: String,
    /// Its file.
    pub path: String,
    /// Its format.
    pub format: DocumentFormat,
    /// Its version: a new one, because the text contains the id.
    pub version: String,
    /// The old version, which can be restored.
    pub previous_version: String,
    /// Workflows that still refer to the old id.
    pub warnings: Vec<String>,
}

operation! {
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
            problem.hint = "choose another id, or delete or rename the other workflow first".into();
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

/// The problem when the new id belongs to a workflow in a read-only source, which would be hidden.
fn taken(id: &WorkflowId, there: &ReadOnlyWorkflow, version: &str) -> Problem {
    let message = format!("workflow `{id}` already exists ({})", there.source);
    Problem::new(Code::WorkflowExists, message, "choose another id")
        .context("workflow_id", id.as_str())
        .context("version", version)
        .context("path", there.path.as_str())
}

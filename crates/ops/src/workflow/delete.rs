//! `workflow.delete`: deletes a workflow, which can be restored.

use milepost_store::{LibraryMatch, SourceKind};

use super::{ReadOnlyWorkflow, change, elsewhere, expecting, id_of, problem, runners};
use crate::prelude::*;

/// The workflow to delete.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its id.
    pub workflow_id: String,
    /// The version last seen.
    pub expected_version: Option<String>,
}

/// What was deleted.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Its id.
    pub workflow_id: String,
    /// Always true.
    pub deleted: bool,
    /// The deleted file.
    pub path: String,
    /// The deleted version, which `workflow.restore` brings back.
    pub version: String,
    /// A workflow from a read-only source that is no longer hidden.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncovers: Option<ReadOnlyWorkflow>,
    /// Workflows that still run it.
    pub warnings: Vec<String>,
}

operation! {
    DeleteWorkflow: "workflow.delete", "Delete a workflow", include_str!("delete.md");
    doors: [Door::Tool(Tool::FULL), Door::Command("workflow delete")];
    run: delete_workflow(Writer, Request) -> Response;
    loss: loss;
    example: {"workflow_id": "greet"};
}

async fn loss(writer: &Writer, _: &dyn Caller, request: &Request) -> Result<Option<String>> {
    let id = id_of(&request.workflow_id)?;
    let path = match writer.reader.found(id.as_str())? {
        Some(LibraryMatch::Workflow(entry)) if entry.source == SourceKind::Runtime => {
            entry.path.clone()
        }
        Some(LibraryMatch::Invalid(invalid)) => invalid.path.clone(),
        _ => return Err(problem::missing(&writer.reader, &id)),
    };
    let path = path.display();
    Ok(Some(format!(
        "this deletes workflow `{id}` (`{path}`); its versions are kept and can be restored"
    )))
}

async fn delete_workflow(writer: &Writer, _: &dyn Caller, request: Request) -> Result<Response> {
    let id = id_of(&request.workflow_id)?;
    let change = change(expecting(request.expected_version.as_deref())?);
    let deleted = writer.workflows.delete(&id, change);
    let deleted = deleted.map_err(|error| problem::of_change(error, &writer.reader))?;
    let uncovers = elsewhere(&writer.reader, &id).map(|(there, _)| there);
    let warnings = match uncovers {
        Some(_) => Vec::new(),
        None => runners(&writer.reader, &id, "it refers to a workflow that no longer exists")?,
    };
    Ok(Response {
        workflow_id: id.to_string(),
        deleted: true,
        path: deleted.path.display().to_string(),
        version: deleted.version.to_string(),
        uncovers,
        warnings,
    })
}

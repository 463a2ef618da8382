//! `workflow.restore`: restores an earlier version of a workflow, even a deleted one.

use milepost_model::finding::Severity;
use milepost_store::read_document;

use super::versions::VersionedWorkflow;
use super::{DocumentFormat, ViolationView, change, expecting, problem, read, violations};
use crate::prelude::*;

/// The version to restore.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The workflow's id.
    pub workflow_id: String,
    /// The version, or a unique prefix of it.
    pub version: String,
    /// The version last seen.
    pub expected_version: Option<String>,
}

/// The restored workflow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The workflow's id.
    pub workflow_id: String,
    /// Its file.
    pub path: String,
    /// Its format.
    pub format: DocumentFormat,
    /// Its version. Differs from the restored one if that had a different id.
    pub version: String,
    /// The requested version.
    pub restored_version: String,
    /// The version it replaced, which can be restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_version: Option<String>,
    /// Whether it is valid now: catalogs may have changed, and text saved by an editor may never
    /// have been valid.
    pub valid: bool,
    /// Everything that keeps it from being valid.
    pub violations: Vec<ViolationView>,
}

operation! {
    /// Restores a version of a workflow.
    RestoreWorkflow: "workflow.restore", "Restore a workflow", include_str!("restore.md");
    doors: [Door::Command("workflow restore")];
    run: restore_workflow(Writer, Request) -> Response;
    example: {"workflow_id": "greet", "version": "9f2c"};
}

async fn restore_workflow(writer: &Writer, _: &dyn Caller, request: Request) -> Result<Response> {
    let reader = &writer.reader;
    let record = VersionedWorkflow::of(reader, &request.workflow_id)?;
    let version = record.called(&request.version)?;
    let change = change(expecting(request.expected_version.as_deref())?);
    let saved = writer.workflows.restore(&record.id, version, change);
    let saved = saved.map_err(|error| problem::of_change(error, reader))?;
    let bytes = read_document(&saved.path, milepost_syntax::limits::DOCUMENT_BYTES).or_problem()?;
    let document = read(reader, &bytes, Some(saved.format));
    Ok(Response {
        workflow_id: record.id.to_string(),
        path: saved.path.display().to_string(),
        format: saved.format.into(),
        version: saved.version.to_string(),
        restored_version: version.to_string(),
        previous_version: saved.previous.map(|previous| previous.to_string()),
        valid: document.is_valid(),
        violations: violations(&document, Severity::Error),
    })
}

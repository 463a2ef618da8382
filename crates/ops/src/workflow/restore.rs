//! `workflow.restore`: a workflow says again what it said before, deleted or not.

use milepost_model::finding::Severity;
use milepost_store::read_document;

use super::versions::VersionedWorkflow;
use super::{DocumentFormat, ViolationView, change, expecting, problem, read, violations};
use crate::prelude::*;

/// Which one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The id of the workflow.
    pub workflow_id: String,
    /// The version, or its first digits, as long as no other begins so.
    pub version: String,
    /// The version you have seen.
    pub expected_version: Option<String>,
}

/// What it is now.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The id of the workflow.
    pub workflow_id: String,
    /// Its file.
    pub path: String,
    /// How it is written.
    pub format: DocumentFormat,
    /// Its version. Another one than the one restored when that was under another id.
    pub version: String,
    /// The version that was asked for.
    pub restored_version: String,
    /// The version that it took the place of, and that can be restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_version: Option<String>,
    /// Whether it can be used now: catalogs may have changed since, and what an editor left may
    /// never have been valid.
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

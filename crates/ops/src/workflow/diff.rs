//! `workflow.diff`: what changed between two versions of a workflow.

use milepost_store::Digest;

use super::lines::{self, Difference};
use super::versions::VersionedWorkflow;
use crate::limits::VERSION_SHOWN_DIGITS;
use crate::prelude::*;

/// The versions to compare. Each may be abbreviated to a unique prefix.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The workflow's id.
    pub workflow_id: String,
    /// The older version; defaults to the predecessor of `to`.
    pub from: Option<String>,
    /// The newer version; defaults to the current text.
    pub to: Option<String>,
}

/// What changed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The workflow's id.
    pub workflow_id: String,
    /// The older version.
    pub from: String,
    /// The newer version.
    pub to: String,
    /// The number of added lines.
    pub added: usize,
    /// The number of removed lines.
    pub removed: usize,
    /// A unified diff; empty if nothing changed.
    pub diff: String,
}

operation! {
    /// Compares versions of a workflow.
    DiffVersions: "workflow.diff", "Compare versions of a workflow", include_str!("diff.md");
    doors: [Door::Command("workflow diff")];
    run: diff_versions(Reader, Request) -> Response;
    example: {"workflow_id": "greet", "from": "9f2c"};
}

async fn diff_versions(reader: &Reader, _: &dyn Caller, request: Request) -> Result<Response> {
    let record = VersionedWorkflow::of(reader, &request.workflow_id)?;
    let to = match &request.to {
        Some(text) => record.called(text)?,
        None => newest(&record)?,
    };
    let from = match &request.from {
        Some(text) => record.called(text)?,
        None => before(&record, to)?,
    };
    let name =
        |version: Digest| format!("{} {:.VERSION_SHOWN_DIGITS$}", record.id, version.to_string());
    let (old, new) = (record.text(from, reader)?, record.text(to, reader)?);
    let names = [name(from), name(to)];
    let Difference { text, added, removed } = lines::difference(&old, &new, [&names[0], &names[1]]);
    Ok(Response {
        workflow_id: record.id.to_string(),
        from: from.to_string(),
        to: to.to_string(),
        added,
        removed,
        diff: text,
    })
}

fn newest(record: &VersionedWorkflow) -> Result<Digest> {
    record.past.items.first().map(|one| one.version).ok_or_else(|| alone(record))
}

/// The version that was replaced by the given one.
fn before(record: &VersionedWorkflow, version: Digest) -> Result<Digest> {
    let items = &record.past.items;
    let at = items.iter().position(|one| one.version == version).unwrap_or(0);
    let older = items[at..].iter().find(|one| one.version != version);
    older.map(|one| one.version).ok_or_else(|| alone(record))
}

fn alone(record: &VersionedWorkflow) -> Problem {
    let message = format!("workflow `{}` has no version before this one", record.id);
    let hint = super::problem::see_versions(&record.id);
    Problem::new(Code::WorkflowVersionNotFound, message, hint)
        .context("workflow_id", record.id.as_str())
}

//! `workflow.list`: lists every workflow, and every file that should be one but is invalid.

use milepost_model::workflow::Spelling;
use milepost_store::{SourceKind, WorkflowSummary};

use super::{DocumentFormat, ViolationView};
use crate::prelude::*;

/// Filters; none by default.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Words in the id, title or description.
    pub query: Option<String>,
    /// A tag they must have.
    pub tag: Option<String>,
    /// The kind of source: `runtime`, `path`, `user` or `built-in`.
    #[schemars(extend("x-rare" = true))]
    pub source: Option<String>,
    /// `next_cursor` from the previous page.
    pub cursor: Option<String>,
    /// Maximum number; default 1000.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// Workflows, sorted by id.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The workflows.
    pub workflows: Vec<WorkflowItem>,
    /// Invalid files, and why.
    pub invalid: Vec<InvalidWorkflowFile>,
    /// Where the next page starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A summary of a workflow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkflowItem {
    /// Its id.
    pub workflow_id: String,
    /// `manifest` or `guide`.
    #[schemars(with = "String")]
    pub kind: Spelling,
    /// Its name for display.
    pub title: String,
    /// What it does.
    pub description: Option<String>,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// What kinds of steps it has: `agent`, `command`, `approval`.
    pub kinds: Vec<String>,
    /// The kind of its source.
    pub source: String,
    /// Whether its source is read-only: saving creates a copy in the runtime directory.
    pub read_only: bool,
    /// Its file; for a built-in workflow only the name.
    pub path: String,
    /// Its format.
    pub format: Option<DocumentFormat>,
    /// Its version: the hash of its bytes.
    pub version: String,
    /// The number of steps, including those in loops.
    pub steps: usize,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InvalidWorkflowFile {
    /// The file.
    pub path: String,
    /// Why it is invalid.
    pub reason: String,
    /// Its violations, at most twenty; `workflow.validate` shows all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<ViolationView>,
}

operation! {
    ListWorkflows: "workflow.list", "List workflows", include_str!("list.md");
    doors: [Door::Tool(Tool::WORK), Door::Command("workflow list")];
    run: list_workflows(Reader, Request) -> Response;
    example: {"query": "refund"};
}

async fn list_workflows(reader: &Reader, _: &dyn Caller, request: Request) -> Result<Response> {
    let listing = reader.listing()?;
    let limit = request.limit.unwrap_or(limits::WORKFLOWS_PAGE).clamp(1, limits::WORKFLOWS_PAGE);
    let behind = |item: &WorkflowSummary| request.cursor.as_ref().is_none_or(|at| item.id > *at);
    let mut wanted =
        listing.items.iter().filter(|item| behind(item) && request.wants(item)).peekable();
    let workflows: Vec<WorkflowItem> =
        wanted.by_ref().take(limit).map(|item| WorkflowItem::of(item)).collect();
    let last = workflows.last().map(|item| item.workflow_id.clone());
    let invalid = listing.invalid.iter().map(|one| InvalidWorkflowFile {
        path: one.path.display().to_string(),
        reason: one.reason.clone(),
        violations: one.violations.iter().map(ViolationView::from).collect(),
    });
    let next_cursor = last.filter(|_| wanted.peek().is_some());
    Ok(Response { invalid: invalid.collect(), workflows, next_cursor })
}

impl Request {
    fn wants(&self, item: &WorkflowSummary) -> bool {
        let tagged = self.tag.as_ref().is_none_or(|tag| item.tags.contains(tag));
        let sourced = self.source.as_ref().is_none_or(|source| item.source.name() == source);
        let described = item.description.as_deref().unwrap_or_default();
        let text = format!("{} {} {described}", item.id, item.title).to_lowercase();
        let words = self.query.as_deref().unwrap_or_default().to_lowercase();
        tagged && sourced && words.split_whitespace().all(|word| text.contains(word))
    }
}

impl WorkflowItem {
    fn of(item: &WorkflowSummary) -> WorkflowItem {
        WorkflowItem {
            workflow_id: item.id.clone(),
            kind: item.spelling,
            title: item.title.clone(),
            description: item.description.clone(),
            tags: item.tags.clone(),
            kinds: item.kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            source: item.source.name().to_owned(),
            read_only: item.source != SourceKind::Runtime,
            path: item.path.display().to_string(),
            format: item.format.map(DocumentFormat::from),
            version: item.version.clone(),
            steps: item.steps,
        }
    }
}

//! `workflow.list`: every workflow, and every file that should be one.

use milepost_model::workflow::Spelling;
use milepost_store::{SourceKind, WorkflowSummary};

use super::{DocumentFormat, ViolationView};
use crate::prelude::*;

/// Which ones; all unless said.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Words that the id, the title or the description holds.
    pub query: Option<String>,
    /// A label that they bear.
    pub tag: Option<String>,
    /// The source that they come from: `runtime`, `path`, `user` or `built-in`.
    #[schemars(extend("x-rare" = true))]
    pub source: Option<String>,
    /// `next_cursor` of the answer before.
    pub cursor: Option<String>,
    /// How many at most; 1000 unless given.
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// Workflows, sorted by id.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// The workflows.
    pub workflows: Vec<WorkflowItem>,
    /// Files that are no workflow, and why.
    pub invalid: Vec<InvalidWorkflowFile>,
    /// Where to go on; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A workflow in short.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct WorkflowItem {
    /// Its id.
    pub workflow_id: String,
    /// `manifest` or `guide`.
    #[serde(with = "crate::enum_names")]
    #[schemars(with = "String")]
    pub kind: Spelling,
    /// The name people see.
    pub title: String,
    /// What it does.
    pub description: Option<String>,
    /// Labels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whose steps it has: `agent`, `command`, `approval`.
    pub kinds: Vec<String>,
    /// Which kind of source it comes from.
    pub source: String,
    /// Whether its source is only read: saving it makes one in the runtime directory.
    pub read_only: bool,
    /// Its file; of a built-in workflow only the name.
    pub path: String,
    /// How it is written.
    pub format: Option<DocumentFormat>,
    /// Its version: the hash of its bytes.
    pub version: String,
    /// How many steps it has, those of loops included.
    pub steps: usize,
}

/// A file that is no workflow.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct InvalidWorkflowFile {
    /// The file.
    pub path: String,
    /// Why it is none.
    pub reason: String,
    /// What is wrong with what it says, at most twenty; `workflow.validate` shows all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<ViolationView>,
}

operation! {
    /// Lists workflows.
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

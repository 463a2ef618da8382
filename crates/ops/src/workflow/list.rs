//! `workflow.list`: every workflow, and every file that should be one.

use milepost_model::problem::Problem;
use milepost_model::workflow::Spelling;
use milepost_store::{SourceKind, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Violation, Written};
use crate::call::Call;
use crate::later::Later;
use crate::limits;
use crate::operation::Door;
use crate::reader::Reader;
use crate::tool::Tool;

/// Lists workflows.
#[derive(Debug)]
pub struct List;

/// Which ones; all unless said.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Words that the id, the title or the description holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// A label that they bear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// The source that they come from: `runtime`, `path`, `user` or `built-in`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rare" = true))]
    pub source: Option<String>,
    /// `next_cursor` of the answer before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// How many at most; 1000 unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1000))]
    pub limit: Option<usize>,
}

/// Workflows, sorted by id.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// The workflows.
    pub workflows: Vec<Item>,
    /// Files that are no workflow, and why.
    pub invalid: Vec<Invalid>,
    /// Where to go on; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

/// A workflow in short.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Item {
    /// Its id.
    pub workflow_id: String,
    /// `manifest` or `guide`.
    #[serde(with = "crate::named")]
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
    pub format: Option<Written>,
    /// Its version: the hash of its bytes.
    pub version: String,
    /// How many steps it has, those of loops included.
    pub steps: usize,
}

/// A file that is no workflow.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Invalid {
    /// The file.
    pub path: String,
    /// Why it is none.
    pub reason: String,
    /// What is wrong with what it says, at most twenty; `workflow.validate` shows all of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
}

impl Later for List {
    type Request = Request;
    type Response = Response;
    type Hands = Reader;

    const NAME: &'static str = "workflow.list";
    const TITLE: &'static str = "List workflows";
    const DESCRIPTION: &'static str = include_str!("list.md");
    const DOORS: &'static [Door] = &[Door::Tool(Tool::WORK), Door::Command("workflow list")];

    async fn run(reader: &Reader, _call: &dyn Call, request: Request) -> Result<Response, Problem> {
        let listing = reader.listing()?;
        let limit =
            request.limit.unwrap_or(limits::WORKFLOWS_PAGE).clamp(1, limits::WORKFLOWS_PAGE);
        let behind = |item: &Summary| request.cursor.as_ref().is_none_or(|at| item.id > *at);
        let mut wanted =
            listing.items.iter().filter(|item| behind(item) && request.wants(item)).peekable();
        let workflows: Vec<Item> = wanted.by_ref().take(limit).map(|item| Item::of(item)).collect();
        let last = workflows.last().map(|item| item.workflow_id.clone());
        let invalid = listing.invalid.iter().map(|one| Invalid {
            path: one.path.display().to_string(),
            reason: one.reason.clone(),
            violations: one.violations.iter().map(Violation::from).collect(),
        });
        let next_cursor = last.filter(|_| wanted.peek().is_some());
        Ok(Response { invalid: invalid.collect(), workflows, next_cursor })
    }

    fn example() -> Request {
        Request { query: Some("refund".to_owned()), ..Request::default() }
    }
}

impl Request {
    fn wants(&self, item: &Summary) -> bool {
        let tagged = self.tag.as_ref().is_none_or(|tag| item.tags.contains(tag));
        let sourced = self.source.as_ref().is_none_or(|source| item.source.name() == source);
        let described = item.description.as_deref().unwrap_or_default();
        let text = format!("{} {} {described}", item.id, item.title).to_lowercase();
        let words = self.query.as_deref().unwrap_or_default().to_lowercase();
        tagged && sourced && words.split_whitespace().all(|word| text.contains(word))
    }
}

impl Item {
    fn of(item: &Summary) -> Item {
        Item {
            workflow_id: item.id.clone(),
            kind: item.spelling,
            title: item.title.clone(),
            description: item.description.clone(),
            tags: item.tags.clone(),
            kinds: item.kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            source: item.source.name().to_owned(),
            read_only: item.source != SourceKind::Runtime,
            path: item.path.display().to_string(),
            format: item.format.map(Written::from),
            version: item.version.clone(),
            steps: item.steps,
        }
    }
}

//! `workflow.get`: the text of a workflow, for whoever wants to read or change it.

use milepost_model::document::{self, Document};
use milepost_model::finding::Severity;
use milepost_model::problem::Problem;
use milepost_model::source::Source;
use milepost_model::workflow::Spelling;
use milepost_store::{Found, SourceKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Violation, Written, content, id_of, violations};
use crate::call::Call;
use crate::later::Later;
use crate::operation::Door;
use crate::problems;
use crate::reader::Reader;
use crate::tool::Tool;

/// Gets a workflow.
#[derive(Debug)]
pub struct Get;

/// Which one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its id.
    pub workflow_id: String,
}

/// A workflow, or what should be one.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// Its id.
    pub workflow_id: String,
    /// Its file; of a built-in workflow only the name.
    pub path: String,
    /// How it is written.
    pub format: Option<Written>,
    /// The very text, for editing.
    pub content: String,
    /// What it says, as JSON; null when it cannot be read as such.
    pub parsed: Option<Value>,
    /// The hash of its bytes: `expected_version` of a change to this text.
    pub version: String,
    /// `manifest` or `guide`, when that can be told.
    #[serde(with = "crate::named::optional")]
    #[schemars(with = "Option<String>")]
    pub kind: Option<Spelling>,
    /// Which kind of source it comes from.
    pub source: String,
    /// Whether its source is only read: saving it makes one in the runtime directory.
    pub read_only: bool,
    /// Whether it can be used.
    pub valid: bool,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
}

impl Later for Get {
    type Request = Request;
    type Response = Response;
    type Hands = Reader;

    const NAME: &'static str = "workflow.get";
    const TITLE: &'static str = "Get a workflow";
    const DESCRIPTION: &'static str = include_str!("get.md");
    const DOORS: &'static [Door] = &[Door::Tool(Tool::CORE), Door::Command("workflow show")];

    async fn run(reader: &Reader, _call: &dyn Call, request: Request) -> Result<Response, Problem> {
        let id = id_of(&request.workflow_id)?;
        match reader.found(id.as_str())? {
            Some(Found::Workflow(entry)) => Ok(Response {
                path: entry.path.display().to_string(),
                version: entry.version.clone(),
                source: entry.source.name().to_owned(),
                read_only: entry.source != SourceKind::Runtime,
                ..of_document(id.to_string(), &entry.document)
            }),
            Some(Found::Invalid(invalid)) => match &invalid.document {
                Some(document) if document.source.is_some() => {
                    let source = reader.source_of(&invalid.path);
                    Ok(Response {
                        path: invalid.path.display().to_string(),
                        source: source.name().to_owned(),
                        read_only: source != SourceKind::Runtime,
                        ..of_document(id.to_string(), document)
                    })
                }
                _ => Err(problems::of_invalid(id.as_str(), &invalid)),
            },
            None => Err(reader.no_workflow(id.as_str())),
        }
    }

    fn example() -> Request {
        Request { workflow_id: "refund-order".to_owned() }
    }
}

fn of_document(workflow_id: String, document: &Document) -> Response {
    let content = content(document).unwrap_or_default();
    Response {
        workflow_id,
        path: String::new(),
        format: document.source.as_ref().map(Source::format).map(Written::from),
        version: document::version(content.as_bytes()),
        content,
        parsed: document.parsed(),
        kind: document.spelling,
        source: String::new(),
        read_only: false,
        valid: document.is_valid(),
        violations: violations(document, Severity::Error),
    }
}

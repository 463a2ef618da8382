//! `workflow.get`: the text of a workflow, for whoever wants to read or change it.

use std::sync::Arc;

use milepost_model::document;
use milepost_model::finding::Severity;
use milepost_model::workflow::Spelling;
use milepost_store::{LibraryMatch, SourceKind};
use milepost_syntax::source::Source;

use super::{DocumentFormat, ViolationView, content, id_of, violations};
use crate::prelude::*;

/// Which one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its id.
    pub workflow_id: String,
}

/// A workflow, or what should be one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Its id.
    pub workflow_id: String,
    /// Its file; of a built-in workflow only the name.
    pub path: String,
    /// How it is written.
    pub format: Option<DocumentFormat>,
    /// The very text, for editing.
    pub content: String,
    /// What it says, as JSON; null when it cannot be read as such.
    pub parsed: Option<Value>,
    /// The hash of its bytes: `expected_version` of a change to this text.
    pub version: String,
    /// `manifest` or `guide`, when that can be told.
    #[serde(with = "crate::enum_names")]
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
    pub violations: Vec<ViolationView>,
}

operation! {
    /// Gets a workflow.
    GetWorkflow: "workflow.get", "Get a workflow", include_str!("get.md");
    doors: [Door::Tool(Tool::CORE), Door::Command("workflow show")];
    run: get_workflow(Reader, Request) -> Response;
    example: {"workflow_id": "refund-order"};
}

async fn get_workflow(reader: &Reader, _: &dyn Caller, request: Request) -> Result<Response> {
    let id = id_of(&request.workflow_id)?;
    let (path, source, version, document) = match reader.found(id.as_str())? {
        Some(LibraryMatch::Workflow(entry)) => {
            let version = Some(entry.version.clone());
            (entry.path.clone(), entry.source, version, Arc::clone(&entry.document))
        }
        Some(LibraryMatch::Invalid(invalid)) => match &invalid.document {
            Some(document) if document.source.is_some() => {
                let source = reader.source_of(&invalid.path);
                (invalid.path.clone(), source, None, Arc::clone(document))
            }
            _ => return Err(problems::of_invalid(id.as_str(), &invalid)),
        },
        None => return Err(reader.no_workflow(id.as_str())),
    };
    let content = content(&document).unwrap_or_default();
    Ok(Response {
        workflow_id: id.to_string(),
        path: path.display().to_string(),
        format: document.source.as_ref().map(Source::format).map(DocumentFormat::from),
        version: version.unwrap_or_else(|| document::version(content.as_bytes())),
        content,
        parsed: document.parsed(),
        kind: document.spelling,
        source: source.name().to_owned(),
        read_only: source != SourceKind::Runtime,
        valid: document.is_valid(),
        violations: violations(&document, Severity::Error),
    })
}

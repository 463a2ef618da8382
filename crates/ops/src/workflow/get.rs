//! `workflow.get`: the source of a workflow, for reading or editing.

use std::sync::Arc;

use milepost_model::document;
use milepost_model::finding::Severity;
use milepost_model::workflow::Spelling;
use milepost_store::{LibraryMatch, SourceKind};
use milepost_syntax::source::Source;

use super::{DocumentFormat, ViolationView, content, id_of, violations};
use crate::prelude::*;

/// The workflow to get.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Its id.
    pub workflow_id: String,
}

/// A workflow, possibly an invalid one.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Its id.
    pub workflow_id: String,
    /// Its file; for a built-in workflow only the name.
    pub path: String,
    /// Its format.
    pub format: Option<DocumentFormat>,
    /// The exact text, for editing.
    pub content: String,
    /// The text as JSON; null if it does not parse.
    pub parsed: Option<Value>,
    /// The hash of its bytes: pass it as `expected_version` to change it.
    pub version: String,
    /// `manifest` or `guide`, if known.
    #[schemars(with = "Option<String>")]
    pub kind: Option<Spelling>,
    /// The kind of its source.
    pub source: String,
    /// Whether its source is read-only: saving creates a copy in the runtime directory.
    pub read_only: bool,
    /// Whether it can be used.
    pub valid: bool,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<ViolationView>,
}

operation! {
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

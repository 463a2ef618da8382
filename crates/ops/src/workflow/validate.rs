//! `workflow.validate`: reports every fault in a document at once. An invalid document yields a
//! regular response, not an error.

use milepost_model::document::Document;
use milepost_model::finding::Severity;
use milepost_model::workflow::Spelling;

use super::{DocumentFormat, ViolationView, get, read, violations};
use crate::prelude::*;

/// A source, or the id of a workflow in the library.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The text of a manifest or a guide.
    pub manifest: Option<String>,
    /// Or a workflow's id.
    pub workflow_id: Option<String>,
    /// The text's format; detected from the first character by default.
    #[schemars(extend("x-rare" = true))]
    pub format: Option<DocumentFormat>,
}

/// What was found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Whether it can be saved and run.
    pub valid: bool,
    /// Its id, if it could be read.
    pub workflow_id: Option<String>,
    /// `manifest` or `guide`, if known.
    #[schemars(with = "Option<String>")]
    pub kind: Option<Spelling>,
    /// Everything that keeps it from being valid.
    pub violations: Vec<ViolationView>,
    /// Findings that do not make it invalid.
    pub warnings: Vec<ViolationView>,
    /// Commands not checked because their catalog is not imported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<UncheckedCommand>,
}

/// A command that was not checked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UncheckedCommand {
    /// JSON pointer to the reference.
    pub path: String,
    /// The referenced command.
    pub target: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

operation! {
    ValidateWorkflow: "workflow.validate", "Validate a workflow",
        include_str!("validate.md");
    doors: [Door::Tool(Tool::CORE), Door::Command("workflow validate")];
    run: validate(Reader, Request) -> Response;
    example: {"manifest": "workflow: greet\nsteps:\n  - {id: hello, prompt: Say hello.}\n"};
}

async fn validate(reader: &Reader, call: &dyn Caller, request: Request) -> Result<Response> {
    let format = request.format.map(Into::into);
    match (request.manifest, request.workflow_id) {
        (Some(manifest), None) => Ok(of_document(&read(reader, manifest.as_bytes(), format))),
        (None, Some(workflow_id)) => {
            let found = get::GetWorkflow::run(reader, call, get::Request { workflow_id }).await?;
            let format = found.format.map(Into::into);
            Ok(of_document(&read(reader, found.content.as_bytes(), format)))
        }
        (None, None) | (Some(_), Some(_)) => {
            let message = "give either `manifest` or `workflow_id`";
            let hint = "send the text as `manifest`";
            Err(Problem::new(Code::ParamsInvalid, message, hint))
        }
    }
}

/// The response for a document that has been read.
pub fn of_document(document: &Document) -> Response {
    let unchecked = document.unchecked.iter().map(|one| {
        let (line, column) =
            document.source.as_ref().map_or((1, 1), |source| source.position(one.at.start));
        UncheckedCommand {
            path: document.pointer(one.at),
            target: one.target.clone(),
            line,
            column,
        }
    });
    Response {
        valid: document.is_valid(),
        workflow_id: document.id.clone(),
        kind: document.spelling,
        violations: violations(document, Severity::Error),
        warnings: violations(document, Severity::Warning),
        unchecked: unchecked.collect(),
    }
}

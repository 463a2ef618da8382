//! `workflow.validate`: every fault of a document at once. One that is not valid is a good answer.

use milepost_model::document::Document;
use milepost_model::finding::Severity;
use milepost_model::workflow::Spelling;

use super::{DocumentFormat, ViolationView, get, read, violations};
use crate::prelude::*;

/// A text, or a workflow of the library.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The text of a manifest or a guide.
    pub manifest: Option<String>,
    /// The id of a workflow, instead of a text.
    pub workflow_id: Option<String>,
    /// How the text is written; seen from its first character unless given.
    #[schemars(extend("x-rare" = true))]
    pub format: Option<DocumentFormat>,
}

/// What was found.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Whether it can be saved and run.
    pub valid: bool,
    /// Its id, when one could be read.
    pub workflow_id: Option<String>,
    /// `manifest` or `guide`, when that can be told.
    #[serde(with = "crate::enum_names")]
    #[schemars(with = "Option<String>")]
    pub kind: Option<Spelling>,
    /// Everything that keeps it from being valid.
    pub violations: Vec<ViolationView>,
    /// Everything that deserves a look.
    pub warnings: Vec<ViolationView>,
    /// Commands that could not be checked, because their catalog is not imported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<UncheckedCommand>,
}

/// A command that could not be checked.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct UncheckedCommand {
    /// JSON pointer of where it is named.
    pub path: String,
    /// What is named.
    pub target: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

operation! {
    /// Validates a workflow.
    ValidateWorkflow: "workflow.validate", "Validate a workflow",
        include_str!("validate.md");
    doors: [Door::Tool(Tool::CORE), Door::Command("workflow validate")];
    run: validate_workflow(Reader, Request) -> Response;
    example: {"manifest": "workflow: greet\nsteps:\n  - {id: hello, prompt: Say hello.}\n"};
}

async fn validate_workflow(
    reader: &Reader,
    call: &dyn Caller,
    request: Request,
) -> Result<Response> {
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

/// What is told of a document that has been read.
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

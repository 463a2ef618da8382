//! `workflow.save`: saves a source as a new workflow, or replaces an existing one.

use milepost_model::document::Document;
use milepost_model::finding::{Rule, Severity};
use milepost_model::id::WorkflowId;
use milepost_model::violation::Violation as Found;
use milepost_store::workflows::{ExpectedVersion, SavedWorkflow, WorkflowDraft, WorkflowError};
use milepost_syntax::source::{Format, Source};

use super::{
    DocumentFormat, ReadOnlyWorkflow, ViolationView, change, elsewhere, expecting, problem, read,
    violations,
};
use crate::masked_values;
use crate::prelude::*;
use crate::trust::review;

/// What to save, and what it may replace.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The whole text.
    pub content: String,
    /// The expected id; text with a different id is rejected.
    #[schemars(extend("x-rare" = true))]
    pub workflow_id: Option<String>,
    /// Its format; detected from the first character by default.
    #[schemars(extend("x-rare" = true))]
    pub format: Option<DocumentFormat>,
    /// Replaces any existing text.
    #[serde(default)]
    pub overwrite: bool,
    /// The version that may be replaced.
    pub expected_version: Option<String>,
}

/// What was saved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Response {
    /// Its id.
    pub workflow_id: String,
    /// Its file.
    pub path: String,
    /// Its format.
    pub format: DocumentFormat,
    /// Its version: the hash of its bytes.
    pub version: String,
    /// The version it replaced, which can be restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_version: Option<String>,
    /// A workflow from a read-only source that this one now hides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overrides: Option<ReadOnlyWorkflow>,
    /// Findings that do not prevent saving.
    pub warnings: Vec<ViolationView>,
}

operation! {
    SaveWorkflow: "workflow.save", "Save a workflow", include_str!("save.md");
    doors: [Door::Tool(Tool::CORE), Door::Command("workflow save")];
    run: save_workflow(Writer, Request) -> Response;
    example: {"content": "workflow: greet\nsteps:\n  - {id: hello, prompt: Say hello.}\n"};
}

async fn save_workflow(writer: &Writer, call: &dyn Caller, request: Request) -> Result<Response> {
    masked_values::refuse_in_text("content", &request.content)?;
    let expected = match (expecting(request.expected_version.as_deref())?, request.overwrite) {
        (ExpectedVersion::Any, false) => ExpectedVersion::Absent,
        (expected, _) => expected,
    };
    let document = document(&writer.reader, &request);
    let id = sound(&document, request.workflow_id.as_deref())?;
    let format = document.source.as_ref().map_or(Format::Yaml, Source::format);
    let overrides = elsewhere(&writer.reader, &id);
    let (bytes, found) = (request.content.as_bytes(), document.id.as_deref());
    let draft = WorkflowDraft { bytes, format, id: found };
    let base = overrides.as_ref().map(|(_, version)| version.as_str());
    let saved = save(writer, &id, draft, expected, base)
        .map_err(|error| problem::of_change(error, &writer.reader))?;
    review::note(writer, call, id.as_str())?;
    Ok(Response {
        workflow_id: id.to_string(),
        path: saved.path.display().to_string(),
        format: saved.format.into(),
        version: saved.version.to_string(),
        previous_version: saved.previous.map(|previous| previous.to_string()),
        overrides: overrides.map(|(there, _)| there),
        warnings: violations(&document, Severity::Warning),
    })
}

/// Writes the document. If the expected version is that of a read-only source, this creates the
/// first version in the runtime directory.
fn save(
    writer: &Writer,
    id: &WorkflowId,
    draft: WorkflowDraft<'_>,
    expected: ExpectedVersion,
    base: Option<&str>,
) -> Result<SavedWorkflow, WorkflowError> {
    match writer.workflows.save(id, draft, change(expected)) {
        Err(WorkflowError::Conflict { expected, found: None, .. })
            if base == Some(expected.to_string().as_str()) =>
        {
            writer.workflows.save(id, draft, change(ExpectedVersion::Absent))
        }
        outcome => outcome,
    }
}

/// Reads the document, trying YAML if the detected format fails, because YAML may start like JSON.
fn document(reader: &Reader, request: &Request) -> Document {
    let bytes = request.content.as_bytes();
    let document = read(reader, bytes, request.format.map(Into::into));
    if request.format.is_none() && !document.is_valid() {
        let yaml = read(reader, bytes, Some(Format::Yaml));
        if yaml.is_valid() {
            return yaml;
        }
    }
    document
}

/// Checks that a document may be saved, and returns its id.
fn sound(document: &Document, meant: Option<&str>) -> Result<WorkflowId> {
    let workflow = match &document.workflow {
        Some(workflow) if document.is_valid() => workflow,
        _ => return Err(problem::invalid(document, "the workflow")),
    };
    let id = &workflow.id;
    let Some(meant) = meant.filter(|meant| *meant != id.value.as_str()) else {
        return Ok(id.value.clone());
    };
    let source = document.source.as_ref();
    let (line, column) = source.map_or((1, 1), |source| source.position(id.at.start));
    let message = format!("the text has the id `{}`, not `{meant}`", id.value);
    let hint = format!("change the id to `{meant}`, or omit `workflow_id`");
    let mut problem = Problem::new(Code::WorkflowInvalid, message.clone(), hint.clone())
        .context("workflow_id", meant)
        .context("line", line)
        .context("column", column);
    problem.violations.push(Found {
        severity: Severity::Error,
        path: document.pointer(id.at),
        rule: Rule::Id,
        message,
        expected: Some(format!("`{meant}`")),
        actual: Some(format!("`{}`", id.value)),
        line,
        column,
        suggestion: Some(hint),
        fix: None,
        at: id.at,
        related: None,
    });
    Err(problem)
}

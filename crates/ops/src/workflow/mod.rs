//! Operations on workflow documents: reading, checking, writing and restoring them. Each has its
//! own file.
//!
//! Only the runtime directory is written to. This module decides, for every interface, what a
//! document is checked against: the imported catalogs, and the other workflows in the library.

pub mod delete;
pub mod diff;
pub mod get;
mod lines;
pub mod list;
pub mod mend;
pub(crate) mod problem;
pub mod rename;
pub mod restore;
pub mod save;
pub mod validate;
pub mod versions;

use milepost_driver::clock::now_ms;
use milepost_model::document::Document;
use milepost_model::finding::Severity;
use milepost_model::id::WorkflowId;
use milepost_model::violation::Violation as Found;
use milepost_store::workflows::{ExpectedVersion, WorkflowChange};
use milepost_store::{Digest, SourceKind};
use milepost_syntax::source::Format;

use crate::catalog_commands::CatalogCommands;
use crate::prelude::*;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DocumentFormat {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

impl From<Format> for DocumentFormat {
    fn from(format: Format) -> DocumentFormat {
        match format {
            Format::Json => DocumentFormat::Json,
            Format::Yaml => DocumentFormat::Yaml,
        }
    }
}

impl From<DocumentFormat> for Format {
    fn from(written: DocumentFormat) -> Format {
        match written {
            DocumentFormat::Json => Format::Json,
            DocumentFormat::Yaml => Format::Yaml,
        }
    }
}

/// One finding in a document.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ViolationView {
    /// `error` or `warning`.
    #[schemars(with = "String")]
    pub severity: Severity,
    /// JSON pointer to its location.
    pub path: String,
    /// The violated rule.
    pub rule: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What was expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The next thing to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// A change that fixes exactly this: `patch` is a JSON Patch, `edits` are text edits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Value>,
}

impl From<&Found> for ViolationView {
    fn from(found: &Found) -> ViolationView {
        ViolationView {
            severity: found.severity,
            path: found.path.clone(),
            rule: found.rule.name().to_owned(),
            message: found.message.clone(),
            expected: found.expected.clone(),
            actual: found.actual.clone(),
            line: found.line,
            column: found.column,
            suggestion: found.suggestion.clone(),
            fix: found.fix.as_ref().map(milepost_syntax::fix::Fix::to_value),
        }
    }
}

/// A workflow from a read-only source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReadOnlyWorkflow {
    /// `built-in`, `user` or `path`.
    pub source: String,
    /// Its file; for a built-in workflow only the name.
    pub path: String,
}

/// Reads and checks a document, in the same way for every interface.
pub fn read(reader: &Reader, bytes: &[u8], format: Option<Format>) -> Document {
    let known = CatalogCommands::of(reader.clone());
    Document::read(bytes, format, known.world())
}

/// The violations of one severity.
fn violations(document: &Document, severity: Severity) -> Vec<ViolationView> {
    let found = document.violations.iter().filter(|one| one.severity == severity);
    found.map(ViolationView::from).collect()
}

/// The source of a document exactly as in its file, including a byte order mark.
fn content(document: &Document) -> Option<String> {
    let source = document.source.as_ref()?;
    String::from_utf8(source.with_text(source.text())).ok()
}

pub(crate) fn id_of(text: &str) -> Result<WorkflowId> {
    WorkflowId::parse(text).map_err(|invalid| {
        let hint = format!("use {}", invalid.rule);
        Problem::new(Code::IdInvalid, invalid.to_string(), hint).context("workflow_id", text)
    })
}

/// The version that the existing workflow must have; any version if none is given.
fn expecting(version: Option<&str>) -> Result<ExpectedVersion> {
    let Some(text) = version else { return Ok(ExpectedVersion::Any) };
    let Some(version) = Digest::parse(text) else {
        let message = "`expected_version` must be 64 hexadecimal digits";
        let hint = "use the `version` that `workflow.get` returns";
        return Err(Problem::new(Code::ParamsInvalid, message, hint));
    };
    Ok(ExpectedVersion::Version(version))
}

fn change(expected: ExpectedVersion) -> WorkflowChange {
    WorkflowChange { expected, at_ms: now_ms() }
}

/// The workflow with this id in a read-only source, unless one in the runtime directory hides it.
fn elsewhere(reader: &Reader, id: &WorkflowId) -> Option<(ReadOnlyWorkflow, String)> {
    let entry = reader.workflow(id.as_str()).ok()?;
    if entry.source == SourceKind::Runtime {
        return None;
    }
    let (source, path) = (entry.source.name().to_owned(), entry.path.display().to_string());
    Some((ReadOnlyWorkflow { source, path }, entry.version.clone()))
}

/// A warning for each workflow that runs this one.
fn runners(reader: &Reader, id: &WorkflowId, then: &str) -> Result<Vec<String>> {
    let listing = reader.listing()?;
    let runs = |item: &&std::sync::Arc<milepost_store::WorkflowSummary>| {
        item.runs.iter().any(|other| other == id.as_str())
    };
    let warning = |runner: &str| format!("workflow `{runner}` runs `{id}`: {then}");
    Ok(listing.items.iter().filter(runs).map(|item| warning(&item.id)).collect())
}

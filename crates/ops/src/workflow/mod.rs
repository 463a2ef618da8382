//! Operations on workflow documents: looked at, checked, written, brought back. One file each.
//!
//! Only the runtime directory is written. What a document is checked against is decided here, for
//! every door: the catalogs that are imported, and the workflows beside it.

pub mod delete;
pub mod diff;
pub mod get;
mod instant;
mod lines;
pub mod list;
pub mod mend;
mod problem;
pub mod rename;
pub mod restore;
pub mod save;
pub mod validate;
pub mod versions;

use milepost_model::document::Document;
use milepost_model::finding::Severity;
use milepost_model::id::WorkflowId;
use milepost_model::problem::{Code, Problem};
use milepost_model::source::Format;
use milepost_model::violation::Violation as Found;
use milepost_store::workflows::{Change, Expected};
use milepost_store::{Digest, SourceKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::commands::Known;
use crate::reader::Reader;

/// How a document is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Written {
    /// As YAML.
    Yaml,
    /// As JSON.
    Json,
}

impl From<Format> for Written {
    fn from(format: Format) -> Written {
        match format {
            Format::Json => Written::Json,
            Format::Yaml => Written::Yaml,
        }
    }
}

impl From<Written> for Format {
    fn from(written: Written) -> Format {
        match written {
            Written::Json => Format::Json,
            Written::Yaml => Format::Yaml,
        }
    }
}

/// One finding in a document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Violation {
    /// `error` or `warning`.
    #[serde(with = "crate::named")]
    #[schemars(with = "String")]
    pub severity: Severity,
    /// JSON pointer of what it is about.
    pub path: String,
    /// The rule it goes back to.
    pub rule: String,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What would be right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// What is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// The one next action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// A change that mends exactly this: `patch` is a JSON Patch, `edits` are those of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Value>,
}

impl From<&Found> for Violation {
    fn from(found: &Found) -> Violation {
        Violation {
            severity: found.severity,
            path: found.path.clone(),
            rule: found.rule.name().to_owned(),
            message: found.message.clone(),
            expected: found.expected.clone(),
            actual: found.actual.clone(),
            line: found.line,
            column: found.column,
            suggestion: found.suggestion.clone(),
            fix: found.fix.as_ref().map(milepost_model::fix::Fix::to_value),
        }
    }
}

/// A workflow of another source than the one that is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Elsewhere {
    /// `built-in`, `user` or `path`.
    pub source: String,
    /// Its file; of a built-in workflow only the name.
    pub path: String,
}

/// Reads and checks a document as every door does.
pub fn read(reader: &Reader, bytes: &[u8], format: Option<Format>) -> Document {
    let known = Known::of(reader.clone());
    Document::read(bytes, format, known.world())
}

/// What was found of one severity.
fn violations(document: &Document, severity: Severity) -> Vec<Violation> {
    let found = document.violations.iter().filter(|one| one.severity == severity);
    found.map(Violation::from).collect()
}

/// The text of a document as it is in its file, its byte order mark included.
fn content(document: &Document) -> Option<String> {
    let source = document.source.as_ref()?;
    String::from_utf8(source.with_text(source.text())).ok()
}

fn id_of(text: &str) -> Result<WorkflowId, Problem> {
    WorkflowId::parse(text).map_err(|invalid| {
        let hint = format!("use {}", invalid.rule);
        Problem::new(Code::IdInvalid, invalid.to_string(), hint).context("workflow_id", text)
    })
}

/// What is expected of a workflow that is there; without a version whatever it is.
fn expecting(version: Option<&str>) -> Result<Expected, Problem> {
    let Some(text) = version else { return Ok(Expected::Any) };
    let Some(version) = Digest::parse(text) else {
        let message = "`expected_version` is not a version: it has 64 hexadecimal digits";
        let hint = "take it from `workflow.get` as it is";
        return Err(Problem::new(Code::ParamsInvalid, message, hint));
    };
    Ok(Expected::Version(version))
}

fn change(expected: Expected) -> Change {
    Change { expected, at_ms: instant::now_ms() }
}

/// The workflow that an id has in a source that is not written, when none of the runtime directory
/// is before it.
fn elsewhere(reader: &Reader, id: &WorkflowId) -> Option<(Elsewhere, String)> {
    let entry = reader.workflow(id.as_str()).ok()?;
    if entry.source == SourceKind::Runtime {
        return None;
    }
    let (source, path) = (entry.source.name().to_owned(), entry.path.display().to_string());
    Some((Elsewhere { source, path }, entry.version.clone()))
}

/// The workflows that run another one, each as a warning.
fn runners(reader: &Reader, id: &WorkflowId, then: &str) -> Result<Vec<String>, Problem> {
    let listing = reader.listing()?;
    let runs = |item: &&std::sync::Arc<milepost_store::Summary>| {
        item.runs.iter().any(|other| other == id.as_str())
    };
    let warning = |runner: &str| format!("workflow `{runner}` runs `{id}`: {then}");
    Ok(listing.items.iter().filter(runs).map(|item| warning(&item.id)).collect())
}

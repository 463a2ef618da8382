//! `workflow.restore`: a workflow says again what it said before, deleted or not.

use milepost_model::finding::Severity;
use milepost_model::problem::Problem;
use milepost_model::source::Format;
use milepost_store::read_document;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::versions::Record;
use super::{Violation, Written, change, expecting, problem, read, violations};
use crate::call::Call;
use crate::later::Later;
use crate::operation::Door;
use crate::problems;
use crate::writer::Writer;

/// Restores a version of a workflow.
#[derive(Debug)]
pub struct Restore;

/// Which one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The id of the workflow.
    pub workflow_id: String,
    /// The version, or its first digits, as long as no other begins so.
    pub version: String,
    /// The version you have seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<String>,
}

/// What it is now.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Response {
    /// The id of the workflow.
    pub workflow_id: String,
    /// Its file.
    pub path: String,
    /// How it is written.
    pub format: Written,
    /// Its version. Another one than the one restored when that was under another id.
    pub version: String,
    /// The version that was asked for.
    pub restored_version: String,
    /// The version that it took the place of, and that can be restored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous_version: Option<String>,
    /// Whether it can be used now: catalogs may have changed since, and what an editor left may
    /// never have been valid.
    pub valid: bool,
    /// Everything that keeps it from being valid.
    pub violations: Vec<Violation>,
}

impl Later for Restore {
    type Request = Request;
    type Response = Response;
    type Hands = Writer;

    const NAME: &'static str = "workflow.restore";
    const TITLE: &'static str = "Restore a workflow";
    const DESCRIPTION: &'static str = include_str!("restore.md");
    const DOORS: &'static [Door] = &[Door::Command("workflow restore")];

    async fn run(writer: &Writer, _call: &dyn Call, request: Request) -> Result<Response, Problem> {
        let reader = &writer.reader;
        let record = Record::of(reader, &request.workflow_id)?;
        let version = record.called(&request.version)?;
        let change = change(expecting(request.expected_version.as_deref())?);
        let saved = writer.workflows.restore(&record.id, version, change);
        let saved = saved.map_err(|error| problem::of_change(error, reader))?;
        let format: Format = saved.format;
        let bytes = read_document(&saved.path, milepost_model::limits::DOCUMENT_BYTES);
        let bytes = bytes.map_err(|error| problems::of_file(&error))?;
        let document = read(reader, &bytes, Some(format));
        Ok(Response {
            workflow_id: record.id.to_string(),
            path: saved.path.display().to_string(),
            format: format.into(),
            version: saved.version.to_string(),
            restored_version: version.to_string(),
            previous_version: saved.previous.map(|previous| previous.to_string()),
            valid: document.is_valid(),
            violations: violations(&document, Severity::Error),
        })
    }

    fn example() -> Request {
        let (workflow_id, version) = ("greet".to_owned(), "9f2c".to_owned());
        Request { workflow_id, version, expected_version: None }
    }
}

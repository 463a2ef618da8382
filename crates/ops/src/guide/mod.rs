//! The guide operations, which implement the `workflowlookup` contract for every interface.
//!
//! They are stateless: the caller keeps track of completed steps and the context.

pub mod check;
pub mod get;
pub mod list;
pub mod next;
pub mod validate_json;
mod view;

use std::io::{self, Write};
use std::sync::Arc;

use milepost_model::limits;
use milepost_model::workflow::Workflow;
use milepost_store::LibraryEntry;

pub use check::{CheckRequest, ValidationResult};
pub use get::{GetRequest, GuideDetail, GuideOverview};
pub use list::{ListRequest, ListResponse};
pub use next::{NextRequest, NextResponse};
pub use validate_json::ValidateJsonRequest;

use crate::prelude::*;

/// Finds a workflow that a caller can walk through step by step.
fn walkable(reader: &Reader, id: &str) -> Result<Arc<LibraryEntry>> {
    let entry = reader.workflow(id)?;
    if workflow_of(&entry)?.is_agent_only() {
        return Ok(entry);
    }
    let message = format!("`{id}` has steps that are not for agents");
    let hint = Hint::text("run it with ").call(Invocation::of("workflow.run"));
    Err(Problem::new(Code::StateInvalid, message, hint).context("workflow_id", id))
}

fn workflow_of(entry: &LibraryEntry) -> Result<&Workflow> {
    // The library only returns documents that contain a workflow; anything else is a bug.
    entry.document.workflow.as_ref().ok_or_else(|| {
        Problem::new(Code::Internal, "the document contains no workflow", "report this")
    })
}

/// The caller's context as a value; fails if it is too large.
fn context_of(context: Option<Map<String, Value>>) -> Result<Value> {
    let context = Value::Object(context.unwrap_or_default());
    let limit = limits::CONTEXT_BYTES;
    let mut measure = Measure { left: limit };
    if serde_json::to_writer(&mut measure, &context).is_err() {
        let message = format!("the context is larger than {limit} bytes");
        let hint = "send only what the workflow's conditions, loops and prompts read";
        return Err(Problem::new(Code::StateInvalid, message, hint).context("limit", limit));
    }
    Ok(context)
}

/// A writer that discards its input and fails after a given number of bytes.
struct Measure {
    left: usize,
}

impl Write for Measure {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

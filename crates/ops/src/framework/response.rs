//! An operation's response: JSON, parts of which may be reused from earlier responses.

use std::ops::Range;
use std::sync::Arc;

use milepost_model::rendered::Fixed;
use milepost_syntax::escape::escape;
use serde::Serialize;

use crate::limits::RESPONSE_CAPACITY_BYTES;

/// JSON, and which parts of it are fixed. An interface that escapes the JSON can reuse the escaped
/// form of these parts.
#[derive(Debug, Clone, Default)]
pub struct Response {
    json: String,
    fixed: Vec<FixedPart>,
}

/// A fixed part of a response.
#[derive(Debug, Clone)]
pub struct FixedPart {
    /// Its byte range in the response.
    pub at: Range<usize>,
    fixed: Arc<Fixed>,
    escaped_bytes: usize,
}

impl FixedPart {
    /// The same bytes, escaped for a JSON string.
    pub fn escaped(&self) -> &str {
        &self.fixed.escaped[..self.escaped_bytes]
    }
}

impl Response {
    pub(crate) fn new() -> Response {
        Response { json: String::with_capacity(RESPONSE_CAPACITY_BYTES), fixed: Vec::new() }
    }

    /// The response as JSON.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// The fixed parts, in order.
    pub fn fixed(&self) -> &[FixedPart] {
        &self.fixed
    }

    pub(crate) fn push(&mut self, json: &str) {
        self.json.push_str(json);
    }

    /// Appends a fixed part without its last `cut` bytes; in the escaped form, each quote takes two
    /// bytes.
    pub(crate) fn push_fixed(&mut self, fixed: &Arc<Fixed>, cut: usize) {
        let (kept, dropped) = fixed.json.split_at(fixed.json.len() - cut);
        let escaped_cut = dropped.len() + dropped.bytes().filter(|byte| *byte == b'"').count();
        let start = self.json.len();
        self.push(kept);
        self.fixed.push(FixedPart {
            at: start..self.json.len(),
            fixed: Arc::clone(fixed),
            escaped_bytes: fixed.escaped.len() - escaped_cut,
        });
    }

    /// Appends a string as the content of a JSON string literal.
    pub(crate) fn push_escaped(&mut self, text: &str) {
        escape(text, |part| self.json.push_str(part));
    }

    /// Appends another response, including its fixed parts.
    pub(crate) fn append(&mut self, part: &Response) {
        let start = self.json.len();
        self.push(&part.json);
        let moved = part.fixed.iter().cloned();
        self.fixed.extend(moved.map(|FixedPart { at, fixed, escaped_bytes }| FixedPart {
            at: at.start + start..at.end + start,
            fixed,
            escaped_bytes,
        }));
    }

    pub(crate) fn serialize(&mut self, value: &impl Serialize) -> serde_json::Result<()> {
        self.push(&serde_json::to_string(value)?);
        Ok(())
    }

    /// Appends the fields of an object after fields that were already written.
    pub(crate) fn more_fields(&mut self, value: &impl Serialize) -> serde_json::Result<()> {
        let object = serde_json::to_string(value)?;
        self.push(",");
        self.push(object.strip_prefix('{').unwrap_or_default());
        Ok(())
    }
}

impl From<String> for Response {
    fn from(json: String) -> Response {
        Response { json, fixed: Vec::new() }
    }
}

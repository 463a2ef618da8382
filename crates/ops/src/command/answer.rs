//! A response as data: selected headers and the body, as they came. The interface that shows them
//! masks secrets.

use milepost_catalog::document::ParsedDocument;
use milepost_model::secret::known_secrets;
use milepost_outbound::Response;
use milepost_syntax::json::document::{JsonKind, JsonNode};

use crate::prelude::*;

/// Headers that are kept, in lowercase.
const TOLD: &[&str] = &[
    "content-type",
    "deprecation",
    "etag",
    "last-modified",
    "link",
    "location",
    "ratelimit-limit",
    "ratelimit-remaining",
    "ratelimit-reset",
    "request-id",
    "retry-after",
    "sunset",
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "x-request-id",
    "x-total-count",
];

#[derive(Debug, PartialEq)]
pub(crate) enum AnswerBody {
    /// An empty body.
    Nothing,
    Json(Value),
    Text(String),
    /// Bytes that are not text.
    Binary(Vec<u8>),
}

/// The response headers that are kept.
pub(crate) fn headers(response: &Response) -> Map<String, Value> {
    let headers = response.headers.iter();
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value));
    let kept = headers.filter(|(name, _)| TOLD.contains(&name.as_str()));
    kept.map(|(name, value)| (name, Value::from(value.as_str()))).collect()
}

/// A response body, parsed according to its content type.
pub(crate) fn body(response: &Response, notes: &mut Vec<String>) -> AnswerBody {
    let bytes = match response.truncated {
        true => known_secrets::without_part(&response.body),
        false => &response.body,
    };
    if bytes.is_empty() {
        return AnswerBody::Nothing;
    }
    let kind = response.header("content-type").unwrap_or_default().to_ascii_lowercase();
    let Ok(text) = std::str::from_utf8(bytes) else {
        return if is_text(&kind) {
            notes.push("the response is not UTF-8; some characters may be wrong".to_owned());
            AnswerBody::Text(latin(bytes))
        } else {
            AnswerBody::Binary(bytes.to_vec())
        };
    };
    if kind.contains("json") || kind.is_empty() {
        match json(text, notes) {
            Some(value) => return AnswerBody::Json(value),
            None if kind.contains("json") => {
                notes.push("the response is labeled as JSON but is not valid JSON".to_owned());
            }
            None => {}
        }
    }
    if is_text(&kind) || kind.is_empty() || kind.contains("json") {
        return AnswerBody::Text(text.to_owned());
    }
    AnswerBody::Binary(bytes.to_vec())
}

fn is_text(kind: &str) -> bool {
    ["text/", "xml", "yaml", "javascript", "csv", "html", "x-www-form-urlencoded", "graphql"]
        .iter()
        .any(|word| kind.contains(word))
}

fn latin(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// Parses JSON, keeping integers that are too large for a number as strings.
fn json(text: &str, notes: &mut Vec<String>) -> Option<Value> {
    let value: Value = serde_json::from_str(text).ok()?;
    if !has_long_number(text) {
        return Some(value);
    }
    let Ok(reading) = ParsedDocument::read(text.as_bytes()) else { return Some(value) };
    let mut kept = 0;
    let exact = exact(reading.document.root(), &mut kept);
    if kept > 0 {
        notes.push(format!("integers too large for a JSON number, returned as text: {kept}"));
    }
    Some(exact)
}

/// Whether a string contains twenty digits in a row.
fn has_long_number(text: &str) -> bool {
    let mut run = 0;
    text.bytes().any(|byte| {
        run = if byte.is_ascii_digit() { run + 1 } else { 0 };
        run >= 20
    })
}

fn exact(node: JsonNode<'_>, kept: &mut usize) -> Value {
    match node.kind() {
        JsonKind::List => node.items().map(|item| exact(item, kept)).collect(),
        JsonKind::Map => {
            let entries = node.entries().map(|(key, value)| (key.into_owned(), exact(value, kept)));
            Value::Object(entries.collect())
        }
        JsonKind::Number => {
            let raw = node.raw();
            let whole = raw.strip_prefix('-').unwrap_or(raw).bytes().all(|b| b.is_ascii_digit());
            if whole && raw.parse::<i64>().is_err() && raw.parse::<u64>().is_err() {
                *kept += 1;
                return Value::from(raw);
            }
            node.to_value()
        }
        _ => node.to_value(),
    }
}

#[cfg(test)]
mod tests {
    use super::json;

    #[test]
    fn large_whole_numbers_stay_exact() {
        let mut notes = Vec::new();
        let value =
            json(r#"{"id": 123456789012345678901234, "n": 18446744073709551615}"#, &mut notes);
        let value = value.expect("JSON");
        assert_eq!(value["id"], "123456789012345678901234");
        assert_eq!(value["n"], u64::MAX);
        assert_eq!(notes.len(), 1);
    }
}

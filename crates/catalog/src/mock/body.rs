//! Bodies of requests, read by their media type.

use serde_json::Value;

use super::schema::Schema;
use super::wire::{Texts, meaning, tree};
use crate::request::media::essence;

/// Whether a media type is JSON.
pub(super) fn is_json(essence: &str) -> bool {
    matches!(essence, "application/json" | "text/json" | "*/*" | "application/*" | "text/x-json")
        || essence.ends_with("+json")
        || essence.ends_with("/json")
}

/// Whether a media type is of a range such as `image/*`.
pub(super) fn is_of(essence: &str, range: &str) -> bool {
    match range.split_once('/') {
        Some(("*", "*")) => true,
        Some((kind, "*")) => essence.split('/').next() == Some(kind),
        _ => essence == range,
    }
}

/// What a body holds.
#[derive(Debug, PartialEq)]
pub(super) enum Read {
    /// A value to check.
    Value(Value),
    /// Bytes that no schema says anything about.
    Opaque,
    /// It is not what its media type says; why.
    Broken(String),
}

/// Reads a body.
pub(super) fn read(bytes: &[u8], content_type: &str, schema: &Schema) -> Read {
    let kind = essence(content_type);
    if is_json(&kind) {
        return match serde_json::from_slice(bytes) {
            Ok(value) => Read::Value(value),
            Err(error) => Read::Broken(format!("the body is not valid JSON: {error}")),
        };
    }
    match kind.as_str() {
        "application/x-www-form-urlencoded" => {
            let pairs = url::form_urlencoded::parse(bytes).into_owned();
            Read::Value(meaning(&tree(pairs), schema))
        }
        "multipart/form-data" => match parts(bytes, content_type) {
            Some(parts) => Read::Value(meaning(&tree(parts.into_iter()), schema)),
            None => Read::Broken("the body is not a multipart form".to_owned()),
        },
        "text/plain" => match std::str::from_utf8(bytes) {
            Ok(text) => Read::Value(meaning(&Texts::Many(vec![text.to_owned()]), schema)),
            Err(_) => Read::Opaque,
        },
        _ => Read::Opaque,
    }
}

/// Names and texts of a multipart form. Files are texts too: a schema knows no bytes.
fn parts(bytes: &[u8], content_type: &str) -> Option<Vec<(String, String)>> {
    let boundary = parameter(content_type, "boundary")?;
    let text: String = bytes.iter().map(|byte| char::from(*byte)).collect();
    let mut parts = Vec::new();
    for part in text.split(&format!("--{boundary}")).skip(1) {
        if part.starts_with("--") {
            return Some(parts);
        }
        let (head, body) = part.split_once("\r\n\r\n").or_else(|| part.split_once("\n\n"))?;
        let mut lines = head.lines();
        let line =
            lines.find(|line| line.to_ascii_lowercase().starts_with("content-disposition"))?;
        let body = body.strip_suffix("\r\n").or_else(|| body.strip_suffix('\n')).unwrap_or(body);
        // Back from one character per byte to what the bytes say.
        let raw: Vec<u8> = body.chars().map(|character| character as u8).collect();
        parts.push((parameter(line, "name")?, String::from_utf8_lossy(&raw).into_owned()));
    }
    None
}

/// A parameter of a header: `boundary=x`, `name="x"`.
fn parameter(header: &str, name: &str) -> Option<String> {
    header.split(';').skip(1).find_map(|part| {
        let (key, value) = part.trim().split_once('=')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"').to_owned())
    })
}

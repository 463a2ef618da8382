//! Parses request bodies according to their media type.

use milepost_catalog::request::media::{MediaKind, essence};
use serde_json::Value;

use crate::parameter::{Texts, tree, typed};
use crate::schema::CompiledSchema;

#[derive(Debug, PartialEq)]
pub(crate) enum DecodedBody {
    /// A value to check.
    Value(Value),
    /// Bytes that no schema describes.
    Opaque,
    /// Not valid for its media type, with the reason.
    Broken(String),
}

pub(crate) fn decode(bytes: &[u8], content_type: &str, schema: &CompiledSchema) -> DecodedBody {
    match MediaKind::of(content_type) {
        MediaKind::Json | MediaKind::JsonLike => match serde_json::from_slice(bytes) {
            Ok(value) => DecodedBody::Value(value),
            Err(error) => DecodedBody::Broken(format!("the body is not valid JSON: {error}")),
        },
        MediaKind::Form => {
            let pairs = url::form_urlencoded::parse(bytes).into_owned();
            DecodedBody::Value(typed(&tree(pairs), schema))
        }
        MediaKind::Multipart if essence(content_type) == "multipart/form-data" => {
            match parts(bytes, content_type) {
                Some(parts) => DecodedBody::Value(typed(&tree(parts.into_iter()), schema)),
                None => DecodedBody::Broken("the body is not a multipart form".to_owned()),
            }
        }
        MediaKind::Text if essence(content_type) == "text/plain" => {
            match std::str::from_utf8(bytes) {
                Ok(text) => DecodedBody::Value(typed(&Texts::Many(vec![text.to_owned()]), schema)),
                Err(_) => DecodedBody::Opaque,
            }
        }
        _ => DecodedBody::Opaque,
    }
}

/// The names and values in a multipart form. Files are read as text too, because schemas do not
/// describe bytes.
fn parts(bytes: &[u8], content_type: &str) -> Option<Vec<(String, String)>> {
    let boundary = parameter(content_type, "boundary")?;
    let text = String::from_utf8_lossy(bytes);
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
        parts.push((parameter(line, "name")?, body.to_owned()));
    }
    None
}

/// A header parameter: `boundary=x`, `name="x"`.
fn parameter(header: &str, name: &str) -> Option<String> {
    header.split(';').skip(1).find_map(|part| {
        let (key, value) = part.trim().split_once('=')?;
        key.eq_ignore_ascii_case(name).then(|| value.trim().trim_matches('"').to_owned())
    })
}

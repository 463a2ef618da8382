//! Serializes a parameter by its style or by its media type.

use serde_json::{Map, Value};

use super::body;
use super::encode::Encode;
use super::media::MediaKind;
use super::style::{ValueStyle, text_of};
use crate::command::{ApiParameter, Content, Location, Style};

/// The serialized parameter, including its name if the location needs one; `None` if the value is
/// undefined.
pub(crate) fn written(parameter: &ApiParameter, value: &Value) -> Option<String> {
    let location = parameter.location;
    let encode = match (location, parameter.allow_reserved) {
        (Location::Header, _) => Encode::Raw,
        (Location::Cookie, _) if parameter.style == Style::Cookie => Encode::Raw,
        (Location::Query, true) => Encode::ReservedInQuery,
        (Location::Path, true) => Encode::ReservedInPath,
        _ => Encode::Strict,
    };
    if location == Location::QueryString || parameter.content.is_some() {
        return written_as_content(parameter, value, encode);
    }
    let ApiParameter { style, explode, .. } = *parameter;
    ValueStyle { location, style, explode, encode }.write(&parameter.name, value)
}

fn written_as_content(parameter: &ApiParameter, value: &Value, encode: Encode) -> Option<String> {
    let media_type = parameter.content.as_deref().unwrap_or("application/x-www-form-urlencoded");
    let kind = MediaKind::of(media_type);
    let is_whole = parameter.location == Location::QueryString;
    let text = match (kind, value) {
        (kind, value) if kind.is_json() => value.to_string(),
        (_, Value::Null) => return None,
        (MediaKind::Form, Value::Object(map)) => {
            let text = form_text(map);
            if is_whole {
                return (!text.is_empty()).then_some(text);
            }
            text
        }
        (_, value) => text_of(value).into_owned(),
    };
    let named = matches!(parameter.location, Location::Query | Location::Cookie);
    let text = if encode == Encode::Raw { ascii(&text) } else { encode.text(&text) };
    let name = || Encode::Strict.text(&parameter.name);
    Some(if named { format!("{}={text}", name()) } else { text })
}

fn form_text(map: &Map<String, Value>) -> String {
    let content = Content::new("", Value::Bool(true));
    body::FormBody { content: &content, defs: &Map::new(), files: None }.urlencoded(map)
}

/// Escapes non-ASCII characters as `\u…`, so that JSON can be sent in a header.
fn ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            let mut units = [0; 2];
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out
}

/// Whether a value contains a `;`, which would end a cookie.
pub(crate) fn has_semicolon(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_semicolon),
        Value::Object(map) => {
            map.iter().any(|(key, value)| key.contains(';') || has_semicolon(value))
        }
        plain => text_of(plain).contains(';'),
    }
}

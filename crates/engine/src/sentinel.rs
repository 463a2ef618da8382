//! What stands in the place of a secret until it is sent, and how it is found again.
//!
//! Nobody outside knows the seal of a run, so no answer of an API can make the engine put a secret
//! somewhere.

use milepost_model::secret;
use serde_json::{Map, Value};

/// What stands in the place of a secret.
pub fn sentinel(seal: &str, name: &str) -> String {
    format!("{}{name}{CLOSE}", open(seal))
}

const CLOSE: char = ')';

fn open(seal: &str) -> String {
    format!("milepost-secret({seal}:")
}

/// A text with something else in the place of every sentinel, by the name of its secret; one for
/// which there is nothing stays.
fn replaced(seal: &str, text: &str, mut with: impl FnMut(&str) -> Option<String>) -> String {
    let open = open(seal);
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&open) {
        let inner = &rest[at + open.len()..];
        let Some(end) = inner.find(CLOSE) else { break };
        let after = at + open.len() + end + CLOSE.len_utf8();
        match with(&inner[..end]) {
            Some(other) => {
                out.push_str(&rest[..at]);
                out.push_str(&other);
            }
            None => out.push_str(&rest[..after]),
        }
        rest = &rest[after..];
    }
    out.push_str(rest);
    out
}

/// A value with something else in the place of every sentinel in its texts.
pub fn replaced_in(
    seal: &str,
    value: &Value,
    with: &mut dyn FnMut(&str) -> Option<String>,
) -> Value {
    match value {
        Value::String(text) => Value::String(replaced(seal, text, with)),
        Value::Array(items) => items.iter().map(|item| replaced_in(seal, item, with)).collect(),
        Value::Object(map) => Value::Object(replaced_in_map(seal, map, with)),
        other => other.clone(),
    }
}

/// The same for the values of a map; its keys are nobody's secret.
pub fn replaced_in_map(
    seal: &str,
    map: &Map<String, Value>,
    with: &mut dyn FnMut(&str) -> Option<String>,
) -> Map<String, Value> {
    map.iter().map(|(name, value)| (name.clone(), replaced_in(seal, value, with))).collect()
}

/// A value as it may be shown: marks in the place of sentinels.
pub fn shown(seal: &str, value: &Value) -> Value {
    replaced_in(seal, value, &mut |name| Some(secret::mark(name)))
}

/// A text as it may be shown.
pub fn shown_text(seal: &str, text: &str) -> String {
    replaced(seal, text, |name| Some(secret::mark(name)))
}

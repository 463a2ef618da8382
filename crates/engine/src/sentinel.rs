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
fn replaced(open: &str, text: &str, with: &mut dyn FnMut(&str) -> Option<String>) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(open) {
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
    let open = open(seal);
    // Most have none, and every answer of an API is looked at.
    if has(&open, value) { inside(&open, value, with) } else { value.clone() }
}

/// The same for the values of a map; its keys are nobody's secret.
pub fn replaced_in_map(
    seal: &str,
    map: &Map<String, Value>,
    with: &mut dyn FnMut(&str) -> Option<String>,
) -> Map<String, Value> {
    let open = open(seal);
    map.iter().map(|(name, value)| (name.clone(), inside(&open, value, with))).collect()
}

/// The names of the secrets whose sentinels stand in a value.
pub fn names_in(seal: &str, value: &Value) -> Vec<String> {
    let open = open(seal);
    let mut names: Vec<String> = Vec::new();
    if has(&open, value) {
        inside(&open, value, &mut |name| {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
            None
        });
    }
    names
}

fn has(open: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(open),
        Value::Array(items) => items.iter().any(|item| has(open, item)),
        Value::Object(map) => map.values().any(|value| has(open, value)),
        _ => false,
    }
}

fn inside(open: &str, value: &Value, with: &mut dyn FnMut(&str) -> Option<String>) -> Value {
    match value {
        Value::String(text) => Value::String(replaced(open, text, with)),
        Value::Array(items) => items.iter().map(|item| inside(open, item, with)).collect(),
        Value::Object(map) => {
            let all = map.iter().map(|(name, value)| (name.clone(), inside(open, value, with)));
            Value::Object(all.collect())
        }
        other => other.clone(),
    }
}

/// A value as it may be shown: marks in the place of sentinels.
pub fn shown(seal: &str, value: &Value) -> Value {
    replaced_in(seal, value, &mut |name| Some(secret::mark(name)))
}

/// The same of a value that nobody else needs.
pub fn into_shown(seal: &str, value: Value) -> Value {
    let open = open(seal);
    match has(&open, &value) {
        true => inside(&open, &value, &mut |name| Some(secret::mark(name))),
        false => value,
    }
}

/// A text as it may be shown.
pub fn shown_text(seal: &str, text: &str) -> String {
    replaced(&open(seal), text, &mut |name| Some(secret::mark(name)))
}

//! Converts command-line text to the value that a schema expects. This is only for the command
//! line; a value that was given as JSON is used as is.

use serde_json::{Map, Value};

use crate::limits;
use crate::schema::{self, Definitions};

/// Converts command-line text to the intended value. Text that matches nothing stays a string, and
/// the argument check then reports what is wrong with it.
pub fn coerce(schema: &Value, defs: &Map<String, Value>, text: &str) -> Value {
    read(schema, defs, text, 0)
}

fn read(schema: &Value, defs: &Definitions, text: &str, depth: usize) -> Value {
    let types = schema::types(schema, defs);
    let may_be = |name: &str| types.contains(&name);
    let json = || serde_json::from_str::<Value>(text).ok();
    if types.is_empty() {
        return untyped(text);
    }
    if types == ["string"] {
        return Value::String(text.to_owned());
    }
    if let Some(value) = chosen(schema, defs, text) {
        return value;
    }
    let trimmed = text.trim();
    let composed = (trimmed.starts_with('[') && may_be("array"))
        || (trimmed.starts_with('{') && may_be("object"));
    if let Some(value) = json().filter(|_| composed) {
        return value;
    }
    if let Some(value) = integer(trimmed).filter(|_| may_be("integer") || may_be("number")) {
        return value;
    }
    match trimmed {
        "true" | "false" if may_be("boolean") => return Value::Bool(trimmed == "true"),
        "null" if may_be("null") => return Value::Null,
        _ => {}
    }
    if may_be("number")
        && let Some(value @ Value::Number(_)) = json()
    {
        return value;
    }
    if may_be("array") && !may_be("string") && depth < limits::VALUE_DEPTH {
        return list(schema, defs, text, depth);
    }
    Value::String(text.to_owned())
}

/// Parses an integer without losing digits; `None` if it is too large.
fn integer(text: &str) -> Option<Value> {
    let signed = text.parse::<i64>().ok().map(Value::from);
    let plain = text.strip_prefix('-').unwrap_or(text);
    let is_digits = !plain.is_empty() && plain.bytes().all(|byte| byte.is_ascii_digit());
    signed.or_else(|| text.parse::<u64>().ok().map(Value::from)).filter(|_| is_digits)
}

/// Converts text without a known type: it is read as JSON, unless that would lose digits or a
/// leading zero.
fn untyped(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(Value::Number(number)) if number.to_string() != text => Value::String(text.to_owned()),
        Ok(Value::String(_)) | Err(_) => Value::String(text.to_owned()),
        Ok(value) => value,
    }
}

/// The value of an `enum` or `const` that is written like this text.
fn chosen(schema: &Value, defs: &Definitions, text: &str) -> Option<Value> {
    let mut found = None;
    schema::each_part(schema, defs, &mut |part| {
        let listed = part.get("enum").and_then(Value::as_array).into_iter().flatten();
        let mut values = listed.chain(part.get("const")).filter(|value| !value.is_null());
        let is_it = |value: &&Value| super::style::text_of(value) == text;
        found = found.take().or_else(|| values.find(is_it).cloned());
    });
    found
}

/// Splits `a,b,c` into a list; empty text is an empty list.
fn list(schema: &Value, defs: &Definitions, text: &str, depth: usize) -> Value {
    let mut items = None;
    schema::each_part(schema, defs, &mut |part| items = items.or_else(|| part.get("items")));
    let item = |text: &str| match items {
        Some(items) => read(items, defs, text, depth + 1),
        None => untyped(text),
    };
    let parts = text.split(',').filter(|_| !text.is_empty());
    Value::Array(parts.map(item).collect())
}

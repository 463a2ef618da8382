//! JSON Schemas for commands: the types of a value, the properties of a body, referenced
//! definitions, and compilation.

mod direction;
pub(crate) mod size;

use std::collections::BTreeSet;

use jsonschema::{PatternOptions, ValidationError, ValidationOptions, Validator};
use milepost_model::json_schema::build;
use serde_json::{Map, Value};

pub use self::direction::{Direction, one_way};
use crate::limits;

/// The schemas that other schemas reference as `#/$defs/<name>`.
pub type Definitions = Map<String, Value>;

/// Keywords whose value is data, not a schema.
pub(crate) const DATA_KEYWORDS: &[&str] =
    &["enum", "const", "default", "example", "examples", "required"];

/// The name in a reference `#/$defs/<name>`.
pub(crate) fn definition_name(reference: &str) -> Option<String> {
    let raw = reference.strip_prefix("#/$defs/")?.split('/').next()?;
    let decoded = percent_encoding::percent_decode_str(raw).decode_utf8().ok()?;
    Some(decoded.replace("~1", "/").replace("~0", "~"))
}

/// The schema that a reference points to.
pub fn follow<'s>(reference: &str, defs: &'s Definitions) -> Option<&'s Value> {
    let definition = defs.get(&definition_name(reference)?)?;
    match reference.strip_prefix("#/$defs/")?.split_once('/') {
        None => Some(definition),
        Some((_, rest)) => {
            let rest = percent_encoding::percent_decode_str(rest).decode_utf8_lossy();
            definition.pointer(&format!("/{rest}"))
        }
    }
}

/// Follows references until a schema is reached; a dangling reference is returned as is.
pub fn resolve<'s>(schema: &'s Value, defs: &'s Definitions) -> &'s Value {
    let mut schema = schema;
    for _ in 0..limits::REF_HOPS {
        let reference = schema.get("$ref").and_then(Value::as_str);
        match reference.and_then(|reference| follow(reference, defs)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// The names of all definitions that a schema references, directly or indirectly.
pub fn reachable(schema: &Value, defs: &Definitions) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut open = vec![schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => {
                let reference = map.get("$ref").and_then(Value::as_str).and_then(definition_name);
                if let Some(name) = reference
                    && let Some(definition) = defs.get(&name)
                    && names.insert(name)
                {
                    open.push(definition);
                }
                open.extend(map.values());
            }
            _ => {}
        }
    }
    names
}

/// Compiles a JSON Schema 2020-12 schema, with format validation.
pub fn compile(schema: &Value) -> Result<Validator, ValidationError<'static>> {
    build(&options().should_validate_formats(true), schema)
}

/// Options for compiling third-party schemas: the time and memory used by regular expressions are
/// bounded, and nothing is fetched.
pub(crate) fn options() -> ValidationOptions<'static> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(limits::PATTERN_STEPS)
        .size_limit(limits::PATTERN_COMPILED_BYTES);
    jsonschema::options().offline().with_pattern_options(patterns)
}

/// Calls `visit` with every subschema that applies to the same value: the schema itself, the
/// schemas it references, and the schemas in `keywords` such as `allOf`.
fn each_part_in<'s>(
    schema: &'s Value,
    defs: &'s Definitions,
    keywords: &[&str],
    visit: &mut dyn FnMut(&'s Value),
) {
    let mut open = vec![(schema, 0)];
    let mut seen = 0;
    while let Some((schema, depth)) = open.pop() {
        seen += 1;
        if seen > limits::COMPOSED_PARTS || depth > limits::VALUE_DEPTH {
            return;
        }
        visit(schema);
        let target = resolve(schema, defs);
        if !std::ptr::eq(target, schema) {
            visit(target);
        }
        for keyword in keywords {
            let parts = target.get(keyword).and_then(Value::as_array);
            open.extend(parts.into_iter().flatten().rev().map(|part| (part, depth + 1)));
        }
    }
}

/// Visits a schema and the schemas it is composed of: references, `allOf`, `anyOf`, `oneOf`.
pub(crate) fn each_part<'s>(
    schema: &'s Value,
    defs: &'s Definitions,
    visit: &mut dyn FnMut(&'s Value),
) {
    each_part_in(schema, defs, &["oneOf", "anyOf", "allOf"], visit);
}

/// The schema of each property, in document order. If a property occurs more than once, the first
/// schema wins.
pub(crate) fn properties<'s>(
    schema: &'s Value,
    defs: &'s Definitions,
) -> Vec<(&'s str, &'s Value)> {
    let mut found: Vec<(&str, &Value)> = Vec::new();
    each_part(schema, defs, &mut |part| {
        for (name, property) in
            part.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            if !found.iter().any(|(known, _)| known == name) {
                found.push((name, property));
            }
        }
    });
    found
}

/// The types that a value can have; empty if any type is allowed.
pub(crate) fn types<'s>(schema: &'s Value, defs: &'s Definitions) -> Vec<&'s str> {
    let mut found = Vec::new();
    let mut add = |name: &'s str| {
        if !found.contains(&name) {
            found.push(name);
        }
    };
    each_part(schema, defs, &mut |part| {
        match part.get("type") {
            Some(Value::String(name)) => add(name),
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).for_each(&mut add),
            _ => {}
        }
        let listed = part.get("enum").and_then(Value::as_array).into_iter().flatten();
        listed.chain(part.get("const")).for_each(|value| add(type_of(value)));
    });
    found
}

/// The JSON Schema name of a value's type.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Describes the type of a value for people: `integer`, `array of string`, `string or null`.
pub(crate) fn describe(schema: &Value, defs: &Definitions) -> String {
    let types = types(schema, defs);
    if let ["array"] = types.as_slice() {
        let items = resolve(schema, defs).get("items").map(|items| self::types(items, defs));
        let items = items.filter(|items| !items.is_empty());
        return items
            .map_or("array".to_owned(), |items| format!("array of {}", items.join(" or ")));
    }
    if types.is_empty() { "any value".to_owned() } else { types.join(" or ") }
}

/// Whether a body property is sent as bytes rather than as text.
pub(crate) fn is_binary(schema: &Value, defs: &Definitions) -> bool {
    let mut binary = false;
    each_part(schema, defs, &mut |part| {
        let format = part.get("format").and_then(Value::as_str);
        let media = part.get("contentMediaType").and_then(Value::as_str);
        let encoded = part.get("contentEncoding").is_some();
        let octets = media.is_some_and(|media| !media.starts_with("text/")) && !encoded;
        binary |= format == Some("binary") || octets;
    });
    binary
}

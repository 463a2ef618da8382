//! JSON Schemas inside documents: checked when the document is read, without touching network or
//! files.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::decode::{Decode, Defs, Report, Shape, wrong};
use crate::finding::{Finding, Rule};
use crate::limits;
use crate::tree::{At, Kind, Node};

/// A JSON Schema that is one.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonSchema {
    /// Where it stands.
    pub at: At,
    /// The schema.
    pub value: Value,
}

impl Decode for JsonSchema {
    const WANT: &'static str = "a JSON Schema";

    fn decode(node: &Node, report: &mut Report) -> Option<Self> {
        decode(node, Rule::Schema, report)
    }
}

impl Shape for JsonSchema {
    fn schema(_: &mut Defs) -> Value {
        json!({"type": ["object", "boolean"]})
    }
}

/// Reads a schema; a bad one is reported under `rule`.
pub(crate) fn decode(node: &Node, rule: Rule, report: &mut Report) -> Option<JsonSchema> {
    if !matches!(node.kind, Kind::Map(_) | Kind::Bool(_)) {
        return wrong(node, report);
    }
    if node.count() > limits::SCHEMA_NODES {
        let message = format!("the schema has more than {} parts", limits::SCHEMA_NODES);
        report.add(Finding::error(node.at, rule, message).suggest("simplify it"));
        return None;
    }
    let value = node.to_value();
    if value.to_string().len() > limits::SCHEMA_BYTES {
        let message = format!("the schema is larger than {} bytes", limits::SCHEMA_BYTES);
        report.add(Finding::error(node.at, rule, message).suggest("simplify it"));
        return None;
    }
    if let Some(reference) = outside_reference(node) {
        report.add(
            Finding::error(reference.at, rule, "a `$ref` that leaves the document")
                .expected("a reference that begins with `#`")
                .suggest("put the definition under `$defs` of this schema"),
        );
        return None;
    }
    match fault(&value) {
        None => Some(JsonSchema { at: node.at, value }),
        Some((pointer, message)) => {
            let at = node_at_pointer(node, &pointer).at;
            report.add(
                Finding::error(at, rule, format!("no valid JSON Schema: {message}"))
                    .suggest("correct the schema here"),
            );
            None
        }
    }
}

/// The first fault of a schema: where in it, and what.
fn fault(schema: &Value) -> Option<(String, String)> {
    if is_plain(schema) {
        return None;
    }
    if let Err(error) = jsonschema::meta::validate(schema) {
        return Some((error.instance_path().to_string(), error.to_string()));
    }
    let error = jsonschema::options().should_validate_formats(true).build(schema).err()?;
    Some((error.instance_path().to_string(), error.to_string()))
}

/// A schema of the everyday kind needs no meta-schema to be known as one: plain types, nested
/// properties, lists of names. Most schemas in workflows are of that kind, and compiling each
/// would dominate the time it takes to validate a large workflow.
fn is_plain(schema: &Value) -> bool {
    const TYPES: &[&str] = &["string", "number", "integer", "boolean", "array", "object", "null"];
    let Some(object) = schema.as_object() else { return schema.is_boolean() };
    object.iter().all(|(key, value)| match key.as_str() {
        "type" => value.as_str().is_some_and(|name| TYPES.contains(&name)),
        "properties" => value.as_object().is_some_and(|map| map.values().all(is_plain)),
        "items" | "additionalProperties" => is_plain(value),
        "required" => value.as_array().is_some_and(|names| {
            names.iter().all(Value::is_string)
                && names.iter().collect::<HashSet<_>>().len() == names.len()
        }),
        "description" | "title" => value.is_string(),
        "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
        "minimum" | "maximum" => value.is_number(),
        "default" | "const" => true,
        "enum" => value.as_array().is_some_and(|values| !values.is_empty()),
        _ => false,
    })
}

fn outside_reference(node: &Node) -> Option<&Node> {
    for (key, value) in node.entries() {
        let outside = value.text().is_some_and(|target| !target.starts_with('#'));
        if (key.name == "$ref" || key.name == "$dynamicRef") && outside {
            return Some(value);
        }
        if let Some(found) = outside_reference(value) {
            return Some(found);
        }
    }
    node.items().iter().find_map(outside_reference)
}

fn node_at_pointer<'n>(node: &'n Node, pointer: &str) -> &'n Node {
    pointer.split('/').skip(1).fold(node, |node, segment| {
        let name = segment.replace("~1", "/").replace("~0", "~");
        let item = || name.parse::<usize>().ok().and_then(|index| node.items().get(index));
        node.get(&name).or_else(item).unwrap_or(node)
    })
}

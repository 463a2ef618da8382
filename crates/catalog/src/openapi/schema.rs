//! Converts schemas from any OpenAPI version to JSON Schema 2020-12. References stay references:
//! each target is converted once and kept under `#/$defs/<name>`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use milepost_syntax::json::document::JsonNode;
use serde_json::{Map, Value, json};

use super::{Api, OpenApiVersion};
use crate::{limits, refs, text};

const TYPES: &[&str] = &["array", "boolean", "integer", "null", "number", "object", "string"];

/// Converts one command's schemas and everything that they reference.
#[derive(Debug)]
pub(crate) struct SchemaConverter<'d> {
    pub(super) api: &'d Api,
    /// The definition name of each referenced schema, by its index in the document.
    names: BTreeMap<u32, String>,
    taken: BTreeSet<String>,
    waiting: VecDeque<(String, JsonNode<'d>)>,
    parts: usize,
}

impl<'d> SchemaConverter<'d> {
    pub(crate) fn new(api: &'d Api) -> SchemaConverter<'d> {
        SchemaConverter {
            api,
            names: BTreeMap::new(),
            taken: BTreeSet::new(),
            waiting: VecDeque::new(),
            parts: 0,
        }
    }

    /// Converts a schema.
    pub(crate) fn of(&mut self, node: JsonNode<'d>) -> Value {
        self.parts += 1;
        if let Some(flag) = node.bool() {
            return Value::Bool(flag);
        }
        if !node.is_map() || self.parts > limits::SCHEMA_PARTS {
            return Value::Bool(true);
        }
        let modern = self.api.version >= OpenApiVersion::V3_1;
        let mut schema = Map::new();
        if let Some(reference) = refs::target(node) {
            if let Some(name) = self.refer(&reference) {
                schema.insert("$ref".to_owned(), format!("#/$defs/{name}").into());
            }
            if !modern {
                let nullable = super::flag(node, "nullable") == Some(true);
                return if schema.is_empty() {
                    Value::Bool(true)
                } else if nullable {
                    json!({"anyOf": [schema, {"type": "null"}]})
                } else {
                    Value::Object(schema)
                };
            }
        }
        self.keywords(node, &mut schema);
        if !modern {
            older(node, &mut schema);
        }
        if self.api.version <= OpenApiVersion::V3_0 && super::flag(node, "nullable") == Some(true) {
            return nullable(schema);
        }
        Value::Object(schema)
    }

    /// Converts the schema under `schema`; any value is valid if there is none.
    pub(crate) fn of_member(&mut self, node: JsonNode<'d>) -> Value {
        node.get("schema").map_or(Value::Bool(true), |schema| self.of(schema))
    }

    /// Converts a 2.0 parameter to a schema, without the keywords that only parameters have.
    pub(crate) fn of_parameter(&mut self, node: JsonNode<'d>) -> Value {
        let mut schema = self.of(node);
        if let Some(map) = schema.as_object_mut() {
            map.remove("description");
            map.remove("required");
        }
        schema
    }

    fn keywords(&mut self, node: JsonNode<'d>, schema: &mut Map<String, Value>) {
        for (key, value) in node.entries() {
            let mut list = || value.items().map(|item| self.of(item)).collect::<Vec<Value>>();
            let (key, made) = match &*key {
                "type" => ("type", types(value)),
                "description" => {
                    let said = value.text();
                    let said = said.map(|said| text::block(&said, limits::SCHEMA_TEXT_CHARS));
                    ("description", said.map(Value::from))
                }
                "required" => ("required", names(value)),
                // In older drafts, a list of schemas describes a tuple.
                "items" if value.is_list() => ("prefixItems", Some(Value::Array(list()))),
                "additionalProperties"
                | "additionalItems"
                | "contains"
                | "contentSchema"
                | "else"
                | "if"
                | "items"
                | "not"
                | "propertyNames"
                | "then"
                | "unevaluatedItems"
                | "unevaluatedProperties" => (&*key, Some(self.of(value))),
                "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                    let parts = list();
                    (&*key, (!parts.is_empty()).then_some(Value::Array(parts)))
                }
                "properties" | "patternProperties" | "dependentSchemas" if value.is_map() => {
                    let parts = value.entries();
                    let parts = parts.map(|(name, part)| (name.into_owned(), self.of(part)));
                    (&*key, Some(Value::Object(parts.collect())))
                }
                "example" if schema.contains_key("examples") => continue,
                "example" => ("examples", Some(Value::Array(vec![value.to_value()]))),
                "discriminator" => ("discriminator", discriminator(value)),
                key => (key, plain(key, value)),
            };
            if let Some(made) = made {
                schema.insert(key.to_owned(), made);
            }
        }
    }

    /// The definition name for a reference; `None` if the reference is dangling.
    fn refer(&mut self, reference: &str) -> Option<String> {
        let document = &self.api.document;
        let mut reference = reference.to_owned();
        let mut node = refs::follow(document, &reference).ok()?;
        // Schemas that consist only of a reference are skipped, so that no definition refers to
        // itself.
        for hop in 0.. {
            let Some(next) = refs::target(node).filter(|_| only_a_reference(node)) else { break };
            if hop > limits::REF_HOPS {
                return None;
            }
            node = refs::follow(document, &next).ok()?;
            reference = next;
        }
        if let Some(name) = self.names.get(&node.index()) {
            return Some(name.clone());
        }
        let wanted = definition_name(&reference);
        let mut name = wanted.clone();
        for count in 2.. {
            if self.taken.insert(name.clone()) {
                break;
            }
            name = format!("{wanted}-{count}");
        }
        self.names.insert(node.index(), name.clone());
        self.waiting.push_back((name.clone(), node));
        Some(name)
    }

    /// Converts everything that was referenced, directly or indirectly.
    pub(crate) fn into_defs(mut self) -> Map<String, Value> {
        let mut defs = Map::new();
        while let Some((name, node)) = self.waiting.pop_front() {
            let schema = self.of(node);
            defs.insert(name, schema);
        }
        defs.sort_keys();
        defs
    }
}

fn only_a_reference(node: JsonNode<'_>) -> bool {
    node.entries().all(|(key, _)| matches!(&*key, "$ref" | "description" | "summary" | "title"))
}

/// The last segment of a pointer, reduced to characters that need no escaping.
fn definition_name(reference: &str) -> String {
    let last = reference.rsplit('/').next().unwrap_or(reference);
    let last = percent_encoding::percent_decode_str(last).decode_utf8_lossy();
    let last = last.replace("~1", "/").replace("~0", "~");
    let name: String = last
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' })
        .take(limits::DEFINITION_NAME_CHARS)
        .collect();
    if name.is_empty() { "schema".to_owned() } else { name }
}

/// The JSON Schema type; unknown types are ignored.
fn types(node: JsonNode<'_>) -> Option<Value> {
    if let Some(word) = node.text() {
        let word = word.to_ascii_lowercase();
        return match &*word {
            "file" => Some(Value::from("string")),
            "int" | "long" => Some(Value::from("integer")),
            "float" | "double" => Some(Value::from("number")),
            "bool" => Some(Value::from("boolean")),
            word => TYPES.contains(&word).then(|| Value::from(word)),
        };
    }
    let words = node.items().filter_map(JsonNode::text);
    let words: Vec<Value> =
        words.filter(|word| TYPES.contains(&&**word)).map(|word| Value::from(&*word)).collect();
    (!words.is_empty()).then_some(Value::Array(words))
}

/// The names of required properties. In older drafts `required` is a boolean, which is ignored.
fn names(node: JsonNode<'_>) -> Option<Value> {
    let mut names: Vec<Value> = Vec::new();
    for name in node.items().filter_map(JsonNode::text) {
        let name = Value::from(&*name);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then_some(Value::Array(names))
}

/// The value of a keyword that is not a schema, if the keyword is known and the value is valid for
/// it.
fn plain(key: &str, node: JsonNode<'_>) -> Option<Value> {
    let fits = match key {
        "maxItems" | "maxLength" | "maxProperties" | "minItems" | "minLength" | "minProperties"
        | "maxContains" | "minContains" => {
            let value = node.to_value();
            return value.as_u64().map(Value::from).or_else(|| whole(&value));
        }
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => Value::is_number,
        "multipleOf" => |value: &Value| value.as_f64().is_some_and(|number| number > 0.0),
        "enum" | "examples" => |value: &Value| value.as_array().is_some_and(|all| !all.is_empty()),
        "uniqueItems" | "readOnly" | "writeOnly" | "deprecated" => Value::is_boolean,
        "format" | "pattern" | "title" | "contentEncoding" | "contentMediaType" => Value::is_string,
        "dependentRequired" => Value::is_object,
        "const" | "default" => |_: &Value| true,
        _ => return None,
    };
    Some(node.to_value()).filter(fits)
}

fn discriminator(node: JsonNode<'_>) -> Option<Value> {
    let name = node.get("propertyName").unwrap_or(node).text()?;
    let mapping = node.get("mapping").filter(|mapping| mapping.is_map());
    Some(match mapping {
        Some(mapping) => json!({"propertyName": name, "mapping": mapping.to_value()}),
        None => json!({"propertyName": name}),
    })
}

/// A non-negative integer limit. JSON Schema treats `10.0` as an integer; a negative limit has no
/// effect and is dropped.
fn whole(value: &Value) -> Option<Value> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0)?;
    #[expect(clippy::cast_sign_loss, reason = "negative numbers are filtered out above")]
    Some(Value::from(number as u64))
}

/// Converts keywords that have a different form in 2.0 and 3.0.
fn older(node: JsonNode<'_>, schema: &mut Map<String, Value>) {
    for (exclusive, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if super::flag(node, exclusive) == Some(true)
            && let Some(number) = schema.remove(bound)
        {
            schema.insert(exclusive.to_owned(), number);
        }
    }
    if node.get("type").and_then(JsonNode::text).as_deref() == Some("file") {
        schema.insert("format".to_owned(), "binary".into());
    }
}

/// Extends a schema to allow `null`.
fn nullable(mut schema: Map<String, Value>) -> Value {
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match schema.get("type").cloned() {
        Some(Value::String(word)) => {
            schema.insert("type".to_owned(), json!([word, "null"]));
            Value::Object(schema)
        }
        None if ["allOf", "anyOf", "oneOf", "$ref"].iter().any(|key| schema.contains_key(*key)) => {
            json!({"anyOf": [schema, {"type": "null"}]})
        }
        _ => Value::Object(schema),
    }
}

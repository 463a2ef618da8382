//! Commands as people and models see them, as a summary and in full.

use std::collections::BTreeSet;

use milepost_catalog::command::{ApiCommand, Content, Location};
use milepost_catalog::provider::InferredProvider;
use milepost_catalog::schema::resolve;
use milepost_catalog::table::Row;
use milepost_model::commands::Effect;

use crate::limits::{self, COMMAND_ENUM_VALUES};
use crate::prelude::*;

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CommandSummary {
    /// `group name`, as used by `command.run` and workflow steps.
    pub command: String,
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// What it does, in the API author's words.
    pub summary: String,
    /// Required arguments.
    pub required: Vec<String>,
    /// Optional arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub optional: Vec<String>,
    /// Whether it takes a body: `required` or `optional`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Whether it is deprecated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
}

pub(crate) fn short(group: &str, row: &Row) -> CommandSummary {
    let names = |required: bool| {
        let parameters = row.parameters.iter().filter(move |one| one.required == required);
        parameters.map(|one| one.name.clone()).collect()
    };
    CommandSummary {
        command: format!("{group} {}", row.name),
        method: row.method.name().to_owned(),
        path: row.path.clone(),
        summary: row.summary.clone(),
        required: names(true),
        optional: names(false),
        body: row.body.map(|body| if body.required { "required" } else { "optional" }.to_owned()),
        deprecated: row.deprecated,
    }
}

/// A command with everything needed to call it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CommandDetails {
    /// `group name`, as used by `command.run` and workflow steps.
    pub command: String,
    /// Its method.
    pub method: String,
    /// Its path.
    pub path: String,
    /// Its operationId in the document, an alias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// What it does, in the API author's words.
    pub summary: String,
    /// More details.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Whether it is deprecated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// `read`, `create` or `write`.
    #[schemars(with = "String")]
    pub effect: Effect,
    /// Whether it is safe to repeat.
    pub may_repeat: bool,
    /// Its arguments.
    pub parameters: Vec<ParameterView>,
    /// Its body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<BodyView>,
    /// Its responses.
    pub responses: Vec<ResponseView>,
    /// Alternative ways to authenticate; schemes required together are joined by `+`.
    pub security: Vec<String>,
    /// Schemas referenced above as `#/$defs/<name>`.
    #[serde(rename = "$defs", default, skip_serializing_if = "Map::is_empty")]
    pub defs: Map<String, Value>,
    /// An example call.
    pub example: Value,
}

/// An argument.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ParameterView {
    /// Its name in `with`.
    pub name: String,
    /// Where it is sent.
    #[serde(rename = "in")]
    pub location: String,
    /// Whether it is required.
    pub required: bool,
    /// What it is, in the API author's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The schema of its value.
    pub schema: Value,
    /// The command that provides its values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BodyView {
    /// Whether it is required.
    pub required: bool,
    /// What it is, in the API author's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its media types.
    pub contents: Vec<ContentView>,
}

/// A body in one media type.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ContentView {
    /// The media type.
    pub media_type: String,
    /// Its schema.
    pub schema: Value,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ResponseView {
    /// `200`, `2XX` or `default`.
    pub status: String,
    /// What it means, in the API author's words.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Its media types.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media_types: Vec<String>,
    /// Whether it is a list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub list: bool,
    /// The fields of the response, or of each list item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
}

/// A schema for display, with long enums truncated.
fn shown(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let mut short = Map::new();
            for (key, value) in map {
                match value {
                    Value::Array(items) if key == "enum" && items.len() > COMMAND_ENUM_VALUES => {
                        let shown = items.iter().take(COMMAND_ENUM_VALUES).cloned().collect();
                        short.insert(key.clone(), shown);
                        let more = format!("{} more values", items.len() - COMMAND_ENUM_VALUES);
                        short.insert("$comment".to_owned(), more.into());
                    }
                    value => drop(short.insert(key.clone(), shown(value))),
                }
            }
            Value::Object(short)
        }
        Value::Array(items) => items.iter().map(shown).collect(),
        other => other.clone(),
    }
}

pub(crate) fn full(command: &ApiCommand, providers: &[InferredProvider]) -> CommandDetails {
    let parameters = command.parameters.iter().map(|parameter| ParameterView {
        name: parameter.name.clone(),
        location: parameter.location.name().to_owned(),
        required: parameter.required,
        description: parameter.description.clone(),
        schema: shown(&parameter.schema),
        provider: provider_of(command, &parameter.name, parameter.location, providers),
    });
    let body = command.body.as_ref().map(|body| BodyView {
        required: body.required,
        description: body.description.clone(),
        contents: body.contents.iter().map(content).collect(),
    });
    let security = command.security.iter().map(|way| {
        let names: Vec<&str> = way.schemes.iter().map(|(name, _)| name.as_str()).collect();
        if names.is_empty() { "none".to_owned() } else { names.join(" + ") }
    });
    CommandDetails {
        command: command.id.to_string(),
        method: command.method.name().to_owned(),
        path: command.path.clone(),
        operation_id: command.operation_id.clone(),
        summary: command.summary.clone(),
        description: command.description.clone(),
        tags: command.tags.clone(),
        deprecated: command.deprecated,
        effect: command.effect,
        may_repeat: command.may_repeat,
        parameters: parameters.collect(),
        body,
        responses: command.responses.iter().map(|one| response(one, &command.defs)).collect(),
        security: security.collect(),
        defs: needed(command),
        example: example(command),
    }
}

fn provider_of(
    command: &ApiCommand,
    name: &str,
    location: Location,
    providers: &[InferredProvider],
) -> Option<String> {
    let serves = |provider: &&InferredProvider| {
        provider.serves.iter().any(|served| {
            served.command == command.id.name()
                && served.parameter == name
                && served.location == location
        })
    };
    let provider = providers.iter().find(serves)?;
    Some(format!("{} {}", command.id.group(), provider.command))
}

fn content(content: &Content) -> ContentView {
    ContentView { media_type: content.media_type.clone(), schema: shown(&content.schema) }
}

fn response(
    response: &milepost_catalog::command::Response,
    defs: &Map<String, Value>,
) -> ResponseView {
    let schema = response.contents.first().map(|content| &content.schema);
    let (list, fields) = schema.map_or((false, Vec::new()), |schema| fields(schema, defs));
    ResponseView {
        status: response.status.clone(),
        description: response.description.clone(),
        media_types: response.contents.iter().map(|content| content.media_type.clone()).collect(),
        list,
        fields,
    }
}

/// Whether a schema is a list, and the names of its fields.
fn fields(schema: &Value, defs: &Map<String, Value>) -> (bool, Vec<String>) {
    let schema = resolve(schema, defs);
    if let Some(items) = schema.get("items") {
        return (true, fields(items, defs).1);
    }
    let mut names = Vec::new();
    let parts = schema.get("allOf").and_then(Value::as_array);
    for part in parts.into_iter().flatten().chain([schema]) {
        let properties = resolve(part, defs).get("properties").and_then(Value::as_object);
        for name in properties.into_iter().flatten().map(|(name, _)| name) {
            if !names.contains(name) && names.len() < limits::COMMAND_RESPONSE_FIELDS {
                names.push(name.clone());
            }
        }
    }
    (false, names)
}

/// The definitions that the arguments and the body refer to. Responses are described by their
/// fields alone.
fn needed(command: &ApiCommand) -> Map<String, Value> {
    let mut open: Vec<&Value> = command.parameters.iter().map(|one| &one.schema).collect();
    let contents = command.body.iter().flat_map(|body| &body.contents);
    open.extend(contents.map(|content| &content.schema));
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut bytes = 0;
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => {
                let name = map.get("$ref").and_then(Value::as_str);
                let name = name.and_then(|name| name.strip_prefix("#/$defs/"));
                if let Some((name, schema)) = name.and_then(|name| command.defs.get_key_value(name))
                    && bytes < limits::COMMAND_DEFS_BYTES
                    && names.insert(name)
                {
                    bytes += schema.to_string().len();
                    open.push(schema);
                }
                open.extend(map.values());
            }
            _ => {}
        }
    }
    names.into_iter().map(|name| (name.to_owned(), shown(&command.defs[name]))).collect()
}

/// An example call with a value for everything that is required.
fn example(command: &ApiCommand) -> Value {
    let mut with = Map::new();
    for parameter in command.parameters.iter().filter(|parameter| parameter.required) {
        with.insert(parameter.name.clone(), sample(&parameter.schema, &command.defs, 0));
    }
    let mut call = json!({"command": command.id.to_string(), "with": with});
    if let Some(body) = command.body.as_ref().filter(|body| body.required)
        && let Some(content) = body.contents.first()
    {
        let given = content.example.clone();
        call["body"] = given.unwrap_or_else(|| sample(&content.schema, &command.defs, 0));
    }
    call
}

/// A sample value for a schema.
fn sample(schema: &Value, defs: &Map<String, Value>, depth: usize) -> Value {
    let schema = resolve(schema, defs);
    let first = |key: &str| schema.get(key).and_then(Value::as_array)?.first().cloned();
    let given = first("examples").or_else(|| schema.get("default").cloned());
    if let Some(value) = given.or_else(|| schema.get("const").cloned()).or_else(|| first("enum")) {
        return value;
    }
    if depth > 4 {
        return Value::Null;
    }
    let kind = schema.get("type").map(|kind| match kind {
        Value::Array(kinds) => kinds.first().and_then(Value::as_str).unwrap_or("string"),
        kind => kind.as_str().unwrap_or("string"),
    });
    match kind {
        Some("integer") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("number") => schema.get("minimum").cloned().unwrap_or(json!(1.5)),
        Some("boolean") => json!(true),
        Some("array") => {
            let items = schema.get("items").map(|items| sample(items, defs, depth + 1));
            Value::Array(items.into_iter().collect())
        }
        Some("object") | None if schema.get("properties").is_some() => {
            let required = schema.get("required").and_then(Value::as_array);
            let names = required.into_iter().flatten().filter_map(Value::as_str);
            let fields = names.filter_map(|name| {
                let property = schema.pointer("/properties")?.get(name)?;
                Some((name.to_owned(), sample(property, defs, depth + 1)))
            });
            Value::Object(fields.collect())
        }
        None => match ["allOf", "oneOf", "anyOf"].iter().find_map(|key| first(key)) {
            Some(part) => sample(&part, defs, depth + 1),
            None => json!("…"),
        },
        Some("null") => Value::Null,
        Some("object") => json!({}),
        Some(_) => text(schema),
    }
}

fn text(schema: &Value) -> Value {
    Value::from(match schema.get("format").and_then(Value::as_str) {
        Some("date-time") => "2030-01-31T12:00:00Z",
        Some("date") => "2030-01-31",
        Some("email") => "someone@example.com",
        Some("uuid") => "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        Some("uri" | "url") => "https://example.com",
        _ => "…",
    })
}

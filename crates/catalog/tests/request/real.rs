//! Commands of real documents: with the minimum that its schemas require, each becomes a request.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost_catalog::command::{ApiCommand, Location};
use milepost_catalog::document::ParsedDocument;
use milepost_catalog::import::Inspection;
use milepost_catalog::naming::AssignedNames;
use milepost_catalog::openapi::Api;
use milepost_catalog::request::{Arguments, Misuse, PreparedCommand};
use milepost_model::target::CommandId;
use serde_json::{Map, Value, json};

use crate::base;

/// The number of commands checked per document, spread evenly.
const COMMANDS: usize = 15;

fn documents() -> Vec<PathBuf> {
    let named = std::env::var_os("MILEPOST_CORPUS").map(PathBuf::from);
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let beside = || above.map(|folder| folder.join("shared/corpus")).find(|folder| folder.is_dir());
    let Some(folder) = named.or_else(beside).map(|folder| folder.join("openapi")) else {
        let words: &[u8] = b"\nSKIPPED: no corpus; name its folder by MILEPOST_CORPUS\n";
        std::io::Write::write_all(&mut std::io::stderr(), words).expect("writes");
        return Vec::new();
    };
    let entries = fs::read_dir(folder).expect("lists");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("reads").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "json" || end == "yaml"));
    paths.sort();
    paths
}

/// A minimal value that appears to satisfy a schema.
fn sample(schema: &Value, defs: &Map<String, Value>, depth: usize) -> Value {
    if depth > 8 {
        return Value::Null;
    }
    let of = |schema: &Value| sample(schema, defs, depth + 1);
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        let name = percent_encoding::percent_decode_str(name).decode_utf8_lossy();
        let name = name.replace("~1", "/").replace("~0", "~");
        return defs.get(&name).map_or(Value::Null, of);
    }
    let listed = schema["enum"].get(0).filter(|value| !value.is_null());
    if let Some(known) = schema.get("const").or(schema.get("default")).or(listed) {
        return known.clone();
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let mut whole = object(schema, &of);
        for part in parts.iter().map(of) {
            match part {
                Value::Object(part) => whole.extend(part),
                plain if !plain.is_null() && whole.is_empty() => return plain,
                _ => {}
            }
        }
        return Value::Object(whole);
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(first) = schema[choice].get(0) {
            return match of(first) {
                Value::Object(mut map) => {
                    map.extend(object(schema, &of));
                    Value::Object(map)
                }
                other => other,
            };
        }
    }
    let kind = schema["type"].as_str().or(schema["type"][0].as_str());
    match kind {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        Some("array") => {
            let least = schema["minItems"].as_u64().unwrap_or(0).min(3) as usize;
            let items = schema.get("items").map_or(json!("x"), of);
            Value::Array(vec![items; least])
        }
        Some("null") => Value::Null,
        Some("object") => Value::Object(object(schema, &of)),
        None if schema.get("properties").is_some() => Value::Object(object(schema, &of)),
        _ => json!(text(schema)),
    }
}

fn object(schema: &Value, of: &dyn Fn(&Value) -> Value) -> Map<String, Value> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let property = |name: &str| schema["properties"].get(name).cloned().unwrap_or(json!({}));
    required.map(|name| (name.to_owned(), of(&property(name)))).collect()
}

fn text(schema: &Value) -> String {
    match schema["format"].as_str().unwrap_or_default() {
        "date-time" => "2026-01-02T03:04:05Z",
        "date" => "2026-01-02",
        "time" => "03:04:05Z",
        "uuid" => "123e4567-e89b-12d3-a456-426614174000",
        "email" => "a@example.com",
        "uri" | "url" => "https://example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "hostname" => "example.com",
        _ => return "x".repeat(schema["minLength"].as_u64().unwrap_or(1).clamp(1, 64) as usize),
    }
    .to_owned()
}

fn arguments(command: &ApiCommand) -> Arguments {
    let mut arguments = Arguments::default();
    let forbidden = ["accept", "authorization", "content-type", "host", "content-length"];
    for parameter in &command.parameters {
        let own = parameter.location == Location::Header
            && forbidden.contains(&parameter.name.to_ascii_lowercase().as_str());
        if parameter.required && !own {
            let mut value = sample(&parameter.schema, &command.defs, 0);
            let empty = value.as_array().is_some_and(Vec::is_empty) || value == json!({});
            if parameter.location == Location::Path && (empty || value.is_null()) {
                value = json!("x");
            }
            let name = format!("{}.{}", parameter.location.name(), parameter.name);
            arguments.with.insert(name, value);
        }
    }
    if let Some(body) = command.body.as_ref().filter(|body| body.required) {
        let json = body.contents.iter().find(|content| content.media_type.contains("json"));
        let content = json.or(body.contents.first());
        arguments.content_type = content.map(|content| content.media_type.clone());
        let is_range = content.is_some_and(|content| content.media_type.contains('*'));
        arguments.content_type.take_if(|_| is_range);
        arguments.body = content.map(|content| sample(&content.schema, &command.defs, 0));
    }
    arguments
}

/// The command without patterns, because samples are not generated from patterns.
fn without_patterns(mut command: ApiCommand) -> ApiCommand {
    let mut defs = Value::Object((*command.defs).clone());
    strip(&mut defs);
    command.defs = Arc::new(defs.as_object().cloned().unwrap_or_default());
    command.parameters.iter_mut().for_each(|parameter| strip(&mut parameter.schema));
    let contents = command.body.iter_mut().flat_map(|body| &mut body.contents);
    contents.for_each(|content| strip(&mut content.schema));
    command
}

fn strip(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Object(map) => {
            map.retain(|key, value| key != "pattern" || !value.is_string());
            map.values_mut().for_each(strip);
        }
        _ => {}
    }
}

#[test]
fn the_least_arguments_make_a_request() {
    let (mut built, mut commands) = (0, 0);
    let mut refused = Vec::new();
    for path in documents() {
        let reading = ParsedDocument::read(&fs::read(&path).unwrap()).unwrap();
        let api = Api::new(reading).unwrap();
        let rows = Inspection::of(&api).into_rows(&AssignedNames::new());
        for row in rows.iter().step_by(rows.len().div_ceil(COMMANDS).max(1)) {
            let id = CommandId::parse(&format!("api {}", row.name)).unwrap();
            let command = api.command(id, row).unwrap();
            let arguments = arguments(&command);
            // With the original patterns, every schema compiles, and only values can be invalid.
            match PreparedCommand::new(Arc::new(command.clone())).build(&base(), &arguments) {
                Ok(request) => assert_eq!(request.notes, [], "{} of {path:?}", row.name),
                Err(misuses) => {
                    let is_value = |one: &Misuse| matches!(one, Misuse::Invalid { .. });
                    assert!(misuses.iter().all(is_value), "{} of {path:?}: {misuses:?}", row.name);
                }
            }
            commands += 1;
            let prepared = PreparedCommand::new(Arc::new(without_patterns(command)));
            match prepared.build(&base(), &arguments) {
                Ok(_) => built += 1,
                Err(misuses) => refused.push(format!("{} of {path:?}: {}", row.name, misuses[0])),
            }
        }
    }
    assert!(built * 100 >= commands * 98, "{built} of {commands}\n{}", refused.join("\n"));
}

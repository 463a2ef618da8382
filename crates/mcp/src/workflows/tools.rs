//! The tools as clients see them, made from the table of operations.
//!
//! A model pays for every byte of this list in every conversation, so schemas say what a caller
//! needs and no more: a nested object is described once, where it is an argument, and by its type
//! alone, where it is a result.

use milepost_ops::{OPERATIONS, Operation, Profile, Safety, Task, Tool};
use serde_json::{Map, Value, json};

use super::confirm;
use super::names::{self, Spelling};

/// Every tool of a set, in the order of the table.
pub(super) fn list(profile: Profile, spelling: Spelling) -> Vec<Value> {
    let tools = OPERATIONS.iter().filter_map(|operation| {
        let tool = operation.tool().filter(|tool| tool.profile <= profile)?;
        Some(one(operation, tool, spelling))
    });
    tools.collect()
}

fn one(operation: &Operation, tool: Tool, spelling: Spelling) -> Value {
    let is_safe = operation.safety == Safety::Safe;
    json!({
        "name": names::spelled(operation.name, spelling),
        "title": operation.title,
        "description": described(operation.description, spelling),
        "inputSchema": confirmable(operation, tool, input(&(operation.request)())),
        "outputSchema": output(&(operation.response)()),
        "annotations": {
            "readOnlyHint": is_safe,
            "destructiveHint": operation.safety == Safety::Destructive || tool.destroys,
            "idempotentHint": is_safe || tool.repeats,
            "openWorldHint": tool.calls_out,
        },
        "_meta": {
            "execution_type": match (tool.task, tool.calls_out) {
                (Task::Required, _) => "task",
                (_, true) => "http",
                (_, false) => "local",
            },
            "http_method": match operation.safety {
                Safety::Safe => "GET",
                Safety::Standard => "POST",
                Safety::Destructive => "DELETE",
            },
            "safety": match operation.safety {
                Safety::Safe => "safe",
                Safety::Standard => "standard",
                Safety::Destructive => "destructive",
            },
        },
    })
}

/// What cannot be taken back takes the token of a person's yes.
fn confirmable(operation: &Operation, tool: Tool, mut schema: Value) -> Value {
    if operation.safety == Safety::Destructive || tool.destroys {
        schema["properties"][confirm::ARGUMENT] =
            json!({"type": "string", "description": "Token of the user's yes, from a refusal"});
    }
    schema
}

/// The arguments: each with its type and its words. Those that are rarely wanted are taken and not
/// listed.
fn input(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let listed = properties.filter(|(_, value)| value["x-rare"] != true);
    let listed: Map<String, Value> =
        listed.map(|(name, value)| (name.clone(), argument(value))).collect();
    let mut object = Map::new();
    object.insert("type".into(), "object".into());
    object.insert("properties".into(), Value::Object(listed));
    if let Some(required) = schema["required"].as_array().filter(|all| !all.is_empty()) {
        object.insert("required".into(), json!(required));
    }
    Value::Object(object)
}

/// What an argument may be. A caller cannot use that it may be null, what it is when it is left
/// out, or how wide a number we keep it in; and a name of few words needs no others.
fn argument(schema: &Value) -> Value {
    let mut kept = Map::new();
    if let Some(kind) = schema.get("type") {
        kept.insert("type".into(), not_null(kind));
    }
    let one_of = schema["oneOf"].as_array().into_iter().flatten();
    let words: Vec<&Value> = one_of.filter_map(|one| one.get("const")).collect();
    if !words.is_empty() {
        kept.insert("enum".into(), json!(words));
    }
    for (key, value) in schema.as_object().into_iter().flatten() {
        match (key.as_str(), value) {
            ("enum", value) => {
                kept.insert(key.clone(), value.clone());
            }
            ("items", value) => {
                kept.insert(key.clone(), argument(value));
            }
            ("description", Value::String(text)) if text.len() > PLAIN => {
                let text = text.trim_end_matches('.').replace('\n', " ");
                kept.insert(key.clone(), text.into());
            }
            _ => {}
        }
    }
    Value::Object(kept)
}

/// A description as long as this says no more than the name it is of.
const PLAIN: usize = 30;

fn not_null(kind: &Value) -> Value {
    let Some(kinds) = kind.as_array() else { return kind.clone() };
    let kinds: Vec<&Value> = kinds.iter().filter(|kind| *kind != "null").collect();
    match kinds.as_slice() {
        [one] => (*one).clone(),
        more => json!(more),
    }
}

/// Fields of a result that are listed.
const FIELDS: usize = 4;

/// The result: the first fields that it always has, with their types. None is required, because a
/// failed call has an error in their place, which clients check too.
fn output(schema: &Value) -> Value {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let fields: Map<String, Value> = required
        .take(FIELDS)
        .map(|name| {
            let kind = schema["properties"][name].get("type");
            (name.to_owned(), kind.map_or_else(|| json!({}), |kind| json!({"type": kind})))
        })
        .collect();
    json!({"type": "object", "properties": fields})
}

/// A text in which every operation is called as its tool is.
fn described(text: &str, spelling: Spelling) -> String {
    let tools = OPERATIONS.iter().filter(|operation| operation.tool().is_some());
    tools.fold(text.trim_end().to_owned(), |text, operation| {
        text.replace(operation.name, &names::spelled(operation.name, spelling))
    })
}

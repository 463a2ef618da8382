//! Inputs that a run lacks, as a form for the person behind the client.

use milepost_model::problem::{Code, Problem};
use milepost_ops::{Alone, Operations};
use serde_json::{Map, Value, json};

/// The argument that inputs stand in.
pub(super) const INPUTS: &str = "inputs";

/// The form that would mend a problem; none when something else is wrong as well, or when what is
/// missing is no matter for a form: a secret, or a value with parts.
pub(super) async fn form(
    operations: &Operations,
    problem: &Problem,
    arguments: &Map<String, Value>,
) -> Option<Map<String, Value>> {
    let all_missing = problem.arguments.iter().all(|argument| argument.rule == "required");
    if problem.code != Code::InputInvalid || problem.arguments.is_empty() || !all_missing {
        return None;
    }
    fields(operations, arguments).await
}

/// The form for what a workflow still needs; none when it is nothing, or no matter for a form.
pub(super) async fn fields(
    operations: &Operations,
    arguments: &Map<String, Value>,
) -> Option<Map<String, Value>> {
    let mut wish = Map::new();
    for name in ["workflow_id", "manifest"] {
        if let Some(value) = arguments.get(name) {
            wish.insert(name.to_owned(), value.clone());
        }
    }
    let known = arguments.get(INPUTS).cloned().unwrap_or_else(|| json!({}));
    wish.insert("partial_inputs".to_owned(), known);
    let seen = operations
        .call_and_wait("workflow.preview_inputs", &Alone, Value::Object(wish))
        .await
        .ok()?;
    let seen: Value = serde_json::from_str(seen.json()).ok()?;
    let missing = seen["required_missing"].as_array().filter(|missing| !missing.is_empty())?;
    let views = seen["inputs"].as_array()?;
    let mut properties = Map::new();
    for name in missing {
        let view = views.iter().find(|view| view["name"] == *name)?;
        properties.insert(name.as_str()?.to_owned(), field(view)?);
    }
    let schema = json!({"type": "object", "properties": properties, "required": missing});
    schema.as_object().cloned()
}

/// One field. Forms hold plain values only.
fn field(view: &Value) -> Option<Value> {
    let kind = view["type"].as_str()?;
    let is_plain = matches!(kind, "string" | "number" | "integer" | "boolean");
    if !is_plain || view["secret"] == true || view["mode"] == "multiple" {
        return None;
    }
    let mut field = Map::new();
    field.insert("type".to_owned(), kind.into());
    for (from, to) in [("label", "title"), ("description", "description")] {
        if let Some(text) = view[from].as_str() {
            field.insert(to.to_owned(), text.into());
        }
    }
    let choices = view["rules"]["enum"].as_array().filter(|_| kind == "string");
    if let Some(choices) = choices {
        field.insert("enum".to_owned(), json!(choices));
    }
    Some(Value::Object(field))
}

/// The arguments with what the form came to.
pub(super) fn with(
    arguments: &Map<String, Value>,
    given: Map<String, Value>,
) -> Map<String, Value> {
    let mut arguments = arguments.clone();
    let inputs = arguments.entry(INPUTS).or_insert_with(|| json!({}));
    if let Some(inputs) = inputs.as_object_mut() {
        inputs.extend(given);
    }
    arguments
}

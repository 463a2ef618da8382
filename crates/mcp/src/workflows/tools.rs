//! The list of tools, generated from the table of operations.
//!
//! A model pays for every byte of this list in every conversation, so schemas contain only what a
//! caller needs: short descriptions, defaults and rarely used arguments are left out.

use milepost_ops::{OPERATIONS, OperationSpec, Profile, Safety, Task, Tool};
use serde_json::{Map, Value, json};

use super::ToolStyle;
use super::tool_names::{self, ToolNaming};
use crate::limits;

/// Every tool of a profile, in table order.
pub(super) fn list(profile: Profile, spelling: ToolNaming) -> Vec<Value> {
    let tools = OPERATIONS.iter().filter_map(|operation| {
        let tool = operation.tool().filter(|tool| tool.profile <= profile)?;
        let mut one = one(operation, tool, spelling);
        if profile == Profile::Work
            && let Some(arguments) = one["inputSchema"]["properties"].as_object_mut()
        {
            arguments.remove(super::DRY_RUN);
            super::MANIFESTS.iter().for_each(|name| drop(arguments.remove(*name)));
        }
        Some(one)
    });
    tools.collect()
}

fn one(operation: &OperationSpec, tool: Tool, spelling: ToolNaming) -> Value {
    let is_safe = operation.safety == Safety::Safe;
    let (http_method, safety) = match operation.safety {
        Safety::Safe => ("GET", "safe"),
        Safety::Standard => ("POST", "standard"),
        Safety::Destructive => ("DELETE", "destructive"),
    };
    json!({
        "name": tool_names::spelled(operation.name, spelling),
        "title": operation.title,
        "description": described(operation.description, spelling),
        "inputSchema": input(&(operation.request)()),
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
            "http_method": http_method,
            "safety": safety,
        },
    })
}

/// The schema of the arguments, with types and descriptions. Rarely used arguments are accepted but
/// not listed.
fn input(schema: &Value) -> Value {
    let properties = schema["properties"].as_object().into_iter().flatten();
    let shown = properties.filter(|(_, value)| value["x-rare"] != true);
    let (mut listed, mut either) = (Map::new(), Vec::new());
    for (name, value) in shown {
        listed.insert(name.clone(), argument(value));
        // Two names for the same argument. Which one was given is only checked when the tool is
        // called.
        if let Some(also) = value["x-also"].as_str() {
            listed.insert(also.to_owned(), json!({"type": value["type"]}));
            either.push(name);
        }
    }
    let mut object = Map::new();
    object.insert("type".into(), "object".into());
    object.insert("properties".into(), Value::Object(listed));
    let required = schema["required"].as_array().into_iter().flatten();
    let required: Vec<&Value> =
        required.filter(|name| either.iter().all(|other| *name != other.as_str())).collect();
    if !required.is_empty() {
        object.insert("required".into(), json!(required));
    }
    Value::Object(object)
}

/// The schema of an argument, without what callers do not need: its default, its integer width,
/// whether it may be null, and a short description, which adds nothing to the name.
fn argument(schema: &Value) -> Value {
    let forms = schema["anyOf"].as_array().into_iter().flatten();
    let mut kept = match forms.into_iter().find(|form| form["type"] != "null") {
        Some(form) => argument(form).as_object().cloned().unwrap_or_default(),
        None => Map::new(),
    };
    // The description of the nested type does not describe this argument.
    kept.remove("description");
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
            ("description", Value::String(text)) if text.len() > limits::PLAIN_BYTES => {
                let text = text.trim_end_matches('.').replace('\n', " ");
                kept.insert(key.clone(), text.into());
            }
            _ => {}
        }
    }
    Value::Object(kept)
}

fn not_null(kind: &Value) -> Value {
    let Some(kinds) = kind.as_array() else { return kind.clone() };
    let kinds: Vec<&Value> = kinds.iter().filter(|kind| *kind != "null").collect();
    match kinds.as_slice() {
        [one] => (*one).clone(),
        more => json!(more),
    }
}

/// The schema of the result: the first required fields, or the error code of a failure, because
/// clients validate failures too. Types are given only if they matter.
fn output(schema: &Value) -> Value {
    let one = [schema.clone()];
    let forms = schema["anyOf"].as_array().map_or(one.as_slice(), Vec::as_slice);
    let (mut fields, mut always) = (Map::new(), Vec::new());
    for form in forms {
        let required = form["required"].as_array().into_iter().flatten();
        let required: Vec<&str> =
            required.filter_map(Value::as_str).take(limits::RESULT_FIELDS).collect();
        let is_choice = |name: &&&str| form["properties"][**name]["type"] == "boolean";
        for name in required.iter().filter(is_choice) {
            fields.insert((*name).to_owned(), json!({"type": "boolean"}));
        }
        if !always.contains(&required) {
            always.push(required);
        }
    }
    always.push(vec![ERROR]);
    // An alternative that has all the fields of another alternative adds nothing.
    let says = |form: &[&str]| {
        let has_all = |other: &Vec<&str>| other.iter().all(|name| form.contains(name));
        always.iter().filter(|other| has_all(other)).count() == 1
    };
    let forms = always.iter().filter(|form| says(form));
    let forms: Vec<Value> = forms.map(|form| json!({"required": form})).collect();
    let mut output = json!({"type": "object", "anyOf": forms});
    if !fields.is_empty() {
        output["properties"] = Value::Object(fields);
    }
    output
}

/// The field that every failure has.
const ERROR: &str = "error_code";

/// Replaces the names of operations in a description with their tool names.
fn described(text: &str, spelling: ToolNaming) -> String {
    let tools = OPERATIONS.iter().filter(|operation| operation.tool().is_some());
    tools.fold(text.trim_end().to_owned(), |text, operation| {
        text.replace(operation.name, &tool_names::spelled(operation.name, spelling))
    })
}

const WHOLE: &str = include_str!("instructions.md");

/// Instructions for the model on how to use the tools: the paragraphs whose tools a client has,
/// with the names that it sees.
pub(super) fn instructions(style: ToolStyle) -> String {
    let mut kept: Vec<String> = Vec::new();
    for paragraph in WHOLE.trim_end().split("\n\n") {
        let mut said = paragraph.to_owned();
        let mut is_for_all = true;
        for operation in OPERATIONS {
            let Some(tool) = operation.tool() else { continue };
            let written = operation.name.replace('.', "_");
            if said.contains(&written) {
                is_for_all &= style.has(tool);
                said = said.replace(&written, &tool_names::shown(operation.name, style));
            }
        }
        if is_for_all {
            kept.push(said);
        }
    }
    kept.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_name_the_tools_that_a_client_has() {
        let full = instructions(ToolStyle::default());
        assert_eq!(full, WHOLE.trim_end());
        let work = instructions(ToolStyle { profile: Profile::Work, ..ToolStyle::default() });
        assert!(work.contains("workflow_submit") && !work.contains("workflow_save"), "{work}");
        assert!(!work.contains("catalog_"), "{work}");
        // Unlisted tools can still be called, except in the `work` profile.
        assert_eq!(
            instructions(ToolStyle { profile: Profile::Core, ..ToolStyle::default() }),
            full
        );
        let dotted =
            instructions(ToolStyle { spelling: ToolNaming::Dotted, ..ToolStyle::default() });
        assert!(dotted.contains("workflow.submit") && !dotted.contains("workflow_s"), "{dotted}");
    }
}

//! A problem as the object that the contract prescribes, sent as a tool result or as the data of a
//! JSON-RPC error.

use milepost_model::problem::{Argument, Category, Code, Problem};
use milepost_model::violation;
use rmcp::model::{ErrorCode, ErrorData};
use serde_json::{Map, Value};

use super::ToolStyle;
use super::suggested_call::{SuggestedCall, Tools};
use crate::guide;

/// The fields that go into `context`; all other data of a problem is placed beside it.
const PLACES: [&str; 6] = ["workflow_id", "run_id", "step_id", "path", "line", "column"];
/// The engine's name for a step id.
const STEP: &str = "step";
/// The field that states what a call requiring confirmation would destroy.
const LOSS: &str = "loss";
/// Additional fields of a failed execution.
const EXECUTION: [&str; 3] = ["step_id", "command", "response_payload"];

/// Builds the object for a problem.
pub(super) fn of(
    problem: &Problem,
    correlation_id: &str,
    next: Option<&SuggestedCall>,
    style: ToolStyle,
) -> Value {
    let mut object = Map::new();
    object.insert("error_code".into(), problem.code.name().into());
    object.insert("category".into(), problem.code.category().name().into());
    object.insert("message".into(), problem.message.as_str().into());
    let place = |name: &&str| Some(((*name).to_owned(), known(problem, name)?.clone()));
    let mut context: Map<String, Value> = PLACES.iter().filter_map(place).collect();
    if problem.code == Code::ConfirmationRequired {
        context.extend(place(&LOSS));
    }
    object.insert("context".into(), Value::Object(context));
    object.insert("retryable".into(), problem.code.is_retryable().into());
    object.insert("suggested_action".into(), action(problem, next, style).into());
    object.insert("correlation_id".into(), correlation_id.into());
    if problem.code.category() == Category::Execution {
        object.extend(EXECUTION.iter().filter_map(place));
    }
    for (name, value) in problem.context.iter() {
        let is_placed = PLACES.contains(&name.as_str()) || [STEP, LOSS].contains(&name.as_str());
        if !is_placed && !object.contains_key(name) {
            object.insert(name.clone(), value.clone());
        }
    }
    if !problem.violations.is_empty() {
        object.insert("violations".into(), violation::to_values(&problem.violations));
    } else if !problem.arguments.is_empty() {
        object.insert(
            "violations".into(),
            problem.arguments.iter().map(|one| argument(one, style)).collect(),
        );
    }
    if let Some(next) = next {
        object.insert("next".into(), next.to_value());
    }
    Value::Object(object)
}

/// The value of a field named as in the contract. The engine uses `step` for `step_id`.
fn known<'p>(problem: &'p Problem, name: &str) -> Option<&'p Value> {
    let other = || problem.context.get(STEP).filter(|_| name == "step_id");
    problem.context.get(name).or_else(other)
}

/// The single suggested action, taken from the suggested call if there is one.
fn action(problem: &Problem, next: Option<&SuggestedCall>, style: ToolStyle) -> String {
    match next {
        Some(next) => next.why.clone(),
        // The hint must not suggest retrying with a confirmation if the caller may not confirm on a
        // person's behalf.
        None if problem.hint.asks_for("yes") => {
            "stop now; tell the user what would be lost and ask them to use the command line".into()
        }
        None => problem.hint.worded(&Tools(style)),
    }
}

fn argument(argument: &Argument, style: ToolStyle) -> Value {
    let mut value = guide::argument(argument);
    if !argument.suggestion.is_empty() {
        value["suggestion"] = argument.suggestion.worded(&Tools(style)).into();
    }
    value
}

/// The same object as text, for models that only read text.
pub(super) fn words(problem: &Problem, payload: &Value) -> String {
    let mut lines = vec![format!("{}: {}", problem.code.name(), problem.message)];
    for violation in payload["violations"].as_array().into_iter().flatten() {
        let said = |name: &str| violation[name].as_str().unwrap_or_default();
        let suggestion = match said("suggestion") {
            "" => String::new(),
            text => format!(" ({text})"),
        };
        lines.push(format!("- {}: {}{suggestion}", said("path"), said("message")));
    }
    if let Some(action) = payload["suggested_action"].as_str().filter(|text| !text.is_empty()) {
        lines.push(format!("Next: {action}"));
    }
    if let Some(example) = payload.get("example") {
        lines.push(format!("A valid example call: {example}"));
    }
    if let Some(next) = payload.get("next") {
        lines.push(format!("Call: {} {}", next["tool"], next["arguments"]));
    }
    lines.join("\n")
}

/// The JSON-RPC error that carries the object, for clients that want errors there.
pub(super) fn error(problem: &Problem, payload: Value) -> ErrorData {
    let code = match problem.code.category() {
        Category::Validation => -32602,
        Category::NotFound => -32002,
        Category::Conflict | Category::Execution => -32000,
        Category::Internal => -32603,
    };
    ErrorData::new(ErrorCode(code), problem.message.clone(), Some(payload))
}

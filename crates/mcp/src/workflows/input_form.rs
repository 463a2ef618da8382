//! Inputs that a run lacks, as a form for the person behind the client.

use milepost_model::input::{InputType, Mode};
use milepost_model::problem::{Code, Problem};
use milepost_ops::inputs::preview_inputs::{self, InputView, PreviewInputs};
use milepost_ops::{Operations, SilentCaller};
use serde_json::{Map, Value, json};

/// The argument that inputs stand in.
const INPUTS: &str = "inputs";

/// The workflow that is to be run, and what is known of its inputs.
pub(super) struct Subject {
    pub(super) workflow_id: Option<String>,
    pub(super) manifest: Option<Value>,
    pub(super) inputs: Map<String, Value>,
}

impl Subject {
    /// Of a call with these arguments.
    fn of(arguments: &Map<String, Value>) -> Subject {
        let inputs = match arguments.get(INPUTS) {
            Some(Value::Object(inputs)) => inputs.clone(),
            _ => Map::new(),
        };
        let workflow_id = arguments.get("workflow_id").and_then(Value::as_str).map(str::to_owned);
        Subject { workflow_id, manifest: arguments.get("manifest").cloned(), inputs }
    }
}

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
    fields(operations, Subject::of(arguments)).await
}

/// The form for what a workflow still needs; none when it is nothing, or no matter for a form.
pub(super) async fn fields(
    operations: &Operations,
    subject: Subject,
) -> Option<Map<String, Value>> {
    let Subject { workflow_id, manifest, inputs } = subject;
    let request = preview_inputs::Request { manifest, workflow_id, partial_inputs: inputs };
    // What is wrong with the workflow itself is told by the call that runs it.
    let seen = operations.run::<PreviewInputs>(&SilentCaller, request).await.ok()?;
    let missing = Some(&seen.required_missing).filter(|missing| !missing.is_empty())?;
    let mut properties = Map::new();
    for name in missing {
        let view = seen.inputs.iter().find(|view| view.name == *name)?;
        properties.insert(name.clone(), field(view)?);
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), json!(missing));
    Some(schema)
}

/// One field. Forms hold plain values only.
fn field(view: &InputView) -> Option<Value> {
    let is_plain = match view.kind {
        InputType::String | InputType::Number | InputType::Integer | InputType::Boolean => true,
        InputType::Array | InputType::Object => false,
    };
    if !is_plain || view.secret || view.mode == Some(Mode::Multiple) {
        return None;
    }
    let mut field = Map::new();
    field.insert("type".to_owned(), view.kind.name().into());
    for (text, name) in [(&view.label, "title"), (&view.description, "description")] {
        if let Some(text) = text {
            field.insert(name.to_owned(), text.as_str().into());
        }
    }
    let choices = view.rules.as_ref().and_then(|rules| rules.choices.as_ref());
    if let Some(choices) = choices.filter(|_| view.kind == InputType::String) {
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

//! Asks the person behind a client in the way its revision supports: with a request from the server
//! in a session, or with an incomplete answer to a stateless request. A run's missing inputs are
//! also requested with a form.

use milepost_model::input::{InputType, Mode};
use milepost_model::problem::{Code, Problem};
use milepost_model::untrusted;
use milepost_ops::inputs::preview_inputs::{self, InputView, PreviewInputs};
use milepost_ops::{AgentCaller, Operations};
use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequests, JsonObject,
};
use serde_json::{Map, Value, json};

use super::client::McpClient;
use crate::limits;

/// The argument that contains the inputs, and the key of the form for missing ones.
pub(super) const INPUTS: &str = "inputs";

/// The result of asking.
pub(super) enum FormResult {
    /// The user filled in the form.
    Given(JsonObject),
    /// The user declined.
    Declined,
    /// The client cannot ask anybody.
    Nobody,
    /// The call was canceled while the user was being asked, so any answer is ignored.
    Gone,
    /// The answer will arrive in a later request.
    Later(InputRequests),
}

/// Asks the user to fill in a form. `answer` is the answer to this question, if the request already
/// contains one.
pub(super) async fn form(
    client: McpClient<'_>,
    answer: Option<&Value>,
    key: &str,
    message: &str,
    schema: JsonObject,
) -> FormResult {
    let Some(context) = client.context().filter(|_| client.has_forms()) else {
        return FormResult::Nobody;
    };
    if let Some(answer) = answer {
        return self::answer(answer);
    }
    let Some(params) = params(message, schema) else { return FormResult::Nobody };
    if client.is_stateless() {
        let request = InputRequest::Elicitation(ElicitRequest::new(params));
        return FormResult::Later(InputRequests::from([(key.to_owned(), request)]));
    }
    let asked = tokio::select! {
        biased;
        () = context.ct.cancelled() => return FormResult::Gone,
        asked = context.peer.create_elicitation(params) => asked,
    };
    if context.ct.is_cancelled() {
        return FormResult::Gone;
    }
    // A client that claims to support forms, but then fails, has asked nobody.
    asked.map_or(FormResult::Nobody, result)
}

/// The parameters of an elicitation request.
pub(super) fn params(message: &str, schema: JsonObject) -> Option<ElicitRequestParams> {
    let requested_schema = ElicitationSchema::from_json_schema(schema).ok()?;
    let message = message.to_owned();
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// Interprets an answer that came with a request.
pub(super) fn answer(answer: &Value) -> FormResult {
    serde_json::from_value(answer.clone()).map_or(FormResult::Declined, result)
}

/// The schema of a form with these fields.
pub(super) fn schema(properties: JsonObject, required: &[String]) -> JsonObject {
    Map::from_iter([
        ("type".to_owned(), "object".into()),
        ("properties".to_owned(), Value::Object(properties)),
        ("required".to_owned(), json!(required)),
    ])
}

pub(super) fn result(result: ElicitResult) -> FormResult {
    match (result.action, result.content) {
        (ElicitationAction::Accept, Some(Value::Object(given))) => FormResult::Given(given),
        (ElicitationAction::Accept, _) => FormResult::Given(Map::new()),
        _ => FormResult::Declined,
    }
}

/// The form that would solve a problem; `None` if anything else is wrong as well, or if a missing
/// input does not fit a form, such as a secret or a structured value.
pub(super) async fn missing_inputs(
    operations: &Operations,
    caller: &AgentCaller,
    problem: &Problem,
    arguments: &JsonObject,
) -> Option<JsonObject> {
    let all_missing = problem.arguments.iter().all(|argument| argument.rule == "required");
    if problem.code != Code::InputInvalid || problem.arguments.is_empty() || !all_missing {
        return None;
    }
    let request = preview_inputs::Request {
        manifest: arguments.get("manifest").cloned(),
        workflow_id: arguments.get("workflow_id").and_then(Value::as_str).map(str::to_owned),
        partial_inputs: object_in(arguments, INPUTS),
    };
    fields(operations, caller, request).await
}

/// The object with this name, or an empty one.
pub(super) fn object_in(values: &JsonObject, name: &str) -> JsonObject {
    values.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
}

/// The form for the inputs that a workflow still needs; `None` if there are none, or if one does
/// not fit a form.
pub(super) async fn fields(
    operations: &Operations,
    caller: &AgentCaller,
    request: preview_inputs::Request,
) -> Option<JsonObject> {
    // Problems with the workflow itself are reported by the call that runs it.
    let seen = operations.run::<PreviewInputs>(caller, request).await.ok()?;
    let missing = Some(&seen.required_missing).filter(|missing| !missing.is_empty())?;
    let mut properties = Map::new();
    for name in missing {
        let view = seen.inputs.iter().find(|view| view.name == *name)?;
        properties.insert(name.clone(), field(view)?);
    }
    Some(schema(properties, missing))
}

/// A text of a workflow's author beside a form field: one line, with everything escaped that cannot
/// be seen.
pub(super) fn label(text: &str) -> String {
    untrusted::inline(text, limits::LABEL_CHARS)
}

/// One form field. Forms can contain only primitive values.
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
            field.insert(name.to_owned(), label(text).into());
        }
    }
    let choices = view.rules.as_ref().and_then(|rules| rules.choices.as_ref());
    if let Some(choices) = choices.filter(|_| view.kind == InputType::String) {
        field.insert("enum".to_owned(), json!(choices));
    }
    Some(Value::Object(field))
}

/// Adds the values of the form to the arguments.
pub(super) fn with_inputs(arguments: &JsonObject, given: JsonObject) -> JsonObject {
    let mut arguments = arguments.clone();
    let inputs = arguments.entry(INPUTS).or_insert_with(|| json!({}));
    if let Some(inputs) = inputs.as_object_mut() {
        inputs.extend(given);
    }
    arguments
}

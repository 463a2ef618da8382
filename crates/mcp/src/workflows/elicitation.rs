//! Asking the person behind a client, in the way of its era: by a request of ours where clients
//! shake hands, by an unfinished answer where every request stands alone.

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequests,
};
use serde_json::{Map, Value, json};

use super::client::McpClient;

/// What came of asking.
pub(super) enum FormResult {
    /// They filled in the form.
    Given(Map<String, Value>),
    /// They said no.
    Declined,
    /// Nobody can be asked.
    Nobody,
    /// The call was canceled while they were asked: whatever they say is for nobody.
    Gone,
    /// The answer comes with another request.
    Later(InputRequests),
}

/// Asks for a form to be filled in. `answer` is the one that came with the request, to this very
/// question.
pub(super) async fn form(
    client: McpClient<'_>,
    answer: Option<&Value>,
    key: &str,
    message: &str,
    schema: Map<String, Value>,
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
    // A client that says it asks people, and then cannot, has asked nobody.
    asked.map_or(FormResult::Nobody, result)
}

/// A form as a client is asked to show it.
pub(super) fn params(message: &str, schema: Map<String, Value>) -> Option<ElicitRequestParams> {
    let requested_schema = ElicitationSchema::from_json_schema(schema).ok()?;
    let message = message.to_owned();
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// What an answer that came with a request says.
pub(super) fn answer(answer: &Value) -> FormResult {
    serde_json::from_value(answer.clone()).map_or(FormResult::Declined, result)
}

/// The form for a yes.
pub(super) fn yes_or_no(question: &str) -> Map<String, Value> {
    let field = json!({"type": "boolean", "title": "Go on", "description": question});
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), json!({"confirm": field}));
    schema.insert("required".to_owned(), json!(["confirm"]));
    schema
}

pub(super) fn result(result: ElicitResult) -> FormResult {
    match (result.action, result.content) {
        (ElicitationAction::Accept, Some(Value::Object(given))) => FormResult::Given(given),
        (ElicitationAction::Accept, _) => FormResult::Given(Map::new()),
        _ => FormResult::Declined,
    }
}

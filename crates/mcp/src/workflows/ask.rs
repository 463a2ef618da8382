//! Asking the person behind a client, in the way of its era: by a request of ours where clients
//! shake hands, by an unfinished answer where every request stands alone.

use rmcp::model::{
    ClientCapabilities, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    ProtocolVersion,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Map, Value, json};

/// What came of asking.
pub(super) enum Asked {
    /// They filled in the form.
    Given(Map<String, Value>),
    /// They said no.
    Declined,
    /// Nobody can be asked.
    Nobody,
    /// The answer comes with another request.
    Later(Box<InputRequiredResult>),
}

/// Asks for a form to be filled in. `answers` are those that came with the request.
pub(super) async fn form(
    context: &RequestContext<RoleServer>,
    answers: Option<&InputResponses>,
    key: &str,
    message: &str,
    schema: Map<String, Value>,
) -> Asked {
    if !has_forms(context.client_capabilities().as_ref()) {
        return Asked::Nobody;
    }
    if let Some(answer) = answers.and_then(|answers| answers.get(key)) {
        let answer = serde_json::from_value(answer.clone());
        return answer.map_or(Asked::Declined, result);
    }
    let Ok(requested_schema) = ElicitationSchema::from_json_schema(schema) else {
        return Asked::Nobody;
    };
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: message.to_owned(),
        requested_schema,
    };
    if is_stateless(context) {
        let request = InputRequest::Elicitation(ElicitRequest::new(params));
        let requests = InputRequests::from([(key.to_owned(), request)]);
        return Asked::Later(Box::new(InputRequiredResult::from_input_requests(requests)));
    }
    // A client that says it asks people, and then cannot, has asked nobody.
    context.peer.create_elicitation(params).await.map_or(Asked::Nobody, result)
}

/// The form for a yes.
pub(super) fn yes_or_no(question: &str) -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "properties": {"confirm": {"type": "boolean", "title": "Go on", "description": question}},
        "required": ["confirm"],
    });
    schema.as_object().cloned().unwrap_or_default()
}

fn result(result: ElicitResult) -> Asked {
    match (result.action, result.content) {
        (ElicitationAction::Accept, Some(Value::Object(given))) => Asked::Given(given),
        (ElicitationAction::Accept, _) => Asked::Given(Map::new()),
        _ => Asked::Declined,
    }
}

/// Whether a client asks people to fill in forms. An empty capability means forms.
pub(super) fn has_forms(capabilities: Option<&ClientCapabilities>) -> bool {
    let elicitation = capabilities.and_then(|capabilities| capabilities.elicitation.as_ref());
    elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none())
}

/// Whether the request stands alone.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

//! Asking the person behind a client, in the way of its era: by a request of ours where clients
//! shake hands, by an unfinished answer where every request stands alone.

use rmcp::model::{
    ClientCapabilities, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequests, ProtocolVersion,
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
    /// The call was canceled while they were asked: whatever they say is for nobody.
    Gone,
    /// The answer comes with another request.
    Later(InputRequests),
}

/// Asks for a form to be filled in. `answer` is the one that came with the request, to this very
/// question.
pub(super) async fn form(
    context: &RequestContext<RoleServer>,
    answer: Option<&Value>,
    key: &str,
    message: &str,
    schema: Map<String, Value>,
) -> Asked {
    if !has_forms(context.client_capabilities().as_ref()) {
        return Asked::Nobody;
    }
    if let Some(answer) = answer {
        return self::answer(answer);
    }
    let Some(params) = params(message, schema) else { return Asked::Nobody };
    if is_stateless(context) {
        let request = InputRequest::Elicitation(ElicitRequest::new(params));
        return Asked::Later(InputRequests::from([(key.to_owned(), request)]));
    }
    let asked = tokio::select! {
        biased;
        () = context.ct.cancelled() => return Asked::Gone,
        asked = context.peer.create_elicitation(params) => asked,
    };
    if context.ct.is_cancelled() {
        return Asked::Gone;
    }
    // A client that says it asks people, and then cannot, has asked nobody.
    asked.map_or(Asked::Nobody, result)
}

/// A form as a client is asked to show it.
pub(super) fn params(message: &str, schema: Map<String, Value>) -> Option<ElicitRequestParams> {
    let requested_schema = ElicitationSchema::from_json_schema(schema).ok()?;
    let message = message.to_owned();
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// What an answer that came with a request says.
pub(super) fn answer(answer: &Value) -> Asked {
    serde_json::from_value(answer.clone()).map_or(Asked::Declined, result)
}

/// Whether a client knows results with a structure, and addresses in them.
pub(super) fn reads_structure(context: &RequestContext<RoleServer>) -> bool {
    let known = context.peer.peer_info().map(|info| info.protocol_version.clone());
    // What comes without a handshake is of a later revision.
    known.is_none_or(|version| version >= ProtocolVersion::V_2025_06_18)
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

pub(super) fn result(result: ElicitResult) -> Asked {
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

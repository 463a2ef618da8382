//! The revision without a handshake: every request identifies its client.

use serde_json::{Value, json};

use super::{ASKS, client};
use crate::client::Client;
use crate::place::Place;

fn meta(capabilities: &Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

fn ask(client: &mut Client, method: &str, mut params: Value, capabilities: &Value) -> Value {
    params["_meta"] = meta(capabilities);
    client.call(method, &params)
}

#[test]
fn a_question_is_an_unfinished_answer() {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    place.save("asks.yaml");
    let mut client = client(&place);
    let can = json!({"elicitation": {"form": {}}});
    let mut call = json!({"name": "workflow_delete", "arguments": {"workflow_id": "asks"}});
    let asked = ask(&mut client, "tools/call", call.clone(), &can);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let requests = asked["inputRequests"].as_object().expect("requests");
    let (key, request) = requests.iter().next().expect("one");
    assert_eq!(request["method"], "elicitation/create");
    call["inputResponses"] = json!({key: {"action": "accept", "content": {"approve": true}}});
    call["requestState"] = asked["requestState"].clone();
    let done = ask(&mut client, "tools/call", call.clone(), &can);
    assert_ne!(done["isError"], true, "{done}");
    assert!(!place.has_workflow("asks"));
    // The answer was valid only once.
    place.save("asks.yaml");
    let again = ask(&mut client, "tools/call", call, &can);
    assert_eq!(again["resultType"], "input_required", "{again}");
    assert!(place.has_workflow("asks"));
}

/// A confirmation only counts as the answer to a question that was asked about this very call.
#[test]
fn an_unrequested_yes_does_not_count() {
    let other = ASKS.replace("workflow: asks", "workflow: other");
    let place = Place::with(&[("asks.yaml", ASKS), ("other.yaml", &other)]);
    place.save("asks.yaml");
    place.save("other.yaml");
    let mut client = client(&place);
    let can = json!({"elicitation": {"form": {}}});
    let call = |id: &str| json!({"name": "workflow_delete", "arguments": {"workflow_id": id}});
    let yes = json!({"approval": {"action": "accept", "content": {"approve": true}}});
    let mut unasked = call("asks");
    unasked["inputResponses"] = yes.clone();
    let asked = ask(&mut client, "tools/call", unasked.clone(), &can);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    unasked["requestState"] = json!("made-up");
    let asked = ask(&mut client, "tools/call", unasked, &can);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let mut swapped = call("other");
    swapped["inputResponses"] = yes;
    swapped["requestState"] = asked["requestState"].clone();
    let asked = ask(&mut client, "tools/call", swapped, &can);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    for id in ["asks", "other"] {
        assert!(place.has_workflow(id));
    }
}

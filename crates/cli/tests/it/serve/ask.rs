//! Questions that the server asks its client during a call, and abandoned calls.

use serde_json::{Value, json};

use super::{ASKS, Server, alone};
use crate::Place;

fn place() -> Place {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    place.run(["workflow", "save", "asks.yaml"]).ends(0);
    place
}

const DELETE: &str = "workflow_delete";

#[test]
fn a_question_comes_in_the_stream_of_its_call_and_the_answer_by_another_request() {
    for (answer, code) in [(true, 6), (false, 0)] {
        let place = place();
        let server = Server::start(&place, &[]);
        let session = server.connect_with("2025-06-18", &json!({"elicitation": {}}));
        let call = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
            "name": DELETE, "arguments": {"workflow_id": "asks"}}});
        let mut opened = session.ask("POST").body(call.to_string()).open();
        let question = opened.event().expect("is asked");
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let said = json!({"jsonrpc": "2.0", "id": question["id"], "result": {
            "action": "accept", "content": {"approve": answer}}});
        assert_eq!(session.post(&said).status, 202);
        let done = opened.event().expect("is answered");
        assert_eq!(done["id"], 5);
        let run = &done["result"]["structuredContent"];
        assert_eq!(run["status"] == "succeeded", answer, "{done}");
        assert_eq!(opened.event(), None, "there is one answer");
        place.run(["workflow", "show", "asks"]).ends(code);
    }
}

#[test]
fn a_question_is_an_unfinished_answer_where_every_request_stands_alone() {
    let place = place();
    let server = Server::start(&place, &[]);
    let can = json!({"elicitation": {"form": {}}});
    let mut call = json!({"name": DELETE, "arguments": {"workflow_id": "asks"}});
    let asked = server.alone("tools/call", call.clone(), &can).message();
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    let requests = asked["result"]["inputRequests"].as_object().expect("requests");
    let key = requests.keys().next().expect("one");
    call["inputResponses"] = json!({key: {"action": "accept", "content": {"approve": true}}});
    // Without the state that ties an answer to its question, it does not count.
    let again = server.alone("tools/call", call.clone(), &can).message();
    assert_eq!(again["result"]["resultType"], "input_required", "{again}");
    call["requestState"] = asked["result"]["requestState"].clone();
    let done = server.alone("tools/call", call, &can).message();
    assert_ne!(done["result"]["isError"], true, "{done}");
    place.run(["workflow", "show", "asks"]).ends(6);
}

#[test]
fn an_abandoned_call_is_not_answered_and_frees_its_id() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let session = server.connect("2025-11-25");
    let waiting = session.waiting(9, &session.asleep(), 25);
    let ping = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 9, "reason": "no longer"}});
    assert_eq!(session.post(&note).status, 202);
    assert_eq!(waiting.join().expect("ends").messages(), Vec::<Value>::new());
    assert_eq!(session.post(&ping).message()["result"], json!({}));
}

#[test]
fn a_disconnect_affects_nobody_else() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let session = server.connect("2025-11-25");
    let run = session.asleep();
    let wait = json!({"name": "workflow_status", "arguments": {"run_id": run, "wait_s": 1}});
    let body = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": wait});
    drop(session.ask("POST").body(body.to_string()).open());
    let mut body = body.clone();
    body["params"] = alone(body["params"].take(), &json!({}));
    server.ask_alone("tools/call", &body).hang_up();
    assert_eq!(session.call("ping", &json!({})), json!({}));
    // The id is free once the call is done, even if nobody read its answer.
    let ping = json!({"jsonrpc": "2.0", "id": 9, "method": "ping"});
    while session.post(&ping).status != 200 {}
}

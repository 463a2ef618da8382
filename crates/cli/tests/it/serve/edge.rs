//! Every request gets exactly one answer, regardless of its bytes, with and without a handshake.

use std::thread;

use serde_json::{Value, json};

use super::{Server, alone, initialize};
use crate::Place;

#[test]
fn unreadable_bodies_are_reported() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let session = server.connect("2025-11-25");
    let null = "null";
    for (body, code, id) in [
        ("", -32700, null),
        (" \n", -32700, null),
        ("{", -32700, null),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"} x", -32700, null),
        ("\u{feff}{}", -32700, null),
        ("[1,", -32700, null),
        ("7", -32600, null),
        ("[]", -32600, null),
        ("{\"id\":\"a\",\"method\":\"ping\"}", -32600, "\"a\""),
        ("{\"jsonrpc\":\"2.0\",\"id\":4}", -32600, "4"),
        ("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":7}", -32600, "4"),
        ("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", -32600, null),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", -32600, null),
        ("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"tools/list\"}", -32600, "1.5"),
        ("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/list\",\"params\":7}", -32600, "4"),
    ] {
        for ask in [session.ask("POST"), server.ask("POST")] {
            let ask = ask.header("MCP-Protocol-Version", "2025-11-25");
            let answer = ask.body(body).send();
            // Without a session, a missing session may be reported instead.
            let code = if answer.code() == -32000 { -32000 } else { code };
            assert_eq!((answer.status, answer.code()), (400, code), "{body}: {answer:?}");
            assert_eq!(answer.message()["id"].to_string(), id, "{body}: {answer:?}");
        }
    }
    let answer = session.ask("POST").body("{\n  \"jsonrpc\": \"2.0\",\n  oops").send();
    let details = answer.message()["error"]["data"]["details"].clone();
    assert!(details.as_str().expect("words").ends_with("at line 3, column 3"), "{details}");
    assert_eq!(session.call("ping", &json!({})), json!({}));
}

#[test]
fn wrong_requests_are_told_apart_in_the_era_of_handshakes() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let session = server.connect(version);
        let fault = session.fault("nothing/such", &json!({}));
        assert_eq!(fault["code"], -32601);
        assert_eq!(fault["data"], json!({"method": "nothing/such"}));
        for (method, params) in [
            ("tools/call", json!({"name": 7})),
            ("tools/call", json!({})),
            ("tools/call", json!([1])),
            ("resources/read", json!({"url": "a"})),
        ] {
            assert_eq!(session.fault(method, &params)["code"], -32602, "{method} {params}");
        }
        let fault = session.fault("tools/call", &json!({"name": "workflow_lst"}));
        assert_eq!(
            (&fault["code"], &fault["data"]["suggestion"]),
            (&json!(-32602), &json!("workflow_list"))
        );
        // Methods of the pipe transport do not exist here.
        assert_eq!(session.fault("shutdown", &json!({}))["code"], -32601);
        assert_eq!(session.fault("workflow_next", &json!({}))["code"], -32601);
        let again = session.post(&initialize(version, &json!({})));
        assert_eq!((again.status, again.code()), (400, -32600));
        assert_eq!(session.call("ping", &json!({})), json!({}));
    }
}

#[test]
fn wrong_requests_are_told_apart_where_each_stands_alone() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let answer = server.alone("nothing/such", json!({}), &json!({}));
    assert_eq!((answer.status, answer.code()), (404, -32601));
    assert_eq!(answer.message()["error"]["data"], json!({"method": "nothing/such"}));
    let answer = server.alone("tools/call", json!({"name": 7}), &json!({}));
    assert_eq!((answer.status, answer.code()), (400, -32602), "{answer:?}");
    // The client information is missing, or differs from the header.
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    let answer = server.ask_alone("tools/list", &body).send();
    assert_eq!((answer.status, answer.code()), (400, -32602), "{answer:?}");
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list",
        "params": alone(json!({}), &json!({}))});
    let answer = server.ask_alone("tools/call", &body).send();
    assert_eq!((answer.status, answer.code()), (400, -32020), "{answer:?}");
    let batch = json!([body, body]);
    let answer = server.ask_alone("tools/list", &batch).send();
    assert_eq!((answer.status, answer.code()), (400, -32600), "{answer:?}");
    let answer = server.alone("server/discover", json!({}), &json!({}));
    assert_eq!(answer.status, 200);
    assert!(answer.message()["result"]["supportedVersions"].is_array(), "{answer:?}");
    let told = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    assert_eq!(server.ask_alone("notifications/cancelled", &told).send().status, 202);
}

#[test]
fn a_body_may_be_as_long_as_a_message_and_no_longer() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let session = server.connect("2025-06-18");
    let limit = 4 << 20;
    let frame = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":""}}"#;
    for (length, status) in [(limit - 1, 200), (limit, 200), (limit + 1, 413), (3 * limit, 413)] {
        let fill = "x".repeat(length - frame.len());
        let body = frame.replace(":\"\"", &format!(":\"{fill}\""));
        assert_eq!(body.len(), length);
        let answer = session.ask("POST").body(body).send();
        assert_eq!(
            answer.status,
            status,
            "{length}: {}",
            &answer.body[..200.min(answer.body.len())]
        );
        if status == 413 {
            assert_eq!(answer.code(), -32600);
            assert_eq!(answer.message()["error"]["data"]["limit"], limit);
        }
    }
    assert_eq!(session.call("ping", &json!({})), json!({}));
}

#[test]
fn a_session_begins_with_a_handshake_that_may_be_tried_again() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    // Any message before the handshake is refused and has no effect.
    for body in [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
    ] {
        let answer = server.post(&body);
        assert_eq!((answer.status, answer.code()), (400, -32000), "{body}: {answer:?}");
    }
    for (params, code) in [
        (json!({"protocolVersion": "1999-01-01", "capabilities": {}}), -32000),
        (json!({"capabilities": {}}), -32602),
        (json!({"protocolVersion": "2025-06-18", "capabilities": 7}), -32602),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let answer = server.post(&body);
        assert_eq!((answer.status, answer.code()), (200, code), "{answer:?}");
        assert_eq!(answer.header("mcp-session-id"), None);
    }
    // A newer client is offered our newest revision, regardless of its header.
    let hello = initialize("2027-01-01", &json!({})).to_string();
    let answer = server.ask("POST").header("MCP-Protocol-Version", "2027-01-01").body(hello).send();
    assert_eq!(answer.message()["result"]["protocolVersion"], "2025-11-25", "{answer:?}");
    let session = server.connect("2025-06-18");
    assert_eq!(session.ask("DELETE").send().status, 204);
    for method in ["POST", "GET", "DELETE"] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
        let answer = session.ask(method).body(body).send();
        assert_eq!((answer.status, answer.code()), (404, -32000), "{method}: {answer:?}");
    }
}

#[test]
fn removed_methods_are_not_found_in_the_newest_revision() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let removed = ["initialize", "ping", "logging/setLevel", "resources/subscribe"];
    for method in removed {
        let answer = server.alone(method, json!({}), &json!({}));
        assert_eq!((answer.status, answer.code()), (404, -32601), "{method}: {answer:?}");
    }
}

#[test]
fn batches_are_answered_where_the_revision_has_them() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 2, "method": "nothing/such"},
        {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/list"},
        {"id": 4},
        {"jsonrpc": "2.0", "id": 5, "method": "initialize"},
    ]);
    for version in ["2025-06-18", "2025-11-25"] {
        let answer = server.connect(version).post(&batch);
        assert_eq!((answer.status, answer.code()), (400, -32600), "{answer:?}");
    }
    let session = server.connect("2025-03-26");
    let mut messages = session.post(&batch).messages();
    messages.sort_by_key(|message| message["id"].as_i64());
    let codes = messages.iter().map(|message| message["error"]["code"].as_i64());
    let codes: Vec<Option<i64>> = codes.collect();
    assert_eq!(codes, [None, Some(-32601), None, Some(-32600), Some(-32600)], "{messages:?}");
    assert!(messages[2]["result"]["tools"].is_array());
    let notes = json!([{"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}]);
    assert_eq!(session.post(&notes).status, 202);
}

#[test]
fn an_id_that_is_in_use_is_refused() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let session = server.connect("2025-11-25");
    let other = server.connect("2025-11-25");
    let waiting = session.waiting(7, &session.asleep(), 3);
    // Each session has its own ids.
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    assert_eq!(other.post(&ping).status, 200);
    let waited = waiting.join().expect("is answered").message();
    assert_eq!((&waited["id"], &waited["error"]), (&json!(7), &Value::Null));
    assert_eq!(session.post(&ping).status, 200);
}

/// The answer to one request is never mistaken for the answer to the next one with the same id,
/// however close together they are: each is answered or refused.
#[test]
fn an_id_that_is_free_again_at_this_moment_is_answered_once() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let session = server.connect("2025-11-25");
    let asked: Vec<_> = (0..8)
        .map(|_| {
            let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"}).to_string();
            let asks: Vec<_> = (0..40).map(|_| session.ask("POST").body(ping.clone())).collect();
            thread::spawn(move || asks.into_iter().map(|ask| ask.send().status).collect::<Vec<_>>())
        })
        .collect();
    for asked in asked {
        for status in asked.join().expect("each is answered") {
            assert!([200, 400].contains(&status), "{status}");
        }
    }
}

/// Sends 64 requests at a time, with and without a session: valid, invalid, with duplicate ids and
/// too long. Each is answered once.
#[test]
fn sixty_four_at_once_are_answered_once_each() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let session = server.connect("2025-11-25");
    let asked: Vec<_> = (0..64)
        .map(|number: u64| {
            let (method, params) = match number / 2 % 6 {
                0 => ("tools/call", json!({"name": "workflow_list", "arguments": {}})),
                1 => ("tools/call", json!({"name": "workflow_lst", "arguments": {}})),
                2 => ("tools/call", json!({"name": "workflow_get", "arguments": {"x": 1}})),
                3 => ("no/such", json!({})),
                4 => ("tools/list", json!({})),
                _ => (
                    "tools/call",
                    json!({"name": "workflow_list",
                    "arguments": {"query": "x".repeat(5 << 20)}}),
                ),
            };
            // Some requests share an id.
            let id = if number % 8 < 2 { 1_000 } else { number };
            let mut body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            let ask = if number.is_multiple_of(2) {
                session.ask("POST").body(body.to_string())
            } else {
                body["params"] = alone(body["params"].take(), &json!({}));
                server.ask_alone(method, &body)
            };
            (id, number, thread::spawn(move || ask.send()))
        })
        .collect();
    for (id, number, asked) in asked {
        let answer = asked.join().expect("is answered");
        let messages = answer.messages();
        assert_eq!(messages.len(), 1, "{number}: {answer:?}");
        let message = &messages[0];
        if number / 2 % 6 == 5 {
            assert_eq!(answer.status, 413, "{number}: {answer:?}");
            assert!(message["error"].is_object(), "{number}: {message}");
            continue;
        }
        let is_taken = id == 1_000 && message["error"]["code"] == -32600;
        assert_eq!(message["id"], id, "{number}: {message}");
        let is_good = match number / 2 % 6 {
            0 => message["result"]["structuredContent"].is_object(),
            1 => message["error"]["code"] == -32602,
            2 => message["result"]["isError"] == true,
            3 => message["error"]["code"] == -32601,
            _ => message["result"]["tools"].is_array(),
        };
        assert!(is_good || is_taken, "{number}: {message}");
    }
}

//! Every request is answered exactly once, whatever else arrives on the pipe.

use std::collections::HashMap;

use milepost_mcp::workflows::ToolStyle;
use serde_json::{Value, json};

use super::client;
use crate::client::Client;
use crate::place::Place;

fn open(place: &Place, version: &str) -> Client {
    let mut client = client(place);
    let params = json!({"protocolVersion": version, "capabilities": {}});
    let answer = client.ask("initialize", &params);
    assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
    client
}

#[test]
fn a_bad_beginning_leaves_the_pipe_open() {
    let place = Place::new();
    let mut client = Client::start(&place, ToolStyle::default());
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.write(b"not json\n");
    assert_eq!(client.hear()["error"]["code"], -32700);
    assert_eq!(client.fault("tools/list", &json!({})), -32000);
    assert_eq!(client.fault("initialize", &json!({"protocolVersion": "2025-06-18"})), -32602);
    let old = json!({"protocolVersion": "2024-10-01", "capabilities": {}});
    assert_eq!(client.fault("initialize", &old), -32000);
    let good = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    assert_eq!(client.call("initialize", &good)["protocolVersion"], "2025-11-25");
    assert_eq!(client.fault("initialize", &good), -32600);
    client.ping();
    client.close();
}

#[test]
fn malformed_requests_are_answered_precisely() {
    let place = Place::new();
    let mut client = open(&place, "2025-06-18");
    for (line, code, id) in [
        ("{", -32700, Value::Null),
        ("[]", -32600, Value::Null),
        ("17", -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600, json!(7)),
        (r#"{"jsonrpc":"2.0","id":8}"#, -32600, json!(8)),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"nme":1}}"#, -32602, json!(9)),
        (r#"{"jsonrpc":"2.0","id":10,"method":"tools/call","params":[1]}"#, -32602, json!(10)),
        (r#"{"jsonrpc":"2.0","id":11,"method":"resources/read"}"#, -32602, json!(11)),
        (r#"{"jsonrpc":"2.0","id":12,"method":"no/such"}"#, -32601, json!(12)),
        (r#"[{"jsonrpc":"2.0","id":13,"method":"ping"}]"#, -32600, Value::Null),
    ] {
        client.write(format!("{line}\n").as_bytes());
        let answer = client.hear();
        assert_eq!(
            (&answer["error"]["code"], &answer["id"]),
            (&json!(code), &id),
            "{line}: {answer}"
        );
    }
    let unknown = client.ask("no/such", &json!({}));
    assert_eq!(unknown["error"]["data"]["method"], "no/such");
    client.ping();
}

#[test]
fn a_batch_is_answered_as_one_where_there_are_batches() {
    let place = Place::new();
    let mut client = open(&place, "2025-03-26");
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
         "params": {"name": "workflow_list", "arguments": {}}},
        {"jsonrpc": "2.0", "method": "notifications/progress",
         "params": {"progressToken": 1, "progress": 1}},
        {"jsonrpc": "2.0", "id": 2, "method": "ping"},
        {"jsonrpc": "2.0", "id": 3, "method": "no/such"},
        {"jsonrpc": "2.0", "id": 4, "method": "prompts/list"},
    ]);
    client.say(&batch);
    let answers = client.hear();
    let ids: Vec<&Value> =
        answers.as_array().expect("a batch").iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [1, 2, 3, 4]);
    client.ping();
}

/// The handshake is answered before any later message.
#[test]
fn nothing_overtakes_the_handshake() {
    let place = Place::new();
    let mut client = client(&place);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    client.write(format!("{hello}\ngibberish\n").as_bytes());
    assert_eq!(client.hear()["id"], 1);
    assert_eq!(client.hear()["error"]["code"], -32700);
}

#[test]
fn a_request_whose_id_is_in_use_is_refused() {
    let place = Place::new();
    let mut client = open(&place, "2025-06-18");
    let call = json!({"jsonrpc": "2.0", "id": "same", "method": "tools/list"});
    let line = format!("{call}\n").repeat(20);
    client.write(line.as_bytes());
    for _ in 0..20 {
        let answer = client.hear();
        assert_eq!(answer["id"], "same");
        let refused = answer["error"]["code"] == -32600;
        assert!(refused || answer["result"]["tools"].is_array(), "{answer}");
    }
    client.ping();
    assert!(client.heard().is_none());
}

/// A line longer than the limit.
const OVERSIZED: usize = (4 << 20) + 1;

/// The lines of a client that does not wait: valid, invalid, with duplicate ids and occasionally
/// too long; and how often each id must be answered.
fn load(is_stateless: bool) -> (Vec<u8>, HashMap<String, usize>) {
    let mut expected: HashMap<String, usize> = HashMap::new();
    let mut lines = Vec::new();
    let line = |id: &str, method: &str, mut params: Value| {
        if is_stateless {
            params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {}});
        }
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
    };
    for number in 0..640 {
        let id = format!("r{number}");
        let get = json!({"name": "workflow_get", "arguments": {"workflow_id": "x"}});
        let good = json!({"name": "workflow_list", "arguments": {}});
        let (said, id) = match number % 10 {
            0 => ("garbage".to_owned(), None),
            1 => (line(&id, "no/such", json!({})), Some(id)),
            2 => (line(&id, "tools/call", json!({})), Some(id)),
            3 => (line(&id, "tools/call", get), Some(id)),
            4 => (json!({"jsonrpc": "2.0", "method": "notifications/nothing"}).to_string(), None),
            5 => (line(&id, "resources/list", json!({})), Some(id)),
            6 => (line(&id, "tools/call", good), Some(id)),
            7 => (line(&id, "tools/call", json!({"name": "workflow_lst"})), Some(id)),
            8 => (line("same", "tools/list", json!({})), Some("same".to_owned())),
            _ if number == 319 => ("x".repeat(OVERSIZED), None),
            _ => (line(&id, "prompts/list", json!({})), Some(id)),
        };
        match id {
            Some(id) => *expected.entry(format!("\"{id}\"")).or_default() += 1,
            None if number % 10 == 4 => {}
            None => *expected.entry("null".to_owned()).or_default() += 1,
        }
        lines.extend_from_slice(said.as_bytes());
        lines.push(b'\n');
    }
    (lines, expected)
}

#[test]
fn sixty_four_at_a_time_are_each_answered_once() {
    let place = Place::new();
    for is_stateless in [false, true] {
        let mut client = match is_stateless {
            true => Client::start(&place, ToolStyle::default()),
            false => open(&place, "2025-11-25"),
        };
        let (lines, expected) = load(is_stateless);
        let total: usize = expected.values().sum();
        let mut heard: HashMap<String, usize> = HashMap::new();
        client.write(&lines);
        for _ in 0..total {
            *heard.entry(client.hear()["id"].to_string()).or_default() += 1;
        }
        assert_eq!(heard, expected, "stateless: {is_stateless}");
        if !is_stateless {
            client.ping();
        }
        assert!(client.heard().is_none(), "nothing is answered twice");
        client.close();
    }
}

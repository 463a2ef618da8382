//! Input that a transcript cannot express: invalid UTF-8, unterminated lines, and lines that are
//! too long.

use serde_json::{Value, json};

use super::server::Server;
use crate::Place;

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

/// The answers to these bytes and to a subsequent ping.
fn answers(bytes: &[u8]) -> Vec<Value> {
    let place = Place::new();
    let mut server = Server::start(place.command().args(["mcp", "--surface", "workflowlookup"]));
    assert!(server.send(bytes));
    let ended = server.end();
    assert_eq!(ended.code, Some(0), "{}", ended.remarks);
    ended.rest.iter().map(|line| serde_json::from_str(line).expect("is JSON")).collect()
}

fn after(bytes: &[u8]) -> Value {
    let bytes = [bytes, b"\n", PING.as_bytes(), b"\n"].concat();
    let answers = answers(&bytes);
    assert_eq!(answers.len(), 2, "{answers:?}");
    assert_eq!(answers[1], json!({"jsonrpc": "2.0", "id": 1, "result": {}}), "it goes on");
    answers[0].clone()
}

fn is_parse_error(answer: &Value) -> bool {
    let error = &answer["error"];
    answer["id"].is_null() && error["code"] == -32700 && error["message"] == "Parse error"
}

/// Whether this number occurs anywhere in a value.
fn holds(value: &Value, number: u64) -> bool {
    match value {
        Value::Object(members) => members.values().any(|member| holds(member, number)),
        Value::Array(items) => items.iter().any(|item| holds(item, number)),
        other => other.as_u64() == Some(number),
    }
}

#[test]
fn a_byte_order_mark_is_not_json() {
    assert!(is_parse_error(&after(format!("\u{feff}{PING}").as_bytes())));
}

#[test]
fn invalid_utf_8_is_not_json() {
    assert!(is_parse_error(&after(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xffng\"}")));
}

#[test]
fn a_line_over_the_limit_is_answered_and_skipped() {
    let line = PING.replace("ping", &"p".repeat(4 * 1024 * 1024));
    let answer = after(line.as_bytes());
    assert_eq!(answer["error"]["code"], -32600, "{answer}");
    assert!(holds(&answer["error"]["data"], 4 * 1024 * 1024), "{answer}");
}

#[test]
fn a_last_line_without_an_end_is_answered() {
    assert_eq!(answers(PING.as_bytes()), [json!({"jsonrpc": "2.0", "id": 1, "result": {}})]);
    assert!(answers(b"").is_empty());
    assert!(is_parse_error(&answers(&PING.as_bytes()[..20])[0]));
}

#[test]
fn a_context_over_the_limit_is_refused() {
    let hello = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2024-11-05", "capabilities": {}}
    });
    let next = |size: usize| {
        let context = json!({"long": "x".repeat(size)});
        let params = json!({"workflowId": "code-review", "completedSteps": [], "context": context});
        json!({"jsonrpc": "2.0", "id": 2, "method": "workflow_next", "params": params})
    };
    let (fits, exceeds) = (next(250 * 1024), next(256 * 1024));
    let answers = answers(format!("{hello}\n{fits}\n{exceeds}\n").as_bytes());
    assert!(answers[1].get("result").is_some(), "{}", answers[1]);
    assert_eq!(answers[2]["error"]["code"], -32005);
    assert_eq!(answers[2]["error"]["message"], "State error");
    assert!(holds(&answers[2]["error"]["data"], 256 * 1024), "{}", answers[2]);
}

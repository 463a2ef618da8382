//! Every request is answered exactly once, whatever else arrives on the pipe.

use serde_json::json;

use super::client;
use crate::Place;
use crate::client::Client;

fn open(place: &Place, version: &str) -> Client {
    let mut client = client(place, &[]);
    let params = json!({"protocolVersion": version, "capabilities": {}});
    let answer = client.ask("initialize", &params);
    assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
    client
}

#[test]
fn requests_before_the_end_of_input_are_answered() {
    let place = Place::new();
    let mut client = open(&place, "2025-06-18");
    for number in 0..40 {
        client.say(&json!({"jsonrpc": "2.0", "id": number, "method": "tools/call",
            "params": {"name": "workflow_list", "arguments": {}}}));
    }
    client.say(&json!({"jsonrpc": "2.0", "id": "end", "method": "shutdown"}));
    let mut ids: Vec<String> = (0..41).map(|_| client.hear()["id"].to_string()).collect();
    assert_eq!(ids.last().map(String::as_str), Some("\"end\""));
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 41);
    assert_eq!(client.ended().code, Some(0));
}

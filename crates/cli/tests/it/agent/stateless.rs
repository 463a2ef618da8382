//! The revision without a handshake: every request identifies its client.

use serde_json::{Value, json};

use super::client;
use crate::Place;
use crate::client::Client;

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
fn a_client_of_today_needs_no_handshake() {
    let place = Place::new();
    let mut client = client(&place, &[]);
    let found = ask(&mut client, "server/discover", json!({}), &json!({}));
    let versions = found["supportedVersions"].as_array().expect("a list");
    assert!(versions.contains(&json!("2026-07-28")), "{found}");
    assert!(found["instructions"].as_str().is_some_and(|text| !text.is_empty()), "{found}");
    let listed = ask(&mut client, "tools/list", json!({}), &json!({}));
    assert_eq!(listed["resultType"], "complete");
    let call = json!({"name": "workflow_list", "arguments": {}});
    let result = ask(&mut client, "tools/call", call, &json!({}));
    assert!(result["structuredContent"]["workflows"].is_array(), "{result}");
    assert_eq!(client.close().code, Some(0));
}

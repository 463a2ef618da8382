//! Subscriptions: clients are notified of changes to what they watch, and of nothing else.

use serde_json::json;

use super::{ASKS, Agent, client};
use crate::place::Place;

const GUIDE: &str = r#"{"id": "watched-guide", "name": "Watched", "version": "1.0.0",
    "description": "A guide that comes while somebody watches", "steps": [{"id": "look",
    "title": "Look", "prompt": "Look at it closely", "agentRole": "You look at things"}]}"#;

fn place() -> Place {
    let place = Place::with(&[("asks.yaml", ASKS), ("guide.json", GUIDE)]);
    place.save("asks.yaml");
    place
}

fn change(place: &Place, to: &str) {
    let arguments = json!({"content": ASKS.replace("Look at it", to), "overwrite": true});
    place.call("workflow.save", arguments).expect("is saved");
}

#[test]
fn a_run_can_be_watched() {
    let place = place();
    let mut agent = Agent::with(&place, "2025-11-25", &json!({}));
    let run = agent.call("workflow_run", &json!({"workflow_id": "asks", "wait_s": 20}));
    let uri = format!("milepost://run/{}", run["run_id"].as_str().expect("an id"));
    agent.client.call("resources/subscribe", &json!({"uri": uri}));
    let done = json!({"run_id": run["run_id"], "step_id": "look", "output": {"seen": true}});
    agent.call("workflow_submit", &done);
    let note = agent.client.hear();
    assert_eq!(
        (&note["method"], &note["params"]["uri"]),
        (&json!("notifications/resources/updated"), &json!(uri)),
        "{note}"
    );
}

#[test]
fn a_stateless_listener_gets_what_it_asked_for() {
    let place = place();
    let mut client = client(&place);
    let uri = "milepost://workflow/manifest/asks";
    let params = json!({
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        },
        "notifications": {"resourceSubscriptions": [uri, "milepost://no/such/thing"],
            "promptsListChanged": true, "toolsListChanged": true},
    });
    client.say(&json!({"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen",
        "params": params}));
    let granted = client.hear();
    assert!(granted.to_string().contains(uri), "{granted}");
    assert!(!granted.to_string().contains("no/such"), "{granted}");
    // A change before the server's first poll is not lost.
    assert_eq!(client.hear()["params"]["uri"], uri);
    assert_eq!(client.hear()["method"], "notifications/prompts/list_changed");
    change(&place, "Look again");
    let note = client.hear();
    assert_eq!(note["method"], "notifications/resources/updated", "{note}");
    place.save("guide.json");
    let note = client.hear();
    assert_eq!(note["method"], "notifications/prompts/list_changed", "{note}");
    // A listener does not keep a server alive after its client has left.
    client.close();
}

//! Subscriptions: clients are notified of changes to what they watch, and of nothing else.

use serde_json::json;

use super::{ASKS, Agent, client};
use crate::Place;

const GUIDE: &str = r#"{"id": "watched-guide", "name": "Watched", "version": "1.0.0",
    "description": "A guide that comes while somebody watches", "steps": [{"id": "look",
    "title": "Look", "prompt": "Look at it closely", "agentRole": "You look at things"}]}"#;

fn place() -> Place {
    let place = Place::with(&[("asks.yaml", ASKS), ("guide.json", GUIDE)]);
    place.run(["workflow", "save", "asks.yaml"]).ends(0);
    place
}

fn change(place: &Place, to: &str) {
    std::fs::write(place.path("asks.yaml"), ASKS.replace("Look at it", to)).expect("writes");
    place.run(["workflow", "save", "asks.yaml", "--overwrite"]).ends(0);
}

#[test]
fn a_subscriber_is_notified_of_changes() {
    let place = place();
    let mut agent = Agent::with(&place, &[], "2025-11-25", &json!({}));
    let uri = json!({"uri": "milepost://workflow/manifest/asks"});
    agent.client.call("resources/subscribe", &uri);
    change(&place, "Look again");
    let note = agent.client.hear();
    assert_eq!(note["method"], "notifications/resources/updated", "{note}");
    assert_eq!(note["params"]["uri"], uri["uri"]);
    agent.client.call("resources/unsubscribe", &uri);
    change(&place, "Look once more");
    // The next notification is only about the prompts: nobody watches the workflow any more.
    place.run(["workflow", "save", "guide.json"]).ends(0);
    let note = agent.client.hear();
    assert_eq!(note["method"], "notifications/prompts/list_changed", "{note}");
    let listed = agent.client.call("prompts/list", &json!({}));
    let prompts = listed["prompts"].as_array().expect("a list");
    assert!(prompts.iter().any(|prompt| prompt["name"] == "watched-guide"), "{listed}");
    let nowhere = json!({"uri": "milepost://no/such/thing"});
    assert!(agent.client.fault("resources/subscribe", &nowhere) < 0);
}

#[test]
fn a_run_can_be_watched() {
    let place = place();
    let mut agent = Agent::with(&place, &[], "2025-11-25", &json!({}));
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
    let mut client = client(&place, &[]);
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
    place.run(["workflow", "save", "guide.json"]).ends(0);
    let note = client.hear();
    assert_eq!(note["method"], "notifications/prompts/list_changed", "{note}");
    // A listener does not keep a server alive after its client has left.
    assert_eq!(client.close().code, Some(0));
}

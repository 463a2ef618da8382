//! Subscriptions: clients are notified of changes to what they watch, and of nothing else.

use serde_json::json;

use super::{ASKS, Agent};
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

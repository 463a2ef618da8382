//! Questions that only a person can answer: confirmations and missing inputs, however the client
//! can ask them.

use serde_json::{Value, json};

use super::{ASKS, Agent};
use crate::Place;

fn place() -> Place {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    place.run(["workflow", "save", "asks.yaml"]).ends(0);
    place
}

fn configured(place: &Place, text: &str) {
    let folder = place.path(".milepost");
    std::fs::create_dir_all(&folder).expect("makes a folder");
    std::fs::write(folder.join("config.toml"), text).expect("writes");
}

fn is_there(agent: &mut Agent) -> bool {
    let listed = agent.call("workflow_list", &json!({"query": "asks"}));
    !listed["workflows"].as_array().expect("a list").is_empty()
}

/// Accepting in a client is not the same as the person typing a command.
#[test]
fn decisions_for_the_person_alone_are_not_asked_in_a_client() {
    let place = place();
    configured(&place, "confirm = \"person\"\n");
    place.run(["workflow", "save", "asks.yaml"]).ends(0);
    let mut agent = Agent::with(&place, &[], "2025-11-25", &json!({"elicitation": {}}));
    let refused = agent.refused("workflow_delete", &json!({"workflow_id": "asks"}));
    assert_eq!(refused["error_code"], "CONFIRMATION_REQUIRED");
    let how = refused["suggested_action"].as_str().expect("words");
    assert!(how.contains("milepost workflow delete"), "{refused}");
    assert_eq!(refused["next"], Value::Null, "{refused}");
    assert!(is_there(&mut agent));
}

//! Questions that only a person can answer: confirmations and missing inputs, however the client
//! can ask them.

use serde_json::json;

use super::{ASKS, Agent};
use crate::Place;

fn place() -> Place {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    place.run(["workflow", "save", "asks.yaml"]).ends(0);
    place
}

fn is_there(agent: &mut Agent) -> bool {
    let listed = agent.call("workflow_list", &json!({"query": "asks"}));
    !listed["workflows"].as_array().expect("a list").is_empty()
}

/// Nothing that an agent can send back counts as the person's answer.
#[test]
fn a_removal_waits_for_the_person() {
    let place = place();
    let mut agent = Agent::with(&place, &[], "2025-11-25", &json!({}));
    let asked = agent.call("workflow_delete", &json!({"workflow_id": "asks"}));
    assert_eq!(asked["status"], "waiting", "{asked}");
    assert!(asked["next"].to_string().contains("milepost approve"), "{asked}");
    assert!(is_there(&mut agent));
}

//! The tools as clients see them.

use serde_json::{Value, json};

use super::Agent;
use crate::Place;

fn tools(arguments: &[&str]) -> Vec<Value> {
    let place = Place::new();
    let mut agent = Agent::connect(&place, arguments);
    let mut listed = agent.client.call("tools/list", &json!({}));
    serde_json::from_value(listed["tools"].take()).expect("a list")
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect()
}

#[test]
fn a_listing_costs_a_model_little() {
    for (profile, count, bytes) in [("full", 40, 24_000), ("core", 10, 9_000), ("work", 5, 9_000)] {
        let tools = tools(&["--tools", profile]);
        let size = serde_json::to_string(&tools).expect("is JSON").len();
        assert!(tools.len() <= count, "{profile}: {} tools", tools.len());
        assert!(size <= bytes, "{profile}: {size} bytes");
    }
}

#[test]
fn dots_are_shown_where_they_are_wanted() {
    let dotted = tools(&["--tool-names", "dotted"]);
    assert!(names(&dotted).contains(&"workflow.save"));
    let all = tools(&["--surface", "all"]);
    let all = names(&all);
    assert!(all.contains(&"workflow.validate") && all.contains(&"workflow_validate"), "{all:?}");
}

#[test]
fn the_work_profile_shows_no_workflow_text() {
    let place = Place::new();
    let mut agent = Agent::connect(&place, &["--tools", "work"]);
    let listed = agent.client.call("tools/list", &json!({}));
    let tools: Vec<Value> = serde_json::from_value(listed["tools"].clone()).expect("a list");
    let expected =
        ["workflow_run", "workflow_status", "workflow_submit", "workflow_resume", "workflow_list"];
    assert_eq!(names(&tools), expected);
    for hidden in ["workflow_get", "workflow.get", "workflow_preview_rendered", "guide_get"] {
        let answer = agent.ask(hidden, &json!({"workflow_id": "bug-investigation"}));
        assert_eq!(answer["error"]["code"], -32602, "{hidden}: {answer}");
    }
    let uri = json!({"uri": "milepost://workflow/manifest/bug-investigation"});
    assert_eq!(agent.client.fault("resources/read", &uri), -32002);
}

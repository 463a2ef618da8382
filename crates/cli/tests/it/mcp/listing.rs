//! Guarantees of `tools/list` beyond the transcripts.

use serde_json::{Value, json};

use super::tools::{Tool, Tools};
use crate::Place;

const NAMES: [&str; 5] = [
    "workflow_get",
    "workflow_list",
    "workflow_next",
    "workflow_validate",
    "workflow_validate_json",
];

fn tools(version: &str) -> Tools {
    let place = Place::new();
    let mut command = place.command();
    Tools::listed(command.args(["mcp", "--surface", "workflowlookup"]), version)
}

#[test]
fn every_version_lists_the_same_five() {
    let first = tools("2024-11-05");
    assert_eq!(first.0.keys().collect::<Vec<_>>(), NAMES);
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        for (name, tool) in tools(version).0 {
            assert_eq!(tool.listed, first.0[&name].listed, "{name} under {version}");
        }
    }
}

#[test]
fn every_example_is_what_the_schemas_say() {
    for (name, tool) in tools("2024-11-05").0 {
        let examples = &tool.listed["examples"];
        assert_eq!(examples["request"]["method"], name);
        let params = tool.input.validate(&examples["request"]["params"]);
        params.unwrap_or_else(|error| panic!("the request of `{name}`: {error}"));
        let response = tool.output.validate(&examples["response"]);
        response.unwrap_or_else(|error| panic!("the response of `{name}`: {error}"));
    }
}

#[test]
fn the_ids_that_are_listed_are_the_ids_there_are() {
    let tools = tools("2024-11-05").0;
    let next = |params: Value| takes(&tools["workflow_next"], &params);
    for id in ["abc", "a-b_c", "name.space", "9lives"] {
        assert!(takes(&tools["workflow_get"], &json!({"id": id})), "{id}");
        assert!(next(json!({"workflowId": id, "completedSteps": []})), "{id}");
    }
    for id in ["", "ab", "AbC", "a b c", "a/b", "a\\b", &"a".repeat(65)] {
        assert!(!takes(&tools["workflow_get"], &json!({"id": id})), "{id}");
        assert!(!next(json!({"workflowId": id, "completedSteps": []})), "{id}");
    }
    let steps = ["a", "a_b-c", "loop@2::step", "a@0::b@1::c", "a", "loop@2::step"];
    assert!(next(json!({"workflowId": "abc", "completedSteps": steps})), "ids may repeat");
    for id in ["", "a b", "a/b"] {
        assert!(!next(json!({"workflowId": "abc", "completedSteps": [id]})), "{id}");
    }
}

fn takes(tool: &Tool, params: &Value) -> bool {
    tool.input.is_valid(params)
}

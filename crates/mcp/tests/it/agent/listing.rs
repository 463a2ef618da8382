//! The tools as clients see them.

use serde_json::{Value, json};

use super::{Agent, client};
use crate::place::Place;

/// The length at which some clients truncate a description.
const CUT: usize = 2_048;

fn tools() -> Vec<Value> {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let mut listed = agent.client.call("tools/list", &json!({}));
    serde_json::from_value(listed["tools"].take()).expect("a list")
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().map(|tool| tool["name"].as_str().expect("a name")).collect()
}

#[test]
fn every_tool_says_what_it_is() {
    for tool in tools() {
        let name = tool["name"].as_str().expect("a name");
        assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
        for key in ["title", "description"] {
            let text = tool[key].as_str().unwrap_or_else(|| panic!("{name} has no {key}"));
            assert!(!text.is_empty() && text.len() <= CUT, "{name}: {key}");
            assert!(!text.contains("workflow.save"), "{name} speaks of dotted names: {text}");
        }
        for key in ["inputSchema", "outputSchema"] {
            assert_eq!(tool[key]["type"], "object", "{name}: {key}");
            jsonschema::validator_for(&tool[key]).expect("is a schema");
        }
        let hints = tool["annotations"].as_object().expect("hints");
        for hint in ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(hints[hint].is_boolean(), "{name}: {hint}");
        }
        let meta = &tool["_meta"];
        let (safety, method) = (meta["safety"].as_str(), meta["http_method"].as_str());
        let expected = match safety {
            Some("safe") => "GET",
            Some("standard") => "POST",
            Some("destructive") => "DELETE",
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(method, Some(expected), "{name}");
        assert_eq!(hints["readOnlyHint"], safety == Some("safe"), "{name}");
        let kinds = ["local", "http", "task"];
        assert!(kinds.iter().any(|kind| meta["execution_type"] == *kind), "{name}: {meta}");
    }
}

#[test]
fn the_tools_of_the_contract_are_there() {
    let full = tools();
    let full = names(&full);
    for operation in [
        "workflow.list",
        "workflow.get",
        "workflow.validate",
        "workflow.preview_inputs",
        "workflow.preview_rendered",
        "command.list",
        "provider.list",
        "workflow.save",
        "workflow.rename",
        "workflow.resolve_inputs",
        "workflow.run",
        "workflow.step_plan",
        "workflow.delete",
        "workflow.cancel",
        "workflow.purge_history",
        "catalog.validate_openapi",
        "catalog.preview_import",
        "catalog.import_openapi",
        "catalog.set_enabled",
        "catalog.remove",
    ] {
        let name = operation.replace('.', "_");
        assert!(full.contains(&name.as_str()), "{name}");
    }
    // A model must not make decisions that belong to a person.
    for person in ["approve", "reject", "decide", "pin"] {
        assert!(!full.iter().any(|name| name.contains(person)), "{person}");
    }
}

#[test]
fn the_instructions_fit_and_keep_what_a_model_must_know() {
    let place = Place::new();
    let mut client = client(&place);
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}});
    let answer = client.ask("initialize", &params);
    let text = answer["result"]["instructions"].as_str().expect("instructions");
    assert!(text.len() <= 1_500, "{}", text.len());
    for phrase in [
        "catalog_validate_openapi, then catalog_preview_import, then catalog_import_openapi",
        "Prefer local files",
        "every warning and violation",
        "Never call catalog_remove",
        "workflow_status {}",
    ] {
        assert!(text.contains(phrase), "{phrase}");
    }
}

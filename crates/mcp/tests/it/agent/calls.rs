//! Failing and successful calls, in both forms.

use serde_json::{Value, json};

use super::{ASKS, Agent, SHOP};
use crate::place::Place;

#[test]
fn a_workflow_is_created_changed_and_contested() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let draft = ASKS.replace("prompt:", "promt:");
    let checked = agent.call("workflow_validate", &json!({"manifest": draft}));
    assert_eq!(checked["valid"], false);
    assert!(!checked["violations"].as_array().expect("a list").is_empty());
    let refused = agent.refused("workflow_save", &json!({"content": draft}));
    assert_eq!(refused["error_code"], "WORKFLOW_INVALID");
    assert!(!refused["violations"].as_array().expect("a list").is_empty());
    let saved = agent.call("workflow_save", &json!({"content": ASKS}));
    assert_eq!(saved["workflow_id"], "asks");
    let again = agent.refused("workflow_save", &json!({"content": ASKS}));
    assert_eq!(
        (&again["error_code"], &again["category"]),
        (&json!("WORKFLOW_EXISTS"), &json!("conflict"))
    );
    assert_eq!(
        again["next"],
        json!({"tool": "workflow_get", "arguments": {"workflow_id": "asks"}})
    );
    let got = agent.call("workflow_get", &again["next"]["arguments"]);
    assert_eq!((&got["content"], &got["version"]), (&json!(ASKS), &saved["version"]));
    let changed = ASKS.replace("Look at it", "Look again");
    let fresh = json!({"content": changed, "expected_version": got["version"]});
    agent.call("workflow_save", &fresh);
    let stale = agent.refused("workflow_save", &fresh);
    assert_eq!(stale["error_code"], "WORKFLOW_VERSION_CONFLICT");
    let missing = agent.refused("workflow_get", &json!({"workflow_id": "nowhere"}));
    assert_eq!(missing["next"]["tool"], "workflow_list");
    assert_eq!(missing["context"]["workflow_id"], "nowhere");
}

#[test]
fn every_wrong_argument_is_reported_at_once() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let refused = agent.refused("workflow_status", &json!({"run": "x", "wait_s": "long"}));
    assert_eq!(refused["error_code"], "PARAMS_INVALID");
    assert_eq!(refused["violations"].as_array().expect("a list").len(), 2, "{refused}");
    let answer = agent.ask("workflow_sav", &json!({}));
    assert_eq!(answer["error"]["code"], -32602);
    assert_eq!(answer["error"]["data"]["suggestion"], "workflow_save");
}

#[test]
fn the_other_contract_is_served_in_its_own_words() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let guides = agent.call("guide_list", &json!({}));
    assert!(guides["workflows"][0]["id"].is_string(), "{guides}");
    let next = agent
        .call("workflow_next", &json!({"workflowId": "bug-investigation", "completedSteps": []}));
    assert!(next["guidance"].is_object(), "{next}");
    let answer = agent.ask("guide_get", &json!({"id": "nowhere"}));
    assert_eq!(answer["result"]["structuredContent"]["code"], -32001, "{answer}");
    // As a bare method, the name always belongs to the other contract, whatever the surface.
    let bare = agent.client.call("workflow_list", &json!({}));
    assert!(bare["workflows"][0]["id"].is_string(), "{bare}");
}

const SLOW: &str = "workflow: slow\nsteps:\n  - {id: pause, wait: 1s}\n  \
    - {id: b, depends_on: [pause], set: {c: 1}}\n";

/// Calls a tool with a progress token, and returns the notifications before the answer.
fn told(agent: &mut Agent, tool: &str, arguments: &Value) -> Vec<String> {
    let meta = json!({"progressToken": "t"});
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    let call = json!({"jsonrpc": "2.0", "id": "c", "method": "tools/call", "params": params});
    agent.client.say(&call);
    let (mut notes, mut count) = (Vec::new(), 0.0);
    loop {
        let message = agent.client.hear();
        if message["id"] == "c" {
            assert_ne!(message["result"]["isError"], true, "{message}");
            return notes;
        }
        let params = &message["params"];
        assert_eq!(message["method"], "notifications/progress", "{message}");
        assert_eq!(params["progressToken"], "t");
        count += 1.0;
        assert_eq!(params["progress"], count, "{message}");
        notes.push(params["message"].as_str().expect("words").to_owned());
    }
}

#[test]
fn a_progress_token_gets_progress() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    let mut agent = Agent::connect(&place);
    let source = json!({"source": place.path("shop.yaml"), "catalog_title": "Shop"});
    let notes = told(&mut agent, "catalog_import_openapi", &source);
    assert!(notes.iter().any(|note| note == "writing the catalog"), "{notes:?}");
    let notes = told(&mut agent, "workflow_run", &json!({"manifest": SLOW, "wait_s": 20}));
    assert!(notes.iter().any(|note| note.contains("`pause`")), "{notes:?}");
}

#[test]
fn a_long_value_is_a_resource() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let long = "x".repeat(20_000);
    let text = format!(
        "workflow: long\nsteps: [{{id: a, set: {{b: {long}}}}}]\n\
         final_output: {{b: \"${{{{ steps.a.output.b }}}}\"}}\n"
    );
    let run = agent.call("workflow_run", &json!({"manifest": text, "wait_s": 20}));
    assert!(run.to_string().len() < 8_192, "{run}");
    let output = &run["steps"][0]["output"];
    assert!(output["bytes"].as_u64().is_some_and(|bytes| bytes > 20_000), "{output}");
    let read = agent.client.call("resources/read", &json!({"uri": output["resource"]}));
    assert!(read["contents"][0]["text"].as_str().expect("text").contains(&long));
    let whole = json!({"run_id": run["run_id"], "inline_max": 100_000});
    assert_eq!(agent.call("workflow_status", &whole)["final_output"]["b"], long.as_str());
}

#[test]
fn the_third_same_mistake_is_answered_with_an_example() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let wrong = json!({"workflow_id": "x", "new": "y"});
    for _ in 0..2 {
        assert_eq!(agent.refused("workflow_rename", &wrong)["example"], Value::Null);
    }
    let third = agent.refused("workflow_rename", &wrong);
    assert!(third["example"]["new_id"].is_string(), "{third}");
    assert!(third["schema"]["properties"]["new_id"].is_object(), "{third}");
}

/// Calls that need not wait bypass `rmcp`; calls with a progress token do not. Both paths give the
/// same answer, also when a call fails or waits.
#[test]
fn both_paths_of_a_call_give_the_same_answer() {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    place.save("asks.yaml");
    let mut agent = Agent::connect(&place);
    agent.call("workflow_run", &json!({"workflow_id": "asks", "wait_s": 20}));
    let calls = [
        ("workflow_status", json!({})),
        ("workflow_list", json!({})),
        ("workflow_get", json!({"workflow_id": "asks"})),
        ("workflow_get", json!({"workflow_id": "nobody"})),
        ("workflow_validate", json!({"manifest": ASKS})),
        ("workflow_validate", json!({"manifest": 7})),
        ("workflow_step_plan", json!({"workflow_id": "asks"})),
        ("command_list", json!({"query": "orders"})),
        ("catalog_list", json!({"unknown": true})),
        ("no_such_tool", json!({})),
    ];
    for (tool, arguments) in calls {
        let mut answers = [json!({}), json!({"progressToken": "p"})].map(|meta| {
            let mut params = json!({"name": tool, "arguments": arguments});
            if meta != json!({}) {
                params["_meta"] = meta;
            }
            agent.client.say(&json!({"jsonrpc": "2.0", "id": tool, "method": "tools/call",
                "params": params}));
            loop {
                let heard = agent.client.hear();
                if heard["id"] == tool {
                    break heard;
                }
                assert_eq!(heard["method"], "notifications/progress", "{heard}");
            }
        });
        for answer in &mut answers {
            // Each failure has its own correlation id.
            for place in ["/error/data", "/result/structuredContent"] {
                if let Some(object) = answer.pointer_mut(place).and_then(Value::as_object_mut) {
                    object.remove("correlation_id");
                }
            }
            let failed = answer["result"]["isError"] == true;
            if let Some(result) = answer["result"].as_object_mut() {
                // `isError: false` may be omitted; a failure states its correlation id.
                result.remove("isError");
                if failed {
                    result.remove("content");
                }
            }
        }
        assert_eq!(answers[0], answers[1], "{tool} {arguments}");
    }
}

/// A workflow hidden behind another one would be unreachable.
#[test]
fn a_workflow_is_not_renamed_over_another() {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    place.save("asks.yaml");
    let mut agent = Agent::connect(&place);
    let listed = agent.call("workflow_list", &json!({"source": "built-in"}));
    let built_in = listed["workflows"][0]["workflow_id"].clone();
    let arguments = json!({"workflow_id": "asks", "new_id": built_in});
    let refused = agent.refused("workflow_rename", &arguments);
    assert_eq!(
        (&refused["error_code"], &refused["category"]),
        (&json!("WORKFLOW_EXISTS"), &json!("conflict")),
        "{refused}"
    );
    agent.call("workflow_get", &json!({"workflow_id": "asks"}));
    agent.call("workflow_rename", &json!({"workflow_id": "asks", "new_id": "asks-again"}));
}

#[test]
fn an_agent_names_the_inputs_to_forget() {
    let text = "workflow: keeps\ninputs: {n: {type: integer, default: {from: history}}}\n\
        steps: [{id: a, set: {n: \"${{ inputs.n }}\"}}]\n";
    let place = Place::with(&[("keeps.yaml", text)]);
    place.save("keeps.yaml");
    let mut agent = Agent::connect(&place);
    let refused = agent.refused("workflow_purge_history", &json!({}));
    assert_eq!(refused["error_code"], "PARAMS_INVALID", "{refused}");
    assert_eq!(refused["next"], Value::Null, "{refused}");
    // If nothing would be lost, nobody is asked.
    let keeps = json!({"workflow_id": "keeps"});
    assert_eq!(agent.call("workflow_purge_history", &keeps)["removed"], 0);
    let run = json!({"workflow_id": "keeps", "inputs": {"n": 1}, "wait_s": 20});
    agent.call("workflow_run", &run);
    let asked = agent.call("workflow_purge_history", &keeps);
    assert_eq!(asked["waiting"][0]["kind"], "approval", "{asked}");
}

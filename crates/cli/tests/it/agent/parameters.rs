//! Less common arguments of the contract, and alternative tool names.

use serde_json::{Value, json};

use super::{ASKS, Agent};
use crate::Place;

const TWO: &str = "workflow: two\nsteps:\n  - {id: a, set: {n: 1}}\n  \
    - {id: b, depends_on: [a], set: {n: \"${{ steps.a.output.n + 1 }}\"}}\n  \
    - {id: c, depends_on: [b], set: {n: \"${{ steps.b.output.n + 1 }}\"}}\n";

#[test]
fn a_run_resumes_from_a_step_with_a_chosen_version() {
    let place = Place::with(&[("two.yaml", TWO)]);
    place.run(["workflow", "save", "two.yaml"]).ends(0);
    let mut agent = Agent::connect(&place, &[]);
    let run = agent.call("workflow_run", &json!({"workflow_id": "two", "wait_s": 20}));
    assert_eq!(run["status"], "succeeded", "{run}");
    let mut plan = |more: Value| {
        let mut arguments = json!({"run_id": run["run_id"], "from": "b", "plan_only": true});
        arguments
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("one").clone());
        let planned = agent.call("workflow_resume", &arguments);
        let steps = planned["plan"].as_array().expect("a plan").iter();
        let verdict = |step: &Value| step["verdict"].as_str().expect("a verdict").to_owned();
        steps.map(verdict).collect::<Vec<String>>()
    };
    let only = plan(json!({"mode": "only"}));
    let down = plan(json!({"mode": "downstream"}));
    assert_eq!(down, plan(json!({})));
    assert_eq!(only[1], down[1], "the step itself runs");
    assert_ne!(only[2], down[2], "{only:?} {down:?}");
    assert_eq!(plan(json!({"version": "pinned"})), down);
    let newer = TWO.replace("steps.b.output.n + 1", "steps.b.output.n + 5");
    agent.call("workflow_save", &json!({"content": newer, "overwrite": true}));
    let again = json!({"run_id": run["run_id"], "from": "c", "version": "latest"});
    agent.call("workflow_resume", &again);
    let look = json!({"run_id": run["run_id"], "wait_s": 20});
    let done = agent.call("workflow_status", &look);
    assert_eq!(done["steps"][2]["output"]["n"], 7, "{done}");
    let refused = agent.refused("workflow_resume", &json!({"run_id": run["run_id"], "mode": "x"}));
    assert_eq!(refused["error_code"], "PARAMS_INVALID", "{refused}");
}

/// Whatever is listed, a dotted name belongs to this contract and is answered in its terms.
#[test]
fn both_contracts_are_called_on_every_surface() {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    place.run(["workflow", "save", "asks.yaml"]).ends(0);
    for (surface, version) in [
        ("workflowlookup", "2025-06-18"),
        ("workflowlookup", "2024-11-05"),
        ("auto", "2024-11-05"),
        ("workflows", "2025-06-18"),
        ("all", "2025-06-18"),
    ] {
        let options = ["--surface", surface, "--errors", "result"];
        let mut client = super::client(&place, &options);
        let params = json!({"protocolVersion": version, "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        client.call("initialize", &params);
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        let mut call = |name: &str, arguments: Value| {
            let answer = client.ask("tools/call", &json!({"name": name, "arguments": arguments}));
            let text = answer["result"]["content"][0]["text"].as_str();
            let text = text.unwrap_or_else(|| panic!("{surface}: {name}: {answer}"));
            let value = serde_json::from_str(text).unwrap_or(Value::Null);
            (answer["result"]["isError"] == true, value, answer)
        };
        let (_, got, _) = call("workflow.get", json!({"workflow_id": "asks"}));
        assert_eq!(got["content"], ASKS, "{surface}");
        let (failed, _, answer) = call("workflow.get", json!({"workflow_id": "nobody"}));
        let failure = &answer["result"]["structuredContent"];
        assert!(failed, "{answer}");
        assert_eq!(failure["error_code"], "WORKFLOW_NOT_FOUND", "{surface}");
        // The suggested name works.
        let (_, listed, _) = call(failure["next"]["tool"].as_str().expect("a tool"), json!({}));
        assert!(listed["workflows"][0]["workflow_id"].is_string(), "{surface}: {listed}");
        let (_, guides, _) = call("guide_list", json!({}));
        assert!(guides["workflows"][0]["id"].is_string(), "{surface}: {guides}");
        let (_, run, _) = call("workflow.run", json!({"workflow_id": "asks", "wait_s": 20}));
        assert_eq!(run["due"][0]["step_id"], "look", "{surface}: {run}");
        let mut done = run["next"]["arguments"].clone();
        done["output"] = json!({"seen": true});
        let (_, done, _) = call(run["next"]["tool"].as_str().expect("a tool"), done);
        assert_eq!(done["accepted"], true, "{surface}: {done}");
        let (_, asked, _) = call("workflow.delete", json!({"workflow_id": "asks"}));
        assert_eq!(asked["waiting"][0]["kind"], "approval", "{surface}: {asked}");
    }
}

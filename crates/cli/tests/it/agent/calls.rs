//! Failing and successful calls, in both forms.

use serde_json::{Value, json};

use super::{ASKS, Agent, whole};
use crate::Place;

#[test]
fn both_forms_of_a_failure_carry_the_same_object() {
    let place = Place::new();
    let calls = [
        ("workflow.get", json!({"workflow_id": "nowhere"}), -32002),
        ("workflow.save", json!({"content": "workflow: x\n"}), -32602),
        ("workflow.status", json!({"run_id": "00000000-0000-0000-0000-000000000000"}), -32002),
        ("workflow.delete", json!({"workflow_id": "bug-investigation"}), -32000),
        ("command.get", json!({"command": "shop orders:list"}), -32002),
    ];
    let plain = |mut payload: Value| {
        payload["correlation_id"] = Value::Null;
        payload["next"] = Value::Null;
        payload
    };
    let mut results = Agent::connect(&place, &["--tool-names", "dotted", "--errors", "result"]);
    let mut errors = Agent::connect(&place, &["--tool-names", "dotted"]);
    for (tool, arguments, code) in calls {
        let result = results.refused(tool, &arguments);
        let mut answer = errors.ask(tool, &arguments);
        assert_eq!(answer["error"]["code"], code, "{tool}: {answer}");
        let data = answer["error"]["data"].take();
        whole(&data);
        assert_eq!(plain(data), plain(result), "{tool}");
    }
}

#[test]
fn the_correlation_id_of_a_failure_is_in_the_log() {
    let place = Place::new();
    let mut agent = Agent::connect(&place, &[]);
    let refused = agent.refused("workflow_get", &json!({"workflow_id": "nowhere"}));
    let number = refused["correlation_id"].as_str().expect("a number").to_owned();
    let exit = agent.client.close();
    assert_eq!(exit.code, Some(0));
    let line = exit.errors.lines().find(|line| line.contains(&number));
    assert!(line.is_some_and(|line| line.contains("WORKFLOW_NOT_FOUND")), "{}", exit.errors);
}

/// The id of a task is the id of its run, and both parameter names are accepted.
#[test]
fn a_run_is_canceled_by_either_name_of_its_id() {
    let place = Place::new();
    let mut agent = Agent::connect(&place, &[]);
    for name in ["operation_id", "run_id"] {
        let run = agent.call("workflow_run", &json!({"manifest": ASKS, "wait_s": 20}));
        // An agent may stop what an agent started.
        let canceled = agent.call("workflow_cancel", &json!({name: run["run_id"]}));
        assert_eq!(canceled["status"], "canceled", "{name}");
    }
}

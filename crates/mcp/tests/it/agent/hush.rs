//! A secret input given by an agent: however the value arrives, it must not appear in any answer,
//! log or file.

use serde_json::{Value, json};

use super::Agent;
use crate::place::Place;

const HUSH: &str = "workflow: hush\ninputs: {key: {type: string, secret: true}, n: {type: integer, \
    default: {from: literal, value: 1}}}\nsteps: [{id: a, set: {n: \"${{ inputs.n }}\"}}]\n\
    final_output: {n: \"${{ steps.a.output.n }}\"}\n";

fn agent(place: &Place) -> Agent {
    Agent::with(place, "2025-11-25", &json!({"tasks": {}}))
}

/// Calls a tool as a task, and returns the answer.
fn task(agent: &mut Agent, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "task": {}});
    agent.client.ask("tools/call", &params)
}

fn made(agent: &mut Agent, tool: &str, arguments: &Value) -> String {
    let answer = task(agent, tool, arguments);
    let id = answer["result"]["task"]["taskId"].as_str();
    id.unwrap_or_else(|| panic!("no task: {answer}")).to_owned()
}

/// A draft cannot turn an input that was given openly into a secret.
#[test]
fn an_open_input_does_not_become_a_secret() {
    let place = Place::new();
    let mut agent = agent(&place);
    let arguments = json!({"goal": "Be quiet", "inputs": {"key": "open"}});
    let run = made(&mut agent, "workflow_author_and_run", &arguments);
    agent.call("workflow_status", &json!({"run_id": run, "wait_s": 20}));
    let draft = json!({"run_id": run, "step_id": "draft", "output": {"manifest": HUSH}});
    let refused = agent.call("workflow_submit", &draft);
    assert_eq!(refused["accepted"], false, "{refused}");
    assert!(refused["issues"][0]["message"].as_str().expect("words").contains("`key`"));
}

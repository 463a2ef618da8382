//! Questions of runs, which only the person can answer in their client.

use serde_json::{Value, json};

use super::{Agent, say};
use crate::Place;

const GO: &str = "workflow: go\nsteps:\n  - {id: ok, approve: Make it?}\n  \
    - {id: a, set: {b: 1}, depends_on: [ok]}\n\
    final_output: {b: \"${{ steps.a.output.b }}\"}\n";
const DEEP: &str = "workflow: deep\nsteps:\n  - id: ok\n    approve:\n      \
    message: Make it?\n      \
    form: {type: object, properties: {all: {type: array, items: {type: string}}}}\n  \
    - {id: a, set: {b: 1}, depends_on: [ok]}\n";

fn agent(place: &Place) -> Agent {
    Agent::with(place, &[], "2025-11-25", &json!({"elicitation": {}, "tasks": {}}))
}

fn start(agent: &mut Agent, tool: &str, arguments: &Value) {
    let params = json!({"name": tool, "arguments": arguments});
    agent
        .client
        .say(&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params}));
}

/// The decision as recorded in the journal.
fn decision(place: &Place, run: &str) -> String {
    place.run(["logs", run, "--json"]).out
}

#[test]
fn the_person_is_asked_once_and_their_answer_decides() {
    let place = Place::new();
    let mut agent = agent(&place);
    start(&mut agent, "workflow_run", &json!({"manifest": GO, "wait_s": 20}));
    let question = agent.client.hear();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let params = &question["params"];
    assert!(params["message"].as_str().expect("words").contains("Make it?"), "{question}");
    assert_eq!(params["requestedSchema"]["required"], json!(["approve"]), "{question}");
    let yes = json!({"action": "accept", "content": {"approve": true, "comment": "fine"}});
    say(&mut agent.client, &question, &yes);
    let answer = agent.client.hear();
    let run = &answer["result"]["structuredContent"];
    assert_eq!(run["final_output"], json!({"b": 1}), "{answer}");
    let journal = decision(&place, run["run_id"].as_str().expect("an id"));
    assert!(journal.contains("elicitation") && journal.contains("fine"), "{journal}");
}

#[test]
fn a_rejection_counts_and_silence_decides_nothing() {
    let place = Place::new();
    let mut agent = agent(&place);
    start(&mut agent, "workflow_run", &json!({"manifest": GO, "wait_s": 20}));
    let question = agent.client.hear();
    let no = json!({"action": "accept", "content": {"approve": false}});
    say(&mut agent.client, &question, &no);
    let answer = agent.client.hear();
    let run = &answer["result"]["structuredContent"];
    assert_eq!(run["status"], "failed", "{answer}");
    assert_eq!(run["problem"]["code"], "APPROVAL_REJECTED", "{answer}");
    for declined in [json!({"action": "decline"}), json!({"action": "cancel"})] {
        start(&mut agent, "workflow_run", &json!({"manifest": GO, "wait_s": 20}));
        let question = agent.client.hear();
        say(&mut agent.client, &question, &declined);
        let answer = agent.client.hear();
        let run = &answer["result"]["structuredContent"];
        assert_eq!(run["waiting"][0]["kind"], "approval", "{answer}");
        // The question is asked only once: later calls report who decides, and how.
        let look = json!({"run_id": run["run_id"], "wait_s": 1});
        let seen = agent.call("workflow_status", &look);
        assert_eq!(seen["waiting"][0]["kind"], "approval", "{seen}");
        assert!(seen["next"].to_string().contains("milepost approve"), "{seen}");
    }
}

fn configured(place: &Place, text: &str) {
    let folder = place.path(".milepost");
    std::fs::create_dir_all(&folder).expect("makes a folder");
    std::fs::write(folder.join("config.toml"), text).expect("writes");
}

#[test]
fn questions_that_need_a_terminal_are_not_asked_in_a_client() {
    let place = Place::new();
    configured(&place, "");
    let mut agent = agent(&place);
    // A list does not fit into a client's form.
    let deep = agent.call("workflow_run", &json!({"manifest": DEEP, "wait_s": 20}));
    assert_eq!(deep["waiting"][0]["kind"], "approval", "{deep}");
    configured(&place, "[approvals]\npresence = \"terminal\"\n");
    let run = agent.call("workflow_run", &json!({"manifest": GO, "wait_s": 20}));
    assert_eq!(run["waiting"][0]["presence"], "terminal", "{run}");
    assert!(run["next"].to_string().contains("milepost approve"), "{run}");
}

#[test]
fn a_task_that_outlives_its_server_asks_again() {
    let place = Place::new();
    let mut first = agent(&place);
    let params = json!({"name": "workflow_run", "arguments": {"manifest": GO}, "task": {}});
    let made = first.client.call("tools/call", &params);
    let id = json!({"taskId": made["task"]["taskId"]});
    first.client.hear();
    drop(first);
    let mut second = agent(&place);
    second
        .client
        .say(&json!({"jsonrpc": "2.0", "id": "r", "method": "tasks/result", "params": id}));
    let question = second.client.hear();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let yes = json!({"action": "accept", "content": {"approve": true}});
    say(&mut second.client, &question, &yes);
    let answer = second.client.hear();
    assert_eq!(answer["result"]["structuredContent"]["status"], "succeeded", "{answer}");
}

//! Questions of runs, which only the person can answer in their client.

use serde_json::{Value, json};

use super::{Agent, client, say, stateless};
use crate::client::Client;
use crate::place::Place;

const GO: &str = "workflow: go\nsteps:\n  - {id: ok, approve: Make it?}\n  \
    - {id: a, set: {b: 1}, depends_on: [ok]}\n\
    final_output: {b: \"${{ steps.a.output.b }}\"}\n";
const FORM: &str = "workflow: form\nsteps:\n  - id: ok\n    approve:\n      \
    message: Make it?\n      \
    form: {type: object, required: [why], properties: {why: {type: string}}}\n  \
    - {id: a, set: {why: \"${{ steps.ok.output.answer.why }}\"}, depends_on: [ok]}\n\
    final_output: {why: \"${{ steps.a.output.why }}\"}\n";

fn agent(place: &Place) -> Agent {
    Agent::with(place, "2025-11-25", &json!({"elicitation": {}, "tasks": {}}))
}

fn start(agent: &mut Agent, tool: &str, arguments: &Value) {
    let params = json!({"name": tool, "arguments": arguments});
    agent
        .client
        .say(&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": params}));
}

/// The decision as recorded in the journal.
fn decision(place: &Place, run: &str) -> String {
    place.call("run.events", json!({"run_id": run})).expect("is there").to_string()
}

#[test]
fn a_call_that_was_canceled_decides_nothing() {
    let place = Place::new();
    let mut agent = agent(&place);
    start(&mut agent, "workflow_run", &json!({"manifest": GO, "wait_s": 20}));
    let question = agent.client.hear();
    agent.client.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": "a"}}));
    let yes = json!({"action": "accept", "content": {"approve": true}});
    say(&mut agent.client, &question, &yes);
    let open =
        agent.client.call("tools/call", &json!({"name": "workflow_status", "arguments": {}}));
    let run = &open["structuredContent"]["runs"][0];
    assert_eq!(run["status"], "waiting", "{open}");
}

#[test]
fn no_tool_and_no_client_that_cannot_ask_approves() {
    let place = Place::new();
    let mut agent = Agent::connect(&place);
    let run = agent.call("workflow_run", &json!({"manifest": GO, "wait_s": 20}));
    assert_eq!(run["waiting"][0]["kind"], "approval", "{run}");
    let id = run["run_id"].clone();
    for tool in ["workflow_approve", "workflow.approve", "workflow_reject", "workflow.decide"] {
        let arguments = json!({"run_id": id, "digest": run["waiting"][0]["digest"]});
        let answer = agent.ask(tool, &arguments);
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
    let done = json!({"run_id": id, "step_id": "ok", "output": {"approve": true}});
    agent.refused("workflow_submit", &done);
    let seen = agent.call("workflow_status", &json!({"run_id": id}));
    assert_eq!(seen["status"], "waiting");
}

#[test]
fn a_form_is_filled_in_with_the_decision() {
    let place = Place::new();
    let mut agent = agent(&place);
    start(&mut agent, "workflow_run", &json!({"manifest": FORM, "wait_s": 20}));
    let question = agent.client.hear();
    let schema = &question["params"]["requestedSchema"];
    assert_eq!(schema["required"], json!(["approve", "why"]), "{question}");
    let yes = json!({"action": "accept", "content": {"approve": true, "why": "late"}});
    say(&mut agent.client, &question, &yes);
    let answer = agent.client.hear();
    let output = &answer["result"]["structuredContent"]["final_output"];
    assert_eq!(output, &json!({"why": "late"}), "{answer}");
}

#[test]
fn a_client_that_awaits_a_task_is_asked() {
    let place = Place::new();
    let mut agent = agent(&place);
    let params = json!({"name": "workflow_run", "arguments": {"manifest": GO}, "task": {}});
    let made = agent.client.call("tools/call", &params);
    let id = json!({"taskId": made["task"]["taskId"]});
    agent.client.say(&json!({"jsonrpc": "2.0", "id": "r", "method": "tasks/result", "params": id}));
    let question = agent.client.hear();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let related = &question["params"]["_meta"]["io.modelcontextprotocol/related-task"];
    assert_eq!(related, &id, "{question}");
    // Polling in the meantime does not ask twice.
    let look = json!({"run_id": id["taskId"]});
    assert_eq!(agent.call("workflow_status", &look)["status"], "waiting");
    let yes = json!({"action": "accept", "content": {"approve": true}});
    say(&mut agent.client, &question, &yes);
    let answer = agent.client.hear();
    assert_eq!(answer["id"], "r", "{answer}");
    let output = &answer["result"]["structuredContent"]["final_output"];
    assert_eq!(output, &json!({"b": 1}), "{answer}");
}

fn ask(client: &mut Client, method: &str, params: &Value, can: &Value) -> Value {
    client.say(&stateless(method, params.clone(), can));
    let mut answer = client.hear();
    assert!(answer.get("error").is_none(), "{method} {params}: {answer}");
    answer["result"].take()
}

#[test]
fn a_stateless_call_is_answered_with_the_question() {
    let place = Place::new();
    let mut client = client(&place);
    let can = json!({"elicitation": {"form": {}}});
    let mut call = json!({"name": "workflow_run", "arguments": {"manifest": GO, "wait_s": 20}});
    let yes = json!({"approval": {"action": "accept", "content": {"approve": true}}});
    // An answer without a question does not count, whatever it claims to answer.
    for state in [Value::Null, json!("made-up")] {
        let mut unasked = call.clone();
        unasked["inputResponses"] = yes.clone();
        if !state.is_null() {
            unasked["requestState"] = state;
        }
        let asked = ask(&mut client, "tools/call", &unasked, &can);
        assert_eq!(asked["resultType"], "input_required", "{asked}");
    }
    let asked = ask(&mut client, "tools/call", &call, &can);
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let request = &asked["inputRequests"]["approval"];
    assert!(request["params"]["message"].as_str().expect("words").contains("Make it?"));
    let before = runs(&place);
    call["requestState"] = asked["requestState"].clone();
    call["inputResponses"] = yes;
    let done = ask(&mut client, "tools/call", &call, &can);
    let output = &done["structuredContent"]["final_output"];
    assert_eq!(output, &json!({"b": 1}), "{done}");
    assert_eq!(runs(&place), before, "no second run was started");
}

fn runs(place: &Place) -> usize {
    let listed = place.call("runs.list", json!({})).expect("a list").to_string();
    listed.matches("\"run_id\"").count()
}

#[test]
fn a_task_of_the_extension_asks_in_itself() {
    let place = Place::new();
    let mut client = client(&place);
    let can = json!({"elicitation": {"form": {}},
        "extensions": {"io.modelcontextprotocol/tasks": {}}});
    let call = json!({"name": "workflow_run", "arguments": {"manifest": GO}});
    let made = ask(&mut client, "tools/call", &call, &can);
    let id = made["taskId"].clone();
    let yes = json!({"action": "accept", "content": {"approve": true}});
    let key = loop {
        let got = ask(&mut client, "tasks/get", &json!({"taskId": id}), &can);
        if let Some((key, _)) = got["inputRequests"].as_object().and_then(|all| all.iter().next()) {
            break key.clone();
        }
    };
    let again = ask(&mut client, "tasks/get", &json!({"taskId": id}), &can);
    assert!(again["inputRequests"][&key].is_object(), "the same question: {again}");
    for made_up in ["approval", "approval:0123456789abcdef0123456789abcdef"] {
        let update = json!({"taskId": id, "inputResponses": {made_up: yes}});
        ask(&mut client, "tasks/update", &update, &can);
        let got = ask(&mut client, "tasks/get", &json!({"taskId": id}), &can);
        assert_eq!(got["status"], "input_required", "{got}");
    }
    let update = json!({"taskId": id, "inputResponses": {key: yes}});
    ask(&mut client, "tasks/update", &update, &can);
    let got = loop {
        let got = ask(&mut client, "tasks/get", &json!({"taskId": id}), &can);
        if got["status"] != "working" {
            break got;
        }
    };
    assert_eq!(got["status"], "completed", "{got}");
    let journal = decision(&place, id.as_str().expect("an id"));
    assert!(journal.contains("elicitation"), "{journal}");
}

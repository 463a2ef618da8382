//! Questions that only a person can answer: confirmations and missing inputs, however the client
//! can ask them.

use serde_json::{Value, json};

use super::{ASKS, Agent, say};
use crate::place::Place;

fn place() -> Place {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    place.save("asks.yaml");
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
    let mut agent = Agent::connect(&place);
    let asked = agent.call("workflow_delete", &json!({"workflow_id": "asks"}));
    assert_eq!(asked["status"], "waiting", "{asked}");
    let waiting = &asked["waiting"][0];
    assert_eq!(waiting["kind"], "approval", "{asked}");
    assert!(waiting["message"].as_str().expect("a question").contains("`asks`"), "{asked}");
    assert_eq!(asked["next"]["person"], "approve or reject", "{asked}");
    let more = json!({"workflow_id": "asks", "confirm": "0123456789abcdef0123456789abcdef"});
    let refused = agent.refused("workflow_delete", &more);
    assert_eq!(refused["error_code"], "PARAMS_INVALID", "{refused}");
    assert!(is_there(&mut agent));
}

#[test]
fn a_client_that_can_ask_asks_its_person() {
    for (content, gone) in [
        (json!({"action": "accept", "content": {"approve": true}}), true),
        (json!({"action": "accept", "content": {"approve": false}}), false),
        (json!({"action": "decline"}), false),
        (json!({"action": "cancel"}), false),
    ] {
        let place = place();
        let mut agent = Agent::with(&place, "2025-11-25", &json!({"elicitation": {}}));
        let params = json!({"name": "workflow_delete", "arguments": {"workflow_id": "asks"}});
        agent
            .client
            .say(&json!({"jsonrpc": "2.0", "id": "d", "method": "tools/call", "params": params}));
        let question = agent.client.hear();
        assert_eq!(question["method"], "elicitation/create", "{question}");
        let asked = question["params"]["message"].as_str().expect("a question");
        assert!(asked.contains("asks"), "{asked}");
        agent.client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": content}));
        let answer: Value = agent.client.hear();
        assert_eq!(answer["id"], "d");
        let run = &answer["result"]["structuredContent"];
        assert_eq!(run["final_output"]["deleted"] == true, gone, "{answer}");
        assert_eq!(is_there(&mut agent), !gone);
    }
}

/// Only the run that asks may execute what it asks about.
#[test]
fn a_text_cannot_execute_a_stored_operation() {
    let place = place();
    let mut agent = Agent::connect(&place);
    let text = "workflow: milepost.removal\nsteps:\n- id: do\n  run: milepost operation:run\n  \
        with: {operation: workflow.delete, arguments: {workflow_id: asks}}\n";
    let refused = agent.refused("workflow_run", &json!({"manifest": text}));
    assert_eq!(refused["error_code"], "WORKFLOW_INVALID", "{refused}");
    assert!(is_there(&mut agent));
}

const NEEDS: &str = "workflow: needs\ninputs:\n  size: {type: integer, description: How many}\n  \
    kind: {type: string, enum: [new, old]}\n\
    steps: [{id: a, set: {n: \"${{ inputs.size + 1 }}\"}}]\n\
    final_output: {n: \"${{ steps.a.output.n }}\"}\n";

#[test]
fn missing_inputs_are_asked_for_if_the_client_can_ask() {
    let place = Place::new();
    let mut agent = Agent::with(&place, "2025-06-18", &json!({"elicitation": {}}));
    let arguments = json!({"manifest": NEEDS, "inputs": {"kind": "new"}, "wait_s": 20});
    let params = json!({"name": "workflow_run", "arguments": arguments});
    let call = json!({"jsonrpc": "2.0", "id": "r", "method": "tools/call", "params": params});
    agent.client.say(&call);
    let question = agent.client.hear();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let schema = &question["params"]["requestedSchema"];
    assert_eq!(schema["properties"]["size"]["type"], "integer", "{question}");
    assert_eq!(schema["required"], json!(["size"]), "{question}");
    let filled = json!({"action": "accept", "content": {"size": 4}});
    agent.client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": filled}));
    let answer = agent.client.hear();
    let run = &answer["result"]["structuredContent"];
    assert_eq!(run["final_output"], json!({"n": 5}), "{answer}");
    agent.client.say(&call);
    let question = agent.client.hear();
    let declined = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    agent.client.say(&declined);
    let answer = agent.client.hear();
    let payload = &answer["result"]["structuredContent"];
    assert_eq!(payload["error_code"], "INPUT_INVALID", "{answer}");
    // A form never asks for a secret.
    let secret = "workflow: hush\ninputs: {key: {type: string, secret: true}}\n\
        steps: [{id: a, set: {b: 1}}]\n";
    let refused = agent.refused("workflow_run", &json!({"manifest": secret}));
    assert_eq!(refused["error_code"], "INPUT_INVALID");
}

#[test]
fn a_task_asks_for_missing_inputs_before_it_is_made() {
    let place = Place::new();
    let can = json!({"elicitation": {}, "tasks": {}});
    let mut agent = Agent::with(&place, "2025-11-25", &can);
    let arguments = json!({"manifest": NEEDS, "inputs": {"kind": "new"}});
    let params = json!({"name": "workflow_execute", "arguments": arguments, "task": {}});
    let call = json!({"jsonrpc": "2.0", "id": "t", "method": "tools/call", "params": params});
    agent.client.say(&call);
    let question = agent.client.hear();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let filled = json!({"action": "accept", "content": {"size": 4}});
    agent.client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": filled}));
    let made = agent.client.hear();
    let id = json!({"taskId": made["result"]["task"]["taskId"]});
    let result = agent.result(&id);
    assert_eq!(result["structuredContent"]["final_output"], json!({"n": 5}), "{result}");
    agent.client.say(&call);
    let question = agent.client.hear();
    let declined = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    agent.client.say(&declined);
    let refused = agent.client.hear();
    assert_eq!(refused["error"]["data"]["error_code"], "INPUT_INVALID", "{refused}");
}

#[test]
fn confirming_a_canceled_call_does_nothing() {
    let place = place();
    let mut agent = Agent::with(&place, "2025-11-25", &json!({"elicitation": {}}));
    let params = json!({"name": "workflow_delete", "arguments": {"workflow_id": "asks"}});
    let call = json!({"jsonrpc": "2.0", "id": "d", "method": "tools/call", "params": params});
    agent.client.say(&call);
    let question = agent.client.hear();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    agent.client.say(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": "d", "reason": "changed my mind"}}));
    let yes = json!({"action": "accept", "content": {"approve": true}});
    say(&mut agent.client, &question, &yes);
    for _ in 0..20 {
        assert!(is_there(&mut agent));
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

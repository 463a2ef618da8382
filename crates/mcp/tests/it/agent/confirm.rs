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

fn configured(place: &Place, text: &str) {
    let folder = place.path(".milepost");
    std::fs::create_dir_all(&folder).expect("makes a folder");
    std::fs::write(folder.join("config.toml"), text).expect("writes");
}

fn is_there(agent: &mut Agent) -> bool {
    let listed = agent.call("workflow_list", &json!({"query": "asks"}));
    !listed["workflows"].as_array().expect("a list").is_empty()
}

#[test]
fn a_client_that_cannot_ask_gets_a_token_for_one_call() {
    let place = place();
    let mut agent = Agent::connect(&place);
    let refused = agent.refused("workflow_delete", &json!({"workflow_id": "asks"}));
    assert_eq!(refused["error_code"], "CONFIRMATION_REQUIRED");
    assert_eq!((&refused["category"], &refused["retryable"]), (&json!("conflict"), &json!(true)));
    assert!(refused["suggested_action"].as_str().expect("words").contains("user"), "{refused}");
    let next = refused["next"].clone();
    assert_eq!(next["tool"], "workflow_delete");
    let mut forged = next["arguments"].clone();
    forged["confirm"] = json!("0123456789abcdef0123456789abcdef");
    agent.refused("workflow_delete", &forged);
    assert!(is_there(&mut agent));
    agent.call("workflow_delete", &next["arguments"]);
    assert!(!is_there(&mut agent));
    place.save("asks.yaml");
    agent.refused("workflow_delete", &next["arguments"]);
    assert!(is_there(&mut agent));
}

#[test]
fn a_client_that_can_ask_asks_its_person() {
    for (content, gone) in [
        (json!({"action": "accept", "content": {"confirm": true}}), true),
        (json!({"action": "accept", "content": {"confirm": false}}), false),
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
        assert_eq!(answer["result"]["isError"] != true, gone, "{answer}");
        assert_eq!(is_there(&mut agent), !gone);
    }
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
fn the_configuration_says_what_is_confirmed_and_by_whom() {
    let place = place();
    let config = |text: &str| configured(&place, text);
    config("confirm = \"person\"\n");
    place.save("asks.yaml");
    let mut agent = Agent::connect(&place);
    let id = json!({"workflow_id": "asks"});
    let refused = agent.refused("workflow_delete", &id);
    assert_eq!(refused["error_code"], "CONFIRMATION_REQUIRED");
    assert_eq!(refused["next"]["arguments"]["confirm"], Value::Null, "no token: {refused}");
    agent.call("workflow_run", &json!({"workflow_id": "asks"}));
    config("confirm = \"writes\"\n");
    agent.call("workflow_get", &id);
    let refused = agent.refused("workflow_run", &id);
    assert_eq!(refused["error_code"], "CONFIRMATION_REQUIRED", "{refused}");
    agent.call("workflow_run", &refused["next"]["arguments"]);
    config("confirm = \"never\"\n");
    let refused = agent.refused("workflow_delete", &id);
    assert_eq!(refused["next"]["arguments"]["confirm"], Value::Null, "{refused}");
}

/// Calling a tool as a task does not bypass its confirmation.
#[test]
fn a_task_is_confirmed_like_any_other_call() {
    let place = place();
    configured(&place, "confirm = \"writes\"\n");
    let mut agent = Agent::with(&place, "2025-11-25", &json!({"tasks": {}}));
    for (tool, arguments) in [
        ("workflow_run", json!({"workflow_id": "asks"})),
        ("workflow_execute", json!({"workflow_id": "asks"})),
        ("workflow_author_and_run", json!({"goal": "Look at it"})),
    ] {
        let mut params = json!({"name": tool, "arguments": arguments, "task": {}});
        let refused = agent.client.ask("tools/call", &params);
        let data = &refused["error"]["data"];
        assert_eq!(data["error_code"], "CONFIRMATION_REQUIRED", "{refused}");
        assert_eq!(agent.client.call("tasks/list", &json!({}))["tasks"], json!([]));
        params["arguments"] = data["next"]["arguments"].clone();
        let made = agent.client.call("tools/call", &params);
        let id = json!({"taskId": made["task"]["taskId"]});
        agent.client.call("tasks/cancel", &id);
        let mut runs = agent.client.call("tasks/list", &json!({}));
        assert_eq!(runs["tasks"][0]["taskId"].take(), id["taskId"]);
        place.call("runs.purge", json!({})).expect("are removed");
    }
    // A client that supports elicitation asks the person.
    let can = json!({"tasks": {}, "elicitation": {}});
    let mut agent = Agent::with(&place, "2025-11-25", &can);
    let params = json!({"name": "workflow_run", "arguments": {"workflow_id": "asks"}, "task": {}});
    let call = json!({"jsonrpc": "2.0", "id": "t", "method": "tools/call", "params": params});
    agent.client.say(&call);
    let question = agent.client.hear();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    say(&mut agent.client, &question, &json!({"action": "decline"}));
    let refused = agent.client.hear();
    assert_eq!(refused["error"]["data"]["error_code"], "CONFIRMATION_REQUIRED", "{refused}");
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
    let yes = json!({"action": "accept", "content": {"confirm": true}});
    say(&mut agent.client, &question, &yes);
    for _ in 0..20 {
        assert!(is_there(&mut agent));
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

//! Orchestrations: one durable run that writes or repairs a workflow, saves it and runs it, no
//! matter who does the model's part.

use serde_json::{Value, json};

use super::Agent;
use crate::Place;
use crate::client::Client;

const GREETS: &str = "workflow: greets\ninputs: {name: {type: string}}\n\
    steps: [{id: a, set: {hello: \"${{ inputs.name }}\"}}]\n\
    final_output: {hello: \"${{ steps.a.output.hello }}\"}\n";
const SLIPS: &str = "workflow: greets\ninputs: {name: {type: string}}\n\
    steps: [{id: a, sett: {hello: \"${{ inputs.name }}\"}}]\n";

fn agent(place: &Place, mut can: Value) -> Agent {
    can["tasks"] = json!({});
    Agent::with(place, &[], "2025-11-25", &can)
}

/// Creates a task; a question from the server may arrive before or after the answer.
fn begin(agent: &mut Agent, tool: &str, arguments: &Value) -> String {
    let params = json!({"name": tool, "arguments": arguments, "task": {}});
    let made = agent.client.call("tools/call", &params);
    made["task"]["taskId"].as_str().unwrap_or_else(|| panic!("no task: {made}")).to_owned()
}

/// The pending item of the run, once it is waiting.
fn due(agent: &mut Agent, run: &str) -> Value {
    let seen = agent.call("workflow_status", &json!({"run_id": run, "wait_s": 20}));
    assert_eq!(seen["status"], "waiting", "{seen}");
    seen["due"][0].clone()
}

fn submit(agent: &mut Agent, run: &str, step: &str, output: &Value) -> Value {
    let arguments = json!({"run_id": run, "step_id": step, "output": output});
    agent.call("workflow_submit", &arguments)
}

fn result(client: &mut Client, run: &str) -> Value {
    client.call("tasks/result", &json!({"taskId": run}))
}

#[test]
fn an_orchestration_outlives_client_and_server() {
    let place = Place::new();
    let mut first = agent(&place, json!({}));
    let arguments = json!({"goal": "Greet", "inputs": {"name": "Bo"}});
    let run = begin(&mut first, "workflow_author_and_run", &arguments);
    due(&mut first, &run);
    drop(first);
    let mut second = agent(&place, json!({}));
    assert_eq!(due(&mut second, &run)["step_id"], "draft");
    submit(&mut second, &run, "draft", &json!({"manifest": GREETS}));
    let result = result(&mut second.client, &run);
    let output = &result["structuredContent"]["final_output"]["output"];
    assert_eq!(output, &json!({"hello": "Bo"}), "{result}");
}

/// The key under which a question names its task.
const RELATED: &str = "io.modelcontextprotocol/related-task";

#[test]
fn the_client_s_model_is_asked_if_allowed() {
    let place = Place::new();
    let mut agent = agent(&place, json!({"sampling": {}, "elicitation": {}}));
    let run = begin(&mut agent, "workflow_author_and_run", &json!({"goal": "Greet somebody"}));
    let mut answered = Vec::new();
    for text in [SLIPS.to_owned(), format!("```yaml\n{GREETS}```")] {
        let question = agent.client.hear();
        assert_eq!(question["method"], "sampling/createMessage", "{question}");
        assert_eq!(question["params"]["_meta"][RELATED]["taskId"], run, "{question}");
        let messages = question["params"]["messages"].as_array().expect("messages").clone();
        answered.push(messages);
        let content = json!({"type": "text", "text": text});
        let answer = json!({"model": "m", "role": "assistant", "content": content});
        agent.client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    }
    assert_eq!((answered[0].len(), answered[1].len()), (1, 3), "{answered:?}");
    assert!(answered[1][1]["content"]["text"].as_str().expect("text").contains("sett"));
    assert!(answered[1][2]["content"]["text"].as_str().expect("text").contains("was rejected"));
    // Only the person provides inputs.
    let question = agent.client.hear();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert_eq!(question["params"]["_meta"][RELATED]["taskId"], run, "{question}");
    assert_eq!(question["params"]["requestedSchema"]["required"], json!(["name"]), "{question}");
    let answer = json!({"action": "accept", "content": {"name": "Cy"}});
    agent.client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    let result = result(&mut agent.client, &run);
    let output = &result["structuredContent"]["final_output"]["output"];
    assert_eq!(output, &json!({"hello": "Cy"}), "{result}");
}

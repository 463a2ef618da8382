//! Orchestrations: one durable run that writes or repairs a workflow, saves it and runs it, whoever
//! does the model's part.

use serde_json::{Value, json};

use super::{Agent, SHOP, client};
use crate::client::Client;
use crate::place::Place;

const GREETS: &str = "workflow: greets\ninputs: {name: {type: string}}\n\
    steps: [{id: a, set: {hello: \"${{ inputs.name }}\"}}]\n\
    final_output: {hello: \"${{ steps.a.output.hello }}\"}\n";
const SLIPS: &str = "workflow: greets\ninputs: {name: {type: string}}\n\
    steps: [{id: a, sett: {hello: \"${{ inputs.name }}\"}}]\n";
const FAILS: &str = "workflow: fails\nsteps: [{id: a, fail: no luck}]\n";
const MENDED: &str = "workflow: fails\nsteps: [{id: a, set: {b: 1}}]\n\
    final_output: {b: \"${{ steps.a.output.b }}\"}\n";

fn agent(place: &Place, mut can: Value) -> Agent {
    can["tasks"] = json!({});
    Agent::with(place, "2025-11-25", &can)
}

/// Creates a task; a question from the server may arrive before or after the answer.
fn begin(agent: &mut Agent, tool: &str, arguments: &Value) -> String {
    let params = json!({"name": tool, "arguments": arguments, "task": {}});
    let made = agent.client.call("tools/call", &params);
    made["task"]["taskId"].as_str().unwrap_or_else(|| panic!("no task: {made}")).to_owned()
}

/// The pending item of the run, once it waits.
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
fn any_client_can_write_the_draft() {
    let place = Place::new();
    let mut agent = agent(&place, json!({}));
    let run = begin(&mut agent, "workflow_author_and_run", &json!({"goal": "Greet somebody"}));
    let asked = due(&mut agent, &run);
    assert_eq!(asked["step_id"], "draft");
    assert!(asked["prompt"].as_str().expect("a prompt").contains("Greet somebody"), "{asked}");
    // A draft with a mistake is returned with its finding, and nothing is saved.
    let refused = submit(&mut agent, &run, "draft", &json!({"manifest": SLIPS}));
    assert_eq!(refused["accepted"], false, "{refused}");
    let issue = refused["issues"][0]["message"].as_str().expect("words");
    assert!(issue.contains("sett") && issue.contains("line 3"), "{issue}");
    assert!(!place.has_workflow("greets"));
    let taken = submit(&mut agent, &run, "draft", &json!({"manifest": GREETS}));
    assert_eq!(taken["accepted"], true, "{taken}");
    // Missing inputs are requested by name.
    let asked = due(&mut agent, &run);
    assert_eq!(asked["step_id"], "inputs", "{asked}");
    assert!(asked["prompt"].as_str().expect("a prompt").contains("name"), "{asked}");
    let refused = submit(&mut agent, &run, "inputs", &json!({"nam": "x"}));
    assert_eq!(refused["accepted"], false, "{refused}");
    submit(&mut agent, &run, "inputs", &json!({"name": "Ada"}));
    let result = result(&mut agent.client, &run);
    let output = &result["structuredContent"]["final_output"];
    assert_eq!(output, &json!({"workflow_id": "greets", "output": {"hello": "Ada"}}), "{result}");
    assert!(place.has_workflow("greets"));
}

/// Each block is validated before the next is requested; the result is saved and run.
#[test]
fn a_model_writes_block_by_block() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    place.import("shop.yaml", None);
    let mut agent = agent(&place, json!({"sampling": {}}));
    let goal = json!({"goal": "Greet somebody", "inputs": {"name": "Ed", "order": "7"}});
    let run = begin(&mut agent, "workflow_author_and_run", &goal);
    let inputs = "workflow: greets\ninputs:\n  name: {type: string}\n  order: {type: string, \
        provider: shop orders:list}\n";
    let steps = "steps: [{id: a, set: {hello: \"${{ inputs.name }}\"}}]\nfinal_output: {hello: \
        \"${{ steps.a.output.hello }}\"}\n";
    let whole =
        format!("{inputs}{steps}").replace("orders:list}", "orders:list, provider_args: {}}");
    let answers = [
        (inputs.replace("type: string", "typ: string"), "`description` and `inputs`"),
        (inputs.to_owned(), "was rejected"),
        (steps.replace("steps.a", "steps.b"), "only `steps` and `final_output`"),
        (steps.to_owned(), "was rejected"),
        (whole, "`provider_args`"),
    ];
    for (text, wish) in answers {
        let question = agent.client.hear();
        assert_eq!(question["method"], "sampling/createMessage", "{question}");
        let messages = question["params"]["messages"].as_array().expect("messages");
        let last = messages.last().expect("one")["content"]["text"].as_str().expect("text");
        assert!(last.contains(wish), "{wish}: {last}");
        assert!(messages[0]["content"]["text"].as_str().expect("text").contains("(digest "));
        let content = json!({"type": "text", "text": text});
        let answer = json!({"model": "m", "role": "assistant", "content": content});
        agent.client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    }
    let result = result(&mut agent.client, &run);
    let output = &result["structuredContent"]["final_output"]["output"];
    assert_eq!(output, &json!({"hello": "Ed"}), "{result}");
}

#[test]
fn after_five_rounds_anybody_can_submit_the_draft() {
    let place = Place::new();
    let mut agent = agent(&place, json!({}));
    let arguments = json!({"goal": "Greet", "manifest": SLIPS, "inputs": {"name": "Ed"}});
    let run = begin(&mut agent, "workflow_author_and_run", &arguments);
    let asked = due(&mut agent, &run);
    assert!(asked["prompt"].as_str().expect("a prompt").contains("sett"), "{asked}");
    for _ in 0..5 {
        let refused = submit(&mut agent, &run, "draft", &json!({"manifest": SLIPS}));
        assert_eq!(refused["accepted"], false, "{refused}");
    }
    let got = agent.client.call("tasks/get", &json!({"taskId": run}));
    assert_eq!(got["status"], "input_required", "{got}");
    assert!(got["statusMessage"].as_str().expect("words").contains("sett"), "{got}");
    let taken = submit(&mut agent, &run, "draft", &json!({"manifest": GREETS}));
    assert_eq!(taken["accepted"], true, "{taken}");
    let result = result(&mut agent.client, &run);
    let output = &result["structuredContent"]["final_output"]["output"];
    assert_eq!(output, &json!({"hello": "Ed"}), "{result}");
}

#[test]
fn a_model_is_asked_at_most_five_times() {
    let place = Place::new();
    let mut agent = agent(&place, json!({"sampling": {}}));
    let run = begin(&mut agent, "workflow_author_and_run", &json!({"goal": "Greet somebody"}));
    for _ in 0..5 {
        let question = agent.client.hear();
        assert_eq!(question["method"], "sampling/createMessage", "{question}");
        let content = json!({"type": "text", "text": SLIPS});
        let answer = json!({"model": "m", "role": "assistant", "content": content});
        agent.client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
    }
    while due(&mut agent, &run)["attempt"] != 6 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let told = agent.client.call("tasks/get", &json!({"taskId": run}));
    assert_eq!(told["status"], "input_required", "{told}");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    // The task's notification may arrive late, but unlike a question it has no id.
    while let Some(told) = agent.client.heard() {
        assert!(told["id"].is_null(), "nobody is asked a sixth time: {told}");
    }
    let arguments = json!({"run_id": run, "step_id": "draft", "output": {"manifest": GREETS}});
    let params = json!({"name": "workflow_submit", "arguments": arguments});
    agent
        .client
        .say(&json!({"jsonrpc": "2.0", "id": "submit", "method": "tools/call", "params": params}));
    // The run continues at once and asks the model for its inputs, before or after the answer
    // arrives.
    let taken = loop {
        let heard = agent.client.hear();
        if heard["id"] == "submit" {
            break heard;
        }
        let asked = heard["params"]["messages"][0]["content"]["text"].as_str();
        assert!(asked.is_some_and(|asked| asked.contains("still needs these values")), "{heard}");
    };
    assert_eq!(taken["result"]["structuredContent"]["accepted"], true, "{taken}");
}

/// The workflow that the orchestration ran is repaired, not the orchestration itself.
#[test]
fn repairing_a_failed_orchestration_repairs_what_it_ran() {
    let place = Place::new();
    let mut agent = agent(&place, json!({}));
    let arguments = json!({"goal": "Try it", "manifest": FAILS});
    let failed = begin(&mut agent, "workflow_author_and_run", &arguments);
    let told = result(&mut agent.client, &failed);
    assert_eq!(told["isError"], true, "{told}");
    let child = told["structuredContent"]["child_run_id"].as_str().expect("names it").to_owned();
    let seen = agent.call("workflow_status", &json!({"run_id": child}));
    assert_eq!((&seen["workflow"], &seen["status"]), (&json!("fails"), &json!("failed")));
    let run = begin(&mut agent, "workflow_repair_and_rerun", &json!({"run_id": failed}));
    let asked = due(&mut agent, &run);
    let prompt = asked["prompt"].as_str().expect("a prompt");
    assert!(prompt.contains("no luck") && prompt.contains("workflow: fails"), "{prompt}");
    assert!(!prompt.contains("milepost workflow:"), "{prompt}");
    submit(&mut agent, &run, "draft", &json!({"manifest": MENDED}));
    let done = result(&mut agent.client, &run);
    let output = &done["structuredContent"]["final_output"]["output"];
    assert_eq!(output, &json!({"b": 1}), "{done}");
}

#[test]
fn a_failed_workflow_is_repaired_and_run_again() {
    let place = Place::with(&[("fails.yaml", FAILS)]);
    place.save("fails.yaml");
    let mut agent = agent(&place, json!({}));
    let failed = agent.call("workflow_run", &json!({"workflow_id": "fails", "wait_s": 20}));
    assert_eq!(failed["status"], "failed", "{failed}");
    let run = begin(&mut agent, "workflow_repair_and_rerun", &json!({"run_id": failed["run_id"]}));
    let asked = due(&mut agent, &run);
    assert!(asked["prompt"].as_str().expect("a prompt").contains("no luck"), "{asked}");
    let other = submit(&mut agent, &run, "draft", &json!({"manifest": GREETS}));
    assert_eq!(other["accepted"], false, "a correction keeps the id: {other}");
    submit(&mut agent, &run, "draft", &json!({"manifest": MENDED}));
    let done = result(&mut agent.client, &run);
    let output = &done["structuredContent"]["final_output"]["output"];
    assert_eq!(output, &json!({"b": 1}), "{done}");
    let shown = place.call("workflow.get", json!({"workflow_id": "fails"})).expect("is there");
    assert!(shown.to_string().contains("set: {b: 1}"), "{shown}");
    // A run that did not fail is not repaired.
    let call =
        json!({"name": "workflow_repair_and_rerun", "task": {}, "arguments": {"run_id": run}});
    let refused = agent.client.ask("tools/call", &call);
    assert_eq!(refused["error"]["data"]["error_code"], "RUN_CONFLICT", "{refused}");
}

#[test]
fn built_in_commands_cannot_be_called_by_others() {
    let place = Place::new();
    let mut agent = agent(&place, json!({}));
    let text = "workflow: milepost.author-and-run\nsteps:\n  - {id: a, run: milepost \
        workflow:save, with: {manifest: x}}\n";
    let seen = agent.call("workflow_validate", &json!({"manifest": text}));
    assert_eq!(seen["valid"], false, "{seen}");
    let refused = agent.refused("workflow_run", &json!({"manifest": text}));
    assert_eq!(refused["category"], "validation", "{refused}");
}

#[test]
fn the_extension_asks_in_the_task() {
    let place = Place::new();
    let mut client = client(&place);
    let mut ask = |method: &str, mut params: Value| {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities":
                {"sampling": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}},
        });
        client.call(method, &params)
    };
    let arguments = json!({"goal": "Greet", "inputs": {"name": "Di"}});
    let made =
        ask("tools/call", json!({"name": "workflow_author_and_run", "arguments": arguments}));
    let id = made["taskId"].clone();
    let wait = json!({"name": "workflow_status", "arguments": {"run_id": id, "wait_s": 20}});
    ask("tools/call", wait.clone());
    let got = ask("tasks/get", json!({"taskId": id}));
    assert_eq!(got["status"], "input_required", "{got}");
    let requests = got["inputRequests"].as_object().expect("requests");
    let (key, request) = requests.iter().next().expect("one");
    assert_eq!((key.as_str(), &request["method"]), ("draft:1", &json!("sampling/createMessage")));
    let answer = json!({"model": "m", "role": "assistant",
        "content": {"type": "text", "text": GREETS}});
    ask("tasks/update", json!({"taskId": id, "inputResponses": {key: answer}}));
    ask("tools/call", wait);
    let got = ask("tasks/get", json!({"taskId": id}));
    assert_eq!(got["status"], "completed", "{got}");
    let output = &got["result"]["structuredContent"]["final_output"]["output"];
    assert_eq!(output, &json!({"hello": "Di"}), "{got}");
}

//! Tasks of both revisions: each is one run, whichever client looks at it.

use serde_json::{Value, json};

use super::{ASKS, Agent, client, stateless};
use crate::place::Place;

const QUICK: &str = "workflow: quick\nsteps: [{id: a, set: {b: 1}}]\n\
    final_output: {b: \"${{ steps.a.output.b }}\"}\n";
const FAILS: &str = "workflow: fails\nsteps: [{id: a, fail: no luck}]\n";

fn agent(place: &Place) -> Agent {
    Agent::with(place, "2025-11-25", &json!({"tasks": {}}))
}

/// Calls a tool as a task, and returns the task.
fn made(agent: &mut Agent, tool: &str, manifest: &str) -> Value {
    let params =
        json!({"name": tool, "arguments": {"manifest": manifest}, "task": {"ttl": 60_000}});
    let mut result = agent.client.call("tools/call", &params);
    let task = result["task"].take();
    assert_eq!(result["_meta"]["milepost/run"]["run_id"], task["taskId"], "{result}");
    for name in ["taskId", "status", "createdAt", "lastUpdatedAt"] {
        assert!(task[name].is_string(), "{name}: {task}");
    }
    task
}

#[test]
fn a_task_fails_waits_and_is_canceled_as_its_run_does() {
    let place = Place::new();
    let mut agent = agent(&place);
    let task = made(&mut agent, "workflow_run", FAILS);
    let id = json!({"taskId": task["taskId"]});
    let result = agent.result(&id);
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(agent.client.call("tasks/get", &id)["status"], "failed");
    let task = made(&mut agent, "workflow_execute", ASKS);
    let id = json!({"taskId": task["taskId"]});
    let waits = json!({"run_id": task["taskId"], "wait_s": 20});
    agent.call("workflow_status", &waits);
    let got = agent.client.call("tasks/get", &id);
    assert_eq!(got["status"], "input_required", "{got}");
    assert!(got["statusMessage"].as_str().expect("words").contains("look"), "{got}");
    let canceled = agent.client.call("tasks/cancel", &id);
    assert_eq!(canceled["status"], "cancelled", "{canceled}");
}

#[test]
fn a_client_without_tasks_is_answered_at_once() {
    let place = Place::new();
    let call = json!({"name": "workflow_execute", "arguments": {"manifest": QUICK}});
    for version in ["2025-06-18", "2025-11-25"] {
        let mut agent = Agent::with(&place, version, &json!({}));
        let answer = agent.client.ask("tools/call", &call);
        assert_eq!(answer["error"]["code"], -32601, "{answer}");
        let data = &answer["error"]["data"];
        assert_eq!(data["error_code"], "TASK_CAPABILITY_REQUIRED");
        assert_eq!((&data["category"], &data["retryable"]), (&json!("execution"), &json!(false)));
    }
    let mut agent = agent(&place);
    let listed = agent.client.call("tools/list", &json!({}));
    let tools = listed["tools"].as_array().expect("a list");
    let support = |name: &str| {
        let tool = tools.iter().find(|tool| tool["name"] == name).expect("is listed");
        tool["execution"]["taskSupport"].clone()
    };
    assert_eq!(support("workflow_run"), "optional");
    assert_eq!(support("workflow_execute"), "required");
    assert_eq!(support("workflow_list"), Value::Null);
    let never = json!({"name": "workflow_list", "arguments": {}, "task": {}});
    assert_eq!(agent.client.fault("tools/call", &never), -32601);
    // None of these calls started a run.
    assert_eq!(agent.client.call("tasks/list", &json!({}))["tasks"], json!([]));
}

/// The capabilities of a client that supports tasks.
fn knows_tasks() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/tasks": {}}})
}

#[test]
fn the_extension_follows_the_same_run() {
    let place = Place::new();
    let mut client = client(&place);
    let mut ask = |method: &str, params: Value, can: &Value| {
        client.say(&stateless(method, params, can));
        client.hear()
    };
    let can = knows_tasks();
    let call = json!({"name": "workflow_execute", "arguments": {"manifest": QUICK}});
    let refused = ask("tools/call", call.clone(), &json!({}));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let data = &refused["error"]["data"];
    assert_eq!(data["error_code"], "TASK_CAPABILITY_REQUIRED");
    assert_eq!(data["requiredCapabilities"], can, "{refused}");
    let made = ask("tools/call", call, &can);
    assert_eq!(made["result"]["resultType"], "task", "{made}");
    let id = json!({"taskId": made["result"]["taskId"]});
    for _ in 0..200 {
        let got = ask("tasks/get", id.clone(), &can);
        if got["result"]["status"] == "completed" {
            let result = &got["result"]["result"];
            assert_eq!(result["structuredContent"]["final_output"], json!({"b": 1}), "{got}");
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("it does not end");
}

/// Clients that get no new answer poll again at once, a hundred times a second.
#[test]
fn polling_a_waiting_task_is_slowed_down() {
    let place = Place::new();
    let mut client = client(&place);
    let can = knows_tasks();
    let call = json!({"name": "workflow_execute", "arguments": {"manifest": ASKS}});
    client.say(&stateless("tools/call", call, &can));
    let id = json!({"taskId": client.hear()["result"]["taskId"]});
    let waits = json!({"run_id": id["taskId"], "wait_s": 20});
    let waits = json!({"name": "workflow_status", "arguments": waits});
    client.say(&stateless("tools/call", waits, &can));
    client.hear();
    let asked = std::time::Instant::now();
    client.say(&stateless("tasks/get", id.clone(), &can));
    let got = client.hear();
    assert_eq!(got["result"]["status"], "input_required", "{got}");
    assert!(asked.elapsed() > std::time::Duration::from_millis(900), "{:?}", asked.elapsed());
    // The call is answered as soon as something changes.
    client.say(&stateless("tasks/get", id.clone(), &can));
    let done = json!({"run_id": id["taskId"], "step_id": "look", "output": {"seen": true}});
    let done = json!({"name": "workflow_submit", "arguments": done});
    client.say(&stateless("tools/call", done, &can));
    let answers = [client.hear(), client.hear()];
    let got = answers.iter().find(|answer| answer["id"] == "tasks/get").expect("an answer");
    assert_eq!(got["result"]["status"], "completed", "{got}");
}

#[test]
fn the_contract_makes_tasks_in_its_own_words() {
    let place = Place::new();
    let mut agent = agent(&place);
    let create = json!({"name": "workflow.execute", "arguments": {"manifest": QUICK}, "ttl": 9});
    let made = agent.client.call("tasks/create", &create);
    let id = json!({"taskId": made["task"]["taskId"]});
    let result = agent.result(&id);
    assert_eq!(result["structuredContent"]["final_output"], json!({"b": 1}), "{result}");
}

const SLOW: &str = "workflow: slow\nsteps:\n  - {id: pause, title: Take a breath, wait: 3s}\n  \
    - {id: b, depends_on: [pause], set: {c: 1}}\n";

/// Creating a task never waits: that is the purpose of tasks.
#[test]
fn a_task_is_created_at_once_whatever_its_wait() {
    let place = Place::new();
    let mut agent = agent(&place);
    let arguments = json!({"manifest": SLOW, "wait_s": 20});
    for tool in ["workflow_execute", "workflow_run"] {
        let began = std::time::Instant::now();
        let params = json!({"name": tool, "arguments": arguments, "task": {}});
        let made = agent.client.call("tools/call", &params);
        assert_eq!(made["task"]["status"], "working", "{made}");
        assert!(began.elapsed() < std::time::Duration::from_secs(2), "{:?}", began.elapsed());
    }
    let listed = agent.client.call("tools/list", &json!({}));
    let mut tools = listed["tools"].as_array().expect("a list").iter();
    let execute = tools.find(|tool| tool["name"] == "workflow_execute").expect("is listed");
    assert_eq!(execute["inputSchema"]["properties"]["wait_s"], Value::Null);
}

#[test]
fn a_task_notifies_on_status_changes() {
    let place = Place::new();
    let mut agent = agent(&place);
    let later = ASKS.replace("steps:\n", "steps:\n  - {id: pause, wait: 1s}\n");
    let later = later.replace("prompt: Look at it", "prompt: Look at it\n    depends_on: [pause]");
    let id = json!({"taskId": made(&mut agent, "workflow_execute", &later)["taskId"]});
    let done = json!({"run_id": id["taskId"], "step_id": "look", "output": {"seen": true}});
    let waits = json!({"run_id": id["taskId"], "wait_s": 20});
    while agent.client.tasks.last().is_none_or(|told| told["status"] != "input_required") {
        agent.call("workflow_status", &waits);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    agent.call("workflow_submit", &done);
    while agent.client.tasks.last().is_none_or(|told| told["status"] != "completed") {
        agent.client.call("ping", &json!({}));
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    for told in &agent.client.tasks {
        assert_eq!(told["taskId"], id["taskId"], "{told}");
        assert!(told["createdAt"].is_string() && told["lastUpdatedAt"].is_string(), "{told}");
    }
    let told: Vec<&Value> = agent.client.tasks.iter().map(|told| &told["status"]).collect();
    assert!(told.windows(2).all(|two| two[0] != two[1]), "each change once: {told:?}");
}

#[test]
fn progress_of_a_task_is_reported_until_it_ends() {
    let place = Place::new();
    let mut agent = agent(&place);
    let meta = json!({"progressToken": "p"});
    let arguments = json!({"manifest": SLOW});
    let params =
        json!({"name": "workflow_execute", "arguments": arguments, "task": {}, "_meta": meta});
    let made = agent.client.call("tools/call", &params);
    let run = &made["task"]["taskId"];
    let mut last = 0.0;
    loop {
        let note = agent.client.hear();
        assert_eq!(note["method"], "notifications/progress", "{note}");
        let params = &note["params"];
        assert_eq!(params["progressToken"], "p");
        assert!(params["progress"].as_f64().expect("a number") > last, "{note}");
        last = params["progress"].as_f64().expect("a number");
        let progress = &params["_meta"]["milepost/progress"];
        assert_eq!(&progress["run_id"], run, "{note}");
        assert_eq!(progress["summary"], params["message"], "{note}");
        if progress["step_id"] == "pause" {
            assert_eq!(progress["title"], "Take a breath", "{note}");
            assert_eq!(progress["state"], "running", "{note}");
        }
        if progress["state"] == "succeeded" {
            break;
        }
    }
    assert!(last > 1.0, "more than the end was told");
}

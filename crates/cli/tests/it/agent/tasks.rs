//! Tasks of both revisions: each is one run, whichever client looks at it.

use serde_json::{Value, json};

use super::{ASKS, Agent};
use crate::Place;

const QUICK: &str = "workflow: quick\nsteps: [{id: a, set: {b: 1}}]\n\
    final_output: {b: \"${{ steps.a.output.b }}\"}\n";

fn agent(place: &Place) -> Agent {
    Agent::with(place, &[], "2025-11-25", &json!({"tasks": {}}))
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
fn a_run_is_followed_as_a_task() {
    let place = Place::new();
    let mut agent = agent(&place);
    for tool in ["workflow_run", "workflow_execute"] {
        let task = made(&mut agent, tool, QUICK);
        let id = json!({"taskId": task["taskId"]});
        let result = agent.result(&id);
        assert_eq!(result["structuredContent"]["final_output"], json!({"b": 1}), "{result}");
        let related = &result["_meta"]["io.modelcontextprotocol/related-task"];
        assert_eq!(related, &id);
        let got = agent.client.call("tasks/get", &id);
        assert_eq!(got["status"], "completed");
        let progress = &got["_meta"]["milepost/progress"];
        assert_eq!(
            (&progress["run_id"], &progress["state"]),
            (&task["taskId"], &json!("succeeded"))
        );
        // A task that has ended cannot be canceled.
        assert_eq!(agent.client.fault("tasks/cancel", &id), -32602);
    }
    let listed = agent.client.call("tasks/list", &json!({}));
    assert_eq!(listed["tasks"].as_array().expect("a list").len(), 2);
    assert_eq!(agent.client.fault("tasks/get", &json!({"taskId": "run_0"})), -32602);
    assert_eq!(agent.client.fault("tasks/result", &json!({"taskId": "run_0"})), -32602);
}

#[test]
fn a_task_outlives_its_server() {
    let place = Place::new();
    let mut first = agent(&place);
    let task = made(&mut first, "workflow_run", ASKS);
    drop(first);
    let mut second = agent(&place);
    let id = json!({"taskId": task["taskId"]});
    let got = second.client.call("tasks/get", &id);
    assert_eq!(got["taskId"], task["taskId"]);
    let done = json!({"run_id": task["taskId"], "step_id": "look", "output": {"seen": true}});
    second.call("workflow_submit", &done);
    let result = second.result(&id);
    assert_eq!(result["structuredContent"]["final_output"], json!({"seen": true}), "{result}");
}

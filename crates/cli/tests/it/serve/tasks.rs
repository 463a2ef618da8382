//! Runs that outlive their clients: tasks of both revisions, over HTTP.

use serde_json::{Value, json};

use super::{ASKS, QUICK, Server, Session};
use crate::Place;

/// Calls a tool as a task.
fn made(session: &Session<'_>, tool: &str, manifest: &str) -> Value {
    let params = json!({"name": tool, "arguments": {"manifest": manifest}, "task": {"ttl": 1000}});
    let mut result = session.call("tools/call", &params);
    let task = result["task"].take();
    assert_eq!(result["_meta"]["milepost/run"]["run_id"], task["taskId"], "{result}");
    task
}

fn with_tasks(server: &Server) -> Session<'_> {
    server.connect_with("2025-11-25", &json!({"tasks": {}}))
}

#[test]
fn a_client_of_2025_11_25_follows_a_run_as_a_task() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let session = with_tasks(&server);
    let capabilities = &session.greeting["capabilities"];
    assert_eq!(capabilities["tasks"]["requests"], json!({"tools": {"call": {}}}));
    assert_eq!(capabilities["extensions"], Value::Null);
    let listed = session.call("tools/list", &json!({}));
    let tools = listed["tools"].as_array().expect("a list");
    let execute = tools.iter().find(|tool| tool["name"] == "workflow_execute").expect("is there");
    assert_eq!(execute["execution"]["taskSupport"], "required");
    for tool in ["workflow_run", "workflow_execute"] {
        let id = json!({"taskId": made(&session, tool, QUICK)["taskId"]});
        let result = session.result_of("workflow_run", &id["taskId"]);
        assert_eq!(result["structuredContent"]["final_output"], json!({"b": 1}), "{result}");
        assert_eq!(session.call("tasks/get", &id)["status"], "completed");
        assert_eq!(session.fault("tasks/cancel", &id)["code"], -32602);
    }
    let listed = session.call("tasks/list", &json!({}));
    assert_eq!(listed["tasks"].as_array().expect("a list").len(), 2);
    assert_eq!(session.fault("tasks/get", &json!({"taskId": "run_0"}))["code"], -32602);
    assert_eq!(session.fault("tasks/get", &json!({}))["code"], -32602);
}

#[test]
fn tasks_of_the_extension_are_for_nobody_who_shook_hands() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let can = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    for version in ["2025-03-26", "2025-06-18"] {
        let session = server.connect_with(version, &can);
        assert_eq!(session.greeting["capabilities"]["tasks"], Value::Null);
        let run = session.tool("workflow_run", &json!({"manifest": QUICK}));
        for method in ["tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "tasks/result"] {
            let fault = session.fault(method, &json!({"taskId": run["run_id"]}));
            assert_eq!(fault["code"], -32601, "{fault}");
            assert_eq!(fault["data"], json!({"method": method}));
        }
        let execute = json!({"name": "workflow_execute", "arguments": {"manifest": QUICK}});
        let fault = session.fault("tools/call", &execute);
        assert_eq!(fault["data"]["error_code"], "TASK_CAPABILITY_REQUIRED");
    }
}

#[cfg(unix)]
#[test]
fn a_task_is_found_again_after_its_client_and_its_server_are_gone() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let task = made(&with_tasks(&server), "workflow_execute", ASKS);
    let id = json!({"taskId": task["taskId"]});
    assert_eq!(server.stop().code, Some(0));

    let server = Server::start(&place, &[]);
    let session = with_tasks(&server);
    let got = session.call("tasks/get", &id);
    assert_eq!(got["taskId"], task["taskId"]);
    let done = json!({"run_id": task["taskId"], "step_id": "look", "output": {"seen": true}});
    session.tool("workflow_submit", &done);
    let result = session.result_of("workflow_run", &id["taskId"]);
    assert_eq!(result["structuredContent"]["final_output"], json!({"seen": true}), "{result}");
    // A client of the other revision sees the same run.
    let can = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let answer = server.alone("tasks/get", id, &can);
    let task = &answer.message()["result"];
    assert_eq!(task["status"], "completed", "{answer:?}");
    assert_eq!(task["result"]["structuredContent"]["final_output"], json!({"seen": true}));
}

#[test]
fn a_run_goes_on_without_the_client_that_started_it() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let can = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let call = json!({"name": "workflow_execute", "arguments": {"manifest": QUICK}});
    let refused = server.alone("tools/call", call.clone(), &json!({}));
    assert_eq!((refused.status, refused.code()), (400, -32021), "{refused:?}");
    let made = server.alone("tools/call", call, &can).message();
    assert_eq!(made["result"]["resultType"], "task", "{made}");
    let run = json!({"run_id": made["result"]["taskId"], "wait_s": 20});
    let session = server.connect("2025-06-18");
    let mut status = session.tool("workflow_status", &run);
    while status["status"] == "running" || status["status"] == "pending" {
        status = session.tool("workflow_status", &run);
    }
    assert_eq!(status["final_output"], json!({"b": 1}), "{status}");
}

//! A client without a library, at the first protocol revision. It uses everything once, in both
//! calling styles.

use serde_json::{Value, json};

use crate::Place;
use crate::client::Client;

const TOOLS: [&str; 5] = [
    "workflow_get",
    "workflow_list",
    "workflow_next",
    "workflow_validate",
    "workflow_validate_json",
];

/// Calls a tool by its own name and through `tools/call`; both answers must be the same.
fn call(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    let bare = client.call(tool, arguments);
    let params = json!({"name": tool, "arguments": arguments});
    let wrapped = client.call("tools/call", &params);
    assert_ne!(wrapped["isError"], true, "{wrapped}");
    assert_eq!(wrapped["structuredContent"], bare);
    let text = wrapped["content"][0]["text"].as_str().expect("is text");
    assert_eq!(serde_json::from_str::<Value>(text).expect("is JSON"), bare);
    bare
}

/// Calls a tool that fails: an error under its own name, a result with `isError` through
/// `tools/call`.
fn failure(client: &mut Client, tool: &str, arguments: &Value) -> i64 {
    let bare = client.ask(tool, arguments)["error"].take();
    let params = json!({"name": tool, "arguments": arguments});
    let wrapped = client.call("tools/call", &params);
    assert_eq!(wrapped["isError"], true, "{wrapped}");
    assert_eq!(wrapped["structuredContent"], bare);
    bare["code"].as_i64().expect("is a number")
}

fn walk(client: &mut Client, guide: &str, context: &Value) -> Vec<String> {
    let mut completed: Vec<String> = Vec::new();
    loop {
        let arguments =
            json!({"workflowId": guide, "completedSteps": completed, "context": context});
        let next = call(client, "workflow_next", &arguments);
        if next["isComplete"] == true {
            assert_eq!(next["step"], Value::Null);
            return completed;
        }
        let key = next["completedStep"].as_str().expect("is text").to_owned();
        assert!(!completed.contains(&key), "{key}");
        completed.push(key);
    }
}

#[test]
fn a_client_of_the_first_version_uses_every_tool() {
    let place = Place::new();
    let mut client = Client::connect(&place);
    let tools = client.call("tools/list", &json!({}));
    let tools = tools["tools"].as_array().expect("is a list");
    let mut names: Vec<&str> =
        tools.iter().map(|tool| tool["name"].as_str().expect("is text")).collect();
    names.sort_unstable();
    assert_eq!(names, TOOLS);

    let list = call(&mut client, "workflow_list", &json!({}));
    assert!(list["workflows"].as_array().is_some_and(|all| all.len() >= 4), "{list}");
    let got = call(&mut client, "workflow_get", &json!({"id": "code-review"}));
    assert_eq!(got["firstStep"]["id"], "triage");
    let context = json!({"purpose": "", "files": [], "reviewPasses": 2, "testsPass": false});
    let keys = ["triage", "ask-purpose", "run-it", "look-again@0::lens", "look-again@1::lens"];
    let walked = walk(&mut client, "code-review", &context);
    assert_eq!(walked, [&keys[..], &["sift", "verdict"]].concat());

    let judged = json!({"workflowId": "code-review", "stepId": "triage", "output": "no JSON"});
    assert_eq!(call(&mut client, "workflow_validate", &judged)["valid"], false);
    let broken = json!({"workflowJson": "{"});
    assert_eq!(call(&mut client, "workflow_validate_json", &broken)["valid"], false);

    assert_eq!(failure(&mut client, "workflow_get", &json!({"id": "absent"})), -32001);
    let unknown = json!({"workflowId": "code-review", "completedSteps": ["absent"]});
    assert_eq!(failure(&mut client, "workflow_next", &unknown), -32003);
    client.ping();
    assert_eq!(client.close().code, Some(0));
}

//! A client of the tools, which checks every result against the tool's own schema. The tests of the
//! binary use it as well.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::client::Client;

/// A workflow with one agent step.
pub(crate) const ASKS: &str = "workflow: asks\nsteps:\n  - id: look\n    prompt: Look at it\n    \
    output_schema: {type: object, required: [seen], properties: {seen: {type: boolean}}}\n\
    final_output: {seen: \"${{ steps.look.output.seen }}\"}\n";

/// Results above this many bytes are complete in one form only.
const TWICE: usize = 32 * 1024;

/// A client of one server.
pub(crate) struct Agent {
    pub(crate) client: Client,
    schemas: HashMap<String, jsonschema::Validator>,
}

impl Agent {
    /// Performs the handshake and reads the schemas of the tools.
    pub(crate) fn greeted(mut client: Client, version: &str, capabilities: &Value) -> Agent {
        client.greet(version, capabilities);
        let tools = client.call("tools/list", &json!({}));
        let schemas = tools["tools"].as_array().expect("a list").iter().map(|tool| {
            let name = tool["name"].as_str().expect("a name").to_owned();
            let schema = jsonschema::validator_for(&tool["outputSchema"]).expect("a schema");
            (name, schema)
        });
        Agent { schemas: schemas.collect(), client }
    }

    /// Calls a tool and returns the whole answer.
    pub(crate) fn ask(&mut self, tool: &str, arguments: &Value) -> Value {
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.client.ask("tools/call", &params);
        self.checked(tool, &answer);
        answer
    }

    fn checked(&self, tool: &str, answer: &Value) {
        let content = &answer["result"]["structuredContent"];
        if let Some(schema) = self.schemas.get(tool)
            && !content.is_null()
        {
            let errors: Vec<String> =
                schema.iter_errors(content).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{tool}: {errors:?}: {content}");
        }
    }

    /// Calls a tool that succeeds.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask(tool, arguments);
        let result = &answer["result"];
        assert_ne!(result["isError"], true, "{tool} {arguments}: {answer}");
        let text = result["content"][0]["text"].as_str().expect("has a text");
        let text: Value = serde_json::from_str(text).expect("is JSON");
        let content = &result["structuredContent"];
        // A long result is complete in one form only.
        if content.to_string().len() <= TWICE {
            assert_eq!(text, *content, "{tool}: two results");
        }
        content.clone()
    }

    /// The result of a task, which is a run.
    pub(crate) fn result(&mut self, id: &Value) -> Value {
        let result = self.client.call("tasks/result", id);
        self.checked("workflow_run", &json!({"result": result}));
        result
    }

    /// Calls a tool that fails, and returns its error object.
    pub(crate) fn refused(&mut self, tool: &str, arguments: &Value) -> Value {
        let mut answer = self.ask(tool, arguments);
        assert_eq!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
        let payload = answer["result"]["structuredContent"].take();
        whole(&payload);
        let words = answer["result"]["content"][0]["text"].as_str().expect("has words");
        let code = payload["error_code"].as_str().expect("a code");
        assert!(words.starts_with(code), "{words}");
        payload
    }
}

/// Asserts that a failure has every required field.
pub(crate) fn whole(payload: &Value) {
    for name in ["error_code", "message", "suggested_action", "correlation_id"] {
        let text = payload[name].as_str().unwrap_or_else(|| panic!("no {name}: {payload}"));
        assert!(!text.is_empty(), "empty {name}: {payload}");
    }
    let categories = ["validation", "not_found", "conflict", "execution", "internal"];
    assert!(categories.iter().any(|one| payload["category"] == *one), "{payload}");
    assert!(payload["context"].is_object() && payload["retryable"].is_boolean(), "{payload}");
    for violation in payload["violations"].as_array().into_iter().flatten() {
        for name in ["path", "rule", "message"] {
            assert!(violation[name].is_string(), "no {name}: {violation}");
        }
    }
}

/// Answers a question from the server.
pub(crate) fn say(client: &mut Client, question: &Value, content: &Value) {
    client.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": content}));
}

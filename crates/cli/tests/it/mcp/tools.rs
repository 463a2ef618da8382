//! The tools as listed by the server, and a check that answers match the list.

use std::collections::BTreeMap;
use std::process::Command;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::server::Server;

/// The server's description of one tool.
pub(super) struct Tool {
    pub(super) listed: Value,
    pub(super) input: Validator,
    pub(super) output: Validator,
}

/// The tools by name.
pub(super) struct Tools(pub(super) BTreeMap<String, Tool>);

impl Tools {
    /// Starts a separate server with these arguments and lists its tools.
    pub(super) fn listed(command: &mut Command, version: &str) -> Tools {
        let mut server = Server::start(command);
        let hello = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": version, "capabilities": {}}
        });
        let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
        server.send(format!("{hello}\n{list}\n").as_bytes());
        let ended = server.end();
        let answer = ended.rest.get(1).expect("tools/list is answered");
        let answer: Value = serde_json::from_str(answer).expect("is JSON");
        let tools = answer["result"]["tools"].as_array().expect("is a list");
        Tools(tools.iter().map(|tool| (text(&tool["name"]), Tool::new(tool))).collect())
    }

    /// The mistakes in the results of this answer to this message.
    pub(super) fn faults(&self, sent: &Value, answer: &Value) -> Vec<String> {
        match (sent, answer) {
            (Value::Array(sent), Value::Array(answers)) => answers
                .iter()
                .filter_map(|answer| {
                    let sent = sent.iter().find(|sent| sent["id"] == answer["id"])?;
                    Some(self.faults(sent, answer))
                })
                .flatten()
                .collect(),
            _ if answer.get("error").is_some() => Vec::new(),
            _ if sent["method"] == "tools/call" => self.call_faults(sent, &answer["result"]),
            _ => self.result_faults(sent["method"].as_str(), &answer["result"]),
        }
    }

    fn call_faults(&self, sent: &Value, result: &Value) -> Vec<String> {
        let structured = &result["structuredContent"];
        let mut faults = self.result_faults(sent["params"]["name"].as_str(), structured);
        let content = result["content"][0]["text"].as_str().unwrap_or_default();
        if serde_json::from_str::<Value>(content).ok().as_ref() != Some(structured) {
            faults.push("the text of `content` is not the value of `structuredContent`".to_owned());
        }
        faults
    }

    fn result_faults(&self, name: Option<&str>, result: &Value) -> Vec<String> {
        let Some((name, tool)) = name.and_then(|name| Some((name, self.0.get(name)?))) else {
            return Vec::new();
        };
        let errors = tool.output.iter_errors(result);
        errors.map(|error| format!("outputSchema of `{name}`: {error}")).collect()
    }
}

impl Tool {
    fn new(listed: &Value) -> Tool {
        let validator = |key: &str| {
            assert!(jsonschema::meta::is_valid(&listed[key]), "{key} of {}", listed["name"]);
            jsonschema::validator_for(&listed[key]).expect("is a schema that stands alone")
        };
        Tool {
            listed: listed.clone(),
            input: validator("inputSchema"),
            output: validator("outputSchema"),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().expect("is text").to_owned()
}

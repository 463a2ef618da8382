//! Determines what kind of document a YAML, JSON or TOML block is, and whether the program accepts
//! it.

use milepost_syntax::untyped_tree;
use serde_json::{Value, json};
use toml_edit::DocumentMut;

use super::block::Block;
use super::prepared;
use super::stage::Stage;
use crate::client::Client;
use crate::mcp::differences::within;
use crate::{Place, finish};

/// The mistakes in a document on a page.
pub(super) fn judge(stage: &mut Stage, block: &Block) -> Vec<String> {
    let read = match block.language.as_str() {
        "json" => serde_json::from_str(&block.body).map_err(|error| error.to_string()),
        "yaml" => untyped_tree::yaml(&block.body)
            .map(|node| node.to_value())
            .map_err(|fault| format!("line {}: {}", fault.line, fault.message)),
        _ => return settings(&block.body),
    };
    let value: Value = match read {
        Ok(value) => value,
        Err(fault) => return vec![fault],
    };
    let has = |key: &str| value.get(key).is_some();
    let any = |keys: &[&str]| keys.iter().any(|key| has(key));
    if let Some(actual) = prepared::shown(stage, &block.heading) {
        return within(&value, &actual);
    }
    if has("workflow") || has("steps") {
        return validated(&stage.place, "workflow", &block.language, &block.body);
    }
    if any(&["openapi", "swagger"]) {
        return validated(&stage.place, "catalog", &block.language, &block.body);
    }
    if any(&["mcpServers", "servers", "extensions"]) {
        let servers = value.get("mcpServers").or(value.get("servers"));
        return serves(servers.unwrap_or(&value["extensions"]));
    }
    if has("jsonrpc") {
        let mut client = Client::connect(&stage.place);
        client.say(&value);
        let answer = client.hear();
        return if answer.get("result").is_some() { Vec::new() } else { vec![answer.to_string()] };
    }
    if has("title") && any(&["prompt", "promptBlocks", "loop"]) {
        return validated(&stage.place, "workflow", "json", &guide(&value).to_string());
    }
    if value.is_array() || any(&["and", "or", "not"]) {
        let step = json!({"id": "a", "title": "A", "prompt": "Do", "validationCriteria": value});
        return validated(&stage.place, "workflow", "json", &guide(&step).to_string());
    }
    spoken(stage, &block.heading, &value)
}

/// Wraps one step in a guide.
fn guide(step: &Value) -> Value {
    let (name, version) = ("Around a step", "1.0.0");
    json!({"id": "around", "name": name, "description": name, "version": version, "steps": [step]})
}

/// The findings of `milepost <noun> validate`.
fn validated(place: &Place, noun: &str, language: &str, body: &str) -> Vec<String> {
    // Saves a workflow under the name that the commands on the page expect.
    let id = body.strip_prefix("workflow: ").and_then(|rest| rest.lines().next());
    let name = format!("{}.{language}", id.unwrap_or("document"));
    place.put(&name, body);
    let ran = place.run([noun, "validate", &name]);
    if ran.code == 0 { Vec::new() } else { vec![format!("{}{}", ran.out, ran.err)] }
}

/// Checks that the server in a client's configuration works, and exits when the client leaves.
fn serves(servers: &Value) -> Vec<String> {
    let server = &servers["milepost"];
    let command = server.get("command").or(server.get("cmd")).and_then(Value::as_str);
    if command.is_none_or(|command| command.rsplit('/').next() != Some("milepost")) {
        return vec![format!("it starts {command:?}")];
    }
    let place = Place::new();
    let arguments = server["args"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let variables = server["env"].as_object().into_iter().flatten();
    let variables = variables.filter_map(|(name, value)| Some((name, value.as_str()?)));
    let ran = finish(place.command().args(arguments).envs(variables), "");
    if ran.code == 0 { Vec::new() } else { vec![ran.err] }
}

/// A TOML block is a configuration, either of a client or of Milepost, which `doctor` checks.
fn settings(body: &str) -> Vec<String> {
    let document: DocumentMut = match body.parse() {
        Ok(document) => document,
        Err(error) => return vec![format!("{error}")],
    };
    if let Some(server) = document.get("mcp_servers").and_then(|all| all.get("milepost")) {
        let arguments = server["args"].as_array().into_iter().flatten();
        let arguments: Vec<_> = arguments.filter_map(|one| one.as_str()).collect();
        let command = server["command"].as_str();
        return serves(&json!({"milepost": {"command": command, "args": arguments}}));
    }
    let place = Place::new();
    let (file, id) = match document.contains_key("asks") {
        true => (".milepost/config.toml", "config.project"),
        false => ("../home/.config/milepost/config.toml", "config.user"),
    };
    place.put(file, body);
    let told = place.run(["doctor", "--json"]).json();
    let checks = told["checks"].as_array().expect("a list");
    let check = checks.iter().find(|check| check["id"] == id).expect("is looked at");
    if check["state"] == "ok" { Vec::new() } else { vec![check.to_string()] }
}

/// A heading with a tool's name is followed by its arguments and its answer.
fn spoken(stage: &mut Stage, tool: &str, value: &Value) -> Vec<String> {
    let mut client = Client::connect(&stage.place);
    let listed = client.call("tools/list", &json!({}));
    let listed = listed["tools"].as_array().expect("a list").iter();
    let Some(listed) = listed.clone().find(|listed| listed["name"] == tool) else {
        return vec!["nothing that the program reads or says".to_owned()];
    };
    let fits = |schema: &str| jsonschema::is_valid(&listed[schema], value);
    match (fits("outputSchema"), &stage.answered) {
        (true, Some((heading, actual))) if heading == tool => within(value, actual),
        (true, _) => Vec::new(),
        (false, _) if fits("inputSchema") => {
            let answer = client.ask(tool, value);
            stage.answered = Some((tool.to_owned(), answer["result"].clone()));
            if answer.get("result").is_some() { Vec::new() } else { vec![answer.to_string()] }
        }
        (false, _) => vec![format!("`{tool}` neither takes nor says this")],
    }
}

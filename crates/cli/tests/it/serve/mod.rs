//! `milepost serve` through the real binary: what clients see over HTTP, byte for byte.

mod ask;
mod callers;
mod edge;
mod guard;
mod masks;
mod oauth;
pub(crate) mod page;
mod probe;
mod shutdown;
mod tasks;
mod wire;

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::{Value, json};

use crate::Place;
use crate::client::{self, Exit};
use wire::{Answer, Ask};

/// How long a server may take to exit before it counts as hung. No test measures time with it.
const PATIENCE: Duration = Duration::from_mins(2);

/// A server that is ready to accept requests.
pub(crate) struct Server {
    child: Child,
    errors: Receiver<String>,
    /// `host:port`.
    address: String,
    token: String,
}

impl Server {
    pub(crate) fn start(place: &Place, arguments: &[&str]) -> Server {
        let mut command = place.command();
        command.args(["serve", "--port", "0"]).args(arguments);
        Server::of(place, &mut command)
    }

    fn of(place: &Place, command: &mut std::process::Command) -> Server {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("starts");
        let errors = client::errors(&mut child);
        let mut line = String::new();
        let mut output = BufReader::new(child.stdout.take().expect("is piped"));
        output.read_line(&mut line).expect("reads");
        let address = line.trim().strip_prefix("http://").and_then(|url| url.strip_suffix("/mcp"));
        let Some(address) = address else {
            panic!("{line}: {:?}", client::exit(&mut child, &errors, PATIENCE))
        };
        let file = place.root.path().join("home/.local/share/milepost/http-token");
        let token = std::fs::read_to_string(file).unwrap_or_default().trim().to_owned();
        Server { address: address.to_owned(), child, errors, token }
    }

    /// A request to the endpoint, as clients send it.
    fn ask(&self, method: &'static str) -> Ask {
        Ask::new(&self.address, method, "/mcp")
            .header("Authorization", &format!("Bearer {}", self.token))
            .header("Accept", "application/json, text/event-stream")
            .header("Content-Type", "application/json")
    }

    fn post(&self, body: &Value) -> Answer {
        self.ask("POST").body(body.to_string()).send()
    }

    /// Performs the handshake.
    pub(crate) fn connect(&self, version: &str) -> Session<'_> {
        self.connect_with(version, &json!({}))
    }

    fn connect_with(&self, version: &str, capabilities: &Value) -> Session<'_> {
        self.connect_as(&self.token, version, capabilities)
    }

    /// Performs the handshake with this token.
    fn connect_as(&self, token: &str, version: &str, capabilities: &Value) -> Session<'_> {
        let bearer = format!("Bearer {token}");
        let hello = initialize(version, capabilities).to_string();
        let answer = self.ask("POST").header("Authorization", &bearer).body(hello).send();
        let id = answer.header("mcp-session-id").expect("a session").to_owned();
        let greeting = answer.message()["result"].clone();
        assert_eq!(greeting["protocolVersion"], version);
        let (asked, schemas) = (AtomicU64::new(0), OnceLock::new());
        let session = Session { server: self, bearer, id, greeting, asked, schemas };
        let told = session.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(told.status, 202);
        session
    }

    /// Sends a request without a handshake.
    fn alone(&self, method: &str, params: Value, capabilities: &Value) -> Answer {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method,
            "params": alone(params, capabilities)});
        self.ask_alone(method, &body).send()
    }

    fn ask_alone(&self, method: &str, body: &Value) -> Ask {
        let ask = self.ask("POST").header("MCP-Protocol-Version", "2026-07-28");
        let ask = ask.header("Mcp-Method", method);
        let name = body["params"]["name"].as_str().or(body["params"]["taskId"].as_str());
        let ask = if let Some(name) = name { ask.header("Mcp-Name", name) } else { ask };
        ask.body(body.to_string())
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        let id = i32::try_from(self.child.id()).expect("fits");
        let pid = rustix::process::Pid::from_raw(id).expect("is a process");
        rustix::process::kill_process(pid, signal).expect("is told");
    }

    fn ended(&mut self) -> Exit {
        client::exit(&mut self.child, &self.errors, PATIENCE).expect("hung instead of ending")
    }

    #[cfg(unix)]
    fn stop(mut self) -> Exit {
        self.signal(rustix::process::Signal::TERM);
        self.ended()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // After a clean exit there is nothing to kill.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// A client after the handshake.
pub(crate) struct Session<'s> {
    server: &'s Server,
    /// The `Authorization` header.
    bearer: String,
    id: String,
    greeting: Value,
    asked: AtomicU64,
    /// The schema of each tool's results.
    schemas: OnceLock<HashMap<String, jsonschema::Validator>>,
}

impl Session<'_> {
    fn ask(&self, method: &'static str) -> Ask {
        let ask = self.server.ask(method).header("Authorization", &self.bearer);
        ask.header("Mcp-Session-Id", &self.id)
    }

    fn post(&self, body: &Value) -> Answer {
        self.ask("POST").body(body.to_string()).send()
    }

    /// Sends a request and returns the whole answer.
    fn request(&self, method: &str, params: &Value) -> Value {
        let id = self.asked.fetch_add(1, Ordering::Relaxed);
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = self.post(&body);
        assert_eq!(answer.status, 200, "{method}: {answer:?}");
        let message = answer.message();
        assert_eq!(message["id"], id, "{message}");
        message
    }

    /// Calls a method that succeeds.
    fn call(&self, method: &str, params: &Value) -> Value {
        let mut answer = self.request(method, params);
        assert!(answer.get("error").is_none(), "{method} {params}: {answer}");
        answer["result"].take()
    }

    /// Calls a method that fails.
    fn fault(&self, method: &str, params: &Value) -> Value {
        let mut answer = self.request(method, params);
        assert!(answer.get("result").is_none(), "{method} {params}: {answer}");
        answer["error"].take()
    }

    /// Starts a run that sleeps, so that nothing more happens in it.
    fn asleep(&self) -> Value {
        let run = self.tool("workflow_run", &json!({"manifest": SLEEPS}))["run_id"].take();
        let status = json!({"run_id": run});
        while self.tool("workflow_status", &status)["steps"][0]["status"] != "running" {}
        run
    }

    /// Starts a call with this id that waits this long for a change in a run; returns once the call
    /// is in flight.
    fn waiting(&self, id: u64, run: &Value, wait_s: u64) -> JoinHandle<Answer> {
        let call =
            json!({"name": "workflow_status", "arguments": {"run_id": run, "wait_s": wait_s}});
        let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call});
        let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
        loop {
            let ask = self.ask("POST").body(body.to_string());
            let waiting = thread::spawn(move || ask.insist());
            while !waiting.is_finished() {
                let answer = self.post(&ping);
                if answer.status == 400 {
                    assert_eq!(answer.code(), -32600, "{answer:?}");
                    return waiting;
                }
            }
        }
    }

    /// Calls a tool that succeeds.
    pub(crate) fn tool(&self, name: &str, arguments: &Value) -> Value {
        let mut result = self.call("tools/call", &json!({"name": name, "arguments": arguments}));
        assert_ne!(result["isError"], true, "{name}: {result}");
        self.fits(name, &result);
        result["structuredContent"].take()
    }

    /// The result of a task that was created by calling this tool.
    fn result_of(&self, tool: &str, task: &Value) -> Value {
        let result = self.call("tasks/result", &json!({"taskId": task}));
        self.fits(tool, &result);
        result
    }

    /// Asserts that a result matches its tool's schema.
    fn fits(&self, tool: &str, result: &Value) {
        let schemas = self.schemas.get_or_init(|| {
            let listed = self.call("tools/list", &json!({}));
            let tools = listed["tools"].as_array().expect("a list").iter().map(|tool| {
                let schema = jsonschema::validator_for(&tool["outputSchema"]).expect("a schema");
                (tool["name"].as_str().expect("a name").to_owned(), schema)
            });
            tools.collect()
        });
        let content = &result["structuredContent"];
        if let Some(schema) = schemas.get(tool) {
            let errors: Vec<String> =
                schema.iter_errors(content).map(|error| error.to_string()).collect();
            assert!(errors.is_empty(), "{tool}: {errors:?}: {content}");
        }
    }
}

fn initialize(version: &str, capabilities: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
        "protocolVersion": version,
        "capabilities": capabilities,
        "clientInfo": {"name": "test", "version": "1"},
    }})
}

/// Adds the client information that stateless requests carry.
fn alone(mut params: Value, capabilities: &Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    });
    params
}

/// A workflow that waits for an agent.
const ASKS: &str = "workflow: asks\nsteps:\n  - id: look\n    prompt: Look at it\n    \
    output_schema: {type: object, required: [seen], properties: {seen: {type: boolean}}}\n\
    final_output: {seen: \"${{ steps.look.output.seen }}\"}\n";
/// A workflow that finishes at once.
const QUICK: &str = "workflow: quick\nsteps: [{id: a, set: {b: 1}}]\n\
    final_output: {b: \"${{ steps.a.output.b }}\"}\n";
/// A workflow in which nothing happens for a long time.
const SLEEPS: &str = "workflow: sleeps\nsteps: [{id: a, wait: 1h}]\n";

//! A client of `milepost mcp` over pipes. It writes what a test gives it and returns each answer
//! once.
//!
//! A separate thread reads the answers, so a test may write as much as it likes before reading one.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Place;

/// How long a server may be silent before it counts as hung. No test measures time with it.
const PATIENCE: Duration = Duration::from_mins(2);

/// The folder from which the server reads guides.
pub(crate) const GUIDES: &str = "guides";

pub(crate) struct Client {
    child: Child,
    input: Option<ChildStdin>,
    answers: Receiver<Vec<u8>>,
    /// All of standard error, available once the server has exited.
    errors: Receiver<String>,
    asked: u64,
    /// Task notifications received so far.
    pub(crate) tasks: Vec<Value>,
}

#[derive(Debug)]
pub(crate) struct Exit {
    /// `None` if a signal killed the server.
    pub(crate) code: Option<i32>,
    pub(crate) errors: String,
}

/// The command that serves the guides in a folder.
pub(crate) fn server(place: &Place) -> Command {
    let mut command = place.command();
    command
        .args(["mcp", "--surface", "workflowlookup"])
        .env("WORKFLOW_STORAGE_PATH", place.path(GUIDES))
        .env("REGISTRY_CONFIG_PATH", place.path("config/config.toml"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

impl Client {
    /// Starts a server and leaves it waiting for `initialize`.
    pub(crate) fn start(place: &Place) -> Client {
        Client::of(&mut server(place))
    }

    /// Starts this command as a server and leaves it waiting for `initialize`.
    pub(crate) fn of(command: &mut Command) -> Client {
        let mut child = command.spawn().expect("starts");
        let (line, answers) = mpsc::channel();
        let mut output = BufReader::new(child.stdout.take().expect("is piped"));
        thread::spawn(move || {
            let mut answer = Vec::new();
            while matches!(output.read_until(b'\n', &mut answer), Ok(1..)) {
                if line.send(std::mem::take(&mut answer)).is_err() {
                    break;
                }
            }
        });
        let (errors, input) = (errors(&mut child), child.stdin.take());
        Client { errors, input, child, answers, asked: 0, tasks: Vec::new() }
    }

    /// Starts a server and performs the handshake that the contract prescribes.
    pub(crate) fn connect(place: &Place) -> Client {
        let mut client = Client::start(place);
        let params = json!({
            "protocolVersion": "2024-11-05",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = client.ask("initialize", &params);
        assert_eq!(answer["result"]["protocolVersion"], "2024-11-05", "{answer}");
        client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes raw bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("is open");
        if let Err(error) = input.write_all(bytes).and_then(|()| input.flush()) {
            panic!("{error}: {:?}", self.exit(PATIENCE));
        }
    }

    /// Writes a message as one line.
    pub(crate) fn say(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Waits for the next answer. Task notifications may arrive at any time and are collected
    /// separately.
    pub(crate) fn hear(&mut self) -> Value {
        loop {
            let message = match self.answers.recv_timeout(PATIENCE) {
                Ok(line) => parsed(&line),
                Err(RecvTimeoutError::Timeout) => panic!("hung"),
                Err(RecvTimeoutError::Disconnected) => panic!("gone: {:?}", self.exit(PATIENCE)),
            };
            if message["method"] != "notifications/tasks/status" {
                return message;
            }
            self.tasks.push(message["params"].clone());
        }
    }

    /// An answer, if one has already arrived.
    pub(crate) fn heard(&mut self) -> Option<Value> {
        self.answers.try_recv().ok().map(|line| parsed(&line))
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = self.hear();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a method that succeeds.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        let mut answer = self.ask(method, params);
        assert!(answer.get("error").is_none(), "{method} {params}: {answer}");
        answer["result"].take()
    }

    /// Calls a method that fails, and returns its error code.
    pub(crate) fn fault(&mut self, method: &str, params: &Value) -> i64 {
        let answer = self.ask(method, params);
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method} {params}: {answer}"))
    }

    /// Asserts that the server is alive and answers in order.
    pub(crate) fn ping(&mut self) {
        assert_eq!(self.call("ping", &json!({})), json!({}));
    }

    /// Closes the server's input, which makes a healthy server exit.
    pub(crate) fn close(&mut self) -> Exit {
        self.input = None;
        self.ended()
    }

    pub(crate) fn ended(&mut self) -> Exit {
        self.exit(PATIENCE).expect("hung instead of ending")
    }

    fn exit(&mut self, patience: Duration) -> Option<Exit> {
        exit(&mut self.child, &self.errors, patience)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // After a clean exit there is nothing to kill and no error to report.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Collects a server's standard error.
pub(crate) fn errors(child: &mut Child) -> Receiver<String> {
    let mut pipe = child.stderr.take().expect("is piped");
    let (text, errors) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        drop(pipe.read_to_end(&mut bytes));
        drop(text.send(String::from_utf8_lossy(&bytes).into_owned()));
    });
    errors
}

/// Waits until the server exits, which closes its standard error.
pub(crate) fn exit(
    child: &mut Child,
    errors: &Receiver<String>,
    patience: Duration,
) -> Option<Exit> {
    let errors = errors.recv_timeout(patience).ok()?;
    let code = child.wait().expect("is a child").code();
    assert!(!errors.contains("panicked"), "{errors}");
    Some(Exit { code, errors })
}

/// Every answer is one line of JSON.
fn parsed(line: &[u8]) -> Value {
    let text = std::str::from_utf8(line).expect("is text");
    let text = text.strip_suffix('\n').unwrap_or_else(|| panic!("no whole line: {text}"));
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

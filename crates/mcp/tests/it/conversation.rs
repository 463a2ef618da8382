//! A conversation with a server over pipes. It writes what a test gives it and returns each answer
//! once.
//!
//! A separate thread reads the answers, so a test may write as much as it likes before reading one.
//! The tests of the binary have the same conversations with a process.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// How long a server may be silent before it counts as hung. No test measures time with it.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// What a client writes to; dropping it closes the server's input.
pub(crate) type Input = Box<dyn Write + Send>;

/// The server at the other end.
pub(crate) trait Peer {
    /// Describes how the server ended, for a test that did not expect it to.
    fn describe_end(&mut self) -> String;

    /// Ends the server because its client leaves, whose input may still be open.
    fn end(&mut self, input: Option<Input>);
}

pub(crate) struct Conversation<P: Peer> {
    pub(crate) peer: P,
    pub(crate) input: Option<Input>,
    answers: Receiver<Vec<u8>>,
    asked: u64,
    /// Task notifications received so far.
    pub(crate) tasks: Vec<Value>,
}

impl<P: Peer> Conversation<P> {
    /// Opens a conversation in which nothing has been said yet.
    pub(crate) fn open(
        peer: P,
        input: impl Write + Send + 'static,
        output: impl Read + Send + 'static,
    ) -> Conversation<P> {
        let (line, answers) = mpsc::channel();
        let mut output = BufReader::new(output);
        thread::spawn(move || {
            let mut answer = Vec::new();
            while matches!(output.read_until(b'\n', &mut answer), Ok(1..)) {
                if line.send(std::mem::take(&mut answer)).is_err() {
                    break;
                }
            }
        });
        Conversation { peer, input: Some(Box::new(input)), answers, asked: 0, tasks: Vec::new() }
    }

    /// Performs the handshake for this protocol version.
    pub(crate) fn greet(&mut self, version: &str, capabilities: &Value) {
        let params = json!({
            "protocolVersion": version,
            "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        });
        let answer = self.ask("initialize", &params);
        assert_eq!(answer["result"]["protocolVersion"], version, "{answer}");
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    }

    /// Writes raw bytes.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("is open");
        if let Err(error) = input.write_all(bytes).and_then(|()| input.flush()) {
            panic!("{error}: {}", self.peer.describe_end());
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
                Err(RecvTimeoutError::Disconnected) => panic!("gone: {}", self.peer.describe_end()),
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
}

impl<P: Peer> Drop for Conversation<P> {
    fn drop(&mut self) {
        self.peer.end(self.input.take());
    }
}

/// Every answer is one line of JSON.
fn parsed(line: &[u8]) -> Value {
    let text = std::str::from_utf8(line).expect("is text");
    let text = text.strip_suffix('\n').unwrap_or_else(|| panic!("no whole line: {text}"));
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

//! A client of `milepost mcp` over the pipes of a process.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::Place;
use crate::conversation::{Conversation, Input, PATIENCE, Peer};

/// The folder from which the server reads guides.
pub(crate) const GUIDES: &str = "guides";

pub(crate) type Client = Conversation<ServerProcess>;

pub(crate) struct ServerProcess {
    child: Child,
    /// All of standard error, available once the server has exited.
    errors: Receiver<String>,
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
        let output = child.stdout.take().expect("is piped");
        let input = child.stdin.take().expect("is piped");
        let errors = errors(&mut child);
        Conversation::open(ServerProcess { child, errors }, input, output)
    }

    /// Starts a server and performs the handshake that the contract prescribes.
    pub(crate) fn connect(place: &Place) -> Client {
        let mut client = Client::start(place);
        client.greet("2024-11-05", &json!({}));
        client
    }

    pub(crate) fn pid(&self) -> u32 {
        self.peer.child.id()
    }

    /// Closes the server's input, which makes a healthy server exit.
    pub(crate) fn close(&mut self) -> Exit {
        self.input = None;
        self.ended()
    }

    pub(crate) fn ended(&mut self) -> Exit {
        self.peer.exit().expect("hung instead of ending")
    }
}

impl ServerProcess {
    fn exit(&mut self) -> Option<Exit> {
        exit(&mut self.child, &self.errors, PATIENCE)
    }
}

impl Peer for ServerProcess {
    fn describe_end(&mut self) -> String {
        format!("{:?}", self.exit())
    }

    /// Kills a server that has not exited, before its input is closed.
    fn end(&mut self, input: Option<Input>) {
        // After a clean exit there is nothing to kill and no error to report.
        drop(self.child.kill());
        drop(self.child.wait());
        drop(input);
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

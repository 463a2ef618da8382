//! A server in a thread of the test, over pipes in memory.

use std::io::{self, Write};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::{panic, thread};

use milepost_mcp::workflows::{ToolStyle, WorkflowServer};
use milepost_mcp::{ServeError, SessionOptions, Surface, serve_process};

use crate::conversation::{Conversation, Input, PATIENCE, Peer};
use crate::place::Place;

pub(crate) type Client = Conversation<ServerThread>;

/// The thread that serves one client.
pub(crate) struct ServerThread {
    /// How serving ended, once it has.
    outcome: Receiver<Result<(), ServeError>>,
    has_ended: bool,
    log: Text,
}

/// How tools are shown by default: as the first line of a client suggests.
pub(crate) fn auto() -> ToolStyle {
    ToolStyle { surface: Surface::Auto, ..ToolStyle::default() }
}

impl Client {
    /// Starts a server, which waits for its first message.
    pub(crate) fn start(place: &Place, style: ToolStyle) -> Client {
        WATCHED.call_once(watch_panics);
        let (stdin, input) = io::pipe().expect("a pipe");
        let (output, stdout) = io::pipe().expect("a pipe");
        let log = Text::default();
        let (ended, outcome) = mpsc::channel();
        let server = WorkflowServer::new(place.operations(), style, Box::new(log.clone()));
        let options = SessionOptions { surface: style.surface, protocol: None };
        let remarks = log.clone();
        thread::Builder::new()
            .name(SERVER.to_owned())
            .spawn(move || {
                let outcome = serve_process(&server, options, stdin, stdout, remarks);
                drop(server);
                // A test that has failed does not wait for it.
                drop(ended.send(outcome));
            })
            .expect("starts");
        Conversation::open(ServerThread { outcome, has_ended: false, log }, input, output)
    }

    /// Closes the server's input and waits until it has ended well; returns its log.
    pub(crate) fn close(&mut self) -> String {
        self.input = None;
        self.ended()
    }

    /// Waits until the server has ended well; returns its log.
    pub(crate) fn ended(&mut self) -> String {
        let outcome = self.peer.wait();
        let log = self.peer.log.read();
        assert!(outcome.is_ok(), "{outcome:?}: {log}");
        log
    }
}

impl ServerThread {
    fn wait(&mut self) -> Result<(), ServeError> {
        self.has_ended = true;
        let outcome = self.outcome.recv_timeout(PATIENCE);
        let panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
        assert!(panics.is_empty(), "{panics:?}");
        drop(panics);
        outcome.expect("ends instead of hanging")
    }
}

impl Peer for ServerThread {
    fn describe_end(&mut self) -> String {
        format!("{:?}: {}", self.wait(), self.log.read())
    }

    /// Waits for the end, because the folder of a test must not be removed under its server.
    fn end(&mut self, input: Option<Input>) {
        drop(input);
        if !self.has_ended && !thread::panicking() {
            // It may fail to write to a client that has left.
            drop(self.wait());
        }
    }
}

/// A text that several threads write to.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Text {
    fn read(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The name of threads that serve.
const SERVER: &str = "server";

static WATCHED: Once = Once::new();
/// The panics of servers, which the threads of tests would not notice.
static PANICS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn watch_panics() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let thread = thread::current();
        let is_server = |name: &str| name == SERVER || name.starts_with("tokio-");
        if thread.name().is_some_and(is_server) {
            PANICS.lock().unwrap_or_else(PoisonError::into_inner).push(panic.to_string());
        }
        print(panic);
    }));
}

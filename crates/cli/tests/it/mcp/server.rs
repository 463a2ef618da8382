//! A running server: lines go in, lines come out, and nothing waits forever.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// How long an answer may take on a busy machine.
const ANSWER_MAX: Duration = Duration::from_mins(1);

pub(super) struct Server {
    child: Child,
    stdin: ChildStdin,
    lines: Receiver<String>,
    remarks: JoinHandle<String>,
}

/// The exit code, unread output and standard error of a server that has exited.
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) rest: Vec<String>,
    pub(super) remarks: String,
}

impl Server {
    pub(super) fn start(command: &mut Command) -> Server {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("starts");
        let stdin = child.stdin.take().expect("is piped");
        let stdout = child.stdout.take().expect("is piped");
        let mut stderr = child.stderr.take().expect("is piped");
        let (sender, lines) = channel();
        spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let line = line.expect("standard output is text");
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let remarks = spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).expect("standard error is text");
            text
        });
        Server { child, stdin, lines, remarks }
    }

    /// Sends raw bytes; returns whether the server could still read them.
    pub(super) fn send(&mut self, bytes: &[u8]) -> bool {
        self.stdin.write_all(bytes).and_then(|()| self.stdin.flush()).is_ok()
    }

    /// The next line, or `None` on timeout or end of output.
    pub(super) fn answer(&self) -> Option<String> {
        self.lines.recv_timeout(ANSWER_MAX).ok()
    }

    /// Closes the server's input and waits for it to exit.
    pub(super) fn end(mut self) -> Ended {
        drop(self.stdin);
        let mut rest = Vec::new();
        loop {
            match self.lines.recv_timeout(ANSWER_MAX) {
                Ok(line) => rest.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => self.child.kill().expect("can be ended"),
            }
        }
        let code = self.child.wait().expect("ends").code();
        let remarks = self.remarks.join().expect("was read");
        Ended { code, rest, remarks }
    }
}

//! Conversations, line by line: `transcripts/*.txt`.
//!
//! `##` opens a session (with its options), `>` marks a line from the client, `<` one from the
//! server, `!` one from the log, and `=` the point where the server exited. `UPDATE_EXPECT=1`
//! records the server's answers.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};

use expect_test::{ExpectFile, expect_file};
use milepost_mcp::{Contracts, Revision, SessionOptions, Surface, serve_stdio};

use super::Tools;

#[test]
fn lifecycle() {
    check(&expect_file!["transcripts/lifecycle.txt"], include_str!("transcripts/lifecycle.txt"));
}

#[test]
fn envelope() {
    check(&expect_file!["transcripts/envelope.txt"], include_str!("transcripts/envelope.txt"));
}

#[test]
fn syntax() {
    check(&expect_file!["transcripts/syntax.txt"], include_str!("transcripts/syntax.txt"));
}

#[test]
fn batches() {
    check(&expect_file!["transcripts/batches.txt"], include_str!("transcripts/batches.txt"));
}

#[test]
fn methods() {
    check(&expect_file!["transcripts/methods.txt"], include_str!("transcripts/methods.txt"));
}

#[test]
fn tools() {
    check(&expect_file!["transcripts/tools.txt"], include_str!("transcripts/tools.txt"));
}

/// Replays the conversations of a file and compares them.
fn check(file: &ExpectFile, transcript: &str) {
    let mut lines = transcript.lines().peekable();
    let mut actual = String::new();
    while let Some(line) = lines.next() {
        if !line.starts_with("##") {
            continue;
        }
        let mut said = VecDeque::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("##")) {
            said.extend(line.strip_prefix("> ").map(str::to_owned));
        }
        if !actual.is_empty() {
            actual.push('\n');
        }
        actual.push_str(line);
        actual.push('\n');
        actual.push_str(&held(options(line), said));
    }
    file.assert_eq(&actual);
}

/// The options named in a heading.
fn options(heading: &str) -> SessionOptions {
    let surface = match heading.contains("--surface auto") {
        true => Surface::Auto,
        false => Surface::Workflowlookup,
    };
    let protocol = heading.split_once("--protocol ").map(|(_, date)| &date[..10]);
    SessionOptions { surface, protocol: protocol.and_then(Revision::named) }
}

/// The transcript of a conversation, with all lines in the order in which they appeared.
fn held(options: SessionOptions, said: VecDeque<String>) -> String {
    let transcript = Arc::new(Mutex::new(String::new()));
    let mut client = Client { said, transcript: Arc::clone(&transcript) };
    let answers = Scribe { mark: "< ", transcript: Arc::clone(&transcript) };
    let log = Scribe { mark: "! ", transcript: Arc::clone(&transcript) };
    serve_stdio(&Contracts::guides(&Tools), options, &mut client, answers, log)
        .expect("nothing breaks");
    let mut transcript = transcript.lock().expect("nobody panics");
    transcript.push_str("=\n");
    client.said.iter().for_each(|line| transcript.extend(["> ", line, "\n"]));
    masked(&transcript)
}

/// Replaces values that differ from run to run.
fn masked(transcript: &str) -> String {
    let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
    let mut masked = transcript.replace(&version, "\"version\":\"<ours>\"");
    let ids: Vec<String> = masked
        .split("\"correlationId\":\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .filter(|id| id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .map(str::to_owned)
        .collect();
    for (index, id) in ids.iter().enumerate() {
        masked = masked.replace(id, &format!("<id {}>", index + 1));
    }
    masked
}

/// Returns one line per read, and records it.
struct Client {
    said: VecDeque<String>,
    transcript: Arc<Mutex<String>>,
}

impl Read for Client {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(line) = self.said.pop_front() else { return Ok(0) };
        self.transcript.lock().expect("nobody panics").extend(["> ", &line, "\n"]);
        let line = line + "\n";
        buffer[..line.len()].copy_from_slice(line.as_bytes());
        Ok(line.len())
    }
}

/// Records everything written to it.
struct Scribe {
    mark: &'static str,
    transcript: Arc<Mutex<String>>,
}

impl Write for Scribe {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        for line in String::from_utf8_lossy(buffer).lines() {
            self.transcript.lock().expect("nobody panics").extend([self.mark, line, "\n"]);
        }
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

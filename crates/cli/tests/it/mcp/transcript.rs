//! A transcript: the lines sent to a server, and the answers it must give.
//!
//! The start of each line in the file shows what the line is:
//!
//! - `> ` a line to send; if no answer follows it, none may arrive;
//! - `< ` the complete answer, compared as JSON;
//! - `~ ` a part of the answer: objects may have additional keys, `…` in a string matches any text,
//!   and an array that ends in `"…and more"` may continue;
//! - two spaces: a continuation of the previous line;
//! - `# ` a comment;
//! - `! ` an option, at the top: `guides` (files of `fixtures/guides` to serve), `args` (of
//!   `milepost mcp`), `env NAME=value`, `link` (a guide that is a link out of the directory),
//!   `locked` (files that cannot be read), `crlf` (line endings), `exit` (the exit code, 0 by
//!   default).
//!
//! `$VERSION` in an answer stands for the version of the program. In addition, every result of a
//! tool must match its description in `tools/list`, and standard output must contain nothing but
//! the answers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::differences::within;
use super::server::Server;
use super::tools::Tools;
use crate::Place;

/// Reported for a server that does not answer; nothing more is sent to it.
const SILENCE: &str = "no answer";

/// A parsed transcript file.
#[derive(Default)]
pub(crate) struct Transcript {
    name: String,
    guides: Vec<(String, String)>,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    links: Vec<String>,
    locked: Vec<String>,
    crlf: bool,
    exit: i32,
    exchanges: Vec<Exchange>,
}

struct Exchange {
    line: usize,
    sent: String,
    answer: Option<Answer>,
}

struct Answer {
    is_whole: bool,
    text: String,
}

impl Transcript {
    pub(super) fn read(name: &str) -> Transcript {
        let path = tests().join("transcripts").join(name);
        let mut transcript = Transcript { name: name.to_owned(), ..Transcript::default() };
        transcript.arguments = vec!["--surface".to_owned(), "workflowlookup".to_owned()];
        let text = fs::read_to_string(path).expect(name);
        for (index, line) in text.lines().enumerate() {
            transcript.line(index + 1, line);
        }
        transcript
    }

    /// The exchanges on a documentation page, whose answers are partial, with the guide they use.
    pub(crate) fn of_page(name: &str, guide: (&str, &str), lines: &str) -> Transcript {
        let mut transcript = Transcript { name: name.to_owned(), ..Transcript::default() };
        transcript.arguments = vec!["--surface".to_owned(), "workflowlookup".to_owned()];
        transcript.guides.push((guide.0.to_owned(), guide.1.to_owned()));
        for (index, line) in lines.lines().enumerate() {
            match line.strip_prefix("< ") {
                Some(answer) => transcript.line(index + 1, &format!("~ {answer}")),
                None => transcript.line(index + 1, line),
            }
        }
        transcript
    }

    pub(super) fn exchanges(&self) -> usize {
        self.exchanges.len()
    }

    fn line(&mut self, number: usize, line: &str) {
        let (mark, rest) = line.split_at_checked(2).unwrap_or((line, ""));
        match mark {
            ">" | "> " => {
                self.exchanges.push(Exchange { line: number, sent: rest.to_owned(), answer: None });
            }
            "< " | "~ " => {
                let last = self.exchanges.last_mut().expect("an answer follows what was sent");
                let before =
                    last.answer.replace(Answer { is_whole: mark == "< ", text: rest.to_owned() });
                assert!(before.is_none(), "{}:{number}: a second answer", self.name);
            }
            "  " => {
                let last = self.exchanges.last_mut().expect("there is a line to go on with");
                let text = last.answer.as_mut().map_or(&mut last.sent, |answer| &mut answer.text);
                text.push_str(rest.trim_start());
            }
            "! " => self.option(rest),
            "" | "#" | "# " => {}
            _ => panic!("{}:{number}: unknown mark: {line}", self.name),
        }
    }

    fn option(&mut self, option: &str) {
        let mut words = option.split(' ').map(str::to_owned);
        match words.next().as_deref() {
            Some("guides") => self.guides.extend(words.map(|name| (name.clone(), fixture(&name)))),
            Some("args") => self.arguments = words.collect(),
            Some("env") => self.environment.extend(words.map(|word| {
                let (name, value) = word.split_once('=').expect("is NAME=value");
                (name.to_owned(), value.to_owned())
            })),
            Some("link") => self.links.extend(words),
            Some("locked") => self.locked.extend(words),
            Some("crlf") => self.crlf = true,
            Some("exit") => self.exit = words.next().expect("a code").parse().expect("a number"),
            _ => panic!("{}: unknown option: {option}", self.name),
        }
    }

    /// Plays the transcript against the real binary; there must be no differences.
    pub(super) fn play(&self) {
        let faults = self.faults();
        assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    }

    /// Plays the transcript against the real binary and reports all differences.
    pub(crate) fn faults(&self) -> Vec<String> {
        let place = Place::new();
        let Some(locks) = self.prepare(&place) else {
            return Vec::new();
        };
        let tools = Tools::listed(&mut self.command(&place), self.version());
        let mut server = Server::start(&mut self.command(&place));
        let mut faults = Vec::new();
        for exchange in &self.exchanges {
            let found = self.play_one(exchange, &mut server, &tools);
            if !found.is_empty() {
                let Exchange { line, sent, .. } = exchange;
                faults.push(format!("{}:{line}: {}\n> {sent}", self.name, found.join("\n")));
            }
            if found == [SILENCE] {
                break;
            }
        }
        let ended = server.end();
        drop(locks);
        faults.extend(ended.rest.iter().map(|line| format!("nobody asked for this: {line}")));
        if ended.code != Some(self.exit) {
            faults.push(format!("the exit code is {:?}, not {}", ended.code, self.exit));
        }
        if !faults.is_empty() || ended.remarks.contains("panicked") {
            faults.push(format!("stderr: {}", ended.remarks));
        }
        faults
    }

    fn play_one(&self, exchange: &Exchange, server: &mut Server, tools: &Tools) -> Vec<String> {
        let end = if self.crlf { "\r\n" } else { "\n" };
        if !server.send(format!("{}{end}", exchange.sent).as_bytes()) {
            return vec!["the server is gone".to_owned()];
        }
        let Some(expected) = &exchange.answer else {
            return Vec::new();
        };
        let Some(line) = server.answer() else {
            return vec![SILENCE.to_owned()];
        };
        let Ok(actual) = serde_json::from_str::<Value>(&line) else {
            return vec![format!("no JSON: {line}")];
        };
        let wanted = expected.text.replace("$VERSION", env!("CARGO_PKG_VERSION"));
        let wanted: Value = serde_json::from_str(&wanted)
            .unwrap_or_else(|error| panic!("{}:{}: {error}", self.name, exchange.line));
        let mut faults = match expected.is_whole {
            true if wanted == actual => Vec::new(),
            true => vec![format!("the answer is not exactly {wanted}")],
            false => within(&wanted, &actual),
        };
        if let Ok(sent) = serde_json::from_str(&exchange.sent) {
            faults.extend(tools.faults(&sent, &actual));
        }
        if !faults.is_empty() {
            faults.push(format!("< {line}"));
        }
        faults
    }

    /// Creates the files of the transcript; `None` if the system does not support one of its
    /// options.
    fn prepare(&self, place: &Place) -> Option<Vec<Lock>> {
        for (name, text) in &self.guides {
            place.put(&format!("guides/{name}"), text);
        }
        for name in &self.links {
            place.put(&format!("outside/{name}"), &fixture(name));
            let (to, from) = (format!("outside/{name}"), format!("guides/{name}"));
            match link(&place.path(&to), &place.path(&from)) {
                Err(error) if error.kind() == io::ErrorKind::Unsupported => return None,
                made => made.expect("can be linked"),
            }
        }
        self.locked.iter().map(|name| Lock::new(&place.path(&format!("guides/{name}")))).collect()
    }

    fn command(&self, place: &Place) -> Command {
        let mut command = place.command();
        command
            .arg("mcp")
            .args(&self.arguments)
            .env("REGISTRY_CONFIG_PATH", place.path("config/config.toml"))
            .env("WORKFLOW_STORAGE_PATH", place.path("guides"))
            .envs(self.environment.iter().cloned());
        command
    }

    /// The revision that the server was restricted to, or one that every server supports.
    fn version(&self) -> &str {
        let mut words = self.arguments.iter().skip_while(|word| *word != "--protocol").skip(1);
        words.next().map_or("2024-11-05", String::as_str)
    }
}

/// Makes a path unreadable until this is dropped.
struct Lock {
    #[cfg(unix)]
    path: PathBuf,
    #[cfg(unix)]
    before: fs::Permissions,
}

#[cfg(unix)]
impl Lock {
    /// Returns `None` if the path can still be read, as by root.
    fn new(path: &Path) -> Option<Lock> {
        use std::os::unix::fs::PermissionsExt;
        let before = fs::metadata(path).expect("is there").permissions();
        fs::set_permissions(path, fs::Permissions::from_mode(0o000)).expect("can be locked");
        let lock = Lock { path: path.to_owned(), before };
        let is_open = fs::read_dir(path).is_ok() || fs::read(path).is_ok();
        (!is_open).then_some(lock)
    }
}

#[cfg(unix)]
impl Drop for Lock {
    fn drop(&mut self) {
        fs::set_permissions(&self.path, self.before.clone()).expect("can be unlocked");
    }
}

#[cfg(not(unix))]
impl Lock {
    fn new(_: &Path) -> Option<Lock> {
        None
    }
}

#[cfg(unix)]
fn link(original: &Path, link: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(original, link)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

fn fixture(name: &str) -> String {
    fs::read_to_string(tests().join("fixtures/guides").join(name)).expect(name)
}

/// The names of all transcripts.
pub(super) fn names() -> Vec<String> {
    let files = fs::read_dir(tests().join("transcripts")).expect("reads");
    let names = files.map(|file| file.expect("reads").file_name().into_string());
    let mut names: Vec<String> = names.map(|name| name.expect("is text")).collect();
    names.sort();
    names
}

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

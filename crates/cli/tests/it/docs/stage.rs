//! A page played from top to bottom: its folder, its servers, and the preparation of each line.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::block::Block;
use super::prepared;
use crate::server::Server;
use crate::{Place, Ran, finish};

/// Commonly available programs that a page may use.
const USUAL: &[&str] = &["mkdir", "mv"];
/// Lines that need a checkout, and why they are not run here; other tests cover them.
const OUTSIDE: &[(&str, &str)] = &[
    ("cargo run --release -- ", "`readme.rs` runs what is behind it with the binary of this build"),
    ("cargo xtask test", "runs this test"),
    ("cargo xtask package", "a stage of `cargo xtask test` makes and installs a package"),
    ("cargo install --path crates/cli", "builds the binary of this build once more"),
    ("npm install ", "a stage of `cargo xtask test` installs what was packed"),
    ("npx milepost ", "a stage of `cargo xtask test` runs what was packed"),
];

/// A page being played.
pub(super) struct Stage {
    pub(super) page: String,
    pub(super) place: Place,
    /// The API of the page, kept running while the page is played.
    pub(super) api: Option<Server>,
    /// The last answer of a tool, with its heading.
    pub(super) answered: Option<(String, serde_json::Value)>,
    serving: Vec<Child>,
    /// Strings of the page and their replacements.
    names: Vec<(String, String)>,
}

impl Stage {
    pub(super) fn new(page: &str) -> Stage {
        let (page, place) = (page.to_owned(), Place::new());
        let (serving, names) = (Vec::new(), Vec::new());
        let mut stage = Stage { page, place, api: None, answered: None, serving, names };
        prepared::begin(&mut stage);
        stage
    }

    /// Runs every line of a block; each must exit with 0, or with the code that the line states.
    pub(super) fn typed(&mut self, block: &Block) -> Vec<String> {
        let mut faults = Vec::new();
        for line in block.body.replace("\\\n", "").lines() {
            let first = line.split_whitespace().next().unwrap_or("#");
            let outside = OUTSIDE.iter().any(|(begin, _)| line.starts_with(begin));
            if first.starts_with('#') || outside {
                continue;
            }
            let ours = line.starts_with("milepost") || line.contains("| milepost ");
            if !ours && !USUAL.contains(&first) {
                faults.push(format!("nobody runs `{line}`"));
                continue;
            }
            let (line, code) = (prepared::before(self, &self.named(line)), code(line));
            if serves(&line) {
                self.serve(&line);
                continue;
            }
            let ran = self.shell(&line);
            if ran.code != code {
                let Ran { code, out, err } = ran;
                faults.push(format!("$ {line}\n--- exit code {code}\n{out}{err}"));
            }
        }
        faults
    }

    /// Runs every line that starts with `$`, and compares its output with the following lines of
    /// the block.
    pub(super) fn compared(&mut self, block: &Block) -> Vec<String> {
        let mut faults = Vec::new();
        let body = self.named(&block.body);
        for session in format!("\n{body}").split("\n$ ").skip(1) {
            let (line, shown) = session.split_once('\n').unwrap_or((session, ""));
            let (ran, code) = match serves(line) {
                true => (Ran { code: 0, out: self.serve(line), err: String::new() }, 0),
                false => (self.shell(&prepared::before(self, line)), code(line)),
            };
            let refused = shown.starts_with("error[") && ran.out.is_empty();
            let found = if refused { &ran.err } else { &ran.out };
            let (shown, found) = (self.place.tidy(shown), self.place.tidy(found));
            if !fits(&shown, &found) || (ran.code != code && !(refused && ran.code > 0)) {
                let Ran { code, err, .. } = ran;
                faults.push(format!(
                    "$ {line}\n--- the page\n{shown}\n--- found, exit code {code}\n{found}{err}"
                ));
            }
        }
        faults
    }

    /// Runs a line in a shell in which `milepost` is available.
    fn shell(&self, line: &str) -> Ran {
        // A person's decision is typed at a terminal and confirmed there.
        let decides = line.starts_with("milepost decide");
        if decides || line.contains(" --set ") || line.contains(" --budget ") {
            let mut command = Command::new("script");
            return finish(self.here(command.args(["-qec", line, "/dev/null"])), "y\n");
        }
        finish(&mut self.shell_command(line), "")
    }

    fn shell_command(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        self.here(command.args(["-c", line]));
        command
    }

    fn here<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let binary = Path::new(env!("CARGO_BIN_EXE_milepost")).parent().expect("a folder");
        command
            .current_dir(self.place.path(""))
            .env_clear()
            .env("HOME", self.place.root.path().join("home"))
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", binary.display()))
            .env("COLUMNS", "100")
            // Examples must not wait for a minute.
            .env("MILEPOST_ARRIVES_MS", "0")
    }

    /// Starts a command that the page runs in another terminal, on any port, and returns its first
    /// line.
    fn serve(&mut self, line: &str) -> String {
        let (before, after) = line.split_once("--port ").expect("a server says its port");
        let port: String = after.chars().take_while(char::is_ascii_digit).collect();
        let line = format!("exec {before}--port 0{}", &after[port.len()..]);
        let mut command = self.shell_command(&line);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("starts");
        let mut told = String::new();
        let out = child.stdout.take().expect("is piped");
        BufReader::new(out).read_line(&mut told).expect("is text");
        self.serving.push(child);
        let address = told.strip_prefix("http://").and_then(|rest| rest.split('/').next());
        let address = address.expect("an address").trim_end().to_owned();
        if port != "0" {
            self.names.push((format!("127.0.0.1:{port}"), address));
        }
        told
    }

    /// Replaces the names used on the page with the actual ones.
    fn named(&self, text: &str) -> String {
        let names = self.names.iter();
        names.fold(text.to_owned(), |text, (there, here)| text.replace(there, here))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for child in &mut self.serving {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

/// Whether a command runs until it is stopped.
fn serves(line: &str) -> bool {
    line.starts_with("milepost serve") || line.starts_with("milepost catalog mock")
}

/// The exit code that a line states.
fn code(line: &str) -> i32 {
    let stated = line.split_once("# exit code ").map(|(_, code)| code.trim());
    stated.map_or(0, |code| code.parse().expect("a number"))
}

/// Whether output matches what the page shows; `…` stands for anything.
fn fits(shown: &str, found: &str) -> bool {
    let mut rest = found.trim_end();
    let mut parts = shown.trim_end().split('…');
    let first = parts.next().unwrap_or_default();
    let Some(after) = rest.strip_prefix(first) else {
        // A trailing `…` may stand for nothing.
        return shown.trim_end().ends_with('…') && rest == first.trim_end();
    };
    rest = after;
    let mut open = false;
    for part in parts {
        open = true;
        if part.trim().is_empty() {
            continue;
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        open = shown.trim_end().ends_with('…');
    }
    open || rest.is_empty()
}

#[test]
fn anything_fits_where_the_page_leaves_out() {
    assert!(fits("a\n…\n", "a\nb\nc\n"));
    assert!(fits("{\"a\":…,\"b\":2}", "{\"a\":1,\"b\":2}"));
    assert!(!fits("{\"a\":…,\"b\":3}", "{\"a\":1,\"b\":2}"));
    assert!(!fits("a\n", "a\nb\n"));
}

#[test]
fn a_line_says_how_it_ends() {
    assert_eq!((code("milepost runs"), code("milepost run x  # exit code 3")), (0, 3));
}

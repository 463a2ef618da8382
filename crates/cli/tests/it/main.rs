//! Tests of the real binary in isolation: its own home and working directory, and no colours.

mod agent;
mod canary;
mod canary_runs;
mod catalog;
mod client;
mod command;
mod commands;
mod config;
#[path = "../../../mcp/tests/it/conversation.rs"]
mod conversation;
mod corpus;
mod crash;
mod data;
mod demo;
mod docs;
mod doctor;
mod early;
mod endings;
mod faults;
mod forecast;
mod hold;
#[cfg(unix)]
mod hostile_clone;
mod init;
mod inputs;
mod install;
mod journals;
#[cfg(target_os = "linux")]
mod kills;
mod lapsed;
mod log;
mod mcp;
mod mock;
mod no_repetition;
#[cfg(feature = "otlp")]
mod otlp;
mod outputs;
mod pages;
mod prompts;
#[cfg(unix)]
mod provoked;
mod quiet;
mod raw;
mod rendering;
mod robust;
mod rogue;
mod runs;
mod screens;
mod sealed_inputs;
mod secret;
mod sent;
mod serve;
mod server;
mod shells;
mod side_by_side;
#[cfg(target_os = "linux")]
mod sleeping;
mod snapshots;
mod status;
#[cfg(unix)]
mod stopped;
mod storage;
#[path = "../../../mcp/tests/it/tool_client.rs"]
mod tool_client;
mod trust;
mod validate;
mod validation;
mod walks;
mod workflow_files;
#[cfg(unix)]
mod worlds;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A valid manifest.
const SOUND: &str = "workflow: sound\nsteps: [{id: a, prompt: Look}]\n";
/// A manifest with one mistake that can be fixed.
const SLIP: &str = "workflow: slip # keep\nsteps:\n  - id: a # keep me too\n    promt: Look\n";

/// An isolated folder to run the binary in.
struct Place {
    root: TempDir,
}

/// The result of running the binary.
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl Place {
    fn new() -> Place {
        let root = tempfile::tempdir().expect("makes a directory");
        fs::create_dir(root.path().join("work")).expect("makes a folder");
        Place { root }
    }

    fn with(files: &[(&str, &str)]) -> Place {
        let place = Place::new();
        for (name, text) in files {
            place.put(name, text);
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("work").join(name)
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("has a parent")).expect("makes the folder");
        fs::write(path, text).expect("writes");
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("reads")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_milepost"));
        command
            .current_dir(self.path(""))
            .env_clear()
            .env("HOME", self.root.path().join("home"))
            .env("NO_COLOR", "1")
            // Answers are accepted immediately, except where a test needs a delay.
            .env("MILEPOST_ARRIVES_MS", "0")
            .env("COLUMNS", "80");
        command
    }

    fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Ran {
        finish(self.command().args(arguments), "")
    }

    /// Runs `milepost workflow` with arguments separated by spaces.
    fn workflow(&self, arguments: &str) -> Ran {
        self.run(["workflow"].into_iter().chain(arguments.split(' ')))
    }

    fn workflow_of(&self, arguments: &str, input: &str) -> Ran {
        let mut command = self.command();
        finish(command.arg("workflow").args(arguments.split(' ')), input)
    }
}

/// Another program, which may start the binary. Its environment is empty except for the search
/// path: the tests may themselves be run by an agent, whose variables would make the binary refuse
/// what only a person may do.
fn program(name: &str) -> Command {
    let mut command = Command::new(name);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

fn finish(command: &mut Command, input: &str) -> Ran {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().expect("starts");
    let mut stdin = child.stdin.take().expect("is piped");
    // A command that does not read its input may exit before the input is written.
    drop(stdin.write_all(input.as_bytes()));
    drop(stdin);
    let output = child.wait_with_output().expect("ends");
    Ran {
        code: output.status.code().expect("is not killed"),
        out: String::from_utf8(output.stdout).expect("is text"),
        err: String::from_utf8(output.stderr).expect("is text"),
    }
}

impl Ran {
    /// Asserts the exit code.
    fn ends(self, code: i32) -> Ran {
        assert_eq!(self.code, code, "out: {}\nerr: {}", self.out, self.err);
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }

    /// Asserts that standard error is empty.
    fn quiet(self) -> Ran {
        assert_eq!(self.err, "");
        self
    }

    /// Standard output, parsed as JSON.
    fn json(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|error| unreachable!("{error}: {}", self.out))
    }
}

/// The file name of a path.
fn base(path: &Value) -> &str {
    let path = Path::new(path.as_str().expect("is text"));
    path.file_name().and_then(OsStr::to_str).expect("has a name")
}

//! `milepost completions`: shell completion scripts.

use clap::CommandFactory;
use serde_json::json;

use crate::args::{CliArgs, CompletionsArgs};
use crate::failure::CommandResult;
use crate::terminal::Terminal;

pub(crate) fn run(args: &CompletionsArgs, terminal: &mut Terminal) -> CommandResult {
    let mut bytes = Vec::new();
    // This builds every command, deferred ones included.
    clap_complete::generate(args.shell, &mut CliArgs::command(), "milepost", &mut bytes);
    let script = String::from_utf8_lossy(&bytes);
    let response = json!({"shell": args.shell.to_string(), "script": script});
    terminal.answer(&response, |terminal| terminal.raw(&bytes))
}

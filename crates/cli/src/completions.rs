//! `milepost completions`: what lets a shell complete these commands.

use clap::CommandFactory;
use serde_json::json;

use crate::args::{Arguments, Completions};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::print;
use crate::terminal::Terminal;

pub(crate) fn run(arguments: &Completions, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let mut bytes = Vec::new();
    // Every command is made for this, also those that are made only when they are given.
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "milepost", &mut bytes);
    let script = String::from_utf8_lossy(&bytes);
    if arguments.json.json {
        let shell = arguments.shell.to_string();
        print(&json!({"shell": shell, "script": script}), terminal)?;
    } else {
        terminal.exact(&script)?;
    }
    Ok(Exit::Done)
}

//! `milepost`: arguments in, words out. Everything that decides anything is in the crates below.

mod args;
mod catalog;
mod command;
mod diagnostics;
mod exit;
mod failure;
mod guide;
mod inputs;
mod mcp;
mod person;
mod schema;
mod secret;
mod session;
mod table;
mod target;
mod terminal;
mod workflow;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Arguments, Command};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::Terminal;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut terminal = Terminal::new();
    let exit = match run(&arguments, &mut terminal) {
        Ok(exit) => exit,
        Err(failure) => failure.show(&mut terminal, arguments.json()),
    };
    ExitCode::from(exit.code())
}

fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Workflow(command) => workflow::run(command, terminal),
        Command::Guide(command) => guide::run(command, terminal),
        Command::Catalog(command) => catalog::run(command, terminal),
        Command::Api(command) => command::run(command, terminal),
        Command::Secret(command) => secret::run(command, terminal),
        Command::Mcp(arguments) => mcp::run(arguments),
        Command::Schema { of } => schema::run(*of, terminal),
    }
}

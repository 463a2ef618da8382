//! `milepost`: arguments in, words out. Everything that decides anything is in the crates below.

mod args;
mod catalog;
mod command;
mod completions;
mod config;
mod deferred;
mod demo;
mod diagnostics;
mod docs;
mod doctor;
mod exit;
mod failure;
mod guide;
mod hidden;
mod init;
mod inputs;
mod install;
mod limits;
mod log;
mod manual;
mod mcp;
mod person;
mod prose;
mod run;
mod schema;
mod secret;
mod serve;
mod session;
mod spinner;
mod status;
mod table;
mod target;
mod terminal;
mod wording;
mod workflow;

use std::process::ExitCode;

use crate::args::{Arguments, Command};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::Terminal;

/// A server frees on one thread what it got on another, all day: this one is made for that, and is
/// the same on every system, a static build included.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::typed();
    // Tests see what becomes of runs whose texts break a rule of a later version.
    #[cfg(debug_assertions)]
    if std::env::var_os("MILEPOST_ADDED_RULE").is_some() {
        milepost_model::check::added_rule::add();
    }
    if arguments.every.quiet {
        terminal::be_quiet();
    }
    let mut terminal = Terminal::new();
    // Kept to the end: what was logged last is written when it goes.
    let (_log, done) = match log::begin(&arguments.every.log) {
        Ok(log) => (log, dispatch(&arguments, &mut terminal)),
        Err(failure) => (None, Err(failure)),
    };
    let exit = match done {
        Ok(exit) => exit,
        Err(failure) => failure.show(&mut terminal, arguments.json()),
    };
    ExitCode::from(exit.code())
}

fn dispatch(arguments: &Arguments, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let Some(command) = &arguments.command else {
        return status::run(arguments.status.json, terminal);
    };
    match command {
        Command::Workflow(command) => workflow::run(command, terminal),
        Command::Guide(command) => guide::run(command, terminal),
        Command::Catalog(command) => catalog::run(command, terminal),
        Command::Api(command) => command::run(command, terminal),
        Command::Secret(command) => secret::run(command, terminal),
        Command::Run(arguments) => run::start(arguments, terminal),
        Command::Runs(arguments) => run::runs(arguments, terminal),
        Command::Show(arguments) => run::show(arguments, terminal),
        Command::Logs(arguments) => run::logs(arguments, terminal),
        Command::Cancel(arguments) => run::cancel(arguments, terminal),
        Command::Pause(arguments) => run::pause(arguments, terminal),
        Command::Resume(arguments) => run::resume(arguments, terminal),
        Command::Inbox(arguments) => run::inbox(arguments, terminal),
        Command::Approve(arguments) => run::verdict(arguments, true, terminal),
        Command::Reject(arguments) => run::verdict(arguments, false, terminal),
        Command::Decide(arguments) => run::decide(arguments, terminal),
        Command::Submit(arguments) => run::submit(arguments, terminal),
        Command::Backup(arguments) => run::backup(arguments, terminal),
        Command::Restore(arguments) => run::restore(arguments, terminal),
        Command::Inputs(command) => run::forget(command, terminal),
        Command::Person(command) => run::person(command, terminal),
        Command::Mcp(arguments) => mcp::run(arguments, terminal),
        Command::Serve(arguments) => serve::run(arguments, terminal),
        Command::Demo(arguments) => demo::run(arguments, terminal),
        Command::Init(arguments) => init::run(arguments, terminal),
        Command::Doctor(arguments) => doctor::run(arguments, terminal),
        Command::Config(command) => config::run(command, terminal),
        Command::Docs(arguments) => docs::run(arguments, terminal),
        Command::Completions(arguments) => completions::run(arguments, terminal),
        Command::Man(arguments) => manual::run(arguments, terminal),
        Command::Schema(arguments) => schema::run(arguments, terminal),
    }
}

//! `milepost`: parses arguments, calls operations and prints their results. Decisions are made in
//! the lower crates.

mod args;
mod argument_values;
mod calling_agent;
mod catalog;
mod command;
mod config;
mod deferred_args;
mod demo;
mod diagnostics;
mod docs;
mod doctor;
mod document;
mod environment;
mod exit;
mod failure;
mod guide;
mod init;
mod install;
mod limits;
mod log;
mod manual;
mod policy;
mod run;
mod schema;
mod secret;
mod server;
mod session;
mod status;
mod table;
mod terminal;
mod terminal_user;
mod trust;
mod tty;
mod wording;
mod workflow;
mod wrap;

use std::process::ExitCode;

use crate::args::{CliArgs, CliCommand};
use crate::failure::CliResult;
use crate::terminal::Terminal;

/// A server constantly allocates on one thread and frees on another. mimalloc is designed for that
/// and behaves the same on every system, including static builds.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = CliArgs::from_command_line();
    // Lets tests check runs whose workflows violate a rule that a later version added.
    #[cfg(debug_assertions)]
    if std::env::var_os("MILEPOST_ADDED_RULE").is_some() {
        milepost_model::check::added_rule::add();
    }
    if args.global.quiet {
        terminal::set_quiet();
    }
    let mut terminal = Terminal::new(args.global.json);
    // Kept until the end, because dropping it flushes the log.
    let (_log, result) = match log::begin(&args.global.log) {
        Ok(log) => (log, dispatch(&args, &mut terminal)),
        Err(failure) => (None, Err(failure)),
    };
    let result = result.and_then(|exit| terminal.check_output().map(|()| exit));
    let exit = result.unwrap_or_else(|failure| failure.show(&mut terminal));
    ExitCode::from(exit.code())
}

fn dispatch(args: &CliArgs, terminal: &mut Terminal) -> CliResult {
    let Some(command) = &args.command else {
        return status::run(terminal);
    };
    match command {
        CliCommand::Workflow(command) => workflow::run(command, terminal),
        CliCommand::Guide(command) => guide::run(command, terminal),
        CliCommand::Catalog(command) => catalog::run(command, terminal),
        CliCommand::Api(command) => command::run(command, terminal),
        CliCommand::Secret(command) => secret::run(command, terminal),
        CliCommand::Run(args) => run::start(args, terminal),
        CliCommand::Runs(args) => run::runs(args, terminal),
        CliCommand::Show(args) => run::show(args, terminal),
        CliCommand::Logs(args) => run::logs(args, terminal),
        CliCommand::Cancel(args) => run::cancel(args, terminal),
        CliCommand::Pause(args) => run::pause(args, terminal),
        CliCommand::Resume(args) => run::resume(args, terminal),
        CliCommand::Inbox(args) => run::inbox(args, terminal),
        CliCommand::Approve(args) => run::answer(args, true, terminal),
        CliCommand::Reject(args) => run::answer(args, false, terminal),
        CliCommand::Decide(args) => run::decide(args, terminal),
        CliCommand::Submit(args) => run::submit(args, terminal),
        CliCommand::Backup(args) => run::backup(args, terminal),
        CliCommand::Restore(args) => run::restore(args, terminal),
        CliCommand::Inputs(command) => run::forget(command, terminal),
        CliCommand::Policy(args) => policy::run(args, terminal),
        CliCommand::Trust(args) => trust::run(args, terminal),
        CliCommand::Untrust => trust::forget(terminal),
        CliCommand::Grants(args) => trust::grants(args, terminal),
        CliCommand::Person(_) => run::set_pin(terminal),
        CliCommand::Mcp(args) => server::stdio::run(args, terminal),
        CliCommand::Serve(args) => server::http::run(args, terminal),
        CliCommand::Demo(args) => demo::run(args, terminal),
        CliCommand::Init(args) => init::run(args, terminal),
        CliCommand::Doctor(args) => doctor::run(args, terminal),
        CliCommand::Config(command) => config::run(command, terminal),
        CliCommand::Docs(args) => docs::run(args, terminal),
        CliCommand::Completions(args) => manual::completions(args, terminal),
        CliCommand::Man(args) => manual::run(args, terminal),
        CliCommand::Schema(args) => schema::run(args, terminal),
    }
}

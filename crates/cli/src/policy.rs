//! `milepost policy check`: what writes need before they are sent, and which line decides.

use clap::{Args, Subcommand};
use milepost_ops::policy::{self, PolicyReport, PolicyVerdict};

use crate::environment;
use crate::failure::CliResult;
use crate::terminal::{Terminal, safe};

#[derive(Debug, Args)]
pub(crate) struct PolicyArgs {
    #[command(subcommand)]
    pub(crate) command: PolicyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Show what a command or a workflow needs before it writes, and which line decides
    #[command(after_help = "Examples: milepost policy check refund-order\n          \
        milepost policy check shop orders:delete")]
    Check(CheckArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// The id of a workflow, or a catalog and one of its commands
    #[arg(required = true, num_args = 1..=2)]
    pub(crate) target: Vec<String>,
}

pub(crate) fn run(args: &PolicyArgs, terminal: &mut Terminal) -> CliResult {
    let PolicyCommand::Check(args) = &args.command;
    let writer = environment::writer(None)?;
    let report = policy::check(&writer, &args.target.join(" "))?;
    terminal.answer(&report, |terminal| show(&report, terminal))
}

fn show(report: &PolicyReport, terminal: &mut Terminal) {
    match report.reviewed {
        Some(true) => terminal.remark(format!("`{}` was reviewed", safe(&report.target))),
        Some(false) => terminal.remark(format!("`{}` was not reviewed", safe(&report.target))),
        None => {}
    }
    if report.writes.is_empty() {
        return terminal.line("nothing is written");
    }
    let words = |verdict: &PolicyVerdict| format!("{} ({})", verdict.writes, verdict.by);
    let rows = report
        .writes
        .iter()
        .map(|line| vec![safe(&line.write), words(&line.person), words(&line.agent)]);
    terminal.table(&["write", "a person", "an agent"], rows);
}

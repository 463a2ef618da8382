//! `milepost runs purge`, `inputs forget`, `backup` and `restore`.

use milepost_model::duration::Period;
use milepost_model::problem::{Code, Problem};
use milepost_ops::run::retention::{
    BackupRequest, BackupRuns, ForgetInputs, ForgetRequest, ForgottenInput, PurgeRequest,
    PurgeRuns, RestoreRequest, RestoreRuns,
};

use super::args::{BackupArgs, InputsCommand, PurgeArgs, RestoreRunsArgs};
use crate::failure::CliResult;
use crate::session::{CliSession, call};
use crate::terminal::{Terminal, count, safe};

pub(super) fn purge(args: &PurgeArgs, terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open_confirmed(args.yes, terminal)?;
    let report = session.run::<PurgeRuns>(PurgeRequest {
        older_than_s: args.older_than.as_deref().map(seconds).transpose()?,
        workflow_id: args.workflow.clone(),
        all_workspaces: args.all,
        dry_run: args.dry_run,
    })?;
    terminal.answer(&report, |terminal| {
        let (verb, freed) = match args.dry_run {
            true => ("would be removed", String::new()),
            false if report.bytes_freed == 0 => ("removed", String::new()),
            false => ("removed", format!(", {} freed", count(report.bytes_freed, "byte"))),
        };
        let of = match report.projects {
            0 | 1 => String::new(),
            more => format!(" in {more} folders"),
        };
        terminal.line(format!("{}{of} {verb}{freed}", count(report.runs, "run")));
    })
}

fn seconds(period: &str) -> CliResult<u64> {
    let parsed = Period::parse(period).ok_or_else(|| {
        let message = format!("`{period}` is not a valid duration");
        Problem::new(Code::ParamsInvalid, message, "write it as `30d` or `12h`")
    })?;
    Ok(parsed.0.as_secs())
}

pub(crate) fn forget(command: &InputsCommand, terminal: &mut Terminal) -> CliResult {
    let InputsCommand::Forget(args) = command;
    let session = CliSession::open_confirmed(args.yes, terminal)?;
    let (workflow_id, input_keys) = (args.workflow.clone(), args.input.clone());
    let response = session.run::<ForgetInputs>(ForgetRequest { workflow_id, input_keys })?;
    terminal.answer(&response, |terminal| {
        for ForgottenInput { workflow_id, input_key, values } in &response.entries {
            terminal.line(format!("{workflow_id}  {input_key}  {values}"));
        }
        terminal.line(format!("{} forgotten", count(response.removed, "value")));
    })
}

pub(crate) fn backup(args: &BackupArgs, terminal: &mut Terminal) -> CliResult {
    let to = args.to.to_string_lossy().into_owned();
    let response = call::<BackupRuns>(BackupRequest { to }, terminal)?;
    terminal.answer(&response, |terminal| {
        terminal.line(format!("copied all runs to {}", safe(&response.path)));
    })
}

pub(crate) fn restore(args: &RestoreRunsArgs, terminal: &mut Terminal) -> CliResult {
    let from = args.from.to_string_lossy().into_owned();
    let response = call::<RestoreRuns>(RestoreRequest { from }, terminal)?;
    terminal.answer(&response, |terminal| {
        terminal.line(format!("{} restored", count(response.runs, "run")));
    })
}

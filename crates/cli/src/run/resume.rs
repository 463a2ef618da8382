//! `milepost resume`: first shows what is kept and what will run.

use std::collections::BTreeMap;

use milepost_model::problem::{Code, Problem};
use milepost_ops::Caller;
use milepost_ops::run::resume::{
    CountRange, Request, Response, ResumeRun, StepPlanView, WorldChangeView, WorldPart,
};
use milepost_ops::run::view::RunView;
use serde_json::Map;

use super::args::ResumeArgs;
use super::{continue_run, follow};
use crate::argument_values::{pair, value};
use crate::failure::CliResult;
use crate::limits;
use crate::session::CliSession;
use crate::terminal::{Terminal, count, safe};
use crate::terminal_user::TerminalUser;
use crate::tty;

/// Shows the plan, asks before repeating a write, and follows the run.
pub(crate) fn run(args: &ResumeArgs, terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open_confirmed(args.yes, terminal)?;
    let before = follow::view(&session, &args.run)?;
    tty::set_retry_command(format!("milepost resume {}", before.run_id));
    let request = request(args, &before.run_id)?;
    let changes_version = args.latest || args.latest_catalogs;
    if args.plan || before.has_ended() || changes_version {
        let planned = session.run::<ResumeRun>(Request { plan_only: true, ..request.clone() })?;
        if args.plan {
            return terminal.answer(&planned, |terminal| {
                show(&planned, terminal);
                show_waiting(&planned.run, terminal);
            });
        }
        if !terminal.is_json() {
            show(&planned, terminal);
        }
        let writes: Vec<&str> =
            planned.plan.iter().filter_map(|step| step.write.as_deref()).collect();
        if !writes.is_empty() {
            confirm(&session.user, &format!("{} may be sent again", writes.join(", ")))?;
        }
        if changes_version {
            confirm_changes(&session.user, &planned.changes)?;
        }
    }
    let resumed = session.run::<ResumeRun>(request)?;
    continue_run(&session, &resumed.run, before.seq, terminal)
}

/// Shows why a run that has not ended is not progressing, and how to continue it.
fn show_waiting(run: &RunView, terminal: &mut Terminal) {
    for waiting in &run.waiting {
        let text = follow::waiting_text(waiting, terminal);
        terminal.remark(text);
    }
    follow::show_next(run.next.as_ref().filter(|_| !run.has_ended()), &[], terminal);
}

fn confirm(user: &TerminalUser, effect: &str) -> CliResult<()> {
    if user.ask(&format!("{effect}; continue?")) == Some(true) {
        return Ok(());
    }
    let hint = "add `--yes` to confirm";
    Err(Problem::new(Code::ConfirmationRequired, effect, hint).into())
}

/// Asks for confirmation if requests would now go to a different address or use different
/// credentials.
fn confirm_changes(user: &TerminalUser, changes: &[WorldChangeView]) -> CliResult<()> {
    let is_risky = |change: &&WorldChangeView| {
        matches!(change.part, WorldPart::Address | WorldPart::Credentials)
            && change.before.is_some()
    };
    let risky: Vec<String> = changes.iter().filter(is_risky).map(change_text).collect();
    if risky.is_empty() { Ok(()) } else { confirm(user, &risky.join("; ")) }
}

/// `address of shop: https://a.example -> https://b.example`.
fn change_text(change: &WorldChangeView) -> String {
    let hash = matches!(change.part, WorldPart::Document | WorldPart::Workflow);
    let of = |value: Option<&String>| match value {
        Some(value) if hash => value.chars().take(limits::HASH_CHARS).collect(),
        Some(value) => safe(value),
        None => "none".to_owned(),
    };
    let (before, after) = (of(change.before.as_ref()), of(change.after.as_ref()));
    format!("{} of {}: {before} -> {after}", change.part.name(), safe(&change.name))
}

fn request(args: &ResumeArgs, run: &str) -> CliResult<Request> {
    let mut overrides = Map::new();
    for given in &args.overrides {
        let (step, text) = pair(given, Code::ParamsInvalid, "--set step=json")?;
        overrides.insert(step.to_owned(), value(text)?);
    }
    let mut budget = BTreeMap::new();
    for given in &args.budget {
        const EXAMPLE: &str = "http_calls=100";
        let (name, text) = pair(given, Code::ParamsInvalid, EXAMPLE)?;
        let limit = text.parse().map_err(|_| {
            let message = format!("`{text}` is not a valid value for `{name}`");
            Problem::new(Code::ParamsInvalid, message, format!("write it as `--budget {EXAMPLE}`"))
        })?;
        budget.insert(name.to_owned(), limit);
    }
    Ok(Request {
        run_id: run.to_owned(),
        from: args.from.clone(),
        only: args.only,
        latest: args.latest,
        latest_catalogs: args.latest_catalogs,
        inputs: args.given.read_untyped()?,
        redo: args.redo.clone(),
        overrides,
        budget,
        reason: args.reason.clone(),
        plan_only: false,
        ..Request::default()
    })
}

fn show(planned: &Response, terminal: &mut Terminal) {
    let row = |step: &StepPlanView| {
        let write = step.write.as_ref().map(|write| format!(": {write}"));
        let verdict = format!("{}{}", step.verdict.name(), write.unwrap_or_default());
        vec![step.step.clone(), step.kind.name().to_owned(), verdict, step.why.clone()]
    };
    terminal.table(&["step", "kind", "verdict", "why"], planned.plan.iter().map(row));
    for change in &planned.changes {
        terminal.line(change_text(change));
    }
    if let Some(forecast) = &planned.forecast {
        let range = |range: CountRange, noun| match range.most {
            Some(most) if most == range.least => count(most, noun),
            Some(most) => format!("{} to {}", range.least, count(most, noun)),
            None => format!("at least {}", count(range.least, noun)),
        };
        terminal.line(format!(
            "needs {}, {}, {}; saves {}, {}, {}",
            range(forecast.calls, "call"),
            range(forecast.writes, "write"),
            range(forecast.agent_steps, "agent step"),
            count(forecast.saved_calls, "call"),
            count(forecast.saved_writes, "write"),
            count(forecast.saved_agent_steps, "agent step"),
        ));
    }
}

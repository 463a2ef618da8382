//! Runs in a table, the steps of one, its journal, and what becomes of old ones.

use milepost_model::duration::Period;
use milepost_model::problem::{Code, Problem};
use milepost_ops::run::events::{Events, Request as EventsRequest};
use milepost_ops::run::keep::{
    Backup, BackupRequest, Forget, ForgetRequest, ForgottenInput, Purge, PurgeRequest, Restore,
    RestoreRequest,
};
use milepost_ops::run::list::{List, Listed, Request};
use milepost_ops::run::view::{RunView, WaitingKind};
use serde_json::Value;

use super::words::{self, INTERRUPTED};
use super::{args, follow};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::session::{self, Session};
use crate::table;
use crate::terminal::{Terminal, safe};

/// `milepost runs`.
pub(crate) fn run(arguments: &args::Runs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    if let Some(args::RunsCommand::Purge(arguments)) = &arguments.command {
        return purge(arguments, terminal);
    }
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let page = session.run::<List>(Request {
        status: arguments.status.clone(),
        workflow_id: arguments.workflow.clone(),
        open: arguments.open,
        all_workspaces: arguments.all,
        limit: arguments.limit,
        cursor: arguments.cursor.clone(),
    })?;
    if json {
        session::print(&page, terminal)?;
        return Ok(Exit::Done);
    }
    if page.runs.is_empty() {
        return none(arguments, &session, terminal);
    }
    terminal.line(&overview("run", &page.runs, terminal.width()))?;
    if let Some(cursor) = &page.next_cursor {
        terminal.remark(&format!("hint: there are more: `--cursor {cursor}`"));
    }
    Ok(Exit::Done)
}

/// Runs as a table. Which run it is and how it stands is always shown whole.
pub(crate) fn overview(first: &str, runs: &[Listed], width: usize) -> String {
    let rows: Vec<Vec<String>> = runs
        .iter()
        .map(|run| vec![run.run_id.clone(), run.workflow.clone(), started(run), status(run)])
        .collect();
    let headings = [first, "workflow", "started (UTC)", "status"];
    table::render_whole(&headings, &rows, width, 1, &[2, 1])
}

/// How a run stands, in words.
fn status(run: &Listed) -> String {
    match run.waiting.as_deref() {
        _ if run.quarantined => "damaged".to_owned(),
        Some(waiting) if waiting == WaitingKind::Adrift.name() => INTERRUPTED.to_owned(),
        Some(waiting) => format!("{}: {waiting}", run.status),
        None => run.status.name().to_owned(),
    }
}

/// There are no runs, or none of those that were asked for.
fn none(
    arguments: &args::Runs,
    session: &Session,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let all_workspaces = true;
    let any = session.run::<List>(Request { all_workspaces, ..Request::default() })?;
    if any.runs.is_empty() {
        terminal.remark("no runs yet");
        terminal.remark("hint: start one with `milepost run <workflow>`");
        return Ok(Exit::Done);
    }
    let mut filters = Vec::new();
    filters.extend(arguments.workflow.as_ref().map(|id| format!("`--workflow {id}`")));
    filters.extend(arguments.status.as_ref().map(|word| format!("`--status {word}`")));
    filters.extend(arguments.open.then(|| "`--open`".to_owned()));
    if filters.is_empty() {
        terminal.remark("no runs in this folder");
    } else {
        terminal.remark(&format!("no runs match {}", safe(&filters.join(" and "))));
    }
    if !arguments.all {
        terminal.remark("hint: runs of other folders are shown with `--all`");
    }
    Ok(Exit::Done)
}

/// When a run was started, to the minute.
fn started(run: &Listed) -> String {
    let mut whole = milepost_ops::rfc3339(run.started_ms).replace('T', " ");
    whole.truncate("2026-01-01 00:00".len());
    whole
}

/// The steps of a run as a table.
pub(crate) fn steps(view: &RunView, terminal: &mut Terminal) -> Result<(), Failure> {
    let rows: Vec<Vec<String>> = view
        .steps
        .iter()
        .map(|step| {
            let told = step.problem.as_ref().map(|problem| problem.message.clone());
            let output = || step.output.as_ref().map(Value::to_string);
            vec![
                step.id.clone(),
                step.status.name().to_owned(),
                step.attempts.to_string(),
                format!("{} ms", step.duration_ms),
                told.or_else(output).unwrap_or_default(),
            ]
        })
        .collect();
    let width = terminal.width();
    let headings = ["step", "status", "tries", "time", "output"];
    terminal.line(&table::render(&headings, &rows, width))?;
    Ok(())
}

/// What was sent for the steps of a run, try by try.
pub(crate) fn sent(view: &RunView, terminal: &mut Terminal) -> Result<(), Failure> {
    for step in &view.steps {
        for sent in &step.sent {
            let (id, at) = (safe(&step.id), milepost_ops::rfc3339(sent.sent_ms));
            terminal.line(&format!("\n{id}  try {}  {at}", sent.attempt))?;
            terminal.line(&format!("  {}", safe(&sent.request)))?;
            for (name, value) in &sent.headers {
                terminal.line(&format!("  {}: {}", safe(name), safe(value)))?;
            }
            if let Some(body) = follow::body(sent) {
                terminal.line(&format!("  {body}"))?;
            }
        }
    }
    Ok(())
}

/// `milepost logs`.
pub(crate) fn logs(arguments: &args::Logs, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.one.json.json;
    let session = Session::open(Person::new(false, json))?;
    let mut after = 0;
    loop {
        let wait_s = if arguments.follow && after > 0 { 25 } else { 0 };
        let run_id = arguments.one.run.clone();
        let request =
            EventsRequest { run_id, after_seq: after, wait_s, ..EventsRequest::default() };
        let page = session.run::<Events>(request)?;
        for event in &page.events {
            after = event.seq;
            let name = words::name(event);
            let bad =
                name.contains("failed") || name.contains("rejected") || name.contains("unknown");
            if arguments.failed && !bad {
                continue;
            }
            if json {
                session::print(event, terminal)?;
                continue;
            }
            let told = words::whole(event);
            let at = milepost_ops::rfc3339(event.at_ms);
            terminal.line(&format!("{:>5}  {at}{}", event.seq, safe(&told)))?;
        }
        if !arguments.follow || page.ended {
            return Ok(Exit::Done);
        }
    }
}

fn purge(arguments: &args::Purge, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(arguments.yes, json))?;
    let older_than_s = match &arguments.older_than {
        None => None,
        Some(text) => {
            let period = Period::parse(text).ok_or_else(|| {
                let message = format!("`{text}` is not a length of time");
                Problem::new(Code::ParamsInvalid, message, "write it as `30d` or `12h`")
            })?;
            Some(period.0.as_secs())
        }
    };
    let report = session.run::<Purge>(PurgeRequest {
        older_than_s,
        workflow_id: arguments.workflow.clone(),
        all_workspaces: arguments.all,
        dry_run: arguments.dry_run,
    })?;
    if json {
        session::print(&report, terminal)?;
    } else {
        let (word, freed) = match arguments.dry_run {
            true => ("would be removed", String::new()),
            false if report.bytes_freed == 0 => ("removed", String::new()),
            false => ("removed", format!(", {} bytes free again", report.bytes_freed)),
        };
        let of = match report.projects {
            0 | 1 => String::new(),
            more => format!(" of {more} projects"),
        };
        terminal.line(&format!("{} runs{of} {word}{freed}", report.runs))?;
    }
    Ok(Exit::Done)
}

/// `milepost inputs forget`.
pub(crate) fn forget(
    command: &args::InputsCommand,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let args::InputsCommand::Forget(arguments) = command;
    let json = arguments.json.json;
    let session = Session::open(Person::new(arguments.yes, json))?;
    let workflow_id = arguments.workflow.clone();
    let input_keys = arguments.input.clone();
    let done = session.run::<Forget>(ForgetRequest { workflow_id, input_keys })?;
    if json {
        session::print(&done, terminal)?;
    } else {
        for ForgottenInput { workflow_id, input_key, values } in &done.entries {
            terminal.line(&format!("{workflow_id}  {input_key}  {values}"))?;
        }
        terminal.line(&format!("{} values forgotten", done.removed))?;
    }
    Ok(Exit::Done)
}

/// `milepost backup`.
pub(crate) fn backup(arguments: &args::Backup, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let to = arguments.to.to_string_lossy().into_owned();
    let done = session.run::<Backup>(BackupRequest { to })?;
    if json {
        session::print(&done, terminal)?;
    } else {
        terminal.line(&done.path)?;
    }
    Ok(Exit::Done)
}

/// `milepost restore`.
pub(crate) fn restore(arguments: &args::Restore, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open(Person::new(false, json))?;
    let from = arguments.from.to_string_lossy().into_owned();
    let done = session.run::<Restore>(RestoreRequest { from })?;
    if json {
        session::print(&done, terminal)?;
    } else {
        terminal.line(&format!("{} runs restored", done.runs))?;
    }
    Ok(Exit::Done)
}

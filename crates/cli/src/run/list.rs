//! `milepost runs`, `inbox` and `logs`, and the steps of a run.

use std::collections::BTreeSet;

use milepost_ops::run::events::{ReadEvents, Request as EventsRequest};
use milepost_ops::run::list::{ListRuns, ListedRun, Request};
use milepost_ops::run::next_action::NextAction;
use milepost_ops::run::pin_notice;
use milepost_ops::run::question::{QuestionLayout, body_text};
use milepost_ops::run::view::{RunStatus, RunView, StepView, WaitingKind, WaitingView};
use serde::Serialize;
use serde_json::Value;

use super::args::{InboxArgs, LogsArgs, RunsArgs, RunsCommand};
use super::event_text::{self, INTERRUPTED};
use super::{follow, maintenance};
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::limits::{self, FOLLOW_WAIT_S};
use crate::session::CliSession;
use crate::table;
use crate::terminal::{Terminal, safe};

/// `milepost runs`.
pub(crate) fn run(args: &RunsArgs, terminal: &mut Terminal) -> CliResult {
    if let Some(RunsCommand::Purge(args)) = &args.command {
        return maintenance::purge(args, terminal);
    }
    let session = CliSession::open(terminal)?;
    let page = session.run::<ListRuns>(Request {
        status: args.status.clone(),
        workflow_id: args.workflow.clone(),
        open: args.open,
        all_workspaces: args.all,
        limit: args.limit,
        cursor: args.cursor.clone(),
    })?;
    if page.runs.is_empty() && !terminal.is_json() {
        return no_runs(args, &session, terminal);
    }
    terminal.answer(&page, |terminal| {
        terminal.line(runs_table("run", &page.runs, terminal.width()));
        if let Some(cursor) = &page.next_cursor {
            terminal.remark(format!("hint: show more with `--cursor {cursor}`"));
        }
    })
}

/// Formats runs as a table. Ids and statuses are never truncated.
pub(crate) fn runs_table(first: &str, runs: &[ListedRun], width: usize) -> String {
    let row =
        |run: &ListedRun| vec![run.run_id.clone(), run.workflow.clone(), started(run), status(run)];
    let rows: Vec<Vec<String>> = runs.iter().map(row).collect();
    let headings = [first, "workflow", "started (UTC)", "status"];
    table::render_whole(&headings, &rows, width, 1, &[2, 1])
}

fn status(run: &ListedRun) -> String {
    match run.waiting.as_deref() {
        _ if run.quarantined => "damaged".to_owned(),
        Some(waiting) if waiting == WaitingKind::Adrift.name() => INTERRUPTED.to_owned(),
        Some(waiting) => format!("{}: {waiting}", run.status),
        None => run.status.name().to_owned(),
    }
}

/// Reports that there are no runs at all, or none that match.
fn no_runs(args: &RunsArgs, session: &CliSession, terminal: &mut Terminal) -> CliResult {
    let all_workspaces = true;
    let any = session.run::<ListRuns>(Request { all_workspaces, ..Request::default() })?;
    if any.runs.is_empty() {
        terminal.remark("no runs yet");
        terminal.remark("hint: start one with `milepost run <workflow>`");
        return Ok(Exit::DONE);
    }
    let mut filters = Vec::new();
    filters.extend(args.workflow.as_ref().map(|id| format!("`--workflow {id}`")));
    filters.extend(args.status.as_ref().map(|word| format!("`--status {word}`")));
    filters.extend(args.open.then(|| "`--open`".to_owned()));
    if filters.is_empty() {
        terminal.remark("no runs in this folder");
    } else {
        terminal.remark(format!("no runs match {}", safe(&filters.join(" and "))));
    }
    if !args.all {
        terminal.remark("hint: `--all` shows runs from other folders");
    }
    Ok(Exit::DONE)
}

/// When a run was started, to the minute.
fn started(run: &ListedRun) -> String {
    let mut whole = milepost_ops::rfc3339(run.started_ms).replace('T', " ");
    whole.truncate("2026-01-01 00:00".len());
    whole
}

pub(super) fn show_steps(view: &RunView, terminal: &mut Terminal) {
    let row = |step: &StepView| {
        let message = step.problem.as_ref().map(|problem| problem.message.clone());
        let output = || step.output.as_ref().map(Value::to_string);
        vec![
            step.id.clone(),
            step.status.name().to_owned(),
            step.attempts.to_string(),
            format!("{} ms", step.duration_ms),
            message.or_else(output).unwrap_or_default(),
        ]
    };
    let headings = ["step", "status", "attempts", "time", "output"];
    terminal.table(&headings, view.steps.iter().map(row));
}

/// Shows the requests that were sent for the steps of a run, by attempt.
pub(super) fn show_requests(view: &RunView, terminal: &mut Terminal) {
    let layout = QuestionLayout::terminal(terminal.width());
    for step in &view.steps {
        for sent in &step.sent {
            let (id, at) = (safe(&step.id), milepost_ops::rfc3339(sent.sent_ms));
            terminal.line(format!("\n{id}  attempt {}  {at}", sent.attempt));
            terminal.line(layout.quoted(&sent.request));
            for (name, value) in &sent.headers {
                terminal.line(layout.quoted(&format!("{name}: {value}")));
            }
            if let Some(body) = body_text(sent.body.as_deref(), sent.body_bytes) {
                terminal.line(layout.quoted(&body));
            }
        }
    }
}

/// `milepost logs`.
pub(crate) fn logs(args: &LogsArgs, terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open(terminal)?;
    let mut after_seq = 0;
    loop {
        let wait_s = if args.follow && after_seq > 0 { FOLLOW_WAIT_S } else { 0 };
        let run_id = args.run.clone();
        let request = EventsRequest { run_id, after_seq, wait_s, ..EventsRequest::default() };
        let page = session.run::<ReadEvents>(request)?;
        for event in &page.events {
            after_seq = event.seq;
            let name = event_text::name(event);
            let is_bad = ["failed", "rejected", "unknown"].iter().any(|bad| name.contains(bad));
            if args.failed && !is_bad {
                continue;
            }
            terminal.answer(event, |terminal| {
                let (at, text) = (milepost_ops::rfc3339(event.at_ms), event_text::log_line(event));
                terminal.line(format!("{:>5}  {at}{}", event.seq, safe(&text)));
            })?;
        }
        if !args.follow || page.ended {
            return Ok(Exit::DONE);
        }
    }
}

/// Serialized as a whole, so that `next` is worded for the command line.
#[derive(Debug, Serialize)]
struct Inbox {
    /// What the person has to know about their PIN before they decide.
    #[serde(skip_serializing_if = "Option::is_none")]
    pin: Option<String>,
    inbox: Vec<InboxRun>,
}

#[derive(Debug, Serialize)]
struct InboxRun {
    run_id: String,
    workflow: String,
    waiting: Vec<WaitingView>,
    next: Option<NextAction>,
}

/// `milepost inbox`: what is waiting for a person, in every folder. With `--watch`, it goes on
/// until it is interrupted or nobody reads.
pub(crate) fn inbox(args: &InboxArgs, terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open(terminal)?;
    let mut view = read_inbox(&session)?;
    show_inbox(&view, terminal)?;
    if !args.watch {
        return Ok(Exit::DONE);
    }
    let mut shown = view.questions();
    while !terminal.is_closed() {
        std::thread::sleep(limits::INBOX_LOOK);
        view = read_inbox(&session)?;
        let open = view.questions();
        // A question that was answered and is asked again is new.
        for run in &mut view.inbox {
            let id = run.run_id.clone();
            run.waiting.retain(|one| !shown.contains(&question(&id, one)));
        }
        view.inbox.retain(|run| !run.waiting.is_empty());
        if !view.inbox.is_empty() {
            show_inbox(&view, terminal)?;
        }
        shown = open;
    }
    Ok(Exit::DONE)
}

/// What identifies a question.
fn question(run: &str, waiting: &WaitingView) -> String {
    let WaitingView { kind, step, digest, message, .. } = waiting;
    format!("{run} {kind} {step:?} {digest:?} {message}")
}

impl Inbox {
    fn questions(&self) -> BTreeSet<String> {
        let runs = self.inbox.iter();
        runs.flat_map(|run| run.waiting.iter().map(|one| question(&run.run_id, one))).collect()
    }
}

/// Everything that waits for a person.
fn read_inbox(session: &CliSession) -> CliResult<Inbox> {
    let status = Some(RunStatus::Waiting.name().to_owned());
    let all_workspaces = true;
    let page = session.run::<ListRuns>(Request { status, all_workspaces, ..Request::default() })?;
    let pin = session.wait(pin_notice::notice(session.operations.reader()));
    let mut view = Inbox { pin, inbox: Vec::new() };
    for listed in &page.runs {
        let run = follow::view(session, &listed.run_id)?;
        let waiting = run.waiting.into_iter().filter(|one| !one.kind.is_for_agent());
        let waiting: Vec<_> = waiting.collect();
        if !waiting.is_empty() {
            let (run_id, workflow) = (run.run_id, run.workflow);
            view.inbox.push(InboxRun { run_id, workflow, waiting, next: run.next });
        }
    }
    Ok(view)
}

fn show_inbox(view: &Inbox, terminal: &mut Terminal) -> CliResult {
    terminal.answer(view, |terminal| {
        if let Some(pin) = &view.pin {
            terminal.notice(format!("warning: {}", safe(pin)));
        }
        if view.inbox.is_empty() {
            terminal.remark("nothing is waiting for you");
        }
        for run in &view.inbox {
            terminal.line(format!("{}  {}", run.run_id, safe(&run.workflow)));
            // For this command, the questions are the result.
            for one in &run.waiting {
                let text = follow::waiting_text(one, terminal);
                terminal.notice(text);
            }
            follow::show_next(run.next.as_ref(), &run.waiting, terminal);
        }
    })
}

//! Watching a run: one line for everything that happens, and a card at the end.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use milepost_ops::run::events::{EventView, Events, Request as EventsRequest};
use milepost_ops::run::sent::SentView;
use milepost_ops::run::status::{Request as StatusRequest, Response as Standing, Status};
use milepost_ops::run::view::{RunStatus, RunView, StepStatus, StepView, WaitingKind, WaitingView};
use serde_json::Value;

use super::words::{self, Doing};
use crate::exit::Exit;
use crate::failure::{Failure, trouble};
use crate::limits;
use crate::person::Person;
use crate::session::{self, Session};
use crate::terminal::{Terminal, safe};
use crate::wording;

/// Follows a run until it ends or waits for somebody; shows it as asked.
pub(crate) fn follow(
    session: &Session,
    run: &str,
    mut after: u64,
    json: bool,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    let mut doing = Doing::default();
    loop {
        let (run_id, until_rest) = (run.to_owned(), true);
        let (wait_s, gather_ms) = (limits::FOLLOW_WAIT_S, limits::FOLLOW_GATHER_MS);
        let request = EventsRequest { run_id, after_seq: after, wait_s, until_rest, gather_ms };
        let Some(page) = session.watch::<Events>(request)? else {
            // Watching ends, the run does not: whoever goes on need not wait for this process.
            session.let_go(terminal)?;
            if json {
                rest(session, run, after, terminal)?;
            }
            terminal.remark(&format!("interrupted; go on with: milepost resume {run}"));
            return Ok(Exit::Interrupted);
        };
        after = page.events.last().map_or(after, |event| event.seq);
        if json {
            page.events.iter().try_for_each(|event| session::print(event, terminal))?;
        } else {
            told(&page.events, &mut doing, &session.person, terminal);
            session.person.sees(&doing.words());
        }
        // Where nothing happened, there may be nobody who drives it: that is told by the view.
        if page.status == RunStatus::Running && !page.events.is_empty() {
            continue;
        }
        let view = view(session, run)?;
        if view.seq == after && view.status != RunStatus::Running {
            return finish(&view, json, terminal);
        }
    }
}

/// Tells a program what else happened, and how the run stands that it no longer follows.
fn rest(
    session: &Session,
    run: &str,
    after_seq: u64,
    terminal: &mut Terminal,
) -> Result<(), Failure> {
    let run_id = run.to_owned();
    let request = EventsRequest { run_id, after_seq, ..EventsRequest::default() };
    let page = session.run::<Events>(request)?;
    page.events.iter().try_for_each(|event| session::print(event, terminal))?;
    session::print(&view(session, run)?, terminal)
}

/// A run as it stands.
pub(crate) fn view(session: &Session, run: &str) -> Result<RunView, Failure> {
    view_of(session, run, None)
}

/// A run as it stands, or one step of it with what was sent.
pub(crate) fn view_of(
    session: &Session,
    run: &str,
    step: Option<&str>,
) -> Result<RunView, Failure> {
    let (run_id, step_id) = (Some(run.to_owned()), step.map(str::to_owned));
    let request = StatusRequest { run_id, step_id, ..StatusRequest::default() };
    match session.run::<Status>(request)? {
        Standing::Run(view) => Ok(*view),
        Standing::Open { .. } => Err(milepost_model::problem::Problem::new(
            milepost_model::problem::Code::Internal,
            "a run was asked for, and a list came back",
            "report this",
        )
        .into()),
    }
}

/// Tells what happened, and keeps in mind what goes on.
fn told(page: &[EventView], doing: &mut Doing, person: &Person, terminal: &mut Terminal) {
    // What the run failed of is told below its last line, and not twice.
    let last = page.iter().find(|event| words::name(event) == "run_failed");
    let last = last.and_then(words::failure);
    let mut lines = Vec::new();
    for event in page {
        let ended = doing.note(event);
        let name = words::name(event);
        // Who sees it go on need not be told that it began.
        if person.watches() && matches!(name, "attempt_started" | "child_started") {
            continue;
        }
        let told_below = name == "step_failed" && words::failure(event) == last;
        let line = if told_below { Some(words::failed(event)) } else { words::line(event) };
        let Some(mut line) = line else { continue };
        if name == "step_succeeded" && person.watches() {
            line.push_str(&ended.map(|ended| ended.words()).unwrap_or_default());
        }
        lines.push(line);
    }
    if !lines.is_empty() {
        terminal.remark(&lines.join("\n"));
    }
}

/// Shows how a run stands, and says how the command ends.
pub(crate) fn finish(view: &RunView, json: bool, terminal: &mut Terminal) -> Result<Exit, Failure> {
    if json {
        session::print(view, terminal)?;
    } else {
        card(view, terminal)?;
    }
    Ok(exit(view))
}

/// How a run ends the command that follows it.
pub(crate) fn exit(view: &RunView) -> Exit {
    let is_for_agent = |one: &WaitingView| one.kind.is_for_agent();
    match view.status {
        RunStatus::Failed | RunStatus::Canceled => Exit::Failed,
        RunStatus::Waiting if view.waiting.iter().all(is_for_agent) => Exit::WaitingOnAgent,
        RunStatus::Waiting | RunStatus::Paused => Exit::WaitingOnPerson,
        RunStatus::Running | RunStatus::Succeeded => Exit::Done,
    }
}

fn card(view: &RunView, terminal: &mut Terminal) -> Result<(), Failure> {
    let (done, all) = written(&view.steps);
    let (run, workflow) = (&view.run_id, safe(&view.workflow));
    // A run that nothing drives waits for somebody who does not have to be asked for anything.
    let status = match view.waiting.iter().any(|waiting| waiting.kind == WaitingKind::Adrift) {
        true => words::INTERRUPTED,
        false => view.status.name(),
    };
    terminal.remark(&format!("{run}  {workflow}  {status}  {done} of {all} steps"));
    if let Some(problem) = &view.problem {
        let body = problem.context.get("body").and_then(Value::as_str);
        let body: Vec<String> = body.map(|body| format!("  {}", safe(body))).into_iter().collect();
        let hint = wording::said(&problem.hint);
        trouble(&problem.code, &problem.message, &body, &hint, terminal);
    }
    let is_asked = view.waiting.iter().any(|one| one.kind.is_question());
    for waiting in &view.waiting {
        // Nobody who has to answer a question may miss it.
        match waiting.kind.is_question() {
            true => terminal.complain(&asked(waiting)),
            false => terminal.remark(&asked(waiting)),
        }
    }
    for due in &view.due {
        terminal.remark(&format!("due: {}", safe(&due.step_id)));
        for text in due.prompt.lines() {
            terminal.remark(&format!("  {}", safe(text)));
        }
    }
    if let Some(output) = &view.final_output {
        let pretty = serde_json::to_string_pretty(output).unwrap_or_default();
        let shown = if std::io::stdout().is_terminal() { safe(&pretty) } else { pretty };
        terminal.line(&shown)?;
    }
    if let Some(next) = view.next.as_ref().map(wording::typed) {
        match is_asked {
            true => terminal.complain(&format!("next: {next}")),
            false => terminal.remark(&format!("next: {next}")),
        }
    }
    Ok(())
}

/// How many of the steps that were written are done, and how many there are: one that runs over a
/// list is one, however often it runs.
fn written(steps: &[StepView]) -> (usize, usize) {
    let mut all: BTreeMap<&str, bool> = BTreeMap::new();
    for step in steps {
        let id = step.id.split(['@', ':']).next().unwrap_or(&step.id);
        let done = matches!(step.status, StepStatus::Succeeded | StepStatus::Skipped);
        *all.entry(id).or_insert(true) &= done;
    }
    (all.values().filter(|done| **done).count(), all.len())
}

/// A question, or whatever else is waited for.
pub(crate) fn asked(waiting: &WaitingView) -> String {
    let kind = words::kind(waiting.kind);
    let step = waiting.step.as_deref().map(|step| format!(" {}", safe(step))).unwrap_or_default();
    let mut lines = vec![format!("{kind}{step}: {}", safe(&waiting.message))];
    if !waiting.by.is_empty() {
        lines.push(format!("  by {}", safe(&waiting.by.join(", "))));
    }
    for field in super::form::fields(waiting) {
        lines.push(format!("  asks for {}", safe(&field.told())));
    }
    if let Some(sent) = &waiting.sent {
        let at = milepost_ops::rfc3339(sent.sent_ms);
        lines.push(format!("  sent {at}  {}", safe(&sent.request)));
        lines
            .extend(sent.idempotency_key.iter().map(|key| format!("  with the key {}", safe(key))));
        lines.extend(body(sent).map(|body| format!("  {body}")));
    }
    lines.extend(waiting.may_arrive_until_ms.map(|until| {
        let at = milepost_ops::rfc3339(until);
        format!("  it may still arrive until {at}; that it did not happen can be said after that")
    }));
    for shown in &waiting.shown {
        let request = if shown.target.is_empty() { &shown.request } else { &shown.target };
        let (step, request) = (safe(&shown.step), safe(request));
        lines.push(format!("  then {step}  {request}  {}", safe(&shown.arguments.to_string())));
    }
    for change in &waiting.changes {
        lines.push(format!("  changed {}:", safe(&change.step)));
        lines.push(format!("    was {}", safe(&change.before.to_string())));
        lines.push(format!("    now {}", safe(&change.after.to_string())));
    }
    lines.join("\n")
}

/// The body of a request that was sent, in a line.
pub(super) fn body(sent: &SentView) -> Option<String> {
    let whole = sent.body_bytes.map(|bytes| format!("{bytes} bytes"));
    match (&sent.body, whole) {
        (Some(body), None) => Some(format!("body {}", safe(body))),
        (Some(body), Some(whole)) => {
            Some(format!("body, the beginning of {whole}: {}", safe(body)))
        }
        (None, Some(whole)) => Some(format!("body of {whole}, no text")),
        (None, None) => None,
    }
}

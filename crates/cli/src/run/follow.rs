//! Follows a run: one line per event, and a summary at the end.

use std::collections::BTreeMap;
use std::io::IsTerminal;

use milepost_model::problem::{Code, Problem};
use milepost_model::untrusted;
use milepost_ops::run::events::{EventView, ReadEvents, Request as EventsRequest};
use milepost_ops::run::next_action::NextAction;
use milepost_ops::run::question::QuestionLayout;
use milepost_ops::run::status::{
    GetRunStatus, Request as StatusRequest, Response as StatusResponse,
};
use milepost_ops::run::view::{RunStatus, RunView, StepStatus, StepView, WaitingKind, WaitingView};
use serde_json::Value;

use super::event_text::{self, ActiveSteps};
use crate::exit::Exit;
use crate::failure::{CliResult, show_problem};
use crate::limits;
use crate::session::CliSession;
use crate::terminal::{Terminal, count, safe};
use crate::terminal_user::TerminalUser;
use crate::wording;

/// Follows a run, starting after an event, until it ends or is waiting for someone.
pub(super) fn follow(
    session: &CliSession,
    run: &str,
    mut after_seq: u64,
    terminal: &mut Terminal,
) -> CliResult {
    let mut active = ActiveSteps::default();
    loop {
        let (run_id, until_rest) = (run.to_owned(), true);
        let (wait_s, gather_ms) = (limits::FOLLOW_WAIT_S, limits::FOLLOW_GATHER_MS);
        let request = EventsRequest { run_id, after_seq, wait_s, until_rest, gather_ms };
        let Some(page) = session.watch::<ReadEvents>(request)? else {
            return interrupted(session, run, after_seq, terminal);
        };
        after_seq = page.events.last().map_or(after_seq, |event| event.seq);
        if terminal.is_json() {
            page.events.iter().try_for_each(|event| terminal.print_json(event))?;
        } else {
            show_events(&page.events, &mut active, &session.user, terminal);
            session.user.show_progress(&active.text());
        }
        // If nothing happened, perhaps no process is driving the run; the view shows whether one
        // is.
        if page.status == RunStatus::Running && !page.events.is_empty() {
            continue;
        }
        let view = view(session, run)?;
        if view.seq == after_seq && view.status != RunStatus::Running {
            return finish(&view, terminal);
        }
    }
}

/// Stops following. The run is released, so that another process can continue it at once.
fn interrupted(
    session: &CliSession,
    run: &str,
    after_seq: u64,
    terminal: &mut Terminal,
) -> CliResult {
    session.release_runs(terminal)?;
    if terminal.is_json() {
        let run_id = run.to_owned();
        let request = EventsRequest { run_id, after_seq, ..EventsRequest::default() };
        let page = session.run::<ReadEvents>(request)?;
        page.events.iter().try_for_each(|event| terminal.print_json(event))?;
        terminal.print_json(&view(session, run)?)?;
    }
    terminal.remark(format!("interrupted; continue with: milepost resume {run}"));
    Ok(Exit::INTERRUPTED)
}

pub(super) fn view(session: &CliSession, run: &str) -> CliResult<RunView> {
    view_of(session, run, None)
}

/// A run, or one of its steps with the requests that were sent.
pub(super) fn view_of(session: &CliSession, run: &str, step: Option<&str>) -> CliResult<RunView> {
    let (run_id, step_id) = (Some(run.to_owned()), step.map(str::to_owned));
    let request = StatusRequest { run_id, step_id, ..StatusRequest::default() };
    match session.run::<GetRunStatus>(request)? {
        StatusResponse::Run(view) => Ok(*view),
        StatusResponse::Open { .. } => {
            let message = "expected a run but got a list";
            Err(Problem::new(Code::Internal, message, "report this").into())
        }
    }
}

fn show_events(
    page: &[EventView],
    active: &mut ActiveSteps,
    user: &TerminalUser,
    terminal: &mut Terminal,
) {
    // The failure of the run is shown in the summary, so it is not repeated here.
    let last = page.iter().find(|event| event_text::name(event) == "run_failed");
    let last = last.and_then(event_text::failure);
    let (mut lines, mut before) = (Vec::new(), None);
    for event in page {
        let ended = active.note(event);
        if before.replace(event).is_some_and(|before| event_text::is_told(before, event)) {
            continue;
        }
        let name = event_text::name(event);
        // The progress line already shows what has started.
        if user.sees_progress() && matches!(name, "attempt_started" | "child_started") {
            continue;
        }
        let is_in_summary = name == "step_failed" && event_text::failure(event) == last;
        let line = match is_in_summary {
            true => Some(event_text::failed_line(event)),
            false => event_text::line(event),
        };
        let Some(mut line) = line else { continue };
        if name == "step_succeeded" && user.sees_progress() {
            line.push_str(&ended.unwrap_or_default());
        }
        lines.push(line);
    }
    if !lines.is_empty() {
        terminal.remark(lines.join("\n"));
    }
}

/// Shows a run that has ended or is waiting, and returns the exit code of the command.
pub(super) fn finish(view: &RunView, terminal: &mut Terminal) -> CliResult {
    terminal.answer(view, |terminal| show_card(view, terminal))?;
    Ok(exit(view))
}

/// The exit code of a command that follows a run.
pub(super) fn exit(view: &RunView) -> Exit {
    let is_for_agent = |one: &WaitingView| one.kind.is_for_agent();
    match view.status {
        RunStatus::Failed | RunStatus::Canceled => Exit::FAILED,
        RunStatus::Waiting if view.waiting.iter().all(is_for_agent) => Exit::WAITING_ON_AGENT,
        RunStatus::Waiting | RunStatus::Paused => Exit::WAITING_ON_PERSON,
        RunStatus::Running | RunStatus::Succeeded => Exit::DONE,
    }
}

/// Shows the summary of a run: its status, its problem, what it is waiting for, its output, and
/// what to do next.
pub(super) fn show_card(view: &RunView, terminal: &mut Terminal) {
    let (done, all) = progress(&view.steps);
    let (run, workflow) = (&view.run_id, safe(&view.workflow));
    // A run that no process is driving is not waiting for anyone in particular.
    let status = match view.waiting.iter().any(|waiting| waiting.kind == WaitingKind::Adrift) {
        true => event_text::INTERRUPTED,
        false => view.status.name(),
    };
    let steps = count(all, "step");
    terminal.remark(format!("{run}  {workflow}  {status}  {done} of {steps}"));
    if let Some(problem) = &view.problem {
        let body = problem.context.get("body").and_then(Value::as_str);
        let layout = QuestionLayout::terminal(terminal.width());
        let body: Vec<String> = body.map(|body| layout.quoted(body)).into_iter().collect();
        let hint = wording::hint_text(&problem.hint);
        show_problem(&problem.code, &problem.message, &body, &hint, terminal);
    }
    for waiting in &view.waiting {
        let text = waiting_text(waiting, terminal);
        say(waiting.kind.is_question(), &text, terminal);
    }
    for due in &view.due {
        terminal.remark(format!("step {}:", safe(&due.step_id)));
        terminal.remark(QuestionLayout::terminal(terminal.width()).quoted(&due.prompt));
    }
    if let Some(output) = &view.final_output {
        let pretty = serde_json::to_string_pretty(output).unwrap_or_default();
        let is_terminal = std::io::stdout().is_terminal();
        terminal.line(if is_terminal { untrusted::escape_json(&pretty) } else { pretty.into() });
    }
    show_next(view.next.as_ref(), &view.waiting, terminal);
}

/// Shows the command to type next, as a notice if it answers a question.
pub(super) fn show_next(
    next: Option<&NextAction>,
    waiting: &[WaitingView],
    terminal: &mut Terminal,
) {
    if let Some(next) = next.map(wording::command_text) {
        let is_asked = waiting.iter().any(|one| one.kind.is_question());
        say(is_asked, &format!("next: {next}"), terminal);
    }
}

/// Prints a remark, or a notice if it is a question, because a question must not be missed.
fn say(is_question: bool, text: &str, terminal: &mut Terminal) {
    if is_question { terminal.notice(text) } else { terminal.remark(text) }
}

/// The number of completed steps and of all steps in the document; a step that loops over a list
/// counts once.
fn progress(steps: &[StepView]) -> (usize, usize) {
    let mut all: BTreeMap<&str, bool> = BTreeMap::new();
    for step in steps {
        let id = step.id.split(['@', ':']).next().unwrap_or(&step.id);
        let done = matches!(step.status, StepStatus::Succeeded | StepStatus::Skipped);
        *all.entry(id).or_insert(true) &= done;
    }
    (all.values().filter(|done| **done).count(), all.len())
}

/// What a run is waiting for, with everything needed for a decision.
pub(super) fn waiting_text(waiting: &WaitingView, terminal: &Terminal) -> String {
    QuestionLayout::terminal(terminal.width()).question(waiting)
}

//! Watching a run: one line for everything that happens, and a card at the end.

use std::io::IsTerminal;

use milepost_ops::run::events::{EventView, Events, Request as EventsRequest};
use milepost_ops::run::status::{Request as StatusRequest, Response as Standing, Status};
use milepost_ops::run::view::{RunView, WaitingView};
use serde_json::Value;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::{self, Session};
use crate::terminal::{Terminal, safe};

/// Seconds that one look may take.
const LOOK_S: u64 = 25;

/// Follows a run until it ends or waits for somebody; shows it as asked.
pub(crate) fn follow(
    session: &Session,
    run: &str,
    mut after: u64,
    json: bool,
    terminal: &mut Terminal,
) -> Result<Exit, Failure> {
    loop {
        let request = EventsRequest { run_id: run.to_owned(), after_seq: after, wait_s: LOOK_S };
        let Some(page) = session.watch::<Events>(request)? else {
            // Watching ends, the run does not: whoever goes on need not wait for this process.
            session.operations.leave_runs()?;
            terminal.complain(&format!("interrupted; go on with: milepost resume {run}"));
            return Ok(Exit::Interrupted);
        };
        after = page.events.last().map_or(after, |event| event.seq);
        told(&page.events, json, terminal)?;
        if page.status == "running" {
            continue;
        }
        let view = view(session, run)?;
        if view.seq == after && view.status != "running" {
            return finish(&view, json, terminal);
        }
    }
}

/// A run as it stands.
pub(crate) fn view(session: &Session, run: &str) -> Result<RunView, Failure> {
    let request = StatusRequest { run_id: Some(run.to_owned()), ..StatusRequest::default() };
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

fn told(events: &[EventView], json: bool, terminal: &mut Terminal) -> Result<(), Failure> {
    if json {
        return events.iter().try_for_each(|event| session::print(event, terminal));
    }
    let lines: Vec<String> = events.iter().filter_map(line).collect();
    if !lines.is_empty() {
        terminal.complain(&lines.join("\n"));
    }
    Ok(())
}

/// What happened, in a line; nothing for what nobody wants to see go by.
pub(crate) fn line(event: &EventView) -> Option<String> {
    let text = |name: &str| event.event.get(name).and_then(Value::as_str).unwrap_or_default();
    let key = safe(text("key"));
    let failure = || {
        let message = event.event.pointer("/failure/message").and_then(Value::as_str);
        safe(message.unwrap_or_default())
    };
    Some(match text("event") {
        "attempt_started" => format!("  → {key}  {}", safe(text("request"))),
        "attempt_failed" => format!("  ↻ {key}  {}", failure()),
        "attempt_unknown" => format!("  ? {key}  {}", failure()),
        "step_succeeded" => format!("  ✓ {key}"),
        "step_failed" => format!("  ✗ {key}  {}", failure()),
        "step_skipped" => format!("  – {key}  {}", safe(text("reason"))),
        "step_canceled" => format!("  – {key}  canceled"),
        "prompt_offered" => format!("  … {key}  waits for an agent"),
        "submission_rejected" => format!("  ✗ {key}  what was submitted will not do"),
        "submission_accepted" => format!("  ✓ {key}  what was submitted will do"),
        "approval_requested" => format!("  … {key}  waits for a person"),
        "approved" => format!("  ✓ {key}  approved"),
        "rejected" => format!("  ✗ {key}  rejected"),
        "approval_voided" => format!("  ! {key}  is asked again: what was approved has changed"),
        "went_back" => format!("  ↩ back to {}", safe(text("to"))),
        "child_started" => format!("  → {key}  {}", safe(text("run"))),
        "budget_warned" => format!("  ! most of the budget of {} is used", text("budget")),
        "budget_reached" => format!("  ! the budget of {} is used up", text("budget")),
        "cancel_requested" => "  ! it is being canceled".to_owned(),
        "paused" => "  ! paused".to_owned(),
        "resumed" | "run_resumed_from" => "  ! it goes on".to_owned(),
        _ => return None,
    })
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
    match view.status.as_str() {
        "failed" | "canceled" => Exit::Failed,
        "waiting" if view.waiting.iter().all(is_for_agent) => Exit::WaitingOnAgent,
        "waiting" | "paused" => Exit::WaitingOnPerson,
        _ => Exit::Done,
    }
}

fn is_for_agent(waiting: &WaitingView) -> bool {
    matches!(waiting.kind.as_str(), "agent" | "variable")
}

fn card(view: &RunView, terminal: &mut Terminal) -> Result<(), Failure> {
    let count = |status: &str| view.steps.iter().filter(|step| step.status == status).count();
    let head = format!(
        "{}  {}  {}  {} of {} steps",
        view.run_id,
        safe(&view.workflow),
        view.status,
        count("succeeded") + count("skipped"),
        view.steps.len(),
    );
    terminal.complain(&head);
    if let Some(problem) = &view.problem {
        terminal.complain(&format!("error[{}]: {}", problem.code, safe(&problem.message)));
        if let Some(body) = problem.context.get("body").and_then(Value::as_str) {
            terminal.complain(&format!("  {}", safe(body)));
        }
        if !problem.hint.is_empty() {
            terminal.complain(&format!("hint: {}", safe(&problem.hint)));
        }
    }
    for waiting in &view.waiting {
        asked(waiting, terminal);
    }
    for due in &view.due {
        terminal.complain(&format!("due: {}", safe(&due.step_id)));
        for text in due.prompt.lines() {
            terminal.complain(&format!("  {}", safe(text)));
        }
    }
    if let Some(output) = &view.final_output {
        let pretty = serde_json::to_string_pretty(output).unwrap_or_default();
        let shown = if std::io::stdout().is_terminal() { safe(&pretty) } else { pretty };
        terminal.line(&shown)?;
    }
    if let Some(next) = &view.next {
        terminal.complain(&format!("next: {next}"));
    }
    Ok(())
}

/// A question, or whatever else is waited for.
pub(crate) fn asked(waiting: &WaitingView, terminal: &mut Terminal) {
    let step = waiting.step.as_deref().unwrap_or("the run");
    terminal.complain(&format!("{} {}: {}", waiting.kind, safe(step), safe(&waiting.message)));
    for shown in &waiting.shown {
        let arguments = safe(&shown.arguments.to_string());
        terminal.complain(&format!(
            "  then {}  {}  {arguments}",
            safe(&shown.step),
            safe(&shown.request)
        ));
    }
    for change in &waiting.changes {
        terminal.complain(&format!("  changed {}:", safe(&change.step)));
        terminal.complain(&format!("    was {}", safe(&change.before.to_string())));
        terminal.complain(&format!("    now {}", safe(&change.after.to_string())));
    }
}

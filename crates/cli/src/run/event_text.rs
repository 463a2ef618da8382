//! Describes the events of a run for people. JSON output keeps the event names.

use milepost_ops::run::events::EventView;
use milepost_ops::run::view::WaitingKind;
use serde_json::Value;

use crate::terminal::{count, safe};

/// The description of a step with a timer.
const WAITS: &str = "waits until";

/// The status of a run that no process is driving.
pub(super) const INTERRUPTED: &str = "interrupted";

fn text<'e>(event: &'e EventView, name: &str) -> &'e str {
    event.event.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn number(event: &EventView, name: &str) -> Option<u64> {
    event.event.get(name).and_then(Value::as_u64)
}

/// What a run is waiting for, in words.
pub(crate) fn waiting_name(kind: WaitingKind) -> &'static str {
    if kind == WaitingKind::Adrift { INTERRUPTED } else { kind.name() }
}

pub(super) fn name(event: &EventView) -> &str {
    text(event, "event")
}

fn key(event: &EventView) -> String {
    safe(text(event, "key"))
}

/// The reason for a failure.
pub(super) fn failure(event: &EventView) -> Option<&str> {
    event.event.pointer("/failure/message").and_then(Value::as_str)
}

/// The line for a failed step whose reason is shown elsewhere.
pub(super) fn failed_line(event: &EventView) -> String {
    format!("  ✗ {}", key(event))
}

/// Whether the preceding event already shows how the step ended.
pub(super) fn is_told(before: &EventView, event: &EventView) -> bool {
    matches!(name(event), "step_succeeded" | "step_failed")
        && matches!(name(before), "approved" | "rejected" | "submission_accepted")
        && key(before) == key(event)
}

/// An event in one line; `None` if it is not worth showing.
pub(super) fn line(event: &EventView) -> Option<String> {
    let key = key(event);
    let why = || safe(failure(event).unwrap_or_default());
    Some(match name(event) {
        "attempt_started" => format!("  → {key}  {}", safe(text(event, "request"))),
        "attempt_failed" if number(event, "retry_at_ms").is_some() => {
            format!("  ↻ {key}  will retry: {}", why())
        }
        "attempt_unknown" => format!("  ? {key}  {}", why()),
        "step_succeeded" => format!("  ✓ {key}"),
        "step_failed" => format!("{}  {}", failed_line(event), why()),
        "step_skipped" => format!("  – {key}  {}", safe(text(event, "reason"))),
        "step_canceled" => format!("  – {key}  canceled"),
        "prompt_offered" => format!("  … {key}  waiting for an agent"),
        "submission_rejected" => format!("  ✗ {key}  submission rejected"),
        "submission_accepted" => format!("  ✓ {key}  submission accepted"),
        "approval_requested" => format!("  … {key}  waiting for a person"),
        "approved" => format!("  ✓ {key}  approved"),
        "rejected" => format!("  ✗ {key}  rejected"),
        "approval_voided" => format!("  ! {key}  asking again: what was approved has changed"),
        "went_back" => format!("  ↩ back to {}", safe(text(event, "to"))),
        "child_started" => format!("  → {key}  {}", safe(text(event, "run"))),
        "budget_warned" => format!("  ! most of the budget for {} is used", budget(event)),
        "budget_reached" => format!("  ! the budget for {} is used up", budget(event)),
        "cancel_requested" => "  ! canceling".to_owned(),
        "paused" => "  ! paused".to_owned(),
        "resumed" | "run_resumed_from" => "  ! resumed".to_owned(),
        _ => return None,
    })
}

fn budget(event: &EventView) -> String {
    text(event, "budget").replace('_', " ").replace("http calls", "requests")
}

/// The log line for any event.
pub(super) fn log_line(event: &EventView) -> String {
    if let Some(line) = line(event) {
        return line;
    }
    let key = key(event);
    let rest = match name(event) {
        "run_created" => "the run started".to_owned(),
        "step_scheduled" => {
            let items = event.event.get("items").and_then(Value::as_array).map_or(0, Vec::len);
            format!("{key}  loops over {}", count(items, "item"))
        }
        "attempt_succeeded" => match number(event, "duration_ms") {
            Some(took) => format!("{key}  response after {took} ms"),
            None => format!("{key}  response"),
        },
        "attempt_failed" => format!("{key}  attempt failed"),
        "outcome_decided" => format!("{key}  a person recorded the outcome"),
        "submission_received" => format!("{key}  submission received"),
        "context_added" => "variables were added".to_owned(),
        "timer_set" => match number(event, "due_ms") {
            Some(due) => format!("{key}  {WAITS} {}", milepost_ops::rfc3339(due)),
            None => format!("{key}  waits"),
        },
        "timer_fired" => format!("{key}  timer fired"),
        "child_finished" => format!("{key}  child run ended"),
        "run_succeeded" => "the run succeeded".to_owned(),
        "run_failed" => "the run failed".to_owned(),
        "run_canceled" => "the run was canceled".to_owned(),
        // A later version may have events that this one does not know.
        other => other.replace('_', " "),
    };
    format!("  · {}", rest.trim_end())
}

/// The steps that are active according to the events so far.
#[derive(Debug, Default)]
pub(super) struct ActiveSteps {
    steps: Vec<ActiveStep>,
}

#[derive(Debug)]
struct ActiveStep {
    key: String,
    what: String,
    started_ms: u64,
}

impl ActiveSteps {
    /// Processes an event. If it ended a step, returns what the step did and how long it took.
    pub(super) fn note(&mut self, event: &EventView) -> Option<String> {
        let key = key(event);
        match name(event) {
            "attempt_started" => self.start(key, safe(text(event, "request")), event.at_ms),
            "child_started" => self.start(key, safe(text(event, "run")), event.at_ms),
            "attempt_failed" if number(event, "retry_at_ms").is_some() => {
                self.start(key, "failed, will retry".to_owned(), event.at_ms);
            }
            "timer_set" => {
                let until = number(event, "due_ms").map(milepost_ops::rfc3339);
                let until = until.as_deref().and_then(|at| at.get(11..19)).unwrap_or("later");
                self.start(key, format!("{WAITS} {until} UTC"), event.at_ms);
            }
            "attempt_unknown" | "step_succeeded" | "step_failed" | "step_skipped"
            | "step_canceled" | "approved" | "rejected" => {
                let at = self.steps.iter().position(|step| step.key == key)?;
                return Some(self.steps.remove(at).ended(event.at_ms));
            }
            _ => {}
        }
        None
    }

    fn start(&mut self, key: String, what: String, started_ms: u64) {
        match self.steps.iter_mut().find(|step| step.key == key) {
            Some(step) => step.what = what,
            None => self.steps.push(ActiveStep { key, what, started_ms }),
        }
    }

    /// The current activity, in one line.
    pub(super) fn text(&self) -> String {
        let Some(ActiveStep { key, what, .. }) = self.steps.first() else {
            return "running".to_owned();
        };
        match self.steps.len() - 1 {
            0 => format!("{key}  {what}"),
            more => format!("{key}  {what}, and {more} more"),
        }
    }
}

impl ActiveStep {
    /// What the step did and how long it took, to be appended to the line that reports its end.
    fn ended(self, at_ms: u64) -> String {
        let mut text = String::new();
        // For a timer, only the duration is of interest.
        if !self.what.starts_with(WAITS) {
            text = format!("  {}", self.what);
        }
        match at_ms.saturating_sub(self.started_ms) / 1_000 {
            0 => text,
            seconds => format!("{text}  {seconds}s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use milepost_model::wording::Worded;
    use serde_json::{Value, json};

    use super::*;

    fn event(at_ms: u64, event: Value) -> EventView {
        EventView { seq: 1, at_ms, event, hint: Worded::default() }
    }

    #[test]
    fn active_steps_follow_from_events() {
        let mut active = ActiveSteps::default();
        assert_eq!(active.text(), "running");
        let started = json!({"event": "attempt_started", "key": "a", "request": "GET /orders"});
        active.note(&event(1_000, started));
        assert_eq!(active.text(), "a  GET /orders");
        active.note(&event(1_000, json!({"event": "timer_set", "key": "b", "due_ms": 61_000})));
        assert_eq!(active.text(), "a  GET /orders, and 1 more");
        let ended = active.note(&event(4_000, json!({"event": "step_succeeded", "key": "a"})));
        assert_eq!(ended.expect("it ended"), "  GET /orders  3s");
        assert_eq!(active.text(), "b  waits until 00:01:01 UTC");
        let ended = active.note(&event(61_000, json!({"event": "step_succeeded", "key": "b"})));
        assert_eq!(ended.expect("it ended"), "  60s");
    }

    #[test]
    fn a_final_failure_is_shown_once() {
        let failure = json!({"message": "no luck"});
        let failed = |retry: Value| {
            let fields = json!({"event": "attempt_failed", "key": "a", "failure": failure,
                "retry_at_ms": retry});
            line(&event(0, fields))
        };
        assert_eq!(failed(json!(5)).as_deref(), Some("  ↻ a  will retry: no luck"));
        assert_eq!(failed(Value::Null), None);
    }

    #[test]
    fn the_log_has_a_line_for_every_event() {
        let line = |name: &str| log_line(&event(0, json!({"event": name, "key": "a"})));
        assert_eq!(line("timer_fired"), "  · a  timer fired");
        assert_eq!(line("run_created"), "  · the run started");
        assert_eq!(line("something_new"), "  · something new");
    }
}

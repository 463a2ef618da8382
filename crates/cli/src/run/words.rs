//! What happens in a run, in words for people. JSON keeps the names of the events.

use milepost_ops::run::events::EventView;
use milepost_ops::run::view::WaitingKind;
use serde_json::Value;

use crate::terminal::{count, safe};

/// What a step does that goes on at a time.
const WAITS: &str = "waits until";

/// How a run stands that nothing drives, for people.
pub(super) const INTERRUPTED: &str = "interrupted";

fn text<'e>(event: &'e EventView, name: &str) -> &'e str {
    event.event.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn number(event: &EventView, name: &str) -> Option<u64> {
    event.event.get(name).and_then(Value::as_u64)
}

/// What kind of thing is waited for, for people.
pub(crate) fn kind(kind: WaitingKind) -> &'static str {
    if kind == WaitingKind::Adrift { INTERRUPTED } else { kind.name() }
}

/// The name of an event.
pub(super) fn name(event: &EventView) -> &str {
    text(event, "event")
}

fn key(event: &EventView) -> String {
    safe(text(event, "key"))
}

/// Why something failed, as it was told.
pub(super) fn failure(event: &EventView) -> Option<&str> {
    event.event.pointer("/failure/message").and_then(Value::as_str)
}

/// A step that failed, where why is told elsewhere.
pub(super) fn failed(event: &EventView) -> String {
    format!("  ✗ {}", key(event))
}

/// What happened, in a line; nothing for what nobody wants to see go by.
pub(super) fn line(event: &EventView) -> Option<String> {
    let key = key(event);
    let why = || safe(failure(event).unwrap_or_default());
    Some(match name(event) {
        "attempt_started" => format!("  → {key}  {}", safe(text(event, "request"))),
        "attempt_failed" if number(event, "retry_at_ms").is_some() => {
            format!("  ↻ {key}  tried again: {}", why())
        }
        "attempt_unknown" => format!("  ? {key}  {}", why()),
        "step_succeeded" => format!("  ✓ {key}"),
        "step_failed" => format!("{}  {}", self::failed(event), why()),
        "step_skipped" => format!("  – {key}  {}", safe(text(event, "reason"))),
        "step_canceled" => format!("  – {key}  canceled"),
        "prompt_offered" => format!("  … {key}  waits for an agent"),
        "submission_rejected" => format!("  ✗ {key}  what was submitted will not do"),
        "submission_accepted" => format!("  ✓ {key}  what was submitted will do"),
        "approval_requested" => format!("  … {key}  waits for a person"),
        "approved" => format!("  ✓ {key}  approved"),
        "rejected" => format!("  ✗ {key}  rejected"),
        "approval_voided" => format!("  ! {key}  is asked again: what was approved has changed"),
        "went_back" => format!("  ↩ back to {}", safe(text(event, "to"))),
        "child_started" => format!("  → {key}  {}", safe(text(event, "run"))),
        "budget_warned" => format!("  ! most of the budget of {} is used", budget(event)),
        "budget_reached" => format!("  ! the budget of {} is used up", budget(event)),
        "cancel_requested" => "  ! it is being canceled".to_owned(),
        "paused" => "  ! paused".to_owned(),
        "resumed" | "run_resumed_from" => "  ! it goes on".to_owned(),
        _ => return None,
    })
}

fn budget(event: &EventView) -> String {
    text(event, "budget").replace('_', " ").replace("http calls", "requests")
}

/// The same for a journal, which leaves nothing out.
pub(super) fn whole(event: &EventView) -> String {
    if let Some(line) = line(event) {
        return line;
    }
    let key = key(event);
    let rest = match name(event) {
        "run_created" => "started".to_owned(),
        "step_scheduled" => {
            let items = event.event.get("items").and_then(Value::as_array).map_or(0, Vec::len);
            format!("{key}  runs over {}", count(items, "item"))
        }
        "attempt_succeeded" => match number(event, "duration_ms") {
            Some(took) => format!("{key}  answered after {took} ms"),
            None => format!("{key}  answered"),
        },
        "attempt_failed" => format!("{key}  the attempt failed"),
        "outcome_decided" => format!("{key}  a person said what became of it"),
        "submission_received" => format!("{key}  something was submitted, and is looked at"),
        "context_added" => "variables were added".to_owned(),
        "timer_set" => match number(event, "due_ms") {
            Some(due) => format!("{key}  {WAITS} {}", milepost_ops::rfc3339(due)),
            None => format!("{key}  waits"),
        },
        "timer_fired" => format!("{key}  the time has come"),
        "child_finished" => format!("{key}  its run has ended"),
        "run_succeeded" => "the run succeeded".to_owned(),
        "run_failed" => "the run failed".to_owned(),
        "run_canceled" => "the run was canceled".to_owned(),
        // A later version may write down what this one has no word for.
        other => other.replace('_', " "),
    };
    format!("  · {}", rest.trim_end())
}

/// What is under way in a run, from what happened in it.
#[derive(Debug, Default)]
pub(super) struct Doing {
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    key: String,
    what: String,
    began_ms: u64,
}

impl Doing {
    /// Takes note of an event; says how long a step took that it ended.
    pub(super) fn note(&mut self, event: &EventView) -> Option<Ended> {
        let key = key(event);
        match name(event) {
            "attempt_started" => self.begin(key, safe(text(event, "request")), event.at_ms),
            "child_started" => self.begin(key, safe(text(event, "run")), event.at_ms),
            "attempt_failed" if number(event, "retry_at_ms").is_some() => {
                self.begin(key, "failed, and is tried again".to_owned(), event.at_ms);
            }
            "timer_set" => {
                let until = number(event, "due_ms").map(milepost_ops::rfc3339);
                let until = until.as_deref().and_then(|at| at.get(11..19)).unwrap_or("later");
                self.begin(key, format!("{WAITS} {until} UTC"), event.at_ms);
            }
            "attempt_unknown" | "step_succeeded" | "step_failed" | "step_skipped"
            | "step_canceled" | "approved" | "rejected" => {
                let at = self.steps.iter().position(|step| step.key == key)?;
                let Step { what, began_ms, .. } = self.steps.remove(at);
                // How long it waited says it all.
                let what = if what.starts_with(WAITS) { String::new() } else { what };
                return Some(Ended { what, took_ms: event.at_ms.saturating_sub(began_ms) });
            }
            _ => {}
        }
        None
    }

    fn begin(&mut self, key: String, what: String, at_ms: u64) {
        match self.steps.iter_mut().find(|step| step.key == key) {
            Some(step) => step.what = what,
            None => self.steps.push(Step { key, what, began_ms: at_ms }),
        }
    }

    /// What goes on, in one line.
    pub(super) fn words(&self) -> String {
        let Some(Step { key, what, .. }) = self.steps.first() else { return "running".to_owned() };
        match self.steps.len() - 1 {
            0 => format!("{key}  {what}"),
            more => format!("{key}  {what}, and {more} more"),
        }
    }
}

/// What a step did, and for how long.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ended {
    what: String,
    took_ms: u64,
}

impl Ended {
    /// Behind the line of the step; a time that nobody noticed is not told.
    pub(super) fn words(&self) -> String {
        let mut words = String::new();
        if !self.what.is_empty() {
            words = format!("  {}", self.what);
        }
        if self.took_ms >= 1_000 {
            words = format!("{words}  {} s", self.took_ms / 1_000);
        }
        words
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
    fn what_goes_on_is_known_from_what_happened() {
        let mut doing = Doing::default();
        assert_eq!(doing.words(), "running");
        let begun = json!({"event": "attempt_started", "key": "a", "request": "GET /orders"});
        doing.note(&event(1_000, begun));
        assert_eq!(doing.words(), "a  GET /orders");
        doing.note(&event(1_000, json!({"event": "timer_set", "key": "b", "due_ms": 61_000})));
        assert_eq!(doing.words(), "a  GET /orders, and 1 more");
        let ended = doing.note(&event(4_000, json!({"event": "step_succeeded", "key": "a"})));
        assert_eq!(ended.expect("it ended").words(), "  GET /orders  3 s");
        assert_eq!(doing.words(), "b  waits until 00:01:01 UTC");
        let ended = doing.note(&event(61_000, json!({"event": "step_succeeded", "key": "b"})));
        assert_eq!(ended.expect("it ended").words(), "  60 s");
    }

    #[test]
    fn a_failure_that_is_final_is_told_once() {
        let failure = json!({"message": "no luck"});
        let failed = |retry: Value| {
            let fields = json!({"event": "attempt_failed", "key": "a", "failure": failure,
                "retry_at_ms": retry});
            line(&event(0, fields))
        };
        assert_eq!(failed(json!(5)).as_deref(), Some("  ↻ a  tried again: no luck"));
        assert_eq!(failed(Value::Null), None);
    }

    #[test]
    fn a_journal_says_everything_in_words() {
        let told = |name: &str| whole(&event(0, json!({"event": name, "key": "a"})));
        assert_eq!(told("timer_fired"), "  · a  the time has come");
        assert_eq!(told("run_created"), "  · started");
        assert_eq!(told("something_new"), "  · something new");
    }
}

//! Renders a journal as lines that fit into a test.

use milepost_engine::event::{ChildOutcome, Event, JournalEntry};
use milepost_engine::signal::Reply;
use milepost_engine::state::{End, State, StepStatus};
use milepost_engine::view::{self, Waiting};
use serde_json::Value;

use crate::rig::{Rig, START_MS};

/// The journal without its first entry, and the state of the run.
pub(crate) fn journal(rig: &Rig) -> String {
    let mut lines: Vec<String> = rig.journal[1..].iter().map(line).collect();
    lines.push(format!("= {}", stands(rig)));
    lines.join("\n") + "\n"
}

/// The state of the run, and what it is waiting for.
pub(crate) fn stands(rig: &Rig) -> String {
    let state = rig.state();
    match &state.end {
        Some(End::Succeeded(None)) => "succeeded".to_owned(),
        Some(End::Succeeded(Some(output))) => format!("succeeded {output}"),
        Some(End::Failed(failure)) => format!("failed {}: {}", failure.code, failure.message()),
        Some(End::Canceled) => "canceled".to_owned(),
        None => {
            let waiting = view::waiting(&rig.flow, state);
            let waiting: Vec<String> = waiting.iter().map(waits).collect();
            format!("{} {}", rig.status().name(), waiting.join(", ")).trim_end().to_owned()
        }
    }
}

fn waits(waiting: &Waiting) -> String {
    match waiting {
        Waiting::Approval(request) => format!("approval {}", request.key),
        Waiting::Unknown { key, .. } => format!("unknown {key}"),
        Waiting::Exhausted { key, .. } => format!("exhausted {key}"),
        Waiting::Budget(budget) => format!("budget {budget:?}"),
        Waiting::Agent(key) => format!("agent {key}"),
        Waiting::Variable { step, variable, .. } => format!("variable {variable} of {step}"),
    }
}

fn at(at_ms: u64) -> String {
    let ms = i128::from(at_ms) - i128::from(START_MS);
    format!("at {ms}")
}

pub(crate) fn line(entry: &JournalEntry) -> String {
    let name = entry.event.name();
    let rest = match &entry.event {
        Event::RunCreated(_) | Event::WorldPinned { .. } | Event::RunCanceled => String::new(),
        Event::StepScheduled { key, items } => format!("{key} {} items", items.len()),
        Event::AttemptStarted(attempt) => {
            format!("{} #{} {}", attempt.key, attempt.attempt, attempt.request)
        }
        Event::AttemptSucceeded { key, answer, .. } => format!("{key} {}", answer.output),
        Event::AttemptFailed { key, failure, retry_at_ms, interrupted } => {
            let again = retry_at_ms.map_or("no more".to_owned(), at);
            let lost = if *interrupted { " interrupted" } else { "" };
            format!("{key} {}, {again}{lost}", failure.message())
        }
        Event::AttemptUnknown { key, failure } => format!("{key} {}", failure.message()),
        Event::OutcomeDecided { key, decision, .. } => format!("{key} {decision:?}"),
        Event::StepSkipped { key, reason, values } if values.is_empty() => {
            format!("{key}: {reason}")
        }
        Event::StepSkipped { key, values, .. } => {
            format!("{key}: {}", Value::Object(values.clone()))
        }
        Event::StepSucceeded { key, output } => {
            format!("{key} {}", output.as_ref().map(ToString::to_string).unwrap_or_default())
        }
        Event::StepFailed { key, failure } => {
            format!("{key} {}: {}", failure.code, failure.message())
        }
        Event::StepCanceled { key } | Event::TimerFired { key } => key.to_string(),
        Event::PromptOffered { key, attempt } => format!("{key} #{attempt}"),
        Event::SubmissionReceived(one) | Event::SubmissionAccepted(one) => {
            format!("{} #{} {}", one.key, one.attempt, one.output)
        }
        Event::SubmissionRejected { key, attempt, issues, counted, .. } => {
            let issues: Vec<&str> = issues.iter().map(|issue| issue.message.as_str()).collect();
            let counted = if *counted { "" } else { " not counted" };
            format!("{key} #{attempt} {}{counted}", issues.join("; "))
        }
        Event::ContextAdded { values, .. } => Value::Object(values.clone()).to_string(),
        other => rest(other),
    };
    format!("{name} {rest}").trim_end().to_owned()
}

fn rest(event: &Event) -> String {
    match event {
        Event::ApprovalRequested(request) => {
            let shown: Vec<&str> = request.shown.iter().map(|one| one.key.as_str()).collect();
            let changed = request.changes.len();
            format!("{} `{}` shows {shown:?}, {changed} changed", request.key, request.message)
        }
        Event::Approved(verdict) | Event::Rejected(verdict) => verdict.key.to_string(),
        Event::ApprovalVoided { key, changes } => {
            let changes: Vec<String> =
                changes.iter().map(|one| format!("{} → {}", one.before, one.after)).collect();
            format!("{key}: {}", changes.join("; "))
        }
        Event::WentBack { from, to, reset, .. } => {
            let reset: Vec<&str> = reset.iter().map(milepost_engine::StepKey::as_str).collect();
            format!("{from} to {to}, again {}", reset.join(" "))
        }
        Event::TimerSet { key, at_ms } => format!("{key} {}", at(*at_ms)),
        Event::ChildStarted { key, rest, .. } => {
            let rest = rest.iter().map(|(budget, rest)| format!(" with {rest} {}", budget.name()));
            format!("{key}{}", rest.collect::<String>())
        }
        Event::ChildFinished { key, outcome, spent, .. } => {
            let spent = match spent.is_nothing() {
                true => String::new(),
                false => format!(" after {} calls", spent.http_calls),
            };
            match outcome {
                ChildOutcome::Succeeded { output } => format!("{key} {output}{spent}"),
                ChildOutcome::Failed { failure } => format!("{key} {}{spent}", failure.message()),
                ChildOutcome::Canceled => format!("{key} canceled{spent}"),
                ChildOutcome::Gone { .. } => format!("{key} gone{spent}"),
            }
        }
        Event::BudgetWarned { budget, used, limit } => format!("{budget:?} {used} of {limit}"),
        Event::BudgetReached { budget, limit } => format!("{budget:?} {limit}"),
        Event::CancelRequested { by, .. } => view::who(by),
        Event::RunSucceeded { output } => {
            output.as_ref().map(ToString::to_string).unwrap_or_default()
        }
        Event::RunFailed { failure, key } => {
            let key = key.as_ref().map(|key| format!("{key} ")).unwrap_or_default();
            format!("{key}{}", failure.message())
        }
        Event::RunResumedFrom(resumption) => resumption.from.clone(),
        _ => String::new(),
    }
}

/// A reply as one line.
pub(crate) fn reply(reply: &Reply) -> String {
    match reply {
        Reply::Pausing { runs } => format!("pausing {runs:?}"),
        Reply::Done => "done".to_owned(),
        Reply::Accepted { key } => format!("accepted {key}"),
        Reply::Rejected { key, issues, attempts_left } => {
            let issues: Vec<&str> = issues.iter().map(|issue| issue.message.as_str()).collect();
            format!("rejected {key}: {}, {attempts_left} left", issues.join("; "))
        }
        Reply::Refused { failure } => format!("refused {}: {}", failure.code, failure.message()),
    }
}

/// The outcome of a run, without its history.
pub(crate) fn outcome(state: &State) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (key, step) in &state.steps {
        let output = step.output.as_ref().map(ToString::to_string).unwrap_or_default();
        let code = step.failure.as_ref().filter(|_| step.phase.status() == StepStatus::Failed);
        let code = code.map(|failure| failure.code.as_str()).unwrap_or_default();
        lines.push(format!("{key} {} {output}{code}", step.phase.status()));
    }
    lines.push(match &state.end {
        Some(End::Failed(failure)) => format!("failed {}", failure.code),
        other => format!("{other:?}"),
    });
    lines.join("\n")
}

//! Runs in lines that fit a test.

use std::sync::Arc;

use milepost_engine::event::Entry;
use milepost_engine::state::{End, State, StepStatus};

/// What a run came to, without the way there.
pub(crate) fn outcome(state: &State) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (key, step) in &state.steps {
        let output = step.output.as_ref().map(ToString::to_string).unwrap_or_default();
        let code = step.failure.as_ref().filter(|_| step.phase.status() == StepStatus::Failed);
        let code = code.map(|failure| failure.code.as_str()).unwrap_or_default();
        lines.push(format!("{key} {} {output}{code}", step.phase.status()));
    }
    lines.push(end(state));
    lines.join("\n")
}

/// How a run ended.
pub(crate) fn end(state: &State) -> String {
    match &state.end {
        Some(End::Succeeded(None)) => "succeeded".to_owned(),
        Some(End::Succeeded(Some(output))) => format!("succeeded {output}"),
        Some(End::Failed(failure)) => format!("failed {}", failure.code),
        Some(End::Canceled) => "canceled".to_owned(),
        None => "open".to_owned(),
    }
}

/// What happened, one line each.
pub(crate) fn events(entries: &[Arc<Entry>]) -> String {
    let lines = entries.iter().map(|entry| {
        let event = serde_json::to_string(&entry.event).unwrap_or_default();
        let event: String = event.chars().take(200).collect();
        format!("{} {event}", entry.seq)
    });
    lines.collect::<Vec<_>>().join("\n")
}

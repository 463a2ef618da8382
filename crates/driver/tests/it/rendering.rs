//! Renders runs as lines that fit into a test.

use std::fmt::Write;
use std::sync::Arc;

use milepost_driver::RunService;
use milepost_engine::event::{Event, JournalEntry};
use milepost_engine::ports::{RunFilter, RunRecord};
use milepost_engine::signal::{Reply, Signal};
use milepost_engine::state::{End, State, StepStatus};

/// The outcome of a run, without its history.
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

/// The events, one per line.
pub(crate) fn events(entries: &[Arc<JournalEntry>]) -> String {
    let lines = entries.iter().map(|entry| {
        let event = serde_json::to_string(&entry.event).unwrap_or_default();
        let event: String = event.chars().take(200).collect();
        format!("{} {event}", entry.seq)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// All runs.
pub(crate) async fn records(runs: &dyn RunService) -> Vec<RunRecord> {
    let (mut all, mut filter) = (Vec::new(), RunFilter::default());
    loop {
        let page = runs.list(&filter, 100).await.expect("lists");
        all.extend(page.runs);
        filter.before = page.next;
        if page.next.is_none() {
            return all;
        }
    }
}

/// The events of all runs.
pub(crate) async fn all(runs: &dyn RunService) -> String {
    let mut text = String::new();
    for record in records(runs).await {
        let news = runs.events(&record.id, 0).await.expect("reads");
        let (run, status, events) = (record.id, news.status, events(&news.entries));
        let _ = write!(text, "\n{run} {status:?}\n{events}\n");
    }
    text
}

/// Whether an acknowledged signal is in the journal.
pub(crate) fn is_kept(entries: &[Arc<JournalEntry>], signal: &Signal, reply: &Reply) -> bool {
    let any = |wanted: &dyn Fn(&Event) -> bool| entries.iter().any(|entry| wanted(&entry.event));
    match (signal, reply) {
        (Signal::Submit(_), Reply::Accepted { key }) => {
            any(&|event| matches!(event, Event::SubmissionAccepted(one) if one.key == *key))
        }
        (Signal::Submit(_), Reply::Rejected { key, .. }) => {
            any(&|event| matches!(event, Event::SubmissionRejected { key: of, .. } if of == key))
        }
        (Signal::Decide(decided), Reply::Done) => any(&|event| match event {
            Event::Approved(verdict) => decided.approve && verdict.digest == decided.digest,
            Event::Rejected(verdict) => !decided.approve && verdict.digest == decided.digest,
            _ => false,
        }),
        (Signal::Settle { key, .. }, Reply::Done) => {
            any(&|event| matches!(event, Event::OutcomeDecided { key: of, .. } if of == key))
        }
        (Signal::Resume { resumption, .. }, Reply::Done) => {
            any(&|event| matches!(event, Event::RunResumedFrom(one) if one == resumption))
        }
        (Signal::Cancel { .. }, Reply::Done) => any(&|event| {
            matches!(
                event,
                Event::CancelRequested { .. }
                    | Event::RunSucceeded { .. }
                    | Event::RunFailed { .. }
            )
        }),
        (Signal::Pause { .. }, Reply::Done) => any(&|event| matches!(event, Event::Paused { .. })),
        _ => true,
    }
}

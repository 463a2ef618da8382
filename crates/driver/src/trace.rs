//! What is logged and counted about runs: only ids, names and numbers. A run's inputs, requests and
//! responses are in its journal and nowhere else.

use milepost_engine::StepKey;
use milepost_engine::event::JournalEntry;
use milepost_engine::interpreter::AttemptOutcome;
use milepost_engine::state::Status;
use milepost_model::id::RunId;
use tracing::Span;

const TARGET: &str = "milepost::run";

/// The span for a run while this process drives it.
pub(super) fn run(run: &RunId, workflow: &str) -> Span {
    // No parent, because the run outlives the call that started it.
    tracing::info_span!(target: TARGET, parent: None, "run", run_id = run.as_str(),
        workflow_id = workflow)
}

/// The span for one attempt at a step.
pub(super) fn step(key: &StepKey, command: &str, attempt: u32) -> Span {
    tracing::info_span!(target: TARGET, "step", step_id = key.as_str(), command, attempt)
}

/// Logs and counts a new run, and records its ids in the span of the current operation.
pub(super) fn started(run: &RunId, workflow: &str, already: bool) {
    let operation = Span::current();
    operation.record("run_id", run.as_str());
    operation.record("workflow_id", workflow);
    if !already {
        milepost_metrics::RUNS_STARTED.add(1);
        tracing::info!(target: TARGET, run_id = run.as_str(), workflow_id = workflow,
            "run started");
    }
}

/// Logs a change in a run's status.
pub(super) fn stands(before: Option<Status>, status: Status) {
    let (before, status) = (before.map(Status::name), status.name());
    tracing::info!(target: TARGET, before, status, "run status");
}

/// Logs the outcome of an attempt.
pub(super) fn called(outcome: &AttemptOutcome, mock: bool) {
    match outcome {
        AttemptOutcome::Answered { answer, duration_ms } => {
            let status = answer.status;
            tracing::debug!(target: TARGET, mock, status, duration_ms, "step answered");
        }
        AttemptOutcome::Failed { failure, unsent, .. } => {
            let error_code = failure.code.as_str();
            tracing::debug!(target: TARGET, mock, error_code, unsent, "step not answered");
        }
    }
}

/// Logs and counts written events: their names and steps.
pub(super) fn happened(entries: &[JournalEntry]) {
    for entry in entries {
        let (event, seq) = (entry.event.name(), entry.seq);
        let step = entry.event.key().map(StepKey::as_str);
        tracing::debug!(target: TARGET, seq, event, step_id = step, "event");
        match event {
            "step_succeeded" => milepost_metrics::STEPS.add("succeeded"),
            "step_failed" => milepost_metrics::STEPS.add("failed"),
            "step_skipped" => milepost_metrics::STEPS.add("skipped"),
            "step_canceled" => milepost_metrics::STEPS.add("canceled"),
            "run_succeeded" => milepost_metrics::RUNS_ENDED.add("succeeded"),
            "run_failed" => milepost_metrics::RUNS_ENDED.add("failed"),
            "run_canceled" => milepost_metrics::RUNS_ENDED.add("canceled"),
            _ => {}
        }
    }
}

//! What is logged about an operation: its name, the ids it was given, and how it ended.
//!
//! Arguments and results are never logged. An id is logged only if it parses as one, because any
//! other string in its place might be confidential.

use std::time::Instant;

use milepost_model::id::{RunId, StepId, WorkflowId};
use milepost_model::problem::{Category, Problem};
use serde_json::Value;
use tracing::field::Empty;
use tracing::{Instrument, Span};

use super::OperationFuture;
use super::correlation::Correlation;

const TARGET: &str = "milepost::operation";

/// Runs an operation in its own span and logs its outcome, unless `request` is `None`.
pub(super) async fn operation<T>(
    name: &'static str,
    request: Option<Value>,
    work: OperationFuture<'_, T>,
) -> Result<T, Problem> {
    let Some(request) = request else { return work.await };
    let correlation = Correlation::current();
    let (span, began) = (span(name, &correlation, &request), Instant::now());
    let done = correlation.scope(work.instrument(span.clone())).await;
    span.in_scope(|| ended(name, &correlation, began, done.as_ref().err()));
    done
}

/// Whether anyone reads the log.
pub(super) fn is_wanted() -> bool {
    tracing::enabled!(target: TARGET, tracing::Level::ERROR)
}

fn span(operation: &str, correlation: &Correlation, request: &Value) -> Span {
    let span = tracing::info_span!(
        target: TARGET,
        "operation",
        operation,
        correlation_id = correlation.id(),
        workflow_id = Empty,
        run_id = Empty,
        step_id = Empty,
        outcome = Empty,
    );
    let given = |name: &str| request.get(name).and_then(Value::as_str);
    if let Some(id) = given("workflow_id").and_then(|id| WorkflowId::parse(id).ok()) {
        span.record("workflow_id", id.as_str());
    }
    if let Some(id) = given("run_id").and_then(|id| RunId::parse(id).ok()) {
        span.record("run_id", id.as_str());
    }
    if let Some(id) = given("step_id").and_then(|id| StepId::parse(id).ok()) {
        span.record("step_id", id.as_str());
    }
    span
}

fn ended(operation: &str, correlation: &Correlation, began: Instant, problem: Option<&Problem>) {
    let duration_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (correlation_id, span) = (correlation.id(), Span::current());
    let Some(problem) = problem else {
        span.record("outcome", "ok");
        tracing::info!(target: TARGET, operation, correlation_id, duration_ms, outcome = "ok",
            "operation done");
        return;
    };
    let error_code = problem.code.name();
    span.record("outcome", error_code);
    if problem.code.category() == Category::Internal {
        tracing::error!(target: TARGET, operation, correlation_id, duration_ms,
            outcome = "failed", error_code, "operation failed");
    } else {
        tracing::warn!(target: TARGET, operation, correlation_id, duration_ms,
            outcome = "failed", error_code, "operation failed");
    }
}

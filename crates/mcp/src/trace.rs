//! What requests leave in the log and in the counters: the method, how it ended, how long it took.
//! Parameters, answers and headers are nobody's to read there.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures_util::FutureExt;
use milepost_model::problem::{Category, Problem};
use milepost_ops::correlation::Correlation;
use tracing::Instrument;

const TARGET: &str = "milepost::mcp";

/// A method of the guide contract that is called by its bare name.
pub(crate) const GUIDE: &str = "guide";

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RequestOutcome {
    /// With what was asked for.
    Ok,
    /// With why that could not be done.
    Failed,
    /// It is not one that could be done.
    RpcError,
}

impl RequestOutcome {
    fn name(self) -> &'static str {
        match self {
            RequestOutcome::Ok => "ok",
            RequestOutcome::Failed => "failed",
            RequestOutcome::RpcError => "fault",
        }
    }
}

tokio::task_local! {
    /// Whether what is under way has failed: the answer to say so is one like any other.
    static FAILED: Arc<AtomicBool>;
}

/// Answers a request for `rmcp`, under an id of its own, and tells of it where `is_told` says so.
/// Nothing is held twice: what answers may be large.
pub(crate) fn request<T, E, F: Future<Output = Result<T, E>> + Send>(
    method: &str,
    work: F,
    is_told: fn(RequestOutcome) -> bool,
) -> impl Future<Output = Result<T, E>> + Send + use<T, E, F> {
    let (method, began) = (known(method), Instant::now());
    let (correlation, failed) = (Correlation::current(), Arc::new(AtomicBool::new(false)));
    let span = tracing::info_span!(target: TARGET, "request",
        method, correlation_id = correlation.id());
    let work = FAILED.scope(Arc::clone(&failed), work).instrument(span.clone());
    correlation.scope(work).map(move |done| {
        let outcome = match (&done, failed.load(Ordering::Relaxed)) {
            (_, true) => RequestOutcome::Failed,
            (Ok(_), false) => RequestOutcome::Ok,
            (Err(_), false) => RequestOutcome::RpcError,
        };
        if is_told(outcome) {
            span.in_scope(|| answered(method, outcome, began));
        }
        done
    })
}

/// Tells of a request that has its answer.
pub(crate) fn answered(method: &str, outcome: RequestOutcome, began: Instant) {
    milepost_metrics::MCP.add(method, outcome.name());
    let (method, outcome) = (known(method), outcome.name());
    let duration_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    tracing::debug!(target: TARGET, method, outcome, duration_us, "request answered");
}

/// Tells of a failure under the id that the client is told.
pub(crate) fn failed(correlation_id: &str, operation: Option<&str>, problem: &Problem) {
    declined();
    let (error_code, category) = (problem.code.name(), problem.code.category().name());
    if problem.code.category() == Category::Internal {
        tracing::error!(target: TARGET, correlation_id, operation, error_code, category,
            "request failed");
    } else {
        tracing::warn!(target: TARGET, correlation_id, operation, error_code, category,
            "request failed");
    }
}

/// Tells of a fault of ours under the id that the client is told.
pub(crate) fn internal(correlation_id: &str, tool: &str) {
    tracing::error!(target: TARGET, correlation_id, tool, "internal error");
}

/// What is under way comes to nothing. What is no request of `rmcp` is told of elsewhere.
pub(crate) fn declined() {
    let _ = FAILED.try_with(|failed| failed.store(true, Ordering::Relaxed));
}

/// A method that there is; whatever else a client sends is its own text.
pub(crate) fn known(method: &str) -> &'static str {
    milepost_metrics::MCP.row(method)
}

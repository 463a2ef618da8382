//! What is logged and counted about requests: the method, the outcome and the duration. Parameters,
//! answers and headers are never logged.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures_util::FutureExt;
use milepost_model::problem::{Category, Problem};
use milepost_ops::correlation::Correlation;
use tracing::Instrument;

const TARGET: &str = "milepost::mcp";

/// The name under which methods of the guide contract are counted when they are called directly.
pub(crate) const GUIDE: &str = "guide";

milepost_model::named_enum! {
    /// How a request ended.
    pub(crate) RequestOutcome {
        Ok = "ok",
        /// It was valid but could not be carried out.
        Failed = "failed",
        /// It was not a valid request.
        RpcError = "fault",
    }
}

tokio::task_local! {
    /// Whether the current request has failed. This is recorded separately because an answer that
    /// reports a failure looks like any other.
    static FAILED: Arc<AtomicBool>;
}

/// Runs a request under its own correlation id and reports it if `is_told` returns true. The future
/// is stored only once, because it may be large.
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

/// Logs and counts an answered request.
pub(crate) fn answered(method: &str, outcome: RequestOutcome, began: Instant) {
    milepost_metrics::MCP.add(method, outcome.name());
    let (method, outcome) = (known(method), outcome.name());
    let duration_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    tracing::debug!(target: TARGET, method, outcome, duration_us, "request answered");
}

/// Logs a failure under the correlation id that the client gets.
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

/// Logs an internal error under the correlation id that the client gets.
pub(crate) fn internal(correlation_id: &str, tool: &str) {
    tracing::error!(target: TARGET, correlation_id, tool, "internal error");
}

/// Marks the current request as failed. Does nothing outside [`request`].
pub(crate) fn declined() {
    let _ = FAILED.try_with(|failed| failed.store(true, Ordering::Relaxed));
}

/// The name of a known method; anything else that a client sends is mapped to a fixed name.
pub(crate) fn known(method: &str) -> &'static str {
    milepost_metrics::MCP.row(method)
}

//! What is told of a request after it was sent: to those who count, and to those who read logs.
//!
//! No value of the request is among it: no query, no header, no body, and of the path only the
//! template, because arguments and tokens stand in paths too.

use std::time::Duration;

use milepost_model::secret::Mask;

use crate::client::{Response, SendOptions};
use crate::fault::{SendError, SendFault};
use crate::outgoing::Outgoing;

/// Tells of one try.
pub(crate) fn sent(
    request: &Outgoing,
    sending: &SendOptions,
    mask: &Mask,
    result: &Result<Response, SendError>,
    took: Duration,
) {
    let outcome = outcome(result);
    milepost_metrics::CALLS.add(outcome);
    milepost_metrics::CALL_SECONDS.add(took);
    tracing::info!(
        target: "milepost::call",
        method = &*mask.text(&request.method),
        // A secret in a host is one that somebody put there: it is masked as everywhere.
        origin = &*mask.text(&request.url.origin().ascii_serialization()),
        path = sending.route.as_deref(),
        attempt = sending.attempt,
        status = result.as_ref().ok().map(|response| response.status),
        outcome,
        duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        "request sent"
    );
}

/// What came back, in a word that there are only a few of.
fn outcome(result: &Result<Response, SendError>) -> &'static str {
    match result {
        Ok(response) => match response.status {
            ..300 => "2xx",
            300..400 => "3xx",
            400..500 => "4xx",
            500.. => "5xx",
        },
        Err(error) => match &error.fault {
            SendFault::Timeout { .. } => "timeout",
            SendFault::Refused(_) | SendFault::RedirectRefused { .. } | SendFault::Invalid(_) => {
                "refused"
            }
            _ => "unanswered",
        },
    }
}

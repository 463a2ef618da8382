//! Metrics and logs for sent requests.
//!
//! They contain no values from the request: no query, header or body, and only the path template,
//! because paths contain arguments and tokens too.

use std::time::Duration;

use milepost_model::secret::Mask;

use crate::client::{Response, SendOptions};
use crate::fault::{SendError, SendFault};
use crate::outgoing::Outgoing;

/// Records one attempt.
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
        // Someone may have put a secret into the host, so it is masked like everything else.
        origin = &*mask.text(&request.url.origin().ascii_serialization()),
        path = sending.route.as_deref(),
        attempt = sending.attempt,
        status = result.as_ref().ok().map(|response| response.status),
        outcome,
        duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        "request sent"
    );
}

/// The outcome, as one of a small set of words.
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

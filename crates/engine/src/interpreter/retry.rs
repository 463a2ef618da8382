//! Whether and when a request is retried.

use milepost_model::limits::RETRY_ATTEMPTS;
use milepost_model::retry::{self, Backoff, Retry, RetryOn};
use milepost_model::step::Step;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::event::Attempt;
use crate::interpreter::step_action::millis;
use crate::limits;

/// What went wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// It could not be delivered, or the connection broke.
    Network,
    /// No answer arrived in time.
    Timeout,
    /// The answer is an error.
    Status(u16),
    /// The API refused the token, so it did nothing. The next attempt gets a new one.
    TokenRefused,
    /// It cannot be sent at all, and retrying would not help.
    Unsendable,
    /// It cannot be sent from here, because a secret that it needs was given to another process.
    Withheld,
    /// It would no longer be the recorded request, so it was not sent; the run decides again.
    Changed,
    /// It was not sent because the process was suspended for so long that another one might have
    /// taken over the run; the run's current driver decides again.
    Lapsed,
}

/// The delay before the next attempt; `None` if there is no next attempt.
pub(crate) fn pause(
    step: &Step,
    tried: &Attempt,
    trouble: FailureKind,
    retry_after_ms: Option<u64>,
) -> Option<u64> {
    let retry = step.retry.as_ref();
    let most = retry.and_then(|retry| retry.max_attempts).map(milepost_model::decode::Int::get);
    let most = most.unwrap_or(match (retry.is_some(), tried.repeatable) {
        (true, _) | (_, true) => RETRY_ATTEMPTS,
        (false, false) if trouble == FailureKind::TokenRefused => 2,
        (false, false) => 1,
    });
    if tried.attempt >= most || !is_worth_it(retry, trouble) {
        return None;
    }
    // If the server requests more than the maximum delay, give up, because an earlier attempt would
    // be refused too.
    let asked = retry_after_ms.unwrap_or(0);
    (asked <= limits::RETRY_AFTER_MAX_MS).then(|| grown(retry, tried).max(asked))
}

/// Whether an answer leaves the outcome of the request open: a gateway gave up on the server behind
/// it, or a redirect does not say whether the server has already acted. An author who lists the
/// status for retries is assumed to know that server.
pub(crate) fn is_ambiguous(step: &Step, status: u16) -> bool {
    let named = step.retry.as_ref().is_some_and(|retry| {
        retry.on.is_some() && is_worth_it(Some(retry), FailureKind::Status(status))
    });
    matches!(status, 301 | 302 | 502 | 504) && !named
}

fn is_worth_it(retry: Option<&Retry>, trouble: FailureKind) -> bool {
    let Some(on) = retry.and_then(|retry| retry.on.as_ref()) else {
        return match trouble {
            FailureKind::Network | FailureKind::TokenRefused => true,
            FailureKind::Status(status) => retry::STATUSES.contains(&status),
            FailureKind::Timeout
            | FailureKind::Unsendable
            | FailureKind::Withheld
            | FailureKind::Changed
            | FailureKind::Lapsed => false,
        };
    };
    on.iter().any(|on| match (on, trouble) {
        (_, FailureKind::TokenRefused)
        | (RetryOn::Network, FailureKind::Network)
        | (RetryOn::Timeout, FailureKind::Timeout) => true,
        (on, FailureKind::Status(status)) => on.is_status(status),
        _ => false,
    })
}

fn grown(retry: Option<&Retry>, tried: &Attempt) -> u64 {
    let initial = retry.and_then(|retry| retry.initial.as_ref());
    let initial = initial.map_or(limits::BACKOFF_MS, millis);
    let max = retry.and_then(|retry| retry.max.as_ref()).map_or(limits::BACKOFF_MAX_MS, millis);
    let fixed = retry.and_then(|retry| retry.backoff) == Some(Backoff::Fixed);
    let factor = if fixed { 1 } else { 1_u64 << (tried.attempt - 1).min(32) };
    let pause = initial.saturating_mul(factor).min(max.max(initial));
    if retry.and_then(|retry| retry.jitter) == Some(false) || fixed {
        return pause;
    }
    // Adds up to a quarter of the delay, so that runs that failed together do not retry together.
    // Because of the key, delays differ between runs but are reproducible for each run.
    let digest = Sha256::digest(format!("{}/{}", tried.idempotency_key, tried.attempt));
    let share = u64::from(u16::from_be_bytes([digest[0], digest[1]]));
    pause + pause / 4 * share / u64::from(u16::MAX)
}

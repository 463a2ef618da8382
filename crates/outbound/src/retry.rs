//! Retries of requests that a caller is waiting for. Requests made by a run follow the engine's
//! rules, which allow longer delays. Delays use the runtime's timer, so that tests can pause it.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

use milepost_model::limits::RETRY_ATTEMPTS;
use milepost_model::retry;

use crate::client::Response;
use crate::fault::{Delivery, SendError, SendFault};
use crate::limits;

/// When a call is retried. Delays double, and are randomized by up to half so that many callers
/// spread out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRetry {
    /// Total number of attempts, including the first.
    pub max_attempts: u32,
    /// The first delay.
    pub first: Duration,
}

impl CallRetry {
    /// Three attempts if the request may be repeated, otherwise one.
    pub fn of(may_repeat: bool) -> CallRetry {
        let max_attempts = if may_repeat { RETRY_ATTEMPTS } else { 1 };
        CallRetry { max_attempts, first: limits::BACKOFF_FIRST }
    }

    /// A single attempt.
    pub fn never() -> CallRetry {
        CallRetry::of(false)
    }

    /// The delay before the next attempt after `tried` attempts; `None` if there are no more
    /// attempts.
    ///
    /// If a server asks for a longer delay than [`limits::RETRY_AFTER_MAX`], the request is not
    /// retried, because an earlier attempt would be rejected as well.
    fn next(&self, tried: u32, last: &HttpAttemptResult, chance: f64) -> Option<Duration> {
        if tried >= self.max_attempts.min(limits::ATTEMPTS_MAX) || !is_passing(last) {
            return None;
        }
        if let Some(asked) = last.as_ref().ok().and_then(Response::retry_after) {
            return (asked <= limits::RETRY_AFTER_MAX).then_some(asked);
        }
        let pause = self.first.saturating_mul(2_u32.saturating_pow(tried.saturating_sub(1)));
        // At least half of the delay is kept, so that it is never zero.
        Some(pause.min(limits::BACKOFF_MAX).mul_f64(0.5 + chance.clamp(0.0, 1.0) / 2.0))
    }
}

/// The outcome of an attempt.
pub(crate) type HttpAttemptResult = Result<Response, SendError>;

/// Whether another attempt could succeed.
fn is_passing(last: &HttpAttemptResult) -> bool {
    match last {
        Ok(response) => retry::STATUSES.contains(&response.status),
        // A timeout while connecting is a network problem; after that, the server may be processing
        // the request.
        Err(SendError { fault: SendFault::Timeout { .. }, delivery, .. }) => {
            *delivery == Delivery::NotSent
        }
        Err(error) => error.fault.is_passing(),
    }
}

/// The attempts at one request.
pub(crate) struct HttpAttempts<'a> {
    retry: &'a CallRetry,
    chance: fn() -> f64,
    /// The number of the latest attempt, starting at 1.
    pub(crate) number: u32,
}

impl<'a> HttpAttempts<'a> {
    pub(crate) fn new(retry: &'a CallRetry) -> HttpAttempts<'a> {
        HttpAttempts { retry, chance, number: 1 }
    }

    /// Waits until the next attempt is due; returns false if there are no more.
    pub(crate) async fn again(&mut self, last: &HttpAttemptResult) -> bool {
        let Some(pause) = self.retry.next(self.number, last, (self.chance)()) else { return false };
        tokio::time::sleep(pause).await;
        self.number += 1;
        true
    }
}

impl Response {
    /// The delay that the server asks for with `Retry-After`.
    pub fn retry_after(&self) -> Option<Duration> {
        retry_after(self.header("retry-after"), self.header("date"), SystemTime::now())
    }
}

/// The delay that a server asks for. A date is compared with the server's own clock if the response
/// includes it, because the local clock may be wrong.
fn retry_after(value: Option<&str>, date: Option<&str>, now: SystemTime) -> Option<Duration> {
    let value = value?.trim();
    if let Ok(seconds) = value.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let parse = |text| httpdate::parse_http_date(text).ok();
    let now = date.and_then(parse).unwrap_or(now);
    Some(parse(value)?.duration_since(now).unwrap_or_default())
}

/// A random number from 0 to 1 that spreads out the attempts by many callers. Its quality does not
/// matter.
fn chance() -> f64 {
    let bits = RandomState::new().hash_one(()) >> 11;
    #[expect(clippy::cast_precision_loss, reason = "a float represents 53-bit integers exactly")]
    let chance = bits as f64 / (1_u64 << 53) as f64;
    chance
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(status: u16) -> Response {
        Response { status, ..busy(&[]) }
    }

    fn failed(fault: SendFault, delivery: Delivery) -> HttpAttemptResult {
        Err(SendError { method: "GET".into(), url: "https://a.test/".into(), fault, delivery })
    }

    #[test]
    fn the_usual_rule() {
        let retry = CallRetry::of(true);
        for (status, again) in [(200, false), (400, false), (401, false), (429, true)] {
            assert_eq!(retry.next(1, &Ok(answered(status)), 0.0).is_some(), again, "{status}");
        }
        for (status, again) in [(500, false), (501, false), (502, true), (503, true), (504, true)] {
            assert_eq!(retry.next(1, &Ok(answered(status)), 0.0).is_some(), again, "{status}");
            assert_eq!(CallRetry::of(false).next(1, &Ok(answered(status)), 0.0), None);
        }
        assert!(retry.next(2, &Ok(answered(503)), 0.0).is_some());
        assert_eq!(retry.next(3, &Ok(answered(503)), 0.0), None);
    }

    #[test]
    fn only_passing_faults_are_tried_again() {
        let retry = CallRetry::of(true);
        let lost = || SendFault::Lost { detail: String::new() };
        assert!(retry.next(1, &failed(lost(), Delivery::Unknown), 0.0).is_some());
        let late = || SendFault::Timeout { after: Duration::from_secs(1) };
        assert!(retry.next(1, &failed(late(), Delivery::NotSent), 0.0).is_some());
        assert_eq!(retry.next(1, &failed(late(), Delivery::Unknown), 0.0), None);
        let tls = SendFault::Tls { detail: String::new() };
        assert_eq!(retry.next(1, &failed(tls, Delivery::NotSent), 0.0), None);
    }

    #[test]
    fn pauses_double_up_to_a_bound_and_vary_by_half() {
        let retry = CallRetry { max_attempts: 100, ..CallRetry::of(true) };
        let pause = |tried, chance| retry.next(tried, &Ok(answered(503)), chance);
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!((pause(1, 1.0), pause(2, 1.0), pause(3, 1.0)), (ms(500), ms(1000), ms(2000)));
        assert_eq!((pause(1, 0.0), pause(2, 0.0)), (ms(250), ms(500)));
        assert_eq!((pause(6, 1.0), pause(99, 1.0)), (ms(10_000), ms(10_000)));
        assert_eq!(pause(100, 1.0), None);
    }

    #[test]
    fn the_servers_wish_is_granted_within_reason() {
        let pause =
            |seconds| CallRetry::of(true).next(1, &Ok(busy(&[("retry-after", seconds)])), 0.5);
        assert_eq!(pause("0"), Some(Duration::ZERO));
        assert_eq!(pause("60"), Some(Duration::from_mins(1)));
        assert_eq!(pause("61"), None);
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let after = |value, date| retry_after(Some(value), date, now);
        let seconds = |seconds| Some(Duration::from_secs(seconds));
        assert_eq!(after("120", None), seconds(120));
        assert_eq!(after("Sun, 06 Nov 1994 08:50:07 GMT", None), seconds(30));
        assert_eq!(after("Sun, 06 Nov 1994 08:00:00 GMT", None), seconds(0));
        let clock = Some("Sun, 06 Nov 1994 08:50:00 GMT");
        assert_eq!(after("Sun, 06 Nov 1994 08:50:07 GMT", clock), seconds(7));
        assert_eq!(after("soon", clock), None);
        assert_eq!(after("-1", clock), None);
        assert_eq!(retry_after(None, clock, now), None);
    }

    fn busy(retry_after: &[(&str, &str)]) -> Response {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Response {
            status: 503,
            headers: retry_after.iter().map(own).collect(),
            body: bytes::Bytes::new(),
            truncated: false,
            url: url::Url::parse("https://a.test/").expect("a URL"),
            redirects: 0,
            elapsed: Duration::ZERO,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn tries_are_counted_and_waited_for() {
        let retry = CallRetry { max_attempts: 4, ..CallRetry::of(true) };
        let mut tries = HttpAttempts { chance: || 0.5, ..HttpAttempts::new(&retry) };
        let began = tokio::time::Instant::now();
        let date = [
            ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ("retry-after", "Sun, 06 Nov 1994 08:49:57 GMT"),
        ];
        let answers = [&[][..], &[("retry-after", "7")], &date, &[]];
        let mut waited = Vec::new();
        for answer in answers {
            let again = tries.again(&Ok(busy(answer))).await;
            waited.push((again, tries.number, began.elapsed().as_millis()));
        }
        let expected = [(true, 2, 375), (true, 3, 7_375), (true, 4, 27_375), (false, 4, 27_375)];
        assert_eq!(waited, expected);
    }

    #[test]
    fn chance_stays_between_its_bounds() {
        assert!((0..1000).all(|_| (0.0..=1.0).contains(&chance())));
    }
}

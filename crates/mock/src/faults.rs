//! Faults that a mock plays on request: slow answers, errors, connections that break.

use milepost_catalog::command::ApiCommand;

use crate::MockRequest;
use crate::limits;
use crate::random::Random;

/// The header that asks for a status.
const STATUS: &str = "x-milepost-mock-status";
/// The header that asks for a delay in milliseconds.
const DELAY: &str = "x-milepost-mock-delay";
/// The header that asks to break the connection.
const DROP: &str = "x-milepost-mock-drop";

/// Faults for all requests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MockFaults {
    /// Milliseconds that every answer waits.
    pub latency_ms: u64,
    /// The share of requests that fail with 503, from 0 to 1. Which ones is decided by the seed.
    pub error_rate: f64,
    /// Operations that fail once, the next time they are called, with a status. An operation goes
    /// by its command name, its operation id, or method and path: `GET /orders/{id}`.
    pub fail_next: Vec<(String, u16)>,
}

impl MockFaults {
    /// How long an answer waits.
    pub(crate) fn delay_ms(&self, request: &MockRequest<'_>) -> u64 {
        let asked = request.header(DELAY).and_then(|text| text.trim().parse::<u64>().ok());
        asked.unwrap_or(self.latency_ms).min(limits::DELAY_MS)
    }

    /// The status that an operation fails with this time. A failure that was ordered once is used
    /// up.
    pub(crate) fn status(
        &mut self,
        command: &ApiCommand,
        request: &MockRequest<'_>,
        mut random: Random,
    ) -> Option<u16> {
        let asked = request.header(STATUS).and_then(|text| text.trim().parse::<u16>().ok());
        if let Some(status) = asked.filter(|status| (100..=599).contains(status)) {
            return Some(status);
        }
        let route = format!("{} {}", command.method.name(), command.path);
        let is_meant = |name: &str| {
            name == command.id.name()
                || name == command.id.to_string()
                || command.operation_id.as_deref() == Some(name)
                || name == route
        };
        if let Some(at) = self.fail_next.iter().position(|(name, _)| is_meant(name)) {
            return Some(self.fail_next.remove(at).1);
        }
        (random.fraction() < self.error_rate).then_some(503)
    }
}

/// Whether the connection breaks instead of a response.
pub(crate) fn drops(request: &MockRequest<'_>) -> bool {
    request.header(DROP).is_some_and(|value| matches!(value.trim(), "1" | "true"))
}

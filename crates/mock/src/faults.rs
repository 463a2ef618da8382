//! Faults that a mock injects on request: slow responses, errors, broken connections.

use milepost_catalog::command::ApiCommand;

use crate::MockRequest;
use crate::limits;
use crate::random::Random;

/// The header that requests a status.
const STATUS: &str = "x-milepost-mock-status";
/// The header that requests a delay in milliseconds.
const DELAY: &str = "x-milepost-mock-delay";
/// The header that requests a broken connection.
const DROP: &str = "x-milepost-mock-drop";

/// Faults that apply to all requests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MockFaults {
    /// The delay before every response, in milliseconds.
    pub latency_ms: u64,
    /// The share of requests that fail with 503, from 0 to 1. The seed determines which ones.
    pub error_rate: f64,
    /// Operations that fail on their next call, once, with the given status. An operation is named
    /// by its command, its operation id, or its method and path: `GET /orders/{id}`.
    pub fail_next: Vec<(String, u16)>,
}

impl MockFaults {
    /// How long to delay a response, in milliseconds.
    pub(crate) fn delay_ms(&self, request: &MockRequest<'_>) -> u64 {
        let asked = request.header(DELAY).and_then(|text| text.trim().parse::<u64>().ok());
        asked.unwrap_or(self.latency_ms).min(limits::DELAY_MS)
    }

    /// The status that an operation fails with this time, if any. A one-time failure is used up.
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

/// Whether to break the connection instead of responding.
pub(crate) fn drops(request: &MockRequest<'_>) -> bool {
    request.header(DROP).is_some_and(|value| matches!(value.trim(), "1" | "true"))
}

//! When a step is retried.

use milepost_syntax::tree::{SyntaxKind, SyntaxNode};
use serde_json::{Value, json};

use crate::decode::{Decode, Defs, Int, Report, shape, words, wrong};
use crate::duration::Period;

words! {
    /// How the delays between attempts grow.
    Backoff {
        /// The delay is constant.
        Fixed = "fixed",
        /// The delay doubles each time.
        Exponential = "exponential",
    }
}

shape! {
    /// When a step is retried.
    Retry = "a retry policy", slips &[
        ("max_attempts", &["attempts"]),
        ("initial", &["delay", "interval"]),
        ("max", &["max_delay"]),
    ];
    "max_attempts" max_attempts: opt Int<1, 100> =
        "The maximum number of attempts, including the first.",
    "backoff" backoff: opt Backoff = "How the delays grow.",
    "initial" initial: opt Period = "The first delay.",
    "max" max: opt Period = "The longest delay.",
    "jitter" jitter: opt bool = "Whether delays vary a little at random.",
    "on" on: opt Vec<RetryOn> = "Which failures are worth another attempt.",
}

/// Statuses that are retried by default, as are failed connections.
pub const STATUSES: [u16; 4] = [429, 502, 503, 504];

/// A failure that is worth another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryOn {
    /// The connection failed.
    Network,
    /// The request timed out.
    Timeout,
    Status(u16),
    /// A class of statuses: 4 for 4xx or 5 for 5xx.
    Class(u8),
}

impl RetryOn {
    /// Whether a response with this status is covered.
    pub fn is_status(self, found: u16) -> bool {
        match self {
            RetryOn::Status(status) => status == found,
            RetryOn::Class(class) => u16::from(class) == found / 100,
            RetryOn::Network | RetryOn::Timeout => false,
        }
    }
}

impl Decode for RetryOn {
    const WANT: &'static str = "`network`, `timeout`, a status such as `429`, or `5xx`";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let text = match &node.kind {
            SyntaxKind::Str(text) => text.clone(),
            SyntaxKind::Int(number) => number.to_string(),
            _ => return wrong(node, report),
        };
        match text.as_str() {
            "network" => return Some(RetryOn::Network),
            "timeout" => return Some(RetryOn::Timeout),
            "4xx" => return Some(RetryOn::Class(4)),
            "5xx" => return Some(RetryOn::Class(5)),
            _ => {}
        }
        let status = text.parse::<u16>().ok().filter(|status| (400..600).contains(status));
        if status.is_none() {
            let words = ["network", "timeout", "4xx", "5xx", "429"];
            crate::decode::not_a_choice(node, &text, &words, report);
        }
        status.map(RetryOn::Status)
    }

    fn schema(_: &mut Defs) -> Value {
        json!({"anyOf": [
            {"enum": ["network", "timeout", "4xx", "5xx"]},
            {"type": "integer", "minimum": 400, "maximum": 599},
            {"type": "string", "pattern": "^[45][0-9][0-9]$"},
        ]})
    }
}

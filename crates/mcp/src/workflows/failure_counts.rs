//! Counts repeated failures. A model that makes the same mistake for the third time is shown the
//! schema and an example.

use std::collections::VecDeque;
use std::sync::Mutex;

use crate::limits;
use crate::lock::lock;

/// The most recent failures, and how many times each has occurred.
#[derive(Debug, Default)]
pub(super) struct FailureCounts {
    seen: Mutex<VecDeque<(String, u32)>>,
}

impl FailureCounts {
    /// Counts a failure; returns how many times the tool has failed a caller in this way, including
    /// this time.
    pub(super) fn count(&self, tool: &str, message: &str) -> u32 {
        let key = format!("{tool}\n{message}");
        let mut seen = lock(&self.seen);
        if let Some((_, count)) = seen.iter_mut().find(|(known, _)| *known == key) {
            *count = count.saturating_add(1);
            return *count;
        }
        if seen.len() == limits::FAILURES {
            seen.pop_front();
        }
        seen.push_back((key, 1));
        1
    }

    /// Resets the counts of a tool that succeeded.
    pub(super) fn forget(&self, tool: &str) {
        let mut seen = lock(&self.seen);
        seen.retain(|(known, _)| known.split('\n').next() != Some(tool));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failure_is_counted_until_the_tool_succeeds() {
        let repeats = FailureCounts::default();
        assert_eq!((1..=3).map(|_| repeats.count("a", "x")).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!((repeats.count("a", "y"), repeats.count("b", "x")), (1, 1));
        repeats.forget("a");
        assert_eq!((repeats.count("a", "x"), repeats.count("b", "x")), (1, 2));
        for number in 0..2 * limits::FAILURES {
            repeats.count("c", &number.to_string());
        }
        assert_eq!(repeats.count("b", "x"), 1, "long ago");
    }
}

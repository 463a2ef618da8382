//! A single thing to fix, and its location.

use std::fmt;

/// A broken rule. The derived order groups by file, then by line.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// The locations of findings as `path:line`, for tests.
#[cfg(test)]
pub(crate) fn places(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_a_place_an_editor_can_open() {
        let finding = Finding::new("crates/model/src/id.rs", 7, "is too long: split it");
        assert_eq!(finding.to_string(), "crates/model/src/id.rs:7: is too long: split it");
    }
}

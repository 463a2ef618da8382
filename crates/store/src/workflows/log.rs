//! A workflow's change log: one line of JSON per change, newest last.
//!
//! A crash may leave a partial line at the end. It is skipped, and the next entry starts on a new
//! line.

use milepost_model::serialized_enum;
use milepost_syntax::source::Format;
use serde_json::{Value, json};

use milepost_model::digest::Digest;

serialized_enum! {
    /// What created a version.
    ChangeKind {
        Save = "save",
        /// The id was changed.
        Rename = "rename",
        /// An earlier version was restored.
        Restore = "restore",
        /// The workflow was deleted, which creates no version.
        Delete = "delete",
        /// The file was edited by other means.
        Edit = "edit",
    }
}

/// A source by its hash, with its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextRef {
    pub(super) version: Digest,
    pub(super) format: Format,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogEntry {
    pub(super) at_ms: u64,
    pub(super) operation: ChangeKind,
    /// The source after the change; `None` after a deletion.
    pub(super) text: Option<TextRef>,
    /// The source before the change; `None` if there was no workflow.
    pub(super) previous: Option<TextRef>,
    /// The previous id, if the change is a rename.
    pub(super) renamed_from: Option<String>,
}

impl LogEntry {
    /// The log line, including the newline.
    pub(super) fn line(&self) -> String {
        let mut line = json!({
            "at_ms": self.at_ms,
            "operation": self.operation.name(),
            "version": self.text.map(|text| text.version.to_string()),
            "format": self.text.map(|text| text.format.name()),
            "previous": self.previous.map(|text| text.version.to_string()),
            "previous_format": self.previous.map(|text| text.format.name()),
        });
        if let Some(id) = &self.renamed_from {
            line["renamed_from"] = id.as_str().into();
        }
        format!("{line}\n")
    }

    fn of_line(line: &str) -> Option<LogEntry> {
        let line: Value = serde_json::from_str(line).ok()?;
        let text = |version: &str, format: &str| {
            let version = Digest::parse(line[version].as_str()?)?;
            Some(TextRef { version, format: Format::of_extension(line[format].as_str()?)? })
        };
        Some(LogEntry {
            at_ms: line["at_ms"].as_u64()?,
            operation: ChangeKind::named(line["operation"].as_str()?)?,
            text: text("version", "format"),
            previous: text("previous", "previous_format"),
            renamed_from: line["renamed_from"].as_str().map(str::to_owned),
        })
    }
}

/// The entries in a log, oldest first. Invalid lines are skipped: a partial line left by a crash
/// must not hide the others.
pub(super) fn entries(log: &[u8]) -> Vec<LogEntry> {
    let lines = log.split(|byte| *byte == b'\n');
    lines.filter_map(|line| LogEntry::of_line(std::str::from_utf8(line).ok()?)).collect()
}

/// Appends one log's entries to another, leaving out those it already has.
pub(super) fn joined(log: &[u8], more: &[u8]) -> Vec<u8> {
    let held: Vec<LogEntry> = entries(log);
    let mut joined: Vec<u8> = held.iter().flat_map(|entry| entry.line().into_bytes()).collect();
    for entry in entries(more).iter().filter(|entry| !held.contains(entry)) {
        joined.extend(entry.line().into_bytes());
    }
    joined
}

#[cfg(test)]
mod tests {
    use milepost_syntax::source::Format;

    use super::{ChangeKind, LogEntry, TextRef, entries, joined};
    use milepost_model::digest::Digest;

    fn entry(at_ms: u64) -> LogEntry {
        let text = |bytes: &[u8]| TextRef { version: Digest::of(bytes), format: Format::Yaml };
        LogEntry {
            at_ms,
            operation: ChangeKind::Rename,
            text: Some(text(b"new")),
            previous: (at_ms > 1).then(|| text(b"old")),
            renamed_from: (at_ms > 1).then(|| "old".to_owned()),
        }
    }

    #[test]
    fn text_and_back() {
        for entry in [entry(1), entry(2)] {
            assert_eq!(entries(entry.line().as_bytes()), [entry]);
        }
    }

    #[test]
    fn half_a_line_hides_no_other() {
        let (one, two) = (entry(1).line(), entry(2).line());
        for cut in 0..one.len() - 1 {
            let log = format!("{two}{}\n{two}", &one[..cut]);
            assert_eq!(entries(log.as_bytes()), [entry(2), entry(2)], "{cut}");
        }
        assert_eq!(entries(b"\xff\xfe\n{}\n[]\n\n"), []);
    }

    #[test]
    fn what_is_joined_twice_is_there_once() {
        let once = joined(entry(1).line().as_bytes(), entry(2).line().as_bytes());
        assert_eq!(entries(&once), [entry(1), entry(2)]);
        assert_eq!(joined(&once, entry(2).line().as_bytes()), once);
    }
}

//! Why a configuration is not changed, and what the user can do by hand instead.

use std::path::Path;

use milepost_model::problem::{Code, Problem};
use milepost_store::{EditError, FileError};
use serde_json::{Map, Value};

use super::BOM;
use super::edit::{EditFault, position};
use super::slot::EntrySlot;

/// The requested change.
pub(super) struct EditRequest<'a> {
    pub(super) path: &'a Path,
    pub(super) slot: &'a EntrySlot,
    pub(super) entry: &'a Map<String, Value>,
    /// Whether the entry was to be removed.
    pub(super) out: bool,
}

impl EditRequest<'_> {
    /// Decodes the text of a file and strips its byte order mark.
    pub(super) fn decoded(&self, bytes: &[u8]) -> Result<String, Problem> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            let readable = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            self.refused(&readable, &EditFault::new(readable.len(), "it is not UTF-8 text"))
        })?;
        Ok(text.strip_prefix(BOM).unwrap_or(text).to_owned())
    }

    /// The problem for a file that cannot be parsed or cannot be changed safely.
    pub(super) fn refused(&self, text: &str, fault: &EditFault) -> Problem {
        let (line, column) = position(text, fault.offset);
        let (path, message) = (self.path.display(), &fault.message);
        let message = format!("`{path}`, line {line}, column {column}: {message}");
        let hint = format!("fix the file, {}", self.by_hand());
        self.problem(Code::ClientConfigRefused, message, hint)
            .context("line", line)
            .context("column", column)
    }

    /// The problem for a different entry that already exists.
    pub(super) fn conflict(&self, diff: &str) -> Problem {
        let (name, path) = (&self.slot.name, self.path.display());
        let message = format!("`{path}` has a different entry `{name}`");
        let hint = match self.out {
            true => "add `--overwrite` to remove it anyway".to_owned(),
            false => "add `--overwrite` to replace it, or choose another `--name`".to_owned(),
        };
        self.problem(Code::ClientConfigConflict, message, hint).context("diff", diff)
    }

    /// The problem for a file that could not be read or written.
    pub(super) fn not_written(&self, error: &EditError) -> Problem {
        let (code, hint) = match error {
            EditError::Changed { .. } | EditError::File(FileError::Exists { .. }) => {
                let hint = "nothing was written; run the command again".to_owned();
                return self.problem(Code::ClientConfigConflict, error.to_string(), hint);
            }
            EditError::ReadOnly { .. } => (Code::FileRefused, "make it writable"),
            EditError::NotOurs { .. } => (Code::FileRefused, "run this as the owner of the file"),
            EditError::Dangling { .. } => (Code::FileRefused, "remove the link"),
            EditError::File(FileError::Outside { .. }) => {
                (Code::FileRefused, "replace the link with the file itself")
            }
            EditError::File(FileError::NotRegular { .. }) => {
                (Code::FileRefused, "put a regular file there")
            }
            EditError::File(FileError::TooLarge { .. }) => {
                (Code::ClientConfigRefused, "let the client clean up its file")
            }
            EditError::File(FileError::NotFolder { .. }) => (Code::StorageFailed, "move it away"),
            EditError::File(FileError::Io { .. } | FileError::NotFound { .. }) => {
                (Code::StorageFailed, "make it readable and writable by this user")
            }
        };
        let message = match error {
            EditError::File(error) => error.told(),
            _ => error.to_string(),
        };
        self.problem(code, message, format!("{hint}, {}", self.by_hand()))
    }

    fn problem(&self, code: Code, message: String, hint: String) -> Problem {
        let problem = Problem::new(code, message, hint)
            .context("path", self.path.display().to_string())
            .context("name", self.slot.name.as_str());
        if self.out { problem } else { problem.context("paste", self.slot.snippet(self.entry)) }
    }

    fn by_hand(&self) -> String {
        let EntrySlot { parent, name, .. } = self.slot;
        if self.out {
            return format!("or remove `{name}` from `{parent}` by hand");
        }
        let snippet = self.slot.snippet(self.entry);
        format!("or add this to it by hand:\n{}", snippet.trim_end())
    }
}

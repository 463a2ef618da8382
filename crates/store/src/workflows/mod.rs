//! The workflows of the one directory that is written, as they are changed.
//!
//! Several processes share the directory. Who changes something holds its lock, reads the file
//! under it and compares: of several who have seen the same version one is first, and the others
//! are told. What an editor wrote meanwhile is seen the same way. Nobody's bytes are changed: a
//! text is written as it was given, and a new id takes the place of the old one alone.
//!
//! Before a file is touched, what it said and what it will say are kept in the [`WorkflowHistory`].
//! Whatever happens in between, the file is the old one or the new one, and both texts can be had.

mod error;
mod files;
mod history;
mod log;
mod turn;

use std::fs;
use std::path::{Path, PathBuf};

use milepost_model::document::Document;
use milepost_model::id::WorkflowId;
use milepost_syntax::limits::DOCUMENT_BYTES;
use milepost_syntax::source::Format;

pub use error::WorkflowError;
pub use history::{StoredText, StoredVersion, VersionList, WorkflowHistory};
pub use log::ChangeKind;

use self::files::{DirectoryFiles, HeldFile, WORLD};
use self::log::{LogEntry, TextRef};
use self::turn::FilesMutex;
use crate::file::{self, FileError, FileMode, FilePoint};
use crate::lock::Lock;
use crate::{Digest, Locations, identity};

/// The workflows of the directory that is written, for as long as a process lives.
#[derive(Debug)]
pub struct WorkflowStore {
    directory: PathBuf,
    history: WorkflowHistory,
    turn: FilesMutex,
}

/// What a caller takes to be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedVersion {
    /// Whatever is there, if anything is.
    Any,
    /// No workflow of this id.
    Absent,
    /// This version, and no other.
    Version(Digest),
}

/// What goes with every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkflowChange {
    /// What the caller takes to be there.
    pub expected: ExpectedVersion,
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A text to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkflowDraft<'d> {
    pub bytes: &'d [u8],
    /// How it is written, which is the ending of its file.
    pub format: Format,
    /// The id that the text names, as whoever read it found it. Nothing is read again to write it.
    pub id: Option<&'d str>,
}

/// What a change has left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedWorkflow {
    pub path: PathBuf,
    pub version: Digest,
    pub format: Format,
    /// What it said before; none when there was none.
    pub previous: Option<Digest>,
}

/// What is gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedWorkflow {
    pub path: PathBuf,
    pub version: Digest,
}

impl WorkflowStore {
    /// Those of the directory that is written. Looks at nothing yet.
    pub fn open(locations: &Locations) -> WorkflowStore {
        let directory = locations.runtime().to_owned();
        let turn = FilesMutex::of(&directory);
        WorkflowStore { directory, history: WorkflowHistory::open(locations), turn }
    }

    /// Writes a workflow: into the file that has its id, else into one named after it.
    pub fn save(
        &self,
        id: &WorkflowId,
        draft: WorkflowDraft<'_>,
        change: WorkflowChange,
    ) -> Result<SavedWorkflow, WorkflowError> {
        self.put(id, draft, change, ChangeKind::Save)
    }

    /// Writes what a workflow said before. Where that was under another id, it gets this one.
    pub fn restore(
        &self,
        id: &WorkflowId,
        version: Digest,
        change: WorkflowChange,
    ) -> Result<SavedWorkflow, WorkflowError> {
        let StoredText { bytes, format } = self.history.text(id, version)?;
        let document = Document::read(&bytes, Some(format), WORLD);
        let bytes = match &document.id {
            Some(found) if found != id.as_str() => document
                .with_id(id)
                .ok_or_else(|| WorkflowError::OtherId { id: id.clone(), found: found.clone() })?,
            _ => bytes,
        };
        let draft =
            WorkflowDraft { bytes: &bytes, format, id: document.id.as_ref().map(|_| id.as_str()) };
        self.put(id, draft, change, ChangeKind::Restore)
    }

    /// Gives a workflow another id, in its text and as the name of its file. At every moment there
    /// is one of both ids. Its history goes with it.
    pub fn rename(
        &self,
        from: &WorkflowId,
        to: &WorkflowId,
        change: WorkflowChange,
    ) -> Result<SavedWorkflow, WorkflowError> {
        self.need_directory(from)?;
        let mut files = self.turn.take(&self.directory)?;
        let _lock = Lock::of(&self.directory)?;
        let held = self.need(&mut files, from, change.expected)?;
        if from == to {
            let TextRef { version, format } = held.text;
            let path = self.directory.join(&held.path);
            return Ok(SavedWorkflow { path, version, format, previous: Some(version) });
        }
        if let Some(taken) = files.held(to)? {
            return Err(self.exists(to, &taken));
        }
        let target = beside(&held.path, to, held.text.format);
        if target != held.path {
            self.check_free(to, &target)?;
        }
        let bytes = renamed(&held, from, to)?;
        let text = TextRef { version: self.history.keep(&bytes)?, ..held.text };
        self.history.keep(&held.bytes)?;
        let entry = LogEntry {
            at_ms: change.at_ms,
            operation: ChangeKind::Rename,
            text: Some(text),
            previous: Some(held.text),
            renamed_from: Some(from.to_string()),
        };
        self.history.carry(from, to, &entry)?;
        self.remove_left(&files, from, &held.others, &held.path)?;
        // With this the workflow has the other id; the name of its file only follows.
        let path = self.directory.join(&held.path);
        file::write_atomic(&path, &bytes, true)?;
        let path = move_file(path, self.directory.join(&target));
        self.history.forget(from)?;
        let TextRef { version, format } = text;
        Ok(SavedWorkflow { path, version, format, previous: Some(held.text.version) })
    }

    /// Deletes a workflow. What it said can be restored.
    pub fn delete(
        &self,
        id: &WorkflowId,
        change: WorkflowChange,
    ) -> Result<DeletedWorkflow, WorkflowError> {
        self.need_directory(id)?;
        let mut files = self.turn.take(&self.directory)?;
        let _lock = Lock::of(&self.directory)?;
        let held = self.need(&mut files, id, change.expected)?;
        self.history.keep(&held.bytes)?;
        let entry = LogEntry {
            at_ms: change.at_ms,
            operation: ChangeKind::Delete,
            text: None,
            previous: Some(held.text),
            renamed_from: None,
        };
        self.history.note(id, &entry)?;
        let path = self.directory.join(&held.path);
        self.remove_left(&files, id, &held.others, &held.path)?;
        file::remove(&path)?;
        self.sync_beside(&path)?;
        Ok(DeletedWorkflow { path, version: held.text.version })
    }

    fn put(
        &self,
        id: &WorkflowId,
        draft: WorkflowDraft<'_>,
        change: WorkflowChange,
        operation: ChangeKind,
    ) -> Result<SavedWorkflow, WorkflowError> {
        check_text(id, draft, &self.directory)?;
        file::make_directory(&self.directory, FileMode::Same)?;
        let mut files = self.turn.take(&self.directory)?;
        let _lock = Lock::of(&self.directory)?;
        let held = files.held(id)?;
        self.compare(id, held.as_ref(), change.expected)?;
        let target = self.target(id, held.as_ref(), draft.format)?;
        let path = self.directory.join(&target);
        let (version, format) = (Digest::of(draft.bytes), draft.format);
        let previous = held.as_ref().map(|held| held.text);
        let saved =
            SavedWorkflow { path, version, format, previous: previous.map(|text| text.version) };
        if held.as_ref().is_some_and(|held| held.path == target && held.bytes == draft.bytes) {
            return Ok(saved);
        }
        if let Some(held) = &held {
            self.history.keep(&held.bytes)?;
        }
        self.history.keep(draft.bytes)?;
        let text = Some(TextRef { version, format });
        let entry = LogEntry { at_ms: change.at_ms, operation, text, previous, renamed_from: None };
        self.history.note(id, &entry)?;
        file::write_atomic(&saved.path, draft.bytes, true)?;
        if let Some(held) = &held {
            let mut left = held.others.clone();
            left.push(held.path.clone());
            left.retain(|other| *other != target);
            self.remove_left(&files, id, &left, &target)?;
        }
        Ok(saved)
    }

    /// The file a text goes to: the one that has the id, unless its name promises another format.
    fn target(
        &self,
        id: &WorkflowId,
        held: Option<&HeldFile>,
        format: Format,
    ) -> Result<PathBuf, WorkflowError> {
        let target = match held {
            Some(held) if held.text.format == format => return Ok(held.path.clone()),
            Some(held) => beside(&held.path, id, format),
            None => PathBuf::from(file_name(id, format)),
        };
        if !held.is_some_and(|held| held.others.contains(&target)) {
            self.check_free(id, &target)?;
        }
        Ok(target)
    }

    /// Nothing may be at a path that is to be written, not even what no workflow counts under.
    fn check_free(&self, id: &WorkflowId, target: &Path) -> Result<(), WorkflowError> {
        let path = self.directory.join(target);
        match file::is_there(&path)? {
            true => Err(WorkflowError::Taken { id: id.clone(), path }),
            false => Ok(()),
        }
    }

    /// The file of a workflow that has to be there.
    fn need(
        &self,
        files: &mut DirectoryFiles,
        id: &WorkflowId,
        expected: ExpectedVersion,
    ) -> Result<HeldFile, WorkflowError> {
        let Some(held) = files.held(id)? else {
            return Err(WorkflowError::NotFound { id: id.clone() });
        };
        self.compare(id, Some(&held), expected)?;
        Ok(held)
    }

    /// Without a directory there is no workflow, and a look makes none.
    fn need_directory(&self, id: &WorkflowId) -> Result<(), WorkflowError> {
        let found = file::metadata(&self.directory)?;
        found.map(drop).ok_or_else(|| WorkflowError::NotFound { id: id.clone() })
    }

    fn compare(
        &self,
        id: &WorkflowId,
        held: Option<&HeldFile>,
        expected: ExpectedVersion,
    ) -> Result<(), WorkflowError> {
        let found = held.map(|held| held.text.version);
        match (expected, held) {
            (ExpectedVersion::Any, _) | (ExpectedVersion::Absent, None) => Ok(()),
            (ExpectedVersion::Absent, Some(held)) => Err(self.exists(id, held)),
            (ExpectedVersion::Version(expected), _) if found == Some(expected) => Ok(()),
            (ExpectedVersion::Version(expected), _) => {
                Err(WorkflowError::Conflict { id: id.clone(), expected, found })
            }
        }
    }

    fn exists(&self, id: &WorkflowId, held: &HeldFile) -> WorkflowError {
        let (version, path) = (held.text.version, self.directory.join(&held.path));
        WorkflowError::Exists { id: id.clone(), version, path }
    }

    /// Removes files that a change has left behind, or one that did not come to its end: they lie
    /// beside the file that counts, bear the name of the workflow, say its id, and what they say is
    /// kept. Others are somebody's.
    fn remove_left(
        &self,
        files: &DirectoryFiles,
        id: &WorkflowId,
        left: &[PathBuf],
        counts: &Path,
    ) -> Result<(), FileError> {
        let counting = self.directory.join(counts);
        for other in left {
            let path = self.directory.join(other);
            let named = other.file_stem().is_some_and(|stem| stem == id.as_str());
            // One of both may be a link to the other.
            let apart = || match (fs::canonicalize(&path), fs::canonicalize(&counting)) {
                (Ok(one), Ok(other)) => one != other,
                _ => false,
            };
            let kept = || files.read(other).is_ok_and(|text| self.history.has(Digest::of(&text)));
            if named && other.parent() == counts.parent() && apart() && kept() {
                file::remove(&path)?;
                self.sync_beside(&path)?;
            }
        }
        Ok(())
    }

    fn sync_beside(&self, path: &Path) -> Result<(), FileError> {
        file::sync_directory(path.parent().unwrap_or(&self.directory))
    }
}

/// A text that is too large, or that says another id, is not written.
fn check_text(
    id: &WorkflowId,
    draft: WorkflowDraft<'_>,
    directory: &Path,
) -> Result<(), WorkflowError> {
    let path = directory.join(file_name(id, draft.format));
    file::check_size(&path, draft.bytes.len(), DOCUMENT_BYTES)?;
    match draft.id {
        Some(found) if found != id.as_str() => {
            Err(WorkflowError::OtherId { id: id.clone(), found: found.to_owned() })
        }
        _ => Ok(()),
    }
}

/// The text of a workflow with another id, which must be as good as it was.
fn renamed(held: &HeldFile, from: &WorkflowId, to: &WorkflowId) -> Result<Vec<u8>, WorkflowError> {
    let before = Document::read(&held.bytes, Some(held.text.format), WORLD);
    let bytes = before.with_id(to).ok_or_else(|| WorkflowError::NoHold { id: from.clone() })?;
    let after = Document::read(&bytes, Some(held.text.format), WORLD);
    if before.is_valid() && !after.is_valid() {
        return Err(WorkflowError::Unfit { id: to.clone(), violations: after.violations });
    }
    Ok(bytes)
}

/// Gives a file another name if that is free, and says which one it has then. It counts by what it
/// says: with its old name it is the same workflow.
fn move_file(from: PathBuf, to: PathBuf) -> PathBuf {
    // In one step: a second name for a moment would be a second workflow after a crash.
    let free = fs::symlink_metadata(&to).is_err();
    let rename = || file::at(FilePoint::Rename, || fs::rename(&from, &to));
    if from == to || !free || rename().is_err() {
        return from;
    }
    // Should the machine stop before this is on the disk, the old name is back, which will do.
    drop(file::sync_directory(to.parent().unwrap_or(Path::new("."))));
    to
}

fn beside(path: &Path, id: &WorkflowId, format: Format) -> PathBuf {
    let same = path.extension().filter(|_| identity::format(path) == Some(format));
    let name = match same.and_then(|extension| extension.to_str()) {
        Some(extension) => format!("{id}.{extension}"),
        None => file_name(id, format),
    };
    path.with_file_name(name)
}

fn file_name(id: &WorkflowId, format: Format) -> String {
    format!("{id}.{}", format.name())
}

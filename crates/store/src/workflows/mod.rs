//! Changes to the workflows in the writable directory.
//!
//! Several processes share the directory. To change a file, a process holds the lock, reads the
//! file and compares versions: if several callers have seen the same version, the first one wins
//! and the others get an error. Changes made with an editor are detected in the same way. Sources
//! are never reformatted: they are written exactly as given, and a rename replaces only the id.
//!
//! Before a file is changed, its old and new source are stored in the [`WorkflowHistory`]. An
//! interruption leaves either the old or the new file, and both sources can be restored.

mod error;
mod files;
mod history;
mod log;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::{fs, io};

use milepost_model::document::Document;
use milepost_model::id::WorkflowId;
use milepost_syntax::limits::DOCUMENT_BYTES;
use milepost_syntax::source::Format;

pub use error::WorkflowError;
pub use history::{StoredText, StoredVersion, VersionList, WorkflowHistory};
pub use log::ChangeKind;

use self::files::{DirectoryFiles, HeldFile, WORLD};
use self::log::{LogEntry, TextRef};
use crate::file::{self, FileError, FileMode, FilePoint};
use crate::lock::{self, Lock};
use crate::{Digest, Locations, identity};

const BUSY: &str = "another call holds the lock: wait for it to finish";

/// The workflows in the writable directory, for the lifetime of a process.
#[derive(Debug)]
pub struct WorkflowStore {
    directory: PathBuf,
    history: WorkflowHistory,
    files: Mutex<DirectoryFiles>,
}

/// The state that a caller expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedVersion {
    /// Any version, or none.
    Any,
    /// No workflow with this id.
    Absent,
    /// Exactly this version.
    Version(Digest),
}

/// Parameters common to every change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkflowChange {
    pub expected: ExpectedVersion,
    /// The time, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A source to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkflowDraft<'d> {
    pub bytes: &'d [u8],
    /// The format of the source, which determines the file extension.
    pub format: Format,
    /// The id in the source, as determined by the caller. The source is not parsed again for
    /// writing.
    pub id: Option<&'d str>,
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedWorkflow {
    pub path: PathBuf,
    pub version: Digest,
    pub format: Format,
    /// The previous version; `None` if there was none.
    pub previous: Option<Digest>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeletedWorkflow {
    pub path: PathBuf,
    pub version: Digest,
}

impl WorkflowStore {
    /// The workflows in the writable directory. Does not touch the disk.
    pub fn open(locations: &Locations) -> WorkflowStore {
        let directory = locations.runtime().to_owned();
        let files = Mutex::new(DirectoryFiles::of(&directory));
        WorkflowStore { directory, history: WorkflowHistory::open(locations), files }
    }

    /// Writes a workflow to the file with its id, or to a new file named after the id.
    pub fn save(
        &self,
        id: &WorkflowId,
        draft: WorkflowDraft<'_>,
        change: WorkflowChange,
    ) -> Result<SavedWorkflow, WorkflowError> {
        self.put(id, draft, change, ChangeKind::Save)
    }

    /// Restores an earlier version of a workflow. If the version has a different id, that id is
    /// replaced with this one.
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

    /// Changes the id of a workflow, in its source and in its file name. At any time, exactly one
    /// of the two ids exists. The history moves to the new id.
    pub fn rename(
        &self,
        from: &WorkflowId,
        to: &WorkflowId,
        change: WorkflowChange,
    ) -> Result<SavedWorkflow, WorkflowError> {
        self.need_directory(from)?;
        let (mut files, _lock) = self.turn()?;
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
        // From here on the workflow has the new id; renaming the file is secondary.
        let path = self.directory.join(&held.path);
        file::write_atomic(&path, &bytes, true)?;
        let path = move_file(path, self.directory.join(&target));
        self.history.forget(from)?;
        let TextRef { version, format } = text;
        Ok(SavedWorkflow { path, version, format, previous: Some(held.text.version) })
    }

    /// Deletes a workflow. It can be restored.
    pub fn delete(
        &self,
        id: &WorkflowId,
        change: WorkflowChange,
    ) -> Result<DeletedWorkflow, WorkflowError> {
        self.need_directory(id)?;
        let (mut files, _lock) = self.turn()?;
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

    /// Waits for the files, which only one thread can use at a time, and for the lock. Both waits
    /// are bounded, because the thread that is using the files may have to wait for the lock.
    fn turn(&self) -> Result<(MutexGuard<'_, DirectoryFiles>, Lock), FileError> {
        let take = || match self.files.try_lock() {
            Ok(files) => Ok(files),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Poisoned(poisoned)) => {
                let mut files = poisoned.into_inner();
                files.reset();
                self.files.clear_poison();
                Ok(files)
            }
        };
        let late = io::Error::new(io::ErrorKind::TimedOut, BUSY);
        let files =
            lock::wait(take, late).map_err(|error| FileError::of(&self.directory, error))?;
        Ok((files, Lock::of(&self.directory)?))
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
        let (mut files, _lock) = self.turn()?;
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

    /// The file to write: the one with the id, unless its extension indicates another format.
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

    /// Checks that nothing exists at a path, not even a file that is not a workflow.
    fn check_free(&self, id: &WorkflowId, target: &Path) -> Result<(), WorkflowError> {
        let path = self.directory.join(target);
        match file::is_there(&path)? {
            true => Err(WorkflowError::Taken { id: id.clone(), path }),
            false => Ok(()),
        }
    }

    /// A workflow's file, which must exist.
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

    /// Reports a missing directory as a missing workflow, without creating the directory.
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

    /// Removes files left behind by this change or by an interrupted one. Such a file is in the
    /// same folder as the remaining file, has the workflow's id and is named after it, and its
    /// content is in the history. Any other file may be someone's work and is kept.
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
            // One of them may be a link to the other.
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

/// Rejects a source that is too large or has another id.
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

/// A workflow's source, with its id replaced. A valid workflow must stay valid.
fn renamed(held: &HeldFile, from: &WorkflowId, to: &WorkflowId) -> Result<Vec<u8>, WorkflowError> {
    let before = Document::read(&held.bytes, Some(held.text.format), WORLD);
    let bytes = before.with_id(to).ok_or_else(|| WorkflowError::NoHold { id: from.clone() })?;
    let after = Document::read(&bytes, Some(held.text.format), WORLD);
    if before.is_valid() && !after.is_valid() {
        return Err(WorkflowError::Unfit { id: to.clone(), violations: after.violations });
    }
    Ok(bytes)
}

/// Renames a file if the new name is free, and returns its resulting path. The name is secondary:
/// under its old name, the file is still the same workflow.
fn move_file(from: PathBuf, to: PathBuf) -> PathBuf {
    // Renamed in one step: with two names at once, a crash would leave two workflows.
    let free = fs::symlink_metadata(&to).is_err();
    let rename = || file::at(FilePoint::Rename, || fs::rename(&from, &to));
    if from == to || !free || rename().is_err() {
        return from;
    }
    // If the machine stops before this is on disk, the file keeps its old name, which is harmless.
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

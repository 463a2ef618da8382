//! The history of workflows: every source that was written or replaced, stored under its hash, and
//! a log of changes for each id.
//!
//! The history is part of the user's data, separate from the workflows, and each workflow directory
//! has its own. Sources and log lines are only ever added, so that every earlier version can be
//! restored.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use milepost_model::id::WorkflowId;
use milepost_syntax::limits::DOCUMENT_BYTES;
use milepost_syntax::source::Format;

use super::error::WorkflowError;
use super::log::{self, ChangeKind, LogEntry, TextRef};
use crate::file::{self, FileError, FileMode, FilePoint, WriteOptions};
use crate::{Digest, Locations, limits};

/// The history of the workflows in a directory. Its public methods only read;
/// [`WorkflowStore`](super::WorkflowStore) writes.
#[derive(Debug, Clone)]
pub struct WorkflowHistory {
    data: PathBuf,
    directory: PathBuf,
}

/// A version of a workflow, and how it was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredVersion {
    pub version: Digest,
    pub format: Format,
    pub operation: ChangeKind,
    /// The time in milliseconds since 1970; `None` if the file was edited by other means.
    pub at_ms: Option<u64>,
    /// The workflow's previous id.
    pub renamed_from: Option<String>,
    /// Whether this is the current content of the file.
    pub current: bool,
}

/// Every version of a workflow.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VersionList {
    /// The versions, newest first. A restored version is listed again.
    pub items: Vec<StoredVersion>,
    /// The time of deletion, if the workflow is deleted.
    pub deleted_ms: Option<u64>,
    /// Whether the log is so long that its beginning was not read.
    pub cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredText {
    pub bytes: Vec<u8>,
    pub format: Format,
}

impl WorkflowHistory {
    /// The history of the writable directory. Does not touch the disk.
    pub fn open(locations: &Locations) -> WorkflowHistory {
        let directory = locations.runtime().to_owned();
        WorkflowHistory { data: locations.data.join("history"), directory }
    }

    /// Every version of a workflow. `current` is the current content of its file, if there is one;
    /// it may not be among the recorded versions.
    pub fn versions(
        &self,
        id: &WorkflowId,
        current: Option<(Digest, Format)>,
    ) -> Result<VersionList, FileError> {
        let (log, cut) = self.log(id)?;
        let current = current.map(|(version, format)| TextRef { version, format });
        Ok(VersionList { cut, ..versions(&log::entries(&log), current) })
    }

    /// The exact bytes of a version of a workflow.
    pub fn text(&self, id: &WorkflowId, version: Digest) -> Result<StoredText, WorkflowError> {
        let nothing = || WorkflowError::NoVersion { id: id.clone(), version };
        let versions = self.versions(id, None)?;
        let known = versions.items.iter().find(|one| one.version == version);
        let format = known.ok_or_else(nothing)?.format;
        let path = self.text_path(version);
        let bytes = file::if_present(file::read_document(&path, DOCUMENT_BYTES))?;
        let bytes = bytes.ok_or_else(nothing)?;
        if Digest::of(&bytes) != version {
            return Err(WorkflowError::Damaged { path });
        }
        Ok(StoredText { bytes, format })
    }

    /// Whether a source is stored.
    pub(super) fn has(&self, version: Digest) -> bool {
        fs::symlink_metadata(self.text_path(version)).is_ok()
    }

    /// Stores a source. It is on disk when this returns.
    pub(super) fn keep(&self, bytes: &[u8]) -> Result<Digest, FileError> {
        let version = Digest::of(bytes);
        // A source gets its name only once all of it is on disk.
        if self.has(version) {
            return Ok(version);
        }
        file::make_directory(&self.root().join("texts"), FileMode::Owner)?;
        file::write(&self.text_path(version), bytes, WriteOptions::PRIVATE)?;
        Ok(version)
    }

    /// Records a change. It is on disk when this returns. The caller holds the directory's lock.
    pub(super) fn note(&self, id: &WorkflowId, entry: &LogEntry) -> Result<(), FileError> {
        let root = self.root();
        file::make_directory(&root, FileMode::Owner)?;
        let path = self.log_path(id);
        let is_new = fs::symlink_metadata(&path).is_err();
        let noted = append(&path, &entry.line());
        noted.map_err(|error| FileError::of(&path, error))?;
        if is_new { file::sync_directory(&root) } else { Ok(()) }
    }

    /// Copies the history of one id to another and adds a change. The target's own history is kept.
    /// The first id keeps its history until [`WorkflowHistory::forget`] is called. The caller holds
    /// the directory's lock.
    pub(super) fn carry(
        &self,
        from: &WorkflowId,
        to: &WorkflowId,
        entry: &LogEntry,
    ) -> Result<(), FileError> {
        file::make_directory(&self.root(), FileMode::Owner)?;
        let mut log = log::joined(&self.log(to)?.0, &self.log(from)?.0);
        log.extend(entry.line().into_bytes());
        file::write(&self.log_path(to), &log, WriteOptions::PRIVATE)
    }

    /// Removes the log of an id whose history was copied to another id.
    pub(super) fn forget(&self, id: &WorkflowId) -> Result<(), FileError> {
        file::remove(&self.log_path(id))?;
        file::sync_directory(&self.root())
    }

    /// The log of an id up to the size limit, and whether its beginning was left out.
    fn log(&self, id: &WorkflowId) -> Result<(Vec<u8>, bool), FileError> {
        let path = self.log_path(id);
        let read = tail(&path, limits::HISTORY_LOG_BYTES as u64);
        Ok(file::if_present(read.map_err(|error| FileError::of(&path, error)))?.unwrap_or_default())
    }

    /// The path of this directory's history. Computed on every call, because the directory may be
    /// created or redirected by a link while the process is running.
    fn root(&self) -> PathBuf {
        let directory = resolved(&self.directory);
        let key = Digest::of(directory.as_os_str().as_encoded_bytes()).to_string();
        self.data.join(&key[..32])
    }

    fn log_path(&self, id: &WorkflowId) -> PathBuf {
        self.root().join(format!("{id}.log"))
    }

    fn text_path(&self, version: Digest) -> PathBuf {
        self.root().join("texts").join(version.to_string())
    }
}

/// Combines the changes in a log with the current content of the file.
fn versions(entries: &[LogEntry], current: Option<TextRef>) -> VersionList {
    let mut items: Vec<StoredVersion> = Vec::new();
    let push = |items: &mut Vec<StoredVersion>, text: TextRef, entry: Option<&LogEntry>| {
        items.push(StoredVersion {
            version: text.version,
            format: text.format,
            operation: entry.map_or(ChangeKind::Edit, |entry| entry.operation),
            at_ms: entry.map(|entry| entry.at_ms),
            renamed_from: entry.and_then(|entry| entry.renamed_from.clone()),
            current: false,
        });
    };
    let mut deleted_ms = None;
    for entry in entries {
        if let Some(previous) = entry.previous
            && items.last().is_none_or(|last| last.version != previous.version)
        {
            push(&mut items, previous, None);
        }
        deleted_ms = entry.text.is_none().then_some(entry.at_ms);
        if let Some(text) = entry.text {
            push(&mut items, text, Some(entry));
        }
    }
    if let Some(current) = current {
        deleted_ms = None;
        if items.last().is_none_or(|last| last.version != current.version) {
            push(&mut items, current, None);
        }
        if let Some(last) = items.last_mut() {
            last.current = true;
        }
    }
    items.reverse();
    VersionList { items, deleted_ms, cut: false }
}

/// Appends a line to a file; a new file is accessible to its owner only.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    file::owner_only(&mut options);
    let mut file = file::at(FilePoint::Open, || options.open(path))?;
    let line = if ends_in_a_line(&mut file)? { line.to_owned() } else { format!("\n{line}") };
    file::write_all(&mut file, line.as_bytes())?;
    file::at(FilePoint::Sync, || file.sync_data())
}

/// Whether the last line of a file is complete.
fn ends_in_a_line(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

/// The end of a file, and whether anything precedes it.
fn tail(path: &Path, limit: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut file = File::open(path)?;
    let before = file.metadata()?.len().saturating_sub(limit);
    file.seek(SeekFrom::Start(before))?;
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes)?;
    Ok((bytes, before > 0))
}

/// Resolves the links in the part of a path that exists.
fn resolved(path: &Path) -> PathBuf {
    for above in path.ancestors() {
        if let Ok(found) = fs::canonicalize(above) {
            return match path.strip_prefix(above) {
                Ok(rest) if rest.as_os_str().is_empty() => found,
                Ok(rest) => found.join(rest),
                Err(_) => path.to_owned(),
            };
        }
    }
    path.to_owned()
}

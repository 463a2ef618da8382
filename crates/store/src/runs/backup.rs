//! Makes consistent backups of all runs while other processes are writing, and restores them.
//!
//! A backup contains the database with all pinned sources and remembered inputs, the key that
//! authenticates its rows, the files that runs refer to, and the data for signing decisions. It
//! contains no secrets, catalogs or workflows; the catalogs and workflows are stored next to the
//! configuration.

use std::fs::{self, File};
use std::path::Path;

use crate::{Digest, limits};
use milepost_engine::ports::{JournalError, RestoreReport};

use super::kept_files::{self, BESIDE, FOLDERS};
use super::usage::{LastShutdown, UsageMark};
use super::{ChainKey, DbAccess, RunsError, RunsReader, check, schema};
use crate::file::{self, FileError, WriteOptions};
use crate::lock::Lock;

/// The directory in which a backup is assembled and checked before it is restored.
const STAGING: &str = ".restoring";

/// Writes a backup to a new directory. The key is written last, so that a backup without a key is
/// recognizably incomplete.
pub(super) fn backup(runs: &RunsReader, to: &Path) -> Result<(), RunsError> {
    // Fails if the directory exists.
    make_folder(to)?;
    let written = write(runs, to);
    if written.is_err() {
        // The error is already being reported; a partial backup might be mistaken for a complete
        // one.
        drop(fs::remove_dir_all(to));
    }
    written?;
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok(file::sync_directory(parent.unwrap_or(Path::new(".")))?)
}

fn make_folder(path: &Path) -> Result<(), FileError> {
    let builder = &mut file::directory_builder(file::FileMode::Owner);
    builder.create(path).map_err(|error| FileError::of(path, error))
}

fn write(runs: &RunsReader, to: &Path) -> Result<(), RunsError> {
    let (readers, key, from) = runs.parts();
    let path = to.join(schema::FILE);
    schema::claim(&path)?;
    readers.with(|connection| {
        // `VACUUM INTO` reads a consistent snapshot and writes a single file without a log.
        let target = path.to_str();
        let target = target.ok_or_else(|| rusqlite::Error::InvalidPath(path.clone()))?;
        connection.execute_batch("PRAGMA query_only = OFF")?;
        let copied = connection.execute("VACUUM INTO ?1", [target]);
        connection.execute_batch("PRAGMA query_only = ON")?;
        copied?;
        // The copy is not in WAL mode by default, but everything that opens it expects that.
        let copy = super::db::connect(&path, DbAccess::Change)?;
        copy.pragma_update(None, "journal_mode", "wal")?;
        Ok(())
    })?;
    sync(&path)?;
    // Files are copied after the rows that refer to them, because a file always exists before any
    // row refers to it.
    copy_files(from, to)?;
    Ok(key.write(to)?)
}

fn sync(path: &Path) -> Result<(), FileError> {
    let file = File::open(path).map_err(|error| FileError::of(path, error))?;
    file.sync_all().map_err(|error| FileError::of(path, error))
}

/// Copies the files next to the database and returns how many of them runs may refer to.
fn copy_files(from: &Path, to: &Path) -> Result<u64, RunsError> {
    let mut count = 0;
    for kept in kept_files::list(from, FOLDERS) {
        let folder = to.join(kept.folder);
        file::make_directory(&folder, file::FileMode::Owner)?;
        let bytes = file::if_present(file::read_document(&kept.path, limits::KEPT_FILE_BYTES))?;
        // A file that a purge removed in the meantime is no longer referenced.
        let Some(bytes) = bytes else { continue };
        if Digest::of(&bytes).to_string() != kept.name {
            return Err(FileError::Io {
                path: kept.path,
                source: std::io::Error::other("its content does not match the hash in its name"),
            }
            .into());
        }
        put(&folder.join(&kept.name), &bytes)?;
        count += 1;
    }
    for name in BESIDE {
        let read = file::read_document(&from.join(name), limits::KEY_FILE_BYTES);
        if let Some(bytes) = file::if_present(read)? {
            put(&to.join(name), &bytes)?;
        }
    }
    Ok(count)
}

fn put(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    file::write(path, bytes, WriteOptions::PRIVATE_NEW)
}

/// Restores a backup into a directory that has no runs, after checking the whole backup.
pub(super) fn restore(from: &Path, directory: &Path) -> Result<RestoreReport, RunsError> {
    ChainKey::need(from)?;
    file::make_directory(directory, file::FileMode::Owner)?;
    let _lock = Lock::of(directory)?;
    let (_usage, before) = UsageMark::begin(directory)?;
    if before == LastShutdown::GoesOn {
        return Err(JournalError::Busy.into());
    }
    if has_runs(directory)? {
        return Err(FileError::Exists { path: directory.join(schema::FILE) }.into());
    }
    let staging = directory.join(STAGING);
    drop(fs::remove_dir_all(&staging));
    make_folder(&staging)?;
    let restored = staged(from, &staging).and_then(|report| {
        put_in_place(&staging, directory)?;
        Ok(report)
    });
    drop(fs::remove_dir_all(&staging));
    restored
}

fn has_runs(directory: &Path) -> Result<bool, RunsError> {
    let Some(reader) = RunsReader::open(directory)? else { return Ok(false) };
    Ok(reader.tally()?.runs.iter().any(|(_, count)| *count > 0))
}

/// Copies everything and checks the copy, so that the backup itself is not changed.
fn staged(from: &Path, staging: &Path) -> Result<RestoreReport, RunsError> {
    let (source, target) = (from.join(schema::FILE), staging.join(schema::FILE));
    schema::claim(&target)?;
    let copied = File::open(&source).and_then(|mut source| {
        let mut target = File::options().write(true).open(&target)?;
        std::io::copy(&mut source, &mut target)?;
        target.sync_all()
    });
    copied.map_err(|error| FileError::of(&source, error))?;
    ChainKey::need(from)?.write(staging)?;
    let files = copy_files(from, staging)?;
    let Some(reader) = RunsReader::open(staging)? else {
        return Ok(RestoreReport { files, ..RestoreReport::default() });
    };
    let found = check::check(&reader)?;
    if let Some(first) = found.file.into_iter().next() {
        let source = std::io::Error::other(first);
        return Err(FileError::Io { path: from.join(schema::FILE), source }.into());
    }
    for (run, seq) in found.corrupt {
        // A run that was quarantined before the backup stays quarantined.
        if !reader.run(&run).is_ok_and(|row| row.quarantined) {
            return Err(JournalError::Corrupt { run, seq }.into());
        }
    }
    Ok(RestoreReport { runs: found.runs, events: found.events, files })
}

/// Moves everything into place. The database comes last: without it, nothing counts as restored.
fn put_in_place(staging: &Path, directory: &Path) -> Result<(), RunsError> {
    let moved = |name: &str| {
        let (from, to) = (staging.join(name), directory.join(name));
        fs::rename(&from, &to).map_err(|error| FileError::of(&to, error))
    };
    for kept in kept_files::list(staging, FOLDERS) {
        let folder = directory.join(kept.folder);
        file::make_directory(&folder, file::FileMode::Owner)?;
        let to = folder.join(&kept.name);
        fs::rename(&kept.path, &to).map_err(|error| FileError::of(&to, error))?;
    }
    for name in BESIDE {
        // The PIN of this machine's user is kept.
        if staging.join(name).exists() && !directory.join(name).exists() {
            moved(name)?;
        }
    }
    for name in ["", "-wal", "-shm"] {
        // The old database contains no runs.
        drop(fs::remove_file(directory.join(format!("{}{name}", schema::FILE))));
    }
    super::progress::remove_ended(directory);
    moved(ChainKey::NAME)?;
    moved(schema::FILE)?;
    Ok(file::sync_directory(directory)?)
}

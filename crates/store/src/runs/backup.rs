//! A copy of all runs as they are at one moment, made while others write, and the way back.
//!
//! A copy holds the database with all texts and remembered inputs, the key that its rows are
//! checked by, the files that runs refer to, and what decisions are signed with. Secrets are not in
//! it, nor catalogs and workflows, which are beside the configuration.

use std::fs::{self, File};
use std::path::Path;

use crate::{Digest, limits};
use milepost_engine::ports::{JournalError, RestoreReport};

use super::usage::{LastShutdown, UsageMark};
use super::{ChainKey, DbAccess, RunsError, RunsReader, check, kept_files, schema};
use crate::file::{self, FileError, WriteOptions};
use crate::lock::Lock;

/// Where a copy is put together before it is known to be whole.
const STAGING: &str = ".restoring";

/// Writes a copy into a new directory. The key comes last, so that a copy without one is known to
/// be no whole copy.
pub(super) fn backup(runs: &RunsReader, to: &Path) -> Result<(), RunsError> {
    // Fails when there is something already.
    make_folder(to)?;
    let written = write(runs, to);
    if written.is_err() {
        // What went wrong is told; a part of a copy would only be taken for one.
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
        // Reads at one moment and writes no log: the copy is one file.
        let target = path.to_str();
        let target = target.ok_or_else(|| rusqlite::Error::InvalidPath(path.clone()))?;
        connection.execute_batch("PRAGMA query_only = OFF")?;
        let copied = connection.execute("VACUUM INTO ?1", [target]);
        connection.execute_batch("PRAGMA query_only = ON")?;
        copied?;
        // A copy is not in WAL mode by itself, and every opener relies on it.
        let copy = super::db::connect(&path, DbAccess::Change)?;
        copy.pragma_update(None, "journal_mode", "wal")?;
        Ok(())
    })?;
    sync(&path)?;
    // After the rows that name them: a file is there before a row names it.
    copy_files(from, to)?;
    Ok(key.write(to)?)
}

fn sync(path: &Path) -> Result<(), FileError> {
    let file = File::open(path).map_err(|error| FileError::of(path, error))?;
    file.sync_all().map_err(|error| FileError::of(path, error))
}

/// Copies what is beside the database; how many files runs refer to.
fn copy_files(from: &Path, to: &Path) -> Result<u64, RunsError> {
    let mut count = 0;
    for kept in kept_files::all(from) {
        let folder = to.join(kept.folder);
        file::make_directory(&folder, file::FileMode::Owner)?;
        let bytes = file::if_present(file::read_document(&kept.path, limits::KEPT_FILE_BYTES))?;
        // One that a purge removed meanwhile is named by no row.
        let Some(bytes) = bytes else { continue };
        if Digest::of(&bytes).to_string() != kept.name {
            return Err(FileError::Io {
                path: kept.path,
                source: std::io::Error::other("it does not hold what its name says"),
            }
            .into());
        }
        put(&folder.join(&kept.name), &bytes)?;
        count += 1;
    }
    for name in kept_files::BESIDE {
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

/// Puts a copy into a directory that has no runs, after all of it was checked.
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

/// Copies everything and checks it there: the copy itself is left as it is.
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
        // One that was set aside before it was copied is set aside still.
        if !reader.run(&run).is_ok_and(|row| row.quarantined) {
            return Err(JournalError::Corrupt { run, seq }.into());
        }
    }
    Ok(RestoreReport { runs: found.runs, events: found.events, files })
}

/// The database comes last: without it, nothing was restored.
fn put_in_place(staging: &Path, directory: &Path) -> Result<(), RunsError> {
    let moved = |name: &str| {
        let (from, to) = (staging.join(name), directory.join(name));
        fs::rename(&from, &to).map_err(|error| FileError::of(&to, error))
    };
    for kept in kept_files::all(staging) {
        let folder = directory.join(kept.folder);
        file::make_directory(&folder, file::FileMode::Owner)?;
        let to = folder.join(&kept.name);
        fs::rename(&kept.path, &to).map_err(|error| FileError::of(&to, error))?;
    }
    for name in kept_files::BESIDE {
        // What the person of this machine has is theirs.
        if staging.join(name).exists() && !directory.join(name).exists() {
            moved(name)?;
        }
    }
    for name in ["", "-wal", "-shm"] {
        // They hold no run.
        drop(fs::remove_file(directory.join(format!("{}{name}", schema::FILE))));
    }
    super::progress::remove_ended(directory);
    moved(ChainKey::NAME)?;
    moved(schema::FILE)?;
    Ok(file::sync_directory(directory)?)
}

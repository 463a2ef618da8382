//! A copy of all runs as they are at one moment, made while others write.

use std::fs::{self, File};
use std::path::Path;

use super::chain::ChainKey;
use super::db::Readers;
use super::error::RunsError;
use super::schema;
use crate::file::{self, FileError};

/// Writes a copy into a new directory, with the key: the copy can be opened as it is. The key
/// comes last, so that a copy without one is known to be no whole copy.
pub(super) fn backup(readers: &Readers, key: &ChainKey, to: &Path) -> Result<(), RunsError> {
    let fail = |error| FileError::of(to, error);
    // Fails when there is something already.
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(to).map_err(fail)?;
    let written = write(readers, key, to);
    if written.is_err() {
        // What went wrong is told; a part of a copy would only be taken for one.
        drop(fs::remove_dir_all(to));
    }
    written?;
    let parent = to.parent().filter(|parent| !parent.as_os_str().is_empty());
    Ok(file::sync_directory(parent.unwrap_or(Path::new(".")))?)
}

fn write(readers: &Readers, key: &ChainKey, to: &Path) -> Result<(), RunsError> {
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
        let copy = super::db::connect(&path, super::db::Access::Change)?;
        copy.pragma_update(None, "journal_mode", "wal")?;
        Ok(())
    })?;
    let file = File::open(&path).map_err(|error| FileError::of(&path, error))?;
    file.sync_all().map_err(|error| FileError::of(&path, error))?;
    Ok(key.write(to)?)
}

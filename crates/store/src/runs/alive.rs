//! Whether a holder is gone before its time runs out.
//!
//! A holder keeps a lock on a file of its own. The system lets go of it when the process ends,
//! however it ends: who can have the lock knows that nobody drives the holder's runs any more. A
//! holder without a file is believed for as long as its heartbeat says.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::lease::HolderId;
use crate::file::{self, FileError, Readers};
use crate::limits;

fn path(directory: &Path, holder: &HolderId) -> PathBuf {
    directory.join("wake").join(format!("{holder}.alive"))
}

/// Held for as long as the holder lives. The file stays: that nobody holds it is what it tells, and
/// whoever comes next clears it away.
#[derive(Debug)]
pub struct Alive {
    _file: File,
}

impl Alive {
    /// Takes the lock, before the first sign of life.
    pub(super) fn claim(directory: &Path, holder: &HolderId) -> Result<Alive, FileError> {
        let path = path(directory, holder);
        file::make_directory(path.parent().unwrap_or(directory), Readers::Owner)?;
        let fail = |error| FileError::of(&path, error);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        file::owner_only(&mut options);
        let file = options.open(&path).map_err(fail)?;
        file.try_lock().map_err(|error| fail(io::Error::from(error)))?;
        Ok(Alive { _file: file })
    }
}

/// Removes what those left that are gone, but for those who are still on the list: their files tell
/// that they are. One that has made its file and not yet locked it loses it, and is believed for as
/// long as its heartbeat says.
pub(super) fn tidy(directory: &Path, listed: &[HolderId]) {
    let Ok(entries) = fs::read_dir(directory.join("wake")) else { return };
    let files = entries.take(limits::LISTENERS).flatten().map(|entry| entry.path());
    for file in files.filter(|file| file.extension().is_some_and(|is| is == "alive")) {
        let on_list = listed.iter().any(|holder| path(directory, holder) == file);
        if !on_list && is_free(&file) {
            drop(fs::remove_file(file.with_extension("sock")));
            drop(fs::remove_file(&file));
        }
    }
}

/// Whether a holder is certainly gone.
pub(super) fn is_gone(directory: &Path, holder: &HolderId) -> bool {
    is_free(&path(directory, holder))
}

fn is_free(path: &Path) -> bool {
    // Shared, so that those who look do not take each other for the holder.
    File::open(path).is_ok_and(|file| file.try_lock_shared().is_ok())
}

/// Removes what a holder left that is gone.
pub(super) fn clear(directory: &Path, holder: &HolderId) {
    drop(fs::remove_file(path(directory, holder)));
}

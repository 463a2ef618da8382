//! Checks whether files and directories are usable, and makes repairs that need no confirmation.
//! The checks create and change nothing.

mod leftovers;
mod modes;

pub use leftovers::{held_locks, leftovers, remove_leftovers};
pub use modes::{Exposed, Exposure, PrivatePathKind, close, exposed, private_paths};

use std::path::{Path, PathBuf};
use std::{fs, io};

use crate::file::{self, FileError, FileMode};

#[derive(Debug)]
pub enum DirectoryState {
    /// It exists and is usable.
    There,
    /// It does not exist but can be created.
    ToBeMade,
    /// It cannot be used or created because of this file or directory, which must be removed or
    /// have its permissions changed.
    Blocked { by: PathBuf, why: &'static str, in_the_way: bool },
    /// It exists but is not writable.
    ReadOnly,
}

const NO_DIRECTORY: &str = "it is not a directory";
const NOT_WRITABLE: &str = "it is not writable";
const NOT_READABLE: &str = "it is not accessible";

/// Whether a directory exists or could be created.
pub fn directory(path: &Path) -> DirectoryState {
    let blocked = |by: &Path, why| {
        let in_the_way = why == NO_DIRECTORY;
        DirectoryState::Blocked { by: by.to_owned(), why, in_the_way }
    };
    for (above, folder) in path.ancestors().enumerate() {
        if folder.as_os_str().is_empty() {
            continue;
        }
        match fs::metadata(folder) {
            Ok(metadata) if !metadata.is_dir() => return blocked(folder, NO_DIRECTORY),
            Ok(_) if above == 0 && !is_writable(folder) => return DirectoryState::ReadOnly,
            Ok(_) if above == 0 => return DirectoryState::There,
            Ok(_) if !is_writable(folder) => return blocked(folder, NOT_WRITABLE),
            Ok(_) => return DirectoryState::ToBeMade,
            // A dangling link blocks the creation of a directory.
            Err(_) if fs::symlink_metadata(folder).is_ok() => {
                return blocked(folder, NO_DIRECTORY);
            }
            Err(error) if is_absent(&error) => {}
            Err(_) => return blocked(folder, NOT_READABLE),
        }
    }
    blocked(path, NOT_READABLE)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Creates a directory and its parents, accessible to their owner only if `private` is set.
pub fn make(path: &Path, private: bool) -> Result<(), FileError> {
    file::make_directory(path, if private { FileMode::Owner } else { FileMode::Same })
}

#[cfg(unix)]
fn is_writable(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn is_writable(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|metadata| !metadata.permissions().readonly())
}

/// Number of bytes the user may still write at an existing or future path; `None` if the system
/// does not report it.
#[cfg(unix)]
pub fn free_bytes(path: &Path) -> Option<u64> {
    let told = rustix::fs::statvfs(there(path)?).ok()?;
    Some(told.f_bavail.saturating_mul(told.f_frsize))
}

/// Whether two existing or future paths are on the same disk, if the system reports it.
#[cfg(unix)]
pub fn same_disk(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;

    let disk = |path: &Path| Some(fs::metadata(there(path)?).ok()?.dev());
    disk(one) == disk(other)
}

#[cfg(unix)]
fn there(path: &Path) -> Option<&Path> {
    path.ancestors().find(|folder| folder.is_dir())
}

/// Always `None`: the standard library cannot tell.
#[cfg(not(unix))]
pub fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Always true, so that the missing information is reported only once.
#[cfg(not(unix))]
pub fn same_disk(_: &Path, _: &Path) -> bool {
    true
}

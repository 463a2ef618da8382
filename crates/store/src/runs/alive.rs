//! What the lock of a holder says about it.
//!
//! A holder keeps a lock on a file of its own. The system lets go of it when the process ends,
//! however it ends: who can have the lock knows that nobody drives the holder's runs any more, and
//! who cannot knows that the process lives, even if it is stopped. A holder without a file is
//! believed for as long as its heartbeat goes on.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use milepost_engine::ports::HolderId;

use crate::file::{self, FileError, FileMode};
use crate::limits;

fn path(directory: &Path, holder: &HolderId) -> PathBuf {
    directory.join("wake").join(format!("{holder}.alive"))
}

/// Held for as long as the holder lives. The file of one that did not withdraw stays: that nobody
/// holds it is what it tells, and whoever comes next clears it away.
#[derive(Debug)]
pub struct LivenessLock {
    _file: File,
}

impl LivenessLock {
    /// Takes the lock, before the first sign of life.
    pub(super) fn claim(directory: &Path, holder: &HolderId) -> Result<LivenessLock, FileError> {
        let path = path(directory, holder);
        file::make_directory(path.parent().unwrap_or(directory), FileMode::Owner)?;
        let fail = |error| FileError::of(&path, error);
        let options = file::owned();
        // Somebody who clears away may have looked at the file before it was locked: then it is
        // locked for a moment, or gone.
        for _ in 0..limits::ALIVE_TRIES {
            let file = options.open(&path).map_err(fail)?;
            match file.try_lock() {
                Ok(()) if is_named(&file, &path) => return Ok(LivenessLock { _file: file }),
                Ok(()) | Err(TryLockError::WouldBlock) => thread::sleep(limits::ALIVE_EVERY),
                Err(TryLockError::Error(error)) => return Err(fail(error)),
            }
        }
        Err(fail(io::Error::from(io::ErrorKind::WouldBlock)))
    }
}

/// Whether a file is still the one that its path names.
fn is_named(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        let named = fs::metadata(path).map(identity);
        matches!((file.metadata().map(identity), named), (Ok(ours), Ok(named)) if ours == named)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        path.exists()
    }
}

/// Removes what those left that are gone, but for those who are still on the list: their files tell
/// that they are. `listed` is asked after the files were looked at: who is gone by then is on the
/// list already, or will never be.
pub(super) fn tidy<E>(
    directory: &Path,
    listed: impl FnOnce() -> Result<Vec<HolderId>, E>,
) -> Result<(), E> {
    // Nobody takes the lock while it is held: whoever made the file meanwhile makes it again.
    let left = left(directory);
    if left.is_empty() {
        return Ok(());
    }
    let listed: Vec<PathBuf> = listed()?.iter().map(|holder| path(directory, holder)).collect();
    for (file, held) in left.iter().filter(|(file, _)| !listed.contains(file)) {
        // Alone, for the moment of removing it: another one may have removed it already, and the
        // name may be that of a holder by now.
        if held.try_lock().is_ok() && is_named(held, file) {
            remove(file);
        }
    }
    Ok(())
}

/// The files of processes that are gone, locked.
pub(super) fn left(directory: &Path) -> Vec<(PathBuf, File)> {
    let entries = fs::read_dir(directory.join("wake")).into_iter().flatten();
    let files = entries.take(limits::LISTENERS).flatten().map(|entry| entry.path());
    let files = files.filter(|file| file.extension().is_some_and(|is| is == "alive"));
    // Shared, so that those who look do not take each other for the holder.
    let free = |path: &Path| File::open(path).ok().filter(|file| file.try_lock_shared().is_ok());
    files.filter_map(|file| free(&file).map(|held| (file, held))).collect()
}

/// What the lock of a holder says about its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockState {
    /// Its process has ended.
    Free,
    /// Its process lives.
    Held,
    /// Nothing: there is no file, or it cannot be locked.
    Missing,
}

pub(super) fn sign(directory: &Path, holder: &HolderId) -> LockState {
    let file = match File::open(path(directory, holder)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return LockState::Missing,
        // It is there, and nothing else is known of it.
        Err(_) => return LockState::Held,
    };
    // Shared, so that those who look do not take each other for the holder.
    match file.try_lock_shared() {
        Ok(()) => LockState::Free,
        Err(TryLockError::WouldBlock) => LockState::Held,
        Err(TryLockError::Error(_)) => LockState::Missing,
    }
}

/// Removes what a holder left that is gone, and off the list.
pub(super) fn clear(directory: &Path, holder: &HolderId) {
    remove(&path(directory, holder));
}

fn remove(file: &Path) {
    drop(fs::remove_file(file.with_extension("sock")));
    drop(fs::remove_file(file));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever clears away never takes a holder's file from under it.
    #[test]
    fn a_claim_holds_while_others_clear_away() {
        let root = tempfile::tempdir().expect("makes a directory");
        let directory = root.path();
        let stop = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                        tidy::<()>(directory, || Ok(Vec::new())).expect("tidies");
                    }
                });
            }
            for number in 0..300_u64 {
                let holder = HolderId::from_bytes(number.to_be_bytes());
                let alive = LivenessLock::claim(directory, &holder).expect("claims");
                assert!(path(directory, &holder).exists());
                assert_ne!(sign(directory, &holder), LockState::Free);
                drop(alive);
            }
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }
}

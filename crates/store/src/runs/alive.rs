//! Liveness of holders, determined by their locks.
//!
//! Each holder keeps a lock on its own file. The system releases the lock when the process ends,
//! even if it crashes. If the lock is free, nobody is driving the holder's runs any more; if it is
//! held, the process is alive, even if it is suspended. A holder without a file counts as alive as
//! long as its heartbeat continues.

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

/// A lock that is held as long as the holder is alive. If the holder did not withdraw, its file is
/// left behind unlocked; this shows that the process is gone, and the next process removes the
/// file.
#[derive(Debug)]
pub struct LivenessLock {
    _file: File,
}

impl LivenessLock {
    /// Takes the lock, before the first heartbeat.
    pub(super) fn claim(directory: &Path, holder: &HolderId) -> Result<LivenessLock, FileError> {
        let path = path(directory, holder);
        file::make_directory(path.parent().unwrap_or(directory), FileMode::Owner)?;
        let fail = |error| FileError::of(&path, error);
        let options = file::owned();
        // Another process that is cleaning up may have found the file before it was locked. That
        // process then locks the file briefly, or removes it.
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

/// Whether the path still refers to this open file.
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

/// Removes the files of dead holders that are no longer listed; a listed holder's file is still
/// needed, because it shows that the holder is dead. `listed` is called after the files were
/// locked: a holder that is dead by then is either listed already or never will be.
pub(super) fn tidy<E>(
    directory: &Path,
    listed: impl FnOnce() -> Result<Vec<HolderId>, E>,
) -> Result<(), E> {
    // While these locks are held, no holder can take them; one that just created its file retries.
    let left = left(directory);
    if left.is_empty() {
        return Ok(());
    }
    let listed: Vec<PathBuf> = listed()?.iter().map(|holder| path(directory, holder)).collect();
    for (file, held) in left.iter().filter(|(file, _)| !listed.contains(file)) {
        // Locked exclusively for the removal, because another process may have removed the file
        // already, and the name may belong to a new holder by now.
        if held.try_lock().is_ok() && is_named(held, file) {
            remove(file);
        }
    }
    Ok(())
}

/// Locks and returns the files of processes that are gone.
pub(super) fn left(directory: &Path) -> Vec<(PathBuf, File)> {
    let entries = fs::read_dir(directory.join("wake")).into_iter().flatten();
    let files = entries.take(limits::LISTENERS).flatten().map(|entry| entry.path());
    let files = files.filter(|file| file.extension().is_some_and(|is| is == "alive"));
    // Shared, so that processes that check at the same time do not mistake each other for the
    // holder.
    let free = |path: &Path| File::open(path).ok().filter(|file| file.try_lock_shared().is_ok());
    files.filter_map(|file| free(&file).map(|held| (file, held))).collect()
}

/// What a holder's lock reveals about its process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LockState {
    /// The process has ended.
    Free,
    /// The process is alive.
    Held,
    /// Nothing: there is no file, or it cannot be locked.
    Missing,
}

pub(super) fn sign(directory: &Path, holder: &HolderId) -> LockState {
    let file = match File::open(path(directory, holder)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return LockState::Missing,
        // The file exists, but its state cannot be determined.
        Err(_) => return LockState::Held,
    };
    // Shared, so that processes that check at the same time do not mistake each other for the
    // holder.
    match file.try_lock_shared() {
        Ok(()) => LockState::Free,
        Err(TryLockError::WouldBlock) => LockState::Held,
        Err(TryLockError::Error(_)) => LockState::Missing,
    }
}

/// Removes the files of a holder that is dead and no longer listed.
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

    /// Cleanup never removes the file of a live holder.
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

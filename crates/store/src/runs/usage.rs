//! Detects whether the last process that used the runs shut down cleanly.
//!
//! Every process holds a shared lock on one file as long as it has the runs open. A process that
//! gets the lock exclusively is the first to enter or the last to leave: the first one marks the
//! file, and the last one clears the mark. A mark found by the first process was left by a crash.
//! The length of the file never changes, because that makes syncing several times faster. The first
//! process recovers what was left behind before it lets others in.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::{progress, schema};
use crate::file::{self, FileError};
use crate::lock;

const FILE: &str = "runs.use";
const OPEN: &[u8] = b"open\n";
const DONE: &[u8] = b"done\n";

/// The marked file, locked while this process has the runs open.
#[derive(Debug)]
pub(super) struct UsageMark {
    file: File,
    directory: PathBuf,
}

/// How the last use ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastShutdown {
    /// The runs are still in use by another process.
    GoesOn,
    InOrder,
    Crashed,
}

impl UsageMark {
    /// Registers this process as a user of the runs. The first process keeps others out until it
    /// calls [`UsageMark::share`].
    pub(super) fn begin(directory: &Path) -> Result<(UsageMark, LastShutdown), FileError> {
        let path = directory.join(FILE);
        let fail = |error| FileError::of(&path, error);
        let mut file = file::owned().read(true).open(&path).map_err(fail)?;
        let before = match file.try_lock() {
            Ok(()) => look_back(&mut file).map_err(fail)?,
            Err(TryLockError::WouldBlock) => LastShutdown::GoesOn,
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        };
        Ok((UsageMark { file, directory: directory.to_owned() }, before))
    }

    /// Lets other processes in, and marks the file.
    pub(super) fn share(&mut self) -> Result<(), FileError> {
        let fail = |error| FileError::of(Path::new(FILE), error);
        // A process holds the exclusive lock only briefly, but it may be suspended while holding
        // it.
        let late = io::ErrorKind::TimedOut.into();
        let share = || lock::wait(|| Ok(self.file.try_lock_shared()?), late);
        self.file.unlock().and_then(|()| share()).map_err(fail)?;
        // The last process to leave may have just cleared the mark.
        mark(&mut self.file, OPEN).map_err(fail)
    }

    /// The marked file, for the writer: the mark must be synced before any other data.
    pub(super) fn mark(&self) -> Result<File, FileError> {
        self.file.try_clone().map_err(|error| FileError::of(Path::new(FILE), error))
    }

    /// The last process to leave clears the mark. Unless a reader keeps the log in use, everything
    /// is then in the database file itself, so the progress notes are removed as well.
    pub(super) fn end(mut self) {
        // A mark that is left behind only makes the next process log a crash.
        if self.file.unlock().is_ok() && self.file.try_lock().is_ok() {
            let log = schema::log(&self.directory);
            if fs::metadata(log).map_or(true, |log| log.len() == 0) {
                progress::remove_ended(&self.directory);
            }
            drop(mark(&mut self.file, DONE));
        }
    }
}

/// Determines how the last use ended, for the first process to enter.
fn look_back(file: &mut File) -> io::Result<LastShutdown> {
    let mut found = Vec::new();
    Read::by_ref(file).take(DONE.len() as u64).read_to_end(&mut found)?;
    // Any other content means that no clean shutdown was recorded.
    let marked = !found.is_empty() && found != DONE;
    Ok(if marked { LastShutdown::Crashed } else { LastShutdown::InOrder })
}

/// Overwrites the mark; its length is always the same.
fn mark(file: &mut File, what: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.write_all(what)
}

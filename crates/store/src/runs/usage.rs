//! Whether the last process that used the runs came to an orderly end.
//!
//! Every process holds a shared lock on one file for as long as it has the runs open. Who gets it
//! alone is the first one in or the last one out: the first marks the file, the last takes the mark
//! back. A mark that the first one finds was left by a crash. The file keeps its length, which a
//! disk syncs several times as fast as one that changes it. The first one in looks at what was left
//! before it lets others in.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

use super::{progress, schema};
use crate::file::{self, FileError};
use crate::lock;

const FILE: &str = "runs.use";
const OPEN: &[u8] = b"open\n";
const DONE: &[u8] = b"done\n";

/// Held while the runs are open.
#[derive(Debug)]
pub(super) struct UsageMark {
    file: File,
    directory: PathBuf,
}

/// How the last use ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LastShutdown {
    /// It goes on in another process.
    GoesOn,
    InOrder,
    /// By a crash.
    Crashed,
}

impl UsageMark {
    /// Takes part in using the runs. Whoever is the first one in keeps others out until it lets
    /// them in with [`UsageMark::share`].
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

    /// Lets others in, and marks the file.
    pub(super) fn share(&mut self) -> Result<(), FileError> {
        let fail = |error| FileError::of(Path::new(FILE), error);
        // The lock is only ever held alone for a moment, but a process may be stopped in it.
        let late = io::ErrorKind::TimedOut.into();
        let share = || lock::wait(|| self.file.try_lock_shared(), late);
        self.file.unlock().and_then(|()| share()).map_err(fail)?;
        // Whoever was the last one out may have taken the mark back just now.
        mark(&mut self.file, OPEN).map_err(fail)
    }

    /// The mark, for whoever writes: it has to be on the disk before anything else has to.
    pub(super) fn mark(&self) -> Result<File, FileError> {
        self.file.try_clone().map_err(|error| FileError::of(Path::new(FILE), error))
    }

    /// The last one out takes the mark back, and the notes of how far runs had come: all of that is
    /// in the database itself, unless somebody who only looks keeps the log.
    pub(super) fn end(mut self) {
        // A mark that stays costs the next one a look at the database, and nothing else.
        if self.file.unlock().is_ok() && self.file.try_lock().is_ok() {
            let log = schema::log(&self.directory);
            if fs::metadata(log).map_or(true, |log| log.len() == 0) {
                progress::remove_ended(&self.directory);
            }
            drop(mark(&mut self.file, DONE));
        }
    }
}

/// How the last use ended, for the first one in.
fn look_back(file: &mut File) -> io::Result<LastShutdown> {
    let mut found = Vec::new();
    Read::by_ref(file).take(DONE.len() as u64).read_to_end(&mut found)?;
    // Whatever else it says, nobody said that the end was in order.
    let marked = !found.is_empty() && found != DONE;
    Ok(if marked { LastShutdown::Crashed } else { LastShutdown::InOrder })
}

/// Of one length, whatever it says.
fn mark(file: &mut File, what: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.write_all(what)
}

//! Whether the last process that used the runs came to an orderly end.
//!
//! Every process holds a shared lock on one file for as long as it has the runs open. Who gets it
//! alone is the first one in or the last one out: the first marks the file, the last clears it. A
//! mark that the first one finds was left by a crash.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::Path;
use std::thread;
use std::time::Instant;

use crate::file::{self, FileError};
use crate::limits;

const FILE: &str = "runs.use";

/// Held while the runs are open.
#[derive(Debug)]
pub(super) struct Usage {
    file: File,
}

/// How the last use ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// In order, or it goes on in another process.
    InOrder,
    /// By a crash.
    Crashed,
}

impl Usage {
    pub(super) fn begin(directory: &Path) -> Result<(Usage, Before), FileError> {
        let path = directory.join(FILE);
        let fail = |error| FileError::of(&path, error);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        file::owner_only(&mut options);
        let mut file = options.open(&path).map_err(fail)?;
        let before = match file.try_lock() {
            Ok(()) => first_in(&mut file).map_err(fail)?,
            Err(TryLockError::WouldBlock) => Before::InOrder,
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        };
        share(&file).map_err(fail)?;
        Ok((Usage { file }, before))
    }

    /// The last one out clears the mark.
    pub(super) fn end(self) {
        // A mark that stays costs the next one a look at the database, and nothing else.
        if self.file.unlock().is_ok() && self.file.try_lock().is_ok() {
            drop(self.file.set_len(0));
        }
    }
}

fn first_in(file: &mut File) -> io::Result<Before> {
    let marked = file.metadata()?.len() > 0;
    if !marked {
        file.write_all(b"open\n")?;
        file.sync_all()?;
    }
    // Another process may come in between and find the mark: it looks at the database once more
    // than it has to.
    file.unlock()?;
    Ok(if marked { Before::Crashed } else { Before::InOrder })
}

/// The lock is only ever held alone for a moment, but a process may be stopped in it.
fn share(file: &File) -> io::Result<()> {
    let until = Instant::now() + limits::LOCK_WAIT;
    loop {
        match file.try_lock_shared() {
            Ok(()) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                return Err(io::ErrorKind::TimedOut.into());
            }
            Err(TryLockError::WouldBlock) => thread::sleep(limits::LOCK_EVERY),
        }
    }
}

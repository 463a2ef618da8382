//! Whether the last process that used the runs came to an orderly end.
//!
//! Every process holds a shared lock on one file for as long as it has the runs open. Who gets it
//! alone is the first one in or the last one out: the first marks the file, the last takes the mark
//! back. A mark that the first one finds was left by a crash. The file keeps its length, which a
//! disk syncs several times as fast as one that changes it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::thread;
use std::time::Instant;

use crate::file::{self, FileError};
use crate::limits;

const FILE: &str = "runs.use";
const OPEN: &[u8] = b"open\n";
const DONE: &[u8] = b"done\n";

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
            Ok(()) => look_back(&mut file).map_err(fail)?,
            Err(TryLockError::WouldBlock) => Before::InOrder,
            Err(TryLockError::Error(error)) => return Err(fail(error)),
        };
        share(&file).map_err(fail)?;
        // Whoever was the last one out may have taken the mark back just now.
        mark(&mut file, OPEN).map_err(fail)?;
        Ok((Usage { file }, before))
    }

    /// The mark, for whoever writes: it has to be on the disk before anything else has to.
    pub(super) fn mark(&self) -> Result<File, FileError> {
        self.file.try_clone().map_err(|error| FileError::of(Path::new(FILE), error))
    }

    /// The last one out takes the mark back.
    pub(super) fn end(mut self) {
        // A mark that stays costs the next one a look at the database, and nothing else.
        if self.file.unlock().is_ok() && self.file.try_lock().is_ok() {
            drop(mark(&mut self.file, DONE));
        }
    }
}

/// How the last use ended, for the first one in.
fn look_back(file: &mut File) -> io::Result<Before> {
    let mut found = Vec::new();
    Read::by_ref(file).take(OPEN.len() as u64).read_to_end(&mut found)?;
    // Whatever else it says, nobody said that the end was in order.
    let marked = !found.is_empty() && found != DONE;
    file.unlock()?;
    Ok(if marked { Before::Crashed } else { Before::InOrder })
}

fn mark(file: &mut File, what: &[u8]) -> io::Result<()> {
    file.rewind()?;
    file.write_all(what)
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

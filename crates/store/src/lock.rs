//! One writer at a time in a directory that several processes share.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Instant;

use crate::file::FileError;
use crate::limits;

const HELD: &str = "another process holds it: wait for that one or end it";

/// Held by one process, and there by one thread, until it is dropped. The system lets go of it
/// when the process ends, however it ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock of a directory, which must be there. The wait is bounded: a process
    /// that was stopped while it held the lock must not stop all others.
    pub(crate) fn of(directory: &Path) -> Result<Lock, FileError> {
        let path = directory.join(".lock");
        let fail = |error| FileError::of(&path, error);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(fail)?;
        let until = Instant::now() + limits::LOCK_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(TryLockError::Error(error)) => return Err(fail(error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                    return Err(fail(io::Error::new(io::ErrorKind::TimedOut, HELD)));
                }
                Err(TryLockError::WouldBlock) => thread::sleep(limits::LOCK_EVERY),
            }
        }
    }
}

//! A lock that allows one writer at a time in a directory shared by several processes.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::Path;
use std::thread;
use std::time::Instant;

use crate::{FileError, limits};

const HELD: &str = "another process holds the lock: wait for it to finish, or stop it";

/// A lock held by one thread of one process until this value is dropped. The system releases the
/// lock when the process ends, even if it crashes.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for an existing directory's lock. The wait is bounded, because a process that was
    /// suspended while holding the lock must not block all others.
    pub(crate) fn of(directory: &Path) -> Result<Lock, FileError> {
        let path = directory.join(".lock");
        let fail = |error| FileError::of(&path, error);
        let file = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(fail)?;
        let late = io::Error::new(io::ErrorKind::TimedOut, HELD);
        wait(|| Ok(file.try_lock()?), late).map_err(fail)?;
        Ok(Lock { _file: file })
    }
}

/// Waits for a lock for a bounded time, and returns the error `late` once that time is up.
pub(crate) fn wait<T>(take: impl Fn() -> io::Result<T>, late: io::Error) -> io::Result<T> {
    let until = Instant::now() + limits::LOCK_WAIT;
    loop {
        match take() {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) if Instant::now() >= until => return Err(late),
            Err(_) => thread::sleep(limits::LOCK_EVERY),
            taken => return taken,
        }
    }
}

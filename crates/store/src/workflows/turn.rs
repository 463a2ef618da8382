//! One thread at a time, before the lock that processes share: threads of one process need not
//! look again and again whether it is free.

use std::io;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use super::files::Files;
use crate::file::FileError;
use crate::limits;

const BUSY: &str = "another call holds it: wait for that one to end";

/// Held by one thread at a time, for a bounded wait.
#[derive(Debug)]
pub(super) struct Turn {
    /// Nothing while somebody has it.
    files: Mutex<Option<Files>>,
    free: Condvar,
}

/// The turn of one thread, until it is dropped.
pub(super) struct Taken<'t> {
    turn: &'t Turn,
    files: Option<Files>,
}

impl Turn {
    pub(super) fn of(directory: &Path) -> Turn {
        Turn { files: Mutex::new(Some(Files::of(directory))), free: Condvar::new() }
    }

    /// Waits for its turn. The wait is bounded like that for the lock, which whoever is first may
    /// have to wait for.
    pub(super) fn take(&self, directory: &Path) -> Result<Taken<'_>, FileError> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let waited =
            self.free.wait_timeout_while(files, limits::LOCK_WAIT, |files| files.is_none());
        let (mut files, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(files) = files.take() else {
            let busy = io::Error::new(io::ErrorKind::TimedOut, BUSY);
            return Err(FileError::of(directory, busy));
        };
        Ok(Taken { turn: self, files: Some(files) })
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let Some(mut files) = self.files.take() else { return };
        if thread::panicking() {
            files.reset();
        }
        *self.turn.files.lock().unwrap_or_else(PoisonError::into_inner) = Some(files);
        self.turn.free.notify_one();
    }
}

impl Deref for Taken<'_> {
    type Target = Files;

    fn deref(&self) -> &Files {
        self.files.as_ref().expect("is there until it is dropped")
    }
}

impl DerefMut for Taken<'_> {
    fn deref_mut(&mut self) -> &mut Files {
        self.files.as_mut().expect("is there until it is dropped")
    }
}

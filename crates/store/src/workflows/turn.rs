//! Lets the threads of a process take turns before they take the lock shared between processes, so
//! that they need not poll that lock.

use std::io;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;

use super::files::DirectoryFiles;
use crate::{FileError, limits};

const BUSY: &str = "another call holds the lock: wait for it to finish";

/// A mutex with a bounded wait.
#[derive(Debug)]
pub(super) struct FilesMutex {
    files: Mutex<Option<DirectoryFiles>>,
    free: Condvar,
}

/// The turn of one thread, which ends when this is dropped.
pub(super) struct FilesGuard<'t> {
    turn: &'t FilesMutex,
    files: Option<DirectoryFiles>,
}

impl FilesMutex {
    pub(super) fn of(directory: &Path) -> FilesMutex {
        FilesMutex { files: Mutex::new(Some(DirectoryFiles::of(directory))), free: Condvar::new() }
    }

    /// Waits for a turn. The wait is bounded like that for the lock, because the thread whose turn
    /// it is may have to wait for the lock.
    pub(super) fn take(&self, directory: &Path) -> Result<FilesGuard<'_>, FileError> {
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let waited =
            self.free.wait_timeout_while(files, limits::LOCK_WAIT, |files| files.is_none());
        let (mut files, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let Some(files) = files.take() else {
            let busy = io::Error::new(io::ErrorKind::TimedOut, BUSY);
            return Err(FileError::of(directory, busy));
        };
        Ok(FilesGuard { turn: self, files: Some(files) })
    }
}

impl Drop for FilesGuard<'_> {
    fn drop(&mut self) {
        let Some(mut files) = self.files.take() else { return };
        if thread::panicking() {
            files.reset();
        }
        *self.turn.files.lock().unwrap_or_else(PoisonError::into_inner) = Some(files);
        self.turn.free.notify_one();
    }
}

impl Deref for FilesGuard<'_> {
    type Target = DirectoryFiles;

    fn deref(&self) -> &DirectoryFiles {
        self.files.as_ref().expect("a guard holds the files until it is dropped")
    }
}

impl DerefMut for FilesGuard<'_> {
    fn deref_mut(&mut self) -> &mut DirectoryFiles {
        self.files.as_mut().expect("a guard holds the files until it is dropped")
    }
}

//! Fault injection for file writes, used in tests and disabled in release builds.
//!
//! Faults are set per thread and affect only what that thread writes.

use std::io::{self, Write};

/// A system call involved in writing a file.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilePoint {
    /// Creating a file, or opening it for appending.
    Open,
    /// Writing bytes.
    Write,
    /// Syncing what was written.
    Sync,
    /// Giving a file its final name.
    Rename,
    SyncDirectory,
    /// Removing a file.
    Remove,
}

/// How a call fails.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFault {
    /// The disk reports an error; nothing was done.
    Io,
    /// The disk is full; only part of the data was written.
    Full,
    /// The disk reports an error, but the call took effect.
    Late,
    /// The process dies before the call.
    Dies,
    /// The process dies in the middle of the call, or right after it.
    DiesAfter,
}

/// Called before every system call.
#[doc(hidden)]
pub type FileFaults = Box<dyn FnMut(FilePoint) -> Option<FileFault>>;

/// Makes a call, unless a fault is due.
#[cfg(not(debug_assertions))]
pub(crate) fn at<T>(_: FilePoint, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    call()
}

/// Writes all bytes, unless a fault is due.
#[cfg(not(debug_assertions))]
pub(crate) fn write_all(file: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    file.write_all(bytes)
}

#[cfg(debug_assertions)]
pub use self::set::file_faults;
#[cfg(debug_assertions)]
pub(crate) use self::set::{at, write_all};

#[cfg(debug_assertions)]
mod set {
    use std::cell::RefCell;
    use std::panic;

    use super::{FileFault, FileFaults, FilePoint, Write, io};

    thread_local! {
        static SET: RefCell<Option<FileFaults>> = const { RefCell::new(None) };
    }

    /// Sets or clears this thread's faults.
    #[doc(hidden)]
    pub fn file_faults(faults: Option<FileFaults>) {
        SET.with(|set| *set.borrow_mut() = faults);
    }

    fn due(point: FilePoint) -> Option<FileFault> {
        SET.with(|set| set.borrow_mut().as_mut().and_then(|faults| faults(point)))
    }

    /// Stops the thread by unwinding. Resources are released, as the system would do for a process,
    /// but no error handling runs.
    fn die() -> ! {
        panic::resume_unwind(Box::new("died on purpose"))
    }

    pub(crate) fn at<T>(point: FilePoint, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        met(due(point), call)
    }

    fn met<T>(fault: Option<FileFault>, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match fault {
            None => call(),
            Some(FileFault::Io) => Err(io::Error::from_raw_os_error(5)),
            Some(FileFault::Full) => Err(io::ErrorKind::StorageFull.into()),
            Some(FileFault::Late) => {
                call()?;
                Err(io::Error::from_raw_os_error(5))
            }
            Some(FileFault::Dies) => die(),
            Some(FileFault::DiesAfter) => {
                call()?;
                die()
            }
        }
    }

    pub(crate) fn write_all(file: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
        let fault = due(FilePoint::Write);
        let partly = matches!(fault, Some(FileFault::Full | FileFault::DiesAfter));
        let written = if partly { &bytes[..bytes.len() / 2] } else { bytes };
        if fault == Some(FileFault::Full) {
            file.write_all(written)?;
        }
        met(fault, || file.write_all(written))
    }
}

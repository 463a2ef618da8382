//! Faults on purpose when files are written, for tests; no release build has them.
//!
//! They are set for one thread, and hold for what that thread writes.

use std::io::{self, Write};

/// A call to the system by which a file is written.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilePoint {
    /// A file is made, or opened to be added to.
    Open,
    /// Bytes are written.
    Write,
    /// What was written is synced.
    Sync,
    /// A file gets its name.
    Rename,
    /// The names in a directory are synced.
    SyncDirectory,
    /// A file is removed.
    Remove,
}

/// How it goes wrong.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFault {
    /// The disk reports an error; nothing was done.
    Io,
    /// The disk is full; of what was to be written there is a part.
    Full,
    /// The disk reports an error, but it was done.
    Late,
    /// The process ends before it is done: nothing after it happens.
    Dies,
    /// The process ends in the midst of it, or right after it.
    DiesAfter,
}

/// Asked before every call.
#[doc(hidden)]
pub type FileFaults = Box<dyn FnMut(FilePoint) -> Option<FileFault>>;

/// Makes a call, unless it is to go wrong.
#[cfg(not(debug_assertions))]
pub(crate) fn at<T>(_: FilePoint, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    call()
}

/// Writes all of it, unless that is to go wrong.
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

    /// Sets the faults of this thread, or none.
    #[doc(hidden)]
    pub fn file_faults(faults: Option<FileFaults>) {
        SET.with(|set| *set.borrow_mut() = faults);
    }

    fn due(point: FilePoint) -> Option<FileFault> {
        SET.with(|set| set.borrow_mut().as_mut().and_then(|faults| faults(point)))
    }

    /// Ends what the thread does. What it holds is let go of, as the system does for a process;
    /// nothing is tidied up that is tidied up after an error.
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

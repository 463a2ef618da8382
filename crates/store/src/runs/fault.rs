//! Faults on purpose: what the disk may do to a writer, for tests.

use std::sync::Arc;

use rusqlite::ffi;

/// A call to the storage that may go wrong.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// The begin of a transaction.
    Begin,
    /// A statement in it.
    Statement,
    /// Its end.
    Commit,
    /// Moving what was committed from the log into the database.
    Checkpoint,
}

/// How it goes wrong.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The disk reports an error; nothing was done.
    Io,
    /// The disk is full; nothing was done.
    Full,
    /// The disk reports an error, but it was done.
    Late,
    /// The process ends at once, before anything was done.
    Dies,
    /// The process ends at once, after it was done.
    DiesAfter,
}

/// Asked before every call.
#[doc(hidden)]
pub type Faults = Arc<dyn Fn(Point) -> Option<Fault> + Send + Sync>;

/// Makes a call, unless it is to go wrong.
pub(super) fn at<T>(
    faults: Option<&Faults>,
    point: Point,
    call: impl FnOnce() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let failure = |code| Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
    match faults.and_then(|faults| faults(point)) {
        None => call(),
        Some(Fault::Io) => failure(ffi::SQLITE_IOERR),
        Some(Fault::Full) => failure(ffi::SQLITE_FULL),
        Some(Fault::Late) => {
            call()?;
            failure(ffi::SQLITE_IOERR_FSYNC)
        }
        Some(Fault::Dies) => std::process::abort(),
        Some(Fault::DiesAfter) => {
            call()?;
            std::process::abort()
        }
    }
}

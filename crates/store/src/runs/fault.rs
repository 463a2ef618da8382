//! Faults on purpose: what the disk may do to a writer, for tests.

use std::sync::Arc;

use milepost_engine::named_enum;
use rusqlite::ffi;

named_enum! {
    /// A call to the storage that may go wrong.
    #[doc(hidden)]
    StoragePoint {
        /// The begin of a transaction.
        Begin = "begin",
        /// A statement in it.
        Statement = "statement",
        Commit = "commit",
        /// Moving what was committed from the log into the database.
        Checkpoint = "checkpoint",
    }
}

named_enum! {
    /// How it goes wrong.
    #[doc(hidden)]
    StorageFault {
        /// The disk reports an error; nothing was done.
        Io = "io",
        /// The disk is full; nothing was done.
        Full = "full",
        /// The disk reports an error, but it was done.
        Late = "late",
        /// The process ends at once, before anything was done.
        Dies = "dies",
        /// The process ends at once, after it was done.
        DiesAfter = "dies-after",
        /// The process is stopped after it was done, and goes on when somebody wakes it.
        StopsAfter = "stops-after",
    }
}

/// Asked before every call.
#[doc(hidden)]
pub type StorageFaults = Arc<dyn Fn(StoragePoint) -> Option<StorageFault> + Send + Sync>;

/// The faults that a text asks for: `<fault>@<point>:<n>` lets the n-th call of a kind go wrong,
/// and `n+` every one from there on. Nothing when it asks for none; no release build has them.
#[cfg(debug_assertions)]
#[doc(hidden)]
pub fn faults(text: &str) -> Option<StorageFaults> {
    use std::sync::atomic::{AtomicU64, Ordering};

    let (fault, rest) = text.split_once('@')?;
    let (point, number) = rest.split_once(':')?;
    let (fault, wanted) = (StorageFault::parse(fault)?, StoragePoint::parse(point)?);
    let (number, stays) = match number.strip_suffix('+') {
        Some(number) => (number, true),
        None => (number, false),
    };
    let number: u64 = number.parse().ok()?;
    let seen = AtomicU64::new(0);
    Some(Arc::new(move |point| {
        if point != wanted {
            return None;
        }
        let nth = seen.fetch_add(1, Ordering::SeqCst) + 1;
        (nth == number || stays && nth > number).then_some(fault)
    }))
}

/// Stops this process, where a process can be stopped.
fn stop() {
    #[cfg(unix)]
    {
        use rustix::process::{Signal, getpid, kill_process};
        // One that cannot be stopped goes on.
        let _ = kill_process(getpid(), Signal::STOP);
    }
}

/// Makes a call, unless it is to go wrong.
pub(super) fn at<T>(
    faults: Option<&StorageFaults>,
    point: StoragePoint,
    call: impl FnOnce() -> rusqlite::Result<T>,
) -> rusqlite::Result<T> {
    let failure = |code| Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None));
    match faults.and_then(|faults| faults(point)) {
        None => call(),
        Some(StorageFault::Io) => failure(ffi::SQLITE_IOERR),
        Some(StorageFault::Full) => failure(ffi::SQLITE_FULL),
        Some(StorageFault::Late) => {
            call()?;
            failure(ffi::SQLITE_IOERR_FSYNC)
        }
        Some(StorageFault::Dies) => std::process::abort(),
        Some(StorageFault::DiesAfter) => {
            call()?;
            std::process::abort()
        }
        Some(StorageFault::StopsAfter) => {
            let done = call()?;
            stop();
            Ok(done)
        }
    }
}

//! Injected storage faults, for tests.

use std::sync::Arc;

use milepost_model::serialized_enum;
use rusqlite::ffi;

serialized_enum! {
    /// A storage call that may fail.
    #[doc(hidden)]
    StoragePoint {
        /// The beginning of a transaction.
        Begin = "begin",
        /// A statement in a transaction.
        Statement = "statement",
        Commit = "commit",
        /// A checkpoint, which moves committed data from the log to the database.
        Checkpoint = "checkpoint",
    }
}

serialized_enum! {
    /// How a call fails.
    #[doc(hidden)]
    StorageFault {
        /// The disk reports an error; nothing was done.
        Io = "io",
        /// The disk is full; nothing was done.
        Full = "full",
        /// The disk reports an error, but the call took effect.
        Late = "late",
        /// The process dies before the call.
        Dies = "dies",
        /// The process dies after the call.
        DiesAfter = "dies-after",
        /// The process is suspended after the call, until someone resumes it.
        StopsAfter = "stops-after",
    }
}

/// Called before every storage call.
#[doc(hidden)]
pub type StorageFaults = Arc<dyn Fn(StoragePoint) -> Option<StorageFault> + Send + Sync>;

/// Parses a fault specification: `<fault>@<point>:<n>` makes the n-th call of that kind fail, and
/// `n+` makes every later one fail as well. `None` if the specification is invalid. Not available
/// in release builds.
#[cfg(debug_assertions)]
#[doc(hidden)]
pub fn faults(text: &str) -> Option<StorageFaults> {
    use std::sync::atomic::{AtomicU64, Ordering};

    let (fault, rest) = text.split_once('@')?;
    let (point, number) = rest.split_once(':')?;
    let (fault, wanted) = (StorageFault::named(fault)?, StoragePoint::named(point)?);
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

/// Suspends this process, if the system supports that.
fn stop() {
    #[cfg(unix)]
    {
        use rustix::process::{Signal, getpid, kill_process};
        // If suspending fails, the process continues.
        let _ = kill_process(getpid(), Signal::STOP);
    }
}

/// Makes a call, unless a fault is due.
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

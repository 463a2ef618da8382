//! What can go wrong with runs on disk; each variant is another thing to do about it.

use std::path::PathBuf;

use milepost_model::id::RunId;
use rusqlite::ErrorCode;

use crate::file::FileError;

/// Why a run could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RunsError {
    /// There is no such run.
    #[error("there is no run `{run}`")]
    NotFound {
        /// The run.
        run: RunId,
    },
    /// Somebody else drives the run now: stop driving it.
    #[error("run `{run}` is driven by another process now")]
    Fenced {
        /// The run.
        run: RunId,
    },
    /// The journal goes on elsewhere: read the events and decide again.
    #[error("the last event of run `{run}` is number {last}")]
    OutOfOrder {
        /// The run.
        run: RunId,
        /// The number of its last event.
        last: u64,
    },
    /// A row of the run is not as it was written. The run is set aside; all others go on.
    #[error("the journal of run `{run}` is damaged at event {seq}")]
    Corrupt {
        /// The run.
        run: RunId,
        /// The first event that cannot be believed; 0 is the row of the run itself.
        seq: u64,
    },
    /// The run was set aside because a row of it is not as it was written.
    #[error("run `{run}` was set aside because its journal is damaged")]
    Quarantined {
        /// The run.
        run: RunId,
    },
    /// A message of this id was sent to another run.
    #[error("a message of the same id was sent to another run than `{run}`")]
    OtherRun {
        /// The run.
        run: RunId,
    },
    /// More than is ever written at once.
    #[error("{bytes} bytes are too much at once: at most {limit}")]
    TooLarge {
        /// How much it is.
        bytes: usize,
        /// How much it may be.
        limit: usize,
    },
    /// The disk is full. Nothing of this was written; later writes may be.
    #[error("there is no room left on the disk")]
    Full,
    /// Other processes wrote without a pause for too long. Nothing of this was written.
    #[error("other processes keep the journal busy")]
    Busy,
    /// The disk could not be trusted to keep a write. Whether this one is there is unknown, and
    /// nothing is written any more: end the process and begin anew.
    #[error("the journal could not be written: nothing more will be")]
    Failed,
    /// What is on disk was written by a later version of the program.
    #[error("`{}` has version {found}, and this program knows {known}", path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The latest version that is known.
        known: u32,
    },
    /// The program was built with a `SQLite` that is too old.
    #[error("SQLite {found} is too old: at least {wanted} is needed")]
    OldSqlite {
        /// The version there is.
        found: &'static str,
        /// The least version.
        wanted: &'static str,
    },
    /// The key is gone.
    #[error("the key `{}` is gone: put it back, or remove the runs beside it", path.display())]
    KeyMissing {
        /// The key.
        path: PathBuf,
    },
    /// The key is no key, or not the one of the runs.
    #[error("`{}` is not the key of the runs beside it: put the right key back", path.display())]
    WrongKey {
        /// The key.
        path: PathBuf,
    },
    /// Others may read the key.
    #[error("others may read `{}` (mode {mode:03o}): run `chmod 600` on it", path.display())]
    KeyExposed {
        /// The key.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The system has no randomness to give.
    #[error("the system gives no random numbers")]
    NoRandomness,
    /// A file could not be read or written.
    #[error("{}", reason(.0))]
    File(#[from] FileError),
    /// `SQLite` refused for another reason.
    #[error("the runs cannot be read or written: {0}")]
    Storage(#[source] rusqlite::Error),
}

impl From<rusqlite::Error> for RunsError {
    fn from(error: rusqlite::Error) -> RunsError {
        // The log's shared index cannot grow: that is a full disk too.
        if error.sqlite_extended_error_code() == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) {
            return RunsError::Full;
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => RunsError::Full,
            Some(ErrorCode::DatabaseBusy) => RunsError::Busy,
            _ => RunsError::Storage(error),
        }
    }
}

/// What is wrong with a file, with what the system said: whoever reads it has to do something
/// about that.
fn reason(error: &FileError) -> String {
    match error {
        FileError::Io { source, .. } => format!("{error}: {source}"),
        _ => error.to_string(),
    }
}

impl RunsError {
    /// Whether bytes on the disk are not what was written: what they are about can be told only
    /// by whoever asked for them.
    pub fn is_damage(&self) -> bool {
        matches!(self, RunsError::Storage(error) if is_damage(error))
    }

    /// The same, of a run whose bytes they are.
    pub(super) fn of_run(self, run: &RunId, seq: u64) -> RunsError {
        if self.is_damage() { RunsError::Corrupt { run: run.clone(), seq } } else { self }
    }
}

/// Whether an error says that bytes are not what was written.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::Utf8Error(..) => true,
        _ => matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
        ),
    }
}

//! Errors from reading and writing runs. Each variant calls for a different response.

use std::path::PathBuf;

use milepost_engine::ports::JournalError;
use milepost_model::id::RunId;
use rusqlite::ErrorCode;

use crate::file::FileError;

/// Why a run could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RunsError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The program was built with a version of `SQLite` that is too old.
    #[error("SQLite {found} is too old: at least {wanted} is needed")]
    OldSqlite { found: &'static str, wanted: &'static str },
    #[error("the key `{}` is missing: restore it, or remove the runs next to it", path.display())]
    KeyMissing { path: PathBuf },
    /// The file is not a key, or not the key for these runs.
    #[error("`{}` is not the key for the runs next to it: restore the right key", path.display())]
    WrongKey { path: PathBuf },
    #[error(
        "`{}` is accessible to other users (mode {mode:03o}): run `chmod 600` on it",
        path.display()
    )]
    KeyExposed { path: PathBuf, mode: u32 },
    /// The system provided no random numbers.
    #[error("the system provided no random numbers")]
    NoRandomness,
    /// A file could not be read or written. Its message includes the system's, so that a user can
    /// act on it.
    #[error("{}", .0.told())]
    File(#[from] FileError),
    #[error("cannot read or write `runs.db`: {0}")]
    Storage(#[source] rusqlite::Error),
}

impl From<rusqlite::Error> for RunsError {
    fn from(error: rusqlite::Error) -> RunsError {
        // A failure to grow the log's shared index also means that the disk is full.
        if error.sqlite_extended_error_code() == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE) {
            return JournalError::Full.into();
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => JournalError::Full.into(),
            Some(ErrorCode::DatabaseBusy) => JournalError::Busy.into(),
            _ => RunsError::Storage(error),
        }
    }
}

impl RunsError {
    /// Whether the data on disk differs from what was written. Only the caller knows which run the
    /// data belongs to.
    pub fn is_damage(&self) -> bool {
        matches!(self, RunsError::Storage(error) if is_damage(error))
    }

    /// Turns damaged data into an error about the run it belongs to.
    pub(super) fn of_run(self, run: &RunId, seq: u64) -> RunsError {
        if self.is_damage() { JournalError::Corrupt { run: run.clone(), seq }.into() } else { self }
    }
}

/// Whether an error means that the data on disk differs from what was written.
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

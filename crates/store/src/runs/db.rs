//! A connection to the database, and the only way to run statements on it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Params, Row};

use super::error::RunsError;
use super::fault::{self, StorageFaults, StoragePoint};
use super::progress::{PendingUpdates, ProgressUpdate};
use crate::limits;

/// A connection, with the faults to inject into its calls.
#[derive(Clone, Copy)]
pub(super) struct Db<'c> {
    connection: &'c Connection,
    faults: Option<&'c StorageFaults>,
    unnoted: Option<&'c PendingUpdates>,
}

impl<'c> Db<'c> {
    /// For reading, without injected faults.
    pub(super) fn reading(connection: &'c Connection) -> Db<'c> {
        Db { connection, faults: None, unnoted: None }
    }

    pub(super) fn writing(
        connection: &'c Connection,
        faults: Option<&'c StorageFaults>,
        unnoted: &'c PendingUpdates,
    ) -> Db<'c> {
        Db { connection, faults, unnoted: Some(unnoted) }
    }

    /// Registers what a write did to a run, to be noted once it is committed.
    pub(super) fn wrote(self, written: ProgressUpdate) {
        if let Some(unnoted) = self.unnoted {
            unnoted.borrow_mut().push(written);
        }
    }

    /// Runs a statement and returns the number of changed rows.
    pub(super) fn execute(self, sql: &str, params: impl Params) -> Result<usize, RunsError> {
        let call = || self.connection.prepare_cached(sql)?.execute(params);
        Ok(fault::at(self.faults, StoragePoint::Statement, call)?)
    }

    /// The first row of a query.
    pub(super) fn first<T>(
        self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, RunsError> {
        let call = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(params)?;
            rows.next()?.map(read).transpose()
        };
        Ok(fault::at(self.faults, StoragePoint::Statement, call)?)
    }

    /// Whether a query returns any rows.
    pub(super) fn any(self, sql: &str, params: impl Params) -> Result<bool, RunsError> {
        Ok(self.first(sql, params, |_| Ok(()))?.is_some())
    }

    /// Every row of a query.
    pub(super) fn all<T>(
        self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, RunsError> {
        let mut found = Vec::new();
        self.each(sql, params, |row| {
            found.push(read(row)?);
            Ok(true)
        })?;
        Ok(found)
    }

    /// Passes the rows of a query to `read` one by one, until it returns `false`.
    pub(super) fn each(
        self,
        sql: &str,
        params: impl Params,
        mut read: impl FnMut(&Row<'_>) -> Result<bool, RunsError>,
    ) -> Result<(), RunsError> {
        let call = || {
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query(params)?;
            while let Some(row) = rows.next()? {
                match read(row) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => return Ok(Err(error)),
                }
            }
            Ok(Ok(()))
        };
        fault::at(self.faults, StoragePoint::Statement, call)?
    }

    /// Runs statements without caching them.
    pub(super) fn batch(self, point: StoragePoint, sql: &str) -> rusqlite::Result<()> {
        fault::at(self.faults, point, || self.connection.execute_batch(sql))
    }

    /// Begins or ends a transaction.
    pub(super) fn step(self, point: StoragePoint, sql: &str) -> rusqlite::Result<()> {
        let call = || self.connection.prepare_cached(sql)?.execute([]).map(drop);
        fault::at(self.faults, point, call)
    }
}

/// What a connection may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DbAccess {
    /// Read and write.
    Change,
    Look,
}

/// Opens the database and applies the settings that are not stored in the file.
pub(super) fn connect(path: &Path, access: DbAccess) -> Result<Connection, RunsError> {
    let flags = match access {
        DbAccess::Change => OpenFlags::SQLITE_OPEN_READ_WRITE,
        DbAccess::Look => OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    be_patient(&mut connection)?;
    // Keeps query plans stable: SQLite would otherwise prepare a statement again when its values
    // change, although these plans never depend on the values.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(limits::STATEMENTS);
    connection.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA cell_size_check = ON;
         PRAGMA secure_delete = ON;
         PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY;",
    )?;
    Ok(connection)
}

/// Makes a connection wait for other processes. The delays of `SQLite`'s own busy handler grow to a
/// tenth of a second, whereas a write takes a few milliseconds.
pub(super) fn be_patient(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.busy_handler(Some(|tries: i32| {
        thread::sleep(limits::BUSY_EVERY);
        u32::try_from(tries).is_ok_and(|tries| limits::BUSY_EVERY * tries < limits::BUSY_WAIT)
    }))
}

/// Read-only connections, kept for reuse.
pub(super) struct ReaderPool {
    path: PathBuf,
    access: DbAccess,
    idle: Mutex<Vec<Connection>>,
}

impl ReaderPool {
    pub(super) fn of(path: PathBuf, access: DbAccess) -> ReaderPool {
        ReaderPool { path, access, idle: Mutex::new(Vec::new()) }
    }

    /// Reads from a consistent snapshot, which does not include later commits.
    pub(super) fn read<T>(
        &self,
        work: impl FnOnce(Db<'_>) -> Result<T, RunsError>,
    ) -> Result<T, RunsError> {
        // Nothing is written, so it does not matter how the transaction ends.
        self.with(|connection| work(Db::reading(&*connection.unchecked_transaction()?)))
    }

    /// Lends a connection without starting a transaction.
    pub(super) fn with<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, RunsError>,
    ) -> Result<T, RunsError> {
        let connection = self.connection()?;
        let outcome = work(&connection);
        self.keep(connection);
        outcome
    }

    fn connection(&self) -> Result<Connection, RunsError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(connection) = idle {
            return Ok(connection);
        }
        let connection = connect(&self.path, self.access)?;
        connection.execute_batch("PRAGMA query_only = ON")?;
        Ok(connection)
    }

    fn keep(&self, connection: Connection) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < limits::READERS {
            idle.push(connection);
        }
    }
}

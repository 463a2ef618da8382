//! The tables, and the migration of databases from earlier versions.

use std::path::{Path, PathBuf};

use milepost_model::id::RunId;
use rusqlite::Connection;

use super::chain::{ChainKey, MacInput};
use super::db::{self, Db};
use super::{RunsError, pins};
use crate::file::{self, FileError, FileMode};
use crate::lock::Lock;
use milepost_engine::ports::JournalError;

/// The name of the database file.
pub const FILE: &str = "runs.db";

/// The version of the tables. A change to them adds a step to [`migrate`]; existing steps are never
/// edited.
///
/// The version is raised only for changes that earlier versions cannot handle: a running process of
/// an earlier version continues with its open connections, but cannot open new ones. New tables,
/// and columns with a default, do not raise it, because earlier versions name every column they
/// use.
const VERSION: u32 = 1;
const TABLES: &str = include_str!("schema.sql");
/// Tables that were added later: runs that were purged, and runs that were lost.
const ADDED: &str = "
    CREATE TABLE IF NOT EXISTS purged_runs(run TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS lost_runs(run TEXT NOT NULL PRIMARY KEY, seq INTEGER NOT NULL)
      STRICT, WITHOUT ROWID;";

/// The minimum version of `SQLite`. Earlier ones could lose commits when the log was reset while
/// another process was writing to it.
const SQLITE_LEAST: (i32, &str) = (3_051_003, "3.51.3");

/// The path of the write-ahead log for a directory's database.
pub(super) fn log(directory: &Path) -> PathBuf {
    directory.join(format!("{FILE}-wal"))
}

/// Opens a directory's database with its key, creating both if they do not exist.
pub(super) fn open(directory: &Path) -> Result<(Connection, ChainKey), RunsError> {
    let (least, wanted) = SQLITE_LEAST;
    if rusqlite::version_number() < least {
        return Err(RunsError::OldSqlite { found: rusqlite::version(), wanted });
    }
    file::make_directory(directory, FileMode::Owner)?;
    let path = directory.join(FILE);
    claim(&path)?;
    let connection = db::connect(&path, db::DbAccess::Change)?;
    let found = version(&connection)?;
    if found < VERSION {
        let _lock = Lock::of(directory)?;
        migrate(&connection, directory)?;
    } else if found > VERSION {
        return Err(JournalError::Newer { path, found, known: VERSION }.into());
    }
    for (name, tables) in [("lost_runs", ADDED), ("texts_referenced", pins::TABLES)] {
        if !has(Db::reading(&connection), name)? {
            connection.execute_batch(tables)?;
        }
    }
    let key = proven(&connection, directory)?;
    Ok((connection, key))
}

/// The key of a database that is opened read-only; `None` if its tables have not been created yet.
pub(super) fn key(
    connection: &Connection,
    directory: &Path,
) -> Result<Option<ChainKey>, RunsError> {
    match version(connection)? {
        0 => Ok(None),
        1..=VERSION => proven(connection, directory).map(Some),
        found => {
            Err(JournalError::Newer { path: directory.join(FILE), found, known: VERSION }.into())
        }
    }
}

/// A directory's key, after checking that the rows in the database were written with it.
fn proven(connection: &Connection, directory: &Path) -> Result<ChainKey, RunsError> {
    let key = ChainKey::need(directory)?;
    let sql = "SELECT mac FROM proof WHERE id = 1";
    let found: Option<Vec<u8>> = Db::reading(connection).first(sql, [], |row| row.get(0))?;
    // A database that was copied without its key is rejected, because nothing in it can be
    // verified.
    match found.is_some_and(|mac| proof(&key).fits(&mac)) {
        true => Ok(key),
        false => Err(RunsError::WrongKey { path: ChainKey::path(directory) }),
    }
}

/// Creates the file with access for its owner only; `SQLite` gives the files next to it the same
/// mode.
pub(super) fn claim(path: &Path) -> Result<(), FileError> {
    file::owned().open(path).map(drop).map_err(|error| FileError::of(path, error))
}

fn version(connection: &Connection) -> Result<u32, RunsError> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// Performs one step per version. The caller holds the directory's lock.
fn migrate(connection: &Connection, directory: &Path) -> Result<(), RunsError> {
    // Another process may have migrated while this one waited for the lock.
    if version(connection)? == 0 {
        let key = ChainKey::read_or_make(directory)?;
        // This setting is stored in the file and cannot be changed inside a transaction.
        connection.pragma_update(None, "journal_mode", "wal")?;
        let transaction = connection.unchecked_transaction()?;
        transaction.execute_batch(TABLES)?;
        transaction.execute("INSERT INTO proof(id, mac) VALUES (1, ?1)", [proof(&key).mac()])?;
        transaction.pragma_update(None, "user_version", 1)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Whether a table or trigger exists; a database created by an earlier version may lack it.
pub(super) fn has(db: Db<'_>, name: &str) -> Result<bool, RunsError> {
    db.any("SELECT 1 FROM sqlite_schema WHERE name = ?1", [name])
}

/// Whether a run is listed in a table that may be missing in databases created by earlier versions.
pub(super) fn lists(db: Db<'_>, table: &str, run: &RunId) -> Result<bool, RunsError> {
    let sql = format!("SELECT 1 FROM {table} WHERE run = ?1");
    Ok(has(db, table)? && db.any(&sql, [run.as_str()])?)
}

/// The message whose MAC proves that a key belongs to a database.
fn proof(key: &ChainKey) -> MacInput {
    key.over("the key of these runs")
}

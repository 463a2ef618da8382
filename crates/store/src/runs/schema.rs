//! The tables, and how a database of an earlier version becomes one of this version.

use std::path::{Path, PathBuf};

use milepost_model::id::RunId;
use rusqlite::Connection;

use super::chain::{ChainKey, MacInput};
use super::db::{self, Db};
use super::{RunsError, pins};
use crate::file::{self, FileError, FileMode};
use crate::lock::Lock;
use milepost_engine::ports::JournalError;

/// The file of the database.
pub const FILE: &str = "runs.db";

/// The version of the tables. A change of them adds a step to [`migrate`] and never edits one.
///
/// Only a change that an earlier version could not live with raises it: a process of that version
/// that is open goes on with what it has open, and is refused when it opens anything more. Tables,
/// and columns with a default, are added without: earlier versions name every column they use.
const VERSION: u32 = 1;
const TABLES: &str = include_str!("schema.sql");
/// What was added to them: which runs were removed on purpose, and which are gone without it.
const ADDED: &str = "
    CREATE TABLE IF NOT EXISTS purged_runs(run TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS lost_runs(run TEXT NOT NULL PRIMARY KEY, seq INTEGER NOT NULL)
      STRICT, WITHOUT ROWID;";

/// Below this one, `SQLite` could lose what was committed when a log was reset while another
/// process wrote to it.
const SQLITE_LEAST: (i32, &str) = (3_051_003, "3.51.3");

/// The log of the database of a directory.
pub(super) fn log(directory: &Path) -> PathBuf {
    directory.join(format!("{FILE}-wal"))
}

/// Opens the database of a directory, which is made if there is none, with its key.
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

/// The key of a database for those who only look; `None` where nobody has made the tables yet.
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

/// The key of a directory, which must be the one its rows were written with.
fn proven(connection: &Connection, directory: &Path) -> Result<ChainKey, RunsError> {
    let key = ChainKey::need(directory)?;
    let sql = "SELECT mac FROM proof WHERE id = 1";
    let found: Option<Vec<u8>> = Db::reading(connection).first(sql, [], |row| row.get(0))?;
    // A database that was copied without its key is refused whole: nothing in it could be believed.
    match found.is_some_and(|mac| proof(&key).fits(&mac)) {
        true => Ok(key),
        false => Err(RunsError::WrongKey { path: ChainKey::path(directory) }),
    }
}

/// Makes the file, for its owner alone: `SQLite` gives the files beside it the same mode.
pub(super) fn claim(path: &Path) -> Result<(), FileError> {
    file::owned().open(path).map(drop).map_err(|error| FileError::of(path, error))
}

fn version(connection: &Connection) -> Result<u32, RunsError> {
    Ok(connection.pragma_query_value(None, "user_version", |row| row.get(0))?)
}

/// One step for each version. The caller holds the lock of the directory.
fn migrate(connection: &Connection, directory: &Path) -> Result<(), RunsError> {
    // Another process may have done it while this one waited for the lock.
    if version(connection)? == 0 {
        let key = ChainKey::read_or_make(directory)?;
        // Lasts in the file, and cannot be set in a transaction.
        connection.pragma_update(None, "journal_mode", "wal")?;
        let transaction = connection.unchecked_transaction()?;
        transaction.execute_batch(TABLES)?;
        transaction.execute("INSERT INTO proof(id, mac) VALUES (1, ?1)", [proof(&key).mac()])?;
        transaction.pragma_update(None, "user_version", 1)?;
        transaction.commit()?;
    }
    Ok(())
}

/// Whether there is a table, or what belongs to one, that an earlier version did not have.
pub(super) fn has(db: Db<'_>, name: &str) -> Result<bool, RunsError> {
    db.any("SELECT 1 FROM sqlite_schema WHERE name = ?1", [name])
}

/// Whether a run is in a table that an earlier version did not have.
pub(super) fn lists(db: Db<'_>, table: &str, run: &RunId) -> Result<bool, RunsError> {
    let sql = format!("SELECT 1 FROM {table} WHERE run = ?1");
    Ok(has(db, table)? && db.any(&sql, [run.as_str()])?)
}

/// What the key signs to show that it is the one.
fn proof(key: &ChainKey) -> MacInput {
    key.over("the key of these runs")
}

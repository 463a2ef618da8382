//! What is found out about the last use of the runs before they are used again.
//!
//! Whoever is the first one in reads the notes of those who are gone before `SQLite` recovers the
//! log, and compares them with what is there afterwards. The log itself is not asked: frames that
//! are whole behind one that is not may be those of a commit that a killed process never finished,
//! which others wrote over. A run that had come further
//! is set aside: what it was told and did since is unknown, and sending it again could be wrong.

use std::collections::BTreeMap;
use std::path::Path;

use milepost_model::id::RunId;
use rusqlite::Connection;
use rusqlite::params;
use rusqlite::wal::CheckpointMode;

use super::progress::{self, ProgressNote};
use super::{ChainKey, Db, RunsError, run, schema};
use crate::limits;

/// Why a run was set aside, by the number that its row has.
#[derive(Debug, Clone, Copy)]
pub(super) enum QuarantineReason {
    /// A row of it is not as it was written.
    Damaged = 1,
    /// Later events of it, or messages to it, had been acknowledged and are gone.
    Behind = 2,
}

/// What tells how far runs had come, read before anything is changed.
pub(super) struct Evidence {
    notes: Vec<ProgressNote>,
}

impl Evidence {
    pub(super) fn gather(directory: &Path) -> Evidence {
        let key = ChainKey::read(directory).ok().flatten();
        Evidence { notes: key.map(|key| progress::read(directory, &key)).unwrap_or_default() }
    }

    /// The runs that are not as far as they had come, with how far that was.
    pub(super) fn behind(&self, db: Db<'_>) -> Result<Vec<(RunId, u64)>, RunsError> {
        progress::behind(db, &self.notes)
    }
}

/// Sets aside what is not as far as it had come, and forgets what nobody needs to know any more.
/// Nobody else has the runs open.
pub(super) fn settle(
    connection: &Connection,
    directory: &Path,
    evidence: &Evidence,
) -> Result<(), RunsError> {
    let db = Db::reading(connection);
    let behind = evidence.behind(db)?;
    if !behind.is_empty() || db.any("SELECT 1 FROM purged_runs LIMIT 1", [])? {
        let transaction = connection.unchecked_transaction()?;
        for (run, seq) in &behind {
            set_aside(Db::reading(&transaction), run, *seq)?;
        }
        transaction.execute("DELETE FROM purged_runs", [])?;
        transaction.commit()?;
        // The notes may go once all of this is in the database itself. Should somebody who looks
        // be in the way, they are read once more by the next one.
        let moved = connection.wal_checkpoint_v2(None::<&str>, CheckpointMode::TRUNCATE);
        if !behind.is_empty() && moved.is_err() {
            return Ok(());
        }
    }
    progress::remove_ended(directory);
    Ok(())
}

/// A run that is gone altogether has no row to mark: its id is kept, so that nobody begins it anew.
fn set_aside(db: Db<'_>, run: &RunId, seq: u64) -> Result<(), RunsError> {
    let sql = "UPDATE runs SET quarantined = ?2 WHERE id = ?1";
    if db.execute(sql, params![run.as_str(), QuarantineReason::Behind as u64])? == 0 {
        let sql = "INSERT INTO lost_runs(run, seq) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        db.execute(sql, params![run.as_str(), seq])?;
    }
    tracing::error!(target: "milepost::store", run = run.as_str(), seq, "events are missing");
    Ok(())
}

/// Whether a run that is not there had been.
pub(super) fn is_lost(db: Db<'_>, run: &RunId) -> Result<bool, RunsError> {
    schema::lists(db, "lost_runs", run)
}

/// The runs that were set aside because they are not as far as they had come, those that are gone,
/// and those that the next one in will set aside, each with how far it had come if that is known.
pub(super) fn all_behind(db: Db<'_>, evidence: &Evidence) -> Result<Vec<(RunId, u64)>, RunsError> {
    let mut found: BTreeMap<RunId, u64> = BTreeMap::new();
    let read = |row: &rusqlite::Row<'_>| Ok((run::id_of(row)?, row.get(1)?));
    let sql = "SELECT id, 0 FROM runs WHERE quarantined = ?2 ORDER BY key LIMIT ?1";
    let values = params![limits::RUNS_AT_ONCE, QuarantineReason::Behind as u64];
    found.extend(db.all(sql, values, read)?);
    if schema::has(db, "lost_runs")? {
        let sql = "SELECT run, seq FROM lost_runs ORDER BY run LIMIT ?1";
        found.extend(db.all(sql, [limits::RUNS_AT_ONCE], read)?);
    }
    found.extend(evidence.behind(db)?);
    Ok(found.into_iter().collect())
}

/// The runs that were noted beside a database that has none, with how far they had come: the whole
/// log is gone before any of it was moved.
pub fn noted_runs(directory: &Path) -> Vec<(RunId, u64)> {
    let notes = Evidence::gather(directory).notes.into_iter();
    notes.map(|note| (note.run, note.seq)).collect()
}

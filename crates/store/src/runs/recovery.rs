//! Determines how the last use of the runs ended, before they are used again.
//!
//! The first process to open the runs reads the notes left by dead processes before `SQLite`
//! recovers the log, and compares them with the database afterwards. The log itself is not used as
//! evidence: valid frames after an invalid one may belong to a commit that a killed process never
//! finished and others overwrote. A run that had progressed further than the database shows is
//! quarantined: what it received and did after that point is unknown, and repeating its requests
//! could be wrong.

use std::collections::BTreeMap;
use std::path::Path;

use milepost_model::id::RunId;
use rusqlite::Connection;
use rusqlite::params;
use rusqlite::wal::CheckpointMode;

use super::progress::{self, ProgressNote};
use super::{ChainKey, Db, RunsError, run, schema};
use crate::limits;

/// Why a run was quarantined, as stored in its row.
#[derive(Debug, Clone, Copy)]
pub(super) enum QuarantineReason {
    /// One of its rows is damaged.
    Damaged = 1,
    /// Acknowledged events of the run, or messages to it, are missing.
    Behind = 2,
}

/// The known progress of runs, read before anything is changed.
pub(super) struct Evidence {
    notes: Vec<ProgressNote>,
}

impl Evidence {
    pub(super) fn gather(directory: &Path) -> Evidence {
        let key = ChainKey::read(directory).ok().flatten();
        Evidence { notes: key.map(|key| progress::read(directory, &key)).unwrap_or_default() }
    }

    /// The runs that have lost progress, each with the sequence number of its last known event.
    pub(super) fn behind(&self, db: Db<'_>) -> Result<Vec<(RunId, u64)>, RunsError> {
        progress::behind(db, &self.notes)
    }
}

/// Quarantines runs that have lost progress, and clears the list of purged runs and the notes left
/// by dead processes. No other process may have the runs open.
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
        // The notes may be removed once all of this is in the database file itself. If a reader
        // prevents the checkpoint, the next process reads them again.
        let moved = connection.wal_checkpoint_v2(None::<&str>, CheckpointMode::TRUNCATE);
        if !behind.is_empty() && moved.is_err() {
            return Ok(());
        }
    }
    progress::remove_ended(directory);
    Ok(())
}

/// Quarantines a run. If the run is missing entirely, there is no row to mark, so its id is
/// recorded to keep it from being started again.
fn set_aside(db: Db<'_>, run: &RunId, seq: u64) -> Result<(), RunsError> {
    let sql = "UPDATE runs SET quarantined = ?2 WHERE id = ?1";
    if db.execute(sql, params![run.as_str(), QuarantineReason::Behind as u64])? == 0 {
        let sql = "INSERT INTO lost_runs(run, seq) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
        db.execute(sql, params![run.as_str(), seq])?;
    }
    let run = run.as_str();
    tracing::error!(target: "milepost::store", run, seq, "run quarantined: its journal has gaps");
    Ok(())
}

/// Whether a missing run is known to have existed.
pub(super) fn is_lost(db: Db<'_>, run: &RunId) -> Result<bool, RunsError> {
    schema::lists(db, "lost_runs", run)
}

/// The runs that were quarantined for lost progress, the runs that are missing entirely, and those
/// that the next process will quarantine, each with its last known sequence number, or 0.
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

/// The runs in the notes, each with its last sequence number, for a database that contains no runs:
/// the whole log was lost before any of it was checkpointed.
pub fn noted_runs(directory: &Path) -> Vec<(RunId, u64)> {
    let notes = Evidence::gather(directory).notes.into_iter();
    notes.map(|note| (note.run, note.seq)).collect()
}

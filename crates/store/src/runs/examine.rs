//! Everything that can be learned about the runs in a directory without changing anything.

use std::path::Path;

use milepost_engine::ports::HolderId;
use milepost_model::id::RunId;
use rusqlite::params;

use super::alive::{self, LockState};
use super::check::{self, CheckReport};
use super::recovery::{self, Evidence, QuarantineReason};
use super::{Db, RunsError, RunsReader, lease, run};
use crate::limits;

/// The result of an examination.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Examination {
    /// The check of every page, every row and every chain.
    pub report: CheckReport,
    /// Runs that were quarantined as damaged, even if they are intact now.
    pub quarantined: Vec<RunId>,
    /// Runs whose last events or messages are missing, with the sequence number of the last event
    /// that was known to exist. Such a run may be missing entirely.
    pub behind: Vec<(RunId, u64)>,
    /// Runs that still had work to do when the process that was driving them ended.
    pub left: Vec<RunId>,
    /// The time of the latest start or event of any run.
    pub newest_ms: Option<u64>,
    /// The number of files left by dead processes, which the next process removes.
    pub ended: usize,
}

impl RunsReader {
    /// Examines everything without quarantining any run.
    pub fn examine(&self, now_ms: u64) -> Result<Examination, RunsError> {
        let (readers, _, directory) = self.parts();
        // Must come before the database is read, because live processes keep driving runs.
        let evidence = Evidence::gather(directory);
        let report = check::check(self)?;
        if !report.file.is_empty() {
            // If the file is damaged, nothing else in it is worth reporting.
            return Ok(Examination { report, ..Examination::default() });
        }
        let (quarantined, behind, newest_ms) = readers.read(|db| {
            let sql = "SELECT id FROM runs WHERE quarantined = ?2 ORDER BY key LIMIT ?1";
            let values = params![limits::RUNS_AT_ONCE, QuarantineReason::Damaged as u64];
            let quarantined = db.all(sql, values, run::id_of)?;
            let behind = recovery::all_behind(db, &evidence)?;
            let newest = "SELECT max(max(created_ms, updated_ms)) FROM runs";
            let newest: Option<Option<u64>> = db.first(newest, [], |row| row.get(0))?;
            Ok((quarantined, behind, newest.flatten()))
        })?;
        let (left, ended) = self.left(now_ms)?;
        Ok(Examination { report, quarantined, behind, left, newest_ms, ended })
    }

    /// The unfinished runs that dead processes were driving, and the number of files those
    /// processes left.
    pub fn left(&self, now_ms: u64) -> Result<(Vec<RunId>, usize), RunsError> {
        let (readers, _, directory) = self.parts();
        let dead = readers.read(|db| dead(db, directory, now_ms))?;
        let left = readers.read(|db| left(db, &dead))?;
        Ok((left, alive::left(directory).len()))
    }
}

/// Holders that others may still consider alive, but whose process is gone.
pub(super) fn dead(db: Db<'_>, directory: &Path, now_ms: u64) -> Result<Vec<HolderId>, RunsError> {
    let living = lease::holders(db, now_ms)?;
    let sql = "SELECT id FROM holders UNION \
               SELECT holder FROM leases WHERE holder IS NOT NULL LIMIT ?1";
    let named: Vec<String> = db.all(sql, [limits::LISTENERS], |row| row.get(0))?;
    let named = named.iter().filter_map(|id| HolderId::parse(id));
    // A holder that was suspended for too long is not dead: it resumes and gives up its runs
    // itself.
    let gone = |holder: &HolderId| match alive::sign(directory, holder) {
        LockState::Free => true,
        LockState::Held => false,
        LockState::Missing => !living.contains(holder),
    };
    Ok(named.filter(gone).collect())
}

/// Runs with work to do that are held by dead processes.
fn left(db: Db<'_>, dead: &[HolderId]) -> Result<Vec<RunId>, RunsError> {
    let sql = "SELECT r.id FROM runs r JOIN leases l ON l.run = r.key \
               WHERE l.holder = ?1 AND r.status IN ('pending', 'running') LIMIT ?2";
    let mut left = Vec::new();
    for holder in dead {
        let values = params![holder.as_str(), limits::RUNS_AT_ONCE];
        left.extend(db.all(sql, values, run::id_of)?);
    }
    Ok(left)
}

//! All that can be found out about the runs of a directory without changing anything.

use std::path::Path;

use milepost_engine::ports::HolderId;
use milepost_model::id::RunId;
use rusqlite::params;

use super::alive::{self, LockState};
use super::check::{self, CheckReport};
use super::recovery::{self, Evidence, QuarantineReason};
use super::{Db, RunsError, RunsReader, lease, run};
use crate::limits;

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Examination {
    /// Every page, every row, every chain.
    pub report: CheckReport,
    /// Runs that were set aside, whether they are damaged now or not.
    pub quarantined: Vec<RunId>,
    /// Runs whose last events or messages are gone, with the number of the last event that was
    /// there; all of such a run may be gone.
    pub behind: Vec<(RunId, u64)>,
    /// Runs that had something to do when the process that drove them ended.
    pub left: Vec<RunId>,
    /// When the newest run was started, or something happened in it.
    pub newest_ms: Option<u64>,
    /// Files of processes that ended, which the next one clears away.
    pub ended: usize,
}

impl RunsReader {
    /// Looks at everything there is, and sets nothing aside.
    pub fn examine(&self, now_ms: u64) -> Result<Examination, RunsError> {
        let (readers, _, directory) = self.parts();
        // Before anything is read from the database: whoever drives a run goes on meanwhile.
        let evidence = Evidence::gather(directory);
        let report = check::check(self)?;
        if !report.file.is_empty() {
            // What a damaged file says beyond that is not worth telling.
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

    /// The runs that processes left which are gone, and how many files of theirs there are.
    pub fn left(&self, now_ms: u64) -> Result<(Vec<RunId>, usize), RunsError> {
        let (readers, _, directory) = self.parts();
        let dead = readers.read(|db| dead(db, directory, now_ms))?;
        let left = readers.read(|db| left(db, &dead))?;
        Ok((left, alive::left(directory).len()))
    }
}

/// Holders that somebody may still believe in and whose process is gone.
pub(super) fn dead(db: Db<'_>, directory: &Path, now_ms: u64) -> Result<Vec<HolderId>, RunsError> {
    let living = lease::holders(db, now_ms)?;
    let sql = "SELECT id FROM holders UNION \
               SELECT holder FROM leases WHERE holder IS NOT NULL LIMIT ?1";
    let named: Vec<String> = db.all(sql, [limits::LISTENERS], |row| row.get(0))?;
    let named = named.iter().filter_map(|id| HolderId::parse(id));
    // One that was stopped for too long is not gone: it comes back, and gives its runs up itself.
    let gone = |holder: &HolderId| match alive::sign(directory, holder) {
        LockState::Free => true,
        LockState::Held => false,
        LockState::Missing => !living.contains(holder),
    };
    Ok(named.filter(gone).collect())
}

/// Runs that have something to do and that only the dead could do.
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

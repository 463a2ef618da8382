//! Runs that ended and are not wanted any more: they go with all that only they refer to.

use milepost_engine::ports::{PurgeFilter, PurgeReport, RunStatus};
use milepost_model::id::WorkflowId;

use super::db::Db;
use super::error::RunsError;
use crate::limits;

/// The runs that a filter means. Every condition is there, so that one text serves all filters.
const MEANT: &str = "SELECT key FROM runs WHERE ended_ms IS NOT NULL \
                     AND ended_ms < coalesce(?1, 9223372036854775807) \
                     AND (?2 IS NULL OR status = ?2) AND (?3 IS NULL OR workflow = ?3) \
                     AND (?4 IS NULL OR workspace = ?4)";

/// The values of those conditions.
type Values<'f> = (Option<u64>, Option<&'f str>, Option<&'f str>, Option<&'f str>);

fn values(filter: &PurgeFilter) -> Values<'_> {
    let workflow = filter.workflow.as_ref().map(WorkflowId::as_str);
    let status = filter.status.map(RunStatus::as_str);
    (filter.ended_before_ms, status, workflow, filter.workspace.as_deref())
}

/// What would go.
pub(super) fn count(db: Db<'_>, filter: &PurgeFilter) -> Result<PurgeReport, RunsError> {
    let number = |select: &str| -> Result<u64, RunsError> {
        let sql = format!("WITH meant(key) AS MATERIALIZED ({MEANT}) {select}");
        let found = db.first(&sql, values(filter), |row| row.get(0))?;
        Ok(found.unwrap_or_default())
    };
    Ok(PurgeReport {
        runs: number("SELECT count(*) FROM meant")?,
        events: number("SELECT count(*) FROM events WHERE run IN meant")?,
        blobs: number(
            "SELECT count(DISTINCT blob) FROM events e WHERE run IN meant AND blob IS NOT NULL \
             AND NOT EXISTS (SELECT 1 FROM events o WHERE o.blob = e.blob AND o.run NOT IN meant)",
        )?,
        texts: number(
            "SELECT count(DISTINCT text) FROM runs r WHERE key IN meant \
             AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.text = r.text AND o.key NOT IN meant)",
        )?,
    })
}

/// Removes some of the runs; nothing is left of them when none is reported.
pub(super) fn some(db: Db<'_>, filter: &PurgeFilter) -> Result<PurgeReport, RunsError> {
    let mut report = PurgeReport::default();
    let some = format!("{MEANT} LIMIT {}", limits::RUNS_PURGED_AT_ONCE);
    for key in db.all(&some, values(filter), |row| row.get(0))? {
        report.add(one(db, key)?);
    }
    Ok(report)
}

fn one(db: Db<'_>, key: u64) -> Result<PurgeReport, RunsError> {
    let text: Option<Vec<u8>> =
        db.first("SELECT text FROM runs WHERE key = ?1", [key], |row| row.get(0))?;
    let kept = "SELECT DISTINCT blob FROM events WHERE run = ?1 AND blob IS NOT NULL";
    let kept: Vec<Vec<u8>> = db.all(kept, [key], |row| row.get(0))?;
    let events = db.execute("DELETE FROM events WHERE run = ?1", [key])? as u64;
    // What else belongs to the run goes with its row.
    let runs = db.execute("DELETE FROM runs WHERE key = ?1", [key])? as u64;
    let mut report = PurgeReport { runs, events, ..PurgeReport::default() };
    let unused = "DELETE FROM blobs WHERE hash = ?1 \
                  AND NOT EXISTS (SELECT 1 FROM events WHERE blob = ?1)";
    for hash in kept {
        report.blobs += db.execute(unused, [hash])? as u64;
    }
    let unused = "DELETE FROM texts WHERE hash = ?1 \
                  AND NOT EXISTS (SELECT 1 FROM runs WHERE text = ?1)";
    report.texts += db.execute(unused, [text])? as u64;
    Ok(report)
}

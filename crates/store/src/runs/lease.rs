//! Leases: only one process at a time drives a run, and another one may take over once it is gone.
//!
//! Whether a holder is alive depends on its lock and its heartbeat; see `observer`. The epoch of a
//! lease increases whenever the lease changes hands, and every write names its epoch, so that
//! writes by a holder that comes back too late are rejected.

use milepost_engine::ports::{HolderId, JournalError, Lease};
use milepost_model::id::RunId;
use rusqlite::{Connection, Row, params};

use super::run::{self, RunRow};
use super::{Db, RunsError};
use crate::limits;

/// A holder's heartbeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeartbeatRow {
    pub holder: HolderId,
    /// The process id, for display.
    pub pid: u32,
    pub now_ms: u64,
    /// How long the holder counts as alive.
    pub ttl_ms: u64,
}

/// Writes a heartbeat. Each one differs from all earlier ones, even if the clock is set back:
/// others rely on this difference, not on the time itself.
pub(super) fn beat(db: Db<'_>, beat: &HeartbeatRow) -> Result<(), RunsError> {
    let sql = "INSERT INTO holders(id, pid, expires_ms) VALUES (?1, ?2, ?3) \
               ON CONFLICT (id) DO UPDATE SET expires_ms = \
               max(excluded.expires_ms, holders.expires_ms + 1)";
    let expires = beat.now_ms.saturating_add(beat.ttl_ms);
    db.execute(sql, params![beat.holder.as_str(), beat.pid, expires]).map(drop)
}

/// Grants the first lease on a newly created run.
pub(super) fn first(db: Db<'_>, row: &RunRow, holder: HolderId) -> Result<Lease, RunsError> {
    let sql = "INSERT INTO leases(run, holder, epoch) VALUES (?1, ?2, 1)";
    db.execute(sql, params![row.key, holder.as_str()])?;
    Ok(Lease { run: row.record.id.clone(), holder, epoch: 1 })
}

/// Takes a run's lease, unless another live holder has it. `is_alive` is called with a holder and
/// its heartbeat.
pub(super) fn take(
    db: Db<'_>,
    run: &RunId,
    holder: HolderId,
    is_alive: impl FnOnce(&HolderId, Option<u64>) -> bool,
) -> Result<Option<Lease>, RunsError> {
    let row = run::number(db, run)?;
    let sql = "SELECT l.holder, h.expires_ms FROM leases l \
               LEFT JOIN holders h ON h.id = l.holder WHERE l.run = ?1 AND l.holder <> ?2";
    let other = db.first(sql, params![row, holder.as_str()], with_mark)?.flatten();
    if other.is_some_and(|(other, mark)| is_alive(&other, mark)) {
        return Ok(None);
    }
    let sql = "INSERT INTO leases(run, holder, epoch) VALUES (?1, ?2, 1) \
               ON CONFLICT (run) DO UPDATE SET holder = excluded.holder, epoch = epoch + 1 \
               RETURNING epoch";
    let epoch = db.first(sql, params![row, holder.as_str()], |row| row.get(0))?;
    Ok(epoch.map(|epoch| Lease { run: run.clone(), holder, epoch }))
}

/// Checks that a lease is still held.
pub(super) fn check(db: Db<'_>, run: u64, lease: &Lease) -> Result<(), RunsError> {
    let sql = "SELECT 1 FROM leases WHERE run = ?1 AND holder = ?2 AND epoch = ?3";
    let values = params![run, lease.holder.as_str(), lease.epoch];
    match db.any(sql, values)? {
        true => Ok(()),
        false => Err(JournalError::Fenced { run: lease.run.clone() }.into()),
    }
}

/// Releases a lease; a no-op if it is no longer held.
pub(super) fn release(db: Db<'_>, lease: &Lease) -> Result<(), RunsError> {
    let sql = "UPDATE leases SET holder = NULL WHERE holder = ?2 AND epoch = ?3 \
               AND run = (SELECT key FROM runs WHERE id = ?1)";
    let values = params![lease.run.as_str(), lease.holder.as_str(), lease.epoch];
    db.execute(sql, values).map(drop)
}

/// Releases all of a holder's leases and removes it from the list of holders.
pub(super) fn leave(db: Db<'_>, holder: &HolderId) -> Result<(), RunsError> {
    db.execute("UPDATE leases SET holder = NULL WHERE holder = ?1", [holder.as_str()])?;
    db.execute("DELETE FROM holders WHERE id = ?1", [holder.as_str()]).map(drop)
}

/// Removes all holders and releases their leases. Only allowed if no other process has the runs
/// open.
pub(super) fn forget_holders(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "SELECT EXISTS (SELECT 1 FROM holders) \
               OR EXISTS (SELECT 1 FROM leases WHERE holder IS NOT NULL)";
    let any: bool = connection.query_row(sql, [], |row| row.get(0))?;
    if any {
        let transaction = connection.unchecked_transaction()?;
        transaction.execute("UPDATE leases SET holder = NULL WHERE holder IS NOT NULL", [])?;
        transaction.execute("DELETE FROM holders", [])?;
        transaction.commit()?;
    }
    Ok(())
}

/// Releases all of a holder's leases except those for the given runs.
pub(super) fn disown(db: Db<'_>, holder: &HolderId, driven: &[RunId]) -> Result<(), RunsError> {
    let sql = "UPDATE leases SET holder = NULL WHERE holder = ?1 AND run NOT IN \
               (SELECT key FROM runs WHERE id IN (SELECT value FROM json_each(?2)))";
    let driven = quoted(driven.iter().map(RunId::as_str));
    db.execute(sql, params![holder.as_str(), driven]).map(drop)
}

/// Formats ids as a JSON array; they contain nothing that needs escaping.
fn quoted<'i>(ids: impl Iterator<Item = &'i str>) -> String {
    let ids: Vec<String> = ids.map(|id| format!("\"{id}\"")).collect();
    format!("[{}]", ids.join(","))
}

const ADRIFT: &str = "
SELECT r.id FROM runs r
  LEFT JOIN leases l ON l.run = r.key
WHERE (l.holder IS NULL OR l.holder IN (SELECT value FROM json_each(?3)))
  AND r.quarantined = 0
  AND r.key > coalesce((SELECT key FROM runs WHERE id = ?4), 0)
  AND r.key IN (
  SELECT key FROM runs WHERE status IN ('pending', 'running')
  UNION SELECT key FROM runs WHERE wake_ms IS NOT NULL AND wake_ms <= ?1
  UNION SELECT run FROM inbox WHERE answer IS NULL)
ORDER BY r.key LIMIT ?2";

/// Runs that need to be driven but have no live holder: they have work to do, their wake time has
/// passed, or they have messages. Finished runs also receive messages, which need an answer.
pub(super) fn adrift(
    db: Db<'_>,
    now_ms: u64,
    after: Option<&RunId>,
    limit: usize,
    dead: &[HolderId],
) -> Result<Vec<RunId>, RunsError> {
    let limit = limit.min(limits::RUNS_AT_ONCE);
    let dead = quoted(dead.iter().map(HolderId::as_str));
    let values = params![now_ms, limit, dead, after.map(RunId::as_str)];
    db.all(ADRIFT, values, run::id_of)
}

/// Runs that are waiting only for their wake time and whose last event is dated in the future.
pub(super) fn dated_ahead(db: Db<'_>, now_ms: u64, limit: usize) -> Result<Vec<RunId>, RunsError> {
    let sql = "SELECT id FROM runs WHERE wake_ms > ?1 AND updated_ms > ?1 \
               AND status = 'waiting' AND waiting IS NULL AND quarantined = 0 LIMIT ?2";
    let limit = limit.min(limits::RUNS_AT_ONCE);
    db.all(sql, params![now_ms, limit], run::id_of)
}

/// The earliest wake time that has not passed yet.
pub(super) fn next_wake(db: Db<'_>, now_ms: u64) -> Result<Option<u64>, RunsError> {
    let sql = "SELECT min(wake_ms) FROM runs WHERE wake_ms > ?1";
    Ok(db.first(sql, [now_ms], |row| row.get::<_, Option<u64>>(0))?.flatten())
}

/// Whether a run is waiting only for its wake time, which is still in the future.
pub(super) fn is_asleep(db: Db<'_>, run: &RunId, now_ms: u64) -> Result<bool, RunsError> {
    let sql = "SELECT 1 FROM runs WHERE id = ?1 AND status = 'waiting' AND waiting IS NULL \
               AND wake_ms > ?2";
    db.any(sql, params![run.as_str(), now_ms])
}

/// A holder and its heartbeat; `None` if the id is invalid.
fn with_mark(row: &Row<'_>) -> rusqlite::Result<Option<(HolderId, Option<u64>)>> {
    let mark = row.get(1)?;
    Ok(HolderId::parse(&row.get::<_, String>(0)?).map(|holder| (holder, mark)))
}

/// All holders that have a lease or are listed, with their heartbeats.
pub(super) fn known(db: Db<'_>) -> Result<Vec<(HolderId, Option<u64>)>, RunsError> {
    let sql = "SELECT id, expires_ms FROM holders UNION ALL \
               SELECT DISTINCT holder, NULL FROM leases WHERE holder IS NOT NULL \
               AND holder NOT IN (SELECT id FROM holders) LIMIT ?1";
    Ok(db.all(sql, [limits::LISTENERS], with_mark)?.into_iter().flatten().collect())
}

/// The holder of a run's lease, with its heartbeat.
pub(super) fn holder_of(
    db: Db<'_>,
    run: &RunId,
) -> Result<Option<(HolderId, Option<u64>)>, RunsError> {
    let sql = "SELECT l.holder, h.expires_ms FROM runs r JOIN leases l ON l.run = r.key \
               LEFT JOIN holders h ON h.id = l.holder WHERE r.id = ?1 AND l.holder IS NOT NULL";
    Ok(db.first(sql, [run.as_str()], with_mark)?.flatten())
}

/// Every holder whose heartbeat has not expired.
pub(super) fn holders(db: Db<'_>, now_ms: u64) -> Result<Vec<HolderId>, RunsError> {
    let sql = "SELECT id FROM holders WHERE expires_ms > ?1 LIMIT ?2";
    let found = db.all(sql, params![now_ms, limits::LISTENERS], |row| row.get::<_, String>(0))?;
    Ok(found.iter().filter_map(|id| HolderId::parse(id)).collect())
}

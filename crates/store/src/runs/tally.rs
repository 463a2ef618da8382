//! Counts of runs, for monitoring. Every number comes from an index, so no row of the journal is
//! read or verified.

use milepost_engine::ports::{JournalError, RunCounts};

use super::{Db, RunsError};

pub(super) fn tally(db: Db<'_>) -> Result<RunCounts, RunsError> {
    let pair = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    let runs = db.all("SELECT status, COUNT(*) FROM runs GROUP BY status", [], pair)?;
    let sql = "SELECT substr(waiting, 1, instr(waiting || ' ', ' ') - 1), COUNT(*) \
               FROM (SELECT ifnull(waiting, '') AS waiting FROM runs WHERE status = 'waiting') \
               GROUP BY 1";
    let waiting = db.all(sql, [], pair)?;
    let sql = "SELECT COUNT(*) FROM inbox WHERE answer IS NULL";
    let inbox = db.first(sql, [], |row| row.get(0))?.unwrap_or_default();
    Ok(RunCounts { runs, waiting, inbox })
}

pub(super) fn answers(db: Db<'_>) -> Result<(), RunsError> {
    let found: Option<i64> = db.first("SELECT id FROM proof WHERE id = 1", [], |row| row.get(0))?;
    found.map(drop).ok_or(JournalError::Failed.into())
}

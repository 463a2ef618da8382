//! The runs, newest first, a page at a time.

use milepost_engine::ports::{Cursor, JournalError, RunCounts, RunFilter, RunPage};
use milepost_model::id::{RunId, WorkflowId};
use rusqlite::{ToSql, params_from_iter};

use super::error::{self, RunsError};
use super::run::{self, RunRow, run_columns};
use super::{ChainKey, Db};
use crate::limits;

/// A page of runs, with the damaged rows that were found.
pub(super) struct ListedRows {
    pub(super) page: RunPage,
    /// The keys of runs that should be quarantined.
    pub(super) damaged: Vec<u64>,
}

pub(super) fn list(
    db: Db<'_>,
    key: &ChainKey,
    filter: &RunFilter,
    limit: usize,
) -> Result<ListedRows, RunsError> {
    let limit = limit.clamp(1, limits::RUNS_AT_ONCE);
    let (conditions, mut values) = conditions(filter);
    values.push(Box::new(limit + 1));
    let conditions = if conditions.is_empty() { "TRUE".into() } else { conditions.join(" AND ") };
    let columns = run_columns!();
    let sql = format!("SELECT {columns} FROM runs WHERE {conditions} ORDER BY key DESC LIMIT ?");
    let mut listed = ListedRows { page: RunPage::default(), damaged: Vec::new() };
    let mut seen = 0;
    let mut last = None;
    db.each(&sql, params_from_iter(values), |line| {
        seen += 1;
        if seen > limit {
            listed.page.next = last;
            return Ok(false);
        }
        let row_key = line.get(0)?;
        last = Some(Cursor(row_key));
        match RunRow::read(line, key) {
            Ok(mut read) => {
                if !read.sound && !read.row.record.quarantined {
                    listed.damaged.push(row_key);
                }
                read.row.record.quarantined |= !read.sound;
                listed.page.runs.push(read.row.record);
            }
            Err(error) if error::is_damage(&error) => {
                listed.page.unreadable += 1;
                listed.damaged.push(row_key);
            }
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    })?;
    Ok(listed)
}

/// The conditions as SQL, with their values. Only the given conditions are included, so that each
/// combination can use its index.
fn conditions(filter: &RunFilter) -> (Vec<&'static str>, Vec<Box<dyn ToSql>>) {
    let mut conditions = Vec::new();
    let mut values: Vec<Box<dyn ToSql>> = Vec::new();
    let mut add = |condition, value: Option<Box<dyn ToSql>>| {
        if let Some(value) = value {
            conditions.push(condition);
            values.push(value);
        }
    };
    let text = |text: &str| -> Box<dyn ToSql> { Box::new(text.to_owned()) };
    add("status = ?", filter.status.map(|status| text(status.name())));
    add("workflow = ?", filter.workflow.as_ref().map(|workflow| text(workflow.as_str())));
    add("workspace = ?", filter.workspace.as_deref().map(text));
    add("actor = ?", filter.actor.as_deref().map(text));
    add("parent = ?", filter.parent.as_ref().map(|parent| text(parent.as_str())));
    add("key < ?", filter.before.map(|before| -> Box<dyn ToSql> { Box::new(before.0) }));
    if filter.open_only {
        conditions.push("ended_ms IS NULL");
    }
    (conditions, values)
}

/// The ids that start with a prefix, which may omit `run_`.
pub(super) fn find_prefix(db: Db<'_>, text: &str) -> Result<Vec<RunId>, RunsError> {
    let digits = text.strip_prefix("run_").unwrap_or(text);
    if text.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Ok(Vec::new());
    }
    let from = format!("run_{digits}");
    // Sorts after every digit of an id.
    let to = format!("{from}~");
    let sql = "SELECT id FROM runs WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3";
    let values = rusqlite::params![from, to, limits::RUNS_MEANT];
    db.all(sql, values, run::id_of)
}

/// A workflow's most recent successful run, by end time.
pub(super) fn newest_succeeded(
    db: Db<'_>,
    key: &ChainKey,
    workflow: &WorkflowId,
    actor: Option<&str>,
) -> Result<Option<RunId>, RunsError> {
    let sql = concat!(
        "SELECT ",
        run_columns!(),
        " FROM runs WHERE workflow = ?1 AND status = 'succeeded' AND quarantined = 0 \
         AND (?2 IS NULL OR actor = ?2) ORDER BY ended_ms DESC, key DESC LIMIT 1"
    );
    let values = rusqlite::params![workflow.as_str(), actor];
    let found = db.first(sql, values, |row| RunRow::read(row, key))?;
    match found {
        Some(read) if !read.sound => {
            Err(JournalError::Corrupt { run: read.row.record.id, seq: 0 }.into())
        }
        found => Ok(found.map(|read| read.row.record.id)),
    }
}

/// Counts of runs, for monitoring. Every number comes from an index: no journal row is read or
/// verified.
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

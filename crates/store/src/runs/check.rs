//! Checks every page, row and chain to verify that all runs are still as they were written.

use milepost_model::id::RunId;
use rusqlite::Connection;

use super::db::{Db, ReaderPool};
use super::event::{self, EventRange};
use super::reader::{self, RunsReader};
use super::run::{self, RunRow};
use super::{ChainKey, RunsError, inbox};
use crate::limits;
use milepost_engine::ports::JournalError;

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Problems that `SQLite` reports about the file; empty if there are none.
    pub file: Vec<String>,
    pub runs: u64,
    pub events: u64,
    /// Damaged runs, each with the first event that cannot be trusted.
    pub corrupt: Vec<(RunId, u64)>,
    /// The number of messages without a valid MAC.
    pub forged: u64,
}

impl CheckReport {
    /// Whether no problem was found.
    pub fn is_sound(&self) -> bool {
        self.file.is_empty() && self.corrupt.is_empty() && self.forged == 0
    }
}

/// The problems that `SQLite` finds in the pages and indexes. A run that is missing from an index
/// would look as if it had never existed.
fn file(connection: &Connection) -> Result<Vec<String>, RunsError> {
    let lines = Db::reading(connection).all("PRAGMA integrity_check(100)", [], |row| row.get(0));
    match lines {
        Ok(lines) => Ok(lines.into_iter().filter(|line: &String| line != "ok").collect()),
        Err(error) if error.is_damage() => Ok(vec![error.to_string()]),
        Err(error) => Err(error),
    }
}

/// Checks everything. Each run is read in its own transaction, so that the log can be checkpointed
/// in the meantime.
pub(super) fn check(reader: &RunsReader) -> Result<CheckReport, RunsError> {
    let (readers, key, _) = reader.parts();
    let file = readers.with(file)?;
    let mut report = CheckReport { file, ..CheckReport::default() };
    match runs(readers, key, &mut report) {
        // Runs beyond the damaged part cannot be reached.
        Err(error) if error.is_damage() => report.file.push(error.to_string()),
        outcome => outcome?,
    }
    Ok(report)
}

fn runs(readers: &ReaderPool, key: &ChainKey, report: &mut CheckReport) -> Result<(), RunsError> {
    let mut after = 0;
    loop {
        let sql = "SELECT key, id FROM runs WHERE key > ?1 ORDER BY key LIMIT ?2";
        let values = rusqlite::params![after, limits::RUNS_AT_ONCE];
        let some: Vec<(u64, String)> =
            readers.read(|db| db.all(sql, values, |row| Ok((row.get(0)?, row.get(1)?))))?;
        let Some((last, _)) = some.last() else { return Ok(()) };
        after = *last;
        for (_, id) in &some {
            let Ok(run) = RunId::parse(id) else {
                report.file.push("a run has an invalid id".to_owned());
                continue;
            };
            readers.read(|db| one(db, key, &run, report))?;
        }
    }
}

fn one(db: Db<'_>, key: &ChainKey, run: &RunId, report: &mut CheckReport) -> Result<(), RunsError> {
    let outcome = run::find(db, key, run).and_then(|row| chain(db, key, &row, report));
    match outcome {
        // The run was purged in the meantime, or is missing from an index, which SQLite reports.
        Err(RunsError::Journal(JournalError::NotFound { .. })) => return Ok(()),
        Err(RunsError::Journal(JournalError::Corrupt { run, seq })) => {
            report.corrupt.push((run, seq));
        }
        outcome => outcome?,
    }
    report.runs += 1;
    let (_, forged) = inbox::pending(db, key, run)?;
    report.forged += forged.len() as u64;
    Ok(())
}

fn chain(
    db: Db<'_>,
    key: &ChainKey,
    row: &RunRow,
    report: &mut CheckReport,
) -> Result<(), RunsError> {
    let run = &row.record.id;
    if reader::text(db, row.record.text).map_err(|error| error.of_run(run, 0))?.is_none() {
        return Err(JournalError::Corrupt { run: run.clone(), seq: 0 }.into());
    }
    let mut after_seq = 0;
    loop {
        let wanted = EventRange { after_seq, limit: limits::EVENTS_AT_ONCE };
        let page = event::read(db, key, row, wanted)?;
        report.events += page.events.len() as u64;
        match page.events.last() {
            Some(last) if page.more => after_seq = last.seq,
            _ => return Ok(()),
        }
    }
}

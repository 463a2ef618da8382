//! A run in the index: its workflow, its status, and the end of its journal.

use milepost_engine::ports::{
    Created, Durability, HolderId, JournalError, RunRecord, RunStatus, RunSummary,
};
use milepost_model::digest::Digest;
use milepost_model::id::{RunId, WorkflowId};
use rusqlite::types::FromSqlError;
use rusqlite::{Row, params};

use super::chain::{ChainKey, Mac, MacInput, ORIGIN};
use super::event::{self, NewEvent};
use super::pins::{self, Pins};
use super::{Db, RunsError, lease, recovery};

/// A run to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRunRow {
    /// The run. The hash of its source and its last event are filled in on creation.
    pub record: RunRecord,
    /// The source of the workflow, which is stored with the run.
    pub text: String,
    pub events: Vec<NewEvent>,
    /// What the run refers to.
    pub pins: Pins,
}

/// A run in the index, with its key and the end of its chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunRow {
    pub(super) record: RunRecord,
    pub(super) key: u64,
    pub(super) head: Mac,
}

/// The columns that [`RunRow::read`] reads.
macro_rules! run_columns {
    () => {
        "key, id, workflow, title, text, actor, workspace, parent, durability, created_ms, \
         status, waiting, wake_ms, ended_ms, updated_ms, last_seq, quarantined, head, seal"
    };
}
pub(super) use run_columns;

/// A row, and whether its MAC is valid.
pub(super) struct ReadRow {
    pub(super) row: RunRow,
    pub(super) sound: bool,
}

impl RunRow {
    pub(super) fn read(row: &Row<'_>, key: &ChainKey) -> rusqlite::Result<ReadRow> {
        let text: [u8; 32] = row.get(4)?;
        let parent: Option<String> = row.get(7)?;
        let record = RunRecord {
            id: run_id(&row.get::<_, String>(1)?)?,
            workflow: WorkflowId::parse(&row.get::<_, String>(2)?).map_err(unreadable)?,
            title: row.get(3)?,
            text: Digest::from_bytes(text),
            actor: row.get(5)?,
            workspace: row.get(6)?,
            parent: parent.as_deref().map(run_id).transpose()?,
            durability: word(row, 8, Durability::named)?,
            created_ms: row.get(9)?,
            standing: RunSummary {
                status: word(row, 10, RunStatus::named)?,
                waiting: row.get(11)?,
                wake_ms: row.get(12)?,
                ended_ms: row.get(13)?,
                updated_ms: row.get(14)?,
            },
            last_seq: row.get(15)?,
            quarantined: row.get::<_, u64>(16)? != 0,
        };
        let found = RunRow { record, key: row.get(0)?, head: row.get(17)? };
        let seal: Vec<u8> = row.get(18)?;
        let sound = found.sealed(key).fits(&seal);
        Ok(ReadRow { row: found, sound })
    }

    /// The MAC input: the whole row except its quarantine status.
    fn sealed(&self, key: &ChainKey) -> MacInput {
        let record = &self.record;
        key.over("run")
            .number(self.key)
            .text(record.id.as_str())
            .text(record.workflow.as_str())
            .text(&record.title)
            .bytes(record.text.bytes())
            .text(&record.actor)
            .text(&record.workspace)
            .maybe_text(record.parent.as_ref().map(RunId::as_str))
            .text(record.durability.name())
            .number(record.created_ms)
            .text(record.standing.status.name())
            .maybe_text(record.standing.waiting.as_deref())
            .maybe_number(record.standing.wake_ms)
            .maybe_number(record.standing.ended_ms)
            .number(record.standing.updated_ms)
            .number(record.last_seq)
            .bytes(&self.head)
    }
}

/// The value of a column that contains an enumeration.
fn word<T>(row: &Row<'_>, column: usize, parse: fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let word = row.get_ref(column)?;
    let read = word.as_str().ok().and_then(parse);
    read.ok_or_else(|| unreadable(FromSqlError::InvalidType))
}

/// The run id in the first column.
pub(super) fn id_of(row: &Row<'_>) -> rusqlite::Result<RunId> {
    run_id(&row.get::<_, String>(0)?)
}

/// Parses a run id from the database.
fn run_id(text: &str) -> rusqlite::Result<RunId> {
    RunId::parse(text).map_err(unreadable)
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    let kind = rusqlite::types::Type::Text;
    rusqlite::Error::FromSqlConversionFailure(0, kind, Box::new(error))
}

/// The row of a run, which must exist and be intact.
pub(super) fn find(db: Db<'_>, key: &ChainKey, run: &RunId) -> Result<RunRow, RunsError> {
    sound(look(db, key, run)?)
}

/// The key of a run that is not quarantined.
pub(super) fn number(db: Db<'_>, run: &RunId) -> Result<u64, RunsError> {
    let sql = "SELECT key, quarantined FROM runs WHERE id = ?1";
    let found = db.first(sql, [run.as_str()], |row| Ok((row.get(0)?, row.get::<_, u64>(1)?)));
    match found.map_err(|error| error.of_run(run, 0))? {
        None => Err(missing(db, run)?),
        Some((_, 1..)) => Err(JournalError::Quarantined { run: run.clone() }.into()),
        Some((key, 0)) => Ok(key),
    }
}

/// The row of a run that may be written to.
pub(super) fn writable(db: Db<'_>, key: &ChainKey, run: &RunId) -> Result<RunRow, RunsError> {
    let read = look(db, key, run)?;
    if read.row.record.quarantined {
        return Err(JournalError::Quarantined { run: run.clone() }.into());
    }
    // A row that was tampered with must not be sealed again.
    sound(read)
}

fn look(db: Db<'_>, key: &ChainKey, run: &RunId) -> Result<ReadRow, RunsError> {
    let sql = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = ?1");
    let found = db.first(sql, [run.as_str()], |row| RunRow::read(row, key));
    let found = found.map_err(|error| error.of_run(run, 0))?;
    match found {
        Some(found) => Ok(found),
        None => Err(missing(db, run)?),
    }
}

/// The error for a run that is not in the index: it never existed, or it was lost.
fn missing(db: Db<'_>, run: &RunId) -> Result<RunsError, RunsError> {
    let run = run.clone();
    Ok(match recovery::is_lost(db, &run)? {
        true => RunsError::Journal(JournalError::Quarantined { run }),
        false => RunsError::Journal(JournalError::NotFound { run }),
    })
}

fn sound(read: ReadRow) -> Result<RunRow, RunsError> {
    match read.sound {
        true => Ok(read.row),
        false => Err(JournalError::Corrupt { run: read.row.record.id, seq: 0 }.into()),
    }
}

/// Creates a run with its source and first events, unless it exists.
pub(super) fn create(
    db: Db<'_>,
    key: &ChainKey,
    new: NewRunRow,
    holder: Option<HolderId>,
) -> Result<Created, RunsError> {
    let NewRunRow { mut record, text, events, pins } = new;
    if db.any("SELECT 1 FROM runs WHERE id = ?1", [record.id.as_str()])? {
        return Ok(Created { already: true, lease: None });
    }
    if recovery::is_lost(db, &record.id)? {
        return Err(JournalError::Quarantined { run: record.id }.into());
    }
    record.text = Digest::of(text.as_bytes());
    keep_text(db, &text)?;
    let mut row = RunRow { record, key: 0, head: ORIGIN };
    row.key = insert(db, &row.record)?;
    let last = event::append(db, key, &row.record.id, event::Last::origin(row.key), &events)?;
    (row.record.last_seq, row.head) = (last.seq, last.mac);
    seal(db, key, &row)?;
    pins::keep(db, &row.record.id, &pins)?;
    let lease = holder.map(|holder| lease::first(db, &row, holder)).transpose()?;
    Ok(Created { already: false, lease })
}

/// Stores a source, unless it is already there.
pub(super) fn keep_text(db: Db<'_>, text: &str) -> Result<(), RunsError> {
    let keep = "INSERT INTO texts(hash, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    db.execute(keep, params![Digest::of(text.as_bytes()).bytes(), text]).map(drop)
}

/// Inserts the row to get its key, which is part of the sealed data.
fn insert(db: Db<'_>, run: &RunRecord) -> Result<u64, RunsError> {
    let sql = "INSERT INTO runs(id, workflow, title, text, actor, workspace, parent, durability, \
               created_ms, status, updated_ms, last_seq, head, seal) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, x'', x'') RETURNING key";
    let values = params![
        run.id.as_str(),
        run.workflow.as_str(),
        run.title,
        run.text.bytes(),
        run.actor,
        run.workspace,
        run.parent.as_ref().map(RunId::as_str),
        run.durability.name(),
        run.created_ms,
        run.standing.status.name(),
        run.standing.updated_ms,
    ];
    let key = db.first(sql, values, |row| row.get(0))?;
    key.ok_or(JournalError::Failed.into())
}

/// Updates a run's status and the end of its journal in the index.
pub(super) fn stand(
    db: Db<'_>,
    key: &ChainKey,
    row: &mut RunRow,
    standing: RunSummary,
    last: &event::Last,
) -> Result<(), RunsError> {
    let before = std::mem::replace(&mut row.record.standing, standing);
    (row.record.last_seq, row.head) = (last.seq, last.mac);
    // Most writes change only the time and the end of the journal. The secondary indexes, which
    // would otherwise account for most of the pages written, then stay untouched.
    let moves_on =
        RunSummary { updated_ms: row.record.standing.updated_ms, ..before } == row.record.standing;
    if !moves_on {
        return seal(db, key, row);
    }
    let sql = "UPDATE runs SET updated_ms = ?2, last_seq = ?3, head = ?4, seal = ?5 WHERE key = ?1";
    let seal = row.sealed(key).mac();
    let values =
        params![row.key, row.record.standing.updated_ms, row.record.last_seq, row.head, seal];
    db.execute(sql, values).map(drop)
}

fn seal(db: Db<'_>, key: &ChainKey, row: &RunRow) -> Result<(), RunsError> {
    let sql = "UPDATE runs SET status = ?2, waiting = ?3, wake_ms = ?4, ended_ms = ?5, \
               updated_ms = ?6, last_seq = ?7, head = ?8, seal = ?9 WHERE key = ?1";
    let RunSummary { status, waiting, wake_ms, ended_ms, updated_ms } = &row.record.standing;
    let seal = row.sealed(key).mac();
    let values = params![
        row.key,
        status.name(),
        waiting,
        wake_ms,
        ended_ms,
        updated_ms,
        row.record.last_seq,
        row.head,
        seal
    ];
    db.execute(sql, values).map(drop)
}

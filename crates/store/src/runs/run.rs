//! A run in the index: what it is of, how it stands, and how far its journal goes.

use milepost_engine::ports::{Created, Durability, HolderId, RunRecord, RunStatus, Standing};
use milepost_model::digest::Digest;
use milepost_model::id::{RunId, WorkflowId};
use rusqlite::types::FromSqlError;
use rusqlite::{Row, params};

use super::chain::{ChainKey, Mac, Message, ORIGIN};
use super::db::Db;
use super::error::RunsError;
use super::event::{self, NewEvent};
use super::{lease, recovery};

/// A run to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// Its identity, chosen by the caller: recording it twice is recording it once.
    pub id: RunId,
    /// The workflow.
    pub workflow: WorkflowId,
    /// What people call it.
    pub title: String,
    /// The text of the workflow, which is the run's own from now on.
    pub text: String,
    /// Who started it.
    pub actor: String,
    /// The folder it belongs to.
    pub workspace: String,
    /// The run one of whose steps it is.
    pub parent: Option<RunId>,
    /// What a loss of power may cost.
    pub durability: Durability,
    /// When it was started.
    pub created_ms: u64,
    /// How it stands.
    pub standing: Standing,
    /// Its first events.
    pub events: Vec<NewEvent>,
}

/// A run of the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    /// Its identity.
    pub id: RunId,
    /// The workflow.
    pub workflow: WorkflowId,
    /// What people call it.
    pub title: String,
    /// The hash of the workflow's text.
    pub text: Digest,
    /// Who started it.
    pub actor: String,
    /// The folder it belongs to.
    pub workspace: String,
    /// The run one of whose steps it is.
    pub parent: Option<RunId>,
    /// What a loss of power may cost.
    pub durability: Durability,
    /// When it was started.
    pub created_ms: u64,
    /// How it stands.
    pub standing: Standing,
    /// The number of its last event when it came to stand like this; there may be later ones.
    pub last_seq: u64,
    /// It was set aside because its journal is damaged.
    pub quarantined: bool,
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

/// A row, and whether it is as it was written.
pub(super) struct Read {
    pub(super) row: RunRow,
    pub(super) sound: bool,
}

impl RunRow {
    pub(super) fn read(row: &Row<'_>, key: &ChainKey) -> rusqlite::Result<Read> {
        let text: [u8; 32] = row.get(4)?;
        let parent: Option<String> = row.get(7)?;
        let found = RunRow {
            key: row.get(0)?,
            id: run_id(&row.get::<_, String>(1)?)?,
            workflow: WorkflowId::parse(&row.get::<_, String>(2)?).map_err(unreadable)?,
            title: row.get(3)?,
            text: Digest::from_bytes(text),
            actor: row.get(5)?,
            workspace: row.get(6)?,
            parent: parent.as_deref().map(run_id).transpose()?,
            durability: word(row, 8, Durability::parse)?,
            created_ms: row.get(9)?,
            standing: Standing {
                status: word(row, 10, RunStatus::parse)?,
                waiting: row.get(11)?,
                wake_ms: row.get(12)?,
                ended_ms: row.get(13)?,
                updated_ms: row.get(14)?,
            },
            last_seq: row.get(15)?,
            quarantined: row.get::<_, u64>(16)? != 0,
            head: row.get(17)?,
        };
        let seal: Vec<u8> = row.get(18)?;
        let sound = found.sealed(key).fits(&seal);
        Ok(Read { row: found, sound })
    }

    /// The row as it is shown to others.
    pub(super) fn into_record(self) -> RunRecord {
        let RunRow { id, workflow, title, text, actor, workspace, parent, .. } = self;
        let RunRow { durability, created_ms, standing, last_seq, quarantined, .. } = self;
        RunRecord {
            id,
            workflow,
            title,
            text,
            actor,
            workspace,
            parent,
            durability,
            created_ms,
            standing,
            last_seq,
            quarantined,
        }
    }

    /// All that the row says, but whether it was set aside.
    fn sealed(&self, key: &ChainKey) -> Message {
        key.over("run")
            .number(self.key)
            .text(self.id.as_str())
            .text(self.workflow.as_str())
            .text(&self.title)
            .bytes(self.text.bytes())
            .text(&self.actor)
            .text(&self.workspace)
            .maybe_text(self.parent.as_ref().map(RunId::as_str))
            .text(self.durability.as_str())
            .number(self.created_ms)
            .text(self.standing.status.as_str())
            .maybe_text(self.standing.waiting.as_deref())
            .maybe_number(self.standing.wake_ms)
            .maybe_number(self.standing.ended_ms)
            .number(self.standing.updated_ms)
            .number(self.last_seq)
            .bytes(&self.head)
    }
}

/// A word of a column that is an enumeration.
fn word<T>(row: &Row<'_>, column: usize, parse: fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let word = row.get_ref(column)?;
    let read = word.as_str().ok().and_then(parse);
    read.ok_or_else(|| unreadable(FromSqlError::InvalidType))
}

/// A text in the database that was an id when it was written.
pub(super) fn run_id(text: &str) -> rusqlite::Result<RunId> {
    RunId::parse(text).map_err(unreadable)
}

pub(super) fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    let kind = rusqlite::types::Type::Text;
    rusqlite::Error::FromSqlConversionFailure(0, kind, Box::new(error))
}

/// The row of a run, which must be there and as it was written.
pub(super) fn find(db: Db<'_>, key: &ChainKey, run: &RunId) -> Result<RunRow, RunsError> {
    sound(look(db, key, run)?)
}

/// The key of a run that is not set aside.
pub(super) fn number(db: Db<'_>, run: &RunId) -> Result<u64, RunsError> {
    let sql = "SELECT key, quarantined FROM runs WHERE id = ?1";
    let found = db.first(sql, [run.as_str()], |row| Ok((row.get(0)?, row.get::<_, u64>(1)?)));
    match found.map_err(|error| error.of_run(run, 0))? {
        None => Err(missing(db, run)?),
        Some((_, 1..)) => Err(RunsError::Quarantined { run: run.clone() }),
        Some((key, 0)) => Ok(key),
    }
}

/// The row of a run that may be written to.
pub(super) fn writable(db: Db<'_>, key: &ChainKey, run: &RunId) -> Result<RunRow, RunsError> {
    let read = look(db, key, run)?;
    if read.row.quarantined {
        return Err(RunsError::Quarantined { run: run.clone() });
    }
    // What was changed behind our back must not be sealed anew.
    sound(read)
}

fn look(db: Db<'_>, key: &ChainKey, run: &RunId) -> Result<Read, RunsError> {
    let sql = concat!("SELECT ", run_columns!(), " FROM runs WHERE id = ?1");
    let found = db.first(sql, [run.as_str()], |row| RunRow::read(row, key));
    let found = found.map_err(|error| error.of_run(run, 0))?;
    match found {
        Some(found) => Ok(found),
        None => Err(missing(db, run)?),
    }
}

/// What is said of a run that is not there: it never was, or it was lost.
fn missing(db: Db<'_>, run: &RunId) -> Result<RunsError, RunsError> {
    let run = run.clone();
    Ok(match recovery::is_lost(db, &run)? {
        true => RunsError::Quarantined { run },
        false => RunsError::NotFound { run },
    })
}

fn sound(read: Read) -> Result<RunRow, RunsError> {
    match read.sound {
        true => Ok(read.row),
        false => Err(RunsError::Corrupt { run: read.row.id, seq: 0 }),
    }
}

/// Records a run with its text and first events, unless it is there already.
pub(super) fn create(
    db: Db<'_>,
    key: &ChainKey,
    new: NewRun,
    holder: Option<HolderId>,
) -> Result<Created, RunsError> {
    let there = "SELECT key FROM runs WHERE id = ?1";
    if db.first(there, [new.id.as_str()], |row| row.get::<_, u64>(0))?.is_some() {
        return Ok(Created { already: true, lease: None });
    }
    if recovery::is_lost(db, &new.id)? {
        return Err(RunsError::Quarantined { run: new.id });
    }
    let text = Digest::of(new.text.as_bytes());
    keep_text(db, &new.text)?;
    let mut row = RunRow {
        id: new.id,
        workflow: new.workflow,
        title: new.title,
        text,
        actor: new.actor,
        workspace: new.workspace,
        parent: new.parent,
        durability: new.durability,
        created_ms: new.created_ms,
        standing: new.standing,
        last_seq: 0,
        quarantined: false,
        key: 0,
        head: ORIGIN,
    };
    row.key = insert(db, &row)?;
    let last = event::append(db, key, &row.id, event::Last::origin(row.key), &new.events)?;
    (row.last_seq, row.head) = (last.seq, last.mac);
    seal(db, key, &row)?;
    let lease = holder.map(|holder| lease::first(db, &row, holder)).transpose()?;
    Ok(Created { already: false, lease })
}

/// Keeps a text, once.
pub(super) fn keep_text(db: Db<'_>, text: &str) -> Result<(), RunsError> {
    let keep = "INSERT INTO texts(hash, text) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
    db.execute(keep, params![Digest::of(text.as_bytes()).bytes(), text]).map(drop)
}

/// Makes the row, whose key is part of what is sealed and known only now.
fn insert(db: Db<'_>, row: &RunRow) -> Result<u64, RunsError> {
    let sql = "INSERT INTO runs(id, workflow, title, text, actor, workspace, parent, durability, \
               created_ms, status, updated_ms, last_seq, head, seal) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 0, x'', x'') RETURNING key";
    let values = params![
        row.id.as_str(),
        row.workflow.as_str(),
        row.title,
        row.text.bytes(),
        row.actor,
        row.workspace,
        row.parent.as_ref().map(RunId::as_str),
        row.durability.as_str(),
        row.created_ms,
        row.standing.status.as_str(),
        row.standing.updated_ms,
    ];
    let key = db.first(sql, values, |row| row.get(0))?;
    key.ok_or(RunsError::Failed)
}

/// Says in the index how a run stands now, and how far its journal goes.
pub(super) fn stand(
    db: Db<'_>,
    key: &ChainKey,
    row: &mut RunRow,
    standing: Standing,
    last: &event::Last,
) -> Result<(), RunsError> {
    let before = std::mem::replace(&mut row.standing, standing);
    (row.last_seq, row.head) = (last.seq, last.mac);
    // Most writes only move it on: the indexes, which are most of its pages, stay as they are.
    let moves_on = Standing { updated_ms: row.standing.updated_ms, ..before } == row.standing;
    if !moves_on {
        return seal(db, key, row);
    }
    let sql = "UPDATE runs SET updated_ms = ?2, last_seq = ?3, head = ?4, seal = ?5 WHERE key = ?1";
    let seal = row.sealed(key).mac();
    let values = params![row.key, row.standing.updated_ms, row.last_seq, row.head, seal];
    db.execute(sql, values).map(drop)
}

fn seal(db: Db<'_>, key: &ChainKey, row: &RunRow) -> Result<(), RunsError> {
    let sql = "UPDATE runs SET status = ?2, waiting = ?3, wake_ms = ?4, ended_ms = ?5, \
               updated_ms = ?6, last_seq = ?7, head = ?8, seal = ?9 WHERE key = ?1";
    let Standing { status, waiting, wake_ms, ended_ms, updated_ms } = &row.standing;
    let seal = row.sealed(key).mac();
    let values = params![
        row.key,
        status.as_str(),
        waiting,
        wake_ms,
        ended_ms,
        updated_ms,
        row.last_seq,
        row.head,
        seal
    ];
    db.execute(sql, values).map(drop)
}

//! Read-only access to runs. Damaged runs are quarantined if this process also has a writer.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use milepost_engine::ports::{HolderId, JournalError, RunCounts, RunFilter, RunPage, RunRecord};
use milepost_model::id::{InputName, RunId, WorkflowId};

use super::alive::{self, LockState};
use super::db::{Db, DbAccess, ReaderPool};
use super::event::{self, EventRange, EventRows};
use super::list::{self, ListedRows};
use super::writer::JournalWriter;
use super::{ChainKey, RunsError, inputs, lease, quarantine, run, schema};
use crate::file::{self, FileError};
use crate::{Digest, limits};

/// Read-only access to the runs in a directory. Clones share the same state.
#[derive(Clone)]
pub struct RunsReader {
    inner: Arc<Inner>,
}

struct Inner {
    directory: PathBuf,
    key: ChainKey,
    readers: ReaderPool,
    writer: Weak<JournalWriter>,
}

impl fmt::Debug for RunsReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunsReader").finish_non_exhaustive()
    }
}

impl RunsReader {
    /// Opens the runs in a directory; `None` if there have never been any. Runs that cannot be read
    /// are an error, not `None`.
    pub fn open(directory: &Path) -> Result<Option<RunsReader>, RunsError> {
        let path = directory.join(schema::FILE);
        match file::metadata(&path)? {
            Some(metadata) if metadata.is_file() => {}
            Some(_) => return Err(FileError::NotRegular { path }.into()),
            None => return Ok(None),
        }
        let readers = ReaderPool::of(path, DbAccess::Look);
        let key = readers.with(|connection| schema::key(connection, directory))?;
        let directory = directory.to_path_buf();
        Ok(key.map(|key| RunsReader::over(directory, key, readers, Weak::new())))
    }

    /// Creates a reader from existing connections. `writer` is weak, so the reader does not keep it
    /// alive.
    pub(super) fn over(
        directory: PathBuf,
        key: ChainKey,
        readers: ReaderPool,
        writer: Weak<JournalWriter>,
    ) -> RunsReader {
        RunsReader { inner: Arc::new(Inner { directory, key, readers, writer }) }
    }

    pub fn directory(&self) -> &Path {
        &self.inner.directory
    }

    /// The connections, the key and the directory.
    pub(super) fn parts(&self) -> (&ReaderPool, &ChainKey, &Path) {
        (&self.inner.readers, &self.inner.key, &self.inner.directory)
    }

    /// The run with the given id.
    pub fn run(&self, run: &RunId) -> Result<RunRecord, RunsError> {
        Ok(self.reading(|db, key| run::find(db, key, run))?.record)
    }

    /// A run's events after a sequence number, up to a limit. Each event is verified.
    pub fn events(
        &self,
        run: &RunId,
        after_seq: u64,
        limit: usize,
    ) -> Result<EventRows, RunsError> {
        let limit = limit.clamp(1, limits::EVENTS_AT_ONCE);
        self.reading(|db, key| {
            let row = run::find(db, key, run)?;
            event::read(db, key, &row, EventRange { after_seq, limit })
        })
    }

    /// Whether a live process is driving a run. This is a single check: a holder without a lock
    /// counts as alive until its heartbeat expires.
    pub fn is_driven(&self, run: &RunId, now_ms: u64) -> Result<bool, RunsError> {
        let lives =
            |holder: &HolderId, mark: Option<u64>| match alive::sign(&self.inner.directory, holder)
            {
                LockState::Free => false,
                LockState::Held => true,
                LockState::Missing => mark.is_some_and(|until| until > now_ms),
            };
        if let Some((holder, mark)) = self.reading(|db, _| lease::holder_of(db, run))? {
            return Ok(lives(&holder, mark));
        }
        // A sleeping run has no holder, but any live process will wake it.
        if !self.reading(|db, _| lease::is_asleep(db, run, now_ms))? {
            return Ok(false);
        }
        let known = self.reading(|db, _| lease::known(db))?;
        Ok(known.iter().any(|(holder, mark)| lives(holder, *mark)))
    }

    /// Runs that are waiting only for their wake time and whose last event is dated in the future.
    pub fn dated_ahead(&self, now_ms: u64, limit: usize) -> Result<Vec<RunId>, RunsError> {
        self.reading(|db, _| lease::dated_ahead(db, now_ms, limit))
    }

    /// The source of a pinned workflow or record.
    pub fn text(&self, hash: Digest) -> Result<Option<String>, RunsError> {
        self.reading(|db, _| text(db, hash))
    }

    pub fn list(&self, filter: &RunFilter, limit: usize) -> Result<RunPage, RunsError> {
        let ListedRows { page, damaged } =
            self.reading(|db, key| list::list(db, key, filter, limit))?;
        if !damaged.is_empty() {
            let sql = "UPDATE runs SET quarantined = 1 WHERE key = ?1";
            self.offer(move |db| {
                damaged.iter().try_for_each(|key| db.execute(sql, [key]).map(drop))
            });
        }
        Ok(page)
    }

    /// Counts of runs, read from indexes only.
    pub fn tally(&self) -> Result<RunCounts, RunsError> {
        self.reading(|db, _| list::tally(db))
    }

    /// The ids that start with a prefix, with or without `run_`, up to a limit.
    pub fn find_prefix(&self, text: &str) -> Result<Vec<RunId>, RunsError> {
        self.reading(|db, _| list::find_prefix(db, text))
    }

    /// A workflow's most recent successful run, by end time.
    pub fn newest_succeeded(&self, workflow: &WorkflowId) -> Result<Option<RunId>, RunsError> {
        self.newest_succeeded_of(workflow, None)
    }

    /// Like [`RunsReader::newest_succeeded`], among the runs of one actor.
    pub fn newest_succeeded_of(
        &self,
        workflow: &WorkflowId,
        actor: Option<&str>,
    ) -> Result<Option<RunId>, RunsError> {
        self.reading(|db, key| list::newest_succeeded(db, key, workflow, actor))
    }

    /// The last value given for an input, as JSON.
    pub fn last_input(
        &self,
        workspace: &str,
        workflow: &WorkflowId,
        input: &InputName,
    ) -> Result<Option<String>, RunsError> {
        self.reading(|db, key| inputs::last(db, key, workspace, workflow, input))
    }

    pub(super) fn reading<T>(
        &self,
        read: impl FnOnce(Db<'_>, &ChainKey) -> Result<T, RunsError>,
    ) -> Result<T, RunsError> {
        let outcome = self.inner.readers.read(|db| read(db, &self.inner.key));
        if let Err(RunsError::Journal(JournalError::Corrupt { run, .. })) = &outcome {
            self.set_aside(run);
        }
        outcome
    }

    pub(super) fn set_aside(&self, run: &RunId) {
        let run = run.clone();
        // If this write is lost, the next reader detects the damage again.
        self.offer(move |db| quarantine(db, &run));
    }

    /// Queues a best-effort write, if there is a writer.
    pub(super) fn offer(
        &self,
        work: impl FnOnce(Db<'_>) -> Result<(), RunsError> + Send + 'static,
    ) {
        if let Some(writer) = self.inner.writer.upgrade() {
            writer.offer(work);
        }
    }
}

/// A stored source, if it still matches its hash.
pub(super) fn text(db: Db<'_>, hash: Digest) -> Result<Option<String>, RunsError> {
    let sql = "SELECT text FROM texts WHERE hash = ?1";
    let text: Option<String> = db.first(sql, [hash.bytes()], |row| row.get(0))?;
    Ok(text.filter(|text| Digest::of(text.as_bytes()) == hash))
}

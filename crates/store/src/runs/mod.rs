//! Runs on disk: an index of all runs, the journal of each run, and the messages sent to it.
//!
//! Any number of processes can share one `SQLite` file. Each process has one thread that writes;
//! readers have their own connections and never block. The journal does not interpret events. A
//! durable write is on disk before it is acknowledged, and a row that differs from what was written
//! is never trusted: its run is quarantined, and all others continue.
//!
//! A caller can block until a write is done, or pass a callback for the outcome. The callback is
//! called exactly once, on the writing thread or the calling thread. It should only pass the
//! outcome on, and must never wait for another write.

mod alive;
mod backup;
mod chain;
mod check;
mod db;
mod error;
mod event;
mod examine;
mod fault;
mod inbox;
mod inputs;
mod kept_files;
mod lease;
mod list;
mod observer;
mod pins;
mod progress;
mod purge;
mod reader;
mod recovery;
mod reserve;
mod run;
mod schema;
mod sealed_rows;
mod sqlite_journal;
mod usage;
mod wake;
mod writer;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;

use milepost_model::id::RunId;

pub use alive::LivenessLock;
pub(crate) use chain::is_coded;
pub(crate) use chain::{coded, derived as derived_key, derived_or_made as derived_key_or_made};
pub use check::CheckReport;
pub use error::RunsError;
pub use event::{AppendRows, Appended, EventRow, EventRows, NewEvent};
pub use examine::Examination;
#[cfg(debug_assertions)]
#[doc(hidden)]
pub use fault::faults;
#[doc(hidden)]
pub use fault::{StorageFault, StorageFaults, StoragePoint};
pub use inbox::{InboxRow, PendingMessages};
pub use lease::HeartbeatRow;
pub use milepost_engine::ports::{
    Created, Cursor, Durability, Forgetting, Forgotten, HolderId, JournalError, Lease, MessageId,
    PurgeFilter, PurgeReport, RememberedInputs, RestoreReport, RunCounts, RunFilter, RunPage,
    RunRecord, RunStatus, RunSummary, Sent, Takeover, remembered_prefix,
};
pub use observer::LivenessQuery;
pub use pins::Pins;
pub use reader::RunsReader;
pub use recovery::noted_runs;
pub use run::NewRunRow;
pub use schema::FILE;
pub use sqlite_journal::{JournalOptions, SqliteJournal};
pub use wake::WakeListener;

use alive::LockState;
use chain::ChainKey;
use db::{Db, DbAccess, ReaderPool};
use observer::Observer;
use progress::ProgressFile;
use recovery::Evidence;
use reserve::DiskReserve;
use usage::{LastShutdown, UsageMark};
pub use writer::WriteDone;
use writer::{CommitMode, JournalWriter};

use crate::lock::Lock;
use crate::{Digest, file};

/// Options for opening runs.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// Injected faults, for tests.
    #[doc(hidden)]
    pub faults: Option<StorageFaults>,
    /// Maximum number of pages in the database, for tests: beyond it, `SQLite` reports a full disk.
    #[doc(hidden)]
    pub pages_max: Option<u32>,
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions").finish_non_exhaustive()
    }
}

/// All runs in a directory, for the lifetime of a process. Clones share the same state.
#[derive(Clone)]
pub struct Runs {
    inner: Arc<Inner>,
}

struct Inner {
    reader: RunsReader,
    writer: Arc<JournalWriter>,
    reserve: Arc<DiskReserve>,
    observer: Arc<Observer>,
}

impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runs").field("directory", &self.directory()).finish_non_exhaustive()
    }
}

/// A writer can also read. A run that turns out to be damaged is then quarantined.
impl Deref for Runs {
    type Target = RunsReader;

    fn deref(&self) -> &RunsReader {
        &self.inner.reader
    }
}

impl Runs {
    /// Opens the runs in a directory, which is created if it does not exist. Nothing is scanned:
    /// [`RunsReader::examine`] does that.
    pub fn open(directory: &Path, options: OpenOptions) -> Result<Runs, RunsError> {
        file::make_directory(directory, file::FileMode::Owner)?;
        let (mut usage, before) = UsageMark::begin(directory)?;
        let is_first = before != LastShutdown::GoesOn;
        let evidence = is_first.then(|| Evidence::gather(directory));
        let (connection, key) = schema::open(directory)?;
        if let Some(pages) = options.pages_max {
            connection.pragma_update(None, "max_page_count", pages)?;
        }
        if let Some(evidence) = &evidence {
            recovery::settle(&connection, directory, evidence)?;
            // No other process has the runs open, so every listed holder is dead.
            if let Err(error) = lease::forget_holders(&connection) {
                tracing::warn!(%error, "could not remove dead processes from the list");
            }
        }
        usage.share()?;
        let mark = usage.mark()?;
        let progress = ProgressFile::of(directory, key.clone());
        let end = move || usage.end();
        let writer = JournalWriter::start(connection, options.faults, mark, progress, end)?;
        let writer = Arc::new(writer);
        let readers = ReaderPool::of(directory.join(schema::FILE), DbAccess::Change);
        let written = Arc::downgrade(&writer);
        let reader = RunsReader::over(directory.to_owned(), key, readers, written);
        if before == LastShutdown::Crashed {
            tracing::info!(target: "milepost::store", "the last process did not shut down cleanly");
        }
        let reserve = Arc::new(DiskReserve::of(directory));
        let observer = Arc::default();
        Ok(Runs { inner: Arc::new(Inner { reader, writer, reserve, observer }) })
    }

    /// Whether the disk failed. If so, nothing is acknowledged any more, and the process has to
    /// end.
    pub fn has_failed(&self) -> bool {
        self.inner.writer.has_failed()
    }
}

/// Write operations. Each one is atomic, and several may be committed together.
impl Runs {
    /// Records a run with its source and first events. If a holder is given, it gets the lease.
    pub fn create(&self, new: NewRunRow, holder: Option<HolderId>, done: impl WriteDone<Created>) {
        if let Err(error) = event::check_size(&new.events) {
            return done(Err(error));
        }
        if !self.inner.reserve.is_there() {
            return done(Err(JournalError::Full.into()));
        }
        let mode = commit_mode(new.record.durability);
        let done = counted(new.events.len(), |created: &Created| !created.already, done);
        self.submit(mode, move |db, key| run::create(db, key, new, holder), done);
    }

    /// Writes a run's events, its summary and replies to messages, all in one transaction.
    pub fn append(&self, what: AppendRows, done: impl WriteDone<Appended>) {
        let answers = what.answers.iter().try_for_each(|(_, answer)| inbox::check_size(answer));
        if let Err(error) = event::check_size(&what.events).and(answers) {
            return done(Err(error));
        }
        if !self.inner.reserve.is_there() {
            return done(Err(JournalError::Full.into()));
        }
        let done = counted(what.events.len(), |_: &Appended| true, done);
        let mode = commit_mode(what.durability);
        self.submit(mode, move |db, key| event::write(db, key, what), done);
    }

    /// Records the outcomes of requests when the disk is full. This uses up the disk reserve, and
    /// nothing else is appended until the reserve is restored.
    pub fn append_from_reserve(&self, what: AppendRows, done: impl WriteDone<Appended>) {
        if let Err(error) = event::check_size(&what.events) {
            return done(Err(error));
        }
        let reserve = Arc::clone(&self.inner.reserve);
        let done = counted(what.events.len(), |_: &Appended| true, done);
        let write = move |db: Db<'_>, key: &ChainKey| {
            reserve.give_up();
            event::write(db, key, what)
        };
        self.submit(CommitMode::Durable, write, done);
    }

    /// Adds a message to a run's inbox. The caller has to wake the process that is driving the run.
    pub fn send(&self, message: InboxRow, done: impl WriteDone<Sent>) {
        if let Err(error) = inbox::check_size(&message.data) {
            return done(Err(error));
        }
        self.submit(CommitMode::Durable, move |db, key| inbox::send(db, key, &message), done);
    }

    /// Writes a heartbeat.
    pub fn beat(&self, beat: HeartbeatRow, done: impl WriteDone<()>) {
        // A power failure that undoes this heartbeat also ends the process.
        self.submit(CommitMode::Relaxed, move |db, _| lease::beat(db, &beat), done);
    }

    /// Takes a run's lease; `None` if another live holder has it. An earlier lease held by the same
    /// holder becomes invalid.
    pub fn take(
        &self,
        run: RunId,
        holder: HolderId,
        glance: LivenessQuery,
        done: impl WriteDone<Option<Lease>>,
    ) {
        let (directory, observer) = (self.directory().to_owned(), Arc::clone(&self.inner.observer));
        let take = move |db: Db<'_>, _: &ChainKey| {
            lease::take(db, &run, holder, |other, mark| {
                observer.is_alive(&directory, other, mark, glance)
            })
        };
        // A power failure that undoes this also undoes everything written under the lease.
        self.submit(CommitMode::Relaxed, take, done);
    }

    /// Releases all of a holder's leases except those for the given runs.
    pub fn disown(&self, holder: HolderId, driven: Vec<RunId>, done: impl WriteDone<()>) {
        let disown = move |db: Db<'_>, _: &ChainKey| lease::disown(db, &holder, &driven);
        self.submit(CommitMode::Relaxed, disown, done);
    }

    /// Releases a lease.
    pub fn release(&self, lease: Lease, done: impl WriteDone<()>) {
        // If a power failure undoes this, the holder is dead as well, and its lease is free.
        self.submit(CommitMode::Relaxed, move |db, _| lease::release(db, &lease), done);
    }

    /// Releases all of a holder's leases before its process ends. Blocks until it is done.
    pub fn leave_now(&self, holder: HolderId) -> Result<(), RunsError> {
        self.now(CommitMode::Durable, move |db, _| lease::leave(db, &holder))
    }

    /// Releases all leases held by a process that is ending or has ended, and removes its files.
    /// Does not block; the next process completes what is left undone.
    pub fn withdraw(&self, holder: HolderId) {
        let (directory, gone) = (self.directory().to_owned(), holder.clone());
        let leave = move |db: Db<'_>, _: &ChainKey| lease::leave(db, &holder);
        // As long as the holder is listed, its unlocked file is needed to show that it is dead.
        self.submit(CommitMode::Relaxed, leave, move |left| {
            if left.is_ok() {
                alive::clear(&directory, &gone);
            }
        });
    }

    /// Stores a source that a run will be pinned to. Blocks until it is done.
    pub fn keep_text(&self, text: String) -> Result<(), RunsError> {
        self.now(CommitMode::Durable, move |db, _| run::keep_text(db, &text))
    }

    /// Remembers the values given for inputs. Blocks until it is done.
    pub fn remember_inputs(&self, what: RememberedInputs) -> Result<(), RunsError> {
        self.now(CommitMode::Durable, move |db, key| inputs::remember(db, key, &what))
    }

    /// Forgets the values given for inputs, and returns the workflows and inputs they belonged to.
    pub fn forget_inputs(&self, what: Forgetting) -> Result<Vec<Forgotten>, RunsError> {
        self.forget_inputs_of(None, what)
    }

    /// Like [`Runs::forget_inputs`], for the values of one caller.
    pub fn forget_inputs_of(
        &self,
        caller: Option<&str>,
        what: Forgetting,
    ) -> Result<Vec<Forgotten>, RunsError> {
        let caller = caller.map(remembered_prefix);
        self.now(CommitMode::Durable, move |db, _| inputs::forget(db, caller.as_deref(), &what))
    }

    /// Removes finished runs in batches, with everything that only they refer to. Blocks until it
    /// is done. None of their data remains in any file.
    pub fn purge(&self, filter: &PurgeFilter, now_ms: u64) -> Result<PurgeReport, RunsError> {
        let (before, projects) = (self.size(), self.purgeable(filter)?.projects);
        let mut report = PurgeReport { projects, ..PurgeReport::default() };
        let (mut named, mut after) = (purge::MentionedHashes::new(), 0);
        loop {
            let filter = filter.clone();
            let ((some, last), kept) = self.now(CommitMode::Durable, move |db, _| {
                let some = purge::some(db, &filter, after, &mut named)?;
                Ok((some, named))
            })?;
            named = kept;
            report.add(some);
            match last {
                Some(last) => after = last,
                None => break,
            }
        }
        let directory = self.directory().to_owned();
        let sweep = move |db: Db<'_>, _: &ChainKey| purge::sweep(db, &directory, &named, now_ms);
        report.add(self.now(CommitMode::Durable, sweep)?);
        if report != (PurgeReport { projects, ..PurgeReport::default() }) {
            match self.vacuum() {
                // If the disk is full, the file does not shrink, but the removed data has been
                // overwritten.
                Ok(()) | Err(RunsError::Journal(JournalError::Full)) => self.empty_log()?,
                Err(error) => return Err(error),
            }
        }
        report.bytes += before.saturating_sub(self.size());
        Ok(report)
    }

    /// The size of the database and its log in bytes.
    fn size(&self) -> u64 {
        let directory = self.directory();
        let bytes = |path: PathBuf| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        bytes(schema::log(directory)) + bytes(directory.join(schema::FILE))
    }

    /// Shrinks the file to the size of its content. Blocks until it is done. The directory's lock
    /// prevents other vacuums and migrations, and no process can write in the meantime.
    pub fn vacuum(&self) -> Result<(), RunsError> {
        let _lock = Lock::of(self.directory())?;
        self.now(CommitMode::Alone, |db, _| Ok(db.batch(StoragePoint::Statement, "VACUUM")?))?;
        self.empty_log()
    }

    /// Moves the log into the database and truncates it. Fails with `Busy` if a reader keeps an
    /// older snapshot for longer than a write waits.
    fn empty_log(&self) -> Result<(), RunsError> {
        self.now(CommitMode::Alone, |db, _| {
            let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
            match db.first(sql, [], |row| row.get::<_, u64>(0))? {
                Some(0) => Ok(()),
                _ => Err(JournalError::Busy.into()),
            }
        })
    }

    fn submit<T: Send + 'static>(
        &self,
        mode: CommitMode,
        work: impl FnOnce(Db<'_>, &ChainKey) -> Result<T, RunsError> + Send + 'static,
        done: impl WriteDone<T>,
    ) {
        let key = self.parts().1.clone();
        self.inner.writer.submit(mode, move |db| work(db, &key), done);
    }

    /// Writes and waits for the outcome.
    fn now<T: Send + 'static>(
        &self,
        mode: CommitMode,
        work: impl FnOnce(Db<'_>, &ChainKey) -> Result<T, RunsError> + Send + 'static,
    ) -> Result<T, RunsError> {
        let (sender, outcome) = mpsc::sync_channel(1);
        // The receiver is waiting below.
        self.submit(mode, work, move |found| drop(sender.send(found)));
        outcome.recv().unwrap_or(Err(RunsError::Journal(JournalError::Failed)))
    }
}

/// Wraps a callback to count the events if they were written.
fn counted<T>(
    events: usize,
    is_new: impl FnOnce(&T) -> bool + Send + 'static,
    done: impl WriteDone<T>,
) -> impl WriteDone<T> {
    move |outcome: Result<T, RunsError>| {
        if outcome.as_ref().is_ok_and(is_new) {
            milepost_metrics::EVENTS.add(events as u64);
        }
        done(outcome);
    }
}

fn commit_mode(durability: Durability) -> CommitMode {
    match durability {
        Durability::Full => CommitMode::Durable,
        Durability::Relaxed => CommitMode::Relaxed,
    }
}

/// Read operations, each using a consistent snapshot on its own connection, and maintenance.
impl Runs {
    /// The unanswered messages to a run.
    pub fn pending(&self, run: &RunId) -> Result<PendingMessages, RunsError> {
        let (pending, forged) = self.reading(|db, key| inbox::pending(db, key, run))?;
        if !forged.is_empty() {
            self.offer(move |db| inbox::discard(db, &forged));
        }
        Ok(pending)
    }

    /// The answer to a message, if there is one.
    pub fn answer(&self, id: &MessageId) -> Result<Option<Vec<u8>>, RunsError> {
        self.reading(|db, key| inbox::answer_of(db, key, id))
    }

    /// Runs after `after` that need to be driven but have no live holder.
    pub fn adrift(
        &self,
        now_ms: u64,
        after: Option<&RunId>,
        limit: usize,
        glance: LivenessQuery,
    ) -> Result<Vec<RunId>, RunsError> {
        let dead = self.dead(glance)?;
        self.reading(|db, _| lease::adrift(db, now_ms, after, limit, &dead))
    }

    /// Takes the lock that lets others notice at once when the holder's process has ended. Must be
    /// called before the first heartbeat.
    pub fn claim(&self, holder: &HolderId) -> Result<LivenessLock, RunsError> {
        let directory = self.directory();
        let alive = LivenessLock::claim(directory, holder)?;
        // Cleaning up after dead processes is cheap.
        if let Ok(known) = self.known() {
            let is_gone = |one: &HolderId| alive::sign(directory, one) == LockState::Free;
            for gone in known.into_iter().filter(is_gone) {
                // Best effort: the next process retries what fails here.
                self.inner.observer.forget(&gone);
                self.withdraw(gone);
            }
            drop(alive::tidy(directory, || self.known()));
        }
        Ok(alive)
    }

    /// All holders that have a lease or are listed.
    fn known(&self) -> Result<Vec<HolderId>, RunsError> {
        let known = self.reading(|db, _| lease::known(db))?;
        Ok(known.into_iter().map(|(holder, _)| holder).collect())
    }

    /// Holders that are considered dead.
    fn dead(&self, glance: LivenessQuery) -> Result<Vec<HolderId>, RunsError> {
        let (directory, observer) = (self.directory(), &self.inner.observer);
        let known = self.reading(|db, _| lease::known(db))?.into_iter();
        let dead =
            known.filter(|(holder, mark)| !observer.is_alive(directory, holder, *mark, glance));
        Ok(dead.map(|(holder, _)| holder).collect())
    }

    /// Releases everything that dead processes hold and removes their files. Returns the number of
    /// dead holders.
    pub fn clear_dead(&self, now_ms: u64) -> Result<usize, RunsError> {
        let directory = self.directory();
        let dead = self.reading(|db, _| examine::dead(db, directory, now_ms))?;
        for holder in &dead {
            self.leave_now(holder.clone())?;
        }
        alive::tidy(directory, || self.known())?;
        // Waking also removes sockets that have no file next to them.
        drop(wake::wake_all(directory));
        Ok(dead.len())
    }

    /// Whether [`Runs::forget_inputs`] would forget anything.
    pub fn remembers_inputs(&self, what: &Forgetting) -> Result<bool, RunsError> {
        self.remembers_inputs_of(None, what)
    }

    /// Like [`Runs::remembers_inputs`], for the values of one caller.
    pub fn remembers_inputs_of(
        &self,
        caller: Option<&str>,
        what: &Forgetting,
    ) -> Result<bool, RunsError> {
        let caller = caller.map(remembered_prefix);
        self.reading(|db, _| inputs::is_remembered(db, caller.as_deref(), what))
    }

    /// What [`Runs::purge`] would remove.
    pub fn purgeable(&self, filter: &PurgeFilter) -> Result<PurgeReport, RunsError> {
        self.reading(|db, _| purge::count(db, filter))
    }

    /// The hashes of everything that runs refer to besides their own sources.
    pub fn referred(&self) -> Result<BTreeSet<Digest>, RunsError> {
        self.reading(|db, _| pins::all(db))
    }

    /// Copies a consistent snapshot of all runs to a new directory, including the key.
    pub fn backup(&self, to: &Path) -> Result<(), RunsError> {
        backup::backup(&self.inner.reader, to)
    }

    /// Restores a backup into a directory that has no runs, after checking the whole backup. No
    /// process may have the runs in that directory open.
    pub fn restore(from: &Path, directory: &Path) -> Result<RestoreReport, RunsError> {
        backup::restore(from, directory)
    }

    /// Wakes every process that drives runs in this directory, and returns how many are listening.
    pub fn wake_all(&self) -> Result<usize, RunsError> {
        Ok(wake::wake_all(self.directory())?)
    }
}

fn quarantine(db: Db<'_>, run: &RunId) -> Result<(), RunsError> {
    db.execute("UPDATE runs SET quarantined = max(quarantined, 1) WHERE id = ?1", [run.as_str()])
        .map(drop)
}

//! Runs on disk: an index of them, the journal of each, and what is said to them.
//!
//! One `SQLite` file that any number of processes share. Each of them has one thread that writes;
//! readers have connections of their own and wait for nobody. The journal knows nothing of what
//! events mean. What is acknowledged is on the disk, and a row that is not as it was written is
//! never believed: its run is set aside, and all others go on.
//!
//! Who waits for a write blocks its thread; who must not gives a function to be called with the
//! outcome. That function is called exactly once, on the writing thread: it hands the outcome on
//! and does nothing else, and least of all does it wait for another write.

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
mod look;
mod observer;
mod pins;
mod progress;
mod purge;
mod recovery;
mod reserve;
mod run;
mod schema;
mod sqlite_journal;
mod tally;
mod usage;
mod wake;
mod writer;

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use milepost_model::id::{InputName, RunId, WorkflowId};

pub use alive::LivenessLock;
pub(crate) use chain::is_coded;
pub(crate) use chain::{coded, derived as derived_key, derived_or_made as derived_key_or_made};
pub use check::CheckReport;
pub use error::RunsError;
pub use event::{AppendRows, Appended, EventPage, EventRow, NewEvent};
pub use examine::Examination;
#[cfg(debug_assertions)]
#[doc(hidden)]
pub use fault::faults;
#[doc(hidden)]
pub use fault::{StorageFault, StorageFaults, StoragePoint};
pub use inbox::{InboxRow, PendingMessages};
pub use lease::{Heartbeat, new_holder};
pub use look::RunsReader;
pub use milepost_engine::ports::{
    Created, Cursor, Durability, Forgetting, Forgotten, HolderId, JournalError, Lease, MessageId,
    PurgeFilter, PurgeReport, RememberedInputs, RestoreReport, RunCounts, RunFilter, RunPage,
    RunRecord, RunStatus, RunSummary, Sent, Takeover,
};
pub use observer::LivenessQuery;
pub use pins::Pins;
pub use recovery::noted_runs;
pub use run::NewRunRow;
pub use schema::FILE;
pub use sqlite_journal::{JournalOptions, SqliteJournal};
pub use wake::WakeListener;

use chain::ChainKey;
use db::{Db, DbAccess, ReaderPool};
use observer::Observer;
use progress::ProgressFile;
use recovery::Evidence;
use reserve::DiskReserve;
use usage::{LastShutdown, UsageMark};
use writer::{CommitMode, JournalWriter};

use crate::file;
use crate::lock::Lock;
use milepost_model::digest::Digest;

/// How the runs are opened.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// What is to go wrong, for tests.
    #[doc(hidden)]
    pub faults: Option<StorageFaults>,
    /// Pages that the database may have at most, for tests: `SQLite` then says that the disk is
    /// full.
    #[doc(hidden)]
    pub pages_max: Option<u32>,
}

impl fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions").finish_non_exhaustive()
    }
}

/// What is known about the file as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Integrity {
    /// The last use ended in order: there is no reason to doubt it.
    Trusted,
    /// The last use ended in a crash, and it is being looked at.
    Checking,
    /// The last use ended in a crash, and it is sound.
    Sound,
    /// It is damaged, or cannot be looked at; what is not hit can still be used.
    Damaged(Vec<String>),
}

/// Every run of a directory, for as long as a process lives. A clone is the same.
#[derive(Clone)]
pub struct Runs {
    inner: Arc<Inner>,
}

struct Inner {
    directory: PathBuf,
    key: ChainKey,
    readers: Arc<ReaderPool>,
    writer: JournalWriter,
    reserve: Arc<DiskReserve>,
    integrity: Arc<Mutex<Integrity>>,
    observer: Arc<Observer>,
}

impl fmt::Debug for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runs").field("directory", &self.inner.directory).finish_non_exhaustive()
    }
}

impl Runs {
    /// Opens the runs of a directory, which is made if there is none. Nothing is scanned; after a
    /// crash the file is looked at in the background.
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
            // Nobody else is there: whoever is still on the list is gone, whatever is left of it.
            if let Err(error) = lease::forget_holders(&connection) {
                tracing::warn!(%error, "processes that are gone are still on the list");
            }
        }
        usage.share()?;
        let readers = Arc::new(ReaderPool::of(directory.join(schema::FILE), DbAccess::Change));
        let integrity = match before {
            LastShutdown::InOrder | LastShutdown::GoesOn => Integrity::Trusted,
            LastShutdown::Crashed => Integrity::Checking,
        };
        let integrity = Arc::new(Mutex::new(integrity));
        if before == LastShutdown::Crashed {
            look_at(Arc::clone(&readers), Arc::clone(&integrity));
        }
        let mark = usage.mark()?;
        let progress = ProgressFile::of(directory, key.clone());
        let end = move || usage.end();
        let writer = JournalWriter::start(connection, options.faults, mark, progress, end)?;
        let reserve = Arc::new(DiskReserve::of(directory));
        let directory = directory.to_owned();
        let observer = Arc::default();
        let inner = Inner { directory, key, readers, writer, reserve, integrity, observer };
        Ok(Runs { inner: Arc::new(inner) })
    }

    /// The read side, over the same connections.
    pub fn reader(&self) -> RunsReader {
        let Inner { directory, key, readers, .. } = &*self.inner;
        RunsReader::over(directory.clone(), key.clone(), Arc::clone(readers))
    }

    pub fn directory(&self) -> &Path {
        &self.inner.directory
    }

    /// An id that no run has.
    pub fn new_id() -> Result<RunId, RunsError> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|_| RunsError::NoRandomness)?;
        Ok(RunId::from_bytes(bytes))
    }

    /// Whether the disk failed: nothing is acknowledged any more, and the process has to end.
    pub fn has_failed(&self) -> bool {
        self.inner.writer.has_failed()
    }

    /// What is known about the file as a whole.
    pub fn integrity(&self) -> Integrity {
        self.inner.integrity.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Looks at the whole file on a thread of its own.
fn look_at(readers: Arc<ReaderPool>, integrity: Arc<Mutex<Integrity>>) {
    let say = |integrity: &Mutex<Integrity>, found| {
        *integrity.lock().unwrap_or_else(PoisonError::into_inner) = found;
    };
    let unable = Arc::clone(&integrity);
    let looking = thread::Builder::new().name("runs-check".to_owned()).spawn(move || {
        say(
            &integrity,
            match readers.with(check::pages) {
                Ok(faults) if faults.is_empty() => Integrity::Sound,
                Ok(faults) => Integrity::Damaged(faults),
                Err(error) => Integrity::Damaged(vec![error.to_string()]),
            },
        );
    });
    if let Err(error) = looking {
        say(&unable, Integrity::Damaged(vec![error.to_string()]));
    }
}

/// Writing. Each write is one transaction, committed together with others.
impl Runs {
    /// Records a run with its text and first events; with a holder, the lease is taken at once.
    pub fn create(
        &self,
        new: NewRunRow,
        holder: Option<HolderId>,
        done: impl FnOnce(Result<Created, RunsError>) + Send + 'static,
    ) {
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

    /// Records a run and waits.
    pub fn create_now(
        &self,
        new: NewRunRow,
        holder: Option<HolderId>,
    ) -> Result<Created, RunsError> {
        wait(|done| self.create(new, holder, done))
    }

    /// Writes what happened in a run: its events, how it stands and what is answered, whole or
    /// not at all.
    pub fn append(
        &self,
        what: AppendRows,
        done: impl FnOnce(Result<Appended, RunsError>) + Send + 'static,
    ) {
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

    /// Writes how requests ended when the disk is full: the reserve is given up for it, and nothing
    /// else is appended until that is there again.
    pub fn append_from_reserve(
        &self,
        what: AppendRows,
        done: impl FnOnce(Result<Appended, RunsError>) + Send + 'static,
    ) {
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

    /// Writes what happened in a run and waits.
    pub fn append_now(&self, what: AppendRows) -> Result<Appended, RunsError> {
        wait(|done| self.append(what, done))
    }

    /// Puts a message into the inbox of a run. Whoever drives it has to be woken.
    pub fn send(
        &self,
        message: InboxRow,
        done: impl FnOnce(Result<Sent, RunsError>) + Send + 'static,
    ) {
        if let Err(error) = inbox::check_size(&message.data) {
            return done(Err(error));
        }
        self.submit(CommitMode::Durable, move |db, key| inbox::send(db, key, &message), done);
    }

    /// Puts a message into the inbox of a run and waits.
    pub fn send_now(&self, message: InboxRow) -> Result<Sent, RunsError> {
        wait(|done| self.send(message, done))
    }

    /// Says that a holder is alive.
    pub fn beat(&self, beat: Heartbeat, done: impl FnOnce(Result<(), RunsError>) + Send + 'static) {
        // One that a loss of power takes back is of a process that is gone, too.
        self.submit(CommitMode::Relaxed, move |db, _| lease::beat(db, &beat), done);
    }

    /// Says that a holder is alive and waits.
    pub fn beat_now(&self, beat: Heartbeat) -> Result<(), RunsError> {
        wait(|done| self.beat(beat, done))
    }

    /// Takes the lease of a run; `None` when another holder that is alive has it. What the taker
    /// had of an earlier epoch is void.
    pub fn take(
        &self,
        run: RunId,
        holder: HolderId,
        glance: LivenessQuery,
        done: impl FnOnce(Result<Option<Lease>, RunsError>) + Send + 'static,
    ) {
        let (directory, observer) =
            (self.inner.directory.clone(), Arc::clone(&self.inner.observer));
        let take = move |db: Db<'_>, _: &ChainKey| {
            lease::take(db, &run, holder, |other, mark| {
                observer.is_alive(&directory, other, mark, glance)
            })
        };
        // A loss of power that takes it back takes all back that was written with it, too.
        self.submit(CommitMode::Relaxed, take, done);
    }

    /// Takes the lease of a run and waits.
    pub fn take_now(
        &self,
        run: RunId,
        holder: HolderId,
        glance: LivenessQuery,
    ) -> Result<Option<Lease>, RunsError> {
        wait(|done| self.take(run, holder, glance, done))
    }

    /// Gives back what a holder has but for these runs.
    pub fn disown(
        &self,
        holder: HolderId,
        driven: Vec<RunId>,
        done: impl FnOnce(Result<(), RunsError>) + Send + 'static,
    ) {
        let disown = move |db: Db<'_>, _: &ChainKey| lease::disown(db, &holder, &driven);
        self.submit(CommitMode::Relaxed, disown, done);
    }

    /// Gives a lease back.
    pub fn release(&self, lease: Lease, done: impl FnOnce(Result<(), RunsError>) + Send + 'static) {
        // Whoever still has it after a loss of power is gone, and it with its holder.
        self.submit(CommitMode::Relaxed, move |db, _| lease::release(db, &lease), done);
    }

    /// Gives a lease back and waits.
    pub fn release_now(&self, lease: Lease) -> Result<(), RunsError> {
        wait(|done| self.release(lease, done))
    }

    /// Gives all leases of a holder back, before its process ends, and waits.
    pub fn leave_now(&self, holder: HolderId) -> Result<(), RunsError> {
        wait(|done| self.submit(CommitMode::Durable, move |db, _| lease::leave(db, &holder), done))
    }

    /// The same for a process that has come to its end, with the files that tell of it. Nobody
    /// waits for it: what is not done is done by whoever comes next.
    pub fn withdraw(&self, holder: HolderId) {
        let directory = self.inner.directory.clone();
        let gone = holder.clone();
        let leave = move |db: Db<'_>, _: &ChainKey| lease::leave(db, &holder);
        // While it is on the list, its file has to tell that it is gone.
        self.submit(CommitMode::Relaxed, leave, move |left| {
            if left.is_ok() {
                alive::clear(&directory, &gone);
            }
        });
    }

    /// Keeps a text that a run will be pinned to, and waits.
    pub fn keep_text(&self, text: String) -> Result<(), RunsError> {
        wait(|done| self.submit(CommitMode::Durable, move |db, _| run::keep_text(db, &text), done))
    }

    /// Remembers what was given for inputs, and waits.
    pub fn remember_inputs(&self, what: RememberedInputs) -> Result<(), RunsError> {
        wait(|done| {
            self.submit(CommitMode::Durable, move |db, _| inputs::remember(db, &what), done)
        })
    }

    /// Forgets what was given for inputs; what it was of.
    pub fn forget_inputs(&self, what: Forgetting) -> Result<Vec<Forgotten>, RunsError> {
        let forget = move |db: Db<'_>, _: &ChainKey| inputs::forget(db, &what);
        wait(|done| self.submit(CommitMode::Durable, forget, done))
    }

    /// Removes runs that ended, some at a time, with all that only they refer to, and waits. No
    /// text of them is left in any file.
    pub fn purge(&self, filter: &PurgeFilter, now_ms: u64) -> Result<PurgeReport, RunsError> {
        let (before, projects) = (self.size(), self.purgeable(filter)?.projects);
        let mut report = PurgeReport { projects, ..PurgeReport::default() };
        let (mut named, mut after) = (purge::MentionedHashes::new(), 0);
        loop {
            let filter = filter.clone();
            let purge = move |db: Db<'_>, _: &ChainKey| {
                let some = purge::some(db, &filter, after, &mut named)?;
                Ok((some, named))
            };
            let ((some, last), kept) = wait(|done| self.submit(CommitMode::Durable, purge, done))?;
            named = kept;
            report.add(some);
            match last {
                Some(last) => after = last,
                None => break,
            }
        }
        let directory = self.inner.directory.clone();
        let sweep = move |db: Db<'_>, _: &ChainKey| purge::sweep(db, &directory, &named, now_ms);
        report.add(wait(|done| self.submit(CommitMode::Durable, sweep, done))?);
        if report != (PurgeReport { projects, ..PurgeReport::default() }) {
            match self.vacuum() {
                // What was removed is overwritten as it is; only the file stays as large.
                Ok(()) | Err(RunsError::Journal(JournalError::Full)) => self.empty_log()?,
                Err(error) => return Err(error),
            }
        }
        report.bytes += before.saturating_sub(self.size());
        Ok(report)
    }

    /// Bytes of the database and its log.
    fn size(&self) -> u64 {
        let directory = &self.inner.directory;
        let bytes = |path: PathBuf| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        bytes(schema::log(directory)) + bytes(directory.join(schema::FILE))
    }

    /// Makes the file as small as what is in it, and waits. No other process that does the same,
    /// or brings the tables to a new version, runs meanwhile; writes of all processes wait.
    pub fn vacuum(&self) -> Result<(), RunsError> {
        let _lock = Lock::of(&self.inner.directory)?;
        let vacuum = |db: Db<'_>, _: &ChainKey| Ok(db.batch(StoragePoint::Statement, "VACUUM")?);
        wait(|done| self.submit(CommitMode::Alone, vacuum, done))?;
        self.empty_log()
    }

    /// Moves the log into the database and empties it. Whoever reads an earlier moment for longer
    /// than a write waits is in the way.
    fn empty_log(&self) -> Result<(), RunsError> {
        let empty = |db: Db<'_>, _: &ChainKey| {
            let sql = "PRAGMA wal_checkpoint(TRUNCATE)";
            match db.first(sql, [], |row| row.get::<_, u64>(0))? {
                Some(0) => Ok(()),
                _ => Err(JournalError::Busy.into()),
            }
        };
        wait(|done| self.submit(CommitMode::Alone, empty, done))
    }

    fn submit<T: Send + 'static>(
        &self,
        mode: CommitMode,
        work: impl FnOnce(Db<'_>, &ChainKey) -> Result<T, RunsError> + Send + 'static,
        done: impl FnOnce(Result<T, RunsError>) + Send + 'static,
    ) {
        let key = self.inner.key.clone();
        self.inner.writer.submit(mode, move |db| work(db, &key), done);
    }
}

/// The same answer, after the events that it says are written were counted.
fn counted<T>(
    events: usize,
    is_new: impl FnOnce(&T) -> bool,
    done: impl FnOnce(Result<T, RunsError>),
) -> impl FnOnce(Result<T, RunsError>) {
    move |outcome| {
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

type Done<T> = Box<dyn FnOnce(Result<T, RunsError>) + Send>;

/// Waits for the outcome of a write.
fn wait<T: Send + 'static>(submit: impl FnOnce(Done<T>)) -> Result<T, RunsError> {
    let (sender, outcome) = mpsc::sync_channel(1);
    submit(Box::new(move |found| {
        // Somebody waits for it, below.
        drop(sender.send(found));
    }));
    outcome.recv().unwrap_or(Err(RunsError::Journal(JournalError::Failed)))
}

/// Reading. Each read is at one moment, on a connection of its own.
impl Runs {
    /// The run of an id.
    pub fn run(&self, run: &RunId) -> Result<RunRecord, RunsError> {
        Ok(self.reading(|db, key| run::find(db, key, run))?.record)
    }

    /// The events of a run after one of them, at most so many. Each is checked.
    pub fn events(
        &self,
        run: &RunId,
        after_seq: u64,
        limit: usize,
    ) -> Result<EventPage, RunsError> {
        self.reading(|db, key| look::events(db, key, run, (after_seq, limit)))
    }

    /// The text of a workflow that a run was started with.
    pub fn text(&self, hash: Digest) -> Result<Option<String>, RunsError> {
        self.reading(|db, _| look::text(db, hash))
    }

    pub fn list(&self, filter: &RunFilter, limit: usize) -> Result<RunPage, RunsError> {
        let listed = self.reading(|db, key| list::list(db, key, filter, limit))?;
        let damaged = listed.damaged;
        if !damaged.is_empty() {
            let sql = "UPDATE runs SET quarantined = 1 WHERE key = ?1";
            self.inner.writer.offer(move |db| {
                damaged.iter().try_for_each(|key| db.execute(sql, [key]).map(drop))
            });
        }
        Ok(listed.page)
    }

    /// The ids that begin with a text, with or without `run_`; of many, the first few.
    pub fn find_prefix(&self, text: &str) -> Result<Vec<RunId>, RunsError> {
        self.reading(|db, _| list::find_prefix(db, text))
    }

    /// The run of a workflow that succeeded last.
    pub fn newest_succeeded(&self, workflow: &WorkflowId) -> Result<Option<RunId>, RunsError> {
        self.reading(|db, key| list::newest_succeeded(db, key, workflow))
    }

    /// The messages to a run that nobody answered.
    pub fn pending(&self, run: &RunId) -> Result<PendingMessages, RunsError> {
        let (pending, forged) = self.reading(|db, key| inbox::pending(db, key, run))?;
        if !forged.is_empty() {
            self.inner.writer.offer(move |db| inbox::discard(db, &forged));
        }
        Ok(pending)
    }

    /// Runs with messages that nobody answered.
    pub fn runs_with_pending(&self) -> Result<Vec<RunId>, RunsError> {
        self.reading(|db, _| inbox::runs_with_pending(db))
    }

    /// The answer to a message, once there is one.
    pub fn answer(&self, id: &MessageId) -> Result<Option<Vec<u8>>, RunsError> {
        self.reading(|db, key| inbox::answer_of(db, key, id))
    }

    /// Runs that somebody has to drive and nobody alive does, behind one of them.
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

    /// Tells others from now on at once when the process of a holder has ended. Has to be done
    /// before its first sign of life.
    pub fn claim(&self, holder: &HolderId) -> Result<LivenessLock, RunsError> {
        let directory = &self.inner.directory;
        let alive = LivenessLock::claim(directory, holder)?;
        // What others left costs nobody more than a look.
        if let Ok(known) = self.known() {
            for gone in known.into_iter().filter(|one| alive::is_gone(directory, one)) {
                self.bury(gone);
            }
            drop(alive::tidy(directory, || self.known()));
        }
        Ok(alive)
    }

    /// Everybody who has a lease or is on the list.
    fn known(&self) -> Result<Vec<HolderId>, RunsError> {
        let known = self.reading(|db, _| lease::known(db))?;
        Ok(known.into_iter().map(|(holder, _)| holder).collect())
    }

    /// Holders that are not to be believed alive.
    fn dead(&self, glance: LivenessQuery) -> Result<Vec<HolderId>, RunsError> {
        let Inner { directory, observer, .. } = &*self.inner;
        let known = self.reading(|db, _| lease::known(db))?.into_iter();
        let dead =
            known.filter(|(holder, mark)| !observer.is_alive(directory, holder, *mark, glance));
        Ok(dead.map(|(holder, _)| holder).collect())
    }

    /// Takes a holder off the list whose process has ended, with all it held. What cannot be done
    /// now is done by the next one.
    fn bury(&self, holder: HolderId) {
        self.inner.observer.forget(&holder);
        self.withdraw(holder);
    }

    /// Frees what processes hold that are gone, and clears away their files; how many they were.
    pub fn clear_dead(&self, now_ms: u64) -> Result<usize, RunsError> {
        let directory = &self.inner.directory;
        let dead = self.reading(|db, _| examine::dead(db, directory, now_ms))?;
        for holder in &dead {
            self.leave_now(holder.clone())?;
        }
        alive::tidy(directory, || self.known())?;
        // Sockets without a file beside them: those who wake others remove them.
        drop(wake::wake_all(directory));
        Ok(dead.len())
    }

    /// What was last given for an input, as JSON.
    pub fn last_input(
        &self,
        workspace: &str,
        workflow: &WorkflowId,
        input: &InputName,
    ) -> Result<Option<String>, RunsError> {
        self.reading(|db, _| inputs::last(db, workspace, workflow, input))
    }

    /// Whether [`Runs::forget_inputs`] would forget anything.
    pub fn remembers_inputs(&self, what: &Forgetting) -> Result<bool, RunsError> {
        self.reading(|db, _| inputs::is_remembered(db, what))
    }

    /// What [`Runs::purge`] would remove.
    pub fn purgeable(&self, filter: &PurgeFilter) -> Result<PurgeReport, RunsError> {
        self.reading(|db, _| purge::count(db, filter))
    }

    /// Everything that runs refer to beside their own texts, by its hash.
    pub fn referred(&self) -> Result<BTreeSet<Digest>, RunsError> {
        self.reading(|db, _| pins::all(db))
    }

    /// Copies all runs as they are at one moment into a new directory, with the key.
    pub fn backup(&self, to: &Path) -> Result<(), RunsError> {
        backup::backup(&self.inner.readers, &self.inner.key, &self.inner.directory, to)
    }

    /// Puts a copy into a directory that has no runs, after all of it was checked. Nobody may have
    /// the runs of that directory open.
    pub fn restore(from: &Path, directory: &Path) -> Result<RestoreReport, RunsError> {
        backup::restore(from, directory)
    }

    /// Looks at everything there is, and sets aside what is not as it was written.
    pub fn check(&self) -> Result<CheckReport, RunsError> {
        let report = check::check(&self.inner.readers, &self.inner.key)?;
        report.corrupt.iter().for_each(|(run, _)| self.set_aside(run));
        Ok(report)
    }

    /// Wakes every process that drives runs of this directory; how many listen.
    pub fn wake_all(&self) -> Result<usize, RunsError> {
        Ok(wake::wake_all(&self.inner.directory)?)
    }

    /// Reads, and sets a run aside that turns out to be damaged.
    fn reading<T>(
        &self,
        read: impl FnOnce(Db<'_>, &ChainKey) -> Result<T, RunsError>,
    ) -> Result<T, RunsError> {
        let outcome = self.inner.readers.read(|db| read(db, &self.inner.key));
        if let Err(RunsError::Journal(JournalError::Corrupt { run, .. })) = &outcome {
            self.set_aside(run);
        }
        outcome
    }

    fn set_aside(&self, run: &RunId) {
        let run = run.clone();
        // Found again by the next reader, should it be lost.
        self.inner.writer.offer(move |db| quarantine(db, &run));
    }
}

fn quarantine(db: Db<'_>, run: &RunId) -> Result<(), RunsError> {
    db.execute("UPDATE runs SET quarantined = max(quarantined, 1) WHERE id = ?1", [run.as_str()])
        .map(drop)
}

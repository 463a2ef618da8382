//! The single writing thread: pending jobs are committed together and then acknowledged. If no one
//! else is writing, and the disk is fast or no sync is needed, the caller runs its job itself,
//! because switching threads would take longer than the commit.
//!
//! Every job has its own savepoint, so that rejecting one undoes only that job. A job is
//! acknowledged exactly once, after it was committed as its [`CommitMode`] requires. If the disk
//! fails, every job in the batch fails, and no later job succeeds: after an `fsync` error the
//! system may have dropped the data it could not write, and a second attempt would only seem to
//! succeed.

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use milepost_model::id::RunId;
use rusqlite::wal::CheckpointMode;
use rusqlite::{Connection, ErrorCode};

use super::db::{self, Db};
use super::error::RunsError;
use super::fault::{self, StorageFaults, StoragePoint};
use super::progress::{self, PendingUpdates, ProgressFile};
use crate::limits;
use milepost_engine::ports::JournalError;

/// How a job is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CommitMode {
    /// Acknowledged once it is on disk.
    Durable,
    /// Acknowledged once other processes can see it. A batch of only such jobs is not synced: it
    /// survives the end of the process, but survives a power failure only after the next durable
    /// commit.
    Relaxed,
    /// Runs outside a transaction and separately from other jobs.
    Alone,
}

/// The result of a job before the commit.
enum JobEnd {
    Done,
    /// Its changes are rolled back; if it found a damaged run, that run is quarantined.
    Refused(Option<RunId>),
    /// The storage failed, so the whole batch fails.
    Broken(JournalError),
}

trait Job: Send {
    fn manner(&self) -> CommitMode;
    fn work(&mut self, db: Db<'_>) -> JobEnd;
    fn finish(self: Box<Self>, batch: Result<(), JournalError>);
}

/// A callback for the outcome of a write, called once.
pub trait WriteDone<T>: FnOnce(Result<T, RunsError>) + Send + 'static {}

impl<T, F: FnOnce(Result<T, RunsError>) + Send + 'static> WriteDone<T> for F {}

type Work<T> = Box<dyn FnOnce(Db<'_>) -> Result<T, RunsError> + Send>;

/// A write and the callback for its outcome.
struct TypedJob<T> {
    manner: CommitMode,
    work: Option<Work<T>>,
    outcome: Option<Result<T, RunsError>>,
    done: Option<Box<dyn WriteDone<T>>>,
}

impl<T: Send> Job for TypedJob<T> {
    fn manner(&self) -> CommitMode {
        self.manner
    }

    fn work(&mut self, db: Db<'_>) -> JobEnd {
        let Some(work) = self.work.take() else { return JobEnd::Done };
        let outcome = work(db);
        let ended = match &outcome {
            Ok(_) => JobEnd::Done,
            Err(error) => match (batch_fault(error), error) {
                (Some(fault), _) => JobEnd::Broken(fault),
                (None, RunsError::Journal(JournalError::Corrupt { run, .. })) => {
                    JobEnd::Refused(Some(run.clone()))
                }
                (None, _) => JobEnd::Refused(None),
            },
        };
        self.outcome = Some(outcome);
        ended
    }

    fn finish(mut self: Box<Self>, batch: Result<(), JournalError>) {
        let outcome = match (batch, self.outcome.take()) {
            (Ok(()), Some(outcome)) => outcome,
            (Ok(()), None) => Err(JournalError::Failed.into()),
            // The job may have been rejected because of another job's changes, which are undone
            // now.
            (Err(fault), _) => Err(fault.into()),
        };
        if let Some(done) = self.done.take() {
            done(outcome);
        }
    }
}

impl<T> Drop for TypedJob<T> {
    /// Reports a failure if the job was dropped without being written, so that no one waits
    /// forever.
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            done(Err(RunsError::Journal(JournalError::Failed)));
        }
    }
}

/// The error to report for the whole batch, if one job's error makes the batch fail.
fn batch_fault(error: &RunsError) -> Option<JournalError> {
    match error {
        RunsError::Journal(fault) => Some(fault.clone()).filter(spoils_batch),
        RunsError::Storage(error) => match error.sqlite_error_code() {
            Some(
                ErrorCode::SystemIoFailure
                | ErrorCode::OutOfMemory
                | ErrorCode::ReadOnly
                | ErrorCode::CannotOpen
                | ErrorCode::FileLockingProtocolFailed
                | ErrorCode::OperationInterrupted,
            ) => Some(JournalError::Failed),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an error fails the whole batch.
fn spoils_batch(error: &JournalError) -> bool {
    matches!(error, JournalError::Full | JournalError::Busy | JournalError::Failed)
}

/// The handle to the writing thread.
pub(super) struct JournalWriter {
    jobs: Option<SyncSender<Box<dyn Job>>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// State shared by callers and the thread.
struct Shared {
    /// The connection, until the thread ends.
    pen: Mutex<Option<WriterConnection>>,
    /// The number of jobs that are queued, or taken by the thread but not being written yet.
    waiting: AtomicUsize,
    failed: AtomicBool,
}

impl JournalWriter {
    /// Starts the thread. `end` is called when it ends cleanly.
    pub(super) fn start(
        mut connection: Connection,
        faults: Option<StorageFaults>,
        mark: File,
        progress: ProgressFile,
        end: impl FnOnce() + Send + 'static,
    ) -> Result<JournalWriter, RunsError> {
        let (jobs, waiting) = mpsc::sync_channel(limits::WRITES_WAITING);
        let log_pages = Arc::new(AtomicI32::new(0));
        // Replaces SQLite's automatic checkpoints, which do not report errors.
        let pages = Arc::clone(&log_pages);
        connection.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, count| {
            pages.store(count, Ordering::Relaxed);
            Ok(())
        }))?;
        let pen = WriterConnection {
            connection,
            faults,
            mark: Some(mark),
            log_pages,
            synced: true,
            quick: false,
            unnoted: PendingUpdates::default(),
            progress,
        };
        let shared = Arc::new(Shared {
            pen: Mutex::new(Some(pen)),
            waiting: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        });
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("runs".to_owned()).spawn(move || {
            own.work_off(&waiting);
            end();
        });
        let thread = thread.map_err(|error| {
            RunsError::File(crate::file::FileError::of(std::path::Path::new("runs"), error))
        })?;
        Ok(JournalWriter { jobs: Some(jobs), shared, thread: Some(thread) })
    }

    /// Submits a job; blocks while the queue is full.
    pub(super) fn submit<T: Send + 'static>(
        &self,
        manner: CommitMode,
        work: impl FnOnce(Db<'_>) -> Result<T, RunsError> + Send + 'static,
        done: impl WriteDone<T>,
    ) {
        let job: Box<dyn Job> = Box::new(typed(manner, work, done));
        if let Some(jobs) = &self.jobs
            && let Some(job) = self.shared.at_once(job)
        {
            self.shared.waiting.fetch_add(1, Ordering::AcqRel);
            // A job that cannot be queued is dropped, which reports the failure.
            drop(jobs.send(job));
        }
    }

    /// Submits a best-effort job, which may be lost.
    pub(super) fn offer(
        &self,
        work: impl FnOnce(Db<'_>) -> Result<(), RunsError> + Send + 'static,
    ) {
        if let Some(jobs) = &self.jobs {
            self.shared.waiting.fetch_add(1, Ordering::AcqRel);
            if jobs.try_send(Box::new(typed(CommitMode::Durable, work, drop))).is_err() {
                self.shared.waiting.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    /// Whether the disk failed.
    pub(super) fn has_failed(&self) -> bool {
        self.shared.failed.load(Ordering::Acquire)
    }
}

fn typed<T: Send + 'static>(
    manner: CommitMode,
    work: impl FnOnce(Db<'_>) -> Result<T, RunsError> + Send + 'static,
    done: impl WriteDone<T>,
) -> TypedJob<T> {
    TypedJob { manner, work: Some(Box::new(work)), outcome: None, done: Some(Box::new(done)) }
}

impl Drop for JournalWriter {
    /// Waits until all submitted jobs are written.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            // The last reference may be dropped by a callback that runs on the writing thread
            // itself.
            && thread.thread().id() != thread::current().id()
        {
            drop(thread.join());
        }
    }
}

/// Records a failure if a writer panics while writing.
struct Panicking<'f>(&'f AtomicBool);

impl Drop for Panicking<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Release);
        }
    }
}

impl Shared {
    /// The thread's main loop.
    fn work_off(&self, waiting: &Receiver<Box<dyn Job>>) {
        let mut kept = None;
        while let Some(first) = kept.take().or_else(|| waiting.recv().ok()) {
            let alone = first.manner() == CommitMode::Alone;
            let mut batch = vec![first];
            while !alone && batch.len() < limits::WRITES_AT_ONCE {
                match waiting.try_recv() {
                    Ok(job) if job.manner() == CommitMode::Alone => {
                        kept = Some(job);
                        break;
                    }
                    Ok(job) => batch.push(job),
                    Err(_) => break,
                }
            }
            // If a batch was not synced, it is not followed by an early checkpoint either.
            let synced = batch.iter().any(|job| job.manner() != CommitMode::Relaxed);
            let outcome = self.with_pen(|pen| {
                // The jobs count as waiting until here, so that no caller overtakes them by writing
                // directly.
                self.waiting.fetch_sub(batch.len(), Ordering::AcqRel);
                if alone { pen.alone(&mut batch) } else { pen.commit(&mut batch) }
            });
            for job in batch {
                job.finish(outcome.clone());
            }
            // The checkpoint runs after the jobs are acknowledged, so no one waits for it.
            if outcome.is_ok() {
                // An error is recorded in the `failed` flag.
                let at_rest = synced && kept.is_none() && self.waiting.load(Ordering::Acquire) == 0;
                let _ = self.with_pen(|pen| pen.checkpoint(at_rest));
            }
        }
        // The connection is closed before anyone learns that the writer has ended.
        drop(self.pen().take());
    }

    fn pen(&self) -> std::sync::MutexGuard<'_, Option<WriterConnection>> {
        // A connection left behind by a panic is never used, because the `failed` flag is set.
        self.pen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_pen(
        &self,
        write: impl FnOnce(&mut WriterConnection) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let mut pen = self.pen();
        match pen.as_mut() {
            Some(pen) => self.guarded(|| write(pen)),
            None => Err(JournalError::Failed),
        }
    }

    /// Rejects writes after a failure, and records a new failure.
    fn guarded<T>(
        &self,
        write: impl FnOnce() -> Result<T, JournalError>,
    ) -> Result<T, JournalError> {
        if self.failed.load(Ordering::Acquire) {
            return Err(JournalError::Failed);
        }
        let _panicking = Panicking(&self.failed);
        let outcome = write();
        if matches!(outcome, Err(JournalError::Failed)) {
            self.failed.store(true, Ordering::Release);
        }
        outcome
    }

    /// Runs a job on the calling thread if it need not wait for others or a slow disk; otherwise
    /// returns it.
    fn at_once(&self, job: Box<dyn Job>) -> Option<Box<dyn Job>> {
        let manner = job.manner();
        if manner == CommitMode::Alone || self.waiting.load(Ordering::Acquire) > 0 {
            return Some(job);
        }
        let Ok(mut pen) = self.pen.try_lock() else { return Some(job) };
        let Some(own) = pen.as_mut().filter(|pen| pen.is_ready(manner)) else { return Some(job) };
        match self.guarded(|| own.begin_at_once(manner)) {
            Ok(true) => {}
            // The writing thread will wait for other processes and report errors.
            Ok(false) | Err(_) => return Some(job),
        }
        let mut batch = [job];
        let outcome = self.guarded(|| own.end(&mut batch));
        // The callback may submit the next job.
        drop(pen);
        let [job] = batch;
        job.finish(outcome);
        None
    }
}

struct WriterConnection {
    connection: Connection,
    faults: Option<StorageFaults>,
    /// The usage mark, which has to be synced before the first synced commit.
    mark: Option<File>,
    log_pages: Arc<AtomicI32>,
    /// Whether the connection currently syncs its commits.
    synced: bool,
    /// Whether the last synced commit took less time than handing it to the thread would.
    quick: bool,
    unnoted: PendingUpdates,
    progress: ProgressFile,
}

impl WriterConnection {
    fn alone(&mut self, batch: &mut [Box<dyn Job>]) -> Result<(), JournalError> {
        self.sync(true)?;
        self.sync_mark()?;
        for job in batch {
            if let JobEnd::Broken(fault) = job.work(self.db()) {
                return Err(fault);
            }
        }
        // The last reported length of the log is outdated, because the job may have truncated it.
        self.log_pages.store(0, Ordering::Relaxed);
        Ok(())
    }

    fn db(&self) -> Db<'_> {
        Db::writing(&self.connection, self.faults.as_ref(), &self.unnoted)
    }

    fn commit(&mut self, batch: &mut [Box<dyn Job>]) -> Result<(), JournalError> {
        self.sync(batch.iter().any(|job| job.manner() == CommitMode::Durable))?;
        self.begin().map_err(fault_of)?;
        self.end(batch)
    }

    fn begin(&self) -> rusqlite::Result<()> {
        self.db().step(StoragePoint::Begin, "BEGIN IMMEDIATE")
    }

    /// Whether a job can run on the calling thread without a long wait.
    fn is_ready(&self, manner: CommitMode) -> bool {
        let synced = manner != CommitMode::Relaxed;
        !self.is_log_long(synced) && (manner == CommitMode::Relaxed || self.quick)
    }

    /// Begins a transaction, unless another process is writing.
    fn begin_at_once(&mut self, manner: CommitMode) -> Result<bool, JournalError> {
        self.sync(manner == CommitMode::Durable)?;
        self.connection.busy_handler(None::<fn(i32) -> bool>).map_err(fault_of)?;
        let begun = self.begin();
        db::be_patient(&mut self.connection).map_err(fault_of)?;
        match begun.map_err(fault_of) {
            Ok(()) => Ok(true),
            Err(JournalError::Busy) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Runs the jobs in a transaction that has begun, and commits it.
    fn end(&mut self, batch: &mut [Box<dyn Job>]) -> Result<(), JournalError> {
        // The usage mark must be on disk before the first synced commit.
        if self.synced
            && let Err(fault) = self.sync_mark()
        {
            drop(self.connection.execute_batch("ROLLBACK"));
            return Err(fault);
        }
        let db = self.db();
        let began = Instant::now();
        let outcome = in_transaction(db, batch, &self.unnoted)
            .and_then(|()| db.step(StoragePoint::Commit, "COMMIT").map_err(fault_of));
        self.tell(batch.len(), began, &outcome);
        // Noted before the jobs are acknowledged.
        let written = self.unnoted.take();
        if outcome.is_ok() {
            self.progress.note(written, self.synced);
        }
        if self.synced {
            self.quick = outcome.is_ok() && began.elapsed() < limits::QUICK_COMMIT;
        }
        if outcome.is_err() {
            // The failure may already have ended the transaction.
            let under_way = !self.connection.is_autocommit();
            if under_way && self.connection.execute_batch("ROLLBACK").is_err() {
                return Err(JournalError::Failed);
            }
        }
        outcome
    }

    /// Counts a transaction and logs it at trace level.
    fn tell(&self, jobs: usize, began: Instant, outcome: &Result<(), JournalError>) {
        let duration_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        let synced = self.synced;
        match outcome {
            Ok(()) => {
                milepost_metrics::COMMITS.add(1);
                tracing::trace!(target: "milepost::store", jobs, synced, duration_us, "committed");
            }
            Err(fault) => {
                tracing::error!(target: "milepost::store", jobs, ?fault, "commit failed");
            }
        }
    }

    /// Sets whether the following commits are synced.
    fn sync(&mut self, synced: bool) -> Result<(), JournalError> {
        if synced != self.synced {
            // `NORMAL` keeps the log in order: after a power failure, at most its end is missing.
            let level = if synced { "FULL" } else { "NORMAL" };
            self.connection.pragma_update(None, "synchronous", level).map_err(fault_of)?;
            self.synced = synced;
        }
        Ok(())
    }

    fn is_log_long(&self, at_rest: bool) -> bool {
        let limit = if at_rest { limits::LOG_PAGES_AT_REST } else { limits::LOG_PAGES };
        self.log_pages.load(Ordering::Relaxed) >= limit
    }

    fn sync_mark(&mut self) -> Result<(), JournalError> {
        let synced = self.mark.take().map_or(Ok(()), |mark| mark.sync_data());
        synced.map_err(|_| JournalError::Failed)
    }

    /// Checkpoints a long log. Commits are safe in the log, so a full disk or a busy database only
    /// means that they stay there. After any other error, the log must be kept as well, and the
    /// only way to guarantee that is to stop writing.
    fn checkpoint(&self, at_rest: bool) -> Result<(), JournalError> {
        if !self.is_log_long(at_rest) {
            return Ok(());
        }
        // Determined before the checkpoint: a process that ends later may have written something
        // that the checkpoint does not include.
        let ended = self.progress.ended();
        let moved = fault::at(self.faults.as_ref(), StoragePoint::Checkpoint, || {
            let mode = CheckpointMode::PASSIVE;
            self.connection.wal_checkpoint_v2(None::<&str>, mode)
        });
        let (log, of_log) = moved.map_err(fault_of)?;
        if log == of_log {
            progress::remove(&ended);
        }
        Ok(())
    }
}

/// Runs jobs in a transaction.
fn in_transaction(
    db: Db<'_>,
    batch: &mut [Box<dyn Job>],
    unnoted: &PendingUpdates,
) -> Result<(), JournalError> {
    match batch {
        // A single job needs no savepoint: rolling back the transaction undoes just that job.
        [job] => settle(db, job, &["ROLLBACK", "BEGIN IMMEDIATE"], unnoted),
        _ => batch.iter_mut().try_for_each(|job| {
            statement(db, "SAVEPOINT job")?;
            settle(db, job, &["ROLLBACK TO job"], unnoted)?;
            statement(db, "RELEASE job")
        }),
    }
}

/// Runs a job; if it is rejected, its changes are rolled back.
fn settle(
    db: Db<'_>,
    job: &mut Box<dyn Job>,
    back: &[&str],
    unnoted: &PendingUpdates,
) -> Result<(), JournalError> {
    let before = unnoted.borrow().len();
    match job.work(db) {
        JobEnd::Done => Ok(()),
        JobEnd::Refused(damaged) => {
            unnoted.borrow_mut().truncate(before);
            back.iter().try_for_each(|sql| statement(db, sql))?;
            if let Some(run) = damaged {
                // If this fails, the next reader detects the damage again.
                drop(super::quarantine(db, &run));
            }
            Ok(())
        }
        JobEnd::Broken(fault) => Err(fault),
    }
}

fn statement(db: Db<'_>, sql: &str) -> Result<(), JournalError> {
    match db.execute(sql, []) {
        Ok(_) => Ok(()),
        Err(error) => Err(batch_fault(&error).unwrap_or(JournalError::Failed)),
    }
}

/// Classifies an error that occurred outside any job. Unless the failed call is known to have
/// changed nothing, nothing can be relied on afterwards.
fn fault_of(error: rusqlite::Error) -> JournalError {
    match RunsError::from(error) {
        RunsError::Journal(fault) if spoils_batch(&fault) => fault,
        _ => JournalError::Failed,
    }
}

//! Implements the engine's ports on top of the runs in a directory.
//!
//! Nothing is opened before it is needed, and reading creates nothing: reads use a read-only
//! connection until something is written. A process writes through a single connection, regardless
//! of the number of clones of the journal.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::{Digest, FileError, KeptDocuments, limits};
use milepost_engine::event::{Event as RunEvent, JournalEntry};
use milepost_engine::ports::{
    self, Created, Dispatch, EventPage, Forgetting, Forgotten, History, HolderId, InboxMessage,
    Journal, JournalError, JournalFuture, Lease, MessageId, PurgeFilter, PurgeReport,
    RememberedInputs, RestoreReport, RunCounts, RunFilter, RunPage, RunRecord, Sent, Subscription,
    Takeover, Wake,
};
use milepost_engine::signal::{Reply, Signal};
use milepost_engine::upcast::{self, DecodeError};
use milepost_model::id::{InputName, RunId, WorkflowId};
use tokio::sync::oneshot;

use super::{
    AppendRows, EventRow, HeartbeatRow, InboxRow, LivenessLock, LivenessQuery, NewEvent, NewRunRow,
    OpenOptions, Pins, Runs, RunsError, RunsReader, WakeListener, WriteDone, lease, list, schema,
};

/// Options for opening the journal in a directory.
#[derive(Debug, Clone, Default)]
pub struct JournalOptions {
    /// The clock that determines which runs are due, in milliseconds since 1970; the system clock
    /// by default.
    pub clock: Option<fn() -> u64>,
    /// The monotonic clock used to observe other holders; the system's by default.
    pub monotonic: Option<fn() -> Duration>,
    pub open: OpenOptions,
}

/// The journal in a directory. Clones share the same state.
#[derive(Debug, Clone)]
pub struct SqliteJournal {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    directory: PathBuf,
    options: JournalOptions,
    reader: OnceLock<RunsReader>,
    writer: OnceLock<Runs>,
    /// Held while the database is opened for writing, so that it is opened only once.
    opening: Mutex<()>,
    /// The lock that lets others notice at once when this process has ended.
    alive: Mutex<Option<LivenessLock>>,
    began: Instant,
}

impl SqliteJournal {
    /// The journal in a directory. Opens nothing yet.
    pub fn at(directory: PathBuf, options: JournalOptions) -> SqliteJournal {
        let (reader, writer) = (OnceLock::new(), OnceLock::new());
        let (opening, alive) = (Mutex::default(), Mutex::default());
        let began = Instant::now();
        let inner = Inner { directory, options, reader, writer, opening, alive, began };
        SqliteJournal { inner: Arc::new(inner) }
    }

    fn now_ms(&self) -> u64 {
        if let Some(clock) = self.inner.options.clock {
            return clock();
        }
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
    }

    /// Releases the lock as the system does when a process ends, for tests that simulate several
    /// processes in one.
    #[doc(hidden)]
    pub fn die(&self) {
        self.inner.alive.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// The parameters for checking other holders now.
    fn glance(&self, takeover: Takeover) -> LivenessQuery {
        let at = self.inner.options.monotonic.map_or_else(|| self.inner.began.elapsed(), |at| at());
        LivenessQuery { at, takeover }
    }

    /// The writer, opened on the first write.
    fn writer(&self) -> Result<&Runs, RunsError> {
        if let Some(writer) = self.inner.writer.get() {
            return Ok(writer);
        }
        let _opening = self.inner.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = self.inner.writer.get() {
            return Ok(writer);
        }
        let opened = Runs::open(&self.inner.directory, self.inner.options.open.clone())?;
        Ok(self.inner.writer.get_or_init(|| opened))
    }

    /// The reader; `None` if there have never been any runs.
    fn reader(&self) -> Result<Option<&RunsReader>, RunsError> {
        // Prefer the writer's reader, because it quarantines damaged runs.
        let writer = self.inner.writer.get().map(|writer| &**writer);
        if let Some(reader) = writer.or(self.inner.reader.get()) {
            return Ok(Some(reader));
        }
        let opened = RunsReader::open(&self.inner.directory)?;
        Ok(opened.map(|reader| self.inner.reader.get_or_init(|| reader)))
    }

    /// Reads, or returns the default if there have never been any runs.
    fn read_or_default<T: Default>(
        &self,
        read: impl FnOnce(&RunsReader) -> Result<T, RunsError>,
    ) -> Result<T, RunsError> {
        self.reader()?.map_or_else(|| Ok(T::default()), read)
    }

    fn reader_of(&self, run: &RunId) -> Result<&RunsReader, RunsError> {
        self.reader()?.ok_or_else(|| JournalError::NotFound { run: run.clone() }.into())
    }

    /// Passes a write to the writer and awaits its outcome without blocking.
    fn write<'a, T: Send + 'static>(
        &'a self,
        write: impl FnOnce(&Runs, Box<dyn WriteDone<T>>) + Send + 'a,
    ) -> JournalFuture<'a, T> {
        Box::pin(async move {
            let (done, outcome) = oneshot::channel();
            write(self.writer()?, Box::new(move |result| drop(done.send(result))));
            Ok(outcome.await.unwrap_or(Err(RunsError::Journal(JournalError::Failed)))?)
        })
    }
}

/// A future that is ready immediately.
fn ready<'a, T: Send + 'a>(result: Result<T, RunsError>) -> JournalFuture<'a, T> {
    let result = result.map_err(JournalError::from);
    Box::pin(std::future::ready(result))
}

fn written(entries: &[JournalEntry]) -> Result<Vec<NewEvent>, JournalError> {
    let events = entries.iter().map(|entry| {
        let data = upcast::encode(&entry.event);
        let data = data.map_err(|error| JournalError::Unusable(Arc::new(error)))?;
        Ok(NewEvent { at_ms: entry.at_ms, kind: entry.event.name().to_owned(), data })
    });
    events.collect()
}

fn encoded(value: &impl serde::Serialize) -> Result<Vec<u8>, JournalError> {
    serde_json::to_vec(value).map_err(|error| JournalError::Unusable(Arc::new(error)))
}

fn decoded(run: &RunId, event: &EventRow) -> Result<RunEvent, JournalError> {
    let run = || run.clone();
    upcast::decode(&event.data).map_err(|error| match error {
        DecodeError::Newer => JournalError::NewerEvent { run: run(), seq: event.seq },
        DecodeError::Malformed(error) => {
            JournalError::Undecodable { run: run(), reason: error.to_string() }
        }
    })
}

fn read(run: &RunId, events: Vec<EventRow>, more: bool) -> Result<EventPage, JournalError> {
    let entries = events.into_iter().map(|event| {
        let decoded = decoded(run, &event)?;
        Ok(JournalEntry { seq: event.seq, at_ms: event.at_ms, event: decoded })
    });
    Ok(EventPage { entries: entries.collect::<Result<_, JournalError>>()?, more })
}

fn appended(what: ports::Append) -> Result<AppendRows, JournalError> {
    let answers = what.answers.iter();
    let answers = answers.map(|(id, reply)| Ok((id.clone(), encoded(reply)?)));
    Ok(AppendRows {
        events: written(&what.entries)?,
        answers: answers.collect::<Result<_, JournalError>>()?,
        lease: what.lease,
        after_seq: what.after_seq,
        standing: Some(what.standing),
        at_ms: what.at_ms,
        durability: what.durability,
        pins: Pins::of(&what.entries, Vec::new()),
    })
}

impl Journal for SqliteJournal {
    fn create<'a>(
        &'a self,
        run: ports::NewRun,
        holder: &'a HolderId,
    ) -> JournalFuture<'a, Created> {
        let events = match written(&run.entries) {
            Ok(events) => events,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let pins = Pins::of(&run.entries, run.pinned);
        let new = NewRunRow { record: run.record, text: run.text, events, pins };
        self.write(move |runs, done| runs.create(new, Some(holder.clone()), done))
    }

    fn append(&self, what: ports::Append) -> JournalFuture<'_, ()> {
        Box::pin(async move {
            let append = appended(what)?;
            self.write(move |runs, done| runs.append(append, done)).await.map(drop)
        })
    }

    fn append_from_reserve(&self, what: ports::Append) -> JournalFuture<'_, ()> {
        Box::pin(async move {
            let append = appended(what)?;
            self.write(move |runs, done| runs.append_from_reserve(append, done)).await.map(drop)
        })
    }

    fn take<'a>(
        &'a self,
        run: &'a RunId,
        holder: &'a HolderId,
        takeover: Takeover,
    ) -> JournalFuture<'a, Option<Lease>> {
        let glance = self.glance(takeover);
        self.write(move |runs, done| runs.take(run.clone(), holder.clone(), glance, done))
    }

    fn release(&self, lease: Lease) -> JournalFuture<'_, ()> {
        self.write(move |runs, done| runs.release(lease, done))
    }

    fn announce<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, Duration> {
        match self.writer().and_then(|writer| writer.claim(holder)) {
            Ok(claimed) => {
                let mut alive = self.inner.alive.lock().unwrap_or_else(PoisonError::into_inner);
                *alive = Some(claimed);
                self.beat(holder)
            }
            // Without the lock, this process would lose its runs if it were suspended.
            Err(error) => ready(Err(error)),
        }
    }

    fn beat<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, Duration> {
        let counts_for = limits::holder_ttl();
        let ttl_ms = u64::try_from(counts_for.as_millis()).unwrap_or(u64::MAX);
        let (pid, now_ms) = (std::process::id(), self.now_ms());
        let beat = HeartbeatRow { holder: holder.clone(), pid, now_ms, ttl_ms };
        Box::pin(async move {
            self.write(move |runs, done| runs.beat(beat, done)).await?;
            Ok(counts_for)
        })
    }

    fn disown<'a>(&'a self, holder: &'a HolderId, driven: Vec<RunId>) -> JournalFuture<'a, ()> {
        self.write(move |runs, done| runs.disown(holder.clone(), driven, done))
    }

    fn leave<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, ()> {
        ready(self.writer().and_then(|writer| writer.leave_now(holder.clone())))
    }

    fn withdraw(&self, holder: &HolderId) {
        if let Some(writer) = self.inner.writer.get() {
            writer.withdraw(holder.clone());
        }
    }

    fn send<'a>(
        &'a self,
        run: &'a RunId,
        id: &'a MessageId,
        signal: &'a Signal,
    ) -> JournalFuture<'a, Sent> {
        Box::pin(async move {
            let data = encoded(signal)?;
            let row = InboxRow { id: id.clone(), run: run.clone(), at_ms: self.now_ms(), data };
            self.write(move |runs, done| runs.send(row, done)).await
        })
    }

    fn pending<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, Vec<InboxMessage>> {
        let pending = self.writer().and_then(|writer| writer.pending(run));
        ready(pending.map(|pending| {
            let messages = pending.messages.into_iter().map(|row| {
                let signal = serde_json::from_slice(&row.data).map_err(|error| error.to_string());
                InboxMessage { id: row.id, signal }
            });
            messages.collect()
        }))
    }

    fn answer<'a>(&'a self, id: &'a MessageId) -> JournalFuture<'a, Option<Reply>> {
        Box::pin(async move {
            let answer = self.writer()?.answer(id)?;
            let reply = answer.map(|bytes| serde_json::from_slice(&bytes)).transpose();
            reply.map_err(|error| JournalError::Unusable(Arc::new(error)))
        })
    }

    fn orphaned<'a>(
        &'a self,
        after: Option<&'a RunId>,
        limit: usize,
        takeover: Takeover,
    ) -> JournalFuture<'a, Vec<RunId>> {
        let (glance, now_ms) = (self.glance(takeover), self.now_ms());
        ready(self.writer().and_then(|writer| writer.adrift(now_ms, after, limit, glance)))
    }

    fn dated_ahead(&self, limit: usize) -> JournalFuture<'_, Vec<RunId>> {
        let now_ms = self.now_ms();
        ready(self.read_or_default(|reader| reader.dated_ahead(now_ms, limit)))
    }

    fn next_wake(&self) -> JournalFuture<'_, Option<u64>> {
        let now_ms = self.now_ms();
        ready(self.read_or_default(|reader| reader.reading(|db, _| lease::next_wake(db, now_ms))))
    }

    fn is_driven<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, bool> {
        ready(self.reader_of(run).and_then(|reader| reader.is_driven(run, self.now_ms())))
    }

    fn run<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, RunRecord> {
        ready(self.reader_of(run).and_then(|reader| reader.run(run)))
    }

    fn events<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
        limit: usize,
    ) -> JournalFuture<'a, EventPage> {
        let page = self.reader_of(run).and_then(|reader| reader.events(run, after, limit));
        let events = page.map_err(JournalError::from);
        let events = events.and_then(|page| read(run, page.events, page.more));
        Box::pin(std::future::ready(events))
    }

    fn text(&self, hash: Digest) -> JournalFuture<'_, Option<String>> {
        ready(self.read_or_default(|reader| reader.text(hash)))
    }

    fn keep_text(&self, text: String) -> JournalFuture<'_, ()> {
        ready(self.writer().and_then(|writer| writer.keep_text(text)))
    }

    fn list<'a>(&'a self, filter: &'a RunFilter, limit: usize) -> JournalFuture<'a, RunPage> {
        ready(self.read_or_default(|reader| reader.list(filter, limit)))
    }

    fn find_prefix<'a>(&'a self, text: &'a str) -> JournalFuture<'a, Vec<RunId>> {
        ready(self.read_or_default(|reader| reader.find_prefix(text)))
    }

    fn tally(&self) -> JournalFuture<'_, RunCounts> {
        ready(self.read_or_default(RunsReader::tally))
    }

    fn health(&self) -> JournalFuture<'_, ()> {
        let health = match self.has_failed() {
            true => Err(JournalError::Failed.into()),
            false => self.read_or_default(|reader| reader.reading(|db, _| list::answers(db))),
        };
        ready(health)
    }

    fn has_failed(&self) -> bool {
        self.inner.writer.get().is_some_and(Runs::has_failed)
    }

    fn exists(&self) -> bool {
        fs::metadata(self.inner.directory.join(schema::FILE)).is_ok_and(|file| file.is_file())
    }
}

impl Dispatch for SqliteJournal {
    fn notify<'a>(&'a self, _: &'a RunId) -> JournalFuture<'a, ()> {
        ready(self.writer().and_then(|writer| writer.wake_all().map(drop)))
    }

    fn subscribe<'a>(
        &'a self,
        holder: &'a HolderId,
        wake: Wake,
    ) -> JournalFuture<'a, Subscription> {
        let listener = WakeListener::bind(&self.inner.directory, holder).map_err(RunsError::from);
        ready(listener.map(|listener| {
            // The thread ends once the subscription is dropped.
            let subscribed = Arc::new(());
            let watched = Arc::downgrade(&subscribed);
            thread::spawn(move || {
                loop {
                    let woken = listener.recv(limits::LISTEN);
                    if watched.upgrade().is_none() {
                        return;
                    }
                    if woken {
                        wake();
                    }
                }
            });
            Subscription::new(subscribed)
        }))
    }
}

impl History for SqliteJournal {
    fn remember_inputs(&self, what: RememberedInputs) -> JournalFuture<'_, ()> {
        ready(self.writer().and_then(|writer| writer.remember_inputs(what)))
    }

    fn last_input<'a>(
        &'a self,
        workspace: &'a str,
        workflow: &'a WorkflowId,
        input: &'a InputName,
    ) -> JournalFuture<'a, Option<String>> {
        ready(self.read_or_default(|reader| reader.last_input(workspace, workflow, input)))
    }

    fn remembers_inputs<'a>(
        &'a self,
        caller: Option<&'a str>,
        what: Forgetting,
    ) -> JournalFuture<'a, bool> {
        ready(self.writer().and_then(|writer| writer.remembers_inputs_of(caller, &what)))
    }

    fn forget_inputs<'a>(
        &'a self,
        caller: Option<&'a str>,
        what: Forgetting,
    ) -> JournalFuture<'a, Vec<Forgotten>> {
        ready(self.writer().and_then(|writer| writer.forget_inputs_of(caller, what)))
    }

    fn newest_succeeded<'a>(
        &'a self,
        workflow: &'a WorkflowId,
        actor: Option<&'a str>,
    ) -> JournalFuture<'a, Option<RunId>> {
        ready(self.read_or_default(|reader| reader.newest_succeeded_of(workflow, actor)))
    }

    fn purgeable(&self, filter: PurgeFilter) -> JournalFuture<'_, PurgeReport> {
        ready(self.writer().and_then(|writer| writer.purgeable(&filter)))
    }

    fn purge(&self, filter: PurgeFilter) -> JournalFuture<'_, PurgeReport> {
        let purged = self.writer().and_then(|writer| {
            let report = writer.purge(&filter, self.now_ms())?;
            // Catalog documents are stored next to the database.
            KeptDocuments::at(&self.inner.directory).retain(&writer.referred()?)?;
            Ok(report)
        });
        ready(purged)
    }

    fn backup<'a>(&'a self, to: &'a Path) -> JournalFuture<'a, ()> {
        ready(self.writer().and_then(|writer| writer.backup(to)))
    }

    fn restore<'a>(&'a self, from: &'a Path) -> JournalFuture<'a, RestoreReport> {
        ready(Runs::restore(from, &self.inner.directory))
    }
}

impl From<RunsError> for JournalError {
    fn from(error: RunsError) -> JournalError {
        match error {
            RunsError::Journal(error) => error,
            RunsError::File(FileError::Exists { path }) => JournalError::Exists { path },
            other => JournalError::Unusable(Arc::new(other)),
        }
    }
}

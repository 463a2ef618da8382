//! The ports of the engine over the runs of a directory.
//!
//! Nothing is opened before it is needed, and looking creates nothing: reads go over a read-only
//! connection until something is written. One process writes through one connection, however many
//! clones of this there are.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use milepost_engine::event::{Entry, Event as RunEvent};
use milepost_engine::ports::{
    self, Answer, Created, Dispatch, Events, Forgetting, Forgotten, History, HolderId, Journal,
    JournalError, Lease, Message, MessageId, PurgeFilter, PurgeReport, RememberedInputs,
    RestoreReport, RunFilter, RunPage, RunRecord, Sent, Subscription, Takeover, Tally, Wake,
};
use milepost_engine::signal::{Reply, Signal};
use milepost_engine::upcast::{self, DecodeError};
use milepost_model::digest::Digest;
use milepost_model::id::{InputName, RunId, WorkflowId};
use tokio::sync::oneshot;

use super::{
    Alive, Append, Beat, Event, Glance, InboxRow, Listener, NewEvent, NewRun, OpenOptions, Pins,
    Runs, RunsError, RunsReader, schema,
};
use crate::documents::KeptDocuments;
use crate::file::FileError;
use crate::limits;

/// How the journal of a directory is opened.
#[derive(Debug, Clone, Default)]
pub struct JournalOptions {
    /// The clock that says which runs are due, in milliseconds since 1970; the system's by default.
    pub clock: Option<fn() -> u64>,
    /// The clock that others are watched by, which only ever goes on; the system's by default.
    pub monotonic: Option<fn() -> Duration>,
    /// How its database is opened.
    pub open: OpenOptions,
}

/// The journal of a directory. A clone is the same.
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
    /// Held while the database is opened for writing: it is opened once.
    opening: Mutex<()>,
    /// Tells others at once when this process has ended, where the system has such a thing.
    alive: Mutex<Option<Alive>>,
    began: Instant,
}

impl SqliteJournal {
    /// The journal of a directory. Nothing is opened yet.
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

    /// Lets go of the lock as the system does when a process ends, for tests whose processes die
    /// together in one.
    #[doc(hidden)]
    pub fn die(&self) {
        self.inner.alive.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// A look at other holders, now.
    fn glance(&self, takeover: Takeover) -> Glance {
        let at = self.inner.options.monotonic.map_or_else(|| self.inner.began.elapsed(), |at| at());
        Glance { at, takeover, now_ms: self.now_ms() }
    }

    /// What is written with, opened at the first write.
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

    /// What is read with; nothing where there have never been runs.
    fn reader(&self) -> Result<Option<&RunsReader>, RunsError> {
        if let Some(reader) = self.inner.reader.get() {
            return Ok(Some(reader));
        }
        let opened = match self.inner.writer.get() {
            Some(writer) => Some(writer.reader()),
            None => RunsReader::open(&self.inner.directory)?,
        };
        Ok(opened.map(|reader| self.inner.reader.get_or_init(|| reader)))
    }

    fn reader_of(&self, run: &RunId) -> Result<&RunsReader, RunsError> {
        self.reader()?.ok_or_else(|| RunsError::NotFound { run: run.clone() })
    }

    /// Reads a run: with the writer where there is one, because that sets damaged runs aside.
    fn of_run<T>(
        &self,
        run: &RunId,
        write: impl FnOnce(&Runs) -> Result<T, RunsError>,
        read: impl FnOnce(&RunsReader) -> Result<T, RunsError>,
    ) -> Result<T, RunsError> {
        match self.inner.writer.get() {
            Some(writer) => write(writer),
            None => read(self.reader_of(run)?),
        }
    }

    /// Hands a write to the writer and waits for its outcome without blocking.
    fn write<'a, T: Send + 'static>(
        &'a self,
        write: impl FnOnce(&Runs, Box<dyn FnOnce(Result<T, RunsError>) + Send>) + Send + 'a,
    ) -> Answer<'a, T> {
        Box::pin(async move {
            let (done, outcome) = oneshot::channel();
            write(self.writer()?, Box::new(move |result| drop(done.send(result))));
            Ok(outcome.await.unwrap_or(Err(RunsError::Failed))?)
        })
    }
}

/// An answer that is there at once.
fn ready<'a, T: Send + 'a>(result: Result<T, RunsError>) -> Answer<'a, T> {
    let result = result.map_err(JournalError::from);
    Box::pin(std::future::ready(result))
}

fn written(entries: &[Entry]) -> Result<Vec<NewEvent>, JournalError> {
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

fn decoded(run: &RunId, event: &Event) -> Result<RunEvent, JournalError> {
    let run = || run.clone();
    upcast::decode(&event.data).map_err(|error| match error {
        DecodeError::Newer => JournalError::NewerEvent { run: run(), seq: event.seq },
        DecodeError::Malformed(error) => {
            JournalError::Undecodable { run: run(), reason: error.to_string() }
        }
    })
}

fn read(run: &RunId, events: Vec<Event>, more: bool) -> Result<Events, JournalError> {
    let entries = events.into_iter().map(|event| {
        let decoded = decoded(run, &event)?;
        Ok(Entry { seq: event.seq, at_ms: event.at_ms, event: decoded })
    });
    Ok(Events { entries: entries.collect::<Result<_, JournalError>>()?, more })
}

fn appended(what: ports::Append) -> Result<Append, JournalError> {
    let answers = what.answers.iter();
    let answers = answers.map(|(id, reply)| Ok((id.clone(), encoded(reply)?)));
    Ok(Append {
        events: written(&what.entries)?,
        answers: answers.collect::<Result<_, JournalError>>()?,
        lease: what.lease,
        after_seq: what.after_seq,
        standing: Some(what.standing),
        at_ms: what.at_ms,
        durability: what.durability,
    })
}

impl Journal for SqliteJournal {
    fn create<'a>(&'a self, run: ports::NewRun, holder: &'a HolderId) -> Answer<'a, Created> {
        let events = match written(&run.entries) {
            Ok(events) => events,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let new = NewRun {
            id: run.id,
            workflow: run.workflow,
            title: run.title,
            text: run.text,
            actor: run.actor,
            workspace: run.workspace,
            parent: run.parent,
            durability: run.durability,
            created_ms: run.created_ms,
            standing: run.standing,
            events,
        };
        let pins = Pins::of(&run.entries, run.pinned);
        self.write(move |runs, done| runs.create_pinned(new, pins, Some(holder.clone()), done))
    }

    fn append(&self, what: ports::Append) -> Answer<'_, ()> {
        Box::pin(async move {
            let pins = Pins::of(&what.entries, Vec::new());
            let append = appended(what)?;
            self.write(move |runs, done| runs.append_pinned(append, pins, done)).await.map(drop)
        })
    }

    fn append_from_reserve(&self, what: ports::Append) -> Answer<'_, ()> {
        Box::pin(async move {
            let pins = Pins::of(&what.entries, Vec::new());
            let append = appended(what)?;
            let write = move |runs: &Runs, done| runs.append_from_reserve(append, pins, done);
            self.write(write).await.map(drop)
        })
    }

    fn take<'a>(
        &'a self,
        run: &'a RunId,
        holder: &'a HolderId,
        takeover: Takeover,
    ) -> Answer<'a, Option<Lease>> {
        let glance = self.glance(takeover);
        self.write(move |runs, done| runs.take(run.clone(), holder.clone(), glance, done))
    }

    fn release(&self, lease: Lease) -> Answer<'_, ()> {
        self.write(move |runs, done| runs.release(lease, done))
    }

    fn announce<'a>(&'a self, holder: &'a HolderId) -> Answer<'a, Duration> {
        match self.writer().and_then(|writer| writer.claim(holder)) {
            Ok(claimed) => {
                let mut alive = self.inner.alive.lock().unwrap_or_else(PoisonError::into_inner);
                *alive = Some(claimed);
                self.beat(holder)
            }
            // Who is stopped without a lock would lose its runs.
            Err(error) => ready(Err(error)),
        }
    }

    fn beat<'a>(&'a self, holder: &'a HolderId) -> Answer<'a, Duration> {
        let counts_for = limits::holder_ttl();
        let ttl_ms = u64::try_from(counts_for.as_millis()).unwrap_or(u64::MAX);
        let (pid, now_ms) = (std::process::id(), self.now_ms());
        let beat = Beat { holder: holder.clone(), pid, now_ms, ttl_ms };
        Box::pin(async move {
            self.write(move |runs, done| runs.beat(beat, done)).await?;
            Ok(counts_for)
        })
    }

    fn disown<'a>(&'a self, holder: &'a HolderId, driven: Vec<RunId>) -> Answer<'a, ()> {
        self.write(move |runs, done| runs.disown(holder.clone(), driven, done))
    }

    fn leave<'a>(&'a self, holder: &'a HolderId) -> Answer<'a, ()> {
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
    ) -> Answer<'a, Sent> {
        Box::pin(async move {
            let data = encoded(signal)?;
            let row = InboxRow { id: id.clone(), run: run.clone(), at_ms: self.now_ms(), data };
            self.write(move |runs, done| runs.send(row, done)).await
        })
    }

    fn pending<'a>(&'a self, run: &'a RunId) -> Answer<'a, Vec<Message>> {
        let pending = self.writer().and_then(|writer| writer.pending(run));
        ready(pending.map(|pending| {
            let messages = pending.messages.into_iter().map(|row| {
                let signal = serde_json::from_slice(&row.data).map_err(|error| error.to_string());
                Message { id: row.id, signal }
            });
            messages.collect()
        }))
    }

    fn answer<'a>(&'a self, id: &'a MessageId) -> Answer<'a, Option<Reply>> {
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
    ) -> Answer<'a, Vec<RunId>> {
        let (glance, now_ms) = (self.glance(takeover), self.now_ms());
        ready(self.writer().and_then(|writer| writer.adrift(now_ms, after, limit, glance)))
    }

    fn dated_ahead(&self, limit: usize) -> Answer<'_, Vec<RunId>> {
        let now_ms = self.now_ms();
        let reader = self.reader();
        ready(reader.and_then(|reader| match reader {
            Some(reader) => reader.dated_ahead(now_ms, limit),
            None => Ok(Vec::new()),
        }))
    }

    fn next_wake(&self) -> Answer<'_, Option<u64>> {
        let now_ms = self.now_ms();
        let reader = self.reader();
        ready(reader.and_then(|reader| reader.map_or(Ok(None), |one| one.next_wake(now_ms))))
    }

    fn is_driven<'a>(&'a self, run: &'a RunId) -> Answer<'a, bool> {
        ready(self.reader_of(run).and_then(|reader| reader.is_driven(run, self.now_ms())))
    }

    fn run<'a>(&'a self, run: &'a RunId) -> Answer<'a, RunRecord> {
        let row = self.of_run(run, |writer| writer.run(run), |reader| reader.run(run));
        ready(row.map(super::RunRow::into_record))
    }

    fn events<'a>(&'a self, run: &'a RunId, after: u64, limit: usize) -> Answer<'a, Events> {
        let page = self.of_run(
            run,
            |writer| writer.events(run, after, limit),
            |reader| reader.events(run, after, limit),
        );
        let events = page.map_err(JournalError::from);
        let events = events.and_then(|page| read(run, page.events, page.more));
        Box::pin(std::future::ready(events))
    }

    fn text(&self, hash: Digest) -> Answer<'_, Option<String>> {
        let reader = self.reader();
        ready(reader.and_then(|reader| reader.map_or(Ok(None), |reader| reader.text(hash))))
    }

    fn keep_text(&self, text: String) -> Answer<'_, ()> {
        ready(self.writer().and_then(|writer| writer.keep_text(text)))
    }

    fn list<'a>(&'a self, filter: &'a RunFilter, limit: usize) -> Answer<'a, RunPage> {
        let page = match self.inner.writer.get() {
            Some(writer) => writer.list(filter, limit),
            None => self.reader().and_then(|reader| match reader {
                Some(reader) => reader.list(filter, limit),
                None => Ok(super::Page::default()),
            }),
        };
        ready(page.map(|page| RunPage {
            runs: page.runs.into_iter().map(super::RunRow::into_record).collect(),
            unreadable: page.unreadable,
            next: page.next,
        }))
    }

    fn find_prefix<'a>(&'a self, text: &'a str) -> Answer<'a, Vec<RunId>> {
        let reader = self.reader();
        let found = |reader: Option<&RunsReader>| {
            reader.map_or(Ok(Vec::new()), |reader| reader.find_prefix(text))
        };
        ready(reader.and_then(found))
    }

    fn tally(&self) -> Answer<'_, Tally> {
        let reader = self.reader();
        ready(reader.and_then(|reader| reader.map_or(Ok(Tally::default()), RunsReader::tally)))
    }

    fn health(&self) -> Answer<'_, ()> {
        let health = match self.has_failed() {
            true => Err(RunsError::Failed),
            false => self.reader().and_then(|reader| reader.map_or(Ok(()), RunsReader::answers)),
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
    fn notify<'a>(&'a self, _: &'a RunId) -> Answer<'a, ()> {
        ready(self.writer().and_then(|writer| writer.wake_all().map(drop)))
    }

    fn subscribe<'a>(&'a self, holder: &'a HolderId, wake: Wake) -> Answer<'a, Subscription> {
        let listener = Listener::bind(&self.inner.directory, holder).map_err(RunsError::from);
        ready(listener.map(|listener| {
            // The thread ends when nobody holds the subscription any more.
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
    fn remember_inputs(&self, what: RememberedInputs) -> Answer<'_, ()> {
        ready(self.writer().and_then(|writer| writer.remember_inputs(what)))
    }

    fn last_input<'a>(
        &'a self,
        workspace: &'a str,
        workflow: &'a WorkflowId,
        input: &'a InputName,
    ) -> Answer<'a, Option<String>> {
        ready(self.writer().and_then(|writer| writer.last_input(workspace, workflow, input)))
    }

    fn remembers_inputs(&self, what: Forgetting) -> Answer<'_, bool> {
        ready(self.writer().and_then(|writer| writer.remembers_inputs(&what)))
    }

    fn forget_inputs(&self, what: Forgetting) -> Answer<'_, Vec<Forgotten>> {
        ready(self.writer().and_then(|writer| writer.forget_inputs(what)))
    }

    fn newest_succeeded<'a>(&'a self, workflow: &'a WorkflowId) -> Answer<'a, Option<RunId>> {
        let newest = self.writer().and_then(|writer| writer.newest_succeeded(workflow));
        ready(newest.map(|row| row.map(|row| row.id)))
    }

    fn purgeable(&self, filter: PurgeFilter) -> Answer<'_, PurgeReport> {
        ready(self.writer().and_then(|writer| writer.purgeable(&filter)))
    }

    fn purge(&self, filter: PurgeFilter) -> Answer<'_, PurgeReport> {
        let purged = self.writer().and_then(|writer| {
            let report = writer.purge(&filter, self.now_ms())?;
            // The documents of catalogs lie beside the database.
            KeptDocuments::at(&self.inner.directory).retain(&writer.referred()?)?;
            Ok(report)
        });
        ready(purged)
    }

    fn backup<'a>(&'a self, to: &'a Path) -> Answer<'a, ()> {
        ready(self.writer().and_then(|writer| writer.backup(to)))
    }

    fn restore<'a>(&'a self, from: &'a Path) -> Answer<'a, RestoreReport> {
        ready(Runs::restore(from, &self.inner.directory))
    }
}

impl From<RunsError> for JournalError {
    fn from(error: RunsError) -> JournalError {
        match error {
            RunsError::NotFound { run } => JournalError::NotFound { run },
            RunsError::Fenced { run } => JournalError::Fenced { run },
            RunsError::OutOfOrder { run, last } => JournalError::OutOfOrder { run, last },
            RunsError::Corrupt { run, seq } => JournalError::Corrupt { run, seq },
            RunsError::Quarantined { run } => JournalError::Quarantined { run },
            RunsError::OtherRun { run } => JournalError::OtherRun { run },
            RunsError::TooLarge { bytes, limit } => JournalError::TooLarge { bytes, limit },
            RunsError::Newer { path, found, known } => JournalError::Newer { path, found, known },
            RunsError::Full => JournalError::Full,
            RunsError::Busy => JournalError::Busy,
            RunsError::Failed => JournalError::Failed,
            RunsError::File(FileError::Exists { path }) => JournalError::Exists { path },
            other => JournalError::Unusable(Arc::new(other)),
        }
    }
}

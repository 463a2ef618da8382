//! An in-memory journal: the port without a database. Like a disk, it outlives processes. It is
//! strict: writes that a driver must not make are refused, and writes that no driver could ever
//! make cause a panic.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::ready;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use milepost_driver::clock::{MonotonicClock, WallClock};
use milepost_engine::event::JournalEntry;
use milepost_engine::ports::{
    Append, Created, Cursor, Dispatch, EventPage, HolderId, InboxMessage, Journal, JournalError,
    JournalFuture, Lease, MessageId, NewRun, RunCounts, RunFilter, RunPage, RunRecord, RunStatus,
    Sent, Subscription, Takeover, Wake,
};
use milepost_engine::signal::{Reply, Signal};
use milepost_model::digest::Digest;
use milepost_model::id::RunId;

/// How long a heartbeat is valid.
const TTL: Duration = Duration::from_secs(6);
/// How long a process whose lock is held counts as alive.
const HELD: Duration = Duration::from_mins(1);

/// The state that outlives processes.
#[derive(Default)]
pub(crate) struct MemoryStore {
    tables: Mutex<Tables>,
    /// How many times a journal was read from the beginning.
    loads: AtomicUsize,
}

impl MemoryStore {
    pub(crate) fn loads(&self) -> usize {
        self.loads.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore")
    }
}

#[derive(Default)]
struct Tables {
    runs: BTreeMap<RunId, Row>,
    /// Runs in the order in which they were recorded.
    order: Vec<RunId>,
    texts: BTreeMap<Digest, String>,
    inbox: Vec<InboxRow>,
    /// The last heartbeat of each holder, on the monotonic clock.
    holders: BTreeMap<HolderId, Duration>,
    /// Holders whose process is known to have ended.
    gone: BTreeSet<HolderId>,
    listeners: Vec<(Weak<()>, Wake)>,
}

/// A point in time, and the rule for taking over runs at that point.
type Glance = (Duration, Takeover);

struct Row {
    record: RunRecord,
    entries: Vec<JournalEntry>,
    holder: Option<HolderId>,
    epoch: u64,
}

struct InboxRow {
    id: MessageId,
    run: RunId,
    signal: Signal,
    answer: Option<Reply>,
}

impl Tables {
    fn row(&self, run: &RunId) -> Result<&Row, JournalError> {
        self.runs.get(run).ok_or_else(|| JournalError::NotFound { run: run.clone() })
    }

    fn row_mut(&mut self, run: &RunId) -> Result<&mut Row, JournalError> {
        self.runs.get_mut(run).ok_or_else(|| JournalError::NotFound { run: run.clone() })
    }

    fn is_alive(&self, holder: &HolderId, glance: Glance) -> bool {
        let (now, takeover) = glance;
        let last = self.holders.get(holder).filter(|_| !self.gone.contains(holder));
        last.is_some_and(|last| takeover == Takeover::Free || now.saturating_sub(*last) < HELD)
    }

    fn is_driven(&self, row: &Row, glance: Glance) -> bool {
        row.holder.as_ref().is_some_and(|holder| self.is_alive(holder, glance))
    }

    fn is_due(&self, row: &Row, now_ms: u64) -> bool {
        let standing = &row.record.standing;
        let told = |one: &InboxRow| one.run == row.record.id && one.answer.is_none();
        standing.status.is_moving()
            || standing.wake_ms.is_some_and(|at| at <= now_ms)
            || self.inbox.iter().any(told)
    }

    fn let_go(&mut self, holder: &HolderId) {
        for row in self.runs.values_mut().filter(|row| row.holder.as_ref() == Some(holder)) {
            row.holder = None;
        }
        self.holders.remove(holder);
    }

    fn create(&mut self, run: NewRun, holder: &HolderId) -> Created {
        let NewRun { record, text, entries, .. } = run;
        let run = record.id.clone();
        if self.runs.contains_key(&run) {
            return Created { already: true, lease: None };
        }
        follow(0, &entries);
        self.texts.insert(record.text, text);
        let row = Row { record, entries, holder: Some(holder.clone()), epoch: 1 };
        self.order.push(run.clone());
        self.runs.insert(run.clone(), row);
        let lease = Lease { run, holder: holder.clone(), epoch: 1 };
        Created { already: false, lease: Some(lease) }
    }

    fn append(&mut self, what: Append) -> Result<(), JournalError> {
        let Append { lease, after_seq, entries, standing, answers, .. } = what;
        let row = self.row_mut(&lease.run)?;
        if row.holder.as_ref() != Some(&lease.holder) || row.epoch != lease.epoch {
            return Err(JournalError::Fenced { run: lease.run });
        }
        if row.record.last_seq != after_seq {
            return Err(JournalError::OutOfOrder { run: lease.run, last: row.record.last_seq });
        }
        follow(after_seq, &entries);
        let before = row.entries.last().map_or(0, |entry| entry.at_ms);
        assert!(entries.first().is_none_or(|entry| entry.at_ms >= before), "time goes back");
        row.record.last_seq += entries.len() as u64;
        row.entries.extend(entries);
        row.record.standing = standing;
        for (id, reply) in answers {
            let of = |one: &&mut InboxRow| one.id == id && one.run == lease.run;
            // The first answer is kept.
            if let Some(one) = self.inbox.iter_mut().find(of) {
                one.answer.get_or_insert(reply);
            }
        }
        Ok(())
    }

    fn take(
        &mut self,
        run: &RunId,
        holder: &HolderId,
        glance: Glance,
    ) -> Result<Option<Lease>, JournalError> {
        let row = self.row(run)?;
        if row.holder.as_ref() != Some(holder) && self.is_driven(row, glance) {
            return Ok(None);
        }
        let row = self.row_mut(run)?;
        row.holder = Some(holder.clone());
        row.epoch += 1;
        Ok(Some(Lease { run: run.clone(), holder: holder.clone(), epoch: row.epoch }))
    }

    fn send(&mut self, run: &RunId, id: &MessageId, signal: &Signal) -> Result<Sent, JournalError> {
        self.row(run)?;
        match self.inbox.iter().find(|one| one.id == *id) {
            Some(one) if one.run != *run => Err(JournalError::OtherRun { run: run.clone() }),
            Some(one) if one.signal != *signal => Ok(Sent::Other),
            Some(_) => Ok(Sent::Same),
            None => {
                let (id, run, signal) = (id.clone(), run.clone(), signal.clone());
                self.inbox.push(InboxRow { id, run, signal, answer: None });
                Ok(Sent::New)
            }
        }
    }

    fn list(&self, filter: &RunFilter, limit: usize) -> RunPage {
        let before = filter.before.map_or(u64::MAX, |cursor| cursor.0);
        let fits = |record: &RunRecord| {
            let ended = record.standing.ended_ms.is_some();
            filter.status.is_none_or(|status| status == record.standing.status)
                && filter.workflow.as_ref().is_none_or(|one| *one == record.workflow)
                && filter.workspace.as_ref().is_none_or(|one| *one == record.workspace)
                && filter.actor.as_ref().is_none_or(|one| *one == record.actor)
                && filter.parent.as_ref().is_none_or(|one| Some(one) == record.parent.as_ref())
                && !(filter.open_only && ended)
        };
        let newest = self.order.iter().enumerate().rev();
        let older = newest.filter(|(number, _)| (*number as u64) < before);
        let mut found = older.filter_map(|(number, run)| {
            let record = &self.runs.get(run)?.record;
            fits(record).then(|| (number as u64, record.clone()))
        });
        let page: Vec<(u64, RunRecord)> = found.by_ref().take(limit).collect();
        let more = found.next().is_some();
        let next = page.last().filter(|_| more).map(|(number, _)| Cursor(*number));
        let runs = page.into_iter().map(|(_, record)| record).collect();
        RunPage { runs, unreadable: 0, next }
    }

    fn tally(&self) -> RunCounts {
        let (mut runs, mut waiting) = (BTreeMap::new(), BTreeMap::new());
        for row in self.runs.values() {
            let standing = &row.record.standing;
            *runs.entry(standing.status.name().to_owned()).or_default() += 1;
            if standing.status == RunStatus::Waiting {
                let words = standing.waiting.as_deref().unwrap_or_default();
                let first = words.split([' ', ',']).next().unwrap_or_default();
                *waiting.entry(first.to_owned()).or_default() += 1;
            }
        }
        let inbox = self.inbox.iter().filter(|one| one.answer.is_none()).count() as u64;
        RunCounts {
            runs: runs.into_iter().collect(),
            waiting: waiting.into_iter().collect(),
            inbox,
        }
    }
}

/// Asserts that the entries are numbered consecutively.
fn follow(after: u64, entries: &[JournalEntry]) {
    for (entry, seq) in entries.iter().zip(after + 1..) {
        assert_eq!(entry.seq, seq, "events follow one another");
    }
}

/// One process's view of the store. Dropping it means that the process has ended and that everyone
/// knows, as when the operating system releases a lock.
pub(crate) struct MemoryJournal {
    store: Arc<MemoryStore>,
    clock: WallClock,
    monotonic: MonotonicClock,
    holders: Mutex<Vec<HolderId>>,
}

impl fmt::Debug for MemoryJournal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryJournal")
    }
}

impl Drop for MemoryJournal {
    fn drop(&mut self) {
        let holders = std::mem::take(&mut *lock(&self.holders));
        self.tables().gone.extend(holders);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl MemoryJournal {
    pub(crate) fn new(
        store: Arc<MemoryStore>,
        clock: WallClock,
        monotonic: MonotonicClock,
    ) -> MemoryJournal {
        MemoryJournal { store, clock, monotonic, holders: Mutex::default() }
    }

    fn tables(&self) -> MutexGuard<'_, Tables> {
        lock(&self.store.tables)
    }

    fn now_ms(&self) -> u64 {
        (self.clock)()
    }
}

fn done<'a, T: Send + 'a>(result: Result<T, JournalError>) -> JournalFuture<'a, T> {
    Box::pin(ready(result))
}

impl Journal for MemoryJournal {
    fn create<'a>(&'a self, run: NewRun, holder: &'a HolderId) -> JournalFuture<'a, Created> {
        done(Ok(self.tables().create(run, holder)))
    }

    fn append(&self, what: Append) -> JournalFuture<'_, ()> {
        done(self.tables().append(what))
    }

    fn take<'a>(
        &'a self,
        run: &'a RunId,
        holder: &'a HolderId,
        takeover: Takeover,
    ) -> JournalFuture<'a, Option<Lease>> {
        done(self.tables().take(run, holder, ((self.monotonic)(), takeover)))
    }

    fn release(&self, lease: Lease) -> JournalFuture<'_, ()> {
        let mut tables = self.tables();
        done(tables.row_mut(&lease.run).map(|row| {
            if row.holder.as_ref() == Some(&lease.holder) && row.epoch == lease.epoch {
                row.holder = None;
            }
        }))
    }

    fn announce<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, Duration> {
        lock(&self.holders).push(holder.clone());
        self.beat(holder)
    }

    fn beat<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, Duration> {
        self.tables().holders.insert(holder.clone(), (self.monotonic)());
        done(Ok(TTL))
    }

    fn disown<'a>(&'a self, holder: &'a HolderId, driven: Vec<RunId>) -> JournalFuture<'a, ()> {
        let mut tables = self.tables();
        for row in tables.runs.values_mut().filter(|row| row.holder.as_ref() == Some(holder)) {
            if !driven.contains(&row.record.id) {
                row.holder = None;
            }
        }
        done(Ok(()))
    }

    fn leave<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, ()> {
        self.tables().let_go(holder);
        done(Ok(()))
    }

    fn withdraw(&self, holder: &HolderId) {
        self.tables().let_go(holder);
    }

    fn send<'a>(
        &'a self,
        run: &'a RunId,
        id: &'a MessageId,
        signal: &'a Signal,
    ) -> JournalFuture<'a, Sent> {
        done(self.tables().send(run, id, signal))
    }

    fn pending<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, Vec<InboxMessage>> {
        let tables = self.tables();
        let open = tables.inbox.iter().filter(|one| one.run == *run && one.answer.is_none());
        let open =
            open.map(|one| InboxMessage { id: one.id.clone(), signal: Ok(one.signal.clone()) });
        done(Ok(open.collect()))
    }

    fn answer<'a>(&'a self, id: &'a MessageId) -> JournalFuture<'a, Option<Reply>> {
        let tables = self.tables();
        done(Ok(tables.inbox.iter().find(|one| one.id == *id).and_then(|one| one.answer.clone())))
    }

    fn orphaned<'a>(
        &'a self,
        after: Option<&'a RunId>,
        limit: usize,
        takeover: Takeover,
    ) -> JournalFuture<'a, Vec<RunId>> {
        let (tables, now_ms) = (self.tables(), self.now_ms());
        let glance = ((self.monotonic)(), takeover);
        let first = after.and_then(|after| tables.order.iter().position(|run| run == after));
        let rows = tables.order.iter().skip(first.map_or(0, |first| first + 1));
        let rows = rows.filter_map(|run| tables.runs.get(run));
        let due = rows.filter(|row| !tables.is_driven(row, glance) && tables.is_due(row, now_ms));
        done(Ok(due.take(limit).map(|row| row.record.id.clone()).collect()))
    }

    fn dated_ahead(&self, limit: usize) -> JournalFuture<'_, Vec<RunId>> {
        let (tables, now_ms) = (self.tables(), self.now_ms());
        let ahead = tables.runs.values().map(|row| &row.record).filter(|record| {
            let standing = &record.standing;
            standing.is_asleep()
                && standing.updated_ms > now_ms
                && standing.wake_ms.is_some_and(|at| at > now_ms)
        });
        done(Ok(ahead.take(limit).map(|record| record.id.clone()).collect()))
    }

    fn next_wake(&self) -> JournalFuture<'_, Option<u64>> {
        let (tables, now_ms) = (self.tables(), self.now_ms());
        let times = tables.runs.values().filter_map(|row| row.record.standing.wake_ms);
        done(Ok(times.filter(|at| *at > now_ms).min()))
    }

    fn is_driven<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, bool> {
        let (tables, now_ms) = (self.tables(), self.now_ms());
        let glance = ((self.monotonic)(), Takeover::Silent);
        done(tables.row(run).map(|row| {
            let standing = &row.record.standing;
            let asleep = standing.is_asleep() && standing.wake_ms.is_some_and(|at| at > now_ms);
            let woken = || tables.holders.keys().any(|one| tables.is_alive(one, glance));
            tables.is_driven(row, glance) || (row.holder.is_none() && asleep && woken())
        }))
    }

    fn run<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, RunRecord> {
        done(self.tables().row(run).map(|row| row.record.clone()))
    }

    fn events<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
        limit: usize,
    ) -> JournalFuture<'a, EventPage> {
        if after == 0 {
            self.store.loads.fetch_add(1, Ordering::Relaxed);
        }
        let tables = self.tables();
        done(tables.row(run).map(|row| {
            let known = usize::try_from(after).unwrap_or(usize::MAX);
            let behind = row.entries.get(known..).unwrap_or_default();
            let entries: Vec<JournalEntry> = behind.iter().take(limit).cloned().collect();
            EventPage { more: entries.len() < behind.len(), entries }
        }))
    }

    fn text(&self, hash: Digest) -> JournalFuture<'_, Option<String>> {
        done(Ok(self.tables().texts.get(&hash).cloned()))
    }

    fn keep_text(&self, text: String) -> JournalFuture<'_, ()> {
        self.tables().texts.insert(Digest::of(text.as_bytes()), text);
        done(Ok(()))
    }

    fn list<'a>(&'a self, filter: &'a RunFilter, limit: usize) -> JournalFuture<'a, RunPage> {
        done(Ok(self.tables().list(filter, limit)))
    }

    fn find_prefix<'a>(&'a self, text: &'a str) -> JournalFuture<'a, Vec<RunId>> {
        let begins = |run: &&RunId| {
            let id = run.as_str();
            id.starts_with(text) || id.trim_start_matches("run_").starts_with(text)
        };
        done(Ok(self.tables().runs.keys().filter(begins).cloned().collect()))
    }

    fn tally(&self) -> JournalFuture<'_, RunCounts> {
        done(Ok(self.tables().tally()))
    }

    fn health(&self) -> JournalFuture<'_, ()> {
        done(Ok(()))
    }

    fn has_failed(&self) -> bool {
        false
    }

    fn exists(&self) -> bool {
        !self.tables().runs.is_empty()
    }
}

impl Dispatch for MemoryJournal {
    fn notify<'a>(&'a self, _: &'a RunId) -> JournalFuture<'a, ()> {
        let mut tables = self.tables();
        tables.listeners.retain(|(subscribed, _)| subscribed.strong_count() > 0);
        let wakes: Vec<Wake> = tables.listeners.iter().map(|(_, wake)| Arc::clone(wake)).collect();
        drop(tables);
        wakes.iter().for_each(|wake| wake());
        done(Ok(()))
    }

    fn subscribe<'a>(&'a self, _: &'a HolderId, wake: Wake) -> JournalFuture<'a, Subscription> {
        let subscribed = Arc::new(());
        self.tables().listeners.push((Arc::downgrade(&subscribed), wake));
        done(Ok(Subscription::new(subscribed)))
    }
}

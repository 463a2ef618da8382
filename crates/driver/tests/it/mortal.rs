//! A journal as seen by a process that dies: its writes remain, and after its death nothing is
//! answered.
//!
//! It also stops a paused clock while the journal works, because real disks take real time:
//! otherwise hours would pass during every write.

use std::pin::pin;
use std::sync::mpsc;
use std::task::Poll;
use std::time::Duration;

use milepost_engine::ports::{
    Append, Created, Dispatch, EventPage, HolderId, InboxMessage, Journal, JournalFuture, Lease,
    MessageId, NewRun, RunCounts, RunFilter, RunPage, RunRecord, Sent, Subscription, Takeover,
    Wake,
};
use milepost_engine::signal::{Reply, Signal};
use milepost_model::digest::Digest;
use milepost_model::id::RunId;

use crate::life::Life;

/// A journal used by one process.
#[derive(Debug)]
pub(crate) struct Mortal<J> {
    journal: J,
    life: Life,
}

impl<J: Send + Sync> Mortal<J> {
    pub(crate) fn new(journal: J, life: Life) -> Mortal<J> {
        Mortal { journal, life }
    }

    /// An operation that is durable once it is done.
    fn write<'a, T: Send + 'a>(
        &'a self,
        write: impl FnOnce() -> JournalFuture<'a, T> + Send + 'a,
    ) -> JournalFuture<'a, T> {
        Box::pin(async move {
            self.life.writes_next().await;
            let done = still(write()).await;
            self.life.wrote().await;
            done
        })
    }

    fn read<'a, T: Send + 'a>(
        &'a self,
        read: impl FnOnce() -> JournalFuture<'a, T> + Send + 'a,
    ) -> JournalFuture<'a, T> {
        Box::pin(async move {
            self.life.lives().await;
            let done = still(read()).await;
            self.life.lives().await;
            done
        })
    }
}

/// Waits for something that happens in real time. A runtime's clock does not advance while one of
/// its blocking tasks is running.
async fn still<T>(work: JournalFuture<'_, T>) -> Result<T, milepost_engine::ports::JournalError> {
    let mut work = pin!(work);
    let first = std::future::poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
    if let Poll::Ready(done) = first {
        return done;
    }
    let (working, worked) = mpsc::channel::<()>();
    let holding = tokio::task::spawn_blocking(move || worked.recv());
    let done = work.await;
    drop(working);
    drop(holding.await);
    done
}

impl<J: Journal> Journal for Mortal<J> {
    fn create<'a>(&'a self, run: NewRun, holder: &'a HolderId) -> JournalFuture<'a, Created> {
        self.write(move || self.journal.create(run, holder))
    }

    fn append(&self, what: Append) -> JournalFuture<'_, ()> {
        self.write(move || self.journal.append(what))
    }

    fn take<'a>(
        &'a self,
        run: &'a RunId,
        holder: &'a HolderId,
        takeover: Takeover,
    ) -> JournalFuture<'a, Option<Lease>> {
        self.write(move || self.journal.take(run, holder, takeover))
    }

    fn release(&self, lease: Lease) -> JournalFuture<'_, ()> {
        self.write(move || self.journal.release(lease))
    }

    fn announce<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, Duration> {
        self.read(move || self.journal.announce(holder))
    }

    fn beat<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, Duration> {
        self.read(move || self.journal.beat(holder))
    }

    fn disown<'a>(&'a self, holder: &'a HolderId, driven: Vec<RunId>) -> JournalFuture<'a, ()> {
        self.read(move || self.journal.disown(holder, driven))
    }

    fn leave<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, ()> {
        self.write(move || self.journal.leave(holder))
    }

    fn withdraw(&self, holder: &HolderId) {
        // A dead process no longer withdraws.
        if !self.life.is_dead() {
            self.journal.withdraw(holder);
        }
    }

    fn send<'a>(
        &'a self,
        run: &'a RunId,
        id: &'a MessageId,
        signal: &'a Signal,
    ) -> JournalFuture<'a, Sent> {
        self.write(move || self.journal.send(run, id, signal))
    }

    fn pending<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, Vec<InboxMessage>> {
        self.read(move || self.journal.pending(run))
    }

    fn answer<'a>(&'a self, id: &'a MessageId) -> JournalFuture<'a, Option<Reply>> {
        self.read(move || self.journal.answer(id))
    }

    fn orphaned<'a>(
        &'a self,
        after: Option<&'a RunId>,
        limit: usize,
        takeover: Takeover,
    ) -> JournalFuture<'a, Vec<RunId>> {
        self.read(move || self.journal.orphaned(after, limit, takeover))
    }

    fn dated_ahead(&self, limit: usize) -> JournalFuture<'_, Vec<RunId>> {
        self.read(move || self.journal.dated_ahead(limit))
    }

    fn next_wake(&self) -> JournalFuture<'_, Option<u64>> {
        self.read(move || self.journal.next_wake())
    }

    fn is_driven<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, bool> {
        self.read(move || self.journal.is_driven(run))
    }

    fn run<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, RunRecord> {
        self.read(move || self.journal.run(run))
    }

    fn events<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
        limit: usize,
    ) -> JournalFuture<'a, EventPage> {
        self.read(move || self.journal.events(run, after, limit))
    }

    fn text(&self, hash: Digest) -> JournalFuture<'_, Option<String>> {
        self.read(move || self.journal.text(hash))
    }

    fn keep_text(&self, text: String) -> JournalFuture<'_, ()> {
        self.write(move || self.journal.keep_text(text))
    }

    fn list<'a>(&'a self, filter: &'a RunFilter, limit: usize) -> JournalFuture<'a, RunPage> {
        self.read(move || self.journal.list(filter, limit))
    }

    fn find_prefix<'a>(&'a self, text: &'a str) -> JournalFuture<'a, Vec<RunId>> {
        self.read(move || self.journal.find_prefix(text))
    }

    fn tally(&self) -> JournalFuture<'_, RunCounts> {
        self.read(move || self.journal.tally())
    }

    fn health(&self) -> JournalFuture<'_, ()> {
        self.read(move || self.journal.health())
    }

    fn has_failed(&self) -> bool {
        self.journal.has_failed()
    }

    fn exists(&self) -> bool {
        self.journal.exists()
    }
}

impl<J: Dispatch> Dispatch for Mortal<J> {
    fn notify<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, ()> {
        self.read(move || self.journal.notify(run))
    }

    fn subscribe<'a>(
        &'a self,
        holder: &'a HolderId,
        wake: Wake,
    ) -> JournalFuture<'a, Subscription> {
        self.read(move || self.journal.subscribe(holder, wake))
    }
}

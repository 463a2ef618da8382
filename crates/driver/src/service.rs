//! What the rest of the product can do with runs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use milepost_engine::StepKey;
use milepost_engine::event::JournalEntry;
use milepost_engine::ports::{BoxFuture, MessageId, PreparedRun, RunCounts, RunFilter, RunPage};
use milepost_engine::signal::{Reply, Signal};
use milepost_engine::state::{Status, StepStatus};
use milepost_model::id::RunId;

use crate::{RunError, Snapshot};

/// What a service answers.
pub type RunFuture<'a, T> = BoxFuture<'a, Result<T, RunError>>;

/// Runs, for those who only look: nothing here starts, changes or acquires one.
pub trait RunReader: Send + Sync + fmt::Debug {
    /// A run by its id or a prefix of it.
    fn find<'a>(&'a self, named: &'a str) -> RunFuture<'a, RunId>;

    /// A run as it is in the journal now.
    fn snapshot<'a>(&'a self, run: &'a RunId) -> RunFuture<'a, Snapshot>;

    /// Waits until a run has changed.
    fn wait<'a>(&'a self, run: &'a RunId, wait: WaitOptions) -> RunFuture<'a, ()>;

    /// A run once it has ended or waits for somebody, at most after a time. Until then `told` hears
    /// of the step it is at.
    fn follow<'a>(
        &'a self,
        run: &'a RunId,
        patience: Duration,
        told: &'a (dyn Fn(&StepKey, StepStatus) + Sync),
    ) -> RunFuture<'a, Snapshot>;

    /// What happened in a run behind an event.
    fn events<'a>(&'a self, run: &'a RunId, after: u64) -> RunFuture<'a, RunUpdates>;

    /// Runs, newest first.
    fn list<'a>(&'a self, filter: &'a RunFilter, limit: usize) -> RunFuture<'a, RunPage>;

    /// Whether a run has something to do and no living process drives it.
    fn is_orphaned<'a>(&'a self, run: &'a RunId) -> RunFuture<'a, bool>;

    /// How many runs there are, from the index alone.
    fn tally(&self) -> RunFuture<'_, RunCounts>;

    /// Whether the journal answers.
    fn health(&self) -> RunFuture<'_, ()>;
}

/// All that the rest of the product can do with runs. A process has at most one.
pub trait RunService: RunReader {
    /// Starts a run. When this resolves it is durable, and driven by this process. A run with this
    /// id that exists already stays as it is.
    fn start(&self, run: PreparedRun) -> RunFuture<'_, RunId>;

    /// Tells a run something. The message is durable before anything else happens; the answer is
    /// `None` when the run has not taken it in before the patience ran out.
    fn send<'a>(&'a self, run: &'a RunId, what: SignalRequest) -> RunFuture<'a, Option<Reply>>;

    /// Drives a run if nobody does; whether this process drives it now.
    fn acquire<'a>(&'a self, run: &'a RunId) -> RunFuture<'a, bool>;

    /// Drives runs that have something to do and that nobody drives.
    fn adopt_orphans(&self) -> RunFuture<'_, ()>;

    /// Waits until no run that this process drives goes on by itself.
    fn idle(&self) -> BoxFuture<'_, ()>;

    /// Waits until whatever one run tells another has arrived.
    fn delivered(&self) -> BoxFuture<'_, ()>;

    /// Releases every run, for a process that ends: nothing new begins, and a request that must not
    /// be sent again is seen through, for as long as the grace allows. After that, the leases are
    /// given back at once.
    fn shutdown(&self, grace: Duration) -> RunFuture<'_, ()>;
}

/// Something that is told to a run.
#[derive(Debug, Clone)]
pub struct SignalRequest {
    /// What.
    pub signal: Signal,
    /// Its identity: telling it twice is telling it once. A new one where there is none.
    pub id: Option<MessageId>,
    /// A text that the signal refers to by its hash.
    pub text: Option<String>,
    /// How long the run has to take it in.
    pub patience: Duration,
}

/// What is waited for.
#[derive(Debug, Clone, Copy)]
pub struct WaitOptions {
    /// The last event that is known.
    pub after: u64,
    /// What ends the wait besides a later event.
    pub until: Until,
    /// How long at most.
    pub patience: Duration,
    /// Once something happened, how much longer to gather what follows at once.
    pub gather: Duration,
}

/// What ends a wait besides a later event and the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// Nothing.
    NextEvent,
    /// The run has come to rest, also where that is no event of its own.
    Rest,
}

/// What happened in a run behind an event, and its status after that.
#[derive(Debug)]
pub struct RunUpdates {
    /// The events.
    pub entries: Vec<Arc<JournalEntry>>,
    /// What the placeholders for the run's secrets are made with.
    pub nonce: String,
    /// The status of the run after them.
    pub status: Status,
}

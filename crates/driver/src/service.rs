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

/// The result of a service call.
pub type RunFuture<'a, T> = BoxFuture<'a, Result<T, RunError>>;

/// Read-only access to runs: nothing here starts, changes or acquires one.
pub trait RunReader: Send + Sync + fmt::Debug {
    /// Finds a run by its id or a prefix of it.
    fn find<'a>(&'a self, named: &'a str) -> RunFuture<'a, RunId>;

    /// A run's current state in the journal.
    fn snapshot<'a>(&'a self, run: &'a RunId) -> RunFuture<'a, Snapshot>;

    /// Waits until a run has changed.
    fn wait<'a>(&'a self, run: &'a RunId, wait: WaitOptions) -> RunFuture<'a, ()>;

    /// Waits until a run has ended or is waiting for somebody, up to a timeout, and returns it.
    /// Until then, `told` is called for each step that it reaches.
    fn follow<'a>(
        &'a self,
        run: &'a RunId,
        patience: Duration,
        told: &'a (dyn Fn(&StepKey, StepStatus) + Sync),
    ) -> RunFuture<'a, Snapshot>;

    /// A run's events after a sequence number.
    fn events<'a>(&'a self, run: &'a RunId, after: u64) -> RunFuture<'a, RunUpdates>;

    /// Lists runs, newest first.
    fn list<'a>(&'a self, filter: &'a RunFilter, limit: usize) -> RunFuture<'a, RunPage>;

    /// Whether a run has something to do but is not driven by any live process.
    fn is_orphaned<'a>(&'a self, run: &'a RunId) -> RunFuture<'a, bool>;

    /// The number of runs, from the index alone.
    fn tally(&self) -> RunFuture<'_, RunCounts>;

    /// Checks that the journal responds.
    fn health(&self) -> RunFuture<'_, ()>;
}

/// Everything that the rest of the product can do with runs. A process has at most one service.
pub trait RunService: RunReader {
    /// Starts a run. When this resolves, the run is durable and driven by this process. If a run
    /// with this id already exists, it is left as it is.
    fn start(&self, run: PreparedRun) -> RunFuture<'_, RunId>;

    /// Sends a message to a run. The message is durable before anything else happens; the answer is
    /// `None` if the run has not accepted it within the timeout.
    fn send<'a>(&'a self, run: &'a RunId, what: SignalRequest) -> RunFuture<'a, Option<Reply>>;

    /// Starts driving a run, unless another process is driving it; returns whether this process is
    /// driving it now.
    fn acquire<'a>(&'a self, run: &'a RunId) -> RunFuture<'a, bool>;

    /// Drives orphaned runs that have something to do.
    fn adopt_orphans(&self) -> RunFuture<'_, ()>;

    /// Waits until no run in this process can continue on its own.
    fn idle(&self) -> BoxFuture<'_, ()>;

    /// Waits until all messages between runs have arrived.
    fn delivered(&self) -> BoxFuture<'_, ()>;

    /// Releases every run before the process exits. No new work is started, and requests that must
    /// not be repeated may take up to the grace period to complete. After that, the leases are
    /// given up immediately.
    fn shutdown(&self, grace: Duration) -> RunFuture<'_, ()>;
}

/// A message for a run.
#[derive(Debug, Clone)]
pub struct SignalRequest {
    pub signal: Signal,
    /// The message id: sending two messages with the same id has the same effect as sending one.
    /// `None` generates a new one.
    pub id: Option<MessageId>,
    /// A source that the signal refers to by its hash.
    pub text: Option<String>,
    /// How long to wait for the run to accept the message.
    pub patience: Duration,
}

#[derive(Debug, Clone, Copy)]
pub struct WaitOptions {
    /// The last known event.
    pub after: u64,
    /// What ends the wait besides a later event.
    pub until: Until,
    /// The timeout.
    pub patience: Duration,
    /// How much longer to wait after an event, to collect the ones that follow immediately.
    pub gather: Duration,
}

/// What ends a wait besides a later event and the timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// No other condition.
    NextEvent,
    /// The run is only waiting for child runs that are waiting for somebody; none of its events
    /// record this.
    Rest,
}

/// A run's new events, and its status after them.
#[derive(Debug)]
pub struct RunUpdates {
    pub entries: Vec<Arc<JournalEntry>>,
    /// The nonce in the placeholders for the run's secrets.
    pub nonce: String,
    /// The status of the run after these events.
    pub status: Status,
}

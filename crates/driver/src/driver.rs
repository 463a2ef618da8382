//! This process's driver: it acquires runs, drives each in its own task, and sends messages to runs
//! that other processes are driving.

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use milepost_engine::event::{Event, JournalEntry, RunCreated};
use milepost_engine::interpreter::{Decision, Interpreter, InterpreterInput};
use milepost_engine::ports::{
    BoxFuture, Created, Dispatch, HolderId, InboxMessage, Journal, MessageId, NewRun, OpenWorld,
    PinnedText, PreparedRun, RequestSender, RunRecord, Subscription, WorldPin,
};
use milepost_engine::signal::{Reply, Signal};
use milepost_engine::state::State;
use milepost_engine::view;
use milepost_engine::world::RunWorld;
use milepost_model::digest::Digest;
use milepost_model::id::RunId;
use tokio::sync::{OnceCell, RwLock, Semaphore};
use tokio::time::Instant;
use tracing::Instrument;

use crate::active::{ActiveRun, WrittenRun};
use crate::children::failure_of;
use crate::clock::{MonotonicClock, RunClock, WallClock};
use crate::heartbeat::Heartbeat;
use crate::missing_world::MissingWorldSender;
use crate::run_task::{RunHold, RunTask};
use crate::service::{RunFuture, RunService, SignalRequest};
use crate::{RunError, RunWatcher, ids, limits, load, trace};

/// Drives the runs in a journal from this process. Clones share the driver.
#[derive(Debug, Clone)]
pub struct Driver {
    pub(crate) inner: Arc<DriverInner>,
}

/// A driver's dependencies.
pub struct DriverPorts {
    /// Where runs are stored.
    pub journal: Arc<dyn Journal>,
    /// How other processes are woken.
    pub dispatch: Arc<dyn Dispatch>,
    /// How requests are sent.
    pub sender: Arc<dyn RequestSender>,
    /// The reader of runs, over the same journal.
    pub watcher: Arc<RunWatcher>,
    /// The wall clock.
    pub clock: WallClock,
    /// A monotonic clock that does not stop while the machine sleeps.
    pub monotonic: MonotonicClock,
}

pub(crate) struct DriverInner {
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) dispatch: Arc<dyn Dispatch>,
    pub(crate) sender: Arc<dyn RequestSender>,
    pub(crate) watcher: Arc<RunWatcher>,
    pub(crate) clock: WallClock,
    pub(crate) holder: HolderId,
    /// Initialized once this process has announced itself to others.
    pub(crate) announced: OnceCell<()>,
    /// Whether this process is shutting down, so that it starts no new work.
    ends: AtomicBool,
    /// Tracks whether this process may still start new work.
    pub(crate) heartbeat: Arc<Heartbeat>,
    /// Read-locked while a lease is being handed to a task, so that it is not mistaken for a lost
    /// one.
    pub(crate) acquiring: RwLock<()>,
    /// Held while a run is acquired, because two requests for the same lease would take it from
    /// each other.
    claims: [tokio::sync::Mutex<()>; limits::CLAIMS],
    /// Limits how many runs are woken at the same time.
    pub(crate) waking: Arc<Semaphore>,
    /// Where the last sweep for orphaned runs stopped.
    pub(crate) swept: tokio::sync::Mutex<Option<RunId>>,
    pub(crate) subscription: Mutex<Option<Subscription>>,
}

/// What is known about a run before its lease is requested.
struct Known {
    head: RunCreated,
    world: OpenWorld,
    /// Whether its world is missing, so that it is acquired only to be canceled or moved.
    lacks_world: bool,
}

impl fmt::Debug for DriverInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Driver").field("holder", &self.holder).finish_non_exhaustive()
    }
}

impl Drop for DriverInner {
    /// A process that exits in an orderly way leaves nothing behind for others to check.
    fn drop(&mut self) {
        if self.announced.initialized() {
            self.journal.withdraw(&self.holder);
        }
    }
}

impl Driver {
    /// Creates a driver. It opens nothing and announces nothing before the first run is driven.
    pub fn new(ports: DriverPorts) -> Result<Driver, RunError> {
        let DriverPorts { journal, dispatch, sender, watcher, clock, monotonic } = ports;
        let heartbeat = Arc::new(Heartbeat::new(monotonic, Arc::clone(&clock)));
        let inner = DriverInner {
            journal,
            dispatch,
            sender,
            watcher,
            clock,
            holder: ids::new_holder()?,
            announced: OnceCell::new(),
            ends: AtomicBool::new(false),
            heartbeat,
            acquiring: RwLock::default(),
            claims: std::array::from_fn(|_| tokio::sync::Mutex::default()),
            waking: Arc::new(Semaphore::new(limits::WOKEN)),
            swept: tokio::sync::Mutex::default(),
            subscription: Mutex::default(),
        };
        Ok(Driver { inner: Arc::new(inner) })
    }

    pub(crate) fn now_ms(&self) -> u64 {
        (self.inner.clock)()
    }

    /// The clock for a run whose last event was at this time.
    pub(crate) fn clock_of(&self, last_ms: u64) -> RunClock {
        RunClock::of(&self.inner.clock, last_ms)
    }

    pub(crate) async fn start_run(&self, prepared: PreparedRun) -> Result<RunId, RunError> {
        let inner = &self.inner;
        let _acquiring = inner.acquiring.read().await;
        let permit = self.permit().await?;
        let now = self.now_ms();
        let event = Event::RunCreated(Box::new(prepared.created));
        let first = JournalEntry { seq: 1, at_ms: now, event };
        let state = State::begin(&first)?;
        let parent = state.head.parent.clone();
        let sender = self.world(&prepared.id, &state.head).await?.sender;
        let mut interpreter = Interpreter::load(prepared.flow, state);
        let decision = interpreter.handle(InterpreterInput::Tick, now, &*sender)?;
        let mut entries = vec![first];
        entries.extend(decision.entries.iter().cloned());
        let head = &interpreter.state().head;
        let record = RunRecord {
            id: prepared.id.clone(),
            workflow: prepared.workflow,
            title: prepared.title,
            text: Digest::of(prepared.text.as_bytes()),
            actor: view::who(&head.actor),
            workspace: head.workspace.clone(),
            parent: parent.and_then(|parent| RunId::parse(&parent.run).ok()),
            durability: prepared.durability,
            created_ms: now,
            standing: load::standing(&interpreter),
            last_seq: entries.last().map_or(0, |entry| entry.seq),
            quarantined: false,
        };
        let (text, pinned) = (prepared.text, prepared.pinned);
        let new = NewRun { record, text, pinned, entries: entries.clone() };
        let Created { already, lease } = inner.journal.create(new, &inner.holder).await?;
        trace::started(&prepared.id, &interpreter.state().head.workflow, already);
        if let Some(lease) = lease.filter(|_| !already) {
            trace::happened(&entries);
            let left = Decision { effects: decision.effects, ..Decision::default() };
            let (flow, state) = (interpreter.flow().clone(), interpreter.state().clone());
            let (id, durability) = (prepared.id.clone(), prepared.durability);
            let written = WrittenRun::new(id, flow, state, durability).with(entries);
            let (least_ms, lacks_world) = (now, false);
            let hold = RunHold { lease, permit, sender, durability, least_ms, lacks_world };
            self.spawn(hold, interpreter, left, written);
        }
        Ok(prepared.id)
    }

    /// Starts driving a run, unless another process is driving it; returns whether this process is
    /// driving it now.
    pub(crate) async fn acquire_run(&self, run: &RunId) -> Result<bool, RunError> {
        self.acquire_at(run, 0).await
    }

    /// Like [`Driver::acquire_run`], with a lower bound for the run's time: the wall clock may have
    /// been set back while it slept.
    pub(crate) async fn acquire_at(&self, run: &RunId, least_ms: u64) -> Result<bool, RunError> {
        if self.active(run).is_some() {
            return Ok(true);
        }
        let _claim = self.claim(run).lock().await;
        if self.active(run).is_some() {
            return Ok(true);
        }
        if self.ends() {
            return Ok(false);
        }
        // A run whose world is missing is left to others, unless it is to be canceled or moved.
        let head = self.inner.watcher.head(run).await?;
        let (world, lacks_world) = match self.world(run, &head).await {
            Err(error) => (self.without_world(run, error).await?, true),
            Ok(opened) => (opened, false),
        };
        let _acquiring = self.inner.acquiring.read().await;
        let least_ms = self.inner.watcher.sleepers.time_of(run).unwrap_or(0).max(least_ms);
        // Obtained before the lease, because it limits what may be started under the lease.
        let permit = self.permit().await?;
        let takeover = self.inner.heartbeat.takeover();
        let lease = self.inner.journal.take(run, &self.inner.holder, takeover).await?;
        let Some(lease) = lease else { return Ok(false) };
        let known = Known { head, world, lacks_world };
        match self.take_over(run, least_ms, known).await {
            Ok((interpreter, decision, written, Known { world, lacks_world, .. })) => {
                let (sender, durability) = (world.sender, written.durability);
                let hold = RunHold { lease, permit, sender, durability, least_ms, lacks_world };
                self.spawn(hold, interpreter, decision, written);
                Ok(true)
            }
            Err(error) => {
                // A lease that is not released expires.
                let _ = self.inner.journal.release(lease).await;
                Err(error)
            }
        }
    }

    fn claim(&self, run: &RunId) -> &tokio::sync::Mutex<()> {
        let mut hasher = DefaultHasher::new();
        run.hash(&mut hasher);
        &self.inner.claims[hasher.finish() as usize % limits::CLAIMS]
    }

    /// Loads a run whose lease this process now holds, and makes the first decisions about it.
    async fn take_over(
        &self,
        run: &RunId,
        least_ms: u64,
        mut known: Known,
    ) -> Result<(Interpreter, Decision, WrittenRun, Known), RunError> {
        let record = self.inner.journal.run(run).await?;
        let written = self.inner.watcher.current(run, &record).await?;
        let head = &written.state.head;
        if head.world != known.head.world {
            // Somebody moved it to another world before it was acquired.
            (known.world, known.lacks_world) = (self.world(run, head).await?, false);
        }
        let mut interpreter = Interpreter::load(written.flow.clone(), (*written.state).clone());
        let now = self.clock_of(written.state.now_ms).now_ms().max(least_ms);
        let sender = &*known.world.sender;
        let mut entries = Vec::new();
        // An ended run is pinned to its world by the event that continues it.
        if let Some(pin) = known.world.pin.take_if(|_| written.state.end.is_none()) {
            let pin = self.keep_world(pin).await?;
            entries = interpreter.pin_world(pin, now, sender)?.entries;
        }
        if known.lacks_world {
            // Requests in flight are declared lost, then the run is canceled or moved. Nothing else
            // is decided in between.
            interpreter.hold();
        }
        let mut decision = interpreter.declare_lost(now, sender)?;
        if known.lacks_world {
            let (flow, state) = interpreter.into_parts();
            interpreter = Interpreter::load(flow, state);
        }
        decision.entries.splice(0..0, entries);
        Ok((interpreter, decision, written, known))
    }

    /// Stores the workflow sources and catalog records that a run is about to be pinned to.
    pub(crate) async fn keep_world(&self, pin: WorldPin) -> Result<RunWorld, RunError> {
        for PinnedText { text, .. } in pin.texts {
            self.inner.journal.keep_text(text.to_string()).await?;
        }
        Ok(pin.world)
    }

    /// A world that sends nothing, for a run whose own world is missing and that is being canceled
    /// or moved to another world; otherwise the error.
    async fn without_world(&self, run: &RunId, error: RunError) -> Result<OpenWorld, RunError> {
        let pending = self.inner.journal.pending(run).await?;
        if !pending.iter().any(leaves_world) {
            return Err(error);
        }
        let (failure, sender) = (failure_of(&error), Arc::clone(&self.inner.sender));
        Ok(OpenWorld { sender: Arc::new(MissingWorldSender { failure, sender }), pin: None })
    }

    /// Opens a run's world.
    pub(crate) async fn world(
        &self,
        run: &RunId,
        head: &RunCreated,
    ) -> Result<OpenWorld, RunError> {
        let opened = Arc::clone(&self.inner.sender).open(head).await;
        opened.map_err(|missing| RunError::WorldMissing { run: run.clone(), missing })
    }

    fn spawn(
        &self,
        hold: RunHold,
        interpreter: Interpreter,
        decision: Decision,
        written: WrittenRun,
    ) {
        let active = Arc::new(ActiveRun::new(written));
        let run = hold.lease.run.clone();
        let span = trace::run(&run, &interpreter.state().head.workflow);
        self.inner.watcher.begin(run.clone(), Arc::clone(&active));
        let driver = self.clone();
        let task = async move {
            let shown = Arc::clone(&active);
            let run_task = RunTask::new(driver.clone(), hold, interpreter, shown);
            let last = run_task.drive(decision).await;
            let sleeps = last.as_ref().and_then(|left| left.sleeps).filter(|_| !driver.ends());
            let sleeps = sleeps.map(|(wake_ms, now_ms)| (wake_ms, now_ms, driver.now_ms()));
            driver.inner.watcher.leave(&run, &active, last, sleeps);
        };
        tokio::spawn(task.instrument(span));
    }

    /// The run, if this process is driving it.
    fn active(&self, run: &RunId) -> Option<Arc<ActiveRun>> {
        self.inner.watcher.active(run)
    }

    /// Sends a message to a run and waits for its answer, up to a timeout. The message is durable
    /// before anything else happens.
    pub(crate) async fn tell(
        &self,
        run: &RunId,
        id: &MessageId,
        signal: &Signal,
        patience: Duration,
    ) -> Result<Option<Reply>, RunError> {
        let journal = &self.inner.journal;
        journal.send(run, id, signal).await?;
        let deadline = Instant::now() + patience;
        let (mut notified, mut again) = (false, Instant::now());
        if self.sleeps_elsewhere(run).await? {
            again += limits::OTHERS_FIRST;
        }
        loop {
            if let Some(answer) = journal.answer(id).await? {
                // The answer is in the journal; the next reader must also see its effects.
                if let Some(active) = self.active(run) {
                    let _ = tokio::time::timeout(limits::SHOWN, active.writing.lock()).await;
                }
                return Ok(Some(answer));
            }
            match self.active(run) {
                Some(active) => {
                    active.told.notify_one();
                    let moved = active.moved.notified();
                    let _ = tokio::time::timeout(limits::ANSWER_POLL, moved).await;
                }
                // A run that was released before it answered will answer when it continues. If it
                // were acquired immediately, it would only be released again.
                None if Instant::now() >= again && self.acquire_run(run).await? => {
                    again = Instant::now() + limits::RUN_POLL;
                }
                None => {
                    if !notified {
                        notified = true;
                        self.inner.dispatch.notify(run).await?;
                    }
                    tokio::time::sleep(limits::ANSWER_POLL).await;
                }
            }
            if Instant::now() >= deadline {
                return Ok(journal.answer(id).await?);
            }
        }
    }

    /// Whether a run is sleeping, and another process may be about to wake it.
    async fn sleeps_elsewhere(&self, run: &RunId) -> Result<bool, RunError> {
        let watcher = &self.inner.watcher;
        if watcher.active(run).is_some() || watcher.sleepers.contains(run) {
            return Ok(false);
        }
        Ok(self.inner.journal.run(run).await?.standing.is_asleep())
    }

    /// Whether this process is shutting down.
    pub(crate) fn ends(&self) -> bool {
        self.inner.ends.load(Ordering::SeqCst)
    }

    /// Spawns work that involves two runs, outside the tasks of both.
    pub(crate) fn deliver(&self, work: impl Future<Output = ()> + Send + 'static) {
        let delivery = self.inner.watcher.deliver();
        tokio::spawn(async move {
            work.await;
            drop(delivery);
        });
    }
}

/// Whether a message cancels a run, or moves it to another world.
pub(crate) fn leaves_world(message: &InboxMessage) -> bool {
    match &message.signal {
        Ok(Signal::Cancel { .. }) => true,
        Ok(Signal::Resume { resumption, .. }) => resumption.world.is_some(),
        _ => false,
    }
}

impl RunService for Driver {
    fn start(&self, run: PreparedRun) -> RunFuture<'_, RunId> {
        Box::pin(self.start_run(run))
    }

    fn send<'a>(&'a self, run: &'a RunId, what: SignalRequest) -> RunFuture<'a, Option<Reply>> {
        Box::pin(async move {
            let id = what.id.map_or_else(ids::new_message, Ok)?;
            if let Some(text) = what.text {
                self.inner.journal.keep_text(text).await?;
            }
            self.tell(run, &id, &what.signal, what.patience).await
        })
    }

    fn acquire<'a>(&'a self, run: &'a RunId) -> RunFuture<'a, bool> {
        Box::pin(self.acquire_run(run))
    }

    fn adopt_orphans(&self) -> RunFuture<'_, ()> {
        Box::pin(self.adopt())
    }

    fn idle(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // A process that has released its runs has nothing to wait for.
            if !self.ends() {
                self.inner.watcher.idle().await;
            }
        })
    }

    fn delivered(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.inner.watcher.delivered())
    }

    fn shutdown(&self, grace: Duration) -> RunFuture<'_, ()> {
        Box::pin(async move {
            self.inner.ends.store(true, Ordering::SeqCst);
            self.inner.watcher.wake();
            let released = self.inner.watcher.emptied();
            if tokio::time::timeout(grace, released).await.is_err() {
                // The next process need not wait until this one is known to be gone.
                self.inner.journal.leave(&self.inner.holder).await?;
            }
            Ok(())
        })
    }
}

impl AsRef<RunWatcher> for Driver {
    fn as_ref(&self) -> &RunWatcher {
        &self.inner.watcher
    }
}

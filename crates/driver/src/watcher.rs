//! Read access to runs: a run driven by this process is read from memory, and for others only the
//! events since the last read are loaded.
//!
//! Readers only see what is in the journal: for a driven run, only what has already been written.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use milepost_engine::StepKey;
use milepost_engine::event::RunCreated;
use milepost_engine::ports::{
    BoxFuture, Journal, JournalError, RunCounts, RunFilter, RunPage, RunRecord, RunStatus,
};
use milepost_engine::state::{State, Status, StepStatus};
use milepost_model::id::RunId;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::active::{ActiveRun, WrittenRun};
use crate::load::{self, Pin};
use crate::run_task::ReleasedRun;
use crate::service::{RunFuture, RunReader, RunUpdates, Until, WaitOptions};
use crate::sleepers::Sleepers;
use crate::snapshot::{RunProgress, Snapshot, children};
use crate::{RunError, limits, locked};

/// Read access to the runs in a journal.
#[derive(Debug)]
pub struct RunWatcher {
    journal: Arc<dyn Journal>,
    driven: Mutex<HashMap<RunId, Arc<ActiveRun>>>,
    /// Counts of messages sent and received between runs in this process; while they differ, more
    /// work may be pending.
    sent: AtomicU64,
    arrived: AtomicU64,
    /// Runs that this process will wake.
    pub(crate) sleepers: Sleepers,
    /// Notified when this process starts driving a run.
    begun: Notify,
    /// Notified when a run is released, or a delivery has arrived.
    done: Notify,
    /// Recently read runs, the most recent one last.
    recent: Mutex<VecDeque<(RunId, Recent)>>,
}

/// A run that this process is not driving.
#[derive(Debug)]
enum Recent {
    /// The run as it was last read.
    Written(Box<WrittenRun>),
    /// The run as its driver released it. Followers share it, so it is not copied.
    Left(Arc<ActiveRun>),
}

impl Recent {
    fn into_written(self) -> WrittenRun {
        match self {
            Recent::Written(written) => *written,
            Recent::Left(active) => active.written(),
        }
    }
}

/// A message that one run is sending to another; dropping this records that it has arrived.
#[derive(Debug)]
pub(crate) struct DeliveryGuard(Arc<RunWatcher>);

impl Drop for DeliveryGuard {
    fn drop(&mut self) {
        self.0.arrived.fetch_add(1, Ordering::SeqCst);
        self.0.done.notify_waiters();
    }
}

impl RunWatcher {
    /// Creates a watcher for a journal. Reads nothing yet.
    pub fn new(journal: Arc<dyn Journal>) -> RunWatcher {
        let (driven, recent, sleepers) = (Mutex::default(), Mutex::default(), Sleepers::default());
        let (sent, arrived, begun, done) = Default::default();
        RunWatcher { journal, driven, sent, arrived, sleepers, begun, done, recent }
    }

    /// Finds a run by its id or a prefix of it.
    async fn find_run(&self, named: &str) -> Result<RunId, RunError> {
        if let Ok(run) = RunId::parse(named) {
            return Ok(run);
        }
        let found = self.journal.find_prefix(named).await?;
        let named = named.to_owned();
        match found.as_slice() {
            [one] => Ok(one.clone()),
            [] => {
                let none_at_all =
                    self.journal.list(&RunFilter::default(), 1).await?.runs.is_empty();
                Err(RunError::Unknown { named, none_at_all })
            }
            several => {
                let some = several.iter().take(limits::IDS_OFFERED).cloned().collect();
                Err(RunError::Ambiguous { named, some })
            }
        }
    }

    /// A run as recorded in the journal.
    fn snapshot_of<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Snapshot, RunError>> {
        Box::pin(async move {
            let (mut snapshot, children) =
                self.look(run, |written| (written.snapshot(), children(&written.state))).await?;
            if snapshot.status() != Status::Running {
                return Ok(snapshot);
            }
            snapshot.below = self.waiting(&children).await?;
            snapshot.orphaned = snapshot.below.is_empty() && self.is_orphan(run).await?;
            Ok(snapshot)
        })
    }

    /// The child runs, if all of them are waiting for somebody; otherwise none.
    async fn waiting(&self, children: &[RunId]) -> Result<Vec<Snapshot>, RunError> {
        let mut all = Vec::new();
        for child in children {
            // A child run that does not exist yet is about to start.
            let Ok(record) = self.journal.run(child).await else { return Ok(Vec::new()) };
            if !matches!(record.standing.status, RunStatus::Waiting | RunStatus::Running) {
                return Ok(Vec::new());
            }
            let snapshot = self.snapshot_of(child).await?;
            if !snapshot.waits_for_somebody() {
                return Ok(Vec::new());
            }
            all.push(snapshot);
        }
        Ok(all)
    }

    async fn is_orphan(&self, run: &RunId) -> Result<bool, RunError> {
        if self.active(run).is_some() || self.sleepers.contains(run) {
            return Ok(false);
        }
        Ok(!self.journal.is_driven(run).await?)
    }

    async fn news(&self, run: &RunId, seq: u64) -> Result<RunUpdates, RunError> {
        // Read together, so that the status is not newer than the events.
        let (kept, nonce, progress) = if let Some(active) = self.active(run) {
            active.news(seq)
        } else {
            let look = |written: &WrittenRun| {
                let progress = RunProgress::of(&written.flow, &written.state);
                (written.behind(seq), written.state.head.nonce.clone(), progress)
            };
            self.look(run, look).await?
        };
        let entries = if let Some(entries) = kept {
            entries
        } else {
            let read = load::entries(&*self.journal, run, seq).await?;
            read.into_iter().map(Arc::new).collect()
        };
        let waits = progress.status == Status::Running && self.waits_below(run).await?;
        let status = if waits { Status::Waiting } else { progress.status };
        Ok(RunUpdates { entries, nonce, status })
    }

    async fn follow_run(
        &self,
        run: &RunId,
        patience: Duration,
        told: &(dyn Fn(&StepKey, StepStatus) + Sync),
    ) -> Result<Snapshot, RunError> {
        let deadline = Instant::now() + patience;
        let (mut last, mut followed) = (None, None);
        loop {
            // Keep a handle on the run: many may end at once, and only a few ended runs are cached.
            followed = self.active(run).or(followed);
            if let Some(end) = followed.as_ref().and_then(|active| active.end()) {
                return Ok(end);
            }
            let RunProgress { seq, status, children, at, .. } = self.progress(run).await?;
            if at.is_some() && last != at {
                if let Some((key, does)) = &at {
                    told(key, *does);
                }
                last = at;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if status.has_ended() {
                self.released(run).await;
                if let Some(end) = followed.as_ref().and_then(|active| active.end()) {
                    return Ok(end);
                }
            }
            let rests = !self.waiting(&children).await?.is_empty() || self.is_orphan(run).await?;
            if status != Status::Running || rests || left.is_zero() {
                return self.snapshot_of(run).await;
            }
            self.until(run, seq, left, Until::Rest).await?;
        }
    }

    /// Waits until the driver of an ended run hands over its state, so that nobody has to load it
    /// again.
    async fn released(&self, run: &RunId) {
        let Some(active) = self.active(run) else { return };
        let mut moved = std::pin::pin!(active.moved.notified());
        moved.as_mut().enable();
        if self.active(run).is_some() {
            let _ = tokio::time::timeout(limits::HAND_OVER, moved).await;
        }
    }

    async fn progress(&self, run: &RunId) -> Result<RunProgress, RunError> {
        match self.active(run) {
            Some(active) => Ok(active.progress()),
            None => self.look(run, |written| RunProgress::of(&written.flow, &written.state)).await,
        }
    }

    /// Whether a run is only waiting for child runs that are waiting for somebody.
    async fn waits_below(&self, run: &RunId) -> Result<bool, RunError> {
        let children = self.progress(run).await?.children;
        Ok(!self.waiting(&children).await?.is_empty())
    }

    /// Waits until a run has an event after `seq`, the condition `until` is met, or nobody is
    /// driving it.
    async fn until(
        &self,
        run: &RunId,
        seq: u64,
        patience: Duration,
        until: Until,
    ) -> Result<(), RunError> {
        let deadline = Instant::now() + patience;
        loop {
            let active = self.active(run);
            let moved = active.as_ref().map(|active| active.moved.notified());
            self.writes(active.as_deref())
                .map_err(|error| RunError::Stalled { run: run.clone(), error })?;
            let last = match &active {
                Some(active) => active.progress().seq,
                None => self.journal.run(run).await?.last_seq,
            };
            if last > seq || Instant::now() >= deadline {
                return Ok(());
            }
            // A child run that starts waiting causes no event in this run.
            let below = until == Until::Rest && !self.progress(run).await?.children.is_empty();
            if below && self.waits_below(run).await? {
                return Ok(());
            }
            // The process that was driving it may be gone, in which case nothing more will happen.
            if active.is_none() {
                let standing = self.journal.run(run).await?.standing;
                let goes_on = standing.status.is_moving() || standing.is_asleep();
                if goes_on && self.is_orphan(run).await? {
                    return Ok(());
                }
            }
            match moved {
                Some(moved) => {
                    let poll = Instant::now() + limits::WATCH_POLL;
                    let poll = if below { deadline.min(poll) } else { deadline };
                    let _ = tokio::time::timeout_at(poll, moved).await;
                }
                // This process will wake it, unless another one acts on it first.
                None if self.sleepers.contains(run) => {
                    let woken = self.begun.notified();
                    let poll = deadline.min(Instant::now() + limits::SLEEPER_POLL);
                    let _ = tokio::time::timeout_at(poll, woken).await;
                }
                None => tokio::time::sleep(limits::WATCH_POLL).await,
            }
        }
    }

    /// Waits briefly while a run continues here, so that followers of a fast run are not notified
    /// about each step separately.
    async fn gather(&self, run: &RunId, moment: Duration) {
        let Some(active) = self.active(run).filter(|_| !moment.is_zero()) else { return };
        let mut turned = std::pin::pin!(active.turned.notified());
        turned.as_mut().enable();
        if active.progress().status == Status::Running {
            let _ = tokio::time::timeout(moment, turned).await;
        }
    }

    /// Checks that events can be written. If not, there is no point in waiting for more.
    fn writes(&self, active: Option<&ActiveRun>) -> Result<(), JournalError> {
        if self.journal.has_failed() {
            return Err(JournalError::Failed);
        }
        let stalled = active.is_some_and(|active| active.stalled.load(Ordering::Relaxed));
        if stalled { Err(JournalError::Full) } else { Ok(()) }
    }

    /// Reads a run as recorded in the journal.
    async fn look<T>(
        &self,
        run: &RunId,
        look: impl FnOnce(&WrittenRun) -> T + Send,
    ) -> Result<T, RunError> {
        if let Some(active) = self.active(run) {
            return Ok(active.look(look));
        }
        let record = self.journal.run(run).await?;
        let written = self.current(run, &record).await?;
        let found = look(&written);
        self.remember(run, Recent::Written(Box::new(written)));
        Ok(found)
    }

    /// The head of a run: how it was created, including later changes.
    pub(crate) async fn head(&self, run: &RunId) -> Result<RunCreated, RunError> {
        self.look(run, |written| written.state.head.clone()).await
    }

    /// A run as recorded in the journal, without information about child runs or drivers.
    pub(crate) async fn written(&self, run: &RunId) -> Result<WrittenRun, RunError> {
        self.look(run, WrittenRun::clone).await
    }

    /// Returns a run with all events up to the last one in its record. Events that were read before
    /// are not read again.
    pub(crate) async fn current(
        &self,
        run: &RunId,
        record: &RunRecord,
    ) -> Result<WrittenRun, RunError> {
        // A cached state that is ahead of the journal is stale: a power failure or a restored
        // backup removed events.
        let known = self.recall(run).filter(|written| written.state.seq <= record.last_seq);
        let Some(mut written) = known else {
            let loaded = load::load(&*self.journal, run).await?;
            let durability = loaded.record.durability;
            return Ok(WrittenRun::new(run.clone(), loaded.flow, loaded.state, durability));
        };
        if written.state.seq == record.last_seq {
            return Ok(written);
        }
        let pin = Pin::of(&written.state.head);
        let entries = load::entries(&*self.journal, run, written.state.seq).await?;
        let state: &mut State = Arc::make_mut(&mut written.state);
        for entry in &entries {
            state.apply(entry).map_err(|error| load::damaged(run, error.to_string()))?;
        }
        written.forget_events();
        let now = Pin::of(&written.state.head);
        if now != pin {
            written.flow = load::flow(&*self.journal, run, &now).await?;
        }
        Ok(written)
    }

    fn recall(&self, run: &RunId) -> Option<WrittenRun> {
        let mut recent = locked(&self.recent);
        let index = recent.iter().position(|(other, _)| other == run)?;
        let found = recent.remove(index);
        drop(recent);
        found.map(|(_, recent)| recent.into_written())
    }

    fn remember(&self, run: &RunId, last: Recent) {
        let mut recent = locked(&self.recent);
        recent.retain(|(other, _)| other != run);
        let full = recent.len() >= limits::RECENT_RUNS;
        let oldest = if full { recent.pop_front() } else { None };
        recent.push_back((run.clone(), last));
        drop(recent);
        // Outside the lock, because dropping a run takes a while.
        drop(oldest);
    }

    /// The run, if this process is driving it.
    pub(crate) fn active(&self, run: &RunId) -> Option<Arc<ActiveRun>> {
        locked(&self.driven).get(run).cloned()
    }

    /// Whether this process is driving no runs.
    pub(crate) fn is_empty(&self) -> bool {
        locked(&self.driven).is_empty()
    }

    /// The runs that this process is driving.
    pub(crate) fn driven_runs(&self) -> Vec<RunId> {
        locked(&self.driven).keys().cloned().collect()
    }

    /// Registers a delivery to a run; it is in flight until the guard is dropped.
    pub(crate) fn deliver(self: &Arc<RunWatcher>) -> DeliveryGuard {
        self.sent.fetch_add(1, Ordering::SeqCst);
        DeliveryGuard(Arc::clone(self))
    }

    /// Waits until no run in this process can continue on its own: each one has ended, is waiting
    /// for somebody, or cannot be written any further.
    pub(crate) async fn idle(&self) {
        loop {
            let done = self.done.notified();
            if self.is_idle().await {
                return;
            }
            // A run may start or stop waiting for something without any activity in this process.
            let poll = match self.sleepers.is_empty() {
                true => limits::IDLE_POLL,
                false => limits::SLEEPER_POLL,
            };
            drop(tokio::time::timeout(poll, done).await);
        }
    }

    /// Waits until all messages between runs have arrived.
    pub(crate) async fn delivered(&self) {
        self.until_quiet(|watcher| watcher.deliveries().is_some()).await;
    }

    /// Waits until this process is driving no runs.
    pub(crate) async fn emptied(&self) {
        self.until_quiet(RunWatcher::is_empty).await;
    }

    async fn until_quiet(&self, is_quiet: impl Fn(&RunWatcher) -> bool) {
        loop {
            let done = self.done.notified();
            if is_quiet(self) {
                return;
            }
            drop(tokio::time::timeout(limits::IDLE_POLL, done).await);
        }
    }

    /// The number of deliveries so far, if none is in flight.
    fn deliveries(&self) -> Option<u64> {
        let sent = self.sent.load(Ordering::SeqCst);
        (self.arrived.load(Ordering::SeqCst) == sent).then_some(sent)
    }

    async fn is_idle(&self) -> bool {
        let Some(begun) = self.deliveries() else { return false };
        if !self.are_awake().await {
            return false;
        }
        let driven: Vec<(RunId, Arc<ActiveRun>)> = locked(&self.driven)
            .iter()
            .map(|(run, active)| (run.clone(), Arc::clone(active)))
            .collect();
        for (run, active) in &driven {
            let RunProgress { status, calls, .. } = active.progress();
            let goes_on = status == Status::Running && !self.waits_below(run).await.unwrap_or(true);
            // A run that has ended is about to notify its parent.
            let moves = goes_on || calls || status.has_ended();
            if moves && self.writes(Some(active)).is_ok() {
                return false;
            }
        }
        // A delivery that started in the meantime may come from a run that was checked too early.
        self.deliveries() == Some(begun)
    }

    /// Whether this process has no runs left to wake. Another process may have ended some.
    async fn are_awake(&self) -> bool {
        for run in self.sleepers.few().unwrap_or_default() {
            let record = self.journal.run(&run).await;
            if !record.is_ok_and(|record| record.standing.is_asleep()) {
                self.sleepers.remove(&run);
            }
        }
        self.sleepers.is_empty()
    }

    /// Notifies all driven runs that a message may have arrived in their inbox.
    pub(crate) fn wake(&self) {
        locked(&self.driven).values().for_each(|active| active.told.notify_one());
        if !self.sleepers.is_empty() {
            self.sleepers.told.notify_one();
        }
    }

    /// Records that this process is now driving a run.
    pub(crate) fn begin(&self, run: RunId, active: Arc<ActiveRun>) {
        self.sleepers.remove(&run);
        locked(&self.driven).insert(run, active);
        self.begun.notify_waiters();
    }

    /// Records that this process has released a run, unless it has acquired it again in the
    /// meantime. `last` is the driver's state, which matches the journal, or `None` if the run was
    /// taken away. `sleeps` contains the wake time, the run's time and the wall-clock time: the run
    /// is added to the sleepers first, so that nobody sees it as neither driven nor asleep.
    pub(crate) fn leave(
        &self,
        run: &RunId,
        active: &Arc<ActiveRun>,
        last: Option<ReleasedRun>,
        sleeps: Option<(u64, u64, u64)>,
    ) {
        let mut driven = locked(&self.driven);
        if driven.get(run).is_some_and(|own| Arc::ptr_eq(own, active)) {
            if let Some((wake_ms, now_ms, wall_now_ms)) = sleeps {
                self.sleepers.add(run, wake_ms, now_ms, wall_now_ms);
            }
            driven.remove(run);
            if let Some(ReleasedRun { flow, state, .. }) = last {
                active.hand_over(flow, state);
                self.remember(run, Recent::Left(Arc::clone(active)));
            }
        }
        drop(driven);
        active.turned.notify_waiters();
        active.moved.notify_waiters();
        self.done.notify_waiters();
    }
}

impl AsRef<RunWatcher> for RunWatcher {
    fn as_ref(&self) -> &RunWatcher {
        self
    }
}

/// Anything that has a watcher can read runs through it.
impl<T: AsRef<RunWatcher> + fmt::Debug + Send + Sync> RunReader for T {
    fn find<'a>(&'a self, named: &'a str) -> RunFuture<'a, RunId> {
        Box::pin(self.as_ref().find_run(named))
    }

    fn snapshot<'a>(&'a self, run: &'a RunId) -> RunFuture<'a, Snapshot> {
        self.as_ref().snapshot_of(run)
    }

    fn wait<'a>(&'a self, run: &'a RunId, wait: WaitOptions) -> RunFuture<'a, ()> {
        Box::pin(async move {
            let watcher = self.as_ref();
            watcher.until(run, wait.after, wait.patience, wait.until).await?;
            watcher.gather(run, wait.gather).await;
            Ok(())
        })
    }

    fn follow<'a>(
        &'a self,
        run: &'a RunId,
        patience: Duration,
        told: &'a (dyn Fn(&StepKey, StepStatus) + Sync),
    ) -> RunFuture<'a, Snapshot> {
        Box::pin(self.as_ref().follow_run(run, patience, told))
    }

    fn events<'a>(&'a self, run: &'a RunId, after: u64) -> RunFuture<'a, RunUpdates> {
        Box::pin(self.as_ref().news(run, after))
    }

    fn list<'a>(&'a self, filter: &'a RunFilter, limit: usize) -> RunFuture<'a, RunPage> {
        Box::pin(async move { Ok(self.as_ref().journal.list(filter, limit).await?) })
    }

    fn is_orphaned<'a>(&'a self, run: &'a RunId) -> RunFuture<'a, bool> {
        Box::pin(self.as_ref().is_orphan(run))
    }

    fn tally(&self) -> RunFuture<'_, RunCounts> {
        Box::pin(async move { Ok(self.as_ref().journal.tally().await?) })
    }

    fn health(&self) -> RunFuture<'_, ()> {
        Box::pin(async move { Ok(self.as_ref().journal.health().await?) })
    }
}

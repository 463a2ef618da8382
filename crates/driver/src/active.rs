//! A run that this process is driving, as readers see it.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use milepost_engine::Flow;
use milepost_engine::event::JournalEntry;
use milepost_engine::ports::Durability;
use milepost_engine::state::State;
use milepost_model::id::RunId;
use tokio::sync::Notify;

use crate::snapshot::{RunProgress, Snapshot};
use crate::{limits, locked};

/// A run as recorded in the journal.
#[derive(Debug, Clone)]
pub(crate) struct WrittenRun {
    pub(crate) run: RunId,
    pub(crate) flow: Flow,
    pub(crate) state: Arc<State>,
    pub(crate) durability: Durability,
    /// The most recent events, for runs driven by this process.
    recent: VecDeque<Arc<JournalEntry>>,
}

impl WrittenRun {
    pub(crate) fn new(run: RunId, flow: Flow, state: State, durability: Durability) -> WrittenRun {
        WrittenRun { run, flow, state: Arc::new(state), durability, recent: VecDeque::new() }
    }

    /// Adds the events that led to this state.
    pub(crate) fn with(mut self, entries: Vec<JournalEntry>) -> WrittenRun {
        self.keep(entries.into_iter().map(Arc::new));
        self
    }

    fn keep(&mut self, entries: impl Iterator<Item = Arc<JournalEntry>>) {
        self.recent.extend(entries);
        let over = self.recent.len().saturating_sub(limits::RECENT_EVENTS);
        self.recent.drain(..over);
    }

    /// Applies the most recent `last` events to the state.
    fn catch_up(&mut self, last: usize) {
        let known = self.recent.len().saturating_sub(last);
        let state = Arc::make_mut(&mut self.state);
        for entry in self.recent.iter().skip(known) {
            // This cannot fail: the events were applied before they were written.
            drop(state.apply(entry));
        }
    }

    /// Drops the kept events, because another process has written newer ones.
    pub(crate) fn forget_events(&mut self) {
        self.recent.clear();
    }

    /// The events after `seq`; `None` if not all of them are kept.
    pub(crate) fn behind(&self, seq: u64) -> Option<Vec<Arc<JournalEntry>>> {
        let first = self.recent.front().map_or(self.state.seq + 1, |entry| entry.seq);
        let known = usize::try_from((seq + 1).checked_sub(first)?).ok()?;
        Some(self.recent.iter().skip(known).cloned().collect())
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            run: self.run.clone(),
            flow: self.flow.clone(),
            state: Arc::clone(&self.state),
            relaxed: self.durability == Durability::Relaxed,
            orphaned: false,
            below: Vec::new(),
        }
    }
}

/// A run that this process is driving.
#[derive(Debug)]
pub(crate) struct ActiveRun {
    /// Notified when a message may have arrived in the inbox.
    pub(crate) told: Notify,
    /// Notified when the run has made progress.
    pub(crate) moved: Notify,
    /// Notified when the status changes, or the run is released.
    pub(crate) turned: Notify,
    /// Whether the run is stalled because the disk is full.
    pub(crate) stalled: AtomicBool,
    /// Held while events are written to the journal but not yet visible to readers.
    pub(crate) writing: tokio::sync::Mutex<()>,
    shown: Mutex<Shown>,
}

/// A driven run as readers see it. Most followers only need the status, so events are applied to
/// this copy of the state only when somebody reads it.
#[derive(Debug)]
struct Shown {
    written: WrittenRun,
    /// How many of the last events have not been applied to the state yet.
    unseen: usize,
    progress: RunProgress,
    /// Whether the driver has released the run, in which case `written` is complete.
    left: bool,
}

impl ActiveRun {
    pub(crate) fn new(written: WrittenRun) -> ActiveRun {
        let (told, moved, turned) = (Notify::new(), Notify::new(), Notify::new());
        let (stalled, writing) = (AtomicBool::new(false), tokio::sync::Mutex::new(()));
        let progress = RunProgress::of(&written.flow, &written.state);
        let shown = Mutex::new(Shown { written, unseen: 0, progress, left: false });
        ActiveRun { told, moved, turned, stalled, writing, shown }
    }

    /// Calls `look` with the run as written so far.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&WrittenRun) -> T) -> T {
        let mut shown = locked(&self.shown);
        let unseen = std::mem::take(&mut shown.unseen);
        if unseen > 0 {
            shown.written.catch_up(unseen);
        }
        look(&shown.written)
    }

    pub(crate) fn progress(&self) -> RunProgress {
        locked(&self.shown).progress.clone()
    }

    /// The events after `seq`, if they are kept, and the progress after the last of them.
    pub(crate) fn news(&self, seq: u64) -> (Option<Vec<Arc<JournalEntry>>>, String, RunProgress) {
        let shown = locked(&self.shown);
        let nonce = shown.written.state.head.nonce.clone();
        (shown.written.behind(seq), nonce, shown.progress.clone())
    }

    /// Publishes written events and the progress after them.
    pub(crate) fn show(&self, flow: &Flow, state: &State, entries: Vec<JournalEntry>) {
        let mut shown = locked(&self.shown);
        shown.progress = RunProgress::of(flow, state);
        shown.written.flow = flow.clone();
        // Events that would no longer be kept must be applied now.
        if shown.unseen + entries.len() > limits::RECENT_EVENTS {
            let unseen = std::mem::take(&mut shown.unseen);
            shown.written.catch_up(unseen);
            let state = Arc::make_mut(&mut shown.written.state);
            for entry in &entries {
                drop(state.apply(entry));
            }
        } else {
            shown.unseen += entries.len();
        }
        shown.written.keep(entries.into_iter().map(Arc::new));
    }

    /// Replaces the state with the driver's own, because the run is no longer being driven.
    pub(crate) fn hand_over(&self, flow: Flow, state: State) {
        let mut shown = locked(&self.shown);
        shown.progress = RunProgress::of(&flow, &state);
        (shown.written.flow, shown.written.state) = (flow, Arc::new(state));
        (shown.unseen, shown.left) = (0, true);
    }

    /// The final snapshot of an ended run, once its driver has released it.
    pub(crate) fn end(&self) -> Option<Snapshot> {
        let shown = locked(&self.shown);
        let ended = shown.left && shown.progress.status.has_ended();
        ended.then(|| shown.written.snapshot())
    }

    pub(crate) fn written(&self) -> WrittenRun {
        locked(&self.shown).written.clone()
    }
}

//! A run that this process drives, as those see it who look.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use milepost_engine::Flow;
use milepost_engine::event::JournalEntry;
use milepost_engine::ports::Durability;
use milepost_engine::state::State;
use milepost_model::id::RunId;
use tokio::sync::Notify;

use crate::limits;
use crate::snapshot::{RunProgress, Snapshot};

/// A run as far as it is in the journal.
#[derive(Debug, Clone)]
pub(crate) struct WrittenRun {
    pub(crate) run: RunId,
    pub(crate) flow: Flow,
    pub(crate) state: Arc<State>,
    pub(crate) durability: Durability,
    /// The last events, of a run that is driven here.
    recent: VecDeque<Arc<JournalEntry>>,
}

impl WrittenRun {
    pub(crate) fn new(run: RunId, flow: Flow, state: State, durability: Durability) -> WrittenRun {
        WrittenRun { run, flow, state: Arc::new(state), durability, recent: VecDeque::new() }
    }

    /// With the events that led to it.
    pub(crate) fn with(mut self, entries: Vec<JournalEntry>) -> WrittenRun {
        self.keep(entries.into_iter().map(Arc::new));
        self
    }

    fn keep(&mut self, entries: impl Iterator<Item = Arc<JournalEntry>>) {
        self.recent.extend(entries);
        let over = self.recent.len().saturating_sub(limits::RECENT_EVENTS);
        self.recent.drain(..over);
    }

    /// Applies the last of the events that are kept.
    fn catch_up(&mut self, last: usize) {
        let known = self.recent.len().saturating_sub(last);
        let state = Arc::make_mut(&mut self.state);
        for entry in self.recent.iter().skip(known) {
            // They were applied before they were written: they fit.
            drop(state.apply(entry));
        }
    }

    /// Another process wrote since: what is kept of the events here has no end any more.
    pub(crate) fn forget_events(&mut self) {
        self.recent.clear();
    }

    /// The events behind one of them; `None` when not all of them are kept.
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

/// A run that this process drives.
#[derive(Debug)]
pub(crate) struct ActiveRun {
    /// There is something in its inbox.
    pub(crate) told: Notify,
    /// It went on.
    pub(crate) moved: Notify,
    /// Its status changed, or it is driven no longer.
    pub(crate) turned: Notify,
    /// It stands still because there is no room on the disk.
    pub(crate) stalled: AtomicBool,
    /// Held while something is written down and not shown yet.
    pub(crate) writing: tokio::sync::Mutex<()>,
    shown: Mutex<Shown>,
}

/// A driven run as it is shown. Most of those who follow it only want to know its status, so its
/// events are not applied to a state of their own before somebody looks.
#[derive(Debug)]
struct Shown {
    written: WrittenRun,
    /// How many of the last events are not applied to its state yet.
    unseen: usize,
    progress: RunProgress,
    /// Its driver is done with it, and this is all that is in the journal.
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

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at all that was written down.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&WrittenRun) -> T) -> T {
        let mut shown = self.shown();
        let unseen = std::mem::take(&mut shown.unseen);
        if unseen > 0 {
            shown.written.catch_up(unseen);
        }
        look(&shown.written)
    }

    pub(crate) fn progress(&self) -> RunProgress {
        self.shown().progress.clone()
    }

    /// The events behind one of them, if they are kept, and how far the run was with the last.
    pub(crate) fn news(&self, seq: u64) -> (Option<Vec<Arc<JournalEntry>>>, String, RunProgress) {
        let shown = self.shown();
        let nonce = shown.written.state.head.nonce.clone();
        (shown.written.behind(seq), nonce, shown.progress.clone())
    }

    /// Shows what was written down, and how far the run is since.
    pub(crate) fn show(&self, flow: &Flow, state: &State, entries: Vec<JournalEntry>) {
        let mut shown = self.shown();
        shown.progress = RunProgress::of(flow, state);
        shown.written.flow = flow.clone();
        // What would no longer be kept has to be applied now.
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

    /// Takes over what the driver had of the run, which is driven no longer.
    pub(crate) fn hand_over(&self, flow: Flow, state: State) {
        let mut shown = self.shown();
        shown.progress = RunProgress::of(&flow, &state);
        (shown.written.flow, shown.written.state) = (flow, Arc::new(state));
        (shown.unseen, shown.left) = (0, true);
    }

    /// The run at its end, once its driver is done with it.
    pub(crate) fn end(&self) -> Option<Snapshot> {
        let shown = self.shown();
        let ended = shown.left && shown.progress.status.has_ended();
        ended.then(|| shown.written.snapshot())
    }

    pub(crate) fn into_written(self) -> WrittenRun {
        self.shown.into_inner().unwrap_or_else(PoisonError::into_inner).written
    }

    pub(crate) fn written(&self) -> WrittenRun {
        self.shown().written.clone()
    }
}

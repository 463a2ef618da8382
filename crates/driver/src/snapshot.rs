//! A snapshot of a run, as recorded in the journal.

use std::sync::Arc;

use milepost_engine::state::{Phase, State, Status, StepStatus};
use milepost_engine::view::{self, Waiting};
use milepost_engine::{Flow, StepKey};
use milepost_model::id::RunId;

/// A snapshot of a run: its workflow, its state, and information that is not in its own journal.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub run: RunId,
    /// The workflow that it is pinned to.
    pub flow: Flow,
    /// The state after its last event.
    pub state: Arc<State>,
    /// Whether it need not survive a power failure.
    pub relaxed: bool,
    /// Whether it has something to do but is not driven by any live process.
    pub orphaned: bool,
    /// The child runs, if the run is only waiting for them and all of them are waiting for
    /// somebody.
    pub below: Vec<Snapshot>,
}

impl Snapshot {
    /// The status of the run by itself. If it is only waiting for child runs, see `below`.
    pub fn status(&self) -> Status {
        view::status(&self.flow, &self.state)
    }

    /// Who has to act before the run continues.
    pub fn waiting(&self) -> Vec<Waiting> {
        view::waiting(&self.flow, &self.state)
    }

    /// Whether the run is waiting for somebody, itself or through its child runs.
    pub(crate) fn waits_for_somebody(&self) -> bool {
        match self.status() {
            // A paused run also needs somebody to resume it.
            Status::Waiting | Status::Paused => true,
            Status::Running => !self.below.is_empty(),
            _ => false,
        }
    }
}

/// A summary of a run's progress.
#[derive(Debug, Clone)]
pub(crate) struct RunProgress {
    pub(crate) seq: u64,
    pub(crate) status: Status,
    /// The child runs, if the run is doing nothing else.
    pub(crate) children: Vec<RunId>,
    /// Whether a request is in flight, which is possible even in a paused run.
    pub(crate) calls: bool,
    /// The first open step.
    pub(crate) at: Option<(StepKey, StepStatus)>,
}

impl RunProgress {
    pub(crate) fn of(flow: &Flow, state: &State) -> RunProgress {
        let at = state.open().next().map(|(key, step)| (key.clone(), step.phase.status()));
        let status = view::status(flow, state);
        let calls = state.open().any(|(_, step)| matches!(step.phase, Phase::Calling(_)));
        RunProgress { seq: state.seq, status, children: children(state), calls, at }
    }
}

/// A run's child runs, if it is doing nothing else.
pub(crate) fn children(state: &State) -> Vec<RunId> {
    let mut children = Vec::new();
    for (_, step) in state.open() {
        match &step.phase {
            Phase::Child(child) => children.extend(RunId::parse(child)),
            phase if phase.is_busy() || phase.wakes_at().is_some() => return Vec::new(),
            _ => {}
        }
    }
    children
}

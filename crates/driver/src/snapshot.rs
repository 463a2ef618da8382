//! A run at one moment, as it is in the journal.

use std::sync::Arc;

use milepost_engine::state::{Phase, State, Status, StepStatus};
use milepost_engine::view::{self, StepBrief, Waiting};
use milepost_engine::{Flow, StepKey};
use milepost_model::id::RunId;

/// A run at one moment: its workflow, its state, and what only its surroundings tell.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The run.
    pub run: RunId,
    /// The workflow it is pinned to.
    pub flow: Flow,
    /// What its events have come to.
    pub state: Arc<State>,
    /// It need not survive a loss of power.
    pub relaxed: bool,
    /// It has something to do, and no living process drives it.
    pub orphaned: bool,
    /// The runs of its steps, when all that goes on in it is that these wait for somebody.
    pub below: Vec<Snapshot>,
}

impl Snapshot {
    /// Its status, taken by itself: whether it waits only for the runs of its steps is in `below`.
    pub fn status(&self) -> Status {
        view::status(&self.flow, &self.state)
    }

    /// Who has to act before it goes on.
    pub fn waiting(&self) -> Vec<Waiting> {
        view::waiting(&self.flow, &self.state)
    }

    /// The steps that agents may work on now.
    pub fn due(&self) -> Vec<StepBrief> {
        view::briefs(&self.flow, &self.state)
    }

    /// Whether it waits for somebody, itself or by the runs of its steps.
    pub(crate) fn waits_for_somebody(&self) -> bool {
        match self.status() {
            // Of one that is paused, too, somebody has to say that it goes on.
            Status::Waiting | Status::Paused => true,
            Status::Running => !self.below.is_empty(),
            _ => false,
        }
    }
}

/// How far a run is, in short.
#[derive(Debug, Clone)]
pub(crate) struct RunProgress {
    pub(crate) seq: u64,
    pub(crate) status: Status,
    /// The runs of its steps, when nothing else goes on.
    pub(crate) children: Vec<RunId>,
    /// Whether a request is in flight: in a paused run there may be one too.
    pub(crate) calls: bool,
    /// The first step that is open.
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

/// The runs of a run's steps, when nothing else goes on.
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

//! The progress of a run's top level, updated incrementally.
//!
//! All of it can be derived from the workflow and the state. It exists so that finding the next
//! step does not require a scan of all steps. When a step ends, the cost of the update is
//! proportional to the number of its dependents.

use std::collections::BTreeSet;

use crate::event::Event;
use crate::interpreter::flow::Flow;
use crate::state::{Phase, State, StepState};

/// The progress of the top-level steps, by index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frontier {
    places: Vec<StepProgress>,
    /// Steps that have not started and have nothing left to wait for.
    ready: BTreeSet<usize>,
    /// The number of main steps that are not settled.
    left: usize,
}

/// What decides whether a step, or one that waits for it, may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StepProgress {
    /// It has not started.
    untouched: bool,
    /// It has ended.
    closed: bool,
    /// It has ended, and so has everything it waits for.
    settled: bool,
    /// How many of the steps it waits for are not settled.
    unsettled: usize,
    /// How many dependencies in its own part of the workflow keep it from starting: those that are
    /// not settled or, for a `finally` step, have not ended.
    missing: usize,
}

impl Frontier {
    /// Derives the frontier from a run's state.
    pub(crate) fn of(flow: &Flow, state: &State) -> Frontier {
        let nodes = flow.nodes();
        let places = nodes.iter().map(|node| StepProgress {
            untouched: true,
            closed: false,
            settled: false,
            unsettled: node.waits.len(),
            missing: node.waits.iter().filter(|wait| nodes[**wait].finally == node.finally).count(),
        });
        let left = nodes.iter().filter(|node| !node.finally).count();
        let mut frontier = Frontier { places: places.collect(), ready: BTreeSet::new(), left };
        (0..nodes.len()).for_each(|number| frontier.note(flow, state, number));
        frontier
    }

    /// Updates the frontier after the state has applied an event.
    pub(crate) fn follow(&mut self, flow: &Flow, state: &State, event: &Event) {
        // These events reset any number of steps.
        if matches!(event, Event::WentBack { .. } | Event::RunResumedFrom(_)) {
            *self = Frontier::of(flow, state);
        } else if let Some(number) = event.key().and_then(|key| flow.index(key.as_str())) {
            self.note(flow, state, number);
        }
    }

    /// Whether a step has nothing left to wait for.
    pub(crate) fn is_ready(&self, number: usize) -> bool {
        self.places[number].missing == 0
    }

    /// Steps that have not started and have nothing left to wait for, in order.
    pub(crate) fn ready(&self) -> impl Iterator<Item = usize> {
        self.ready.iter().copied()
    }

    /// Whether all main steps are settled, so that `finally` steps may start.
    pub(crate) fn is_main_settled(&self) -> bool {
        self.left == 0
    }

    /// Updates one step from the state.
    fn note(&mut self, flow: &Flow, state: &State, number: usize) {
        let node = &flow.nodes()[number];
        let step = state.step(&node.key);
        let begun = |step: &StepState| step.phase != Phase::Pending || step.is_open();
        let closed = step.is_some_and(|step| step.phase.is_closed());
        let place = &mut self.places[number];
        place.untouched = !step.is_some_and(begun);
        if place.closed != closed {
            place.closed = closed;
            for heir in node.heirs.iter().filter(|_| node.finally) {
                self.count(*heir, closed);
            }
            self.settle(flow, number);
        }
        self.offer(number);
    }

    /// Propagates to its dependents whether a step is settled.
    fn settle(&mut self, flow: &Flow, number: usize) {
        let mut open = vec![number];
        while let Some(number) = open.pop() {
            let place = &mut self.places[number];
            let settled = place.closed && place.unsettled == 0;
            if place.settled == settled {
                continue;
            }
            place.settled = settled;
            let node = &flow.nodes()[number];
            if !node.finally {
                self.left = if settled { self.left - 1 } else { self.left + 1 };
            }
            for heir in &node.heirs {
                let unsettled = &mut self.places[*heir].unsettled;
                *unsettled = if settled { *unsettled - 1 } else { *unsettled + 1 };
                if !node.finally && !flow.nodes()[*heir].finally {
                    self.count(*heir, settled);
                }
                open.push(*heir);
            }
        }
    }

    /// Records that a step has one fewer, or one more, dependency to wait for.
    fn count(&mut self, number: usize, over: bool) {
        let missing = &mut self.places[number].missing;
        *missing = if over { *missing - 1 } else { *missing + 1 };
        self.offer(number);
    }

    fn offer(&mut self, number: usize) {
        let place = &self.places[number];
        if place.untouched && place.missing == 0 {
            self.ready.insert(number);
        } else {
            self.ready.remove(&number);
        }
    }
}

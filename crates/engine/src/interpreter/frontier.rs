//! How far the top level of a run has come, kept along the way.
//!
//! All of it follows from the workflow and the state. It is there so that what comes next is found
//! without a look at every step: a step that is over costs what waits for it, and nothing else.

use std::collections::BTreeSet;

use crate::event::Event;
use crate::interpreter::flow::Flow;
use crate::state::{Phase, State, StepState};

/// The steps of the top level by their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frontier {
    places: Vec<Place>,
    /// Steps that have not begun and need not wait any more.
    ready: BTreeSet<usize>,
    /// Steps before the end of the run that are not settled.
    left: usize,
}

/// Where a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// It has not begun.
    untouched: bool,
    /// It is over.
    closed: bool,
    /// It is over, with all it waits for.
    settled: bool,
    /// How many it waits for are not settled.
    unsettled: usize,
    /// How many keep it from beginning: those of its own part that are not settled, and at the end
    /// of the run, where what there is of the others will do, that are not over.
    missing: usize,
}

impl Frontier {
    /// Of a run as it stands.
    pub(crate) fn of(flow: &Flow, state: &State) -> Frontier {
        let nodes = flow.nodes();
        let places = nodes.iter().map(|node| Place {
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

    /// Takes in what the state has taken in.
    pub(crate) fn follow(&mut self, flow: &Flow, state: &State, event: &Event) {
        // Those put any number of steps back.
        if matches!(event, Event::WentBack { .. } | Event::RunResumedFrom(_)) {
            *self = Frontier::of(flow, state);
        } else if let Some(number) = event.key().and_then(|key| flow.index(key.as_str())) {
            self.note(flow, state, number);
        }
    }

    /// Whether a step may begin, as far as others are concerned.
    pub(crate) fn is_ready(&self, number: usize) -> bool {
        self.places[number].missing == 0
    }

    /// Steps that have not begun and need not wait any more, in order.
    pub(crate) fn ready(&self) -> impl Iterator<Item = usize> {
        self.ready.iter().copied()
    }

    /// Whether all that comes before the end of the run is over.
    pub(crate) fn is_main_settled(&self) -> bool {
        self.left == 0
    }

    /// Looks at one step again.
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

    /// Whether a step is settled decides on those that wait for it, and they on others.
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

    /// One more that a step need not wait for, or has to wait for again.
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

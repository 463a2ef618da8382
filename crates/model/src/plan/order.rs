//! The order of steps: dependencies, cycles, waves, and the order of a run.
//!
//! These are graph algorithms on the top-level steps; a loop waits for everything that its body
//! reads.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use milepost_syntax::mend::SourceLocation;

use crate::check::of_step;
use crate::limits;
use crate::step::{Action, Step};
use crate::templated::Located;
use crate::workflow::Workflow;

/// The dependencies between the steps of a workflow.
#[derive(Debug)]
pub(crate) struct Order<'w> {
    pub(crate) steps: Vec<&'w Step>,
    /// The index of the first step of `finally`.
    finally: usize,
    /// For each step, the steps it waits for, with the location of the dependency.
    waits: Vec<BTreeMap<usize, SourceLocation>>,
}

impl<'w> Order<'w> {
    pub(crate) fn of(workflow: &'w Workflow) -> Order<'w> {
        let steps: Vec<&Step> = workflow.steps.iter().chain(&workflow.finally).collect();
        let mut home = HashMap::new();
        for (index, step) in steps.iter().enumerate().rev() {
            claim(step, index, &mut home);
        }
        let waits = steps
            .iter()
            .enumerate()
            .map(|(index, step)| {
                let mut waits = BTreeMap::new();
                gather(step, &mut |name, place| {
                    let other = home.get(name).copied();
                    // Inside one loop, steps run in document order.
                    let inside = other == Some(index) && !is_direct(step, name);
                    if let Some(other) = other.filter(|_| !inside) {
                        waits.entry(other).or_insert(place);
                    }
                });
                waits
            })
            .collect();
        Order { steps, finally: workflow.steps.len(), waits }
    }

    /// The steps that a step waits for, by index into `steps`.
    pub(crate) fn waits(&self, index: usize) -> impl Iterator<Item = usize> {
        self.waits[index].keys().copied()
    }

    /// Whether a step belongs to `finally`.
    pub(crate) fn is_finally(&self, index: usize) -> bool {
        index >= self.finally
    }

    /// The location of the dependency of one step on another.
    pub(crate) fn edge_place(&self, from: &Step, to: &Step) -> Option<SourceLocation> {
        let index = |step: &Step| self.steps.iter().position(|other| std::ptr::eq(*other, step));
        self.waits[index(from)?].get(&index(to)?).copied()
    }

    /// The order of a sequential run: document order, except that a step comes after those it waits
    /// for. Steps in cycles are omitted. `finally` comes last.
    pub(crate) fn sequence(&self) -> Vec<usize> {
        let mut followers = vec![Vec::new(); self.steps.len()];
        for (index, waits) in self.waits.iter().enumerate() {
            waits.keys().for_each(|other| followers[*other].push(index));
        }
        topological(&followers, |index| (self.is_finally(index), index))
    }

    /// The earliest wave of each step: one more than the latest of its dependencies.
    pub(crate) fn waves(&self) -> Vec<usize> {
        let mut waves = vec![0; self.steps.len()];
        for index in self.sequence() {
            waves[index] =
                self.waits(index).map(|other| waves[other] + 1).max().unwrap_or_default();
        }
        let last = waves[..self.finally].iter().max().map_or(0, |wave| wave + 1);
        for index in self.finally..self.steps.len() {
            let inner = self.waits(index).filter(|other| self.is_finally(*other));
            waves[index] = inner.map(|other| waves[other] + 1).max().unwrap_or_default().max(last);
        }
        waves
    }

    /// The cycles of steps that wait for each other. Each one is the shortest through its first
    /// step in document order.
    ///
    /// A cycle is usually closed by one step that waits for a later one. Ignoring that dependency
    /// breaks the other cycles it closes as well, so one mistake yields one cycle.
    pub(crate) fn rings(&self) -> Vec<Vec<&'w Step>> {
        let mut placed = vec![false; self.steps.len()];
        self.sequence().into_iter().for_each(|index| placed[index] = true);
        let mut cut = BTreeSet::new();
        let mut rings = Vec::new();
        for start in (0..self.steps.len()).filter(|index| !placed[*index]) {
            while rings.len() < limits::RINGS
                && let Some(ring) = self.ring_through(start, &placed, &cut)
            {
                cut.insert((ring[0], ring[1 % ring.len()]));
                rings.push(ring.into_iter().map(|index| self.steps[index]).collect());
            }
        }
        rings
    }

    /// The shortest cycle through a step, found by breadth-first search.
    fn ring_through(
        &self,
        start: usize,
        placed: &[bool],
        cut: &BTreeSet<(usize, usize)>,
    ) -> Option<Vec<usize>> {
        let mut came_from: Vec<Option<usize>> = vec![None; self.steps.len()];
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(index) = queue.pop_front() {
            let open = |next: &usize| !placed[*next] && !cut.contains(&(index, *next));
            for next in self.waits(index).filter(open) {
                if next == start {
                    let mut ring = vec![index];
                    while let Some(previous) = came_from[*ring.last()?] {
                        ring.push(previous);
                    }
                    ring.reverse();
                    return Some(ring);
                }
                if came_from[next].is_none() {
                    came_from[next] = Some(index);
                    queue.push_back(next);
                }
            }
        }
        None
    }
}

/// Topological order of the items. If several could come next, the one with the lowest rank wins;
/// the rank is computed when an item becomes ready. Items in cycles are omitted.
pub(crate) fn topological<R: Ord>(
    followers: &[Vec<usize>],
    mut rank: impl FnMut(usize) -> R,
) -> Vec<usize> {
    let mut waits = vec![0_usize; followers.len()];
    followers.iter().flatten().for_each(|follower| waits[*follower] += 1);
    let free = (0..waits.len()).rev().filter(|index| waits[*index] == 0);
    let mut ready: BTreeSet<(R, usize)> = free.map(|index| (rank(index), index)).collect();
    let mut sequence = Vec::with_capacity(waits.len());
    while let Some((_, index)) = ready.pop_first() {
        sequence.push(index);
        for follower in followers[index].iter().rev() {
            waits[*follower] -= 1;
            if waits[*follower] == 0 {
                ready.insert((rank(*follower), *follower));
            }
        }
    }
    sequence
}

fn claim<'w>(step: &'w Step, index: usize, home: &mut HashMap<&'w str, usize>) {
    home.insert(step.name(), index);
    if let Action::Loop(looped) = &step.action {
        looped.body.iter().for_each(|inner| claim(inner, index, home));
    }
}

/// Whether a step that is not a loop refers to itself by name and so waits for itself. A reference
/// to `self` does not count.
fn is_direct(step: &Step, name: &str) -> bool {
    !matches!(step.action, Action::Loop(_)) && step.name() == name
}

/// Collects every step that a step or its body refers to, with the location.
fn gather<'w>(step: &'w Step, found: &mut impl FnMut(&'w str, SourceLocation)) {
    for id in &step.depends_on {
        found(id.value.as_str(), id.at.into());
    }
    for usage in of_step(step) {
        for (name, place) in mentioned(usage.located) {
            found(name, place);
        }
    }
    if let Action::Loop(looped) = &step.action {
        looped.body.iter().for_each(|inner| gather(inner, found));
    }
}

/// The steps that an expression refers to.
pub(crate) fn mentioned(located: Located<'_>) -> impl Iterator<Item = (&str, SourceLocation)> {
    let steps = located.expr.references().iter().filter(|one| one.root == "steps");
    steps.filter_map(move |one| Some((one.field(0)?, located.place(one.path[0].span))))
}

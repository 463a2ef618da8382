//! What a run may spend, and has: of its own, and in the runs of its steps.
//!
//! A run that a step starts is handed what is left, and what it spent is added up when it ends.
//! Until then what was handed to it counts as spent, so that several at once cannot spend the same
//! twice: each of those that may run abreast is handed its share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Budget;
use crate::flow::Flow;
use crate::key::Key;
use crate::state::{Phase, State};

/// What has been spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    /// Requests.
    pub http_calls: u64,
    /// Requests that change something.
    pub writes: u64,
    /// Tries of all kinds.
    pub attempts: u64,
}

impl Spent {
    /// How much of a budget.
    pub fn of(&self, budget: Budget) -> u64 {
        match budget {
            Budget::HttpCalls => self.http_calls,
            Budget::Writes => self.writes,
            Budget::Attempts => self.attempts,
        }
    }

    /// Whether it is nothing.
    pub fn is_nothing(&self) -> bool {
        *self == Spent::default()
    }

    /// Adds what another run has spent since it was last counted.
    pub(crate) fn add(&mut self, now: Spent, counted: Spent) {
        self.http_calls += now.http_calls.saturating_sub(counted.http_calls);
        self.writes += now.writes.saturating_sub(counted.writes);
        self.attempts += now.attempts.saturating_sub(counted.attempts);
    }
}

/// The first budget, of those that count, of which nothing is left.
pub(crate) fn reached(state: &State, counts: impl Fn(Budget) -> bool) -> Option<(Budget, u64)> {
    // A run that is being stopped still tidies up after itself.
    if state.canceling.is_some() {
        return None;
    }
    let mut limits = state.head.budget.iter().map(|(budget, limit)| (*budget, *limit));
    limits.find(|(budget, limit)| counts(*budget) && taken(state, *budget) >= *limit)
}

/// Budgets of which four fifths are spent, and nobody was warned: how much, and of how much.
pub(crate) fn near(state: &State) -> Vec<(Budget, u64, u64)> {
    let all = state.head.budget.iter();
    let all = all.map(|(budget, limit)| (*budget, state.spent.of(*budget), *limit));
    let near = all.filter(|(budget, used, limit)| {
        used.saturating_mul(5) >= limit.saturating_mul(4) && !state.warned.contains(budget)
    });
    near.collect()
}

/// Limits that let a run spend more than before; one of what had none lets it spend less.
pub(crate) fn raised(
    state: &State,
    limits: &BTreeMap<Budget, u64>,
) -> impl Iterator<Item = (Budget, u64)> {
    let raised = limits.iter().filter(|(budget, limit)| {
        state.head.budget.get(budget).is_some_and(|before| *limit > before)
    });
    raised.map(|(budget, limit)| (*budget, *limit))
}

/// What the run that an execution starts may spend.
pub(crate) fn rest(flow: &Flow, state: &State, key: &Key) -> BTreeMap<Budget, u64> {
    if state.canceling.is_some() {
        return BTreeMap::new();
    }
    let abreast = abreast(flow, state, key);
    let share = |(budget, limit): (&Budget, &u64)| {
        (*budget, limit.saturating_sub(taken(state, *budget)).div_ceil(abreast))
    };
    state.head.budget.iter().map(share).collect()
}

/// What is spent, or in the hands of runs of steps.
fn taken(state: &State, budget: Budget) -> u64 {
    let handed = state.open().filter(|(_, step)| matches!(step.phase, Phase::Child(_)));
    let handed = handed.filter_map(|(_, step)| step.child.as_ref()?.rest.get(&budget).copied());
    handed.fold(state.spent.of(budget), u64::saturating_add)
}

/// How many may share what is left: those that may run at once, without those that have theirs.
fn abreast(flow: &Flow, state: &State, key: &Key) -> u64 {
    let open = flow.nodes().iter().filter(|node| !state.phase(&node.key).is_closed()).count();
    let steps = (flow.workflow().concurrency as usize).min(open).max(1);
    let list = key.list().and_then(|(list, _)| {
        let each = flow.of_key(key)?.for_each.as_ref()?;
        let step = state.step(&list)?;
        let left = step.items.as_ref()?.len().saturating_sub(step.items_over);
        Some((each.concurrency as usize).min(left).max(1))
    });
    let running = state.open().filter(|(_, step)| matches!(step.phase, Phase::Child(_))).count();
    (steps * list.unwrap_or(1)).saturating_sub(running).max(1) as u64
}

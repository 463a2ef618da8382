//! What a run may spend and has spent, including its child runs.
//!
//! A child run is given what is left of the budget, and what it spent is added when it ends. Until
//! then, what it was given counts as spent, so that concurrent children cannot spend the same
//! budget twice: each child that may run concurrently is given a share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Actor, ActorKind, BudgetKind};
use crate::state::State;
use crate::{Flow, StepKey};

/// What a run has spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetUsage {
    /// Requests.
    pub http_calls: u64,
    /// Requests that change something.
    pub writes: u64,
    /// Attempts of all kinds.
    pub attempts: u64,
}

impl BudgetUsage {
    /// How much of this budget was spent.
    pub fn of(&self, budget: BudgetKind) -> u64 {
        match budget {
            BudgetKind::HttpCalls => self.http_calls,
            BudgetKind::Writes => self.writes,
            BudgetKind::Attempts => self.attempts,
        }
    }

    /// Whether nothing was spent.
    pub fn is_nothing(&self) -> bool {
        *self == BudgetUsage::default()
    }

    /// Adds what a child has spent beyond what is already counted, and updates the count. A driver
    /// that could not continue the child does not know what it spent, so the count never decreases.
    pub(crate) fn add(&mut self, now: BudgetUsage, counted: &mut BudgetUsage) {
        let add = |own: &mut u64, now: u64, counted: &mut u64| {
            *own += now.saturating_sub(*counted);
            *counted = now.max(*counted);
        };
        add(&mut self.http_calls, now.http_calls, &mut counted.http_calls);
        add(&mut self.writes, now.writes, &mut counted.writes);
        add(&mut self.attempts, now.attempts, &mut counted.attempts);
    }
}

/// The first budget that is used up, among those that `counts` selects, with its limit.
pub(crate) fn reached(
    state: &State,
    counts: impl Fn(BudgetKind) -> bool,
) -> Option<(BudgetKind, u64)> {
    // A run that is being canceled still runs its cleanup steps.
    if state.canceling.is_some() {
        return None;
    }
    let mut limits = state.head.budget.iter().map(|(budget, limit)| (*budget, *limit));
    limits.find(|(budget, limit)| counts(*budget) && taken(state, *budget) >= *limit)
}

/// Budgets that are at least 80% spent and have not been warned about: the budget, what was used,
/// and the limit.
pub(crate) fn near(state: &State) -> Vec<(BudgetKind, u64, u64)> {
    let all = state.head.budget.iter();
    let all = all.map(|(budget, limit)| (*budget, state.spent.of(*budget), *limit));
    let near = all.filter(|(budget, used, limit)| {
        used.saturating_mul(5) >= limit.saturating_mul(4) && !state.warned.contains(budget)
    });
    near.collect()
}

/// Limits that only a person may set: all of them, except those that a parent run lowers because it
/// has less left.
pub(crate) fn decided(
    state: &State,
    by: &Actor,
    limits: &BTreeMap<BudgetKind, u64>,
) -> impl Iterator<Item = (BudgetKind, u64)> {
    let decided = limits.iter().filter(|(budget, limit)| {
        let before = state.head.budget.get(budget);
        by.kind != ActorKind::Engine || before.is_some_and(|before| *limit > before)
    });
    decided.map(|(budget, limit)| (*budget, *limit))
}

/// Whether any of a budget is left.
pub(crate) fn is_left(state: &State, budget: BudgetKind) -> bool {
    state.head.budget.get(&budget).is_none_or(|limit| taken(state, budget) < *limit)
}

/// The budget for the child run that an execution starts.
pub(crate) fn rest(flow: &Flow, state: &State, key: &StepKey) -> BTreeMap<BudgetKind, u64> {
    if state.canceling.is_some() || state.head.budget.is_empty() {
        return BTreeMap::new();
    }
    let abreast = abreast(flow, state, key);
    let share = |(budget, limit): (&BudgetKind, &u64)| {
        (*budget, limit.saturating_sub(taken(state, *budget)).div_ceil(abreast))
    };
    state.head.budget.iter().map(share).collect()
}

/// What has been spent or is reserved for child runs.
fn taken(state: &State, budget: BudgetKind) -> u64 {
    let handed = state.children().filter_map(|(_, step, _)| {
        let child = step.child.as_ref()?;
        child.rest.get(&budget).copied()
    });
    handed.fold(state.spent.of(budget), u64::saturating_add)
}

/// The number of executions that share what is left: those that may run at the same time and have
/// no share yet.
pub(crate) fn abreast(flow: &Flow, state: &State, key: &StepKey) -> u64 {
    let list = key.list().and_then(|(list, _)| {
        let each = flow.of_key(key)?.for_each.as_ref()?;
        let step = state.step(&list)?;
        let left = step.items.as_ref()?.len().saturating_sub(step.items_over);
        let begun = state.children().filter(|(holder, ..)| holder.is_within(&list)).count();
        Some((each.concurrency as usize).min(left).saturating_sub(begun).max(1))
    });
    (steps_abreast(flow, state, key) * list.unwrap_or(1)) as u64
}

/// The number of top-level steps, including this one, that may run at the same time: those that are
/// not related to it by dependencies, have not ended, and have no share yet.
fn steps_abreast(flow: &Flow, state: &State, key: &StepKey) -> usize {
    let most = flow.workflow().concurrency as usize;
    let Some(own) = flow.index(key.top()).filter(|_| most > 1) else { return 1 };
    let related = flow.related(own);
    let finally = flow.nodes()[own].finally;
    let beside = flow.nodes().iter().enumerate().filter(|(number, node)| {
        let has_share = || state.children().any(|(holder, ..)| holder.top() == node.key.as_str());
        !related.contains(number)
            && node.finally == finally
            && !state.phase(&node.key).is_closed()
            && !has_share()
    });
    most.min(1 + beside.count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_counted_is_never_counted_again() {
        let calls = |http_calls| BudgetUsage { http_calls, ..BudgetUsage::default() };
        let (mut own, mut counted) = (calls(1), BudgetUsage::default());
        // The second report comes from a driver that could not continue the run and knows nothing
        // about it.
        for now in [2, 0, 3] {
            own.add(calls(now), &mut counted);
        }
        assert_eq!((own, counted), (calls(4), calls(3)));
    }
}

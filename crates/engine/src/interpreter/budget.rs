//! What a run may spend, and has: of its own, and in the runs of its steps.
//!
//! A run that a step starts is handed what is left, and what it spent is added up when it ends.
//! Until then what was handed to it counts as spent, so that several at once cannot spend the same
//! twice: each of those that may run abreast is handed its share.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::{Actor, ActorKind, Budget};
use crate::state::State;
use crate::{Flow, StepKey};

/// What has been spent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetUsage {
    /// Requests.
    pub http_calls: u64,
    /// Requests that change something.
    pub writes: u64,
    /// Tries of all kinds.
    pub attempts: u64,
}

impl BudgetUsage {
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
        *self == BudgetUsage::default()
    }

    /// Adds what another run has spent beyond what is counted, and counts it. Whoever could not go
    /// on with a run does not know what it spent, so what is counted never becomes less.
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

/// Limits that only a person may set: all of them, but for those that the run above sets because it
/// has less left.
pub(crate) fn decided(
    state: &State,
    by: &Actor,
    limits: &BTreeMap<Budget, u64>,
) -> impl Iterator<Item = (Budget, u64)> {
    let decided = limits.iter().filter(|(budget, limit)| {
        let before = state.head.budget.get(budget);
        by.kind != ActorKind::Engine || before.is_some_and(|before| *limit > before)
    });
    decided.map(|(budget, limit)| (*budget, *limit))
}

/// Whether something of a budget is left again that was not.
pub(crate) fn is_left(state: &State, budget: Budget) -> bool {
    state.head.budget.get(&budget).is_none_or(|limit| taken(state, budget) < *limit)
}

/// What the run that an execution starts may spend.
pub(crate) fn rest(flow: &Flow, state: &State, key: &StepKey) -> BTreeMap<Budget, u64> {
    if state.canceling.is_some() || state.head.budget.is_empty() {
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
    let handed = state.children().filter_map(|(_, step, _)| {
        let child = step.child.as_ref()?;
        child.rest.get(&budget).copied()
    });
    handed.fold(state.spent.of(budget), u64::saturating_add)
}

/// How many may share what is left: those that may run at once, without those that have theirs.
fn abreast(flow: &Flow, state: &State, key: &StepKey) -> u64 {
    let list = key.list().and_then(|(list, _)| {
        let each = flow.of_key(key)?.for_each.as_ref()?;
        let step = state.step(&list)?;
        let left = step.items.as_ref()?.len().saturating_sub(step.items_over);
        let begun = state.children().filter(|(holder, ..)| holder.is_within(&list)).count();
        Some((each.concurrency as usize).min(left).saturating_sub(begun).max(1))
    });
    (steps_abreast(flow, state, key) * list.unwrap_or(1)) as u64
}

/// How many steps of the top level may run at once, from this one on: it, and those that neither
/// wait for it nor it for them, are not over and have no share.
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
        // The second one could not go on with the run, and knows nothing of it.
        for now in [2, 0, 3] {
            own.add(calls(now), &mut counted);
        }
        assert_eq!((own, counted), (calls(4), calls(3)));
    }
}

//! Whether a step has the same meaning in two sources, regardless of its position.

use std::collections::BTreeSet;

use milepost_model::step::{Action, Step};

use super::selection::StepSelection;
use super::{ResolvedRequest, refusal};
use crate::state::State;
use crate::{Failure, Flow};

/// Whether two steps do the same thing. Positions, titles and retry settings are ignored.
fn do_the_same(was: &Step, now: &Step) -> bool {
    let runs_alike = was.when == now.when && was.needs == now.needs && was.for_each == now.for_each;
    runs_alike
        && match (&was.action, &now.action) {
            (Action::Loop(was), Action::Loop(now)) => {
                let mut bodies = was.body.iter().zip(&now.body);
                was.spec == now.spec
                    && was.body.len() == now.body.len()
                    && bodies.all(|(was, now)| was.id == now.id && do_the_same(was, now))
            }
            (was, now) => was == now,
        }
}

/// Whether the finished part of a list or a loop is valid for the new one too.
pub(crate) fn same_list(was: &Step, now: &Step) -> bool {
    match (&was.action, &now.action) {
        (Action::Run(old), Action::Run(new)) => {
            old.target == new.target && was.for_each == now.for_each
        }
        (Action::Prompt(_), Action::Prompt(_)) => was.for_each == now.for_each,
        (Action::Loop(_), Action::Loop(_)) => do_the_same(was, now),
        _ => false,
    }
}

/// Checks that every step that would be kept still exists and does the same thing.
pub(crate) fn keeps(
    old: &Flow,
    new: &Flow,
    state: &State,
    wish: &ResolvedRequest<'_>,
) -> Result<(), Failure> {
    if old.is_walked() != new.is_walked() {
        return Err(refusal::respelt());
    }
    let choice = StepSelection::of(old, old, state, wish);
    for (index, node) in old.nodes().iter().enumerate() {
        let begun = state.within(&node.key).next().is_some();
        let given = wish.request.overrides.contains_key(node.key.as_str());
        if !begun || given || choice.why.contains_key(&index) {
            continue;
        }
        let Some(now) = new.index(node.key.as_str()) else {
            return Err(refusal::removed(&node.key));
        };
        if waits(old, index) != waits(new, now) {
            return Err(refusal::rewired(&node.key, "it waits for different steps"));
        }
        let both = old.of_key(&node.key).zip(new.of_key(&node.key));
        if !both.is_some_and(|(was, now)| do_the_same(was, now)) {
            return Err(refusal::rewired(&node.key, "it does something else"));
        }
    }
    Ok(())
}

fn waits(flow: &Flow, index: usize) -> BTreeSet<&str> {
    let nodes = flow.nodes();
    nodes[index].waits.iter().map(|wait| nodes[*wait].key.as_str()).collect()
}

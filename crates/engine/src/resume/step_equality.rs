//! Whether a step means the same in two texts, wherever in them it stands.

use std::collections::BTreeSet;
use std::fmt::Write;

use milepost_model::step::{Action, Step};

use super::selection::StepSelection;
use super::{ResolvedRequest, refusal};
use crate::state::State;
use crate::{Failure, Flow};

/// What a step does, as a text to compare: everything but places, names for people, and how
/// patiently it is tried.
pub(crate) fn of(step: &Step) -> String {
    let mut text = format!("{:?} {:?} {:?}", step.when, step.needs, step.for_each);
    match &step.action {
        Action::Loop(looped) => {
            let _ = write!(text, "{:?}", looped.spec);
            for inner in &looped.body {
                let _ = write!(text, "{} {}", inner.id.value, of(inner));
            }
        }
        action => {
            let _ = write!(text, "{action:?}");
        }
    }
    placeless(&text)
}

/// The text without where in a document things stand.
fn placeless(text: &str) -> String {
    const PLACE: &str = "Span { start: ";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(PLACE) {
        out.push_str(&rest[..at]);
        rest = &rest[at + PLACE.len()..];
        rest = rest.find('}').map_or("", |end| &rest[end + 1..]);
    }
    out.push_str(rest);
    out
}

/// Whether what was done of a list or a loop counts for the new one too.
pub(crate) fn same_list(was: &Step, now: &Step) -> bool {
    let list = |step: &Step| placeless(&format!("{:?}", step.for_each));
    match (&was.action, &now.action) {
        (Action::Run(old), Action::Run(new)) => {
            old.target.value == new.target.value && list(was) == list(now)
        }
        (Action::Prompt(_), Action::Prompt(_)) => list(was) == list(now),
        (Action::Loop(_), Action::Loop(_)) => of(was) == of(now),
        _ => false,
    }
}

/// Whether every step that would be kept is still there, and is the same.
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
            return Err(refusal::rewired(&node.key, "it waits for other steps"));
        }
        let same = old.of_key(&node.key).map(of) == new.of_key(&node.key).map(of);
        if !same {
            return Err(refusal::rewired(&node.key, "it does something else"));
        }
    }
    Ok(())
}

fn waits(flow: &Flow, index: usize) -> BTreeSet<&str> {
    let nodes = flow.nodes();
    nodes[index].waits.iter().map(|wait| nodes[*wait].key.as_str()).collect()
}

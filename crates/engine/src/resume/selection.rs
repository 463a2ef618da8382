//! Which steps run again, and why.

use std::collections::{BTreeMap, BTreeSet};

use milepost_model::expr::SegmentKind;
use milepost_model::guide::Confirmation;
use milepost_model::step::{Action, OnError, Step, When};

use super::{Origin, ResolvedRequest, step_equality};
use crate::state::{Phase, State};
use crate::{Flow, StepKey};

/// Why a step runs again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RerunReason {
    /// It was named in the request.
    Asked,
    /// Everything runs again.
    Start,
    /// It reads an input that has changed.
    Reads(String),
    /// It depends on a step that runs again or whose output is replaced.
    Below(StepKey),
    Failed,
    Canceled,
    /// It runs at the end every time.
    Finally,
    /// It approved a write that is repeated.
    Spent(StepKey),
}

impl RerunReason {
    pub(crate) fn words(&self) -> String {
        match self {
            RerunReason::Asked => "it was requested".to_owned(),
            RerunReason::Start => "everything runs again".to_owned(),
            RerunReason::Reads(input) => format!("it reads the input `{input}`, which has changed"),
            RerunReason::Below(key) => format!("it depends on `{key}`"),
            RerunReason::Failed => "it failed".to_owned(),
            RerunReason::Canceled => "it was canceled".to_owned(),
            RerunReason::Finally => "it always runs at the end".to_owned(),
            RerunReason::Spent(key) => {
                format!("it approved the write in `{key}`, which is repeated")
            }
        }
    }
}

/// Which top-level steps run again.
#[derive(Debug, Default)]
pub(crate) struct StepSelection {
    /// The reason for each step that runs again, by index; other steps keep their results.
    pub(crate) why: BTreeMap<usize, RerunReason>,
    /// Lists and loops that run only their remaining items or passes.
    pub(crate) reopened: BTreeSet<usize>,
}

impl StepSelection {
    /// Selects the steps that run again in `flow`; `old` is the workflow that ran.
    pub(crate) fn of(
        flow: &Flow,
        old: &Flow,
        state: &State,
        wish: &ResolvedRequest<'_>,
    ) -> StepSelection {
        let mut choice = StepSelection::default();
        choice.roots(flow, state, wish);
        if wish.only.is_none() {
            choice.spread(flow, wish);
            choice.at_the_end(flow, state);
        }
        for named in wish.request.overrides.keys() {
            flow.index(named).and_then(|index| choice.why.remove(&index));
        }
        // An approval that was given is kept, unless the request names it.
        let asked = |why: &RerunReason| *why == RerunReason::Asked;
        choice.why.retain(|index, why| asked(why) || !is_given(flow, state, *index));
        let goes_on = |(index, why): (&usize, &RerunReason)| {
            let key = &flow.nodes()[*index].key;
            let mut pair = flow.of_key(key).zip(old.of_key(key)).into_iter();
            let goes_on = matches!(why, RerunReason::Failed | RerunReason::Canceled)
                && pair.any(|(now, was)| step_equality::same_list(was, now))
                && is_partial(state, key);
            goes_on.then_some(*index)
        };
        choice.reopened = choice.why.iter().filter_map(goes_on).collect();
        choice.ask_again(flow, state);
        choice
    }

    /// Selects the steps that run again independently of other steps.
    fn roots(&mut self, flow: &Flow, state: &State, wish: &ResolvedRequest<'_>) {
        for (index, node) in flow.nodes().iter().enumerate() {
            let begun = state.within(&node.key).next().is_some();
            let reads = || {
                let step = flow.of_key(&node.key)?;
                let mut changed = wish.changed.iter();
                changed.find(|input| reads(flow, step, input)).map(|input| (*input).to_owned())
            };
            let whole = wish.only.is_none() && begun;
            let why = if wish.asked.iter().any(|asked| asked == node.key.as_str()) {
                Some(RerunReason::Asked)
            } else if whole && wish.request.origin == Origin::Start {
                Some(RerunReason::Start)
            } else if let Some(input) = reads().filter(|_| whole) {
                Some(RerunReason::Reads(input))
            } else {
                broke(flow, state, index)
            };
            self.why.extend(why.map(|why| (index, why)));
        }
    }

    /// Selects everything that depends on a selected step.
    fn spread(&mut self, flow: &Flow, wish: &ResolvedRequest<'_>) {
        let given = wish.request.overrides.keys().filter_map(|named| flow.index(named));
        let roots: Vec<usize> = self.why.keys().copied().chain(given).collect();
        for root in roots {
            for below in flow.below(root) {
                let why = self.why.entry(below).or_insert(RerunReason::Failed);
                if matches!(why, RerunReason::Failed | RerunReason::Canceled) {
                    *why = RerunReason::Below(flow.nodes()[root].key.clone());
                }
            }
        }
    }

    fn at_the_end(&mut self, flow: &Flow, state: &State) {
        for (index, node) in flow.nodes().iter().enumerate() {
            if node.finally && state.end.is_some() && state.step(&node.key).is_some() {
                self.why.entry(index).or_insert(RerunReason::Finally);
            }
        }
    }

    /// One approval allows one write: a write that took effect is not repeated without asking
    /// again.
    fn ask_again(&mut self, flow: &Flow, state: &State) {
        let mut spent = BTreeMap::new();
        for index in self.why.keys() {
            let resets = self.resets(flow, state, *index);
            let wrote = state.steps.iter().any(|(key, step)| {
                step.wrote.is_some() && resets.iter().any(|reset| key.is_within(reset))
            });
            let above = flow.above(*index).into_iter().filter(|_| wrote);
            for approval in above.filter(|above| is_given(flow, state, *above)) {
                spent.insert(approval, RerunReason::Spent(flow.nodes()[*index].key.clone()));
            }
        }
        for (approval, why) in spent {
            self.why.entry(approval).or_insert(why);
        }
    }

    /// The executions of a step that are reset.
    pub(crate) fn resets(&self, flow: &Flow, state: &State, index: usize) -> Vec<StepKey> {
        let own = &flow.nodes()[index].key;
        let within = state.within(own);
        if !self.reopened.contains(&index) {
            return within.map(|_| own.clone()).take(1).collect();
        }
        let tolerated = |key: &StepKey| {
            let step = flow.of_key(key);
            key.as_str().contains("::") && step.is_some_and(|def| def.on_error == OnError::Continue)
        };
        let inner = within.filter(|(key, step)| {
            let broken = match step.phase {
                Phase::Failed => !tolerated(key),
                Phase::Canceled => true,
                _ => false,
            };
            *key != own && broken && !key.is_check()
        });
        inner.map(|(key, _)| key.clone()).collect()
    }
}

/// Whether a step was canceled, or failed and made the run fail.
pub(crate) fn broke(flow: &Flow, state: &State, index: usize) -> Option<RerunReason> {
    let own = &flow.nodes()[index].key;
    let of = |key: &StepKey| match state.phase(key) {
        Phase::Failed => {
            let counts = flow.of_key(key).is_some_and(|def| def.on_error == OnError::Fail);
            (counts && !key.is_check()).then_some(RerunReason::Failed)
        }
        Phase::Canceled => Some(RerunReason::Canceled),
        _ => None,
    };
    // A loop in a guide has no execution of its own.
    match state.step(own) {
        Some(_) => of(own),
        None => state.below(own).find_map(|(key, _)| of(key)),
    }
}

/// Whether the step is an approval that was given.
pub(crate) fn is_given(flow: &Flow, state: &State, index: usize) -> bool {
    let key = &flow.nodes()[index].key;
    let asks = flow.of_key(key).is_some_and(|step| matches!(step.action, Action::Approve(_)));
    asks && *state.phase(key) == Phase::Succeeded
}

/// Whether the step is a list or a loop that may be partly done.
fn is_partial(state: &State, key: &StepKey) -> bool {
    let listed = state.step(key).is_none_or(|step| step.items.is_some());
    listed && state.below(key).next().is_some()
}

/// Whether a step reads an input.
fn reads(flow: &Flow, step: &Step, input: &str) -> bool {
    let expressed = step.exprs().iter().any(|located| {
        located.expr.references().iter().any(|reference| {
            let field = reference.path.first().map(|segment| &segment.kind);
            reference.root == "inputs"
                && match field {
                    Some(SegmentKind::Field(name)) => name == input,
                    Some(SegmentKind::Index(_) | SegmentKind::Dynamic) | None => true,
                }
        })
    });
    expressed || varies(flow, step, input)
}

/// Whether a part of a step that is not an expression may use an input as a variable. Conditions,
/// rules and prompts refer to variables in many ways, so any occurrence of the name counts: running
/// a step again is better than keeping a result for a different input.
fn varies(flow: &Flow, step: &Step, input: &str) -> bool {
    let guided = flow.is_walked() || matches!(step.when, Some(When::Condition(_)));
    let told = match &step.action {
        Action::Loop(_) => true,
        Action::Prompt(prompt) => {
            prompt.criteria.is_some() || matches!(prompt.confirmation, Confirmation::When(_))
        }
        _ => false,
    };
    let text = || format!("{:?} {:?} {:?}", step.when, step.for_each, step.action);
    let word = |part: &str| part == input;
    let apart = |c: char| !c.is_alphanumeric() && c != '_' && c != '-';
    (guided || told) && text().split(apart).any(word)
}

//! Who has to authorize a resumption: nobody, a person, or a person who proves their presence.
//!
//! Resuming must not bypass a decision that was up to a person: whether a write with an unknown
//! outcome may be repeated, whether an agent gets more attempts, or whether an approval is still
//! requested.

use milepost_model::step::Action;
use serde_json::Value;

use crate::event::Resumption;
use crate::interpreter::budget;
use crate::interpreter::evaluator::RunEvaluator;
use crate::state::{Phase, State, StepState};
use crate::world::WorldChange;
use crate::{Flow, StepKey};

/// Who has to authorize a resumption, and what for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResumeAuthority {
    /// No authorization is needed.
    Nobody,
    /// A person has to request it.
    Person(String),
    /// A person has to request it and prove their presence.
    Proof(String),
}

/// Who has to authorize a resumption with this workflow.
pub fn needs(flow: &Flow, state: &State, resumption: &Resumption) -> ResumeAuthority {
    let reset: Vec<(&StepKey, &StepState)> = state
        .steps
        .iter()
        .filter(|(key, _)| resumption.reset.iter().any(|reset| key.is_within(reset)))
        .collect();
    let set = resumption.overrides.iter().map(|(key, output)| format!("set `{key}` to {output}"));
    let more = budget::decided(state, &resumption.by, &resumption.budget).map(|(budget, limit)| {
        let name = budget.name();
        format!("allow {name}={limit}")
    });
    let unsettled = reset.iter().filter(|(_, step)| step.unsettled).map(|(key, step)| {
        let request = step.wrote.as_ref().map_or("its request", |wrote| wrote.request.as_str());
        format!("resend `{request}` for `{key}`, which may already have taken effect")
    });
    let exhausted = reset.iter().filter(|(key, step)| is_exhausted(flow, key, step));
    let exhausted = exhausted.map(|(key, _)| format!("give an agent more attempts at `{key}`"));
    let other = resumption.text_hash != state.head.text_hash;
    // What the run itself asked is asked again if the text changes.
    let asked = state.steps.iter().filter(|(key, _)| !key.is_reserved());
    let unasked = asked.filter(|(key, step)| other && loses(flow, state, key, step));
    let unasked = unasked.map(|(key, _)| format!("continue without the approval in `{key}`"));
    let shown: Vec<String> =
        set.chain(more).chain(unsettled).chain(exhausted).chain(unasked).collect();
    if !shown.is_empty() {
        return ResumeAuthority::Proof(shown.join(", "));
    }
    // `finally` steps are meant to run at the end every time.
    let again = reset.iter().filter(|(key, _)| !flow.is_finally(key));
    let again = again.filter_map(|(key, step)| {
        let wrote = step.wrote.as_ref().filter(|wrote| !wrote.repeatable)?;
        Some(format!("send `{}` for `{key}` again", wrote.request))
    });
    let again: Vec<String> = again.chain(redirected(state, resumption)).collect();
    if again.is_empty() {
        ResumeAuthority::Nobody
    } else {
        ResumeAuthority::Person(again.join(", "))
    }
}

/// The changes that would send requests to a different address or with different credentials.
fn redirected(state: &State, resumption: &Resumption) -> Vec<String> {
    let worlds = state.head.world.as_ref().zip(resumption.world.as_ref());
    let changes = worlds.map(|(before, after)| before.changes(after)).unwrap_or_default();
    let changes = changes.into_iter().filter(WorldChange::redirects).map(|change| {
        let WorldChange { name, part, before, after } = change;
        let of = |text: Option<String>| text.unwrap_or_else(|| "nothing".to_owned());
        format!("change the {part} of `{name}` from {} to {}", of(before), of(after))
    });
    changes.collect()
}

/// Whether an agent has no attempts left for an unfinished step.
fn is_exhausted(flow: &Flow, key: &StepKey, step: &StepState) -> bool {
    let Some(Action::Prompt(prompt)) = flow.of_key(key).map(|step| &step.action) else {
        return false;
    };
    step.refused > 0 && step.phase != Phase::Succeeded && step.tries_left(prompt.max_attempts) == 0
}

/// Whether the new source drops a question that a person was asked, or no longer asks it before
/// sending the requests it was about.
fn loses(flow: &Flow, state: &State, key: &StepKey, step: &StepState) -> bool {
    let Some(request) = step.request.as_deref() else { return false };
    let asks = flow.of_key(key).is_some_and(|def| match &def.action {
        Action::Approve(_) => true,
        Action::Prompt(prompt) => {
            let submitted = step.submission.as_ref().map(|submission| &submission.output);
            let output = submitted.or(step.output.as_ref()).unwrap_or(&Value::Null);
            RunEvaluator::of(flow, state).is_confirmed(key, prompt, output)
        }
        _ => false,
    });
    let Some(index) = flow.index(key.top()).filter(|_| asks) else { return true };
    let below = flow.below(index);
    let named = request.shown.iter().map(|shown| &shown.key).chain(&request.unshown);
    let mut still = named.filter_map(|key| flow.index(key.top()));
    still.any(|sender| !below.contains(&sender))
}

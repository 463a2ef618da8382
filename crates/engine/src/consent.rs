//! Whether a person has to agree before a run sends something.
//!
//! One yes covers the run: its text, its inputs, its world and its bound. It is a question of the
//! run under a step key that no document can contain, so everything that holds for the questions of
//! documents holds for it too. A write that has to be approved individually is a question of its
//! own, whose key contains the digest of the request: another request is another question.

use std::collections::BTreeSet;

use milepost_model::serialized_enum;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::effect_bound::{BoundedWrite, CallEffect, EffectBound, WriteCounts};
use crate::event::ActorKind;
use crate::interpreter::{PreparedCall, budget, digest};
use crate::state::{Phase, State};
use crate::{Cause, Flow, StepKey, limits};

/// The layout of [`ConsentTerms`] that this program writes.
pub const CONSENT_VERSION: u32 = 1;

serialized_enum! {
    /// What a write needs before it is sent, from the most to the least permissive.
    #[derive(Default)]
    WriteRule {
        Allow = "allow",
        /// A person agrees once for the whole run.
        #[default]
        Consent = "consent",
        /// A person approves each request.
        Approve = "approve",
        Deny = "deny",
    }
}

serialized_enum! {
    /// Why a person has to agree.
    #[derive(Default)]
    ConsentReason {
        /// An agent runs a text that no person has reviewed.
        #[default]
        Unreviewed = "unreviewed",
        /// An agent calls a command directly.
        Call = "call",
        /// The configuration says so.
        Policy = "policy",
        /// The person has a PIN, and has not reviewed the text with it.
        Pin = "pin",
    }
}

/// What a run needs a person's agreement for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentTerms {
    pub version: u32,
    pub because: ConsentReason,
    /// The writes in the bound that need something.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<GuardedWrite>,
    /// The origins in the bound that no person has accepted.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub origins: BTreeSet<String>,
}

/// A kind of write, and what it needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardedWrite {
    #[serde(flatten)]
    pub effect: CallEffect,
    pub needs: WriteRule,
}

impl ConsentTerms {
    /// Whether nothing needs a person's agreement.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.origins.is_empty()
    }

    /// Whether a person looked at the text, so that only the policy needs something.
    pub fn is_of_reviewed(&self) -> bool {
        match self.because {
            ConsentReason::Policy => true,
            ConsentReason::Unreviewed | ConsentReason::Call | ConsentReason::Pin => false,
        }
    }

    /// The terms for a run that this run starts. A yes covers both, but requests that are approved
    /// individually still are.
    #[must_use]
    pub fn inherited(mut self) -> ConsentTerms {
        self.origins.clear();
        self.writes.retain(|write| write.needs > WriteRule::Consent);
        self
    }

    fn rule(&self, write: &BoundedWrite) -> WriteRule {
        let own = self.writes.iter().find(|own| own.effect == write.effect);
        own.map_or(WriteRule::Allow, |own| own.needs)
    }
}

/// Whether something may be sent.
pub(crate) enum Gate {
    Open,
    /// A person is asked first.
    Ask(ConsentQuestion),
    /// It is not sent.
    Refused(Cause),
}

/// What a person is asked.
pub(crate) struct ConsentQuestion {
    pub(crate) key: StepKey,
    pub(crate) message: String,
    /// Whether it is about one request, and not about the run.
    pub(crate) alone: bool,
}

/// Whether a request may be sent.
pub(crate) fn of_call(
    state: &State,
    key: &StepKey,
    prepared: &PreparedCall,
    idempotency_key: &str,
) -> Gate {
    let Some(effect) = &prepared.effect else { return Gate::Open };
    let head = &state.head;
    // A write that the bound does not contain is refused by the sender.
    let entry = head.bound.as_ref().and_then(|bound| bound.entry(effect));
    let entry = entry.filter(|_| prepared.write);
    let terms = head.consent.as_deref();
    let rule = terms.zip(entry).map_or(WriteRule::Allow, |(terms, entry)| terms.rule(entry));
    let asked = match rule {
        WriteRule::Deny => {
            return Gate::Refused(Cause::Denied { request: effect.name() });
        }
        // A person has approved exactly this request.
        WriteRule::Approve | WriteRule::Consent if is_approved(state, key, prepared) => Gate::Open,
        WriteRule::Approve => alone(state, key, prepared, idempotency_key),
        WriteRule::Consent => whole(state),
        WriteRule::Allow if terms.is_some_and(|terms| terms.origins.contains(&effect.origin)) => {
            whole(state)
        }
        WriteRule::Allow => Gate::Open,
    };
    match (asked, entry) {
        (Gate::Open, Some(entry)) if is_new_write(state, key) && left(state, entry) == 0 => {
            more(state)
        }
        (asked, _) => asked,
    }
}

/// Whether a child run with this bound may be started, and how many writes it may make.
pub(crate) fn of_child(
    flow: &Flow,
    state: &State,
    key: &StepKey,
    child: Option<&EffectBound>,
) -> (Gate, WriteCounts) {
    let (Some(bound), Some(child)) = (state.head.bound.as_ref(), child) else {
        return (Gate::Open, WriteCounts::new());
    };
    let entries: Vec<(&BoundedWrite, &BoundedWrite)> =
        child.writes.iter().filter_map(|own| Some((own, bound.entry(&own.effect)?))).collect();
    if let Some(terms) = state.head.consent.as_deref() {
        let writes = entries.iter().any(|(_, entry)| terms.rule(entry) == WriteRule::Consent);
        let calls = child.origins().into_iter().any(|origin| terms.origins.contains(origin));
        let asked = if writes || calls { whole(state) } else { Gate::Open };
        if !matches!(asked, Gate::Open) {
            return (asked, WriteCounts::new());
        }
    }
    let mut handed = WriteCounts::new();
    for (own, entry) in entries {
        let left = left(state, entry);
        let share = left.div_ceil(budget::abreast(flow, state, key));
        let wanted = if own.open { own.most.min(share).max(1) } else { own.most };
        let taken = handed.entry(entry.effect.name()).or_default();
        *taken = taken.saturating_add(wanted);
        if *taken > left {
            return (more(state), WriteCounts::new());
        }
    }
    (Gate::Open, handed)
}

/// The question about the whole run.
fn whole(state: &State) -> Gate {
    let key = StepKey::consent();
    match state.phase(&key) {
        Phase::Succeeded => Gate::Open,
        Phase::Pending if state.canceling.is_none() => {
            Gate::Ask(ConsentQuestion { key, message: message(state), alone: false })
        }
        _ => Gate::Refused(Cause::NoConsent { key }),
    }
}

/// The question about one request.
fn alone(state: &State, of: &StepKey, prepared: &PreparedCall, idempotency_key: &str) -> Gate {
    let digest = digest(&json!([idempotency_key, prepared.digest]));
    let key = of.approval(&digest[..limits::QUESTION_DIGITS]);
    match state.phase(&key) {
        Phase::Succeeded => Gate::Open,
        Phase::Pending if state.canceling.is_none() => {
            let message = format!("send this request for `{of}`?");
            Gate::Ask(ConsentQuestion { key, message, alone: true })
        }
        _ => Gate::Refused(Cause::NoConsent { key }),
    }
}

/// The question about as many writes again.
fn more(state: &State) -> Gate {
    let key = StepKey::consent_again(portions(state));
    match state.phase(&key) {
        Phase::Pending if state.canceling.is_none() => {
            let workflow = &state.head.workflow;
            let message = format!(
                "`{workflow}` has made as many writes as it may; may it make as many again?\n{}",
                effects(state)
            );
            Gate::Ask(ConsentQuestion { key, message, alone: false })
        }
        _ => Gate::Refused(Cause::NoConsent { key }),
    }
}

fn message(state: &State) -> String {
    let head = &state.head;
    let Some(terms) = head.consent.as_deref() else { return String::new() };
    let workflow = &head.workflow;
    let text = match terms.because {
        ConsentReason::Unreviewed => {
            format!("may `{workflow}` run? no person has reviewed its text")
        }
        ConsentReason::Call => "an agent wants to send this request".to_owned(),
        ConsentReason::Policy => format!("may `{workflow}` run? the policy asks for consent"),
        ConsentReason::Pin => {
            format!("may `{workflow}` run? its text was not reviewed with the PIN")
        }
    };
    let origins: Vec<&str> = terms.origins.iter().map(String::as_str).collect();
    let new = match origins.is_empty() {
        true => String::new(),
        false => format!("\nno person has accepted {}", origins.join(", ")),
    };
    format!("{text}{new}\n{}", effects(state))
}

/// What the run can change, one line each.
fn effects(state: &State) -> String {
    let bound = state.head.bound.as_deref();
    let lines = bound.map(|bound| bound.lines(limits::BOUND_LINES)).unwrap_or_default();
    format!("what this run can change and call:\n{}", lines.join("\n"))
}

/// How often a person has agreed to as many writes again, plus one.
fn portions(state: &State) -> u64 {
    let first = StepKey::consent_again(1);
    let mut portions = 1;
    let mut key = first;
    while *state.phase(&key) == Phase::Succeeded {
        portions += 1;
        key = StepKey::consent_again(portions);
    }
    portions
}

/// How many more writes of a kind the run may make.
fn left(state: &State, entry: &BoundedWrite) -> u64 {
    let name = entry.effect.name();
    let handed = state.children().filter_map(|(_, step, _)| {
        let child = step.child.as_ref()?;
        child.handed.get(&name).copied()
    });
    let written = state.written.get(&name).copied().unwrap_or(0);
    let taken = handed.fold(written, u64::saturating_add);
    entry.most.saturating_mul(portions(state)).saturating_sub(taken)
}

/// Whether a person answered a question of the workflow that showed exactly this request.
fn is_approved(state: &State, key: &StepKey, prepared: &PreparedCall) -> bool {
    let approved = state.approved().iter().filter(|key| !key.is_reserved());
    let mut approved = approved.filter_map(|approved| state.step(approved));
    approved.any(|step| {
        let by_person =
            step.verdict.as_ref().is_some_and(|verdict| verdict.by.kind == ActorKind::Person);
        let shown = step.request.iter().flat_map(|request| &request.shown);
        by_person
            && shown.into_iter().any(|shown| shown.key == *key && shown.digest == prepared.digest)
    })
}

/// Whether sending a request is another write, and not another attempt at the same one.
fn is_new_write(state: &State, key: &StepKey) -> bool {
    state.step(key).is_none_or(|step| step.counted != Some((step.generation, step.passes)))
}

//! What a run needs a person's agreement for: decided when it starts, from who starts it, whether a
//! person reviewed its text, and the policy.

use std::collections::BTreeMap;

use milepost_engine::consent::{CONSENT_VERSION, ConsentReason, ConsentTerms, GuardedWrite};
use milepost_engine::effect_bound::{BoundedWrite, CallEffect, EffectBound, is_read, overlaps};
use milepost_engine::event::ActorKind;
use milepost_model::step::{Action, Step};
use milepost_model::workflow::Workflow;
use milepost_store::{PolicyDecision, WriteRule};

use super::effect_bound::ReviewedCommand;
use super::world::OpenedWorld;
use crate::catalog_cache::LoadedCatalog;
use crate::prelude::*;
use crate::trust::review;

/// Who starts a run, and where its text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConsentCase {
    pub(crate) by: ActorKind,
    /// Whether a person reviewed exactly this text, and what it calls.
    pub(crate) reviewed: bool,
    /// Whether the run is a single call of a command.
    pub(crate) direct: bool,
    /// Whether decisions are signed with a PIN.
    pub(crate) pin: bool,
}

impl ConsentCase {
    /// What a write needs if the policy says nothing about it.
    pub(crate) fn usual(self) -> WriteRule {
        match (self.by, self.reviewed) {
            (_, true) => WriteRule::Allow,
            (ActorKind::Person, false) if !self.pin => WriteRule::Allow,
            (ActorKind::Person | ActorKind::Agent | ActorKind::Engine, false) => WriteRule::Consent,
        }
    }

    fn reason(self) -> ConsentReason {
        match self.by {
            ActorKind::Agent | ActorKind::Engine if self.direct => ConsentReason::Call,
            ActorKind::Agent | ActorKind::Engine => ConsentReason::Unreviewed,
            ActorKind::Person if self.pin => ConsentReason::Pin,
            ActorKind::Person => ConsentReason::Policy,
        }
    }
}

/// What a run with this bound needs; `None` if nothing.
pub(crate) fn terms(
    world: &OpenedWorld,
    workflow: &Workflow,
    bound: &EffectBound,
    case: ConsentCase,
) -> Result<Option<ConsentTerms>> {
    let reader = &world.writer.reader;
    let commands = world.commands(workflow);
    let guarded = match case.usual() {
        WriteRule::Allow => Vec::new(),
        WriteRule::Consent | WriteRule::Approve | WriteRule::Deny => guarded(&world.writer)?,
    };
    let mut writes = Vec::new();
    for write in &bound.writes {
        let needs = decide(reader, &commands, &guarded, write, case)?.writes;
        if needs > WriteRule::Allow {
            writes.push(GuardedWrite { effect: write.effect.clone(), needs });
        }
    }
    let mut origins = std::collections::BTreeSet::new();
    if case.by != ActorKind::Person && !case.reviewed {
        let new = commands.values().filter(|known| is_new(reader, known));
        origins.extend(new.map(|known| known.effect.origin.clone()));
        origins.retain(|origin| bound.origins().contains(origin.as_str()));
    }
    let terms = ConsentTerms { version: CONSENT_VERSION, because: case.reason(), writes, origins };
    Ok((!terms.is_empty()).then_some(terms))
}

/// Whether a person has to agree to a single call.
pub(crate) async fn of_command(
    writer: &Writer,
    call: &dyn Caller,
    loaded: &LoadedCatalog,
    effect: &CallEffect,
) -> Result<bool> {
    let by = super::prepare::actor(call).kind;
    let pin = super::person::key(writer).await?.is_some();
    let case = ConsentCase { by, reviewed: false, direct: true, pin };
    if is_read(&effect.method) {
        let live = writer.reader.shelf.known(&loaded.record.id)?;
        let is_new = live.is_some_and(|record| record.by_agent);
        return Ok(by != ActorKind::Person && is_new);
    }
    let policy = &writer.reader.live_config()?.policy;
    let decided = policy.decide(loaded.record.id.as_str(), effect, case.usual());
    if decided.writes > WriteRule::Allow {
        return Ok(true);
    }
    let guards = |all: Vec<GuardedEffect>| all.iter().any(|one| one.guards(effect));
    Ok(case.usual() > WriteRule::Allow && guards(guarded(writer)?))
}

/// Whether no person has accepted the origin of a command.
fn is_new(reader: &Reader, known: &ReviewedCommand) -> bool {
    let id = &known.catalog.record.id;
    let live = reader.shelf.known(id).ok().flatten();
    live.map_or(known.catalog.record.by_agent, |record| record.by_agent)
}

/// What a kind of write needs, and what decides it.
pub(crate) fn decide(
    reader: &Reader,
    commands: &BTreeMap<String, ReviewedCommand>,
    guarded: &[GuardedEffect],
    write: &BoundedWrite,
    case: ConsentCase,
) -> Result<PolicyDecision> {
    let policy = &reader.live_config()?.policy;
    let same = |effect: &CallEffect| {
        let path = write.effect.path.as_str();
        effect.origin == write.effect.origin && effect.path.split('?').next() == Some(path)
    };
    let of = commands.values().filter(|known| {
        let known = &known.effect;
        let (origin, path) = (known.origin.clone(), known.path.clone());
        same(&CallEffect { method: String::new(), origin, path })
    });
    let ids = of.map(|known| known.catalog.record.id.to_string());
    let decided = ids.map(|catalog| policy.decide(&catalog, &write.effect, case.usual()));
    let mut decided = decided
        .max_by_key(|one| one.writes)
        .unwrap_or(PolicyDecision { writes: case.usual(), by: None });
    // A person who reviewed the text has agreed to it.
    if case.reviewed && decided.writes == WriteRule::Consent {
        decided.writes = WriteRule::Allow;
    }
    let guard = guarded.iter().find(|one| one.guards(&write.effect));
    if let Some(guard) = guard.filter(|_| decided.writes < WriteRule::Approve) {
        let by = Some(format!("workflow {}", guard.workflow));
        decided = PolicyDecision { writes: WriteRule::Approve, by };
    }
    Ok(decided)
}

/// A kind of write that a reviewed workflow makes only after an approval.
#[derive(Debug, Clone)]
pub(crate) struct GuardedEffect {
    workflow: String,
    effect: CallEffect,
}

impl GuardedEffect {
    fn guards(&self, write: &CallEffect) -> bool {
        let any = milepost_engine::effect_bound::ANY_METHOD;
        let method =
            self.effect.method == write.method || self.effect.method == any || write.method == any;
        method && self.effect.origin == write.origin && overlaps(&self.effect.path, &write.path)
    }
}

/// The writes that reviewed workflows make only after an approval.
pub(crate) fn guarded(writer: &Writer) -> Result<Vec<GuardedEffect>> {
    let mut found = Vec::new();
    for id in review::reviewed_ids(&writer.reader)? {
        let Ok(entry) = writer.reader.workflow(&id) else { continue };
        let Some(workflow) = &entry.document.workflow else { continue };
        let asks = |step: &&Step| matches!(step.action, Action::Approve(_));
        if !workflow.all_steps().iter().any(asks) {
            continue;
        }
        let world = OpenedWorld::newest(writer, workflow);
        if !review::is_reviewed(&world, workflow, &review::text_hash(&entry))? {
            continue;
        }
        let known = world.commands(workflow);
        let guarded = approved(workflow).into_iter().filter_map(|command| known.get(&command));
        found.extend(guarded.filter(|one| !is_read(&one.effect.method)).map(|one| {
            let milepost_engine::effect_bound::CommandEffect { method, origin, path } =
                one.effect.clone();
            GuardedEffect { workflow: id.clone(), effect: CallEffect { method, origin, path } }
        }));
    }
    Ok(found)
}

/// The commands that a workflow calls only after an approval.
fn approved(workflow: &Workflow) -> Vec<String> {
    let flow = milepost_engine::Flow::of(std::sync::Arc::new(workflow.clone()));
    let mut found = Vec::new();
    for (index, node) in flow.nodes().iter().enumerate() {
        let Some(step) = flow.of_key(&node.key) else { continue };
        let is_approval = |above: &usize| {
            let step = flow.of_key(&flow.nodes()[*above].key);
            step.is_some_and(|step| matches!(step.action, Action::Approve(_)))
        };
        calls(step, flow.above(index).iter().any(is_approval), &mut found);
    }
    found
}

fn calls(step: &Step, mut asked: bool, found: &mut Vec<String>) {
    match &step.action {
        Action::Run(run) if asked => found.push(run.target.value.to_string()),
        Action::Loop(looped) => {
            for inner in &looped.body {
                calls(inner, asked, found);
                asked |= matches!(inner.action, Action::Approve(_));
            }
        }
        _ => {}
    }
}

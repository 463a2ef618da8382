//! What the runs of this process can change, and the last check before a request is sent.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use milepost_engine::effect_bound::{
    ANY_METHOD, BoundLookup, CallEffect, CommandEffect, EffectBound, effective, is_of_template,
    is_override, is_read,
};
use milepost_engine::event::{BudgetKind, Event, JournalEntry, RunCreated};
use milepost_engine::limits::UNKNOWN_WRITES;
use milepost_engine::state::State;
use milepost_model::step::Action;
use milepost_model::target::{CommandId, Target};
use milepost_model::workflow::Workflow;
use milepost_outbound::Outgoing;
use milepost_store::WriteRule;
use url::{Url, form_urlencoded};

use super::world::OpenedWorld;
use crate::author::builtin_command::BuiltinCommand;
use crate::catalog_cache::LoadedCatalog;
use crate::catalog_client;
use crate::prelude::*;

/// A command that a workflow may call, as far as a person reviews it.
#[derive(Debug, Clone)]
pub(crate) struct ReviewedCommand {
    pub(crate) catalog: Arc<LoadedCatalog>,
    pub(crate) effect: CommandEffect,
    /// The security requirements of the operation.
    pub(crate) security: String,
}

impl OpenedWorld {
    /// The bound of a run that is about to start.
    pub(crate) fn bound(&self, workflow: &Workflow, head: &RunCreated) -> EffectBound {
        let event = Event::RunCreated(Box::new(head.clone()));
        let first = JournalEntry { seq: 1, at_ms: 0, event };
        let cap = head.budget.get(&BudgetKind::Writes).copied().unwrap_or(UNKNOWN_WRITES);
        EffectBound::of(workflow, State::begin(&first).ok().as_ref(), self, cap)
    }

    /// The bound of any run of a workflow, whatever its inputs.
    pub(crate) fn bound_of_any(&self, workflow: &Workflow) -> EffectBound {
        EffectBound::of(workflow, None, self, UNKNOWN_WRITES)
    }

    /// The bound of one run of a workflow that a step runs.
    pub(crate) fn bound_of(&self, workflow: &str) -> Option<EffectBound> {
        if let Some(known) = self.bounds.find(|known, _| known == workflow) {
            return Some(known);
        }
        let bound = self.bound_of_any(&*BoundLookup::workflow(self, workflow)?);
        self.bounds.keep(workflow.to_owned(), bound.clone());
        Some(bound)
    }

    /// Every command that a workflow, or one that it runs, may call.
    pub(crate) fn commands(&self, workflow: &Workflow) -> BTreeMap<String, ReviewedCommand> {
        let (mut found, mut seen) = (BTreeMap::new(), BTreeSet::new());
        let mut open = vec![Arc::new(workflow.clone())];
        while let Some(workflow) = open.pop() {
            for target in targets(&workflow) {
                match target {
                    Target::Command(command) => {
                        let known = || self.reviewed_command(command);
                        if let Some(known) =
                            known().filter(|_| !found.contains_key(&command.to_string()))
                        {
                            found.insert(command.to_string(), known);
                        }
                    }
                    Target::Workflow(id) if seen.insert(id.to_string()) => {
                        open.extend(BoundLookup::workflow(self, id.as_str()));
                    }
                    Target::Workflow(_) => {}
                }
            }
        }
        found
    }

    fn reviewed_command(&self, command: &CommandId) -> Option<ReviewedCommand> {
        let text = command.to_string();
        if BuiltinCommand::of(&text).is_some() {
            return None;
        }
        let catalogs = &self.writer.reader.shelf;
        let (catalog, row) = match catalogs.pinned_command(&text) {
            Some(pinned) => pinned.ok()?,
            None if self.world.is_none() => catalogs.command(&text).ok()?,
            None => return None,
        };
        reviewed(catalog, row)
    }
}

fn reviewed(catalog: Arc<LoadedCatalog>, row: usize) -> Option<ReviewedCommand> {
    let prepared = catalog.prepared(row).ok()?;
    let api = prepared.command();
    let base = catalog_client::base_of(&catalog, api).ok()?;
    let effect = CommandEffect {
        method: api.method.name().to_owned(),
        origin: base.origin().ascii_serialization(),
        path: joined(&base, &api.path),
    };
    let security = format!("{:?}", api.security);
    Some(ReviewedCommand { catalog, effect, security })
}

/// The catalogs and workflows as they are now, for a run that is only previewed.
struct Preview<'r>(&'r Reader);

impl BoundLookup for Preview<'_> {
    fn command(&self, command: &CommandId) -> Option<CommandEffect> {
        let (catalog, row) = self.0.shelf.command(&command.to_string()).ok()?;
        reviewed(catalog, row).map(|known| known.effect)
    }

    fn workflow(&self, id: &str) -> Option<Arc<Workflow>> {
        let entry = self.0.workflow(id).ok()?;
        entry.document.workflow.clone().map(Arc::new)
    }
}

/// What a run with these inputs could change.
pub(crate) fn preview(
    reader: &Reader,
    workflow: &Workflow,
    inputs: &Map<String, Value>,
) -> EffectBound {
    let head = RunCreated { inputs: inputs.clone(), ..RunCreated::default() };
    let event = Event::RunCreated(Box::new(head));
    let state = State::begin(&JournalEntry { seq: 1, at_ms: 0, event }).ok();
    let own = workflow.budget.as_ref().and_then(|own| own.writes.as_ref());
    let own = own.and_then(|most| u64::try_from(most.0).ok());
    let usual = || reader.live_config().ok().and_then(|config| config.budget.writes);
    let cap = own.or_else(usual).unwrap_or(UNKNOWN_WRITES);
    EffectBound::of(workflow, state.as_ref(), &Preview(reader), cap)
}

/// What a workflow's steps, checks and inputs call.
fn targets(workflow: &Workflow) -> Vec<&Target> {
    let steps = workflow.all_steps().into_iter();
    let targets = steps.flat_map(|step| match &step.action {
        Action::Run(run) => vec![&run.target.value],
        Action::Prompt(prompt) => prompt.verify.iter().map(|verify| &verify.run.value).collect(),
        _ => Vec::new(),
    });
    targets.collect()
}

impl BoundLookup for OpenedWorld {
    fn command(&self, command: &CommandId) -> Option<CommandEffect> {
        self.reviewed_command(command).map(|known| known.effect)
    }

    fn workflow(&self, id: &str) -> Option<Arc<Workflow>> {
        let compiled = self.text(id)?.compiled()?;
        Some(Arc::clone(&compiled.workflow))
    }
}

/// A path below a base URL.
fn joined(base: &Url, path: &str) -> String {
    format!("{}{path}", base.path().trim_end_matches('/'))
}

/// What a request changes or reads.
pub(crate) fn effect(request: &Outgoing, base: &Url, template: &str) -> CallEffect {
    let path = joined(base, template);
    CallEffect {
        method: method(request),
        origin: request.url.origin().ascii_serialization(),
        path: path.split('?').next().unwrap_or_default().to_owned(),
    }
}

/// The method that a server may act on.
pub(crate) fn method(request: &Outgoing) -> String {
    let headers = request.headers.iter().filter(|(name, _)| is_override(name));
    let mut named: Vec<String> = headers.map(|(_, value)| value.clone()).collect();
    let is_form = request.headers.iter().any(|(name, value)| {
        let form = "application/x-www-form-urlencoded";
        name.eq_ignore_ascii_case("content-type") && value.to_lowercase().starts_with(form)
    });
    let body: &[u8] = if is_form && !is_read(&request.method) { &request.body } else { b"" };
    let fields = request.url.query_pairs().chain(form_urlencoded::parse(body));
    named.extend(fields.filter(|(name, _)| is_override(name)).map(|(_, value)| value.into_owned()));
    effective(&request.method, named.iter().map(String::as_str))
}

/// The problem with a request that is about to be sent, if it is a write that the run may not make.
pub(crate) fn outside(bound: Option<&EffectBound>, request: &Outgoing) -> Option<Problem> {
    let method = method(request);
    let bound = bound.filter(|_| !is_read(&method))?;
    let (origin, path) = (request.url.origin().ascii_serialization(), request.url.path());
    let admitted = bound.writes.iter().any(|write| {
        let CallEffect { method: own, origin: to, path: template } = &write.effect;
        (own == ANY_METHOD || *own == method)
            && *to == origin
            && is_of_template(&encoded(to, template), path)
    });
    (!admitted).then(|| {
        let message = format!(
            "`{method} {origin}` was not sent: the request is outside what this run can change"
        );
        let hint = Hint::text("see what it can change with ")
            .call(Invocation::of("workflow.step_plan"))
            .then("; a different workflow can be run instead");
        Problem::new(Code::RequestRefused, message, hint)
    })
}

/// A template as it appears in a URL.
fn encoded(origin: &str, template: &str) -> String {
    let url = Url::parse(&format!("{origin}{template}"));
    let path = url.map_or_else(|_| template.to_owned(), |url| url.path().to_owned());
    path.replace("%7B", "{").replace("%7D", "}")
}

/// The problem with a write that the configuration forbids.
pub(crate) fn denied(
    reader: &Reader,
    catalog: &str,
    effect: &CallEffect,
) -> Result<Option<Problem>> {
    let policy = &reader.live_config()?.policy;
    let decided = policy.decide(catalog, effect, WriteRule::Allow);
    Ok((!is_read(&effect.method) && decided.writes == WriteRule::Deny).then(|| {
        let message = format!("`{}` was not sent: the policy forbids it", effect.name());
        let hint = format!(
            "nothing was sent; `{}` in the configuration decides this",
            decided.by.unwrap_or_default()
        );
        Problem::new(Code::RequestRefused, message, hint)
    }))
}

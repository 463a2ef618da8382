//! Computes the bound of a workflow, through its loops and the workflows that it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use milepost_model::decode::Entries;
use milepost_model::expr::Expr;
use milepost_model::guide::Count as PassCount;
use milepost_model::step::{Action, ForEach, Loop, Needs, Prompt, Repeat, Run, Step, Verify, When};
use milepost_model::target::{CommandId, Target};
use milepost_model::templated::Dynamic;
use milepost_model::workflow::Workflow;
use serde_json::Value;

use super::{ANY_METHOD, BOUND_VERSION, BoundedWrite, CallEffect, EffectBound};
use super::{effective, is_override, is_read};
use crate::interpreter::evaluator::asks_status;
use crate::interpreter::scope::RunScope;
use crate::interpreter::step_action::{millis, polls_until};
use crate::state::State;
use crate::{Flow, limits};

/// What the bound needs to know about the world of a run.
pub trait BoundLookup {
    /// What a command does; `None` if it does not exist, so that nothing is sent.
    fn command(&self, command: &CommandId) -> Option<CommandEffect>;

    /// A workflow that a step runs; `None` if it does not exist or is only chosen by the run.
    fn workflow(&self, id: &str) -> Option<Arc<Workflow>>;
}

/// Where a command's requests go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandEffect {
    pub method: String,
    /// Such as `https://api.example`.
    pub origin: String,
    /// The path with the names of its parameters, including that of the base URL.
    pub path: String,
}

/// A number of times: `sure` is what the text says, and `more` what may come on top of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Times {
    sure: u64,
    more: u64,
}

impl Times {
    const ONCE: Times = Times { sure: 1, more: 0 };
    const UNKNOWN: Times = Times { sure: 0, more: u64::MAX };

    fn exactly(count: u64) -> Times {
        Times { sure: count, more: 0 }
    }

    fn up_to(more: u64) -> Times {
        Times { sure: 0, more }
    }

    fn most(self) -> u64 {
        self.sure.saturating_add(self.more)
    }

    fn of(self, other: Times) -> Times {
        let sure = self.sure.saturating_mul(other.sure);
        Times { sure, more: self.most().saturating_mul(other.most()).saturating_sub(sure) }
    }

    fn plus(self, other: Times) -> Times {
        Times {
            sure: self.sure.saturating_add(other.sure),
            more: self.more.saturating_add(other.more),
        }
    }
}

/// What one execution of a workflow can do.
#[derive(Debug, Clone, Default)]
struct Effects {
    writes: BTreeMap<CallEffect, Times>,
    reads: BTreeSet<String>,
}

impl Default for Times {
    fn default() -> Times {
        Times::exactly(0)
    }
}

impl EffectBound {
    /// The bound of a workflow. With the state of a run, its inputs are known; `cap` limits the
    /// numbers that are not known.
    pub fn of(
        workflow: &Workflow,
        state: Option<&State>,
        lookup: &dyn BoundLookup,
        cap: u64,
    ) -> EffectBound {
        let mut walk = BoundWalk { lookup, known: BTreeMap::new(), open: Vec::new(), cycle: false };
        let mut effects = walk.effects(workflow, state);
        if walk.cycle {
            // A workflow that runs itself does so until a condition or the maximum depth ends it.
            let inner = walk.known.keys().filter_map(|id| lookup.workflow(id));
            for inner in inner.collect::<Vec<_>>() {
                let inner = walk.effects(&inner, None);
                effects.reads.extend(inner.reads);
                inner.writes.into_keys().for_each(|write| effects.write(write, Times::UNKNOWN));
            }
        }
        effects.merge();
        let writes = effects.writes.into_iter().filter(|(_, times)| times.most() > 0);
        let writes = writes.map(|(effect, times)| {
            let more = times.more.min(cap);
            BoundedWrite { effect, most: times.sure.saturating_add(more), open: times.more > cap }
        });
        EffectBound { version: BOUND_VERSION, writes: writes.collect(), reads: effects.reads }
    }
}

/// The arguments and headers of a call, and its body.
type CallArguments<'c> = ([Option<&'c Entries<Dynamic>>; 2], Option<&'c Dynamic>);

struct BoundWalk<'w> {
    lookup: &'w dyn BoundLookup,
    /// What the workflows that steps run can do, by id.
    known: BTreeMap<String, Arc<Effects>>,
    /// The workflows that are being computed.
    open: Vec<String>,
    /// Whether a workflow runs itself.
    cycle: bool,
}

/// A workflow during the walk, with the run whose inputs are known.
struct Place<'p> {
    state: Option<&'p State>,
    effects: Effects,
}

impl BoundWalk<'_> {
    fn effects(&mut self, workflow: &Workflow, state: Option<&State>) -> Effects {
        let mut place = Place { state, effects: Effects::default() };
        let again = repeated(workflow);
        let skipped = place.skipped(workflow);
        let all = workflow.steps.iter().chain(&workflow.finally);
        for step in all.filter(|step| !skipped.contains(step.name())) {
            let times = again.get(step.name()).copied().unwrap_or(Times::ONCE);
            self.step(step, times, &mut place);
        }
        place.effects
    }

    fn step(&mut self, step: &Step, times: Times, place: &mut Place<'_>) {
        if step.when.as_ref().is_some_and(|when| place.is_false(when)) {
            return;
        }
        let times = match &step.for_each {
            Some(each) => times.of(place.items(each)),
            None => times,
        };
        match &step.action {
            Action::Run(run) => self.run(run, times, place),
            Action::Prompt(prompt) => self.checks(prompt, times, place),
            Action::Loop(looped) => {
                let times = times.of(passes(looped));
                looped.body.iter().for_each(|inner| self.step(inner, times, place));
            }
            Action::Approve(_) | Action::Wait(_) | Action::Set(_) | Action::Fail(_) => {}
        }
    }

    fn run(&mut self, run: &Run, times: Times, place: &mut Place<'_>) {
        let times = match &run.repeat {
            Some(repeat) => times.of(polls(repeat)),
            None => times,
        };
        match &run.target.value {
            Target::Command(command) => {
                let entries = [Some(&run.with), Some(&run.headers)];
                self.call(command, (entries, run.body.as_ref()), times, place);
            }
            Target::Workflow(id) => {
                let inner = self.child(id.as_str());
                place.effects.reads.extend(inner.reads.iter().cloned());
                for (effect, own) in &inner.writes {
                    place.effects.write(effect.clone(), times.of(*own));
                }
            }
        }
    }

    fn checks(&mut self, prompt: &Prompt, times: Times, place: &mut Place<'_>) {
        let tries = prompt.max_attempts.unwrap_or(limits::SUBMISSIONS);
        for Verify { run, with, body, .. } in &prompt.verify {
            let times = times.of(Times::up_to(tries.into()));
            match &run.value {
                Target::Command(command) => {
                    let arguments = ([with.as_ref(), None], body.as_ref());
                    self.call(command, arguments, times, place);
                }
                Target::Workflow(_) => {}
            }
        }
    }

    fn call(
        &mut self,
        command: &CommandId,
        (entries, body): CallArguments<'_>,
        times: Times,
        place: &mut Place<'_>,
    ) {
        let Some(CommandEffect { method, origin, path }) = self.lookup.command(command) else {
            return;
        };
        let method = named_method(&method, &path, entries, body);
        if is_read(&method) {
            place.effects.reads.insert(origin);
        } else {
            let path = path.split('?').next().unwrap_or_default().to_owned();
            place.effects.write(CallEffect { method, origin, path }, times);
        }
    }

    /// What one run of another workflow can do.
    fn child(&mut self, id: &str) -> Arc<Effects> {
        if let Some(known) = self.known.get(id) {
            return Arc::clone(known);
        }
        if self.open.iter().any(|open| open == id) {
            self.cycle = true;
            return Arc::default();
        }
        let Some(workflow) = self.lookup.workflow(id) else { return Arc::default() };
        self.open.push(id.to_owned());
        let effects = Arc::new(self.effects(&workflow, None));
        self.open.pop();
        self.known.insert(id.to_owned(), Arc::clone(&effects));
        effects
    }
}

impl Effects {
    /// Joins a write whose method is not known with those that it may be.
    fn merge(&mut self) {
        let any: Vec<CallEffect> =
            self.writes.keys().filter(|write| write.method == ANY_METHOD).cloned().collect();
        for any in any {
            let same = |write: &CallEffect| write.origin == any.origin && write.path == any.path;
            let one = self.writes.extract_if(.., |write, _| same(write));
            let times = one.fold(Times::default(), |all, (_, times)| all.plus(times));
            self.writes.insert(any, times);
        }
    }

    fn write(&mut self, effect: CallEffect, times: Times) {
        let known = self.writes.entry(effect).or_default();
        *known = known.plus(times);
    }
}

impl Place<'_> {
    /// The steps that are already known to be skipped, with those that are skipped because of them.
    fn skipped<'w>(&self, workflow: &'w Workflow) -> BTreeSet<&'w str> {
        let mut skipped = BTreeSet::new();
        let is_skipped = |step: &Step, skipped: &BTreeSet<&str>| {
            let mut waits = step.depends_on.iter().map(|id| id.value.as_str());
            let loses = |wait: &str| skipped.contains(wait) && !asks_status(step, wait);
            step.when.as_ref().is_some_and(|when| self.is_false(when))
                || step.needs == Needs::All && waits.any(loses)
        };
        loop {
            let before = skipped.len();
            for step in &workflow.steps {
                if is_skipped(step, &skipped) {
                    skipped.insert(step.name());
                }
            }
            if skipped.len() == before {
                return skipped;
            }
        }
    }

    /// Whether a condition is already known not to hold.
    fn is_false(&self, when: &When) -> bool {
        let (When::Expr(bare), Some(state)) = (when, self.state) else { return false };
        is_known(&bare.expr) && RunScope::of(state).holds("if", bare) == Ok(false)
    }

    /// How many items a step runs over.
    fn items(&self, each: &ForEach) -> Times {
        let items = match (each.items.as_plain(), self.state) {
            (Some(plain), _) => Some(plain.clone()),
            (None, Some(state)) if each.items.exprs().iter().all(|one| is_known(one.expr)) => {
                RunScope::of(state).value("for_each", &each.items).ok().flatten()
            }
            (None, _) => None,
        };
        match items {
            Some(Value::Array(items)) => Times::exactly(items.len() as u64),
            Some(_) => Times::exactly(0),
            None => Times::up_to(limits::ITEMS as u64),
        }
    }
}

/// Whether everything that an expression reads is known when the run starts.
fn is_known(expr: &Expr) -> bool {
    let timeless = !expr.source().contains("now(");
    let known = |root: &str| matches!(root, "inputs" | "env" | "run");
    timeless && expr.references().iter().all(|reference| known(&reference.root))
}

/// The method of a call, if its arguments, its headers or its body may name another one.
fn named_method(
    own: &str,
    path: &str,
    entries: [Option<&Entries<Dynamic>>; 2],
    body: Option<&Dynamic>,
) -> String {
    let with = entries.into_iter().flatten().flat_map(|entries| &entries.0);
    let with = with.map(|(name, value)| (name.value.as_str(), value.as_plain()));
    let query = path.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('&').filter_map(|pair| pair.split_once('='));
    let mut named: Vec<Option<String>> = Vec::new();
    let mut note = |name: &str, value: Option<&Value>| {
        if is_override(name) {
            named.push(value.map(|value| match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            }));
        }
    };
    with.for_each(|(name, value)| note(name, value));
    query.for_each(|(name, value)| note(name, Some(&Value::from(value))));
    // Whether a server looks for a method in the body depends on how the body is written.
    let fields: Vec<&str> = match body {
        Some(Dynamic::Map(entries)) => {
            entries.value.iter().map(|(name, _)| name.as_str()).collect()
        }
        Some(Dynamic::Plain(plain)) => {
            plain.value.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
        }
        Some(Dynamic::Text(_) | Dynamic::List(_)) | None => Vec::new(),
    };
    let in_body = !is_read(own) && fields.iter().any(|name| is_override(name));
    match in_body || named.iter().any(Option::is_none) {
        true => ANY_METHOD.to_owned(),
        false => effective(own, named.iter().flatten().map(String::as_str)),
    }
}

/// How often the top-level steps may run, if a rejection can send the run back to them.
fn repeated(workflow: &Workflow) -> BTreeMap<&str, Times> {
    let back = |step: &Step| match &step.action {
        Action::Approve(approve) => approve.on_reject.is_some(),
        _ => false,
    };
    if !workflow.steps.iter().any(back) {
        return BTreeMap::new();
    }
    let flow = Flow::of(Arc::new(workflow.clone()));
    let mut times: BTreeMap<&str, Times> = BTreeMap::new();
    for step in &workflow.steps {
        let Action::Approve(approve) = &step.action else { continue };
        let Some(back) = &approve.on_reject else { continue };
        let most = back.max.map_or(limits::SENT_BACK, milepost_model::decode::Int::get);
        let indices = (flow.index(step.name()), flow.index(back.to.value.as_str()));
        let (Some(asks), Some(to)) = indices else { continue };
        let after = flow.below(asks);
        let mut reset = flow.below(to);
        reset.insert(to);
        for index in reset.difference(&after).filter(|index| **index != asks) {
            let id = flow.nodes()[*index].key.as_str();
            let Some(own) = workflow.steps.iter().find(|step| step.name() == id) else { continue };
            let known = times.entry(own.name()).or_insert(Times::ONCE);
            *known = known.plus(Times::exactly(most.into()));
        }
    }
    times
}

/// How many passes a loop makes.
fn passes(looped: &Loop) -> Times {
    let most = u64::from(looped.spec.max_iterations.get());
    match &looped.spec.count {
        Some(PassCount::Times(times)) => {
            Times::exactly(u64::try_from(*times).unwrap_or_default().min(most))
        }
        Some(PassCount::Variable(_)) | None => Times::exactly(most),
    }
}

/// How often a request is polled.
fn polls(repeat: &Repeat) -> Times {
    let every = repeat.every.as_ref().map_or(limits::POLL_MS, millis).max(1);
    let timed = polls_until(repeat, 0).map(|total| total / every + 1);
    let named = repeat.max_attempts.map(|most| u64::from(most.get()));
    match (named, timed) {
        (Some(named), Some(timed)) => Times::exactly(named.min(timed)),
        (Some(named), None) => Times::exactly(named),
        (None, Some(timed)) => Times::up_to(timed),
        (None, None) => Times::UNKNOWN,
    }
}

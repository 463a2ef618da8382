//! How a run goes on that has ended, is paused, or has spent its budget: what is kept, what runs
//! again, and what that will cost.
//!
//! A plan comes first and changes nothing. It holds the one event that carries it out, and it must
//! never promise less than what then happens: a write that may be done twice is named, and what
//! cannot be known before is a range.

mod authority;
mod forecast;
mod refusal;
mod selection;
mod step_equality;

use std::collections::BTreeMap;

use milepost_model::step::{Action, ActionKind, Step};
use milepost_model::suggest;
use serde_json::{Map, Value};

use crate::event::{Actor, Budget, Event, JournalEntry, Resumption};
use crate::interpreter::WorldView;
use crate::interpreter::output_contract;
use crate::named_enum::named_enum;
use crate::state::{Phase, State};
use crate::world::RunWorld;
use crate::{Cause, Failure, Flow, StepKey, admission, interpreter};

pub use authority::{Needs, needs};
pub use forecast::{Forecast, ForecastRange, SavedCost};
use forecast::{Outlook, StepFate};
use selection::StepSelection;

/// Where a run goes on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Origin {
    /// At the steps that failed or were canceled.
    #[default]
    Failed,
    /// At a step.
    Step(String),
    /// At the beginning.
    Start,
}

/// What somebody wants of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumeRequest {
    /// Where it goes on.
    pub origin: Origin,
    /// Only the step that is named, or the one that failed; else all that depends on it as well.
    pub only: bool,
    /// On the newest text instead of the pinned one.
    pub latest: bool,
    /// Inputs with another value.
    pub inputs: Map<String, Value>,
    /// Variables of the environment that the run did not read before.
    pub env: Map<String, Value>,
    /// Steps that are done again though they succeeded.
    pub redo: Vec<String>,
    /// Outputs in the place of a step's own.
    pub overrides: BTreeMap<String, Value>,
    /// Limits from now on.
    pub budget: BTreeMap<Budget, u64>,
    /// Who.
    pub by: Actor,
    /// Why.
    pub reason: Option<String>,
    /// The text from now on.
    pub text_hash: String,
    /// Its meaning.
    pub plan_hash: String,
    /// When it is too late.
    pub deadline_ms: u64,
    /// The world from now on, where that is another one.
    pub world: Option<Box<RunWorld>>,
}

impl ResumeRequest {
    /// The plainest wish: go on where it failed, as it was.
    pub fn of(state: &State, by: Actor) -> ResumeRequest {
        ResumeRequest {
            origin: Origin::Failed,
            only: false,
            latest: false,
            inputs: Map::new(),
            env: Map::new(),
            redo: Vec::new(),
            overrides: BTreeMap::new(),
            budget: BTreeMap::new(),
            by,
            reason: None,
            text_hash: state.head.text_hash.clone(),
            plan_hash: state.head.plan_hash.clone(),
            deadline_ms: state.head.deadline_ms,
            world: None,
        }
    }
}

/// What would be done.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumePlan {
    /// The event that carries it out, on the state it was worked out on.
    pub resumption: Resumption,
    /// The steps of the top level in order.
    pub steps: Vec<StepPlan>,
    /// What it costs, and what is saved.
    pub forecast: Forecast,
}

/// What would become of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPlan {
    /// The step.
    pub key: StepKey,
    /// The key that says what it does: `run`, `prompt` and so on.
    pub kind: ActionKind,
    /// What becomes of it.
    pub verdict: StepOutlook,
    /// The write that may be repeated, in short: `POST /refunds`.
    pub repeats: Option<String>,
    /// Why.
    pub why: String,
}

named_enum! {
    /// What becomes of a step.
    StepOutlook {
        /// What it came to stays.
        Kept = "kept",
        WillRun = "will run",
        /// It runs if its condition, or what it depends on, lets it.
        MayRun = "may run",
        /// It runs, and a write that took effect, or may have, would be done once more.
        MayRepeatWrite = "may repeat a write",
        /// It keeps the output that a person gives.
        Overridden = "overridden",
        /// Its condition, or what it depends on, leaves it out.
        WillSkip = "will be skipped",
        /// It cannot be done: it reads what will not be there.
        WillFail = "will fail",
        /// It is not reached this time.
        Left = "left",
        /// A person has to say first what became of a request.
        WillAsk = "will ask a person",
    }
}

/// Works out how a run would go on; `new` is `old` unless the newest text is wanted.
pub fn plan(
    old: &Flow,
    new: &Flow,
    state: &State,
    world: &dyn WorldView,
    request: &ResumeRequest,
) -> Result<ResumePlan, Failure> {
    let wish = ResolvedRequest::read(new, state, request)?;
    refusal::of_run(old, state, request)?;
    refusal::of_wish(new, state, &wish)?;
    let choice = StepSelection::of(new, old, state, &wish);
    if request.latest {
        step_equality::keeps(old, new, state, &wish)?;
    }
    refusal::of_choice(new, state, &choice, &wish)?;
    let resumption = resumption(old, new, state, &wish, &choice);
    refusal::of_open(state, &resumption)?;
    let after = after(state, &resumption)?;
    let teller =
        StepPlanner { flow: new, before: state, after: &after, choice: &choice, wish: &wish };
    let (steps, forecast) = teller.tell(world);
    Ok(ResumePlan { resumption, steps, forecast })
}

/// Works out what a run does that only lacks somebody who drives it: nothing is begun again. What
/// its last process left is settled first, as whoever takes the run up settles it.
pub fn ahead(
    flow: &Flow,
    state: &State,
    world: &dyn WorldView,
    now_ms: u64,
) -> Result<(Vec<StepPlan>, Forecast), Failure> {
    let request = ResumeRequest::of(state, admission::engine_actor("driver"));
    let wish = ResolvedRequest::read(flow, state, &request)?;
    let at_ms = now_ms.max(state.now_ms);
    let mut after = state.clone();
    let lost = interpreter::lost(state, at_ms).into_iter();
    for event in lost.chain(interpreter::lapsed(state, at_ms)) {
        happens(&mut after, at_ms, event)?;
    }
    let choice = StepSelection::default();
    let teller = StepPlanner { flow, before: state, after: &after, choice: &choice, wish: &wish };
    Ok(teller.tell(world))
}

/// A request with its steps found.
pub(crate) struct ResolvedRequest<'r> {
    pub(crate) request: &'r ResumeRequest,
    /// Steps that were named, by id.
    pub(crate) asked: Vec<String>,
    /// Inputs whose value differs.
    pub(crate) changed: Vec<&'r str>,
    /// The only step that runs.
    pub(crate) only: Option<StepKey>,
}

impl<'r> ResolvedRequest<'r> {
    fn read(
        flow: &Flow,
        state: &State,
        request: &'r ResumeRequest,
    ) -> Result<ResolvedRequest<'r>, Failure> {
        let mut asked = Vec::new();
        if let Origin::Step(named) = &request.origin {
            asked.push(named.clone());
        }
        asked.extend(request.redo.iter().cloned());
        for named in asked.iter().chain(request.overrides.keys()) {
            find(flow, named)?;
        }
        for (named, output) in &request.overrides {
            fits(flow, named, output)?;
        }
        let was = |name: &String| state.head.inputs.get(name);
        let changed = request.inputs.iter().filter(|(name, value)| was(name) != Some(value));
        let changed = changed.map(|(name, _)| name.as_str()).collect();
        let only = if request.only { Some(only(flow, state, request)?) } else { None };
        Ok(ResolvedRequest { request, asked, changed, only })
    }
}

/// A step of the top level by its name.
fn find<'f>(flow: &'f Flow, named: &str) -> Result<&'f Step, Failure> {
    match (flow.index(named), flow.step(StepKey::of_walk(named).step())) {
        (Some(_), Some(step)) => Ok(step),
        (_, Some(_)) => Err(refusal::inside(named)),
        (_, None) => {
            let ids: Vec<&str> = flow.nodes().iter().map(|node| node.key.as_str()).collect();
            let near = suggest::closest(named, ids.iter().copied());
            let (step, near) = (named.to_owned(), near.map(str::to_owned));
            let all = ids.iter().map(|id| (*id).to_owned()).collect();
            Err(Cause::UnknownStep { step, near, all }.into())
        }
    }
}

/// Whether an output may stand in the place of a step's own.
fn fits(flow: &Flow, named: &str, output: &Value) -> Result<(), Failure> {
    let (step, key) = (find(flow, named)?, StepKey::of_walk(named));
    let schema = match &step.action {
        Action::Approve(_) => return Err(refusal::forged(&key)),
        Action::Prompt(prompt) => prompt.output_schema.as_ref(),
        _ => None,
    };
    if let Some(failure) = output_contract::misfit(&key, step, output) {
        return Err(failure);
    }
    let misfits = schema.map(|schema| schema.misfits(output)).transpose();
    let misfits = misfits.map_err(|cause| refusal::misfit(&key, &cause))?;
    match misfits.unwrap_or_default().first() {
        Some(first) => Err(refusal::misfit(&key, &first.message)),
        None => Ok(()),
    }
}

/// The one step that is wanted.
fn only(flow: &Flow, state: &State, request: &ResumeRequest) -> Result<StepKey, Failure> {
    if !request.redo.is_empty() || !request.overrides.is_empty() {
        return Err(refusal::only_one());
    }
    match &request.origin {
        Origin::Step(named) => Ok(StepKey::of_walk(named)),
        Origin::Start => Err(refusal::only_one()),
        Origin::Failed => {
            let nodes = flow.nodes().iter().enumerate();
            let mut failed =
                nodes.filter(|(index, _)| selection::broke(flow, state, *index).is_some());
            match (failed.next(), failed.next()) {
                (Some((_, node)), None) => Ok(node.key.clone()),
                _ => Err(refusal::only_one()),
            }
        }
    }
}

fn resumption(
    old: &Flow,
    new: &Flow,
    state: &State,
    wish: &ResolvedRequest<'_>,
    choice: &StepSelection,
) -> Resumption {
    let request = wish.request;
    let from = match (&wish.only, &request.origin) {
        (Some(only), _) => only.as_str().to_owned(),
        (None, Origin::Failed) => "failed".to_owned(),
        (None, Origin::Start) => Resumption::START.to_owned(),
        (None, Origin::Step(named)) => named.clone(),
    };
    let begun = |key: &StepKey| state.within(key).next().is_some();
    let mut reset: Vec<StepKey> = Vec::new();
    let mut reopen = Vec::new();
    for index in choice.why.keys() {
        let key = &new.nodes()[*index].key;
        reset.extend(choice.resets(new, state, *index));
        if choice.reopened.contains(index) && state.step(key).is_some() {
            reopen.push(key.clone());
        }
    }
    let given = request.overrides.keys().map(|named| StepKey::of_walk(named));
    let gone = old.nodes().iter().filter(|node| new.index(node.key.as_str()).is_none());
    let gone = gone.map(|node| node.key.clone());
    reset.extend(given.chain(gone).filter(|key| begun(key)));
    reset.dedup();
    let overrides = request.overrides.iter();
    let changed = |name: &String| wish.changed.contains(&name.as_str());
    let inputs = request.inputs.iter().filter(|(name, _)| changed(name));
    Resumption {
        by: request.by.clone(),
        from,
        reset,
        reopen,
        overrides: overrides.map(|(name, value)| (StepKey::of_walk(name), value.clone())).collect(),
        inputs: inputs.map(|(name, value)| (name.clone(), value.clone())).collect(),
        env: request.env.clone(),
        text_hash: request.text_hash.clone(),
        plan_hash: request.plan_hash.clone(),
        budget: request.budget.clone(),
        only: wish.only.is_some(),
        reason: request.reason.clone(),
        deadline_ms: request.deadline_ms,
        world: request.world.clone(),
        given: Vec::new(),
        proof: None,
    }
}

/// The run as it will be when it has been resumed.
fn after(state: &State, resumption: &Resumption) -> Result<State, Failure> {
    let mut after = state.clone();
    happens(&mut after, state.now_ms, Event::RunResumedFrom(Box::new(resumption.clone())))?;
    Ok(after)
}

fn happens(state: &mut State, at_ms: u64, event: Event) -> Result<(), Failure> {
    let entry = JournalEntry { seq: state.seq + 1, at_ms, event };
    state.apply(&entry).map_err(|illegal| refusal::illegal(&illegal))
}

/// Says of each step what becomes of it.
struct StepPlanner<'t> {
    flow: &'t Flow,
    before: &'t State,
    after: &'t State,
    choice: &'t StepSelection,
    wish: &'t ResolvedRequest<'t>,
}

impl StepPlanner<'_> {
    fn tell(&self, world: &dyn WorldView) -> (Vec<StepPlan>, Forecast) {
        let outlook = Outlook::of(self.flow, self.after, world);
        let nodes = self.flow.nodes().iter().enumerate();
        let steps = nodes.filter_map(|(index, _)| self.step(index, &outlook)).collect();
        (steps, outlook.forecast())
    }

    fn step(&self, index: usize, outlook: &Outlook<'_>) -> Option<StepPlan> {
        let key = self.flow.nodes()[index].key.clone();
        let kind = self.flow.of_key(&key)?.action.kind();
        let (verdict, why) = match outlook.fate(index) {
            _ if self.wish.request.overrides.contains_key(key.as_str()) => {
                (StepOutlook::Overridden, "a person gives its output".to_owned())
            }
            StepFate::Over => (StepOutlook::Kept, self.kept(index, outlook)),
            StepFate::Skips(why) => (StepOutlook::WillSkip, why.clone()),
            StepFate::Fails(why) => (StepOutlook::WillFail, why.clone()),
            StepFate::Left => (StepOutlook::Left, "it is not reached this time".to_owned()),
            StepFate::Runs => match self.unknown(&key) {
                Some(unknown) => (StepOutlook::WillAsk, unknown),
                None => (StepOutlook::WillRun, self.why(index, &key)),
            },
            StepFate::MayRun(unless) => {
                let why = format!("{}; {unless}", self.why(index, &key));
                (StepOutlook::MayRun, why)
            }
        };
        let runs = matches!(verdict, StepOutlook::WillRun | StepOutlook::MayRun);
        let repeats = self.repeated_write(&key).filter(|_| runs);
        let verdict = if repeats.is_some() { StepOutlook::MayRepeatWrite } else { verdict };
        Some(StepPlan { key, kind, verdict, repeats, why })
    }

    /// What a person has to say of it, where nobody knows whether a request took effect.
    fn unknown(&self, key: &StepKey) -> Option<String> {
        let mut within = self.after.open().filter(|(other, _)| other.is_within(key));
        within.find_map(|(_, step)| match &step.phase {
            Phase::Unknown(failure) => Some(failure.message().into_owned()),
            _ => None,
        })
    }

    fn repeated_write(&self, key: &StepKey) -> Option<String> {
        let mut again = self.after.within(key).filter(|(_, step)| !step.phase.is_closed());
        again.find_map(|(_, step)| Some(step.wrote.as_ref()?.request.clone()))
    }

    fn kept(&self, index: usize, outlook: &Outlook<'_>) -> String {
        let key = &self.flow.nodes()[index].key;
        match self.after.phase(key) {
            Phase::Skipped => "it was skipped".to_owned(),
            Phase::Failed => "it failed, and the run goes on without it".to_owned(),
            _ if outlook.may_void(index) => {
                "it was approved; it asks again if what it showed differs".to_owned()
            }
            _ if self.after.step(key).is_some_and(|step| step.verdict.is_some()) => {
                "it was approved".to_owned()
            }
            _ => "it succeeded".to_owned(),
        }
    }

    fn why(&self, index: usize, key: &StepKey) -> String {
        let Some(why) = self.choice.why.get(&index) else {
            let open = self.before.step(key).is_some_and(crate::state::StepState::is_open);
            return if open { "it is under way" } else { "it has not run yet" }.to_owned();
        };
        if !self.choice.reopened.contains(&index) {
            return why.words();
        }
        let items = self.before.step(key).and_then(|step| step.items.as_ref());
        let kept = self
            .after
            .below(key)
            .filter(|(other, step)| step.phase == Phase::Succeeded && !other.is_check());
        let (kept, of) = (kept.count(), items.map_or(0, |items| items.len()));
        match of {
            0 => format!("{}; {kept} done inside it are kept", why.words()),
            _ => format!("{}; {kept} of {of} items are kept", why.words()),
        }
    }
}

//! How a run that has ended, is paused or has used up its budget continues: what is kept, what runs
//! again, and what that will cost.
//!
//! Planning comes first and changes nothing. A plan contains the one event that carries it out, and
//! must never understate what will happen: a write that may be repeated is named, and a cost that
//! cannot be known in advance is a range.

mod authority;
mod forecast;
mod refusal;
mod selection;
mod step_equality;

use std::collections::BTreeMap;

use milepost_model::step::{Action, ActionKind, Step};
use milepost_model::suggest;
use serde_json::{Map, Value};

use crate::consent::ConsentTerms;
use crate::effect_bound::EffectBound;
use crate::event::{Actor, BudgetKind, Event, JournalEntry, Resumption};
use crate::interpreter::WorldView;
use crate::interpreter::output_contract;
use crate::state::{Phase, State};
use crate::world::RunWorld;
use crate::{Cause, Failure, Flow, StepKey, admission, interpreter};
use milepost_model::serialized_enum;

pub use authority::{ResumeAuthority, needs};
pub use forecast::{Forecast, ForecastRange, SavedCost};
use forecast::{Outlook, StepFate};
use selection::StepSelection;

/// Where a run continues from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Origin {
    /// The steps that failed or were canceled.
    #[default]
    Failed,
    /// The step with this id.
    Step(String),
    /// The beginning.
    Start,
}

/// A request to resume a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResumeRequest {
    pub origin: Origin,
    /// Run only the named or failed step, without the steps that depend on it.
    pub only: bool,
    /// Use the newest source instead of the pinned one.
    pub latest: bool,
    /// Inputs to change.
    pub inputs: Map<String, Value>,
    /// Environment variables that the run has not read before.
    pub env: Map<String, Value>,
    /// Steps to repeat even though they succeeded.
    pub redo: Vec<String>,
    /// Outputs to use in place of the steps' own.
    pub overrides: BTreeMap<String, Value>,
    /// Budgets to change.
    pub budget: BTreeMap<BudgetKind, u64>,
    pub by: Actor,
    pub reason: Option<String>,
    /// The hash of the source that the run uses from now on.
    pub text_hash: String,
    pub plan_hash: String,
    /// The deadline after which the run is canceled.
    pub deadline_ms: u64,
    /// The run's new world, if it changes.
    pub world: Option<Box<RunWorld>>,
    /// What the run can change from now on, if that is computed again.
    pub bound: Option<Box<EffectBound>>,
    /// What a person has to agree to from now on.
    pub consent: Option<Box<ConsentTerms>>,
}

impl ResumeRequest {
    /// The simplest request: continue where the run failed, and change nothing.
    pub fn of(state: &State, by: Actor) -> ResumeRequest {
        ResumeRequest {
            by,
            text_hash: state.head.text_hash.clone(),
            plan_hash: state.head.plan_hash.clone(),
            deadline_ms: state.head.deadline_ms,
            ..ResumeRequest::default()
        }
    }
}

/// What resuming a run would do.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumePlan {
    /// The event that carries out the plan, valid for the state that the plan was made from.
    pub resumption: Resumption,
    /// The top-level steps, in order.
    pub steps: Vec<StepPlan>,
    /// What resuming costs, and what it saves.
    pub forecast: Forecast,
}

/// What would happen to a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepPlan {
    pub key: StepKey,
    /// The kind of action: `run`, `prompt` and so on.
    pub kind: ActionKind,
    pub verdict: StepOutlook,
    /// The write that may be repeated, such as `POST /refunds`.
    pub repeats: Option<String>,
    pub why: String,
}

serialized_enum! {
    /// What will happen to a step.
    StepOutlook {
        /// Its result is kept.
        Kept = "kept",
        WillRun = "will run",
        /// It runs if its condition and its dependencies allow it.
        MayRun = "may run",
        /// It runs, and repeats a write that took effect or may have done so.
        MayRepeatWrite = "may repeat a write",
        /// It gets the output that a person supplies.
        Overridden = "overridden",
        /// Its condition or its dependencies rule it out.
        WillSkip = "will be skipped",
        /// It cannot run: it reads values that will not exist.
        WillFail = "will fail",
        /// It is not reached this time.
        Left = "left",
        /// A person first has to decide the outcome of a request.
        WillAsk = "will ask a person",
    }
}

/// Plans how a run would resume; `new` equals `old` unless the newest source is requested.
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

/// Plans what a run does once a driver picks it up, without restarting anything. The requests that
/// the previous process left in flight are settled first, as a new driver would settle them.
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

/// A resume request whose steps have been looked up.
pub(crate) struct ResolvedRequest<'r> {
    pub(crate) request: &'r ResumeRequest,
    /// The steps that were named, by id.
    pub(crate) asked: Vec<String>,
    /// The inputs whose values change.
    pub(crate) changed: Vec<&'r str>,
    /// The step that runs alone.
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

/// Finds a top-level step by its id.
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

/// Checks that an output may replace the step's own.
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

/// The single step to run.
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
        bound: request.bound.clone(),
        consent: request.consent.clone(),
        given: Vec::new(),
        proof: None,
    }
}

/// The state of the run after the resumption.
fn after(state: &State, resumption: &Resumption) -> Result<State, Failure> {
    let mut after = state.clone();
    happens(&mut after, state.now_ms, Event::RunResumedFrom(Box::new(resumption.clone())))?;
    Ok(after)
}

fn happens(state: &mut State, at_ms: u64, event: Event) -> Result<(), Failure> {
    let entry = JournalEntry { seq: state.seq + 1, at_ms, event };
    state.apply(&entry).map_err(|illegal| refusal::illegal(&illegal))
}

/// Decides for each step what will happen to it.
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
                (StepOutlook::Overridden, "a person supplies its output".to_owned())
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

    /// The failure of a request that may have taken effect, which a person has to settle first.
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
            Phase::Failed => "it failed, and the run continues without it".to_owned(),
            _ if outlook.may_void(index) => {
                "it was approved; it asks again if the request has changed".to_owned()
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
            return if open { "it is in progress" } else { "it has not run yet" }.to_owned();
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
            0 => format!("{}; finished steps kept: {kept}", why.words()),
            _ => format!("{}; items kept: {kept} of {of}", why.words()),
        }
    }
}

//! How a run goes on that has ended, is paused, or has spent its budget: what is kept, what runs
//! again, and what that will cost.
//!
//! A plan comes first and changes nothing. It holds the one event that carries it out, and it must
//! never promise less than what then happens: a write that may be done twice is named, and what
//! cannot be known before is a range.

mod choice;
mod forecast;
mod meaning;
mod needs;
mod refusal;

use std::collections::BTreeMap;

use milepost_model::step::{Action, ActionKind, Step};
use milepost_model::suggest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::{Actor, Budget, Entry, Event, Resumption};
use crate::failure::Failure;
use crate::failures::Cause;
use crate::flow::Flow;
use crate::interpreter::World;
use crate::key::Key;
use crate::state::{Phase, State};
use crate::world::RunWorld;
use crate::{contract, interpreter, judge};

use choice::Choice;
use forecast::{Fate, Outlook};
pub use forecast::{Forecast, Saved, Tally};
pub use needs::{Needs, needs};

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
    pub key: Key,
    /// The key that says what it does: `run`, `prompt` and so on.
    pub kind: ActionKind,
    /// What becomes of it.
    pub verdict: Verdict,
    /// Why.
    pub why: String,
}

/// What becomes of a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// What it came to stays.
    Kept,
    /// It runs.
    WillRun,
    /// It runs if its condition, or what it depends on, lets it.
    MayRun,
    /// It runs, and a write that took effect, or may have, would be done once more.
    MayRepeatWrite {
        /// The write in short: `POST /refunds`.
        request: String,
    },
    /// It keeps the output that a person gives.
    Overridden,
    /// Its condition, or what it depends on, leaves it out.
    WillSkip,
    /// It cannot be done: it reads what will not be there.
    WillFail,
    /// It is not reached this time.
    Left,
    /// A person has to say first what became of a request.
    WillAsk,
}

impl Verdict {
    /// Which one it is, without what belongs to it.
    pub fn kind(&self) -> VerdictKind {
        match self {
            Verdict::Kept => VerdictKind::Kept,
            Verdict::WillRun => VerdictKind::WillRun,
            Verdict::MayRun => VerdictKind::MayRun,
            Verdict::MayRepeatWrite { .. } => VerdictKind::MayRepeatWrite,
            Verdict::Overridden => VerdictKind::Overridden,
            Verdict::WillSkip => VerdictKind::WillSkip,
            Verdict::WillFail => VerdictKind::WillFail,
            Verdict::Left => VerdictKind::Left,
            Verdict::WillAsk => VerdictKind::WillAsk,
        }
    }
}

/// What becomes of a step, in a word. Without the write that may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum VerdictKind {
    /// What it came to stays.
    #[serde(rename = "kept")]
    Kept,
    /// It runs.
    #[serde(rename = "will run")]
    WillRun,
    /// It runs if its condition, or what it depends on, lets it.
    #[serde(rename = "may run")]
    MayRun,
    /// It runs, and a write that took effect, or may have, would be done once more.
    #[serde(rename = "may repeat a write")]
    MayRepeatWrite,
    /// It keeps the output that a person gives.
    #[serde(rename = "overridden")]
    Overridden,
    /// Its condition, or what it depends on, leaves it out.
    #[serde(rename = "will be skipped")]
    WillSkip,
    /// It cannot be done: it reads what will not be there.
    #[serde(rename = "will fail")]
    WillFail,
    /// It is not reached this time.
    #[serde(rename = "left")]
    Left,
    /// A person has to say first what became of a request.
    #[serde(rename = "will ask a person")]
    WillAsk,
}

impl VerdictKind {
    /// The words for it.
    pub fn words(self) -> &'static str {
        match self {
            VerdictKind::Kept => "kept",
            VerdictKind::WillRun => "will run",
            VerdictKind::MayRun => "may run",
            VerdictKind::MayRepeatWrite => "may repeat a write",
            VerdictKind::Overridden => "overridden",
            VerdictKind::WillSkip => "will be skipped",
            VerdictKind::WillFail => "will fail",
            VerdictKind::Left => "left",
            VerdictKind::WillAsk => "will ask a person",
        }
    }
}

/// Works out how a run would go on; `new` is `old` unless the newest text is wanted.
pub fn plan(
    old: &Flow,
    new: &Flow,
    state: &State,
    world: &dyn World,
    request: &ResumeRequest,
) -> Result<ResumePlan, Failure> {
    let wish = Wish::read(new, state, request)?;
    refusal::of_run(old, state, request)?;
    refusal::of_wish(new, state, &wish)?;
    let choice = Choice::of(new, old, state, &wish);
    if request.latest {
        meaning::keeps(old, new, state, &wish)?;
    }
    refusal::of_choice(new, state, &choice, &wish)?;
    let resumption = resumption(old, new, state, &wish, &choice);
    refusal::of_open(state, &resumption)?;
    let after = after(state, &resumption)?;
    let teller = Teller { flow: new, before: state, after: &after, choice: &choice, wish: &wish };
    let (steps, forecast) = teller.tell(world);
    Ok(ResumePlan { resumption, steps, forecast })
}

/// Works out what a run does that only lacks somebody who drives it: nothing is begun again. What
/// its last process left is settled first, as whoever takes the run up settles it.
pub fn ahead(
    flow: &Flow,
    state: &State,
    world: &dyn World,
    now_ms: u64,
) -> Result<(Vec<StepPlan>, Forecast), Failure> {
    let request = ResumeRequest::of(state, judge::engine("driver"));
    let wish = Wish::read(flow, state, &request)?;
    let at_ms = now_ms.max(state.now_ms);
    let mut after = state.clone();
    for event in
        interpreter::lost(state, at_ms).into_iter().chain(interpreter::lapsed(state, at_ms))
    {
        let entry = Entry { seq: after.seq + 1, at_ms, event };
        after.apply(&entry).map_err(|illegal| refusal::illegal(&illegal))?;
    }
    let choice = Choice::default();
    let teller = Teller { flow, before: state, after: &after, choice: &choice, wish: &wish };
    Ok(teller.tell(world))
}

/// A request with its steps found.
pub(crate) struct Wish<'r> {
    pub(crate) request: &'r ResumeRequest,
    /// Steps that were named, by id.
    pub(crate) asked: Vec<String>,
    /// Inputs whose value differs.
    pub(crate) changed: Vec<&'r str>,
    /// The only step that runs.
    pub(crate) only: Option<Key>,
}

impl<'r> Wish<'r> {
    fn read(flow: &Flow, state: &State, request: &'r ResumeRequest) -> Result<Wish<'r>, Failure> {
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
        Ok(Wish { request, asked, changed, only })
    }
}

/// A step of the top level by its name.
fn find<'f>(flow: &'f Flow, named: &str) -> Result<&'f Step, Failure> {
    match (flow.index(named), flow.step(Key::of_walk(named).step())) {
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
    let (step, key) = (find(flow, named)?, Key::of_walk(named));
    let schema = match &step.action {
        Action::Approve(_) => return Err(refusal::forged(&key)),
        Action::Prompt(prompt) => prompt.output_schema.as_ref(),
        _ => None,
    };
    if let Some(failure) = contract::misfit(&key, step, output) {
        return Err(failure);
    }
    let misfits = schema.map(|schema| schema.misfits(output));
    match misfits {
        Some(Ok(misfits)) => match misfits.first() {
            Some(first) => Err(refusal::misfit(&key, &first.message)),
            None => Ok(()),
        },
        Some(Err(cause)) => Err(refusal::misfit(&key, &cause)),
        None => Ok(()),
    }
}

/// The one step that is wanted.
fn only(flow: &Flow, state: &State, request: &ResumeRequest) -> Result<Key, Failure> {
    if !request.redo.is_empty() || !request.overrides.is_empty() {
        return Err(refusal::only_one());
    }
    match &request.origin {
        Origin::Step(named) => Ok(Key::of_walk(named)),
        Origin::Start => Err(refusal::only_one()),
        Origin::Failed => {
            let nodes = flow.nodes().iter().enumerate();
            let mut failed =
                nodes.filter(|(index, _)| choice::broke(flow, state, *index).is_some());
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
    wish: &Wish<'_>,
    choice: &Choice,
) -> Resumption {
    let request = wish.request;
    let from = match (&wish.only, &request.origin) {
        (Some(only), _) => only.as_str().to_owned(),
        (None, Origin::Failed) => "failed".to_owned(),
        (None, Origin::Start) => Resumption::START.to_owned(),
        (None, Origin::Step(named)) => named.clone(),
    };
    let begun = |key: &Key| state.steps.keys().any(|other| other.is_within(key));
    let mut reset: Vec<Key> = Vec::new();
    let mut reopen = Vec::new();
    for index in choice.why.keys() {
        let key = &new.nodes()[*index].key;
        reset.extend(choice.resets(new, state, *index));
        if choice.reopened.contains(index) && state.step(key).is_some() {
            reopen.push(key.clone());
        }
    }
    let given = request.overrides.keys().map(|named| Key::of_walk(named));
    let gone = old.nodes().iter().filter(|node| new.index(node.key.as_str()).is_none());
    let gone = gone.map(|node| node.key.clone());
    reset.extend(given.chain(gone).filter(|key| begun(key)));
    reset.dedup();
    let overrides = request.overrides.iter();
    let changed = |name: &&String| wish.changed.contains(&name.as_str());
    Resumption {
        by: request.by.clone(),
        from,
        reset,
        reopen,
        overrides: overrides.map(|(name, value)| (Key::of_walk(name), value.clone())).collect(),
        inputs: request
            .inputs
            .iter()
            .filter(|(name, _)| changed(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect(),
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
    let event = Event::RunResumedFrom(Box::new(resumption.clone()));
    let entry = Entry { seq: state.seq + 1, at_ms: state.now_ms, event };
    after.apply(&entry).map_err(|illegal| refusal::illegal(&illegal))?;
    Ok(after)
}

/// Says of each step what becomes of it.
struct Teller<'t> {
    flow: &'t Flow,
    before: &'t State,
    after: &'t State,
    choice: &'t Choice,
    wish: &'t Wish<'t>,
}

impl Teller<'_> {
    fn tell(&self, world: &dyn World) -> (Vec<StepPlan>, Forecast) {
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
                (Verdict::Overridden, "a person gives its output".to_owned())
            }
            Fate::Over => (Verdict::Kept, self.kept(index, outlook)),
            Fate::Skips(why) => (Verdict::WillSkip, why.clone()),
            Fate::Fails(why) => (Verdict::WillFail, why.clone()),
            Fate::Left => (Verdict::Left, "it is not reached this time".to_owned()),
            Fate::Runs if self.unknown(&key).is_some() => {
                (Verdict::WillAsk, self.unknown(&key).unwrap_or_default())
            }
            Fate::Runs => (self.runs(&key, Verdict::WillRun), self.why(index, &key)),
            Fate::MayRun(unless) => {
                let why = format!("{}; {unless}", self.why(index, &key));
                (self.runs(&key, Verdict::MayRun), why)
            }
        };
        Some(StepPlan { key, kind, verdict, why })
    }

    /// What a person has to say of it, where nobody knows whether a request took effect.
    fn unknown(&self, key: &Key) -> Option<String> {
        let mut within = self.after.open().filter(|(other, _)| other.is_within(key));
        within.find_map(|(_, step)| match &step.phase {
            Phase::Unknown(failure) => Some(failure.message().into_owned()),
            _ => None,
        })
    }

    fn runs(&self, key: &Key, plain: Verdict) -> Verdict {
        let wrote = self.after.steps.iter().find_map(|(other, step)| {
            let again = other.is_within(key) && !step.phase.is_closed();
            step.wrote.as_ref().filter(|_| again)
        });
        match wrote {
            Some(wrote) => Verdict::MayRepeatWrite { request: wrote.request.clone() },
            None => plain,
        }
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

    fn why(&self, index: usize, key: &Key) -> String {
        let Some(why) = self.choice.why.get(&index) else {
            let open = self.before.step(key).is_some_and(crate::state::StepState::is_open);
            return if open { "it is under way" } else { "it has not run yet" }.to_owned();
        };
        if !self.choice.reopened.contains(&index) {
            return why.words();
        }
        let items = self.before.step(key).and_then(|step| step.items.as_ref());
        let kept = |state: &State| {
            let inner = state.steps.iter().filter(|(other, step)| {
                let check = other.as_str().contains("::verify@");
                *other != key && other.is_within(key) && !check && step.phase == Phase::Succeeded
            });
            inner.count()
        };
        let (kept, of) = (kept(self.after), items.map_or(0, |items| items.len()));
        match of {
            0 => format!("{}; {kept} done inside it are kept", why.words()),
            _ => format!("{}; {kept} of {of} items are kept", why.words()),
        }
    }
}

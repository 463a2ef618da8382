//! What a resumption will cost if every attempt succeeds, and what it saves.
//!
//! The forecast is exact if the deciding values are known, as inputs and kept outputs are. A
//! condition, a list or a number of passes that depends on future values makes it a range.

use std::fmt;

use milepost_model::condition::Truth;
use milepost_model::expr::{Expr, Fuel};
use milepost_model::guide::{Confirmation, Count};
use milepost_model::step::{Action, Loop, Needs, Prompt, Repeat, Run, Step, When};
use milepost_model::target::Target;
use serde_json::{Value, json};

use super::selection::is_given;
use milepost_model::id::RunId;

use crate::interpreter::WorldView;
use crate::interpreter::command::NextCommand;
use crate::interpreter::evaluator::{Execution, RunEvaluator, asks_status, field, is_loop};
use crate::interpreter::scope::RunScope;
use crate::interpreter::step_action::{millis, polls_until};
use crate::ports::RunContext;
use crate::state::{Phase, State, StepStatus};
use crate::{Cause, Flow, StepKey, limits, secret_placeholder, view};

/// An exact count or a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ForecastRange {
    /// The lower bound.
    pub least: u64,
    /// The upper bound; `None` if it is not known in advance.
    pub most: Option<u64>,
}

impl ForecastRange {
    /// Exactly zero.
    const NONE: ForecastRange = ForecastRange { least: 0, most: Some(0) };
    const ONE: ForecastRange = ForecastRange { least: 1, most: Some(1) };
    const MAYBE: ForecastRange = ForecastRange { least: 0, most: Some(1) };

    fn exactly(count: usize) -> ForecastRange {
        ForecastRange { least: count as u64, most: Some(count as u64) }
    }

    fn plus(self, other: ForecastRange) -> ForecastRange {
        let most = self.most.zip(other.most).map(|(one, two)| one.saturating_add(two));
        ForecastRange { least: self.least.saturating_add(other.least), most }
    }

    fn times(self, other: ForecastRange) -> ForecastRange {
        let none = self == ForecastRange::NONE || other == ForecastRange::NONE;
        let most = self.most.zip(other.most).map(|(one, two)| one.saturating_mul(two));
        let most = if none { Some(0) } else { most };
        ForecastRange { least: self.least.saturating_mul(other.least), most }
    }

    /// Subtracts what is already done.
    fn less(self, done: u64) -> ForecastRange {
        let most = self.most.map(|most| most.saturating_sub(done));
        ForecastRange { least: self.least.saturating_sub(done), most }
    }

    fn if_at_all(self) -> ForecastRange {
        ForecastRange { least: 0, ..self }
    }

    /// Whether a count is within the forecast.
    pub fn holds(self, count: u64) -> bool {
        self.least <= count && self.most.is_none_or(|most| count <= most)
    }
}

impl fmt::Display for ForecastRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.most {
            Some(most) if most == self.least => write!(f, "{most}"),
            Some(most) => write!(f, "{} to {most}", self.least),
            None => write!(f, "{} or more", self.least),
        }
    }
}

/// What a resumption costs, and what it saves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forecast {
    /// Requests.
    pub calls: ForecastRange,
    /// Requests that change something.
    pub writes: ForecastRange,
    /// Steps for an agent to do.
    pub agent_steps: ForecastRange,
    /// Questions for a person to answer.
    pub approvals: ForecastRange,
    /// Child runs; their own costs are not included.
    pub children: ForecastRange,
    /// The cost that is not incurred again.
    pub saved: SavedCost,
}

/// The cost that is not incurred again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SavedCost {
    /// Requests.
    pub calls: u64,
    /// Requests that change something.
    pub writes: u64,
    /// Steps that an agent did.
    pub agent_steps: u64,
}

/// What will happen to a top-level step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StepFate {
    /// It has ended, and its result is kept.
    Over,
    Runs,
    /// It runs unless something that is not known yet prevents it, for this reason.
    MayRun(String),
    /// It is skipped, for this reason.
    Skips(String),
    /// It fails before it does anything, for this reason.
    Fails(String),
    /// It is not reached.
    Left,
}

impl Forecast {
    /// Nothing happens.
    pub const NONE: Forecast = Forecast {
        calls: ForecastRange::NONE,
        writes: ForecastRange::NONE,
        agent_steps: ForecastRange::NONE,
        approvals: ForecastRange::NONE,
        children: ForecastRange::NONE,
        saved: SavedCost { calls: 0, writes: 0, agent_steps: 0 },
    };

    fn with(
        self,
        other: Forecast,
        join: impl Fn(ForecastRange, ForecastRange) -> ForecastRange,
    ) -> Forecast {
        Forecast {
            calls: join(self.calls, other.calls),
            writes: join(self.writes, other.writes),
            agent_steps: join(self.agent_steps, other.agent_steps),
            approvals: join(self.approvals, other.approvals),
            children: join(self.children, other.children),
            saved: SavedCost {
                calls: self.saved.calls + other.saved.calls,
                writes: self.saved.writes + other.saved.writes,
                agent_steps: self.saved.agent_steps + other.saved.agent_steps,
            },
        }
    }

    /// The same without upper bounds, because the cost of child runs is not known; the number of
    /// child runs keeps its bound.
    #[must_use]
    pub fn unbounded(self) -> Forecast {
        let open = self.with(Forecast::NONE, |own, _| ForecastRange { most: None, ..own });
        Forecast { children: self.children, ..open }
    }

    /// The combined cost of both.
    #[must_use]
    pub fn plus(self, other: Forecast) -> Forecast {
        self.with(other, ForecastRange::plus)
    }

    fn times(self, count: ForecastRange) -> Forecast {
        self.with(Forecast::NONE, |own, _| own.times(count))
    }

    fn if_at_all(self) -> Forecast {
        self.with(Forecast::NONE, |own, _| own.if_at_all())
    }
}

/// Predicts how a resumed run will proceed.
pub(crate) struct Outlook<'o> {
    flow: &'o Flow,
    state: &'o State,
    world: &'o dyn WorldView,
    fates: Vec<StepFate>,
    /// The steps as expressions will see them: what is kept, and the expected status of the others.
    steps: Value,
    /// Whether an agent will have worked on a step by then, in which case variables may have any
    /// value.
    varies: bool,
}

impl<'o> Outlook<'o> {
    /// Predicts the fates of all steps from the state after the resumption.
    pub(crate) fn of(flow: &'o Flow, state: &'o State, world: &'o dyn WorldView) -> Outlook<'o> {
        let steps = state.names().get("steps").cloned().unwrap_or_else(|| json!({}));
        let mut outlook = Outlook { flow, state, world, fates: Vec::new(), steps, varies: false };
        let mut stopped = Stop::No;
        for index in 0..flow.nodes().len() {
            let fate = outlook.foresee(index, stopped);
            outlook.note(index, &fate);
            stopped = outlook.stops(index, &fate, stopped);
            outlook.fates.push(fate);
        }
        outlook
    }

    /// What will happen to a step.
    pub(crate) fn fate(&self, index: usize) -> &StepFate {
        &self.fates[index]
    }

    /// The total cost.
    pub(crate) fn forecast(&self) -> Forecast {
        let mut total = Forecast::NONE;
        for (index, fate) in self.fates.iter().enumerate() {
            total = total.plus(match fate {
                StepFate::Runs => self.node(index),
                StepFate::MayRun(_) => self.node(index).if_at_all(),
                StepFate::Over => Forecast { approvals: self.voids(index), ..Forecast::NONE },
                StepFate::Skips(_) | StepFate::Fails(_) | StepFate::Left => Forecast::NONE,
            });
        }
        Forecast { saved: self.saved(), ..total }
    }

    /// Whether an approval may have to be given again.
    pub(crate) fn may_void(&self, index: usize) -> bool {
        self.fates[index] == StepFate::Over && self.voids(index) != ForecastRange::NONE
    }

    fn foresee(&self, index: usize, stopped: Stop) -> StepFate {
        let node = &self.flow.nodes()[index];
        let Some(step) = self.flow.of_key(&node.key) else { return StepFate::Left };
        let phase = self.state.phase(&node.key);
        if phase.is_closed() || self.is_walked_past(index) {
            return StepFate::Over;
        }
        if let Some(own) = self.state.step(&node.key).filter(|own| own.is_open()) {
            return match own.has_lapsed() {
                true => StepFate::Fails(Cause::Expired { key: node.key.clone() }.to_string()),
                false => StepFate::Runs,
            };
        }
        if self.state.only.as_ref().is_some_and(|only| *only != node.key) {
            return StepFate::Left;
        }
        let fate = match stopped {
            Stop::Yes if !node.finally => return StepFate::Left,
            Stop::Maybe if !node.finally => {
                StepFate::MayRun("an earlier step may end the run".to_owned())
            }
            Stop::No | Stop::Maybe | Stop::Yes => self.needed(index, step),
        };
        let fate = match fate {
            StepFate::Runs | StepFate::MayRun(_) => self.conditioned(step, fate),
            fate => fate,
        };
        match self.sight(step) {
            Readability::Broken(why) if fate == StepFate::Runs => StepFate::Fails(why),
            Readability::Doubtful(why) if fate == StepFate::Runs => StepFate::MayRun(why),
            _ => fate,
        }
    }

    /// Whether a step's expressions can be evaluated. They may read the output of a step that has
    /// none.
    fn sight(&self, step: &Step) -> Readability {
        let exprs = match (&step.for_each, &step.action) {
            (Some(each), _) => each.items.exprs(),
            (None, Action::Run(_) | Action::Set(_) | Action::Approve(_) | Action::Wait(_)) => {
                step.exprs()
            }
            (None, Action::Prompt(_) | Action::Fail(_) | Action::Loop(_)) => Vec::new(),
        };
        let names = self.names();
        let mut sight = Readability::Clear;
        for located in exprs {
            let expr = located.expr;
            if self.knows(expr)
                && let Err(error) = expr.eval(&names, &mut Fuel::default())
            {
                let source = expr.source().trim();
                return Readability::Broken(format!("`{source}` cannot be evaluated: {error}"));
            }
            if let Some(name) = self.doubts(expr) {
                sight = Readability::Doubtful(format!("`{name}` may have no output"));
            }
        }
        sight
    }

    /// A step whose output an expression reads even though there may be none.
    fn doubts<'e>(&self, expr: &'e Expr) -> Option<&'e str> {
        expr.references().iter().find_map(|reference| {
            let name = field(reference, 0).filter(|_| reference.root == "steps")?;
            let fate = self.flow.index(name).and_then(|index| self.fates.get(index));
            let open = matches!(fate, Some(StepFate::MayRun(_)));
            (open && field(reference, 1) != Some("status")).then_some(name)
        })
    }

    /// Whether a guide has started a step after this loop; the loop has no execution of its own.
    fn is_walked_past(&self, index: usize) -> bool {
        let nodes = self.flow.nodes();
        let step = self.flow.of_key(&nodes[index].key);
        let looped = step.is_some_and(is_loop);
        let begun = |key: &StepKey| self.state.within(key).any(|(_, step)| step.began_ms.is_some());
        let later = || nodes[index + 1..].iter().any(|node| begun(&node.key));
        self.flow.is_walked() && looped && begun(&nodes[index].key) && later()
    }

    /// Whether a step's dependencies allow it to run, by the same rules as in the interpreter.
    fn needed(&self, index: usize, step: &Step) -> StepFate {
        let nodes = self.flow.nodes();
        let waits = nodes[index].waits.iter().copied();
        let own: Vec<usize> =
            waits.filter(|wait| nodes[*wait].finally == nodes[index].finally).collect();
        let name = |wait: usize| &nodes[wait].key;
        // The steps of a guide follow each other even if the previous one was skipped.
        if self.flow.is_walked() {
            return StepFate::Runs;
        }
        let mut may = None;
        match step.needs {
            Needs::All => {
                for wait in own {
                    let asked = asks_status(step, name(wait).as_str());
                    match self.end_of(wait) {
                        Ended::Skipped if !asked && may.is_none() => {
                            return StepFate::Skips(format!("`{}` is skipped", name(wait)));
                        }
                        Ended::Skipped | Ended::Open if !asked => {
                            may = Some(format!("`{}` may be skipped", name(wait)));
                        }
                        Ended::Left => return StepFate::Left,
                        _ => {}
                    }
                }
            }
            Needs::Any if own.is_empty() => {}
            Needs::Any => {
                let any = |wanted: Ended| own.iter().any(|wait| self.end_of(*wait) == wanted);
                match (any(Ended::Left), any(Ended::Succeeded), any(Ended::Open)) {
                    (true, ..) => return StepFate::Left,
                    (_, true, _) => {}
                    (_, _, true) => may = Some("all the steps it needs may be skipped".to_owned()),
                    _ => {
                        let why = "none of the steps it needs succeeded";
                        return StepFate::Skips(why.to_owned());
                    }
                }
            }
        }
        may.map_or(StepFate::Runs, StepFate::MayRun)
    }

    fn end_of(&self, index: usize) -> Ended {
        match &self.fates[index] {
            StepFate::Over => match self.state.phase(&self.flow.nodes()[index].key) {
                Phase::Skipped => Ended::Skipped,
                Phase::Succeeded => Ended::Succeeded,
                _ => Ended::Failed,
            },
            StepFate::Runs => Ended::Succeeded,
            StepFate::MayRun(_) => Ended::Open,
            StepFate::Skips(_) => Ended::Skipped,
            StepFate::Fails(_) => Ended::Failed,
            StepFate::Left => Ended::Left,
        }
    }

    fn conditioned(&self, step: &Step, fate: StepFate) -> StepFate {
        let held = match &step.when {
            None => return fate,
            Some(When::Expr(bare)) if self.knows(&bare.expr) => self.names().holds("if", bare).ok(),
            Some(When::Condition(condition)) if !self.varies => {
                match condition.decide(&view::outer_variables(self.flow, self.state)) {
                    Truth::Holds => Some(true),
                    Truth::Fails => Some(false),
                    Truth::Undecided(_) => None,
                }
            }
            Some(When::Expr(_) | When::Condition(_)) => None,
        };
        match held {
            Some(true) => fate,
            Some(false) => StepFate::Skips("its condition does not hold".to_owned()),
            None => StepFate::MayRun("its condition cannot be evaluated yet".to_owned()),
        }
    }

    /// Records what later conditions will see of a step.
    fn note(&mut self, index: usize, fate: &StepFate) {
        let key = &self.flow.nodes()[index].key;
        let status = match fate {
            StepFate::Runs => Some(StepStatus::Succeeded),
            StepFate::Skips(_) => Some(StepStatus::Skipped),
            StepFate::Fails(_) => Some(StepStatus::Failed),
            StepFate::Over | StepFate::MayRun(_) | StepFate::Left => None,
        };
        if let Some(status) = status {
            self.steps[key.as_str()] = json!({"status": status, "attempts": 0});
        }
        let step = self.flow.of_key(key);
        let works = |step: &Step| matches!(step.action, Action::Prompt(_) | Action::Loop(_));
        let runs = matches!(fate, StepFate::Runs | StepFate::MayRun(_));
        self.varies |= runs && step.is_some_and(works);
    }

    /// Whether a step ends the run even if every attempt succeeds, as a `fail` step does.
    fn stops(&self, index: usize, fate: &StepFate, before: Stop) -> Stop {
        let node = &self.flow.nodes()[index];
        let step = self.flow.of_key(&node.key);
        let ends = step.is_some_and(|step| {
            let fails =
                matches!(step.action, Action::Fail(_)) || self.sight(step) != Readability::Clear;
            fails && step.on_error == milepost_model::step::OnError::Fail
        });
        let alone = self.flow.workflow().concurrency == 1;
        match fate {
            StepFate::Runs | StepFate::Fails(_) if ends && !node.finally && alone => Stop::Yes,
            StepFate::Runs | StepFate::Fails(_) | StepFate::MayRun(_) if ends && !node.finally => {
                before.max(Stop::Maybe)
            }
            _ => before,
        }
    }

    fn names(&self) -> RunScope<'_> {
        RunScope::of(self.state).with("steps", self.steps.clone())
    }

    /// Whether everything that an expression reads is already known.
    fn knows(&self, expr: &Expr) -> bool {
        let timeless = !expr.source().contains("now(");
        timeless
            && expr.references().iter().all(|reference| match reference.root.as_str() {
                "inputs" | "env" | "run" => true,
                "steps" => {
                    let index = field(reference, 0).and_then(|name| self.flow.index(name));
                    match index.and_then(|index| self.fates.get(index)) {
                        // A step that has ended or is skipped produces nothing more.
                        Some(StepFate::Over | StepFate::Skips(_)) => true,
                        Some(StepFate::Runs) => field(reference, 1) == Some("status"),
                        Some(StepFate::Fails(_)) => {
                            matches!(field(reference, 1), Some("status" | "output"))
                        }
                        Some(StepFate::MayRun(_) | StepFate::Left) | None => false,
                    }
                }
                _ => false,
            })
    }

    fn knows_all(&self, step: &Step) -> bool {
        step.exprs().iter().all(|located| self.knows(located.expr))
    }

    /// The cost of a top-level step that runs.
    fn node(&self, index: usize) -> Forecast {
        let key = &self.flow.nodes()[index].key;
        let Some(step) = self.flow.of_key(key) else { return Forecast::NONE };
        let stands = self.state.step(key);
        if let Action::Loop(looped) = &step.action {
            return self.looped(key, looped, ForecastRange::ONE);
        }
        let Some(each) = &step.for_each else { return self.execution(key, step) };
        if let Some(items) = stands.and_then(|stands| stands.items.as_ref()) {
            let items = (0..items.len()).map(|index| self.execution(&key.item(index), step));
            return items.fold(Forecast::NONE, Forecast::plus);
        }
        let known = each.items.exprs().iter().all(|located| self.knows(located.expr));
        let items = known.then(|| self.names().value("for_each", &each.items).ok()).flatten();
        let count = match items.flatten() {
            Some(Value::Array(items)) => ForecastRange::exactly(items.len()),
            _ => ForecastRange { least: 0, most: None },
        };
        // The list is new, so its items have not started.
        self.fresh(key, step).times(count)
    }

    /// The remaining cost of an execution.
    fn execution(&self, key: &StepKey, step: &Step) -> Forecast {
        let Some(stands) = self.state.step(key).filter(|stands| stands.began_ms.is_some()) else {
            return self.fresh(key, step);
        };
        let fresh = self.fresh(key, step);
        match &stands.phase {
            phase if phase.is_closed() => Forecast::NONE,
            Phase::Calling(_) | Phase::Answered => polled_on(step, fresh),
            Phase::Failing(_)
            | Phase::Child(_)
            | Phase::Asking
            | Phase::Decided(_)
            | Phase::Sleeping(_) => Forecast::NONE,
            Phase::Accepted => Forecast { approvals: fresh.approvals, ..Forecast::NONE },
            Phase::Unknown(_) => fresh.if_at_all(),
            Phase::Verifying => Forecast {
                calls: fresh.calls.if_at_all(),
                writes: fresh.writes.if_at_all(),
                ..fresh
            },
            _ => fresh,
        }
    }

    /// The cost of an execution that has not started.
    fn fresh(&self, key: &StepKey, step: &Step) -> Forecast {
        match &step.action {
            Action::Run(run) => self.run(key, run),
            Action::Prompt(prompt) => self.prompt(key, prompt),
            Action::Approve(_) => Forecast { approvals: ForecastRange::ONE, ..Forecast::NONE },
            Action::Wait(_) | Action::Set(_) | Action::Fail(_) | Action::Loop(_) => Forecast::NONE,
        }
    }

    fn run(&self, key: &StepKey, run: &Run) -> Forecast {
        if matches!(run.target.value, Target::Workflow(_)) {
            return Forecast { children: ForecastRange::ONE, ..Forecast::NONE };
        }
        let passes = run.repeat.as_ref().map_or(ForecastRange::ONE, passes);
        self.call(key, &run.target.value).times(passes)
    }

    fn call(&self, key: &StepKey, target: &Target) -> Forecast {
        let known = self.world.writes(&target.to_string(), self.state.head.mock);
        let wrote = || self.state.within(key).any(|(_, step)| step.wrote.is_some()).then_some(true);
        let writes = match known.or_else(wrote) {
            Some(true) => ForecastRange::ONE,
            Some(false) => ForecastRange::NONE,
            None => ForecastRange::MAYBE,
        };
        Forecast { calls: ForecastRange::ONE, writes, ..Forecast::NONE }
    }

    fn prompt(&self, key: &StepKey, prompt: &Prompt) -> Forecast {
        let approvals = match &prompt.confirmation {
            Confirmation::Never => ForecastRange::NONE,
            Confirmation::Always => ForecastRange::ONE,
            Confirmation::When(_) => ForecastRange::MAYBE,
        };
        let checks = prompt.verify.iter().map(|check| self.call(key, &check.run.value));
        let agent = Forecast { agent_steps: ForecastRange::ONE, approvals, ..Forecast::NONE };
        checks.fold(agent, Forecast::plus)
    }

    /// The cost of a loop's passes, without the steps that are already done.
    fn looped(&self, around: &StepKey, looped: &Loop, outer: ForecastRange) -> Forecast {
        let spec = &looped.spec;
        let most = spec.max_iterations.get().into();
        let passes = match &spec.count {
            Some(Count::Times(times)) => {
                let times = u64::try_from(*times).unwrap_or_default().min(most);
                ForecastRange { least: times, most: Some(times) }
            }
            Some(Count::Variable(_)) | None => ForecastRange { least: 0, most: Some(most) },
        };
        let passes = outer.times(passes);
        let inner = looped.body.iter().map(|step| {
            let passes = if step.when.is_some() { passes.if_at_all() } else { passes };
            if let Action::Loop(inner) = &step.action {
                return self.looped(around, inner, passes);
            }
            let begun = self.state.below(around).filter(|(key, stands)| {
                let own = key.step() == step.id.value.as_str() && !key.is_check();
                own && stands.began_ms.is_some()
            });
            let (done, open): (Vec<_>, Vec<_>) =
                begun.partition(|(_, stands)| stands.phase.is_closed());
            let left = passes.less((done.len() + open.len()) as u64);
            let open = open.iter().map(|(key, _)| self.execution(key, step));
            open.fold(self.fresh(around, step).times(left), Forecast::plus)
        });
        inner.fold(Forecast::NONE, Forecast::plus)
    }

    /// Whether an approval that was given will be requested again: no, maybe, or yes.
    fn voids(&self, index: usize) -> ForecastRange {
        if !is_given(self.flow, self.state, index) {
            return ForecastRange::NONE;
        }
        let nodes = self.flow.nodes();
        let effects = |below: &usize| {
            let step = self.flow.of_key(&nodes[*below].key);
            step.is_some_and(|step| matches!(step.action, Action::Run(_) | Action::Prompt(_)))
        };
        let below: Vec<usize> = self.flow.below(index).into_iter().filter(effects).collect();
        let sure = below.iter().any(|below| self.fates[*below] == StepFate::Runs);
        let may = below.iter().any(|below| matches!(self.fates[*below], StepFate::MayRun(_)));
        match self.differs(index) {
            _ if !sure && !may => ForecastRange::NONE,
            Some(false) => ForecastRange::NONE,
            Some(true) if sure => ForecastRange::ONE,
            Some(true) | None => ForecastRange::MAYBE,
        }
    }

    /// Whether what was approved differs from what would be sent; `None` if that is not known yet.
    fn differs(&self, index: usize) -> Option<bool> {
        let key = &self.flow.nodes()[index].key;
        let step = self.flow.of_key(key)?;
        let before = self.state.step(key)?.request.as_deref()?;
        let look = RunEvaluator::of(self.flow, self.state);
        let names = RunScope::of(self.state);
        let NextCommand::Ask(now) = look.act(&Execution { key, step, names }) else { return None };
        let mut known = self.knows_all(step);
        let run = RunId::parse(&self.state.head.run).ok();
        let context = run.map(|run| RunContext::new(run, self.flow, self.state));
        let message = secret_placeholder::mask_text(&self.state.head.nonce, &now.message);
        if known && message != before.message {
            return Some(true);
        }
        for shown in before.shown.iter().filter(|shown| !self.state.has_begun(&shown.key)) {
            let settled = self.knows_all(self.flow.of_key(&shown.key)?);
            let deed = now.deeds.iter().find(|deed| *deed.key() == shown.key);
            let now =
                deed.and_then(|deed| deed.shown(&self.state.head, self.world, context.as_ref()));
            if settled && now.is_none_or(|now| !shown.still(&now)) {
                return Some(true);
            }
            known &= settled;
        }
        let unseen = |key: &StepKey| !before.names(key) && !self.state.has_begun(key);
        for key in look.senders_below(key).into_iter().filter(unseen) {
            let step = self.flow.of_key(&key)?;
            // The items of a list may not be known yet.
            if step.for_each.is_none() || self.knows_all(step) {
                return Some(true);
            }
            known = false;
        }
        known.then_some(false)
    }

    /// The cost of the executions that are kept.
    fn saved(&self) -> SavedCost {
        let mut saved = SavedCost::default();
        let kept = self.state.steps.iter().filter(|(_, step)| step.phase == Phase::Succeeded);
        for (key, stands) in kept {
            let Some(step) = self.flow.of_key(key) else { continue };
            let listed = step.for_each.is_some() && stands.items.is_some();
            match &step.action {
                Action::Run(run) if !listed && matches!(run.target.value, Target::Command(_)) => {
                    let passes = u64::from(stands.passes) + 1;
                    let paid = if stands.answer.is_some() { passes } else { 0 };
                    saved.calls += paid;
                    saved.writes += if stands.wrote.is_some() { paid } else { 0 };
                }
                Action::Prompt(_) if key.is_check() => {
                    saved.calls += 1;
                    saved.writes += u64::from(stands.wrote.is_some());
                }
                Action::Prompt(_) => saved.agent_steps += u64::from(stands.submission.is_some()),
                _ => {}
            }
        }
        saved
    }
}

/// The remaining cost after a request that has already been sent.
fn polled_on(step: &Step, fresh: Forecast) -> Forecast {
    match &step.action {
        Action::Run(run) if run.repeat.is_some() => fresh.if_at_all(),
        _ => Forecast::NONE,
    }
}

/// The number of polling passes.
fn passes(repeat: &Repeat) -> ForecastRange {
    let every = repeat.every.as_ref().map_or(limits::POLL_MS, millis).max(1);
    let attempts = repeat.max_attempts.map(|most| u64::from(most.get()));
    let timed = polls_until(repeat, 0).map(|total| total / every + 1);
    ForecastRange { least: 1, most: attempts.into_iter().chain(timed).min() }
}

/// Whether the values that a step reads will exist.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Readability {
    Clear,
    /// They may not exist.
    Doubtful(String),
    /// They will not exist.
    Broken(String),
}

/// Whether an earlier step ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    No,
    Maybe,
    Yes,
}

/// How a step that others are waiting for will end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Succeeded,
    Failed,
    Skipped,
    /// Succeeded or skipped.
    Open,
    /// It does not end.
    Left,
}

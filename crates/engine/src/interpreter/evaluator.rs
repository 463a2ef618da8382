//! Decides what to do next: a pure function of the workflow and the state of its run.
//!
//! Nothing here keeps state. Every earlier decision is in the run's state, so a run that was
//! interrupted anywhere continues from there.

use std::cell::OnceCell;

use milepost_model::condition::Truth;
use milepost_model::expr::{Reference, SegmentKind};
use milepost_model::guide::Confirmation;
use milepost_model::step::{Action, Needs, OnError, Prompt, Step, When};
use milepost_model::walk::{self, BlockedStep, GuideWalk, WalkError, WalkPosition};
use serde_json::{Map, Value, json};

use crate::event::{ActorKind, Event};
use crate::interpreter::command::NextCommand;
use crate::interpreter::condition_trace;
use crate::interpreter::frontier::Frontier;
use crate::interpreter::run_variables::{self, SaidVariables};
use crate::interpreter::scope::RunScope;
use crate::interpreter::step_action;
use crate::state::{Phase, State, StepState};
use crate::{Cause, Failure, Flow, FlowNode, StepKey, view};

/// The next thing to do; `None` if the run has ended or is waiting.
pub fn next(flow: &Flow, state: &State) -> Option<NextCommand> {
    RunEvaluator::of(flow, state).next()
}

/// Determines what a run does next.
pub(crate) struct RunEvaluator<'s> {
    pub(crate) flow: &'s Flow,
    pub(crate) state: &'s State,
    /// Whether new work may be started.
    begins: bool,
    /// The caller's up-to-date frontier, if it has one.
    kept: Option<&'s Frontier>,
    /// The frontier derived from the state, for callers that have none.
    made: OnceCell<Frontier>,
}

/// An execution with the names that its expressions can use.
pub(crate) struct Execution<'l, 's> {
    pub(crate) key: &'l StepKey,
    pub(crate) step: &'l Step,
    pub(crate) names: RunScope<'s>,
}

impl<'s> RunEvaluator<'s> {
    pub(crate) fn of(flow: &'s Flow, state: &'s State) -> RunEvaluator<'s> {
        let begins = !state.paused && state.parked.is_none() && state.asks_itself().is_none();
        RunEvaluator { flow, state, begins, kept: None, made: OnceCell::new() }
    }

    /// Reuses the caller's frontier instead of deriving it from the state.
    pub(crate) fn with(
        flow: &'s Flow,
        state: &'s State,
        frontier: &'s Frontier,
    ) -> RunEvaluator<'s> {
        RunEvaluator { kept: Some(frontier), ..RunEvaluator::of(flow, state) }
    }

    /// The next thing to do; `None` if the run has ended or is waiting.
    pub(crate) fn next(&self) -> Option<NextCommand> {
        if self.state.end.is_some() {
            return None;
        }
        self.answered_itself().or_else(|| self.main()).or_else(|| {
            let ready = self.is_main_over() && self.begins;
            ready.then(|| self.finally().or_else(|| self.finish())).flatten()
        })
    }

    /// What follows from the answer to a question that the run itself asked.
    fn answered_itself(&self) -> Option<NextCommand> {
        let (key, step) = self.state.asks_itself()?;
        let Phase::Decided(yes) = step.phase else { return None };
        Some(if yes {
            step_action::succeeded(key, None)
        } else {
            let comment = step.verdict.as_ref().and_then(|verdict| verdict.comment.clone());
            step_action::failed(key, Cause::Disagreed { key: key.clone(), comment }.into())
        })
    }

    fn frontier(&self) -> &Frontier {
        self.kept.unwrap_or_else(|| self.made.get_or_init(|| Frontier::of(self.flow, self.state)))
    }

    /// Whether an execution may start new work. It may not if a step it waits for is open again
    /// because an approval is no longer valid.
    pub(crate) fn is_free(&self, key: &StepKey) -> bool {
        let number = self.flow.index(key.top());
        let ready = |number| self.flow.is_walked() || self.frontier().is_ready(number);
        self.begins && number.is_none_or(ready)
    }

    /// The names that an execution's expressions can use, except those of enclosing loops.
    pub(crate) fn names(&self, key: &StepKey) -> RunScope<'s> {
        let names = RunScope::of(self.state).for_step(self.flow, key);
        if !self.flow.is_finally(key) {
            return names;
        }
        // `finally` steps may read the status of steps that never ran.
        let mut steps = self.state.names().get("steps").cloned().unwrap_or_else(|| json!({}));
        for node in self.flow.nodes().iter().filter(|node| !node.finally) {
            if steps.get(node.key.as_str()).is_none() {
                steps[node.key.as_str()] = json!({"status": "pending", "attempts": 0});
            }
        }
        names.with("steps", steps)
    }

    /// The names for an execution in progress, including those of its item or its enclosing loops.
    pub(crate) fn locals(&self, key: &StepKey, step: &Step) -> RunScope<'s> {
        let names = self.names(key);
        if let Some((index, item)) = view::item(self.state, key) {
            let name = step.for_each.as_ref().and_then(|each| each.name.as_ref());
            return names.item(name.map(|name| name.value.as_str()), index, item);
        }
        let Some(top) = self.flow.step(key.top()).filter(|top| is_loop(top)) else { return names };
        let completed = self.completed(Some(&StepKey::of_walk(key.top())));
        let said = SaidVariables::of(self.flow, self.state);
        let variables = said.with_outputs();
        match walk::within(self.flow.workflow(), top, &completed, &variables) {
            Ok(GuideWalk { position: WalkPosition::Due(due), .. }) if due.key == key.as_str() => {
                names.passes(&due.loops)
            }
            _ => names,
        }
    }

    fn main(&self) -> Option<NextCommand> {
        if self.state.canceling.is_some() {
            return self.abandon();
        }
        if self.flow.is_walked() {
            return self.walk();
        }
        let nodes = self.flow.nodes();
        let failed = self.failed().is_some();
        if failed && let Some(command) = self.withdraw() {
            return Some(command);
        }
        let open = self.open_nodes(false);
        if let Some(command) = open.iter().find_map(|number| self.advance_node(&nodes[*number])) {
            return Some(command);
        }
        // A rejection that sends the run back has to wait for everything in flight.
        let rejected = |node: &FlowNode| *self.state.phase(&node.key) == Phase::Decided(false);
        let back = open.iter().any(|number| rejected(&nodes[*number]));
        if failed || !self.begins || back {
            return None;
        }
        let concurrency = self.flow.workflow().concurrency as usize;
        // A step that is again waiting for an earlier one does not count toward the limit.
        let open = open.iter().filter(|number| self.frontier().is_ready(**number)).count();
        if open >= concurrency {
            return None;
        }
        let mut ready = self.frontier().ready().map(|number| &nodes[number]);
        ready.find_map(|node| (!node.finally).then(|| self.begin_node(node)).flatten())
    }

    /// Top-level main or `finally` steps that have started but not ended, in order.
    fn open_nodes(&self, finally: bool) -> Vec<usize> {
        let open = self.state.open().filter_map(|(key, _)| self.flow.index(key.as_str()));
        let open = open.filter(|number| self.flow.nodes()[*number].finally == finally);
        let mut open: Vec<usize> = open.collect();
        open.sort_unstable();
        open
    }

    /// The steps in the same part of the workflow that a step waits for. `finally` steps read any
    /// results that the main steps produced.
    fn waits<'n>(&'n self, node: &'n FlowNode) -> impl Iterator<Item = &'n FlowNode> {
        let waits = node.waits.iter().map(|wait| &self.flow.nodes()[*wait]);
        waits.filter(|wait| wait.finally == node.finally)
    }

    fn is_open(&self, key: &StepKey) -> bool {
        self.state.step(key).is_some_and(StepState::is_open)
    }

    fn is_main_over(&self) -> bool {
        let none_open = || !self.state.open().any(|(key, _)| !self.flow.is_finally(key));
        if self.state.canceling.is_some() || self.failed().is_some() {
            return none_open();
        }
        if self.flow.is_walked() {
            return none_open() && matches!(self.position(), Ok(WalkStage::Complete));
        }
        if let Some(only) = &self.state.only {
            return self.state.phase(only).is_closed() && none_open();
        }
        self.frontier().is_main_settled()
    }

    /// The first failed step that makes the run fail.
    pub(crate) fn failed(&self) -> Option<(StepKey, Failure)> {
        let failed = self.state.failed().filter(|(key, _)| {
            let own = self.flow.is_walked() || key.as_str() == key.top();
            let counts = self.flow.of_key(key).is_some_and(|def| def.on_error == OnError::Fail);
            own && counts && !key.is_check() || key.is_reserved()
        });
        let first = failed.min_by_key(|(_, step)| step.ended_ms);
        first.map(|(key, step)| (key.clone(), failure_of(step)))
    }

    /// Cancels the open steps of a canceled run, except those with something in flight.
    fn abandon(&self) -> Option<NextCommand> {
        let mut open = self.state.open().filter(|(key, _)| !self.flow.is_finally(key));
        let (key, state) = open.find(|(key, _)| !self.state.is_busy(key))?;
        // An answered request took effect, so the step must not look as if it could be repeated.
        if state.phase == Phase::Answered
            && let Some(step) = self.flow.of_key(key)
            && matches!(&step.action, Action::Run(run) if run.repeat.is_none())
        {
            let names = self.locals(key, step);
            return self.advance(&Execution { key, step, names }, state);
        }
        Some(NextCommand::record(Event::StepCanceled { key: key.clone() }))
    }

    /// Cancels the prompts and questions in a run that has failed. Requests in flight still finish,
    /// and a request with an unknown outcome still needs a person's decision.
    fn withdraw(&self) -> Option<NextCommand> {
        let open = || self.state.open().filter(|(key, _)| !self.flow.is_finally(key));
        let asks = |phase: &Phase| {
            matches!(phase, Phase::Offered(_) | Phase::Rejected | Phase::Asking | Phase::Voided)
        };
        // What the run itself asks may be needed for the steps at the end.
        let ends = self.flow.nodes().iter().any(|node| node.finally);
        let asking = open().find(|(key, step)| asks(&step.phase) && !(ends && key.is_reserved()));
        let hollow = || {
            open().find(|(key, step)| {
                let below = || self.state.within(key);
                step.phase == Phase::Listed
                    && below().any(|(_, inner)| inner.phase == Phase::Canceled)
                    && !below().any(|(own, inner)| own != *key && inner.is_open())
            })
        };
        let (key, _) = asking.or_else(hollow)?;
        Some(NextCommand::record(Event::StepCanceled { key: key.clone() }))
    }

    fn advance_node(&self, node: &FlowNode) -> Option<NextCommand> {
        let state = self.state.step(&node.key).filter(|state| state.is_open())?;
        let step = self.flow.of_key(&node.key)?;
        let one = Execution { key: &node.key, step, names: self.names(&node.key) };
        self.advance(&one, state)
    }

    /// Starts a top-level step that is ready.
    fn begin_node(&self, node: &FlowNode) -> Option<NextCommand> {
        if self.state.only.as_ref().is_some_and(|only| *only != node.key) {
            return None;
        }
        let step = self.flow.of_key(&node.key)?;
        let waits: Vec<&FlowNode> = self.waits(node).collect();
        if let Some(reason) = self.left_out(step, &waits) {
            let (key, values) = (node.key.clone(), Map::new());
            return Some(NextCommand::record(Event::StepSkipped { key, reason, values }));
        }
        if self.undecided(node).is_some() {
            return None;
        }
        Some(self.begin(&Execution { key: &node.key, step, names: self.names(&node.key) }))
    }

    /// The steps of a manifest that could start if their conditions were decided, with the
    /// variables that they wait for.
    pub(crate) fn undecided_nodes(&self) -> Vec<BlockedStep> {
        if self.flow.is_walked() || self.state.only.is_some() || !self.begins {
            return Vec::new();
        }
        let ready = self.frontier().ready().map(|number| &self.flow.nodes()[number]);
        let open = ready.filter(|node| !node.finally || self.is_main_over());
        open.filter_map(|node| {
            let step = self.flow.of_key(&node.key)?;
            let waits: Vec<&FlowNode> = self.waits(node).collect();
            self.left_out(step, &waits).is_none().then(|| self.undecided(node)).flatten()
        })
        .collect()
    }

    /// The variable that a step's condition object waits for. An input that was not given, and a
    /// result that does not exist, are not supplied later: they count as missing.
    fn undecided(&self, node: &FlowNode) -> Option<BlockedStep> {
        let step = self.flow.of_key(&node.key)?;
        let Some(When::Condition(condition)) = step.when.as_ref() else { return None };
        if self.flow.is_walked() || self.is_open(&node.key) {
            return None;
        }
        let variables = view::outer_variables(self.flow, self.state);
        if condition.holds(&variables) {
            return None;
        }
        let Truth::Undecided(missing) = condition.decide(&variables) else { return None };
        let inputs = &self.flow.workflow().inputs;
        let is_input = |name: &str| inputs.0.iter().any(|(input, _)| input.value == name);
        let wanted = missing
            .into_iter()
            .find(|one| !is_result(&one.variable) && !is_input(walk::root(&one.variable)))?;
        Some(BlockedStep { step: step.name().to_owned(), wanted })
    }

    /// Why a step is skipped without evaluating its condition.
    fn left_out(&self, step: &Step, waits: &[&FlowNode]) -> Option<String> {
        let is = |node: &FlowNode, phase: Phase| *self.state.phase(&node.key) == phase;
        match step.needs {
            Needs::Any if waits.is_empty() => None,
            Needs::Any if waits.iter().any(|node| is(node, Phase::Succeeded)) => None,
            Needs::Any => Some("none of the steps it needs succeeded".to_owned()),
            Needs::All => {
                let mut skipped = waits.iter().filter(|node| is(node, Phase::Skipped));
                let first = skipped.find(|node| !asks_status(step, node.key.as_str()))?;
                Some(format!("`{}` was skipped", first.key))
            }
        }
    }

    /// Runs the steps of a guide one after the other, in the order of the walk.
    fn walk(&self) -> Option<NextCommand> {
        if self.failed().is_some() {
            return None;
        }
        match self.position() {
            Ok(WalkStage::Due(command)) => command.map(|command| *command),
            Ok(WalkStage::Complete | WalkStage::Blocked) => None,
            Err(error) => self.unwalkable(&error),
        }
    }

    fn position(&self) -> Result<WalkStage, WalkError> {
        let completed = self.completed(None);
        let said = SaidVariables::of(self.flow, self.state);
        let variables = said.with_outputs();
        let found = walk::next_in_run(self.flow.workflow(), &completed, &variables)?;
        Ok(self.place(found.position))
    }

    fn place(&self, position: WalkPosition<'_, '_>) -> WalkStage {
        match position {
            WalkPosition::Complete { .. } => WalkStage::Complete,
            WalkPosition::Blocked(_) => WalkStage::Blocked,
            WalkPosition::Due(due) => {
                let key = StepKey::of_walk(&due.key);
                let names = self.names(&key).passes(&due.loops);
                let one = Execution { key: &key, step: due.step, names };
                let begun = self.state.step(&key).filter(|state| state.is_open());
                let command = match begun {
                    Some(state) => self.advance(&one, state),
                    None if self.is_free(&key) => Some(self.begin(&one)),
                    None => None,
                };
                WalkStage::Due(command.map(Box::new))
            }
        }
    }

    fn unwalkable(&self, error: &WalkError) -> Option<NextCommand> {
        // A missing variable may still be supplied; any other error ends the run.
        if matches!(error, WalkError::Variable { .. }) {
            return None;
        }
        if let Some((key, _)) = self.state.open().next() {
            let free = !self.state.is_busy(key);
            return free.then(|| NextCommand::record(Event::StepCanceled { key: key.clone() }));
        }
        let id = self.flow.workflow().id.value.as_str();
        let (key, error) = (id.to_owned(), error.to_string());
        let failure = Cause::Unwalkable { key, error }.into();
        Some(NextCommand::record(Event::RunFailed { failure, key: None }))
    }

    /// The keys of the walk's executions that have ended: all of them, or those inside one loop.
    pub(crate) fn completed(&self, below: Option<&StepKey>) -> Vec<String> {
        let done = |(key, step): (&StepKey, &StepState)| {
            let counts = step.phase.is_closed() && !key.is_item() && !key.is_reserved();
            counts.then(|| key.as_str().to_owned())
        };
        match below {
            Some(below) => self.state.below(below).filter_map(done).collect(),
            None => self.state.steps.iter().filter_map(done).collect(),
        }
    }

    /// The next command for a loop: its next step, or its end.
    pub(crate) fn looped(&self, key: &StepKey, step: &Step) -> Option<NextCommand> {
        let broken = self.state.failed().find(|(other, _)| {
            let own = *other != key && other.is_within(key);
            // A failed item is handled by its list, and a failed check by its step.
            own && !other.is_item()
                && self.flow.of_key(other).is_some_and(|def| def.on_error == OnError::Fail)
        });
        if let Some((_, inner)) = broken {
            return Some(step_action::failed(key, failure_of(inner)));
        }
        let completed = self.completed(Some(key));
        let said = SaidVariables::of(self.flow, self.state);
        let variables = said.with_outputs();
        match walk::within(self.flow.workflow(), step, &completed, &variables) {
            Ok(found) => match self.place(found.position) {
                WalkStage::Due(command) => command.map(|command| *command),
                WalkStage::Blocked => None,
                WalkStage::Complete => Some(step_action::succeeded(key, Some(self.passes_of(key)))),
            },
            // A variable that is not a result may still be supplied.
            Err(WalkError::Variable { variable, .. }) if !is_result(&variable) => None,
            Err(error) => {
                let (id, error) = (key.as_str().to_owned(), error.to_string());
                Some(step_action::failed(key, Cause::Unwalkable { key: id, error }.into()))
            }
        }
    }

    /// The output of a loop: for each pass, the outputs of its steps by name.
    fn passes_of(&self, key: &StepKey) -> Value {
        let mut passes: Vec<Map<String, Value>> = Vec::new();
        for (other, step) in self.state.below(key).filter(|(_, step)| step.phase.is_closed()) {
            let rest = other.as_str().strip_prefix(key.as_str()).and_then(|r| r.strip_prefix('@'));
            let Some((number, name)) = rest.and_then(|rest| rest.split_once("::")) else {
                continue;
            };
            let (Ok(number), false) = (number.parse::<usize>(), name.contains('@')) else {
                continue;
            };
            if passes.len() <= number {
                passes.resize_with(number + 1, Map::new);
            }
            let output = step.output.clone().unwrap_or_default();
            passes[number].insert(name.to_owned(), output);
        }
        passes.into_iter().map(Value::Object).collect()
    }

    fn finally(&self) -> Option<NextCommand> {
        let nodes = self.flow.nodes();
        let open = self.open_nodes(true);
        if !open.is_empty() {
            return open.iter().find_map(|number| self.advance_node(&nodes[*number]));
        }
        let mut ready = self.frontier().ready().map(|number| &nodes[number]);
        ready.find_map(|node| node.finally.then(|| self.begin_node(node)).flatten())
    }

    fn finish(&self) -> Option<NextCommand> {
        if self.state.open().next().is_some() {
            return None;
        }
        Some(NextCommand::record(self.end()))
    }

    fn end(&self) -> Event {
        let failed = |key: Option<StepKey>, failure: Failure| Event::RunFailed { failure, key };
        if let Some(by) = &self.state.canceling {
            let late = by.kind == ActorKind::Engine && by.name == crate::DEADLINE;
            return if late { failed(None, Cause::TooLate.into()) } else { Event::RunCanceled };
        }
        if let Some((key, failure)) = self.failed() {
            return failed(Some(key), failure);
        }
        let mut nodes = self.flow.nodes().iter();
        if let Some(only) = &self.state.only
            && !self.flow.is_walked()
            && !nodes.all(|node| self.state.phase(&node.key).is_closed())
        {
            return failed(None, Cause::Incomplete { key: only.clone() }.into());
        }
        let Some(authored) = &self.flow.workflow().final_output else {
            return Event::RunSucceeded { output: None };
        };
        match RunScope::of(self.state).value("final_output", authored) {
            Ok(output) => Event::RunSucceeded { output },
            Err(failure) => failed(None, failure),
        }
    }

    /// Starts an execution, if its condition holds.
    pub(crate) fn begin(&self, one: &Execution<'_, 's>) -> NextCommand {
        let when = one.step.when.as_ref().filter(|_| !self.is_open(one.key));
        let key = one.key.clone();
        match when.map(|when| self.against(when, one)).transpose() {
            Ok(Some(Some(values))) => {
                let reason = "its condition does not hold".to_owned();
                NextCommand::record(Event::StepSkipped { key, reason, values })
            }
            Err(failure) => NextCommand::record(Event::StepFailed { key, failure }),
            Ok(Some(None) | None) => self.act(one),
        }
    }

    /// If a condition does not hold, the values it read.
    fn against(
        &self,
        when: &When,
        one: &Execution<'_, '_>,
    ) -> Result<Option<Map<String, Value>>, Failure> {
        match when {
            When::Expr(bare) => {
                let source = bare.expr.source().trim().to_owned();
                let held = one.names.holds("if", bare)?;
                Ok((!held).then(|| condition_trace::values(bare, &one.names, source)))
            }
            When::Condition(condition) => {
                // The walk has already evaluated the conditions of a guide and of a loop's body.
                if self.flow.is_walked() || one.key.as_str() != one.key.top() {
                    return Ok(None);
                }
                let context = view::outer_variables(self.flow, self.state);
                if condition.holds(&context) {
                    return Ok(None);
                }
                let read = condition.variables().into_iter().filter_map(|name| {
                    let value = milepost_model::condition::Variables::get(&context, name)?;
                    Some((name.to_owned(), value.clone()))
                });
                Ok(Some(read.collect()))
            }
        }
    }

    /// Whether a person has to confirm the agent's submission. If that cannot be decided, they have
    /// to: leaving out a variable must not leave out the question.
    pub(crate) fn is_confirmed(&self, key: &StepKey, prompt: &Prompt, output: &Value) -> bool {
        let condition = match &prompt.confirmation {
            Confirmation::Never => return false,
            Confirmation::Always => return true,
            Confirmation::When(condition) => condition,
        };
        let mut variables = view::variables(self.flow, self.state, key);
        if let (Value::Object(all), Some(own)) = (&mut variables, output.as_object()) {
            let own = run_variables::variables_in(self.flow, key, own.clone());
            run_variables::overlay(all, &own);
        }
        condition.holds(&variables) || matches!(condition.decide(&variables), Truth::Undecided(_))
    }
}

/// Whether a variable is a result of the run, which nobody can supply.
fn is_result(variable: &str) -> bool {
    matches!(walk::root(variable), "steps" | "inputs")
}

enum WalkStage {
    Due(Option<Box<NextCommand>>),
    Blocked,
    Complete,
}

/// Whether a step's condition reads the status of another step.
pub(crate) fn asks_status(step: &Step, other: &str) -> bool {
    let Some(When::Expr(bare)) = &step.when else { return false };
    bare.expr.references().iter().any(|reference| {
        let fields = (field(reference, 0), field(reference, 1));
        reference.root == "steps" && fields == (Some(other), Some("status"))
    })
}

/// A name in the path of a reference.
pub(crate) fn field(reference: &Reference, at: usize) -> Option<&str> {
    match &reference.path.get(at)?.kind {
        SegmentKind::Field(name) => Some(name.as_str()),
        SegmentKind::Index(_) | SegmentKind::Dynamic => None,
    }
}

/// Whether a step is a loop.
pub(crate) fn is_loop(step: &Step) -> bool {
    matches!(step.action, Action::Loop(_))
}

/// Why a step failed. A step that was canceled has no failure of its own.
fn failure_of(step: &StepState) -> Failure {
    step.failure.clone().unwrap_or_else(|| Cause::Canceled.into())
}

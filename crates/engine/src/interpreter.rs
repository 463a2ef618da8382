//! Makes a run driver's decisions without carrying out their effects: what to record, and what to
//! do once that is on disk.
//!
//! A driver reports what happened and carries out the decision in this order: entries are made
//! durable, then replies are sent and effects start. Nothing is done before it is recorded, so a
//! crash loses at most the knowledge of how an effect ended; the next driver declares that effect
//! lost.
//!
//! Length: every input to a run and its consequences are handled here, because their order matters.

pub(crate) mod budget;
pub mod command;
mod condition_trace;
pub(crate) mod evaluator;
pub(crate) mod flow;
mod frontier;
pub(crate) mod output_contract;
pub(crate) mod retry;
pub(crate) mod run_variables;
pub(crate) mod scope;
pub(crate) mod step_action;

use std::collections::BTreeMap;

use milepost_model::document::hex;
use milepost_model::id::RunId;
use milepost_model::problem::Code;
use milepost_model::step::Action;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::admission::Admission;
use crate::consent::{self, ConsentQuestion, Gate};
use crate::effect_bound::{CallEffect, EffectBound, WriteCounts};
use crate::event::{
    Actor, ActorKind, ApprovalChange, ApprovalDecision, ApprovalRequest, Attempt, BudgetKind,
    CallAnswer, CallExtras, Event, JournalEntry, Resumption, SentRequest, Settlement, ShownCall,
    Submission, SubmissionIssue,
};
use crate::interpreter::command::{
    ApprovalDraft, ChildStart, KeyedCall, NextCommand, PlannedCall, StepCall,
};
use crate::interpreter::evaluator::{Execution, RunEvaluator};
use crate::interpreter::frontier::Frontier;
use crate::interpreter::step_action::polls_until;
use crate::ports::RunContext;
use crate::resume::{self, ResumeAuthority};
use crate::signal::{Reply, Signal, resumed_text, settled_text};
use crate::state::{IllegalEvent, Phase, State, Status, StepState};
use crate::world::RunWorld;
use crate::{
    Cause, DEADLINE, Failure, FailureKind, Flow, StepKey, admission, engine_actor, limits,
    secret_placeholder,
};

/// What the interpreter needs to know about a run's world. The methods are pure from a run's point
/// of view.
pub trait WorldView {
    /// Builds a request as it would be sent; an error if it cannot be built.
    fn prepare(&self, call: &StepCall, mock: bool) -> Result<PreparedCall, Failure>;

    /// Whether a command changes something, regardless of its arguments; `None` if that is not
    /// known.
    fn writes(&self, command: &str, mock: bool) -> Option<bool> {
        let bare = StepCall {
            command: command.to_owned(),
            timeout_ms: limits::ATTEMPT_MS,
            ..StepCall::default()
        };
        self.prepare(&bare, mock).ok().map(|prepared| prepared.write)
    }

    /// How long a request may still take effect after it was recorded, even if the process that
    /// sends it has died.
    fn arrives_within_ms(&self, timeout_ms: u64) -> u64 {
        timeout_ms.saturating_add(limits::ARRIVAL_MARGIN_MS)
    }

    /// What one run of another workflow can change; `None` if that is not known before it starts.
    fn bound_of(&self, _workflow: &str) -> Option<EffectBound> {
        None
    }

    /// What would be added to a request when it is sent. Secrets and files are read for this.
    fn extras(&self, _context: &RunContext, _call: &StepCall) -> CallExtras {
        CallExtras::default()
    }

    /// Like [`WorldView::extras`], for a workflow and every workflow that it runs, together with
    /// the requests that they may send.
    fn child_extras(&self, _context: &RunContext, _workflow: &str) -> CallExtras {
        CallExtras::default()
    }

    /// A digest of the source of another workflow and of every workflow it runs; `None` if the
    /// workflow does not exist.
    fn text_of(&self, workflow: &str) -> Option<String>;

    /// Whether a person's signature is valid.
    fn is_signed(&self, person: &str, text: &str, signature: &str) -> bool;
}

/// A request as it would be sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PreparedCall {
    /// A digest of the whole request.
    pub digest: String,
    /// A short form of the request, such as `POST /refunds`.
    pub request: String,
    /// The request with its full URL, such as `POST https://api.example/refunds`.
    pub target: String,
    /// Whether the request changes something.
    pub write: bool,
    /// Whether the request may be sent again.
    pub repeatable: bool,
    /// The request itself, with placeholders in place of secrets; `None` if it does not go to an
    /// API.
    pub sent: Option<Box<SentRequest>>,
    /// What it changes or reads; `None` if it does not go to an API.
    pub effect: Option<CallEffect>,
}

/// Something that happened, as input to the interpreter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum InterpreterInput {
    /// Time passed.
    Tick,
    /// A request ended. `attempt` is the sequence number of the event that started it, so that the
    /// outcome of an earlier attempt is not mistaken for that of a later one.
    Called { key: StepKey, attempt: u64, outcome: AttemptOutcome },
    /// A message to the run; the reply carries its `id`.
    Signal { id: String, signal: Signal },
}

/// How a request ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum AttemptOutcome {
    /// It was answered, and the answer is not an error.
    Answered { answer: CallAnswer, duration_ms: u64 },
    /// It ended without a usable answer. `unsent` means that the request certainly had no effect;
    /// `retry_after_ms` is the delay that the server requested.
    Failed { failure: Failure, trouble: FailureKind, unsent: bool, retry_after_ms: Option<u64> },
}

impl AttemptOutcome {
    /// The outcome of a request that was not sent because its process was suspended for too long.
    pub fn lapsed() -> AttemptOutcome {
        let message = "the request was not sent: this process was suspended for too long";
        let failure =
            Failure::new(Code::UpstreamFailed, message, "it will be retried automatically");
        AttemptOutcome::failed(failure, FailureKind::Lapsed, true)
    }

    /// The outcome of a failed request for which the server requested no delay.
    pub fn failed(failure: Failure, trouble: FailureKind, unsent: bool) -> AttemptOutcome {
        AttemptOutcome::Failed { failure, trouble, unsent, retry_after_ms: None }
    }
}

/// Something to do once the decision is on disk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "snake_case")]
pub enum RunEffect {
    /// Send a request.
    Call {
        key: StepKey,
        /// The sequence number of the event that started the attempt, which its outcome must carry.
        attempt: u64,
        /// The attempt number within this execution, starting at 1.
        number: u32,
        call: StepCall,
        /// Lets a server recognize a repeated request.
        idempotency_key: String,
        /// The recorded digest of the request. No other request may be sent.
        digest: String,
        /// What a person approved to be added to the request, if they were asked.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        approved: Option<Box<CallExtras>>,
    },
    /// Give up on a request; its outcome must still be reported.
    Abort { key: StepKey, attempt: u64 },
    /// Start or continue a child run.
    StartChild {
        key: StepKey,
        run: String,
        workflow: String,
        inputs: Map<String, Value>,
        /// The budget that the child may use from now on.
        rest: BTreeMap<BudgetKind, u64>,
        /// How many writes of each kind it may make.
        #[serde(default, skip_serializing_if = "WriteCounts::is_empty")]
        writes: WriteCounts,
    },
    /// Cancel a child run.
    CancelChild { run: String },
    /// Pause or resume a child run; `seq` is the sequence number of the event that caused this.
    PauseChild { run: String, resume: bool, seq: u64 },
}

/// What the interpreter decided after an input.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// What to record.
    pub entries: Vec<JournalEntry>,
    /// The replies, each with the id of the message it answers.
    pub answers: Vec<(String, Reply)>,
    /// What to do once the entries are durable.
    pub effects: Vec<RunEffect>,
}

/// Decides what a run does next. It knows only the run's workflow and state; the frontier is a
/// cache.
#[derive(Debug, Clone)]
pub struct Interpreter {
    flow: Flow,
    state: State,
    frontier: Frontier,
    /// Whether to stop sending requests and starting work.
    held: bool,
}

impl Interpreter {
    /// Loads a run from its journal. This decides nothing yet: a new run starts with the first
    /// [`InterpreterInput::Tick`], and a run whose driver is gone continues with
    /// [`Interpreter::declare_lost`].
    pub fn load(flow: Flow, state: State) -> Interpreter {
        let frontier = Frontier::of(&flow, &state);
        Interpreter { flow, state, frontier, held: false }
    }

    /// Takes over a run whose driver is gone: nobody will report the outcomes of its requests in
    /// flight. Requests that may be repeated are sent again; for the others, a person decides the
    /// outcome.
    pub fn declare_lost(
        &mut self,
        now_ms: u64,
        world: &dyn WorldView,
    ) -> Result<Decision, IllegalEvent> {
        let mut turn = Turn::of(self, now_ms, world);
        turn.recover()?;
        turn.go_on()
    }

    /// Pins the world of a run that was started without one. Nothing is sent before this is
    /// recorded.
    pub fn pin_world(
        &mut self,
        pinned: RunWorld,
        now_ms: u64,
        world: &dyn WorldView,
    ) -> Result<Decision, IllegalEvent> {
        let mut turn = Turn::of(self, now_ms, world);
        turn.record(Event::WorldPinned { world: Box::new(pinned) })?;
        Ok(turn.decision)
    }

    pub fn state(&self) -> &State {
        &self.state
    }

    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// The workflow and the state, for readers of the run once it is no longer driven.
    pub fn into_parts(self) -> (Flow, State) {
        (self.flow, self.state)
    }

    /// Replaces the workflow, for a resumption that changes its source.
    pub fn set_flow(&mut self, flow: Flow) {
        self.flow = flow;
        self.frontier = Frontier::of(&self.flow, &self.state);
    }

    /// Stops sending requests and starting work, for a driver that is shutting down. Inputs are
    /// still handled, and the next driver of the run continues from there.
    pub fn hold(&mut self) {
        self.held = true;
    }

    /// Whether [`Interpreter::hold`] was called.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// Handles an input.
    pub fn handle(
        &mut self,
        input: InterpreterInput,
        now_ms: u64,
        world: &dyn WorldView,
    ) -> Result<Decision, IllegalEvent> {
        let mut turn = Turn::of(self, now_ms, world);
        match input {
            InterpreterInput::Tick => {}
            InterpreterInput::Called { key, attempt, outcome } => {
                turn.called(&key, attempt, outcome)?;
            }
            InterpreterInput::Signal { id, signal } => turn.signal(id, signal)?,
        }
        turn.go_on()
    }

    /// Whether a message was accepted and its reply is still pending.
    pub fn is_waited_for(&self, id: &str) -> bool {
        self.state.open().any(|(_, step)| step.awaiting.iter().any(|awaiting| awaiting == id))
    }

    /// What the run's children should do now: start, continue or end. This follows from the state
    /// alone, so every driver of the run derives it again, and repeating an effect does no harm.
    pub fn children(&self) -> Vec<RunEffect> {
        let mut effects = Vec::new();
        for (key, step, run) in self.state.children() {
            let Some(ChildStart { workflow, inputs, .. }) = self.starting(key) else {
                // The current source no longer starts this child, but its end is still awaited.
                continue;
            };
            let child = step.child.as_ref();
            let rest = child.map(|child| child.rest.clone()).unwrap_or_default();
            let writes = child.map(|child| child.handed.clone()).unwrap_or_default();
            let (key, run) = (key.clone(), run.to_owned());
            let canceled = self.state.canceling.is_some() && !self.flow.is_finally(&key);
            let start =
                RunEffect::StartChild { key, run: run.clone(), workflow, inputs, rest, writes };
            effects.push(start);
            effects.extend(canceled.then_some(RunEffect::CancelChild { run }));
        }
        effects
    }

    /// An execution's child run, as it was started.
    fn starting(&self, key: &StepKey) -> Option<ChildStart> {
        let step = self.flow.of_key(key)?;
        let look = RunEvaluator::of(&self.flow, &self.state);
        let names = look.locals(key, step);
        match look.act(&Execution { key, step, names }) {
            NextCommand::Child(starting) => Some(*starting),
            _ => None,
        }
    }

    /// When the run next continues on its own.
    pub fn wakes_at(&self) -> Option<u64> {
        let state = &self.state;
        if state.end.is_some() {
            return None;
        }
        let timers = state.open().filter_map(|(_, step)| step.phase.wakes_at());
        let asked = state.open().filter(|(_, step)| step.phase == Phase::Asking);
        let lapses = asked.filter_map(|(_, step)| step.request.as_ref()?.expires_at_ms);
        let deadline = state.deadline_ms().filter(|_| state.canceling.is_none());
        timers.chain(lapses).chain(deadline).min()
    }

    pub fn status(&self) -> Status {
        crate::view::status(&self.flow, &self.state)
    }

    /// Whether the run is only waiting for a timer, with no request in flight and no child running.
    pub fn is_asleep(&self) -> bool {
        let any = |is: fn(&Phase) -> bool| self.state.open().any(|(_, step)| is(&step.phase));
        !self.held
            && self.status() == Status::Running
            && !any(Phase::is_busy)
            && any(|phase| phase.wakes_at().is_some())
    }
}

/// One turn: an input and everything that follows from it.
struct Turn<'t> {
    interpreter: &'t mut Interpreter,
    world: &'t dyn WorldView,
    decision: Decision,
    /// Messages that are waiting for the verdict on a submission and have not been answered yet.
    awaited: Vec<(StepKey, String)>,
    now_ms: u64,
}

impl<'t> Turn<'t> {
    fn of(interpreter: &'t mut Interpreter, now_ms: u64, world: &'t dyn WorldView) -> Turn<'t> {
        let open = interpreter.state.open().filter(|(_, step)| !step.awaiting.is_empty());
        let awaited = open.flat_map(|(key, step)| {
            step.awaiting.iter().map(|message| (key.clone(), message.clone()))
        });
        let awaited = awaited.collect();
        Turn { interpreter, world, decision: Decision::default(), awaited, now_ms }
    }
}

impl Turn<'_> {
    /// Does everything that is due, and everything that follows from it.
    fn go_on(mut self) -> Result<Decision, IllegalEvent> {
        self.tick()?;
        self.settle()?;
        Ok(self.decision)
    }

    fn state(&self) -> &State {
        &self.interpreter.state
    }

    fn look(&self) -> RunEvaluator<'_> {
        RunEvaluator::of(&self.interpreter.flow, &self.interpreter.state)
    }

    /// The run's time. A machine's clock may be set back; the run's time never goes backwards.
    fn now(&self) -> u64 {
        self.now_ms.max(self.state().now_ms)
    }

    fn record(&mut self, event: Event) -> Result<(), IllegalEvent> {
        let at_ms = self.now();
        let Interpreter { flow, state, frontier, .. } = &mut *self.interpreter;
        let entry = JournalEntry { seq: state.seq + 1, at_ms, event };
        state.apply(&entry)?;
        frontier.follow(flow, state, &entry.event);
        debug_assert!(
            flow.nodes().len() > limits::COMPARED || *frontier == Frontier::of(flow, state),
            "the frontier must match one computed from the state: {entry:?}",
        );
        self.decision.entries.push(entry);
        Ok(())
    }

    /// Settles the requests that were in flight when the previous driver died.
    fn recover(&mut self) -> Result<(), IllegalEvent> {
        let now = self.now();
        lost(self.state(), now).into_iter().try_for_each(|event| self.record(event))?;
        let children = self.interpreter.children();
        self.decision.effects.extend(children);
        if self.state().paused {
            self.tell_children(false);
        }
        Ok(())
    }

    /// Handles the deadline, the timers and the questions whose time has come.
    fn tick(&mut self) -> Result<(), IllegalEvent> {
        if self.state().end.is_some() {
            return Ok(());
        }
        let now = self.now();
        let time_is_up = self.state().deadline_ms().is_some_and(|deadline| now >= deadline);
        if time_is_up && self.state().canceling.is_none() {
            self.cancel(engine_actor(DEADLINE), None)?;
        }
        let is_due = |step: &StepState| step.phase.wakes_at().is_some_and(|at| at <= now);
        let due = self.state().open().filter(|(_, step)| is_due(step));
        let due: Vec<Event> = due.map(|(key, _)| Event::TimerFired { key: key.clone() }).collect();
        due.into_iter().try_for_each(|event| self.record(event))?;
        lapsed(self.state(), now).into_iter().try_for_each(|event| self.record(event))
    }

    fn next(&self) -> Option<NextCommand> {
        let Interpreter { flow, state, frontier, .. } = &*self.interpreter;
        RunEvaluator::with(flow, state, frontier).next()
    }

    /// Carries out one command after another until the run has to wait for something.
    fn settle(&mut self) -> Result<(), IllegalEvent> {
        while let Some(command) = self.next() {
            match command {
                // Like a request, a prompt must not rely on an approval that no longer applies.
                NextCommand::Record(event) if matches!(*event, Event::PromptOffered { .. }) => {
                    let Event::PromptOffered { key, attempt } = *event else { continue };
                    let tries = |budget| budget == BudgetKind::Attempts;
                    if let Some((budget, limit)) = budget::reached(self.state(), tries) {
                        self.record(Event::BudgetReached { budget, limit })?;
                    } else if !self.voided(&key)? {
                        self.record(Event::PromptOffered { key, attempt })?;
                    }
                }
                NextCommand::Record(event) => {
                    let judged = admission::verdict(&event);
                    self.record(*event)?;
                    if let Some((key, issues)) = judged {
                        self.tell(&key, issues);
                        self.warn()?;
                    }
                }
                NextCommand::Call(_) | NextCommand::Child(_) if self.interpreter.held => break,
                NextCommand::Call(calling) => self.call(*calling)?,
                NextCommand::Ask(asking) => self.ask(*asking)?,
                NextCommand::Child(starting) => self.child(*starting)?,
            }
        }
        self.dismiss();
        Ok(())
    }

    /// Answers the senders who are waiting for a verdict that will never be reached.
    fn dismiss(&mut self) {
        let state = &self.interpreter.state;
        let waits = |key: &StepKey, id: &String| {
            state.step(key).is_some_and(|step| step.awaiting.contains(id))
        };
        let ended = state.end.is_some() || state.canceling.is_some();
        for (key, id) in self.awaited.extract_if(.., |(key, id)| !waits(key, id)) {
            let cause = if ended { Cause::HasEnded } else { Cause::not_due(key.as_str(), None) };
            self.decision.answers.push((id, Reply::Refused { failure: cause.into() }));
        }
    }

    /// Answers the senders who are waiting for the verdict on a submission.
    fn tell(&mut self, key: &StepKey, issues: Vec<SubmissionIssue>) {
        let reply = admission::reply(&self.interpreter.flow, &self.interpreter.state, key, issues);
        for (_, id) in self.awaited.extract_if(.., |(of, _)| of == key) {
            self.decision.answers.push((id, reply.clone()));
        }
    }

    fn call(&mut self, calling: KeyedCall) -> Result<(), IllegalEvent> {
        let KeyedCall { key, call } = calling;
        if self.voided(&key)? {
            return Ok(());
        }
        let prepared = match self.world.prepare(&call, self.state().head.mock) {
            Ok(prepared) => prepared,
            Err(failure) => return self.record(Event::StepFailed { key, failure }),
        };
        let idempotency_key = {
            let state = self.state();
            idempotency_key(&state.head.run, &key, state.step(&key))
        };
        match consent::of_call(self.state(), &key, &prepared, &idempotency_key) {
            Gate::Open => {}
            Gate::Ask(question) => {
                return self.ask_itself(question, &PlannedCall::Call(KeyedCall { key, call }));
            }
            Gate::Refused(cause) => {
                return self.record(Event::StepFailed { key, failure: cause.into() });
            }
        }
        let counts = |budget| budget != BudgetKind::Writes || prepared.write;
        if let Some((budget, limit)) = budget::reached(self.state(), counts) {
            return self.record(Event::BudgetReached { budget, limit });
        }
        let repeatable = call.idempotent.unwrap_or(prepared.repeatable);
        let state = self.state();
        let step = state.step(&key);
        let attempt = step.map_or(0, |step| step.attempts) + 1;
        let (number, digest) = (attempt, prepared.digest.clone());
        let sent = prepared.sent.map(|sent| Box::new(sent.shown(&state.head.nonce)));
        let bounded = prepared.write && state.head.bound.is_some();
        let effect = prepared.effect.filter(|_| bounded).map(Box::new);
        self.record(Event::AttemptStarted(Attempt {
            key: key.clone(),
            attempt,
            idempotency_key: idempotency_key.clone(),
            request_digest: prepared.digest,
            request: prepared.request,
            write: prepared.write,
            repeatable,
            timeout_ms: Some(call.timeout_ms),
            sent,
            effect,
        }))?;
        let attempt = self.state().seq;
        self.warn()?;
        let approved = self.approved_extras(&key);
        let call =
            RunEffect::Call { key, attempt, number, call, idempotency_key, digest, approved };
        self.decision.effects.push(call);
        Ok(())
    }

    /// What a person approved to be added to a request. If several approvals cover it, all of them
    /// have just been compared with the same request.
    fn approved_extras(&self, key: &StepKey) -> Option<Box<CallExtras>> {
        let state = self.state();
        let approvals = state.approved().iter();
        let requests = approvals.filter_map(|approval| state.step(approval)?.request.as_deref());
        let mut shown = requests.flat_map(|request| &request.shown);
        shown.find(|shown| shown.key == *key)?.extras.clone()
    }

    /// Warns about budgets that are nearly used up.
    fn warn(&mut self) -> Result<(), IllegalEvent> {
        for (budget, used, limit) in budget::near(self.state()) {
            self.record(Event::BudgetWarned { budget, used, limit })?;
        }
        Ok(())
    }

    /// Whether an approval that an execution depends on no longer holds; if so, it is requested
    /// again.
    fn voided(&mut self, key: &StepKey) -> Result<bool, IllegalEvent> {
        let Interpreter { flow, state, .. } = &*self.interpreter;
        let approved = state.approved();
        let index = flow.index(key.top()).filter(|_| !approved.is_empty());
        let above = index.map(|index| flow.above(index)).unwrap_or_default().into_iter();
        let above = above.map(|index| flow.nodes()[index].key.clone());
        let approvals: Vec<StepKey> = above.filter(|above| approved.contains(above)).collect();
        for approval in approvals {
            let changes = self.changes(&approval, key);
            if !changes.is_empty() {
                self.record(Event::ApprovalVoided { key: approval, changes })?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What differs from what a person approved, now that something is about to be sent.
    fn changes(&self, approval: &StepKey, sending: &StepKey) -> Vec<ApprovalChange> {
        let state = self.state();
        let look = self.look();
        let before = state.step(approval).and_then(|step| step.request.as_deref());
        let asked = self.interpreter.flow.of_key(approval).zip(before);
        let Some((step, before)) = asked else { return Vec::new() };
        let names = look.names(approval);
        let asking = match look.act(&Execution { key: approval, step, names }) {
            NextCommand::Ask(asking) => *asking,
            // A confirmation shows an agent's submission and the requests that depend on it.
            _ => ApprovalDraft {
                key: approval.clone(),
                message: before.message.clone(),
                deeds: look.deeds_below(approval),
                expires_at_ms: None,
            },
        };
        // Before the first request, all of them are compared in full; later, each before it is
        // sent.
        let has_begun = before.shown.iter().any(|shown| state.has_begun(&shown.key));
        let now = self.request(asking, has_begun.then_some(sending));
        self.differences(before, &now, Some(sending))
    }

    fn differences(
        &self,
        before: &ApprovalRequest,
        after: &ApprovalRequest,
        sending: Option<&StepKey>,
    ) -> Vec<ApprovalChange> {
        let mut changes = Vec::new();
        if before.message != after.message {
            let (key, before) = (before.key.clone(), json!(before.message));
            changes.push(ApprovalChange { key, before, after: json!(after.message) });
        }
        for shown in &before.shown {
            // A request that has started since then was sent as shown, or it would not have
            // started. A request that is sent again still has to match what was shown.
            let begun = self.state().has_begun(&shown.key) && sending != Some(&shown.key);
            let now = after.shown.iter().find(|now| now.key == shown.key);
            if begun || now.is_some_and(|now| shown.still(now)) {
                continue;
            }
            let (mut before, mut after) = (side(shown), now.map_or(Value::Null, side));
            let extras = shown.extras.as_deref().zip(now.and_then(|now| now.extras.as_deref()));
            if let Some((was, is)) = extras.filter(|(was, is)| before == after && !was.still(is)) {
                let (was, is) = was.sides(is);
                (before, after) = (json!([before, was]), json!([after, is]));
            } else if let Some(now) = now.filter(|_| before == after) {
                // None of the visible parts differ, so show the digests, which do.
                before = json!([before, {"digest": shown.digest}]);
                after = json!([after, {"digest": now.digest}]);
            }
            changes.push(ApprovalChange { key: shown.key.clone(), before, after });
        }
        changes.extend(self.unseen(before, after));
        changes
    }

    /// Steps that would send something but were not listed when the person was asked.
    fn unseen(&self, before: &ApprovalRequest, after: &ApprovalRequest) -> Vec<ApprovalChange> {
        let senders = self.look().senders_below(&before.key).into_iter();
        let unseen = senders.filter(|key| !before.names(key) && !self.state().has_begun(key));
        let change = |key: StepKey| {
            let shown = after.shown.iter().find(|shown| shown.key == key);
            let arguments = shown.map_or(Value::Null, |shown| shown.arguments.clone());
            let request = shown.map_or_else(|| key.to_string(), |shown| shown.request.clone());
            ApprovalChange { key, before: Value::Null, after: json!({request: arguments}) }
        };
        unseen.map(change).collect()
    }

    /// What the sender has to know about the run.
    fn context(&self) -> Option<RunContext> {
        let run = RunId::parse(&self.state().head.run).ok()?;
        Some(RunContext::new(run, &self.interpreter.flow, self.state()))
    }

    /// The question for a draft. What is added to the requests is read for one of them, or for all.
    fn request(&self, asking: ApprovalDraft, only: Option<&StepKey>) -> ApprovalRequest {
        let head = &self.state().head;
        let context = self.context();
        let shown = asking.deeds.iter().filter_map(|deed| {
            let is_read = only.is_none_or(|only| only == deed.key());
            deed.shown(head, self.world, context.as_ref().filter(|_| is_read))
        });
        let shown: Vec<ShownCall> = shown.collect();
        let message = secret_placeholder::mask_text(&head.nonce, &asking.message);
        let generation = self.state().generation(&asking.key);
        let told = self.state().step(&asking.key).and_then(|step| step.submission.as_ref());
        let digest = digest(&json!({
            "run": head.run,
            "key": asking.key,
            "generation": generation,
            "at": self.now(),
            "message": message,
            "shown": shown,
            "submission": told.map(|told| &told.digest),
        }));
        let mut unshown = self.look().senders_below(&asking.key);
        unshown.retain(|key| shown.iter().all(|shown| shown.key != *key));
        let (key, expires_at_ms, changes) = (asking.key, asking.expires_at_ms, Vec::new());
        ApprovalRequest { key, message, shown, unshown, digest, expires_at_ms, changes }
    }

    fn ask(&mut self, asking: ApprovalDraft) -> Result<(), IllegalEvent> {
        let before = self.state().step(&asking.key).filter(|step| step.verdict.is_some());
        let before = before.and_then(|step| step.request.as_deref()).cloned();
        let mut request = self.request(asking, None);
        if let Some(before) = before {
            request.changes = self.differences(&before, &request, None);
        }
        let approved = ApprovalDecision::by_engine(&request, "policy");
        self.record(Event::ApprovalRequested(Box::new(request)))?;
        if admission::is_unattended(&self.interpreter.flow, self.state(), &approved.key) {
            self.record(Event::Approved(approved))?;
        }
        Ok(())
    }

    /// Asks a person whether the run may do what it wants to do. The run starts nothing new until
    /// the question is answered.
    fn ask_itself(
        &mut self,
        question: ConsentQuestion,
        wanted: &PlannedCall,
    ) -> Result<(), IllegalEvent> {
        let ConsentQuestion { key, message, alone } = question;
        let (known, mut unshown) = match alone {
            true => (Vec::new(), Vec::new()),
            false => self.look().calls_ahead(),
        };
        unshown.retain(|key| key != wanted.key());
        let others =
            known.iter().filter(|deed| deed.key() != wanted.key() && self.changes_more(deed));
        let head = &self.state().head;
        let deeds = std::iter::once(wanted).chain(others).take(limits::SHOWN_ITEMS);
        let context = self.context();
        let shown = deeds.filter_map(|deed| deed.shown(head, self.world, context.as_ref()));
        let shown: Vec<ShownCall> = shown.collect();
        let message = secret_placeholder::mask_text(&head.nonce, &message);
        let digest = digest(&json!({
            "run": head.run,
            "key": key,
            "generation": self.state().generation(&key),
            "message": message,
            "shown": shown,
            "text": head.text_hash,
            "inputs": head.inputs,
            "bound": head.bound,
        }));
        let (expires_at_ms, changes) = (None, Vec::new());
        self.record(Event::ApprovalRequested(Box::new(ApprovalRequest {
            key,
            message,
            shown,
            unshown,
            digest,
            expires_at_ms,
            changes,
        })))
    }

    /// Whether a call is one that a person agrees to with the whole run.
    fn changes_more(&self, deed: &PlannedCall) -> bool {
        let head = &self.state().head;
        let PlannedCall::Call(KeyedCall { call, .. }) = deed else { return true };
        let Ok(prepared) = self.world.prepare(call, head.mock) else { return false };
        let new = |effect: &CallEffect| {
            let terms = head.consent.as_deref();
            terms.is_some_and(|terms| terms.origins.contains(&effect.origin))
        };
        prepared.write || prepared.effect.as_ref().is_some_and(new)
    }

    fn child(&mut self, starting: ChildStart) -> Result<(), IllegalEvent> {
        let ChildStart { key, workflow, inputs } = starting;
        if self.voided(&key)? {
            return Ok(());
        }
        let depth = self.state().head.parent.as_ref().map_or(0, |parent| parent.depth);
        if depth + 1 >= limits::DEPTH {
            let failure = Cause::TooDeep { limit: limits::DEPTH }.into();
            return self.record(Event::StepFailed { key, failure });
        }
        let bound = self.world.bound_of(&workflow);
        let Interpreter { flow, state, .. } = &*self.interpreter;
        let (gate, writes) = consent::of_child(flow, state, &key, bound.as_ref());
        match gate {
            Gate::Open => {}
            Gate::Ask(question) => {
                let child = ChildStart { key, workflow, inputs };
                return self.ask_itself(question, &PlannedCall::Child(child));
            }
            Gate::Refused(cause) => {
                return self.record(Event::StepFailed { key, failure: cause.into() });
            }
        }
        let given = digest(&json!({"workflow": workflow, "inputs": inputs}));
        let step = self.state().step(&key);
        // A child that did not succeed continues where it stopped, unless its workflow or inputs
        // have changed.
        let left = step.and_then(StepState::leaves);
        let left = left.filter(|left| left.given.as_deref() == Some(given.as_str()));
        let run = match left {
            Some(left) => left.run.clone(),
            None => child_run(&self.state().head.run, &key, step),
        };
        let rest = budget::rest(&self.interpreter.flow, self.state(), &key);
        self.record(Event::ChildStarted {
            key: key.clone(),
            run: run.clone(),
            given: Some(given),
            rest: rest.clone(),
            writes: writes.clone(),
        })?;
        let start = RunEffect::StartChild { key, run, workflow, inputs, rest, writes };
        self.decision.effects.push(start);
        Ok(())
    }

    fn called(
        &mut self,
        key: &StepKey,
        of: u64,
        outcome: AttemptOutcome,
    ) -> Result<(), IllegalEvent> {
        let current = self.state().step(key).filter(|step| step.attempt_seq == Some(of));
        let Some(Phase::Calling(attempt)) = current.map(|step| step.phase.clone()) else {
            // The step was settled in the meantime: a late outcome changes nothing.
            return Ok(());
        };
        let key = key.clone();
        match outcome {
            AttemptOutcome::Answered { answer, duration_ms } => {
                self.record(Event::AttemptSucceeded { key, answer, duration_ms })
            }
            AttemptOutcome::Failed { failure, trouble, unsent, retry_after_ms } => {
                let step = self.interpreter.flow.of_key(&key);
                let certain = match trouble {
                    FailureKind::Withheld => return self.withheld(key, failure),
                    FailureKind::Changed | FailureKind::Lapsed => {
                        let (retry_at_ms, interrupted) = (Some(self.now()), true);
                        let failed =
                            Event::AttemptFailed { key, failure, retry_at_ms, interrupted };
                        return self.record(failed);
                    }
                    FailureKind::Status(status) => {
                        step.is_none_or(|step| !retry::is_ambiguous(step, status))
                    }
                    FailureKind::TokenRefused => true,
                    // A request may have taken effect even if its answer is unusable.
                    FailureKind::Unsendable | FailureKind::Network | FailureKind::Timeout => unsent,
                };
                if !attempt.repeatable && !certain {
                    return self.record(Event::AttemptUnknown { key, failure });
                }
                let retry_at_ms = self.pause(&attempt, trouble, retry_after_ms);
                let interrupted = false;
                self.record(Event::AttemptFailed { key, failure, retry_at_ms, interrupted })
            }
        }
    }

    /// Pauses the run until somebody supplies the missing secret. Nothing was sent, and nothing
    /// failed.
    fn withheld(&mut self, key: StepKey, failure: Failure) -> Result<(), IllegalEvent> {
        let canceled = self.state().canceling.is_some();
        let retry_at_ms = (!canceled).then_some(self.now());
        self.record(Event::AttemptFailed { key, failure, retry_at_ms, interrupted: true })?;
        if !canceled && !self.state().paused {
            self.record(Event::Paused { by: admission::engine_actor("secrets") })?;
        }
        Ok(())
    }

    fn pause(&self, attempt: &Attempt, trouble: FailureKind, asked: Option<u64>) -> Option<u64> {
        let state = self.state();
        let step = self.interpreter.flow.of_key(&attempt.key)?;
        if state.canceling.is_some() && !self.interpreter.flow.is_finally(&attempt.key) {
            return None;
        }
        let now = self.now();
        let began = state.step(&attempt.key).and_then(|step| step.began_ms).unwrap_or(now);
        let until = match &step.action {
            Action::Run(run) => run.repeat.as_ref().and_then(|repeat| polls_until(repeat, began)),
            _ => None,
        };
        let at = retry::pause(step, attempt, trouble, asked).map(|pause| now + pause);
        at.filter(|at| until.is_none_or(|until| *at <= until))
    }

    fn signal(&mut self, id: String, signal: Signal) -> Result<(), IllegalEvent> {
        let Interpreter { flow, state, .. } = &*self.interpreter;
        let reply = match signal {
            Signal::Submit(submitted) => {
                let read = admission::submission(flow, state, submitted);
                return self.submit(id, read);
            }
            Signal::Decide(decided) => {
                match admission::decision(flow, state, self.world, decided) {
                    Ok(Some(event)) => self.done(event)?,
                    Ok(None) => Reply::Done,
                    Err(failure) => Reply::Refused { failure },
                }
            }
            Signal::Settle { key, asked, by, decision, proof } => {
                let text = settled_text(&self.state().head.run, &key, asked, &decision);
                let proven = || admission::proven(self.state(), self.world, proof.as_ref(), &text);
                let settled = self.settled(&key, asked, &by, &decision);
                match settled.and_then(|()| proven()) {
                    Ok(()) => self.done(Event::OutcomeDecided { key, by, decision, proof })?,
                    Err(failure) => Reply::Refused { failure },
                }
            }
            Signal::Cancel { by, reason } => {
                if self.state().end.is_none() && self.state().canceling.is_none() {
                    self.cancel(by, reason)?;
                }
                Reply::Done
            }
            Signal::Pause { by } => self.pauses(!self.state().paused, Event::Paused { by })?,
            Signal::Unpause { by } => self.pauses(self.may_go_on(&by), Event::Resumed { by })?,
            Signal::Resume { seq, resumption } => {
                let touched = resumption.reset.iter().chain(resumption.overrides.keys());
                let busy = touched.into_iter().any(|key| self.state().is_busy(key));
                let mut again = resumption.reset.iter();
                let arrived = again.try_for_each(|key| self.has_all_arrived(key));
                match arrived.and_then(|()| self.proven(seq, &resumption)) {
                    _ if seq != self.state().seq || busy => {
                        Reply::Refused { failure: Cause::MovedOn.into() }
                    }
                    Ok(()) => {
                        let was_paused = self.state().paused;
                        let reply = self.done(Event::RunResumedFrom(resumption))?;
                        if was_paused {
                            self.tell_children(true);
                        }
                        reply
                    }
                    Err(failure) => Reply::Refused { failure },
                }
            }
            Signal::ChildEnded { key, run, outcome, spent, wrote } => {
                if matches!(self.state().phase(&key), Phase::Child(own) if *own == run) {
                    self.record(Event::ChildFinished { key, outcome, spent, wrote })?;
                    self.warn()?;
                }
                Reply::Done
            }
        };
        self.decision.answers.push((id, reply));
        Ok(())
    }

    /// Checks that a person may decide the outcome of this attempt at a step, and that the outcome
    /// can be known by now.
    fn settled(
        &self,
        key: &StepKey,
        asked: Option<u64>,
        by: &Actor,
        decision: &Settlement,
    ) -> Result<(), Failure> {
        admission::settlement(&self.interpreter.flow, self.state(), key, by)?;
        let current = self.state().step(key).and_then(|step| step.asked);
        // A signed decision applies to one attempt and names it.
        let signed = self.state().head.person.is_some();
        if (asked.is_some() || signed) && asked != current {
            return Err(Cause::AskedAgain { key: key.clone() }.into());
        }
        match decision {
            Settlement::DidNot => self.has_arrived(key),
            Settlement::Happened { .. } | Settlement::GiveUp => Ok(()),
        }
    }

    /// Checks that no request made by an execution, or by those below it, can still take effect.
    fn has_all_arrived(&self, key: &StepKey) -> Result<(), Failure> {
        let below = self.state().below(key).map(|(below, _)| below);
        std::iter::once(key).chain(below).try_for_each(|key| self.has_arrived(key))
    }

    /// Checks that a request with an unknown outcome can no longer take effect. Until then, nobody
    /// can know that it had no effect.
    fn has_arrived(&self, key: &StepKey) -> Result<(), Failure> {
        let step = self.state().step(key);
        let Some((at_ms, timeout_ms)) = step.and_then(StepState::doubtful_ms) else {
            return Ok(());
        };
        let from_ms = at_ms.saturating_add(self.world.arrives_within_ms(timeout_ms));
        match self.now() < from_ms {
            true => Err(Cause::MayStillArrive { key: key.clone(), from_ms }.into()),
            false => Ok(()),
        }
    }

    /// Checks that a person requested the resumption and proved their presence, if required.
    fn proven(&self, seq: u64, resumption: &Resumption) -> Result<(), Failure> {
        let is_person = resumption.by.kind == ActorKind::Person;
        match resume::needs(&self.interpreter.flow, self.state(), resumption) {
            ResumeAuthority::Person(_) | ResumeAuthority::Proof(_) if !is_person => {
                return Err(Cause::NoPerson.into());
            }
            ResumeAuthority::Nobody | ResumeAuthority::Person(_) => return Ok(()),
            ResumeAuthority::Proof(_) => {}
        }
        let text = resumed_text(&self.state().head.run, seq, resumption);
        admission::proven(self.state(), self.world, resumption.proof.as_ref(), &text)
    }

    fn done(&mut self, event: Event) -> Result<Reply, IllegalEvent> {
        self.record(event)?;
        Ok(Reply::Done)
    }

    /// Whether this actor may end the pause. A run that was paused individually stays paused when
    /// its parent resumes.
    fn may_go_on(&self, by: &Actor) -> bool {
        let state = self.state();
        let theirs = *by == engine_actor("parent") && state.paused_by.as_ref() != Some(by);
        state.paused && !theirs
    }

    /// Pauses or resumes the run and its children.
    fn pauses(&mut self, changes: bool, event: Event) -> Result<Reply, IllegalEvent> {
        if self.state().end.is_some() {
            return Ok(Reply::Refused { failure: Cause::HasEnded.into() });
        }
        if changes {
            self.record(event)?;
        }
        // Even if nothing changes here, the children may not have received the message yet.
        self.tell_children(!self.state().paused);
        Ok(Reply::Done)
    }

    /// Tells the child runs to pause or to resume.
    fn tell_children(&mut self, resume: bool) {
        let Interpreter { state, .. } = &*self.interpreter;
        let (children, seq) = (state.children(), state.seq);
        let pause =
            |(_, _, run): (_, _, &str)| RunEffect::PauseChild { run: run.to_owned(), resume, seq };
        self.decision.effects.extend(children.map(pause));
    }

    fn submit(&mut self, id: String, read: Admission) -> Result<(), IllegalEvent> {
        match read {
            Admission::Answer(reply) => self.decision.answers.push((id, reply)),
            // Recorded with its sender, so that a later driver of the run knows whom to answer.
            Admission::Take(Event::SubmissionReceived(submission)) => {
                self.awaited.push((submission.key.clone(), id.clone()));
                let submission = Submission { messages: vec![id], ..submission };
                self.record(Event::SubmissionReceived(submission))?;
            }
            Admission::Take(event) => {
                let verdict = admission::verdict(&event);
                self.record(event)?;
                let Some((key, issues)) = verdict else {
                    self.decision.answers.push((id, Reply::Done));
                    return Ok(());
                };
                self.awaited.push((key.clone(), id));
                self.tell(&key, issues);
                self.warn()?;
            }
        }
        Ok(())
    }

    fn cancel(&mut self, by: Actor, reason: Option<String>) -> Result<(), IllegalEvent> {
        let Interpreter { flow, state, .. } = &*self.interpreter;
        let open = state.open().filter(|(key, _)| !flow.is_finally(key));
        let busy = open.filter_map(|(key, step)| match &step.phase {
            Phase::Calling(_) => {
                Some(RunEffect::Abort { key: key.clone(), attempt: step.attempt_seq? })
            }
            Phase::Child(run) => Some(RunEffect::CancelChild { run: run.clone() }),
            _ => None,
        });
        let busy: Vec<RunEffect> = busy.collect();
        self.record(Event::CancelRequested { by, reason })?;
        self.decision.effects.extend(busy);
        Ok(())
    }
}

/// The events for requests that were in flight when a process died: requests that may be repeated
/// are sent again, and a person decides the outcome of the others.
pub(crate) fn lost(state: &State, now_ms: u64) -> Vec<Event> {
    let calling = state.open().filter_map(|(_, step)| match &step.phase {
        Phase::Calling(attempt) => Some(attempt),
        _ => None,
    });
    let lost = calling.map(|attempt| {
        let cause = Cause::Interrupted { request: attempt.request.clone() };
        let (key, failure) = (attempt.key.clone(), cause.into());
        match attempt.repeatable {
            true => {
                let retry_at_ms = Some(now_ms);
                Event::AttemptFailed { key, failure, retry_at_ms, interrupted: true }
            }
            false => Event::AttemptUnknown { key, failure },
        }
    });
    lost.collect()
}

/// The events for questions that nobody answered in time.
pub(crate) fn lapsed(state: &State, now_ms: u64) -> Vec<Event> {
    let asking = state.open().filter(|(_, step)| step.phase == Phase::Asking);
    let asked = asking.filter_map(|(_, step)| step.request.as_deref());
    let lapsed = asked.filter(|request| request.expires_at_ms.is_some_and(|at| at <= now_ms));
    let rejected =
        lapsed.map(|request| Event::Rejected(ApprovalDecision::by_engine(request, DEADLINE)));
    rejected.collect()
}

/// A request as shown to a person who is comparing two requests.
fn side(shown: &ShownCall) -> Value {
    let request = if shown.target.is_empty() { &shown.request } else { &shown.target };
    json!({request.clone(): shown.arguments})
}

/// A request's idempotency key: the same for all attempts at one execution, and a new one for every
/// polling pass and after every reset of the step.
fn idempotency_key(run: &str, key: &StepKey, step: Option<&StepState>) -> String {
    let generation = step.map_or(0, |step| step.generation);
    let pass = step.map_or(0, |step| step.passes);
    let again = if generation > 0 { format!("~{generation}") } else { String::new() };
    let pass = if pass > 0 { format!("/{pass}") } else { String::new() };
    format!("{run}/{key}{again}{pass}")
}

/// The id of the run that a step starts: the same each time it is started, and a new one for every
/// polling pass and after every reset of the step.
fn child_run(run: &str, key: &StepKey, step: Option<&StepState>) -> String {
    let digest = Sha256::digest(idempotency_key(run, key, step));
    let mut id = [0; 16];
    id.copy_from_slice(&digest[..16]);
    milepost_model::id::RunId::from_bytes(id).to_string()
}

/// The SHA-256 digest of a value, in hex.
pub(crate) fn digest(value: &Value) -> String {
    hex(&Sha256::digest(value.to_string()))
}

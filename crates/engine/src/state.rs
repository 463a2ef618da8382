//! The current state of a run: the fold of its events.
//!
//! | event | from | to |
//! |---|---|---|
//! | `step_scheduled` | pending | listed |
//! | `attempt_started` | pending | calling |
//! | `attempt_succeeded` | calling | answered |
//! | `attempt_failed` | calling | backoff, or failing |
//! | `attempt_unknown` | calling | unknown |
//! | `outcome_decided` | unknown, rejected | answered or accepted, pending, failing |
//! | `timer_set` | pending, answered | sleeping, between |
//! | `timer_fired` | backoff, between, sleeping | pending, answered |
//! | `prompt_offered` | pending, rejected | offered |
//! | `submission_received` | offered, verifying | verifying |
//! | `submission_rejected` | offered, verifying, decided | rejected |
//! | `submission_accepted` | offered, verifying | accepted |
//! | `approval_requested` | pending, accepted, voided | asking |
//! | `approved`, `rejected` | asking | decided |
//! | `approval_voided` | succeeded | voided |
//! | `child_started` | pending | child |
//! | `child_finished` | child | answered, or failing |
//! | `step_succeeded`, `step_failed`, `step_skipped`, `step_canceled` | any open phase | closed |
//! | `went_back`, `run_resumed_from` | any | pending again |
//!
//! An event that does not fit the state is rejected, both when it is written and when it is read.
//!
//! Length: this is the table above as code, one arm per event; it would be harder to read in two
//! files.

mod index;
mod step;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::effect_bound::WriteCounts;
use crate::event::{
    Actor, Attempt, BudgetKind, CallAnswer, Event, JournalEntry, Resumption, RunCreated,
    Settlement, Submission,
};
use crate::interpreter::budget::{self, BudgetUsage};
use crate::{Cause, Failure, StepKey, limits, time};
use milepost_model::serialized_enum;

use index::StepIndex;
pub use step::{ChildState, JudgedSubmission, Phase, StepState, StepStatus};
use step::{ITEMS, is_closable, misfit};

/// An event that cannot have happened in this state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("event {seq} `{event}` is not valid here: {why}")]
pub struct IllegalEvent {
    /// The sequence number of the event.
    pub seq: u64,
    /// The name of the event.
    pub event: &'static str,
    pub why: String,
}

serialized_enum! {
    /// The status of a run.
    Status {
        /// Something is in progress or due.
        Running = "running",
        /// A person or an agent has to act.
        Waiting = "waiting",
        /// No new work is started until it is resumed.
        Paused = "paused",
        Succeeded = "succeeded",
        Failed = "failed",
        Canceled = "canceled",
    }
}

impl Status {
    pub fn has_ended(self) -> bool {
        matches!(self, Status::Succeeded | Status::Failed | Status::Canceled)
    }
}

/// The state of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct State {
    /// The first event, with the current inputs, source and budget.
    pub head: RunCreated,
    /// The sequence number of the last event.
    pub seq: u64,
    /// The time of the last event.
    pub now_ms: u64,
    /// When the run started.
    pub began_ms: u64,
    /// How long the run has been waiting for nobody but a person, which does not count against its
    /// timeout.
    waited_ms: u64,
    /// Executions that have started, including those that have since been reset.
    pub steps: BTreeMap<StepKey, StepState>,
    /// Variables that were added to a guide's context.
    pub context: Map<String, Value>,
    /// The sequence numbers of the events that set them last.
    pub(crate) context_seq: BTreeMap<String, u64>,
    /// What the run has spent.
    pub spent: BudgetUsage,
    /// The writes in the bound that were made, by kind.
    pub written: WriteCounts,
    /// The budgets for which a warning was recorded.
    pub warned: Vec<BudgetKind>,
    /// The budget that is used up, if any.
    pub parked: Option<BudgetKind>,
    /// Who asked to cancel the run.
    pub canceling: Option<Actor>,
    /// Whether the run is paused, so that no new work is started.
    pub paused: bool,
    /// Who paused the run; `None` unless it is paused.
    pub paused_by: Option<Actor>,
    /// The only step that runs, if a resumption requested that.
    pub only: Option<StepKey>,
    /// How the run ended, if it has.
    pub end: Option<End>,
    /// The names that expressions can use: `inputs`, `steps`, `env` and `run`.
    names: Map<String, Value>,
    /// Finds executions without scanning all of them.
    found: StepIndex,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The run succeeded with this output.
    Succeeded(Option<Value>),
    /// The run failed.
    Failed(Box<Failure>),
    /// The run was canceled.
    Canceled,
}

impl State {
    /// The state after the first event.
    pub fn begin(entry: &JournalEntry) -> Result<State, IllegalEvent> {
        let (seq, event) = (entry.seq, entry.event.name());
        let illegal = |why: &str| IllegalEvent { seq, event, why: why.to_owned() };
        let Event::RunCreated(created) = &entry.event else {
            return Err(illegal("the first event of a run must be `run_created`"));
        };
        if entry.seq != 1 {
            return Err(illegal("the first event must be number 1"));
        }
        Ok(State {
            head: (**created).clone(),
            seq: 1,
            now_ms: entry.at_ms,
            began_ms: entry.at_ms,
            names: names(created, entry.at_ms),
            ..State::default()
        })
    }

    /// The state after all of these events; `None` if there are none.
    pub fn fold<'e>(
        entries: impl IntoIterator<Item = &'e JournalEntry>,
    ) -> Result<Option<State>, IllegalEvent> {
        let mut entries = entries.into_iter();
        let Some(first) = entries.next() else { return Ok(None) };
        let mut state = State::begin(first)?;
        entries.try_for_each(|entry| state.apply(entry))?;
        Ok(Some(state))
    }

    /// The state of an execution, if it has started.
    pub fn step(&self, key: &StepKey) -> Option<&StepState> {
        self.steps.get(key)
    }

    /// The phase of an execution.
    pub fn phase(&self, key: &StepKey) -> &Phase {
        static PENDING: Phase = Phase::Pending;
        self.steps.get(key).map_or(&PENDING, |step| &step.phase)
    }

    /// How many times an execution was reset.
    pub fn generation(&self, key: &StepKey) -> u32 {
        self.steps.get(key).map_or(0, |step| step.generation)
    }

    /// The names that expressions can use.
    pub fn names(&self) -> &Map<String, Value> {
        &self.names
    }

    /// Executions that have started but not ended.
    pub fn open(&self) -> impl Iterator<Item = (&StepKey, &StepState)> {
        self.of(&self.found.open)
    }

    /// Executions that failed.
    pub(crate) fn failed(&self) -> impl Iterator<Item = (&StepKey, &StepState)> {
        self.of(&self.found.failed)
    }

    /// Executions that have ended with a person's approval.
    pub(crate) fn approved(&self) -> &BTreeSet<StepKey> {
        &self.found.approved
    }

    /// The open question that the run itself asks, if there is one. Until it is answered, the run
    /// starts nothing new.
    pub(crate) fn asks_itself(&self) -> Option<(&StepKey, &StepState)> {
        let key = self.found.open.range(StepKey::reserved()).next()?;
        self.steps.get_key_value(key)
    }

    fn of<'s>(
        &'s self,
        keys: &'s BTreeSet<StepKey>,
    ) -> impl Iterator<Item = (&'s StepKey, &'s StepState)> {
        keys.iter().filter_map(|key| self.steps.get_key_value(key))
    }

    /// Whether an execution has started, regardless of its current phase.
    pub(crate) fn has_begun(&self, key: &StepKey) -> bool {
        self.step(key).is_some_and(|step| step.began_ms.is_some())
    }

    /// Executions that child runs are working on, with those runs.
    pub fn children(&self) -> impl Iterator<Item = (&StepKey, &StepState, &str)> {
        self.open().filter_map(|(key, step)| match &step.phase {
            Phase::Child(run) => Some((key, step, run.as_str())),
            _ => None,
        })
    }

    /// An execution that has started or was reset, and those below it.
    pub(crate) fn within(&self, key: &StepKey) -> impl Iterator<Item = (&StepKey, &StepState)> {
        self.steps.get_key_value(key).into_iter().chain(self.below(key))
    }

    /// The executions below another one.
    pub fn below(&self, key: &StepKey) -> impl Iterator<Item = (&StepKey, &StepState)> {
        key.below().into_iter().flat_map(|range| self.steps.range(range))
    }

    /// Updates the index after an execution has changed.
    fn note(&mut self, key: &StepKey) {
        self.found.note(key, self.steps.get(key));
    }

    fn view(&mut self) -> Option<&mut Map<String, Value>> {
        self.names.get_mut("steps").and_then(Value::as_object_mut)
    }

    /// Applies the next event.
    pub fn apply(&mut self, entry: &JournalEntry) -> Result<(), IllegalEvent> {
        let (seq, event) = (entry.seq, entry.event.name());
        let illegal = |why: String| IllegalEvent { seq, event, why };
        if entry.seq != self.seq + 1 {
            return Err(illegal(format!("expected event {}", self.seq + 1)));
        }
        if entry.at_ms < self.now_ms {
            return Err(illegal("it is dated before the previous event".to_owned()));
        }
        if self.waits_for_a_person() {
            self.waited_ms += entry.at_ms - self.now_ms;
        }
        let resumes = matches!(entry.event, Event::RunResumedFrom(_));
        if self.end.is_some() && !resumes {
            return Err(illegal("the run has ended".to_owned()));
        }
        self.take(&entry.event, entry.at_ms).map_err(illegal)?;
        if let Some(key) = entry.event.key() {
            self.note(key);
        }
        self.seq = entry.seq;
        self.now_ms = entry.at_ms;
        Ok(())
    }

    /// Whether nothing happens until a person answers.
    pub fn waits_for_a_person(&self) -> bool {
        let mut asks = self.parked.is_some();
        for (_, step) in self.open() {
            match &step.phase {
                Phase::Asking | Phase::Unknown(_) => asks = true,
                Phase::Offered(_) | Phase::Verifying => return false,
                phase if phase.is_busy() || phase.wakes_at().is_some() => return false,
                _ => {}
            }
        }
        asks && self.end.is_none()
    }

    /// When the run's time is up; `None` while it waits for a person.
    pub fn deadline_ms(&self) -> Option<u64> {
        let deadline = self.head.deadline_ms.saturating_add(self.waited_ms);
        (!self.waits_for_a_person()).then_some(deadline)
    }

    fn take(&mut self, event: &Event, at: u64) -> Result<(), String> {
        match event {
            Event::RunCreated(_) => return Err("the run has already been created".to_owned()),
            Event::StepScheduled { .. }
            | Event::AttemptStarted(_)
            | Event::AttemptSucceeded { .. }
            | Event::AttemptFailed { .. }
            | Event::AttemptUnknown { .. }
            | Event::OutcomeDecided { .. }
            | Event::TimerSet { .. }
            | Event::TimerFired { .. }
            | Event::ChildStarted { .. }
            | Event::ChildFinished { .. } => self.take_attempt(event, at)?,
            Event::StepSkipped { key, .. } => {
                self.from(key, at, |phase| *phase == Phase::Pending)?;
                self.close(key, Phase::Skipped, at);
            }
            Event::StepSucceeded { key, output } => {
                let failed = self.failed_items(key);
                let step = self.from(key, at, is_closable)?;
                step.output = output.clone().or_else(|| step.produced());
                step.failure = failed;
                self.close(key, Phase::Succeeded, at);
            }
            Event::StepFailed { key, failure } => {
                self.from(key, at, is_closable)?.failure = Some(failure.clone());
                self.close(key, Phase::Failed, at);
            }
            Event::StepCanceled { key } => {
                self.from(key, at, is_closable)?;
                self.close(key, Phase::Canceled, at);
            }
            Event::PromptOffered { .. }
            | Event::SubmissionReceived(_)
            | Event::SubmissionRejected { .. }
            | Event::SubmissionAccepted(_)
            | Event::ContextAdded { .. } => self.take_submission(event, at)?,
            Event::ApprovalRequested(_)
            | Event::Approved(_)
            | Event::Rejected(_)
            | Event::ApprovalVoided { .. }
            | Event::WentBack { .. } => self.take_approval(event, at)?,
            Event::WorldPinned { .. }
            | Event::BudgetWarned { .. }
            | Event::BudgetReached { .. }
            | Event::CancelRequested { .. }
            | Event::Paused { .. }
            | Event::Resumed { .. }
            | Event::RunResumedFrom(_)
            | Event::RunSucceeded { .. }
            | Event::RunFailed { .. }
            | Event::RunCanceled => self.take_run(event)?,
        }
        Ok(())
    }

    fn take_attempt(&mut self, event: &Event, at: u64) -> Result<(), String> {
        let seq = self.seq + 1;
        match event {
            Event::StepScheduled { key, items } => {
                let step = self.from(key, at, |phase| *phase == Phase::Pending)?;
                step.items = Some(Arc::new(items.clone()));
                step.phase = Phase::Listed;
            }
            Event::AttemptStarted(attempt) => self.started(attempt, at)?,
            Event::AttemptSucceeded { key, answer, .. } => {
                let step = self.from(key, at, |phase| matches!(phase, Phase::Calling(_)))?;
                step.note_write();
                step.answer = Some(answer.clone());
                step.phase = Phase::Answered;
            }
            Event::AttemptFailed { key, failure, retry_at_ms, interrupted } => {
                let step = self.from(key, at, |phase| matches!(phase, Phase::Calling(_)))?;
                if *interrupted {
                    step.attempts = step.attempts.saturating_sub(1);
                }
                let phase = match retry_at_ms {
                    Some(at) => Phase::Backoff(*at),
                    None => Phase::Failing(Box::new(failure.clone())),
                };
                let before = std::mem::replace(&mut step.phase, phase);
                step.failure = Some(failure.clone());
                if let (Phase::Calling(attempt), None) = (before, retry_at_ms) {
                    step.undone = attempt.effect;
                }
            }
            Event::AttemptUnknown { key, failure } => {
                let step = self.from(key, at, |phase| matches!(phase, Phase::Calling(_)))?;
                step.note_write();
                step.doubt(failure);
                (step.asked, step.unsettled) = (Some(seq), true);
            }
            Event::OutcomeDecided { key, decision, .. } => self.decided(key, at, decision)?,
            Event::TimerSet { key, at_ms } => {
                let fits = |phase: &Phase| matches!(phase, Phase::Pending | Phase::Answered);
                let step = self.from(key, at, fits)?;
                step.phase = match step.phase {
                    Phase::Answered => {
                        step.passes += 1;
                        // Every polling pass gets a full set of attempts.
                        step.attempts = 0;
                        Phase::Between(*at_ms)
                    }
                    _ => Phase::Sleeping(*at_ms),
                };
            }
            Event::TimerFired { key } => {
                let due = |phase: &Phase| phase.wakes_at().is_some_and(|wakes| wakes <= at);
                let step = self.from(key, at, due)?;
                step.phase = match step.phase {
                    Phase::Sleeping(_) => Phase::Answered,
                    _ => Phase::Pending,
                };
            }
            Event::ChildStarted { .. } | Event::ChildFinished { .. } => {
                self.take_child(event, at)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn take_child(&mut self, event: &Event, at: u64) -> Result<(), String> {
        let seq = self.seq + 1;
        match event {
            Event::ChildStarted { key, run, given, rest, writes } => {
                let step = self.from(key, at, |phase| *phase == Phase::Pending)?;
                let left = step.left.take().filter(|left| left.run == *run);
                step.child = Some(Box::new(ChildState {
                    run: run.clone(),
                    given: given.clone(),
                    rest: rest.clone(),
                    handed: writes.clone(),
                    counted: left.as_ref().map(|left| left.counted).unwrap_or_default(),
                    wrote: left.as_ref().map(|left| left.wrote.clone()).unwrap_or_default(),
                    continues: left.is_some(),
                }));
                step.phase = Phase::Child(run.clone());
            }
            Event::ChildFinished { key, outcome, spent, wrote } => {
                let step = self.from(key, at, |phase| matches!(phase, Phase::Child(_)))?;
                step.finish_child(outcome);
                if matches!(step.phase, Phase::Unknown(_)) {
                    (step.asked, step.unsettled) = (Some(seq), true);
                }
                let mut counted =
                    step.child.as_ref().map(|child| child.counted).unwrap_or_default();
                self.spent.add(*spent, &mut counted);
                let before = match self.begun(key, at).child.as_mut() {
                    Some(child) => {
                        child.counted = counted;
                        std::mem::take(&mut child.wrote)
                    }
                    None => WriteCounts::new(),
                };
                let wrote = added(&mut self.written, wrote, before);
                if let Some(child) = self.begun(key, at).child.as_mut() {
                    child.wrote = wrote;
                }
                // The part of the budget that the child did not spend is available again.
                let parked = self.parked;
                self.parked = parked.filter(|budget| !budget::is_left(self, *budget));
            }
            _ => {}
        }
        Ok(())
    }

    fn started(&mut self, attempt: &Attempt, at: u64) -> Result<(), String> {
        let next = self.step(&attempt.key).map_or(0, |step| step.attempts) + 1;
        if attempt.attempt != next {
            return Err(format!("expected attempt {next} of `{}`", attempt.key));
        }
        let seq = self.seq + 1;
        let step = self.from(&attempt.key, at, |phase| *phase == Phase::Pending)?;
        step.attempt_seq = Some(seq);
        step.attempt_ms = Some((at, attempt.timeout_ms.unwrap_or(limits::ATTEMPT_MS)));
        (step.attempts, step.in_doubt, step.undone) = (attempt.attempt, None, None);
        step.phase = Phase::Calling(Box::new(attempt.clone()));
        let pass = Some((step.generation, step.passes));
        let repeats = step.counted == pass;
        if attempt.effect.is_some() {
            step.counted = pass;
        }
        self.note_effect(attempt, repeats);
        self.spent.http_calls += 1;
        self.spent.attempts += 1;
        self.spent.writes += u64::from(attempt.write);
        Ok(())
    }

    /// Counts a write in the bound, unless it is another attempt at the same one.
    fn note_effect(&mut self, attempt: &Attempt, repeats: bool) {
        let bound = self.head.bound.as_deref().filter(|_| !repeats);
        let entry = bound.zip(attempt.effect.as_deref());
        let entry = entry.and_then(|(bound, effect)| bound.entry(effect));
        if let Some(name) = entry.map(|entry| entry.effect.name()) {
            *self.written.entry(name).or_default() += 1;
        }
    }

    /// A write that failed may be tried again when the run is resumed: it changed nothing.
    fn uncount_failed(&mut self, resumption: &Resumption) {
        let reset = resumption.reset.iter().flat_map(|key| self.within(key));
        let undone = reset.filter_map(|(_, step)| step.undone.as_deref());
        let bound = self.head.bound.as_deref();
        let names: Vec<String> =
            undone.filter_map(|effect| Some(bound?.entry(effect)?.effect.name())).collect();
        for name in names {
            if let Some(count) = self.written.get_mut(&name) {
                *count = count.saturating_sub(1);
            }
        }
    }

    fn decided(&mut self, key: &StepKey, at: u64, decision: &Settlement) -> Result<(), String> {
        let fits = |phase: &Phase| matches!(phase, Phase::Unknown(_) | Phase::Rejected);
        let step = self.from(key, at, fits)?;
        // The agent has no attempts left.
        let exhausted = step.phase == Phase::Rejected;
        step.unsettled = false;
        // Giving up does not settle whether the request took effect.
        step.in_doubt = step.in_doubt.take().filter(|_| *decision == Settlement::GiveUp);
        step.phase = match decision {
            Settlement::Happened { output } => {
                step.answer = Some(CallAnswer { output: output.clone(), ..CallAnswer::default() });
                if exhausted { Phase::Accepted } else { Phase::Answered }
            }
            Settlement::DidNot if exhausted => {
                step.refused = 0;
                Phase::Rejected
            }
            // Sends the very same request again, with the same idempotency key.
            Settlement::DidNot => {
                step.attempts = step.attempts.saturating_sub(1);
                step.unwrite();
                Phase::Pending
            }
            Settlement::GiveUp => {
                let told = match &step.phase {
                    Phase::Unknown(failure) => (**failure).clone(),
                    _ => Cause::Exhausted { key: key.clone() }.into(),
                };
                Phase::Failing(Box::new(told))
            }
        };
        Ok(())
    }

    fn take_submission(&mut self, event: &Event, at: u64) -> Result<(), String> {
        let seq = self.seq + 1;
        match event {
            Event::PromptOffered { key, attempt } => {
                let next = self.step(key).map_or(0, |step| step.offered) + 1;
                if *attempt != next {
                    return Err(format!("expected attempt {next} of `{key}`"));
                }
                let fits = |phase: &Phase| matches!(phase, Phase::Pending | Phase::Rejected);
                let step = self.from(key, at, fits)?;
                step.offered = *attempt;
                step.phase = Phase::Offered(*attempt);
            }
            Event::SubmissionReceived(submission) => self.received(submission, at)?,
            Event::SubmissionAccepted(submission) => {
                let step = self.submitted(submission, at)?;
                let (attempt, digest) = (submission.attempt, submission.digest.clone());
                let issues = Vec::new();
                step.judged.push(JudgedSubmission { attempt, digest, issues });
                step.submission = Some(submission.clone());
                // An earlier decision was about an earlier submission.
                step.verdict = None;
                step.awaiting.clear();
                step.phase = Phase::Accepted;
                step.attempts += 1;
                self.say(&submission.context);
                self.spent.attempts += 1;
            }
            Event::SubmissionRejected { key, attempt, digest, issues, counted, output } => {
                let fits = |phase: &Phase| {
                    matches!(phase, Phase::Offered(_) | Phase::Verifying | Phase::Decided(false))
                };
                let step = self.from(key, at, fits)?;
                let (digest, issues) = (digest.clone(), issues.clone());
                step.judged.push(JudgedSubmission { attempt: *attempt, digest, issues });
                step.refused += u32::from(*counted);
                step.attempts += u32::from(*counted);
                let submitted = step.submission.take().map(|submission| submission.output);
                step.refused_output = output.clone().or(submitted);
                step.awaiting.clear();
                step.phase = Phase::Rejected;
                step.asked = Some(seq);
                self.spent.attempts += u64::from(*counted);
            }
            Event::ContextAdded { values, .. } => self.say(values),
            _ => {}
        }
        Ok(())
    }

    /// Adds variables to the context.
    fn say(&mut self, values: &Map<String, Value>) {
        let seq = self.seq + 1;
        self.context.extend(values.clone());
        self.context_seq.extend(values.keys().map(|name| (name.clone(), seq)));
    }

    fn received(&mut self, submission: &Submission, at: u64) -> Result<(), String> {
        let step = self.submitted(submission, at)?;
        let own = step.submission.as_ref().filter(|_| step.phase == Phase::Verifying);
        match own.map(|own| own.digest == submission.digest) {
            // This is the same submission again: another sender is waiting for the verdict.
            Some(true) => step.awaiting.extend(submission.messages.iter().cloned()),
            Some(false) => return Err("another submission is being checked".to_owned()),
            None => {
                step.awaiting.clone_from(&submission.messages);
                step.submission = Some(Submission { messages: Vec::new(), ..submission.clone() });
                step.phase = Phase::Verifying;
                // An earlier submission's checks do not apply to a new one.
                let below = self.below(&submission.key).map(|(below, _)| below.clone());
                let checks: Vec<StepKey> = below.collect();
                checks.iter().for_each(|check| self.forget(check));
            }
        }
        Ok(())
    }

    fn submitted(&mut self, submission: &Submission, at: u64) -> Result<&mut StepState, String> {
        let attempt = submission.attempt;
        let fits = |phase: &Phase| match phase {
            Phase::Offered(offered) => *offered == attempt,
            Phase::Verifying => true,
            _ => false,
        };
        self.from(&submission.key, at, fits)
    }

    fn take_approval(&mut self, event: &Event, at: u64) -> Result<(), String> {
        match event {
            Event::ApprovalRequested(request) => {
                let fits = |phase: &Phase| {
                    matches!(phase, Phase::Pending | Phase::Accepted | Phase::Voided)
                };
                // The question was assembled in the state before this event.
                let shown = self.now_ms;
                let step = self.from(&request.key, at, fits)?;
                step.asked_ms = Some(shown);
                step.request = Some(request.clone());
                step.verdict = None;
                step.phase = Phase::Asking;
            }
            Event::Approved(verdict) | Event::Rejected(verdict) => {
                let step = self.from(&verdict.key, at, |phase| *phase == Phase::Asking)?;
                let asked = step.request.as_ref().map(|request| request.digest.as_str());
                if asked != Some(verdict.digest.as_str()) {
                    return Err("it answers a question that was not asked".to_owned());
                }
                step.verdict = Some(verdict.clone());
                step.phase = Phase::Decided(matches!(event, Event::Approved(_)));
            }
            Event::ApprovalVoided { key, .. } => {
                let step = self.from(key, at, |phase| *phase == Phase::Succeeded)?;
                step.phase = Phase::Voided;
                step.ended_ms = None;
            }
            Event::WentBack { from, to, reason, reset } => {
                self.forgettable(reset)?;
                if !reset.contains(from) {
                    return Err(format!("`{from}` goes back but is not reset"));
                }
                let step = self.from(from, at, |phase| *phase == Phase::Decided(false))?;
                step.sent_back += 1;
                reset.iter().for_each(|key| self.forget(key));
                self.steps.entry(to.clone()).or_default().feedback = Some(reason.clone());
            }
            _ => {}
        }
        Ok(())
    }

    fn take_run(&mut self, event: &Event) -> Result<(), String> {
        match event {
            Event::WorldPinned { .. } if self.head.world.is_some() => {
                return Err("the run already has a world".to_owned());
            }
            Event::WorldPinned { world } => self.head.world = Some(world.clone()),
            Event::BudgetWarned { budget, .. } if self.warned.contains(budget) => {
                return Err("a warning was already recorded".to_owned());
            }
            Event::BudgetWarned { budget, .. } => self.warned.push(*budget),
            Event::BudgetReached { .. } if self.parked.is_some() => {
                return Err("the run is already parked".to_owned());
            }
            Event::BudgetReached { budget, .. } => self.parked = Some(*budget),
            Event::CancelRequested { .. } if self.canceling.is_some() => {
                return Err("the run is already being canceled".to_owned());
            }
            Event::CancelRequested { by, .. } => {
                self.canceling = Some(by.clone());
                (self.paused, self.paused_by) = (false, None);
                self.parked = None;
            }
            Event::Paused { .. } if self.paused => {
                return Err("the run is already paused".to_owned());
            }
            Event::Resumed { .. } if !self.paused => return Err("the run is not paused".to_owned()),
            Event::Paused { by } => (self.paused, self.paused_by) = (true, Some(by.clone())),
            Event::Resumed { .. } => (self.paused, self.paused_by) = (false, None),
            Event::RunResumedFrom(resumption) => {
                self.forgettable(&resumption.reset)?;
                self.forgettable(resumption.overrides.keys())?;
                self.resumed(resumption);
            }
            Event::RunSucceeded { output } => self.ended(End::Succeeded(output.clone()))?,
            Event::RunFailed { failure, .. } => {
                self.ended(End::Failed(Box::new(failure.clone())))?;
            }
            Event::RunCanceled => self.ended(End::Canceled)?,
            _ => {}
        }
        Ok(())
    }

    fn resumed(&mut self, resumption: &Resumption) {
        self.uncount_failed(resumption);
        self.ask_again(resumption);
        resumption.reset.iter().for_each(|key| self.forget(key));
        if resumption.from == Resumption::START {
            // Restarting from the beginning must not continue earlier child runs.
            self.steps.values_mut().for_each(|step| step.left = None);
        }
        resumption.reopen.iter().for_each(|key| self.reopen(key));
        for (key, output) in &resumption.overrides {
            let (now, seq) = (self.now_ms, self.seq + 1);
            let step = self.begun(key, now);
            step.output = Some(output.clone());
            step.failure = None;
            step.phase = Phase::Succeeded;
            (step.ended_ms, step.ended_seq) = (Some(now), seq);
            self.show(key);
            self.note(key);
        }
        self.head.inputs.extend(resumption.inputs.clone());
        self.head.defaulted.retain(|name| !resumption.given.contains(name));
        let inputs = Value::Object(self.head.inputs.clone());
        self.names.insert("inputs".to_owned(), inputs);
        self.head.env.extend(resumption.env.clone());
        self.names.insert("env".to_owned(), Value::Object(self.head.env.clone()));
        self.head.text_hash.clone_from(&resumption.text_hash);
        self.head.plan_hash.clone_from(&resumption.plan_hash);
        if resumption.world.is_some() {
            self.head.world.clone_from(&resumption.world);
        }
        (self.head.deadline_ms, self.waited_ms) = (resumption.deadline_ms, 0);
        self.head.budget.extend(&resumption.budget);
        self.warned.clear();
        self.parked = None;
        self.canceling = None;
        (self.paused, self.paused_by) = (false, None);
        self.end = None;
        self.only = resumption.only.then(|| StepKey::of_walk(&resumption.from));
    }

    /// Forgets the questions that the run itself asked, unless they were answered with yes and what
    /// the answer covers is unchanged.
    fn ask_again(&mut self, resumption: &Resumption) {
        let changed = resumption.bound.is_some()
            || !resumption.inputs.is_empty()
            || !resumption.env.is_empty()
            || resumption.text_hash != self.head.text_hash
            || resumption.world.as_ref().is_some_and(|_| resumption.world != self.head.world);
        let asked = self.steps.range(StepKey::reserved());
        let again = asked.filter(|(_, step)| changed || step.phase != Phase::Succeeded);
        let again: Vec<StepKey> = again.map(|(key, _)| key.clone()).collect();
        again.iter().for_each(|key| self.forget(key));
        if let Some(bound) = &resumption.bound {
            self.head.bound = Some(bound.clone());
            self.head.consent.clone_from(&resumption.consent);
            self.written.clear();
        }
    }

    /// Reopens a list or a loop and keeps the items or passes that succeeded.
    fn reopen(&mut self, key: &StepKey) {
        let Some(step) = self.steps.get_mut(key) else { return };
        (step.phase, step.ended_ms) = (Phase::Listed, None);
        (step.output, step.failure) = (None, None);
        self.hide(key);
        // Inside a loop, a name refers to the last pass that has ended, which may now be an earlier
        // one.
        self.note(key);
        let mut kept: Vec<(Option<u64>, StepKey)> = self
            .below(key)
            .filter(|(_, step)| step.phase.is_closed())
            .map(|(other, step)| (step.ended_ms, other.clone()))
            .collect();
        kept.sort();
        kept.iter().for_each(|(_, other)| self.show(other));
    }

    fn ended(&mut self, end: End) -> Result<(), String> {
        if let Some((key, _)) = self.open().next() {
            return Err(format!("`{key}` is still in progress"));
        }
        self.end = Some(end);
        Ok(())
    }

    /// The execution, marked as started now if it has not started before.
    fn begun(&mut self, key: &StepKey, at: u64) -> &mut StepState {
        let step = self.steps.entry(key.clone()).or_default();
        step.began_ms.get_or_insert(at);
        step
    }

    fn from(
        &mut self,
        key: &StepKey,
        at: u64,
        fits: impl Fn(&Phase) -> bool,
    ) -> Result<&mut StepState, String> {
        let phase = self.phase(key);
        if !fits(phase) {
            return Err(misfit(key, phase));
        }
        Ok(self.begun(key, at))
    }

    fn close(&mut self, key: &StepKey, phase: Phase, at: u64) {
        let seq = self.seq + 1;
        let step = self.begun(key, at);
        step.phase = phase;
        (step.ended_ms, step.ended_seq) = (Some(at), seq);
        step.awaiting.clear();
        self.show(key);
        self.count(key);
    }

    /// Records in the list that one of its items has ended, so that callers do not have to scan all
    /// items.
    fn count(&mut self, key: &StepKey) {
        let Some((list, index)) = key.list() else { return };
        let Some(stands) = self.steps.get(&list) else { return };
        let mut over = stands.items_over;
        while self.phase(&list.item(over)).is_closed() {
            over += 1;
        }
        let failed = *self.phase(key) == Phase::Failed;
        if let Some(step) = self.steps.get_mut(&list) {
            step.items_over = over;
            step.item_failed = step.item_failed.or(failed.then_some(index));
        }
    }

    /// Records in the list that one of its items is to be done again.
    fn uncount(&mut self, key: &StepKey) {
        let Some((list, index)) = key.list() else { return };
        let of_list = |other: &StepKey| other.list().is_some_and(|(of, _)| of == list);
        let failed = self.failed().find(|(other, _)| of_list(other));
        let failed = failed.and_then(|(other, _)| other.list()).map(|(_, index)| index);
        if let Some(step) = self.steps.get_mut(&list) {
            step.items_over = step.items_over.min(index);
            step.item_failed = failed;
        }
    }

    /// Whether this execution, or one below it, has a request or a child run in flight.
    pub fn is_busy(&self, key: &StepKey) -> bool {
        let mut within = self.open().filter(|(other, _)| other.is_within(key));
        within.any(|(_, step)| step.phase.is_busy())
    }

    /// Checks that these executions have nothing in flight: a late outcome would be mistaken for
    /// that of the next attempt.
    fn forgettable<'k>(&self, keys: impl IntoIterator<Item = &'k StepKey>) -> Result<(), String> {
        match keys.into_iter().find(|key| self.is_busy(key)) {
            Some(key) => Err(misfit(key, self.phase(key))),
            None => Ok(()),
        }
    }

    /// Resets an execution and everything below it, as if it had not started.
    fn forget(&mut self, key: &StepKey) {
        let within: Vec<StepKey> = self.within(key).map(|(within, _)| within.clone()).collect();
        for key in within {
            if let Some(step) = self.steps.get_mut(&key) {
                let generation = step.generation + 1;
                let (sent_back, feedback) = (step.sent_back, step.feedback.take());
                let (request, verdict) = (step.request.take(), step.verdict.take());
                let judged = std::mem::take(&mut step.judged);
                let left = step.leaves().cloned().map(Box::new);
                let wrote = step.wrote.take();
                *step = StepState {
                    generation,
                    left,
                    judged,
                    offered: step.offered,
                    request,
                    verdict,
                    feedback,
                    sent_back,
                    wrote,
                    ..StepState::default()
                };
            }
            self.note(&key);
            self.hide(&key);
        }
        self.uncount(key);
    }

    fn hide(&mut self, key: &StepKey) {
        if let Some(view) = self.view().filter(|_| !key.is_item()) {
            view.remove(key.step());
        }
    }

    /// Makes an execution visible to expressions.
    fn show(&mut self, key: &StepKey) {
        let hidden = key.is_item() || key.is_reserved();
        let Some(step) = self.steps.get(key).filter(|_| !hidden) else { return };
        let mut shown = Map::new();
        shown.insert("status".to_owned(), step.phase.status().name().into());
        shown.insert("attempts".to_owned(), step.attempts.into());
        if let Some(output) = &step.output {
            shown.insert("output".to_owned(), output.clone());
        }
        let closed = matches!(step.phase, Phase::Failed | Phase::Succeeded);
        if let Some(failure) = step.failure.as_ref().filter(|_| closed) {
            let mut error = json!({"code": failure.code, "message": failure.message()});
            let items = failure.context.as_deref().and_then(|context| context.get(ITEMS));
            if let Some(items) = items {
                error[ITEMS] = items.clone();
            }
            shown.insert("error".to_owned(), error);
        }
        if let Some(answer) = &step.answer {
            shown.insert("headers".to_owned(), Value::Object(answer.headers.clone()));
        }
        let name = key.step().to_owned();
        if let Some(view) = self.view() {
            view.insert(name, Value::Object(shown));
        }
    }
}

/// Adds what a child has written beyond what is already counted; returns what is counted now.
fn added(own: &mut WriteCounts, now: &WriteCounts, mut counted: WriteCounts) -> WriteCounts {
    for (name, now) in now {
        let before = counted.entry(name.clone()).or_default();
        *own.entry(name.clone()).or_default() += now.saturating_sub(*before);
        *before = (*before).max(*now);
    }
    counted
}

/// The names that expressions can use when the run starts.
fn names(created: &RunCreated, at_ms: u64) -> Map<String, Value> {
    let run = json!({
        "id": created.run,
        "workflow": created.workflow,
        "started_at": time::rfc3339(at_ms),
    });
    let inputs = Value::Object(created.inputs.clone());
    let env = Value::Object(created.env.clone());
    let named = [("inputs", inputs), ("steps", json!({})), ("env", env), ("run", run)];
    named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

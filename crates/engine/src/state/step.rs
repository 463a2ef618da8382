//! One execution of a step: where it stands, and what it has come to.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::State;
use crate::event::{
    ActorKind, ApprovalDecision, ApprovalRequest, Attempt, Budget, CallAnswer, ChildOutcome,
    Submission, SubmissionIssue,
};
use crate::named_enum::named_enum;
use crate::{BudgetUsage, Cause, Failure, StepKey, limits};

/// Where an execution of a step stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Phase {
    /// It has not begun.
    #[default]
    Pending,
    /// Its items are known and under way.
    Listed,
    /// A request is on its way.
    Calling(Box<Attempt>),
    /// It is tried again at a time.
    Backoff(u64),
    /// It is polled again at a time.
    Between(u64),
    /// It waits for a time.
    Sleeping(u64),
    /// There is an answer; what it means is to be decided.
    Answered,
    /// It will not be tried again.
    Failing(Box<Failure>),
    /// Nobody knows whether it took effect.
    Unknown(Box<Failure>),
    /// An agent may work on it: which try.
    Offered(u32),
    /// What an agent claims is being checked.
    Verifying,
    /// What an agent claims will not do.
    Rejected,
    /// What an agent claims will do.
    Accepted,
    /// A person is asked.
    Asking,
    /// A person has answered.
    Decided(bool),
    /// What a person approved has changed.
    Voided,
    /// Another run works on it.
    Child(String),
    /// It is done.
    Succeeded,
    /// It is over without success.
    Failed,
    /// It does not run.
    Skipped,
    /// The run was canceled before it was done.
    Canceled,
}

impl Phase {
    /// Whether nothing more comes of it.
    pub fn is_closed(&self) -> bool {
        matches!(self, Phase::Succeeded | Phase::Failed | Phase::Skipped | Phase::Canceled)
    }

    /// Whether something is on its way whose end is still to be told.
    pub fn is_busy(&self) -> bool {
        matches!(self, Phase::Calling(_) | Phase::Child(_))
    }

    /// When it goes on by itself.
    pub fn wakes_at(&self) -> Option<u64> {
        match self {
            Phase::Backoff(at) | Phase::Between(at) | Phase::Sleeping(at) => Some(*at),
            _ => None,
        }
    }

    /// What people see of it.
    pub fn status(&self) -> StepStatus {
        match self {
            Phase::Pending => StepStatus::Pending,
            Phase::Succeeded => StepStatus::Succeeded,
            Phase::Failed => StepStatus::Failed,
            Phase::Skipped => StepStatus::Skipped,
            Phase::Canceled => StepStatus::Canceled,
            Phase::Unknown(_)
            | Phase::Offered(_)
            | Phase::Rejected
            | Phase::Asking
            | Phase::Voided => StepStatus::Waiting,
            Phase::Listed
            | Phase::Calling(_)
            | Phase::Backoff(_)
            | Phase::Between(_)
            | Phase::Sleeping(_)
            | Phase::Answered
            | Phase::Failing(_)
            | Phase::Verifying
            | Phase::Accepted
            | Phase::Decided(_)
            | Phase::Child(_) => StepStatus::Running,
        }
    }
}

named_enum! {
    /// The status of a step, as people and expressions see it.
    StepStatus {
        /// It has not begun.
        Pending = "pending",
        /// Something is under way, or due.
        Running = "running",
        /// A person or an agent has to act.
        Waiting = "waiting",
        Succeeded = "succeeded",
        Failed = "failed",
        /// Its condition, or what it depends on, left it out.
        Skipped = "skipped",
        /// The run was canceled before it was done.
        Canceled = "canceled",
    }
}

/// One execution of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepState {
    /// Where it stands.
    pub phase: Phase,
    /// How often it was forgotten and begun again.
    pub generation: u32,
    /// Tries, those that were interrupted not counted.
    pub attempts: u32,
    /// The event that began the attempt on its way, which names it.
    pub attempt_seq: Option<u64>,
    /// When the last attempt began, and how long it may take, in milliseconds.
    pub attempt_ms: Option<(u64, u64)>,
    /// The attempt of which somebody has to say what became of it.
    pub in_doubt: Option<Box<Attempt>>,
    /// Passes of polling that are over.
    pub passes: u32,
    /// The event after which somebody has to say what became of it.
    pub asked: Option<u64>,
    /// Nobody has said yet what became of its last request.
    pub unsettled: bool,
    /// What came back last.
    pub answer: Option<CallAnswer>,
    /// The run that worked on it last.
    pub child: Option<Box<ChildState>>,
    /// A run that worked on it and did not succeed: it can go on.
    pub left: Option<Box<ChildState>>,
    /// Its output.
    pub output: Option<Value>,
    /// Why it failed.
    pub failure: Option<Failure>,
    /// The items it runs over.
    pub items: Option<Arc<Vec<Value>>>,
    /// So many of its first items are over.
    pub items_over: usize,
    /// An item that failed.
    pub item_failed: Option<usize>,
    /// What was submitted, and what became of it.
    pub judged: Vec<JudgedSubmission>,
    /// Submissions that used up a try.
    pub refused: u32,
    /// The last try that was offered to an agent; it never starts over, so that a try names one
    /// submission for good.
    pub offered: u32,
    /// What is being checked, or was accepted.
    pub submission: Option<Submission>,
    /// Messages whose senders wait for the verdict on it.
    pub awaiting: Vec<String>,
    /// The time that stood in what a person was asked last: that of the event before.
    pub asked_ms: Option<u64>,
    /// What a person was asked last.
    pub request: Option<Box<ApprovalRequest>>,
    /// What the person said.
    pub verdict: Option<Box<ApprovalDecision>>,
    /// What a person said when it was sent back.
    pub feedback: Option<String>,
    /// How often it sent the run back.
    pub sent_back: u32,
    /// What it changed, or may have changed, in the world, however often it was forgotten since.
    pub wrote: Option<WriteRecord>,
    /// When it began.
    pub began_ms: Option<u64>,
    /// When it was over.
    pub ended_ms: Option<u64>,
}

/// A run that a step started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildState {
    /// Which.
    pub run: String,
    /// A digest of what it was given.
    pub given: Option<String>,
    /// What it may spend.
    pub rest: BTreeMap<Budget, u64>,
    /// What it spent, as far as that is added up.
    pub counted: BudgetUsage,
    /// Whether it had ended without success, and goes on.
    pub continues: bool,
}

/// Requests that changed something, or may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRecord {
    /// How many.
    pub times: u32,
    /// The last one in short: `POST /refunds`.
    pub request: String,
    /// Whether that may be sent again.
    pub repeatable: bool,
}

/// What became of a submission.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedSubmission {
    /// Which try.
    pub attempt: u32,
    /// What was submitted.
    pub digest: String,
    /// What is wrong with it; nothing when it was accepted.
    pub issues: Vec<SubmissionIssue>,
    /// The world or a person spoke against it, and may think otherwise the next time.
    pub checked: bool,
}

impl StepState {
    /// Whether it has begun and is not over.
    pub fn is_open(&self) -> bool {
        self.began_ms.is_some() && !self.phase.is_closed()
    }

    /// Whether it asked a person, and nobody answered in time.
    pub fn has_lapsed(&self) -> bool {
        let by_time = |verdict: &ApprovalDecision| verdict.by.kind == ActorKind::Engine;
        self.phase == Phase::Decided(false) && self.verdict.as_deref().is_some_and(by_time)
    }

    /// What a step came to when nothing else was said.
    pub(super) fn produced(&self) -> Option<Value> {
        let submitted = self.submission.as_ref().map(|submission| submission.output.clone());
        submitted.or_else(|| self.answer.as_ref().map(|answer| answer.output.clone()))
    }

    /// Nobody knows what became of the request on its way: it is kept for those who find out.
    pub(super) fn doubt(&mut self, failure: &Failure) {
        let unknown = Phase::Unknown(Box::new(failure.clone()));
        if let Phase::Calling(attempt) = std::mem::replace(&mut self.phase, unknown) {
            self.in_doubt = Some(attempt);
        }
    }

    /// When the request began whose end nobody saw, and how long it may take.
    pub fn doubtful_ms(&self) -> Option<(u64, u64)> {
        self.attempt_ms.filter(|_| self.in_doubt.is_some())
    }

    /// Notes that the request on its way changed something, or may have.
    pub(super) fn note_write(&mut self) {
        let Phase::Calling(attempt) = &self.phase else { return };
        if attempt.write {
            let times = self.wrote.as_ref().map_or(0, |wrote| wrote.times) + 1;
            let (request, repeatable) = (attempt.request.clone(), attempt.repeatable);
            self.wrote = Some(WriteRecord { times, request, repeatable });
        }
    }

    /// The last request changed nothing after all.
    pub(super) fn unwrite(&mut self) {
        if let Some(wrote) = &mut self.wrote {
            wrote.times = wrote.times.saturating_sub(1);
        }
        self.wrote.take_if(|wrote| wrote.times == 0);
    }

    pub(super) fn finish_child(&mut self, outcome: &ChildOutcome) {
        self.phase = match outcome {
            ChildOutcome::Succeeded { output } => {
                self.answer = Some(CallAnswer { output: output.clone(), ..CallAnswer::default() });
                Phase::Answered
            }
            ChildOutcome::Failed { failure } => Phase::Failing(Box::new(failure.clone())),
            ChildOutcome::Canceled => Phase::Failing(Box::new(Cause::ChildCanceled.into())),
            ChildOutcome::Gone { failure } => Phase::Unknown(Box::new(failure.clone())),
        };
    }

    /// The time that a person was shown, where what was shown still counts.
    pub fn shown_ms(&self) -> Option<u64> {
        let counts = matches!(self.phase, Phase::Asking | Phase::Decided(_) | Phase::Succeeded);
        self.asked_ms.filter(|_| counts)
    }

    /// The run that can go on when this is begun again.
    pub fn leaves(&self) -> Option<&ChildState> {
        let left = match self.phase {
            Phase::Failed | Phase::Canceled => self.child.as_deref(),
            Phase::Pending => self.left.as_deref(),
            _ => None,
        };
        left.filter(|left| left.given.is_some())
    }

    /// Tries an agent has left.
    pub fn tries_left(&self, limit: Option<u32>) -> u32 {
        limit.unwrap_or(limits::SUBMISSIONS).saturating_sub(self.refused)
    }
}

/// Where a failure of a list has those of its items.
pub(super) const ITEMS: &str = "items";

impl State {
    /// What failed of a list that goes on all the same: a problem at the index of each such item.
    pub(super) fn failed_items(&self, key: &StepKey) -> Option<Failure> {
        let list = self.steps.get(key)?;
        let first = self.steps.get(&key.item(list.item_failed?))?.failure.as_ref()?;
        let failures = (0..list.items.as_ref()?.len()).map(|index| {
            let item = self.steps.get(&key.item(index))?;
            item.failure.as_ref().filter(|_| item.phase == Phase::Failed)
        });
        let failures: Vec<Option<&Failure>> = failures.collect();
        let tell = |failure: &Failure| json!({"code": failure.code, "message": failure.message()});
        let told: Vec<Value> =
            failures.iter().map(|one| one.map(tell).unwrap_or_default()).collect();
        let (failed, all) = (failures.iter().flatten().count(), failures.len());
        let message = format!("{failed} of {all} items failed: {}", first.message());
        Some(first.clone().retold(message).with(ITEMS, told))
    }
}

/// Whether a step can be over from here on: not before what is on its way has come to its end.
pub(super) fn is_closable(phase: &Phase) -> bool {
    !phase.is_closed() && !phase.is_busy()
}

pub(super) fn misfit(key: &StepKey, phase: &Phase) -> String {
    let told = match phase {
        Phase::Calling(_) => "being called",
        Phase::Answered => "answered",
        Phase::Failing(_) => "failing",
        Phase::Offered(_) => "offered to an agent",
        Phase::Asking => "asking a person",
        other => other.status().name(),
    };
    format!("`{key}` is {told}")
}

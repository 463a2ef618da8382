//! One execution of a step: its phase and its results.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::State;
use crate::effect_bound::{CallEffect, WriteCounts};
use crate::event::{
    ActorKind, ApprovalDecision, ApprovalRequest, Attempt, BudgetKind, CallAnswer, ChildOutcome,
    Submission, SubmissionIssue,
};
use crate::{BudgetUsage, Cause, Failure, StepKey, limits};
use milepost_model::serialized_enum;

/// The phase of a step's execution.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Phase {
    /// It has not started.
    #[default]
    Pending,
    /// Its items are known and being processed.
    Listed,
    /// A request is in flight.
    Calling(Box<Attempt>),
    /// It will be retried at this time.
    Backoff(u64),
    /// It will be polled again at this time.
    Between(u64),
    /// It is waiting until this time.
    Sleeping(u64),
    /// An answer has arrived but has not been evaluated.
    Answered,
    /// It has failed and will not be retried.
    Failing(Box<Failure>),
    /// Nobody knows whether its request took effect.
    Unknown(Box<Failure>),
    /// An agent may work on it; this is the attempt number.
    Offered(u32),
    /// An agent's submission is being checked.
    Verifying,
    /// An agent's submission was rejected.
    Rejected,
    /// An agent's submission was accepted.
    Accepted,
    /// A person is being asked.
    Asking,
    /// A person has answered; true means approved.
    Decided(bool),
    /// The requests that a person approved have changed.
    Voided,
    /// A child run is working on it.
    Child(String),
    Succeeded,
    Failed,
    /// Its condition or its dependencies ruled it out.
    Skipped,
    /// It was canceled before it was done.
    Canceled,
}

impl Phase {
    /// Whether the execution has ended.
    pub fn is_closed(&self) -> bool {
        matches!(self, Phase::Succeeded | Phase::Failed | Phase::Skipped | Phase::Canceled)
    }

    /// Whether a request or a child run is in flight.
    pub fn is_busy(&self) -> bool {
        matches!(self, Phase::Calling(_) | Phase::Child(_))
    }

    /// When the execution continues on its own.
    pub fn wakes_at(&self) -> Option<u64> {
        match self {
            Phase::Backoff(at) | Phase::Between(at) | Phase::Sleeping(at) => Some(*at),
            _ => None,
        }
    }

    /// The status that people see.
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

serialized_enum! {
    /// The status of a step, as people and expressions see it.
    StepStatus {
        /// It has not started.
        Pending = "pending",
        /// Something is in progress or due.
        Running = "running",
        /// A person or an agent has to act.
        Waiting = "waiting",
        Succeeded = "succeeded",
        Failed = "failed",
        /// Its condition or its dependencies ruled it out.
        Skipped = "skipped",
        /// The run was canceled before the step was done.
        Canceled = "canceled",
    }
}

/// The state of one execution of a step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepState {
    pub phase: Phase,
    /// How many times it was reset.
    pub generation: u32,
    /// The number of attempts, not counting interrupted ones.
    pub attempts: u32,
    /// The sequence number of the event that started the current attempt, which identifies it.
    pub attempt_seq: Option<u64>,
    /// When the last attempt started, and its timeout, in milliseconds.
    pub attempt_ms: Option<(u64, u64)>,
    /// The attempt whose outcome a person has to decide.
    pub in_doubt: Option<Box<Attempt>>,
    /// The number of finished polling passes.
    pub passes: u32,
    /// The sequence number of the event that left the outcome for a person to decide.
    pub asked: Option<u64>,
    /// Whether the outcome of the last request is still undecided.
    pub unsettled: bool,
    /// The last answer.
    pub answer: Option<CallAnswer>,
    /// The child run that last worked on it.
    pub child: Option<Box<ChildState>>,
    /// A child run that worked on it without success and can be continued.
    pub left: Option<Box<ChildState>>,
    pub output: Option<Value>,
    pub failure: Option<Failure>,
    /// The items that the step runs over.
    pub items: Option<Arc<Vec<Value>>>,
    /// The number of leading items of the list that have all ended.
    pub items_over: usize,
    /// The index of an item that failed.
    pub item_failed: Option<usize>,
    /// The submissions so far and their verdicts.
    pub judged: Vec<JudgedSubmission>,
    /// The number of rejected submissions that used up an attempt.
    pub refused: u32,
    /// The number of the last attempt offered to an agent. It never starts over, so that a number
    /// always identifies one submission.
    pub offered: u32,
    /// The submission that is being checked or was accepted.
    pub submission: Option<Submission>,
    /// The output of the last submission that was rejected, if it is known.
    pub refused_output: Option<Value>,
    /// Messages whose senders are waiting for the verdict on the submission.
    pub awaiting: Vec<String>,
    /// The timestamp shown in the last question to a person: the time of the preceding event.
    pub asked_ms: Option<u64>,
    /// The last question to a person.
    pub request: Option<Box<ApprovalRequest>>,
    /// The person's decision.
    pub verdict: Option<Box<ApprovalDecision>>,
    /// A person's comment when they sent the run back to this step.
    pub feedback: Option<String>,
    /// How many times it sent the run back.
    pub sent_back: u32,
    /// The reset and the polling pass whose write was last counted.
    pub counted: Option<(u32, u32)>,
    /// What the last request would have changed, if it failed.
    pub undone: Option<Box<CallEffect>>,
    /// The writes that took effect or may have done so, including those before a reset.
    pub wrote: Option<WriteRecord>,
    pub began_ms: Option<u64>,
    pub ended_ms: Option<u64>,
    /// The sequence number of the event that ended it.
    pub(crate) ended_seq: u64,
}

/// A child run that a step started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChildState {
    pub run: String,
    /// A digest of its workflow and inputs.
    pub given: Option<String>,
    /// The budget that it may use.
    pub rest: BTreeMap<BudgetKind, u64>,
    /// How many writes of each kind it may make.
    pub handed: WriteCounts,
    /// The part of its spending that is already added to the parent's.
    pub counted: BudgetUsage,
    /// The part of its writes that is already added to the parent's.
    pub wrote: WriteCounts,
    /// Whether it had ended without success and was continued.
    pub continues: bool,
}

/// Requests that changed something or may have done so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteRecord {
    /// The number of requests.
    pub times: u32,
    /// A short form of the last request, such as `POST /refunds`.
    pub request: String,
    /// Whether the last request may be sent again.
    pub repeatable: bool,
}

/// The verdict on a submission.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedSubmission {
    pub attempt: u32,
    /// A digest of what was submitted.
    pub digest: String,
    /// What is wrong with the submission; empty if it was accepted.
    pub issues: Vec<SubmissionIssue>,
}

impl StepState {
    /// Whether the execution has started but not ended.
    pub fn is_open(&self) -> bool {
        self.began_ms.is_some() && !self.phase.is_closed()
    }

    /// Whether a person was asked and did not answer in time.
    pub fn has_lapsed(&self) -> bool {
        let by_time = |verdict: &ApprovalDecision| verdict.by.kind == ActorKind::Engine;
        self.phase == Phase::Decided(false) && self.verdict.as_deref().is_some_and(by_time)
    }

    /// The step's output if the event that ends it contains none.
    pub(super) fn produced(&self) -> Option<Value> {
        let submitted = self.submission.as_ref().map(|submission| submission.output.clone());
        submitted.or_else(|| self.answer.as_ref().map(|answer| answer.output.clone()))
    }

    /// Marks the outcome of the request in flight as unknown, and keeps the attempt for the person
    /// who decides its outcome.
    pub(super) fn doubt(&mut self, failure: &Failure) {
        let unknown = Phase::Unknown(Box::new(failure.clone()));
        if let Phase::Calling(attempt) = std::mem::replace(&mut self.phase, unknown) {
            self.in_doubt = Some(attempt);
        }
    }

    /// When the request with the unknown outcome started, and its timeout.
    pub fn doubtful_ms(&self) -> Option<(u64, u64)> {
        self.attempt_ms.filter(|_| self.in_doubt.is_some())
    }

    /// Records that the request in flight changed something or may have done so.
    pub(super) fn note_write(&mut self) {
        let Phase::Calling(attempt) = &self.phase else { return };
        if attempt.write {
            let times = self.wrote.as_ref().map_or(0, |wrote| wrote.times) + 1;
            let (request, repeatable) = (attempt.request.clone(), attempt.repeatable);
            self.wrote = Some(WriteRecord { times, request, repeatable });
        }
    }

    /// Records that the last request changed nothing after all.
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

    /// The time that a person was shown, if what was shown still applies.
    pub fn shown_ms(&self) -> Option<u64> {
        let counts = matches!(self.phase, Phase::Asking | Phase::Decided(_) | Phase::Succeeded);
        self.asked_ms.filter(|_| counts)
    }

    /// The child run that can be continued when the step runs again.
    pub fn leaves(&self) -> Option<&ChildState> {
        let left = match self.phase {
            Phase::Failed | Phase::Canceled => self.child.as_deref(),
            Phase::Pending => self.left.as_deref(),
            _ => None,
        };
        left.filter(|left| left.given.is_some())
    }

    /// The number of attempts that an agent has left.
    pub fn tries_left(&self, limit: Option<u32>) -> u32 {
        limit.unwrap_or(limits::SUBMISSIONS).saturating_sub(self.refused)
    }
}

/// The context key under which a list's failure contains its items' failures.
pub(super) const ITEMS: &str = "items";

impl State {
    /// The failure that summarizes the failed items of a list that succeeded despite them, with a
    /// problem at the index of each failed item.
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

/// Whether a step may end now. It may not while something is in flight.
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

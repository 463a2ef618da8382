//! What a run remembers. A run's state is the fold of its events and nothing else.
//!
//! Events are facts and decisions, never progress. An old event is never edited: a field that is
//! added later has a default, and one whose meaning changes becomes another event.

pub(crate) mod cause;
pub(crate) mod failure;
mod sent_request;
pub(crate) mod step_key;
pub mod upcast;

use std::collections::BTreeMap;

use milepost_model::hint::Hint;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::named_enum::named_enum;
use crate::world::RunWorld;
use crate::{BudgetUsage, Failure, StepKey};
pub use sent_request::SentRequest;

/// An event with its place in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Its number in the run, from 1.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970; never before the one in front of it.
    pub at_ms: u64,
    /// What happened.
    pub event: Event,
}

/// What happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// It is on disk, so it is started.
    RunCreated(Box<RunCreated>),
    /// A run that was started without a world got one, before anything was sent in it.
    WorldPinned { world: Box<RunWorld> },
    /// The list of a step over a list, evaluated once: what it runs over is settled.
    StepScheduled { key: StepKey, items: Vec<Value> },
    /// A request is about to be sent.
    AttemptStarted(Attempt),
    /// It was answered.
    AttemptSucceeded { key: StepKey, answer: CallAnswer, duration_ms: u64 },
    /// It was not, or the answer says no.
    AttemptFailed {
        /// The step.
        key: StepKey,
        /// Why.
        failure: Failure,
        /// When it is tried again; never means the step fails.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at_ms: Option<u64>,
        /// The process ended while it was under way: this try does not count.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interrupted: bool,
    },
    /// Nobody knows whether it took effect, and it must not be repeated.
    AttemptUnknown { key: StepKey, failure: Failure },
    /// A person said what became of it.
    OutcomeDecided {
        /// The step.
        key: StepKey,
        /// Who.
        by: Actor,
        /// What.
        decision: Settlement,
        /// How they showed to be there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Proof>,
    },
    /// Its condition does not hold, or what it needs was skipped.
    StepSkipped {
        /// The step.
        key: StepKey,
        /// Why.
        reason: String,
        /// The values that decided.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        values: Map<String, Value>,
    },
    /// It is done.
    StepSucceeded {
        /// The step.
        key: StepKey,
        /// Its output, unless the answer of the last attempt or the submission is it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
    },
    /// It is over without success.
    StepFailed { key: StepKey, failure: Failure },
    /// It was under way, or due, when the run was canceled.
    StepCanceled { key: StepKey },
    /// An agent may work on it: which try, from 1.
    PromptOffered { key: StepKey, attempt: u32 },
    /// Something that meets the rules and is still to be checked against the world.
    SubmissionReceived(Submission),
    /// It was looked at and will not do.
    SubmissionRejected {
        /// The step.
        key: StepKey,
        /// Which try.
        attempt: u32,
        /// What was submitted, as a digest.
        digest: String,
        /// Everything that is wrong with it.
        issues: Vec<SubmissionIssue>,
        /// Whether it uses up one of the tries.
        counted: bool,
    },
    /// It will do.
    SubmissionAccepted(Submission),
    /// Variables of a guide that somebody added.
    ContextAdded { by: Actor, values: Map<String, Value> },
    /// A person is asked.
    ApprovalRequested(Box<ApprovalRequest>),
    /// A person said yes.
    Approved(Box<ApprovalDecision>),
    /// A person said no, or nobody answered in time.
    Rejected(Box<ApprovalDecision>),
    /// What was approved with the question `key` is no longer what would be done.
    ApprovalVoided { key: StepKey, changes: Vec<ApprovalChange> },
    /// A rejection of the question `from` goes back to the step `to`: the steps in `reset` are
    /// forgotten and run again. `reason` is what the person said.
    WentBack { from: StepKey, to: StepKey, reason: String, reset: Vec<StepKey> },
    /// Something happens at a time.
    TimerSet { key: StepKey, at_ms: u64 },
    /// The time has come.
    TimerFired { key: StepKey },
    /// Another workflow was started.
    ChildStarted {
        /// The step.
        key: StepKey,
        /// The run.
        run: String,
        /// A digest of what it was given.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        given: Option<String>,
        /// What it may spend.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        rest: BTreeMap<Budget, u64>,
    },
    /// It ended.
    ChildFinished {
        /// The step.
        key: StepKey,
        /// How.
        outcome: ChildOutcome,
        /// What it spent from its beginning on.
        #[serde(default, skip_serializing_if = "BudgetUsage::is_nothing")]
        spent: BudgetUsage,
    },
    /// Most of a budget is spent.
    BudgetWarned { budget: Budget, used: u64, limit: u64 },
    /// All of it is: a person decides.
    BudgetReached { budget: Budget, limit: u64 },
    /// Somebody wants it to end.
    CancelRequested {
        /// Who.
        by: Actor,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Nothing new begins.
    Paused { by: Actor },
    /// It goes on.
    Resumed { by: Actor },
    /// A run that had ended, or waits, goes on from somewhere.
    RunResumedFrom(Box<Resumption>),
    /// Its end: it did what it should.
    RunSucceeded {
        /// The final output.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
    },
    /// Its end: it could not.
    RunFailed {
        /// Why.
        failure: Failure,
        /// The step that failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<StepKey>,
    },
    /// Its end: somebody stopped it.
    RunCanceled,
}

/// The first event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunCreated {
    /// The run.
    pub run: String,
    /// The workflow.
    pub workflow: String,
    /// The hash of the text it was pinned from.
    pub text_hash: String,
    /// The meaning of the text.
    pub plan_hash: String,
    /// Its inputs; secret ones as sentinels.
    pub inputs: Map<String, Value>,
    /// Random and secret, so that nobody outside can forge a placeholder for a secret.
    #[serde(rename = "seal")]
    pub nonce: String,
    /// The inputs that are secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Those of them whose value came from their default: whoever drives the run reads it again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defaulted: Vec<String>,
    /// The variables of the environment that expressions of the workflow read; sentinels in the
    /// place of secrets.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub env: Map<String, Value>,
    /// Who started it.
    pub actor: Actor,
    /// The project it belongs to.
    pub workspace: String,
    /// The run and the step it was started by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    /// What it may spend.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub budget: BTreeMap<Budget, u64>,
    /// How presence must be shown to decide in it, at least.
    #[serde(default)]
    pub presence: Presence,
    /// The key that decisions of a person are signed with, when there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// When it is too late.
    pub deadline_ms: u64,
    /// Every call is answered by the mock of its catalog.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mock: bool,
    /// What its requests are made with, wherever it is driven. Runs of 0.1.0 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<Box<RunWorld>>,
}

/// The run and the step that started another run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    /// The run.
    pub run: String,
    /// The step.
    pub key: StepKey,
    /// How many runs are above.
    pub depth: u32,
}

/// Who did something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// A person, an agent, or the engine itself.
    pub kind: ActorKind,
    /// A name: of a user, or of a client.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// Who may do something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActorKind {
    /// A person.
    Person,
    /// A model.
    Agent,
    /// The engine: a timeout, a parent.
    Engine,
}

/// How a person showed to be there, least first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// The user's configuration approves this workflow unattended.
    Policy,
    /// Asked by the client, answered by the person.
    Elicitation,
    /// Typed on a terminal.
    #[default]
    Terminal,
    /// With the person's PIN.
    Pin,
}

/// How a person showed to be there when they decided something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// In which way.
    pub presence: Presence,
    /// The signature over what was decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl Proof {
    /// A word at a terminal.
    pub fn at_terminal() -> Proof {
        Proof { presence: Presence::Terminal, signature: None }
    }
}

/// One try of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    /// The step.
    pub key: StepKey,
    /// Which try of this execution, from 1.
    pub attempt: u32,
    /// What tells a server that two requests are one.
    pub idempotency_key: String,
    /// A digest of the request.
    pub request_digest: String,
    /// The request in short: `POST /refunds`.
    pub request: String,
    /// Whether it changes something.
    pub write: bool,
    /// Whether it may be sent again.
    pub repeatable: bool,
    /// How long it may take; runs of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The request itself, as it may be shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Box<SentRequest>>,
}

/// What came back.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallAnswer {
    /// The body.
    pub output: Value,
    /// The status.
    #[serde(default)]
    pub status: u16,
    /// Headers that say something.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub headers: Map<String, Value>,
    /// What is worth knowing: cut, or numbers kept as text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// What a person says about an unknown outcome, or a step nobody gets right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Settlement {
    /// It happened; this is what came of it.
    Happened {
        /// The output.
        #[serde(default)]
        output: Value,
    },
    /// It did not: it is done again.
    DidNot,
    /// The step has failed.
    GiveUp,
}

/// What an agent hands in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    /// The step.
    pub key: StepKey,
    /// Which try.
    pub attempt: u32,
    /// A digest of it.
    pub digest: String,
    /// What it is.
    pub output: Value,
    /// Variables it adds.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    /// Who.
    pub by: Actor,
    /// Messages whose senders wait for the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
}

/// What is wrong with a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmissionIssue {
    /// What.
    pub message: String,
    /// What to do.
    pub suggestion: Hint,
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// The step.
    pub key: StepKey,
    /// The question.
    pub message: String,
    /// What will be done after a yes, as far as it is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<ShownCall>,
    /// Steps that will send something after a yes of which it was not known what.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<StepKey>,
    /// A digest of all that was shown.
    pub digest: String,
    /// When it lapses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// What differs from what was approved before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ApprovalChange>,
}

impl ApprovalRequest {
    /// Whether it was known that a step would send something.
    pub(crate) fn names(&self, key: &StepKey) -> bool {
        let listed = key.list().is_some_and(|(list, _)| self.unshown.contains(&list));
        listed || self.unshown.contains(key) || self.shown.iter().any(|shown| shown.key == *key)
    }
}

/// A request that depends on an approval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownCall {
    /// The step.
    pub key: StepKey,
    /// A digest of the request.
    pub digest: String,
    /// The request in short.
    pub request: String,
    /// The same with where it goes to.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    /// Its arguments.
    pub arguments: Value,
}

/// Something that differs from what was approved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalChange {
    /// The step.
    pub key: StepKey,
    /// What was shown.
    pub before: Value,
    /// What it would be.
    pub after: Value,
}

/// What a person decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalDecision {
    /// The question.
    pub key: StepKey,
    /// The digest of what was shown.
    pub digest: String,
    /// Who.
    pub by: Actor,
    /// What they said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Their answer, when there is a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// How they showed to be there.
    pub presence: Presence,
    /// The signature over the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl ApprovalDecision {
    /// A decision that the engine makes without a person.
    pub(crate) fn by_engine(request: &ApprovalRequest, name: &str) -> Box<ApprovalDecision> {
        Box::new(ApprovalDecision {
            key: request.key.clone(),
            digest: request.digest.clone(),
            by: crate::engine_actor(name),
            comment: None,
            answer: None,
            presence: Presence::Policy,
            signature: None,
        })
    }
}

/// How a run that another one started ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ChildOutcome {
    /// It did what it should.
    Succeeded { output: Value },
    /// It could not.
    Failed { failure: Failure },
    /// Somebody stopped it.
    Canceled,
    /// It was there and is gone: what it did is for a person to find out.
    Gone { failure: Failure },
}

named_enum! {
    /// What a run can spend; named as in a manifest.
    #[derive(PartialOrd, Ord)]
    Budget {
        /// Requests.
        HttpCalls = "http_calls",
        /// Requests that change something.
        Writes = "writes",
        /// Tries of all kinds, submissions included.
        Attempts = "attempts",
    }
}

/// Where and how a run goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resumption {
    /// Who.
    pub by: Actor,
    /// What was asked for: `failed`, `start`, or a step.
    pub from: String,
    /// The steps that are forgotten and run again.
    pub reset: Vec<StepKey>,
    /// Lists and loops that go on where they broke off: what succeeded of them is kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopen: Vec<StepKey>,
    /// Outputs that a person put in the place of a step's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<StepKey, Value>,
    /// Inputs that differ from now on.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
    /// Variables of the environment that the text reads from now on.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub env: Map<String, Value>,
    /// The text from now on.
    pub text_hash: String,
    /// Its meaning.
    pub plan_hash: String,
    /// Budgets from now on.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub budget: BTreeMap<Budget, u64>,
    /// Only the named step runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it is too late.
    pub deadline_ms: u64,
    /// Secret inputs that were given anew: their defaults are not read again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<String>,
    /// Its world from now on, where that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<Box<RunWorld>>,
    /// How the person showed to be there, where this is theirs to decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
}

impl Resumption {
    /// What `from` says when the run goes on at its beginning.
    pub const START: &str = "start";
}

impl Event {
    /// The world that a run has from this event on.
    pub fn world(&self) -> Option<&RunWorld> {
        match self {
            Event::RunCreated(created) => created.world.as_deref(),
            Event::WorldPinned { world } => Some(world),
            Event::RunResumedFrom(resumption) => resumption.world.as_deref(),
            _ => None,
        }
    }

    /// Why something failed: its own failure, or that of the run of a step.
    pub fn failure(&self) -> Option<&Failure> {
        match self {
            Event::AttemptFailed { failure, .. }
            | Event::AttemptUnknown { failure, .. }
            | Event::StepFailed { failure, .. }
            | Event::RunFailed { failure, .. }
            | Event::ChildFinished { outcome: ChildOutcome::Failed { failure }, .. } => {
                Some(failure)
            }
            _ => None,
        }
    }

    /// The execution it is about; those that put several back are about the run.
    pub fn key(&self) -> Option<&StepKey> {
        match self {
            Event::StepScheduled { key, .. }
            | Event::AttemptSucceeded { key, .. }
            | Event::AttemptFailed { key, .. }
            | Event::AttemptUnknown { key, .. }
            | Event::OutcomeDecided { key, .. }
            | Event::StepSkipped { key, .. }
            | Event::StepSucceeded { key, .. }
            | Event::StepFailed { key, .. }
            | Event::StepCanceled { key }
            | Event::PromptOffered { key, .. }
            | Event::SubmissionRejected { key, .. }
            | Event::ApprovalVoided { key, .. }
            | Event::TimerSet { key, .. }
            | Event::TimerFired { key }
            | Event::ChildStarted { key, .. }
            | Event::ChildFinished { key, .. } => Some(key),
            Event::AttemptStarted(attempt) => Some(&attempt.key),
            Event::SubmissionReceived(submission) | Event::SubmissionAccepted(submission) => {
                Some(&submission.key)
            }
            Event::ApprovalRequested(request) => Some(&request.key),
            Event::Approved(verdict) | Event::Rejected(verdict) => Some(&verdict.key),
            Event::RunCreated(_)
            | Event::WorldPinned { .. }
            | Event::ContextAdded { .. }
            | Event::WentBack { .. }
            | Event::BudgetWarned { .. }
            | Event::BudgetReached { .. }
            | Event::CancelRequested { .. }
            | Event::Paused { .. }
            | Event::Resumed { .. }
            | Event::RunResumedFrom(_)
            | Event::RunSucceeded { .. }
            | Event::RunFailed { .. }
            | Event::RunCanceled => None,
        }
    }
}

/// The name of each kind of event, as it stands in the journal.
macro_rules! event_names {
    ($($variant:ident = $name:literal),* $(,)?) => {
        impl Event {
            /// The names of all kinds of events that this version knows.
            pub const KINDS: &[&str] = &[$($name),*];

            pub fn name(&self) -> &'static str {
                match self { $(Event::$variant { .. } => $name),* }
            }
        }
    };
}

event_names! {
    RunCreated = "run_created",
    WorldPinned = "world_pinned",
    StepScheduled = "step_scheduled",
    AttemptStarted = "attempt_started",
    AttemptSucceeded = "attempt_succeeded",
    AttemptFailed = "attempt_failed",
    AttemptUnknown = "attempt_unknown",
    OutcomeDecided = "outcome_decided",
    StepSkipped = "step_skipped",
    StepSucceeded = "step_succeeded",
    StepFailed = "step_failed",
    StepCanceled = "step_canceled",
    PromptOffered = "prompt_offered",
    SubmissionReceived = "submission_received",
    SubmissionRejected = "submission_rejected",
    SubmissionAccepted = "submission_accepted",
    ContextAdded = "context_added",
    ApprovalRequested = "approval_requested",
    Approved = "approved",
    Rejected = "rejected",
    ApprovalVoided = "approval_voided",
    WentBack = "went_back",
    TimerSet = "timer_set",
    TimerFired = "timer_fired",
    ChildStarted = "child_started",
    ChildFinished = "child_finished",
    BudgetWarned = "budget_warned",
    BudgetReached = "budget_reached",
    CancelRequested = "cancel_requested",
    Paused = "paused",
    Resumed = "resumed",
    RunResumedFrom = "run_resumed_from",
    RunSucceeded = "run_succeeded",
    RunFailed = "run_failed",
    RunCanceled = "run_canceled",
}

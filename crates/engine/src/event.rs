//! A run's events. The run's state is the fold of its events and nothing else.
//!
//! Events record facts and decisions, not progress. Recorded events are never edited: a field added
//! later has a default, and if the meaning of a field changes, a new event is introduced.

mod call_extras;
pub(crate) mod cause;
pub(crate) mod failure;
mod sent_request;
pub(crate) mod step_key;
pub mod upcast;

use std::collections::BTreeMap;

use milepost_model::hint::Hint;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use strum::{IntoStaticStr, VariantNames};

use crate::consent::ConsentTerms;
use crate::effect_bound::{CallEffect, EffectBound, WriteCounts};
use crate::world::RunWorld;
use crate::{BudgetUsage, Failure, StepKey};
pub use call_extras::{CallExtras, UsedFile, UsedSecret};
use milepost_model::serialized_enum;
pub use sent_request::SentRequest;

/// An event with its position in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalEntry {
    /// Sequence number within the run, starting at 1.
    pub seq: u64,
    /// When it happened, in milliseconds since the Unix epoch; never earlier than the previous
    /// entry.
    pub at_ms: u64,
    pub event: Event,
}

/// Something that happened in a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, IntoStaticStr, VariantNames)]
#[serde(tag = "event", rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// The run has been created and is on disk.
    RunCreated(Box<RunCreated>),
    /// A run that was created without a world was given one before it sent anything.
    WorldPinned {
        world: Box<RunWorld>,
    },
    /// The list that a step runs over was evaluated. This happens once, and the items are fixed
    /// from then on.
    StepScheduled {
        key: StepKey,
        items: Vec<Value>,
    },
    /// A request is about to be sent.
    AttemptStarted(Attempt),
    /// The request was answered.
    AttemptSucceeded {
        key: StepKey,
        answer: CallAnswer,
        duration_ms: u64,
    },
    /// The request was not answered, or the answer is an error.
    AttemptFailed {
        key: StepKey,
        failure: Failure,
        /// When it will be retried; `None` means the step fails.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at_ms: Option<u64>,
        /// The process ended while the request was in flight, so this attempt does not count.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        interrupted: bool,
    },
    /// Nobody knows whether the request took effect, and it must not be repeated.
    AttemptUnknown {
        key: StepKey,
        failure: Failure,
    },
    /// A person decided the outcome of a step.
    OutcomeDecided {
        key: StepKey,
        by: Actor,
        decision: Settlement,
        /// How the person proved their presence.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<Proof>,
    },
    /// The step's condition does not hold, or a step it needs was skipped.
    StepSkipped {
        key: StepKey,
        reason: String,
        /// The values that decided it.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        values: Map<String, Value>,
    },
    StepSucceeded {
        key: StepKey,
        /// The output, unless it is the last attempt's answer or the submission.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
    },
    StepFailed {
        key: StepKey,
        failure: Failure,
    },
    /// The step was in progress or due when the run was canceled.
    StepCanceled {
        key: StepKey,
    },
    /// An agent may work on the step; `attempt` starts at 1.
    PromptOffered {
        key: StepKey,
        attempt: u32,
    },
    /// A submission that meets the rules but has not passed its `verify` requests yet.
    SubmissionReceived(Submission),
    /// The submission was judged and rejected.
    SubmissionRejected {
        key: StepKey,
        attempt: u32,
        /// A digest of what was submitted.
        digest: String,
        issues: Vec<SubmissionIssue>,
        /// Whether it uses up one of the attempts.
        counted: bool,
        /// What was submitted, if it used up the last attempt and is not recorded elsewhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
    },
    /// The submission was judged and accepted.
    SubmissionAccepted(Submission),
    /// Somebody added variables to the context of a guide.
    ContextAdded {
        by: Actor,
        values: Map<String, Value>,
    },
    /// A person is asked for approval.
    ApprovalRequested(Box<ApprovalRequest>),
    /// A person approved.
    Approved(Box<ApprovalDecision>),
    /// A person refused approval, or nobody answered in time.
    Rejected(Box<ApprovalDecision>),
    /// The requests approved in `key` are no longer the ones that would be sent.
    ApprovalVoided {
        key: StepKey,
        changes: Vec<ApprovalChange>,
    },
    /// A rejection at step `from` sends the run back to step `to`: the steps in `reset` are reset
    /// and run again. `reason` is the person's comment.
    WentBack {
        from: StepKey,
        to: StepKey,
        reason: String,
        reset: Vec<StepKey>,
    },
    /// The step continues at a later time.
    TimerSet {
        key: StepKey,
        at_ms: u64,
    },
    /// A timer has expired.
    TimerFired {
        key: StepKey,
    },
    /// A step started another run.
    ChildStarted {
        key: StepKey,
        /// The id of the child run.
        run: String,
        /// A digest of the child's workflow and inputs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        given: Option<String>,
        /// The budget that the child may use.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        rest: BTreeMap<BudgetKind, u64>,
        /// How many of the writes in the run's bound the child may make.
        #[serde(default, skip_serializing_if = "WriteCounts::is_empty")]
        writes: WriteCounts,
    },
    /// The child run ended.
    ChildFinished {
        key: StepKey,
        outcome: ChildOutcome,
        /// What the child has spent in total.
        #[serde(default, skip_serializing_if = "BudgetUsage::is_nothing")]
        spent: BudgetUsage,
        /// The writes in its bound that the child has made in total.
        #[serde(default, skip_serializing_if = "WriteCounts::is_empty")]
        wrote: WriteCounts,
    },
    /// A budget is nearly used up.
    BudgetWarned {
        budget: BudgetKind,
        used: u64,
        limit: u64,
    },
    /// A budget is used up, and a person decides what happens next.
    BudgetReached {
        budget: BudgetKind,
        limit: u64,
    },
    /// Somebody asked to cancel the run.
    CancelRequested {
        by: Actor,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// No new work is started until the run is resumed.
    Paused {
        by: Actor,
    },
    /// The run continues after a pause.
    Resumed {
        by: Actor,
    },
    /// A run that had ended or was waiting continues from a given step.
    RunResumedFrom(Box<Resumption>),
    /// The run ended successfully.
    RunSucceeded {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
    },
    /// The run ended with a failure.
    RunFailed {
        failure: Failure,
        /// The step that failed, if a step caused the failure.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<StepKey>,
    },
    /// The run ended because it was canceled.
    RunCanceled,
}

/// The first event of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunCreated {
    pub run: String,
    /// The id of the workflow.
    pub workflow: String,
    /// The hash of the pinned workflow source.
    pub text_hash: String,
    /// The hash of the plan, which is the same for all sources with the same meaning.
    pub plan_hash: String,
    /// The inputs, with placeholders in place of secrets.
    pub inputs: Map<String, Value>,
    /// Random and secret, so that nobody outside can forge a secret placeholder.
    #[serde(rename = "seal")]
    pub nonce: String,
    /// The names of the inputs that are secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// The secret inputs that use their defaults, which every driver of the run reads again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub defaulted: Vec<String>,
    /// The environment variables that the workflow's expressions read, with placeholders in place
    /// of secrets.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub env: Map<String, Value>,
    pub actor: Actor,
    /// The project that the run belongs to.
    pub workspace: String,
    /// The run and the step that started this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<Parent>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub budget: BTreeMap<BudgetKind, u64>,
    /// The minimum proof of presence for decisions in this run.
    #[serde(default)]
    pub presence: Presence,
    /// The key that verifies a person's decisions, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person: Option<String>,
    /// The deadline after which the run is canceled.
    pub deadline_ms: u64,
    /// Whether every call is answered by its catalog's mock.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub mock: bool,
    /// The world in which the run's requests are sent, regardless of which process drives the run.
    /// Runs started by version 0.1.0 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<Box<RunWorld>>,
    /// What the run can change. A child run has the part of its parent's bound that it needs.
    /// Runs started by version 0.1.0 have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Box<EffectBound>>,
    /// What a person has to agree to before it is sent; absent if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<Box<ConsentTerms>>,
}

/// The run and the step that started another run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    pub run: String,
    pub key: StepKey,
    /// How many ancestors the run has.
    pub depth: u32,
}

/// Who caused an event.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    pub kind: ActorKind,
    /// The name of a user or a client.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

serialized_enum! {
    #[derive(Default)]
    ActorKind {
        Person = "person",
        /// A model.
        #[default]
        Agent = "agent",
        /// The engine itself, for example for a timeout or on behalf of a parent run.
        Engine = "engine",
    }
}

/// How a person proved their presence, weakest first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Presence {
    /// A person reviewed this text and allowed it to run alone.
    Policy,
    /// The client asked, and the person answered.
    Elicitation,
    /// Typed at a terminal.
    #[default]
    Terminal,
    /// Confirmed with the person's PIN.
    Pin,
}

/// Proof that a person was present when they decided something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    pub presence: Presence,
    /// The signature over the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl Proof {
    /// Proof of a decision typed at a terminal, without a signature.
    pub fn at_terminal() -> Proof {
        Proof { presence: Presence::Terminal, signature: None }
    }
}

/// One attempt at a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub key: StepKey,
    /// The attempt number within this execution, starting at 1.
    pub attempt: u32,
    /// Lets a server recognize a repeated request.
    pub idempotency_key: String,
    pub request_digest: String,
    /// A short form of the request, such as `POST /refunds`.
    pub request: String,
    /// Whether the request changes something.
    pub write: bool,
    /// Whether the request may be sent again.
    pub repeatable: bool,
    /// How long the attempt may take; absent in attempts recorded by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
    /// The request as it may be shown, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Box<SentRequest>>,
    /// What the request changes, if the run has a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Box<CallEffect>>,
}

/// The answer to a request.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallAnswer {
    /// The body.
    pub output: Value,
    /// The HTTP status.
    #[serde(default)]
    pub status: u16,
    /// The headers that are kept.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub headers: Map<String, Value>,
    /// Notes about the body, for example that it was truncated or that numbers were kept as
    /// strings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A person's decision about a request with an unknown outcome, or about a step whose submissions
/// were all rejected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Settlement {
    /// The request took effect, or the step is done, with this output.
    Happened {
        #[serde(default)]
        output: Value,
    },
    /// The request did not take effect and is sent again, or the agent gets new attempts.
    DidNot,
    /// Give up: the step fails.
    GiveUp,
}

/// What an agent submitted for a step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Submission {
    pub key: StepKey,
    pub attempt: u32,
    /// A digest of the output and the variables.
    pub digest: String,
    pub output: Value,
    /// Variables to add to the context.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub context: Map<String, Value>,
    pub by: Actor,
    /// The messages whose senders are waiting for the verdict.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
}

/// A problem with a submission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmissionIssue {
    pub message: String,
    /// How to correct it.
    pub suggestion: Hint,
}

/// A question for a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    pub key: StepKey,
    pub message: String,
    /// The requests that the approval allows, if they are already known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<ShownCall>,
    /// Steps that will send something after approval, but whose requests are not known yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<StepKey>,
    /// A digest of everything that was shown.
    pub digest: String,
    /// When the question expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<u64>,
    /// What differs from an earlier approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ApprovalChange>,
}

impl ApprovalRequest {
    /// Whether the approval request shows or lists a step as one that sends something.
    pub(crate) fn names(&self, key: &StepKey) -> bool {
        let listed = key.list().is_some_and(|(list, _)| self.unshown.contains(&list));
        listed || self.unshown.contains(key) || self.shown.iter().any(|shown| shown.key == *key)
    }
}

/// A request that an approval covers, as shown to the person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShownCall {
    pub key: StepKey,
    pub digest: String,
    /// A short form of the request, such as `POST /refunds`.
    pub request: String,
    /// The request with its full URL.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub target: String,
    pub arguments: Value,
    /// The request as it would be sent, without secrets. Absent for child runs, and in questions
    /// asked by earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Box<SentRequest>>,
    /// What is added to the request when it is sent. Absent in questions asked by earlier versions,
    /// whose approvals do not cover it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extras: Option<Box<CallExtras>>,
}

/// A difference from what was approved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalChange {
    pub key: StepKey,
    /// The value that was shown.
    pub before: Value,
    /// The current value.
    pub after: Value,
}

/// A person's answer to an approval request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ApprovalDecision {
    pub key: StepKey,
    /// The digest of what was shown.
    pub digest: String,
    pub by: Actor,
    /// The person's comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// The person's answer, if there is a form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Value>,
    /// How the person proved their presence.
    pub presence: Presence,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
}

impl ApprovalDecision {
    /// A decision made by the engine instead of a person.
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

/// How a child run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum ChildOutcome {
    Succeeded {
        output: Value,
    },
    Failed {
        failure: Failure,
    },
    Canceled,
    /// The run can no longer be found or read, so a person has to find out what it did.
    Gone {
        failure: Failure,
    },
}

serialized_enum! {
    /// What a run can spend, named as in a manifest.
    BudgetKind {
        /// Requests.
        HttpCalls = "http_calls",
        /// Requests that change something.
        Writes = "writes",
        /// Attempts of all kinds, including submissions.
        Attempts = "attempts",
    }
}

/// How a run is resumed, and from where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resumption {
    pub by: Actor,
    /// The requested starting point: `failed`, `start`, or a step.
    pub from: String,
    /// The steps that run again; their earlier results are discarded.
    pub reset: Vec<StepKey>,
    /// Lists and loops that continue where they stopped: the items that succeeded are kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reopen: Vec<StepKey>,
    /// Outputs that a person supplied in place of the steps' own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<StepKey, Value>,
    /// Inputs whose values change.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub inputs: Map<String, Value>,
    /// Environment variables that the source reads from now on.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub env: Map<String, Value>,
    /// The hash of the source that the run uses from now on.
    pub text_hash: String,
    pub plan_hash: String,
    /// The budgets that change.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub budget: BTreeMap<BudgetKind, u64>,
    /// Whether only the named step runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub only: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The deadline after which the run is canceled.
    pub deadline_ms: u64,
    /// Secret inputs that were supplied again, so that their defaults are not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub given: Vec<String>,
    /// The run's new world, if it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub world: Option<Box<RunWorld>>,
    /// What the run can change from now on, if its text, its inputs or its world changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<Box<EffectBound>>,
    /// What a person has to agree to from now on; meaningful only with `bound`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<Box<ConsentTerms>>,
    /// How the person proved their presence, if the resumption needs a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<Proof>,
}

impl Resumption {
    /// The value of `from` when the run resumes from the beginning.
    pub const START: &str = "start";
}

impl Event {
    /// The names of all kinds of events that this version knows, as written in the journal.
    pub const KINDS: &[&str] = <Event as strum::VariantNames>::VARIANTS;

    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// The run's world from this event on, if the event sets one.
    pub fn world(&self) -> Option<&RunWorld> {
        match self {
            Event::RunCreated(created) => created.world.as_deref(),
            Event::WorldPinned { world } => Some(world),
            Event::RunResumedFrom(resumption) => resumption.world.as_deref(),
            _ => None,
        }
    }

    /// The failure in the event: its own, or the failure of a child run.
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

    /// The execution that the event is about; `None` for events about the whole run.
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
            _ => None,
        }
    }
}

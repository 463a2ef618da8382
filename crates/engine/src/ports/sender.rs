//! Sending the requests that runs make, and preparing child runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use milepost_model::digest::Digest;
use milepost_model::id::{RunId, WorkflowId};
use serde_json::{Map, Value};

use super::{BoxFuture, Durability};
use crate::effect_bound::{EffectBound, WriteCounts};
use crate::event::{Actor, BudgetKind, CallExtras, Parent, Presence, RunCreated};
use crate::interpreter::command::StepCall;
use crate::interpreter::{AttemptOutcome, WorldView};
use crate::state::State;
use crate::world::{MissingWorld, RunWorld};
use crate::{Failure, Flow};

/// Gives runs access to catalogs, inputs and built-in commands.
pub trait RequestSender: WorldView + Send + Sync + fmt::Debug {
    /// Sends a request once. Nothing is sent unless its digest matches the recorded one.
    fn send(&self, sending: OutgoingRequest) -> BoxFuture<'_, AttemptOutcome>;

    /// Prepares a child run to be recorded.
    fn prepare_child(&self, child: ChildRun) -> BoxFuture<'_, Result<PreparedRun, Failure>>;

    /// Opens the sender for a run's world. Each world has its own sender, which does not depend on
    /// the folder that this process works in.
    fn open(self: Arc<Self>, head: &RunCreated) -> BoxFuture<'_, WorldResult>;

    /// Frees everything kept in memory for a run that has ended.
    fn forget(&self, run: &RunId);
}

/// The world of a run, or what is missing here.
pub type WorldResult = Result<OpenWorld, MissingWorld>;

/// The world of a run, ready for use.
#[derive(Debug, Clone)]
pub struct OpenWorld {
    /// The sender for its requests.
    pub sender: Arc<dyn RequestSender>,
    /// The world to record before anything is sent, if the run was started without one.
    pub pin: Option<WorldPin>,
}

/// A world to pin a run to.
#[derive(Debug, Clone)]
pub struct WorldPin {
    pub world: RunWorld,
    /// The sources that the world refers to, which are stored before it is recorded.
    pub texts: Vec<PinnedText>,
}

/// A source that a run refers to, other than its own workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedText {
    pub hash: Digest,
    pub text: Arc<str>,
}

/// What a sender has to know about the run it acts for.
#[derive(Debug, Clone)]
pub struct RunContext {
    pub run: RunId,
    /// The nonce of the run's secret placeholders.
    pub nonce: String,
    /// The secret inputs whose value came from their default.
    pub defaulted: Vec<String>,
    pub flow: Flow,
    /// Whether requests are answered by mocks instead of being sent.
    pub mock: bool,
    /// The minimum proof of presence for decisions in the run.
    pub presence: Presence,
    /// What the run can change; no other write is sent.
    pub bound: Option<Arc<EffectBound>>,
}

impl RunContext {
    pub fn new(run: RunId, flow: &Flow, state: &State) -> RunContext {
        RunContext {
            run,
            nonce: state.head.nonce.clone(),
            defaulted: state.head.defaulted.clone(),
            flow: flow.clone(),
            mock: state.head.mock,
            presence: state.head.presence,
            bound: state.head.bound.as_deref().cloned().map(Arc::new),
        }
    }
}

/// One request made by a run.
#[derive(Debug, Clone)]
pub struct OutgoingRequest {
    pub context: RunContext,
    /// The request, with placeholders in place of secrets.
    pub call: StepCall,
    /// The recorded digest of the request.
    pub digest: String,
    /// What a person approved to be added to the request, if they were asked.
    pub approved: Option<Box<CallExtras>>,
    /// The attempt number for the step, starting at 1.
    pub attempt: u32,
    /// Lets a server recognize a repeated request.
    pub idempotency_key: String,
    /// Whether the request may still be started.
    pub permit: SendPermit,
}

/// Whether a request may still be started. This is checked immediately before the first byte is
/// sent: a process can be suspended anywhere before that, and by the time it resumes, another one
/// may have taken over the run.
#[derive(Clone)]
pub struct SendPermit {
    holds: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl SendPermit {
    /// A permit that is valid for as long as `holds` returns true.
    pub fn new(holds: impl Fn() -> bool + Send + Sync + 'static) -> SendPermit {
        SendPermit { holds: Arc::new(holds) }
    }

    /// Whether the request may be started now.
    pub fn holds(&self) -> bool {
        (self.holds)()
    }
}

impl fmt::Debug for SendPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendPermit")
    }
}

/// A child run to be started by a step.
#[derive(Debug, Clone)]
pub struct ChildRun {
    pub run: RunId,
    pub workflow: String,
    /// The inputs that the step gives it, with placeholders in place of secrets.
    pub inputs: Map<String, Value>,
    /// The budget that it may use.
    pub rest: BTreeMap<BudgetKind, u64>,
    /// How many writes of each kind it may make.
    pub writes: WriteCounts,
    /// The run and the step that start it.
    pub parent: Parent,
    /// The parent run, whose secrets may be passed on.
    pub above: RunContext,
    /// Who started the parent run.
    pub actor: Actor,
    /// What the run may lose in a power failure.
    pub durability: Durability,
}

/// A run that is ready to be recorded.
#[derive(Debug, Clone)]
pub struct PreparedRun {
    pub id: RunId,
    pub workflow: WorkflowId,
    /// The workflow's display title.
    pub title: String,
    /// The source of the workflow.
    pub text: String,
    /// The compiled workflow.
    pub flow: Flow,
    /// The first event.
    pub created: RunCreated,
    /// The sources that its world refers to.
    pub pinned: Vec<PinnedText>,
    /// What the run may lose in a power failure.
    pub durability: Durability,
}

//! Sending the requests of runs, and preparing the runs that steps start.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use milepost_model::digest::Digest;
use milepost_model::id::{RunId, WorkflowId};
use serde_json::{Map, Value};

use super::{BoxFuture, Durability};
use crate::event::{Actor, Budget, Parent, RunCreated};
use crate::interpreter::command::StepCall;
use crate::interpreter::{AttemptOutcome, WorldView};
use crate::world::{MissingWorld, RunWorld};
use crate::{Failure, Flow};

/// Reaches the world on behalf of runs: catalogs, inputs and built-in commands live behind it.
pub trait RequestSender: WorldView + Send + Sync + fmt::Debug {
    /// Sends a request once. Nothing is sent unless it has the digest that was recorded.
    fn send(&self, sending: OutgoingRequest) -> BoxFuture<'_, AttemptOutcome>;

    /// The run of a step, ready to be recorded.
    fn prepare_child(&self, child: ChildRun) -> BoxFuture<'_, Result<PreparedRun, Failure>>;

    /// The sender for the world of a run. It is another one for each world, and nothing of the
    /// folder that this process works in has a part in it.
    fn open(self: Arc<Self>, head: &RunCreated) -> BoxFuture<'_, Opened>;

    /// A run has ended: whatever was kept for it in memory is no longer needed.
    fn forget(&self, run: &RunId);
}

/// The world of a run, or what of it is missing here.
pub type Opened = Result<OpenWorld, MissingWorld>;

/// The world of a run, ready to be used.
#[derive(Debug, Clone)]
pub struct OpenWorld {
    /// What its requests are sent with.
    pub sender: Arc<dyn RequestSender>,
    /// What is to be recorded before anything is sent: the run was started without a world.
    pub pin: Option<WorldPin>,
}

/// A world that a run is to be pinned to.
#[derive(Debug, Clone)]
pub struct WorldPin {
    /// The world.
    pub world: RunWorld,
    /// The texts that it refers to, which are kept before it is recorded.
    pub texts: Vec<PinnedText>,
}

/// A text that a run refers to beside that of its workflow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinnedText {
    /// Its hash.
    pub hash: Digest,
    /// The text.
    pub text: Arc<str>,
}

/// What a sender has to know about the run it effects for.
#[derive(Debug, Clone)]
pub struct RunContext {
    /// The run.
    pub run: RunId,
    /// What its placeholders for secrets are made with.
    pub nonce: String,
    /// Secret inputs whose value came from their default.
    pub defaulted: Vec<String>,
    /// Its workflow.
    pub flow: Flow,
    /// Mocks answer, and nothing is sent.
    pub mock: bool,
}

/// One request of a run.
#[derive(Debug, Clone)]
pub struct OutgoingRequest {
    /// The run.
    pub context: RunContext,
    /// The request, with placeholders for its secrets.
    pub call: StepCall,
    /// The digest of the request that was recorded.
    pub digest: String,
    /// Which attempt of the step it is, from 1.
    pub attempt: u32,
    /// Tells a server that two requests are one.
    pub idempotency_key: String,
    /// Whether it may still begin.
    pub permit: SendPermit,
}

/// Whether a request may still begin. It is asked directly before the first byte leaves: a process
/// can be stopped anywhere before that, and the run may be another's when it wakes.
#[derive(Clone)]
pub struct SendPermit {
    holds: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl SendPermit {
    /// One that holds for as long as this says so.
    pub fn new(holds: impl Fn() -> bool + Send + Sync + 'static) -> SendPermit {
        SendPermit { holds: Arc::new(holds) }
    }

    /// Whether the request may begin now.
    pub fn holds(&self) -> bool {
        (self.holds)()
    }
}

impl fmt::Debug for SendPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SendPermit")
    }
}

/// A run that a step starts.
#[derive(Debug, Clone)]
pub struct ChildRun {
    /// Its identity.
    pub run: RunId,
    /// The workflow it runs.
    pub workflow: String,
    /// What the step gives it, with placeholders for secrets.
    pub inputs: Map<String, Value>,
    /// What it may spend.
    pub rest: BTreeMap<Budget, u64>,
    /// The run and the step that start it.
    pub parent: Parent,
    /// The run above it, whose secrets it may be handed.
    pub above: RunContext,
    /// Who started the run above it.
    pub actor: Actor,
    /// What a loss of power may cost.
    pub durability: Durability,
}

/// A run that is ready to be recorded.
#[derive(Debug, Clone)]
pub struct PreparedRun {
    /// Its identity.
    pub id: RunId,
    /// The workflow.
    pub workflow: WorkflowId,
    /// The workflow's name for people.
    pub title: String,
    /// The text of the workflow.
    pub text: String,
    /// The text, compiled.
    pub flow: Flow,
    /// Its first event.
    pub created: RunCreated,
    /// The texts that its world refers to.
    pub pinned: Vec<PinnedText>,
    /// What a loss of power may cost.
    pub durability: Durability,
}

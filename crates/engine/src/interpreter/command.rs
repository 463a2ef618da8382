//! What the interpreter wants done.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::event::{Event, RunCreated, ShownCall};
use crate::interpreter::{WorldView, digest};
use crate::{StepKey, secret_placeholder};

/// One thing that is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum NextCommand {
    /// A decision that follows from what happened: it only has to be remembered.
    Record(Box<Event>),
    /// A request.
    Call(Box<KeyedCall>),
    /// A question for a person.
    Ask(Box<ApprovalDraft>),
    /// Another workflow.
    Child(Box<ChildStart>),
}

impl NextCommand {
    pub(crate) fn record(event: Event) -> NextCommand {
        NextCommand::Record(Box::new(event))
    }
}

/// A request for an execution of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct KeyedCall {
    /// The execution.
    pub key: StepKey,
    /// The request.
    pub call: StepCall,
}

/// A command of a catalog with its arguments; secrets are sentinels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepCall {
    /// `group name`.
    pub command: String,
    /// Arguments by name, wherever they travel.
    pub with: Map<String, Value>,
    /// The body.
    pub body: Option<Value>,
    /// Extra headers.
    pub headers: Map<String, Value>,
    /// The author's word that it may be repeated.
    pub idempotent: Option<bool>,
    /// How long one try may take.
    pub timeout_ms: u64,
}

impl StepCall {
    /// Its arguments as one value.
    pub fn arguments(&self) -> Value {
        let mut all = Map::new();
        if !self.with.is_empty() {
            all.insert("with".to_owned(), Value::Object(self.with.clone()));
        }
        if let Some(body) = &self.body {
            all.insert("body".to_owned(), body.clone());
        }
        if !self.headers.is_empty() {
            all.insert("headers".to_owned(), Value::Object(self.headers.clone()));
        }
        Value::Object(all)
    }
}

/// A question for a person.
#[derive(Debug, Clone, PartialEq)]
pub struct ApprovalDraft {
    /// The step that asks.
    pub key: StepKey,
    /// The question.
    pub message: String,
    /// What depends on the answer, as far as it is known.
    pub deeds: Vec<PlannedCall>,
    /// When it lapses.
    pub expires_at_ms: Option<u64>,
}

/// Something that is done after a yes.
#[derive(Debug, Clone, PartialEq)]
pub enum PlannedCall {
    /// A request is sent.
    Call(KeyedCall),
    /// A workflow is run.
    Child(ChildStart),
}

impl PlannedCall {
    /// The execution that does it.
    pub fn key(&self) -> &StepKey {
        match self {
            PlannedCall::Call(calling) => &calling.key,
            PlannedCall::Child(starting) => &starting.key,
        }
    }

    /// It as a person is shown it, with a digest of all of it; nothing when it cannot be done.
    pub(crate) fn shown(&self, head: &RunCreated, world: &dyn WorldView) -> Option<ShownCall> {
        let nonce = head.nonce.as_str();
        match self {
            PlannedCall::Call(KeyedCall { key, call }) => {
                let prepared = world.prepare(call, head.mock).ok()?;
                Some(ShownCall {
                    key: key.clone(),
                    digest: prepared.digest,
                    request: prepared.request,
                    target: secret_placeholder::mask_text(nonce, &prepared.target),
                    arguments: secret_placeholder::mask_secrets(nonce, &call.arguments()),
                })
            }
            PlannedCall::Child(ChildStart { key, workflow, inputs }) => Some(ShownCall {
                key: key.clone(),
                digest: digest(&json!({
                    "workflow": workflow,
                    "text": world.text_of(workflow),
                    "inputs": inputs,
                })),
                request: format!("workflow {workflow}"),
                target: String::new(),
                arguments: secret_placeholder::mask_secrets(nonce, &Value::Object(inputs.clone())),
            }),
        }
    }
}

/// A workflow that a step runs.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildStart {
    /// The step.
    pub key: StepKey,
    /// The workflow.
    pub workflow: String,
    /// Its inputs.
    pub inputs: Map<String, Value>,
}

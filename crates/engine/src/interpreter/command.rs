//! The commands that the interpreter issues.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::event::{Event, RunCreated, ShownCall};
use crate::interpreter::{WorldView, digest};
use crate::ports::RunContext;
use crate::{StepKey, secret_placeholder};

/// The next thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum NextCommand {
    /// Record a decision that follows from the state.
    Record(Box<Event>),
    /// Send a request.
    Call(Box<KeyedCall>),
    /// Ask a person.
    Ask(Box<ApprovalDraft>),
    /// Start a child run.
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
    pub key: StepKey,
    pub call: StepCall,
}

/// A catalog command with its arguments; secrets are placeholders.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepCall {
    /// The command, as `group name`.
    pub command: String,
    /// Arguments by name, whether they go into the path, the query or elsewhere.
    pub with: Map<String, Value>,
    pub body: Option<Value>,
    /// Additional headers.
    pub headers: Map<String, Value>,
    /// The files that the author named in the arguments. Only they are read: a value that came from
    /// elsewhere cannot name one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Whether the request may be repeated, if the author specifies it.
    pub idempotent: Option<bool>,
    /// How long one attempt may take.
    pub timeout_ms: u64,
}

impl StepCall {
    /// All arguments as one value.
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
    pub key: StepKey,
    pub message: String,
    /// The requests and child runs that depend on the answer, if they are already known.
    pub deeds: Vec<PlannedCall>,
    /// When the question expires.
    pub expires_at_ms: Option<u64>,
}

/// Something that an approval allows.
#[derive(Debug, Clone, PartialEq)]
pub enum PlannedCall {
    Call(KeyedCall),
    Child(ChildStart),
}

impl PlannedCall {
    /// The execution that it belongs to.
    pub fn key(&self) -> &StepKey {
        match self {
            PlannedCall::Call(calling) => &calling.key,
            PlannedCall::Child(starting) => &starting.key,
        }
    }

    /// The call as shown to a person, with a digest of the whole call; `None` if it cannot be
    /// prepared.
    /// With a context, what is added to the call is read as well.
    pub(crate) fn shown(
        &self,
        head: &RunCreated,
        world: &dyn WorldView,
        context: Option<&RunContext>,
    ) -> Option<ShownCall> {
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
                    sent: prepared.sent.map(|sent| Box::new(sent.shown(nonce))),
                    extras: context.map(|context| Box::new(world.extras(context, call))),
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
                sent: None,
                extras: context.map(|context| Box::new(world.child_extras(context, workflow))),
            }),
        }
    }
}

/// A workflow for a step to run.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildStart {
    pub key: StepKey,
    pub workflow: String,
    pub inputs: Map<String, Value>,
}

//! What the interpreter wants done.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::event::{Change, Event, RunCreated, ShownCall};
use crate::interpreter::{World, digest};
use crate::key::Key;
use crate::sentinel;

/// One thing that is to be done next.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// A decision that follows from what happened: it only has to be remembered.
    Record(Box<Event>),
    /// A request.
    Call(Box<Calling>),
    /// A question for a person.
    Ask(Box<Asking>),
    /// Another workflow.
    Child(Box<Starting>),
}

impl Command {
    pub(crate) fn record(event: Event) -> Command {
        Command::Record(Box::new(event))
    }
}

/// A request for an execution of a step.
#[derive(Debug, Clone, PartialEq)]
pub struct Calling {
    /// The execution.
    pub key: Key,
    /// The request.
    pub call: Call,
}

/// A command of a catalog with its arguments; secrets are sentinels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
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

impl Call {
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
pub struct Asking {
    /// The step that asks.
    pub key: Key,
    /// The question.
    pub message: String,
    /// What depends on the answer, as far as it is known.
    pub deeds: Vec<Deed>,
    /// When it lapses.
    pub expires_at_ms: Option<u64>,
    /// What differs from what was approved before.
    pub changes: Vec<Change>,
}

/// Something that is done after a yes.
#[derive(Debug, Clone, PartialEq)]
pub enum Deed {
    /// A request is sent.
    Call(Calling),
    /// A workflow is run.
    Child(Starting),
}

impl Deed {
    /// The execution that does it.
    pub fn key(&self) -> &Key {
        match self {
            Deed::Call(calling) => &calling.key,
            Deed::Child(starting) => &starting.key,
        }
    }

    /// It as a person is shown it, with a digest of all of it; nothing when it cannot be done.
    pub(crate) fn shown(&self, head: &RunCreated, world: &dyn World) -> Option<ShownCall> {
        let seal = head.seal.as_str();
        match self {
            Deed::Call(Calling { key, call }) => {
                let prepared = world.prepare(call, head.mock).ok()?;
                Some(ShownCall {
                    key: key.clone(),
                    digest: prepared.digest,
                    request: prepared.request,
                    target: sentinel::shown_text(seal, &prepared.target),
                    arguments: sentinel::shown(seal, &call.arguments()),
                })
            }
            Deed::Child(Starting { key, workflow, inputs }) => Some(ShownCall {
                key: key.clone(),
                digest: digest(&json!({
                    "workflow": workflow,
                    "text": world.text_of(workflow),
                    "inputs": inputs,
                })),
                request: format!("workflow {workflow}"),
                target: String::new(),
                arguments: sentinel::shown(seal, &Value::Object(inputs.clone())),
            }),
        }
    }
}

/// A workflow that a step runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Starting {
    /// The step.
    pub key: Key,
    /// The workflow.
    pub workflow: String,
    /// Its inputs.
    pub inputs: Map<String, Value>,
}

//! What validation knows about the commands that a workflow runs. This information comes from the
//! catalogs; a workflow can be validated without them, but then its commands are not checked.

use serde_json::Value;

use crate::id::WorkflowId;
use crate::target::CommandId;

/// Looks up commands and workflows.
pub trait Commands {
    /// Looks up a command.
    fn command(&self, id: &CommandId) -> Lookup;

    /// Looks up a workflow that runs as a step.
    fn workflow(&self, id: &WorkflowId) -> Lookup;
}

/// The result of a lookup.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup {
    /// The catalog is not available, so nothing is known.
    Unchecked,
    /// The catalog does not exist. The payload lists the existing catalogs.
    NoCatalog(Vec<String>),
    /// The catalog has no such command. The payload lists the existing ones as `group name`.
    NoCommand(Vec<String>),
    /// The command or workflow exists.
    Known(Box<CommandInfo>),
}

/// What validation needs to know about a command.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandInfo {
    /// The arguments it accepts, regardless of where they are sent.
    pub parameters: Vec<Parameter>,
    /// The body it accepts.
    pub body: Option<BodyInfo>,
    /// The schema of the response.
    pub response: Option<Value>,
    /// The effect of calling it.
    pub effect: Effect,
    /// Whether it may be sent more than once.
    pub may_repeat: bool,
}

/// A command argument.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    pub name: String,
    /// Whether the command requires it.
    pub required: bool,
    /// The schema of its value.
    pub schema: Value,
}

/// A command's body.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyInfo {
    /// Whether the command requires it.
    pub required: bool,
    pub schema: Value,
}

crate::serialized_enum! {
    /// The effect of calling a command.
    Effect {
        Read = "read",
        /// Creates something new.
        Create = "create",
        /// Changes or removes something.
        Write = "write",
    }
}

/// A lookup without catalogs: nothing can be checked.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoCommands;

impl Commands for NoCommands {
    fn command(&self, _: &CommandId) -> Lookup {
        Lookup::Unchecked
    }

    fn workflow(&self, _: &WorkflowId) -> Lookup {
        Lookup::Unchecked
    }
}

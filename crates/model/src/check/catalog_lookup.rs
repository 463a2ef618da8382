//! What validation knows of the commands a workflow runs. The catalogs answer; until there are any,
//! everything is unchecked, which is not an error.

use serde_json::Value;

use crate::id::WorkflowId;
use crate::named_enum::named_enum;
use crate::target::CommandId;

/// Answers for commands.
pub trait Commands {
    /// What is known of a command.
    fn command(&self, id: &CommandId) -> Lookup;

    /// What is known of a workflow that is run as a step.
    fn workflow(&self, id: &WorkflowId) -> Lookup;
}

/// What is known of a command.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup {
    /// Nobody can say.
    Unchecked,
    /// There is no such catalog; these are there.
    NoCatalog(Vec<String>),
    /// The catalog has no such command; these are there, as `group name`.
    NoCommand(Vec<String>),
    /// It is there.
    Known(Box<CommandInfo>),
}

/// What validation needs to know of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandInfo {
    /// The arguments it takes, wherever they travel.
    pub parameters: Vec<Parameter>,
    /// The body it takes.
    pub body: Option<Body>,
    /// The schema of its answer.
    pub response: Option<Value>,
    /// What it does to the world.
    pub effect: Effect,
    /// Whether it may be sent twice.
    pub may_repeat: bool,
}

/// An argument of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Whether the command works without.
    pub required: bool,
    /// The schema of its value.
    pub schema: Value,
}

/// The body of a command.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// Whether the command works without.
    pub required: bool,
    /// Its schema.
    pub schema: Value,
}

named_enum! {
    /// What a command does to the world.
    pub Effect {
        Read = "read",
        /// Makes something new.
        Create = "create",
        /// Changes or removes something.
        Write = "write",
    }
}

/// Without catalogs nothing can be checked.
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

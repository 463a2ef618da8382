//! What an operation can ask of its caller.

use std::sync::Arc;

use milepost_model::secret::Secret;
use milepost_model::wording::Wording;

/// Who decided to make a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerKind {
    /// A person, who typed the call.
    Person,
    /// A model; no person chose the arguments.
    Agent,
}

/// A command that an agent typed, so that a person can be told to type it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCommand {
    /// What gave the agent away, for example "`CLAUDECODE` is set".
    pub because: String,
    /// The whole command line, quoted for a shell.
    pub line: String,
}

/// Why a prompt got no input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptError {
    NoTerminal,
    /// The person closed the input.
    GivenUp,
}

/// The caller of an operation, as the operation sees it.
pub trait Caller: Sync {
    /// Reports progress.
    fn progress(&self, _message: &str) {}

    /// Warns the operator of the program rather than the caller, for example about a broken file.
    fn warn(&self, _message: &str) {}

    /// Asks the person behind the call to confirm; `None` if nobody can be asked.
    fn ask(&self, _question: &str) -> Option<bool> {
        None
    }

    /// Asks the person directly at their terminal, so that no flag, variable or pipe can answer.
    /// `None` if there is no such terminal.
    fn ask_in_person(&self, _question: &str) -> Option<bool> {
        None
    }

    /// Whether a person typed the call at a terminal that could be asked.
    fn is_at_terminal(&self) -> bool {
        false
    }

    /// Asks for the person's PIN, also directly at their terminal.
    fn ask_pin(&self, _question: &str) -> Result<Secret, PromptError> {
        Err(PromptError::NoTerminal)
    }

    /// Shows the person at their terminal something that they must know before they decide, even if
    /// they asked for silence.
    fn alert(&self, _message: &str) {}

    /// The command behind the call, if an agent typed it.
    fn agent_command(&self) -> Option<AgentCommand> {
        None
    }

    /// Whether this call is the person's answer, in their client, to a question that showed what
    /// would be done. No tool argument can claim that.
    fn is_elicited(&self) -> bool {
        false
    }

    /// The verified identity behind the call, if there is one.
    fn principal(&self) -> Option<&str> {
        None
    }

    /// The wording of the caller's interface, if it has its own.
    fn wording(&self) -> Option<Arc<dyn Wording>> {
        None
    }

    /// Whether the caller no longer wants the result.
    fn cancelled(&self) -> bool {
        false
    }

    /// Who decided to make the call; a model unless known otherwise.
    fn kind(&self) -> CallerKind {
        CallerKind::Agent
    }
}

/// A caller that gets only the result, cannot be asked, and never cancels.
#[derive(Debug, Clone, Copy)]
pub struct SilentCaller;

impl Caller for SilentCaller {}

/// An agent that gets only the result.
#[derive(Debug, Clone, Default)]
pub struct AgentCaller {
    /// Its verified identity, if there is one.
    pub principal: Option<String>,
}

impl Caller for AgentCaller {
    fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }
}

/// The person who answered a question in their client.
#[derive(Debug, Clone, Default)]
pub struct ElicitedCaller {
    /// Their verified identity, if there is one.
    pub principal: Option<String>,
}

impl Caller for ElicitedCaller {
    fn is_elicited(&self) -> bool {
        true
    }

    fn principal(&self) -> Option<&str> {
        self.principal.as_deref()
    }

    fn kind(&self) -> CallerKind {
        CallerKind::Person
    }
}

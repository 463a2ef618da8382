//! What an operation may ask of whoever called it.

use std::sync::Arc;

use milepost_model::secret::Secret;
use milepost_model::wording::Wording;

/// Whose word a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerKind {
    /// A person's, who typed it.
    Person,
    /// A model's: what it names was not chosen by a person.
    Agent,
}

/// Why nothing was typed where somebody was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptError {
    /// There is no terminal to ask at.
    NoTerminal,
    /// The person ended the input instead.
    GivenUp,
}

/// The caller of an operation, as the operation sees it.
pub trait Caller: Sync {
    /// Tells how far the work is.
    fn progress(&self, _message: &str) {}

    /// Tells those who run the program, not whoever called: a file of theirs is broken.
    fn warn(&self, _message: &str) {}

    /// Asks the person behind the call to confirm; `None` when nobody can be asked.
    fn ask(&self, _question: &str) -> Option<bool> {
        None
    }

    /// Asks the person on the terminal they sit at, and nowhere else: no flag, no variable and no
    /// pipe answers. `None` when there is no such terminal.
    fn ask_in_person(&self, _question: &str) -> Option<bool> {
        None
    }

    /// Asks for the person's PIN in the same way.
    fn ask_pin(&self, _question: &str) -> Result<Secret, PromptError> {
        Err(PromptError::NoTerminal)
    }

    /// Whether this call is an answer that the person gave in their client, to a question of ours
    /// that showed what would be done. No argument of a tool makes it one.
    fn is_elicited(&self) -> bool {
        false
    }

    /// Who is behind the call, where somebody has vouched for it.
    fn principal(&self) -> Option<&str> {
        None
    }

    /// The words of the door that the caller came through, where it has words of its own.
    fn wording(&self) -> Option<Arc<dyn Wording>> {
        None
    }

    /// Whether the caller no longer wants the result.
    fn cancelled(&self) -> bool {
        false
    }

    /// Whose word it is. In doubt a model's.
    fn kind(&self) -> CallerKind {
        CallerKind::Agent
    }
}

/// A caller that hears nothing but the result, cannot be asked, and waits to the end.
#[derive(Debug, Clone, Copy)]
pub struct SilentCaller;

impl Caller for SilentCaller {}

/// The person behind a client, who was asked there and gave this answer.
#[derive(Debug, Clone, Default)]
pub struct ElicitedCaller {
    /// Who they are, where somebody has vouched for it.
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

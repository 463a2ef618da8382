//! Why something in a run failed, as the journal stores it.

use std::borrow::Cow;

use milepost_model::hint::Hint;
use milepost_model::problem::Code;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::cause::Cause;

/// A failure as data: a documented problem code and a reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The problem code.
    pub code: String,
    #[serde(flatten)]
    reason: Reason,
    /// Where it happened, and any other details.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Box<Map<String, Value>>>,
}

/// The reason for a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Reason {
    /// Found by the engine itself.
    Cause { cause: Box<Cause> },
    /// Reported to the engine, or written by version 0.1.
    Told {
        message: String,
        #[serde(default, skip_serializing_if = "Hint::is_empty")]
        hint: Hint,
    },
}

impl Failure {
    /// A failure reported to the engine, without context.
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<Hint>) -> Failure {
        let reason = Reason::Told { message: message.into(), hint: hint.into() };
        Failure { code: code.name().to_owned(), reason, context: None }
    }

    /// Whether the failure has this code.
    pub fn is(&self, code: Code) -> bool {
        self.code == code.name()
    }

    /// What happened, in one sentence.
    pub fn message(&self) -> Cow<'_, str> {
        match &self.reason {
            Reason::Cause { cause } => cause.to_string().into(),
            Reason::Told { message, .. } => message.into(),
        }
    }

    /// The next action to take.
    pub fn hint(&self) -> Hint {
        match &self.reason {
            Reason::Cause { cause } => cause.hint(),
            Reason::Told { hint, .. } => hint.clone(),
        }
    }

    /// Adds a detail to the context.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Failure {
        self.context.get_or_insert_default().insert(name.to_owned(), value.into());
        self
    }

    /// The same failure with a different message.
    #[must_use]
    pub(crate) fn retold(self, message: String) -> Failure {
        let hint = self.hint();
        Failure { reason: Reason::Told { message, hint }, ..self }
    }
}

impl From<Cause> for Failure {
    fn from(cause: Cause) -> Failure {
        let code = cause.code().name().to_owned();
        let named = cause.names().into_iter();
        let context: Map<String, Value> =
            named.map(|(name, value)| (name.to_owned(), value.into())).collect();
        let context = (!context.is_empty()).then(|| Box::new(context));
        Failure { code, reason: Reason::Cause { cause: Box::new(cause) }, context }
    }
}

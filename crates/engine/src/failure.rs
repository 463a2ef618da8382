//! Why something in a run went wrong, as the journal keeps it.

use milepost_model::problem::Code;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A failure as data: a code with a page, what happened, and what to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The code of the problem.
    pub code: String,
    /// What happened.
    pub message: String,
    /// The one next action.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// Where, and what else is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Box<Map<String, Value>>>,
}

impl Failure {
    /// A failure without context.
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Failure {
        Failure {
            code: code.name().to_owned(),
            message: message.into(),
            hint: hint.into(),
            context: None,
        }
    }

    /// Whether it is of a kind.
    pub fn is(&self, code: Code) -> bool {
        self.code == code.name()
    }

    /// The failure with something else that is known.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Failure {
        self.context.get_or_insert_default().insert(name.to_owned(), value.into());
        self
    }
}

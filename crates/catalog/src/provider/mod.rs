//! Providers: list commands that yield choices for the parameters of other commands. Inferred
//! from paths, names, types and links, and never invented: the answer of a provider is a list
//! whose items have the field, of a type that the parameter takes. A wrong choice misleads, a
//! missing one costs a question, so what is doubtful is left out.

mod infer;
mod link;
mod name;
mod route;
mod shape;
mod value;

use serde::{Deserialize, Serialize};

use crate::command::Location;
pub use infer::infer;

/// A list command, and the parameters it yields choices for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InferredProvider {
    /// The name of the list command.
    pub command: String,
    /// JSON pointer of the list in the answer; empty when the answer is the list.
    pub list_at: String,
    /// JSON pointer of the value in one item.
    pub value_field: String,
    /// JSON pointer of what tells people which item it is.
    pub label_field: Option<String>,
    /// Where the required parameters of the list command get their values.
    pub binds: Vec<ProviderBinding>,
    /// How sure it is.
    pub confidence: Confidence,
    /// Why, in one sentence.
    pub reason: String,
    /// The parameters it yields choices for, in the order of the table.
    pub serves: Vec<ServedParameter>,
}

/// A required parameter of the list command gets the value of one of the served command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProviderBinding {
    /// The parameter of the list command.
    pub parameter: String,
    /// The parameter of the served command, in the same location.
    pub from: String,
    pub location: Location,
}

/// A parameter that has choices.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ServedParameter {
    /// The name of its command.
    pub command: String,
    /// The name of the parameter.
    pub parameter: String,
    pub location: Location,
}

/// How sure an inference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Paths and types fit, and there is one field it can be.
    Likely,
    /// The name of the parameter says which field of which thing it is.
    Named,
    /// The document says so by a link.
    Stated,
}

impl Confidence {
    /// As a number from 0 to 1.
    pub fn value(self) -> f64 {
        match self {
            Confidence::Likely => 0.8,
            Confidence::Named => 0.95,
            Confidence::Stated => 1.0,
        }
    }
}

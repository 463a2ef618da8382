//! Providers: list commands that return choices for other commands' parameters. They are inferred
//! from paths, names, types and links. A provider's response always contains a list whose items
//! have a field of a type that the parameter accepts. A wrong provider misleads, while a missing
//! one only means that the user is asked for the value, so doubtful cases are left out.

mod infer;
mod link;
mod name;
mod route;
mod shape;
mod value;

use serde::{Deserialize, Serialize};

use crate::command::Location;
pub use infer::infer;

/// A list command and the parameters that it provides choices for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InferredProvider {
    /// The name of the list command.
    pub command: String,
    /// JSON pointer to the list in the response; empty if the response is the list.
    pub list_at: String,
    /// JSON pointer to the value within an item.
    pub value_field: String,
    /// JSON pointer to the human-readable label within an item.
    pub label_field: Option<String>,
    /// Where the list command's required parameters get their values.
    pub binds: Vec<ProviderBinding>,
    pub confidence: Confidence,
    /// The reason for the inference, in one sentence.
    pub reason: String,
    /// The parameters that the command provides choices for, in table order.
    pub serves: Vec<ServedParameter>,
}

/// Passes the value of one of the served command's parameters to one of the list command's required
/// parameters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProviderBinding {
    /// The list command's parameter.
    pub parameter: String,
    /// The served command's parameter, in the same location.
    pub from: String,
    pub location: Location,
}

/// A parameter that choices are provided for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ServedParameter {
    /// The command that the parameter belongs to.
    pub command: String,
    pub parameter: String,
    pub location: Location,
}

/// How certain an inference is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Paths and types match, and only one field is possible.
    Likely,
    /// The parameter's name identifies the resource and the field.
    Named,
    /// The document states the connection with a link.
    Stated,
}

impl Confidence {
    /// The confidence as a number from 0 to 1.
    pub fn value(self) -> f64 {
        match self {
            Confidence::Likely => 0.8,
            Confidence::Named => 0.95,
            Confidence::Stated => 1.0,
        }
    }
}

//! The table of a catalog: what lists, search and names need of each command, in short.
//! Derived from the document and kept beside it, so that neither is read to find a command.

use serde::{Deserialize, Serialize};

use crate::command::{Location, Method};

/// A command in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Its name in the catalog: `orders:list`.
    pub name: String,
    pub method: Method,
    /// The path template as the document has it.
    pub path: String,
    /// JSON pointer of the operation in its document.
    pub pointer: String,
    /// The operation's id, cleaned.
    pub operation_id: Option<String>,
    /// One line, cleaned and capped.
    pub summary: String,
    /// The beginning of the description, cleaned; for search.
    pub description: String,
    pub tags: Vec<String>,
    /// Its parameters in short.
    pub parameters: Vec<RowParameter>,
    /// Whether it takes a body, and whether it needs one.
    pub body: Option<RowBody>,
    /// Whether its authors advise against it.
    pub deprecated: bool,
}

impl Row {
    /// What a record keeps its name under.
    pub fn key(&self) -> String {
        format!("{} {}", self.method.name(), self.path)
    }
}

/// A parameter in short.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowParameter {
    /// Its name as it goes on the wire.
    pub name: String,
    pub location: Location,
    /// Whether the command works without.
    pub required: bool,
}

/// A body in short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowBody {
    /// Whether the command works without.
    pub required: bool,
}

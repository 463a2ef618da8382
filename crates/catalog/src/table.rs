//! A catalog's table: a summary of each command for listing, search and naming. It is derived from
//! the document and stored next to it, so that finding a command does not require reading the
//! document.

use serde::{Deserialize, Serialize};

use crate::command::{Location, Method};

/// A summary of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The command's name in the catalog: `orders:list`.
    pub name: String,
    pub method: Method,
    /// The path template as written in the document.
    pub path: String,
    /// JSON pointer to the operation in its document.
    pub pointer: String,
    /// The `operationId`, sanitized.
    pub operation_id: Option<String>,
    /// A single line, sanitized and truncated.
    pub summary: String,
    /// The start of the description, sanitized; used for search.
    pub description: String,
    pub tags: Vec<String>,
    pub parameters: Vec<RowParameter>,
    /// The request body, if the command takes one.
    pub body: Option<RowBody>,
    pub deprecated: bool,
}

impl Row {
    /// The key under which the row's name is recorded.
    pub fn key(&self) -> String {
        format!("{} {}", self.method.name(), self.path)
    }
}

/// A summary of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowParameter {
    /// The name as sent.
    pub name: String,
    pub location: Location,
    pub required: bool,
}

/// A summary of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowBody {
    pub required: bool,
}

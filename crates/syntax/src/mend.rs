//! Tree edits: changes to a document in terms of its tree, which `fix` turns into edits to the
//! text.

use serde_json::Value;

use crate::span::Span;

/// A location in the document: a node or key, or part of a string node's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceLocation {
    /// The span of the node or key.
    pub at: Span,
    /// A range in the string's decoded text.
    pub inner: Option<Span>,
}

impl From<Span> for SourceLocation {
    fn from(at: Span) -> SourceLocation {
        SourceLocation { at, inner: None }
    }
}

impl SourceLocation {
    /// A part of the string at `at`.
    pub fn within(at: Span, start: u32, end: u32) -> SourceLocation {
        SourceLocation { at, inner: Some(Span { start, end }) }
    }
}

/// A tree edit that fixes exactly one fault.
#[derive(Debug, Clone, PartialEq)]
pub enum Mend {
    /// Renames a key; its value stays as it is.
    RenameKey { key: Span, to: String },
    /// Replaces a node with another value.
    Replace { at: Span, value: Value },
    /// Replaces a part of a string.
    ReplaceText { place: SourceLocation, text: String },
    /// Removes the entry with this key.
    Remove { key: Span },
    /// Inserts an entry into a map.
    Insert { map: Span, key: String, value: Value },
    /// Moves the entry with this key to the map `into`, or to its entry `under`, which is created
    /// if missing, and renames it to `name`.
    Move { key: Span, into: Span, under: Option<String>, name: String },
    /// Removes an item from a list.
    RemoveItem { at: Span },
    /// Moves a list item in front of another one.
    MoveItem { item: Span, before: Span },
    /// Edits the raw text, for documents that do not parse.
    Edit { at: Span, text: String },
    /// Several changes together.
    All(Vec<Mend>),
}

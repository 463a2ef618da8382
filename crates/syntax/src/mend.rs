//! Changes of a document in terms of its tree; `fix` turns them into edits of the text.

use serde_json::Value;

use crate::span::Span;

/// A place in the document: a node or key, or a part of the text of a string node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SourceLocation {
    /// The node or key.
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
    /// A part of the string that stands at `at`.
    pub fn within(at: Span, start: u32, end: u32) -> SourceLocation {
        SourceLocation { at, inner: Some(Span { start, end }) }
    }
}

/// A change that mends exactly one fault.
#[derive(Debug, Clone, PartialEq)]
pub enum Mend {
    /// Another name for a key.
    RenameKey { key: Span, to: String },
    /// Another value in place of the node.
    Replace { at: Span, value: Value },
    /// Other words inside a string.
    ReplaceText { place: SourceLocation, text: String },
    /// The entry with this key goes away.
    Remove { key: Span },
    /// A new entry in a map.
    Insert { map: Span, key: String, value: Value },
    /// The entry with this key goes, by a name, into another map: into `into` itself, or under that
    /// entry of it, which is made when it is not there.
    Move { key: Span, into: Span, under: Option<String>, name: String },
    /// The item of a list goes away.
    RemoveItem { at: Span },
    /// The item of a list goes before another of the same list.
    MoveItem { item: Span, before: Span },
    /// Raw text, for documents that do not parse.
    Edit { at: Span, text: String },
    /// Several of them together.
    All(Vec<Mend>),
}

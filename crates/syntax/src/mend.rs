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
    /// Another name for the key at this place.
    RenameKey {
        /// The key.
        key: Span,
        /// Its new name.
        to: String,
    },
    /// Another value in place of the node.
    Replace {
        /// The node.
        at: Span,
        /// The new value.
        value: Value,
    },
    /// Other words inside a string.
    ReplaceText {
        /// The words.
        place: SourceLocation,
        /// What to put there.
        text: String,
    },
    /// The entry with this key goes away.
    Remove {
        /// The key.
        key: Span,
    },
    /// A new entry in a map.
    Insert {
        /// The map.
        map: Span,
        /// The key.
        key: String,
        /// The value.
        value: Value,
    },
    /// The entry with this key goes into another map.
    Move {
        /// The key.
        key: Span,
        /// The map it goes into.
        into: Span,
        /// The entry of `into` that is the target itself, made when it is not there.
        under: Option<String>,
        /// Its name there.
        name: String,
    },
    /// The item of a list goes away.
    RemoveItem {
        /// The item.
        at: Span,
    },
    /// The item of a list goes before another of the same list.
    MoveItem {
        /// The item.
        item: Span,
        /// The item it goes before.
        before: Span,
    },
    /// Raw text, for documents that do not parse.
    Edit {
        /// The range.
        at: Span,
        /// What to put there.
        text: String,
    },
    /// Several of them together.
    All(Vec<Mend>),
}

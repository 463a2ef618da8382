//! A JSON document as its text and a tape: values are decoded from the text on demand.

use std::borrow::Cow;
use std::ops::Range;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::tape::{Tape, TapeSlot};
use crate::tree::escape_pointer;

#[derive(Debug)]
pub struct JsonDocument {
    text: String,
    tape: Tape,
}

impl JsonDocument {
    /// Creates a document; `tape` must be the tape of exactly this text.
    pub fn new(text: String, tape: Tape) -> JsonDocument {
        JsonDocument { text, tape }
    }

    pub fn root(&self) -> JsonNode<'_> {
        JsonNode { document: self, at: 0 }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value that a JSON pointer (RFC 6901) refers to.
    pub fn pointer(&self, pointer: &str) -> Option<JsonNode<'_>> {
        self.descend(pointer, Cow::Borrowed)
    }

    /// The value that a reference's fragment refers to: `#/paths/~1a`, with or without the `#`.
    ///
    /// A fragment is percent-encoded as a whole, but some authors encode each part separately, and
    /// some encode nothing.
    pub fn fragment(&self, fragment: &str) -> Option<JsonNode<'_>> {
        let fragment = fragment.strip_prefix('#').unwrap_or(fragment);
        if !fragment.contains('%') {
            return self.pointer(fragment);
        }
        let decode = |text| percent_decode_str(text).decode_utf8_lossy();
        let whole = self.pointer(&decode(fragment));
        whole.or_else(|| self.descend(fragment, decode)).or_else(|| self.pointer(fragment))
    }

    fn descend<'p>(
        &self,
        pointer: &'p str,
        decode: impl Fn(&'p str) -> Cow<'p, str>,
    ) -> Option<JsonNode<'_>> {
        if pointer.is_empty() {
            return Some(self.root());
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self.root(), |node, token| {
            let token = decode(token);
            let token = match token.contains('~') {
                true => Cow::Owned(token.replace("~1", "/").replace("~0", "~")),
                false => token,
            };
            node.child(&token)
        })
    }

    /// The pointer to the innermost value at this byte offset; a key counts as part of its value.
    pub fn pointer_at(&self, at: usize) -> String {
        let slots = &self.tape.slots;
        let mut pointer = String::new();
        let mut node = self.root();
        while let Some((token, child)) =
            node.parts().find(|(_, child)| at < slots[child.index() as usize].end())
        {
            let start = slots[child.index() as usize].start();
            let key = u32::from(node.is_map());
            if at < slots[(child.index() - key) as usize].start() {
                break;
            }
            pointer.push('/');
            pointer.push_str(&escape_pointer(&token));
            if at <= start {
                break;
            }
            node = child;
        }
        pointer
    }
}

/// A value in a document. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct JsonNode<'d> {
    document: &'d JsonDocument,
    at: u32,
}

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    Null,
    /// `true` or `false`
    Bool,
    /// A number in JSON syntax, of any size.
    Number,
    /// A string.
    Text,
    /// `[…]`
    List,
    /// `{…}`
    Map,
}

impl JsonKind {
    /// The name for use in messages.
    pub fn name(self) -> &'static str {
        match self {
            JsonKind::Null => "null",
            JsonKind::Bool => "true or false",
            JsonKind::Number => "a number",
            JsonKind::Text => "text",
            JsonKind::List => "a list",
            JsonKind::Map => "a map",
        }
    }
}

/// Compares identity: the same value in the same document, not an equal one.
impl PartialEq for JsonNode<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.document, other.document) && self.at == other.at
    }
}

impl Eq for JsonNode<'_> {}

impl<'d> JsonNode<'d> {
    fn slot(self) -> TapeSlot {
        self.document.tape.slots[self.at as usize]
    }

    fn first_byte(self) -> u8 {
        self.document.text.as_bytes()[self.slot().start()]
    }

    /// The kind of this value.
    pub fn kind(self) -> JsonKind {
        match self.first_byte() {
            b'{' => JsonKind::Map,
            b'[' => JsonKind::List,
            b'"' => JsonKind::Text,
            b't' | b'f' => JsonKind::Bool,
            b'n' => JsonKind::Null,
            _ => JsonKind::Number,
        }
    }

    /// The value of a key, or its last value if the key is repeated. `None` if this is not a map.
    pub fn get(self, key: &str) -> Option<JsonNode<'d>> {
        let JsonDocument { text, tape } = self.document;
        if !self.is_map() {
            return None;
        }
        if self.slot().is_marked() {
            return tape.find(text, self.at, key).map(|at| JsonNode { at, ..self });
        }
        let same = |at: &u32| {
            let slot = tape.slots[*at as usize];
            match slot.is_marked() {
                true => tape.string(text, *at) == key,
                false => text.as_bytes()[slot.start() + 1..slot.end() - 1] == *key.as_bytes(),
            }
        };
        self.keys().find(same).map(|at| JsonNode { at: at + 1, ..self })
    }

    /// The entries of a map in document order, without those that a later entry with the same key
    /// replaces. Empty if this is not a map.
    pub fn entries(self) -> impl Iterator<Item = (Cow<'d, str>, JsonNode<'d>)> {
        let JsonDocument { text, tape } = self.document;
        self.keys().map(move |at| (tape.string(text, at), JsonNode { at: at + 1, ..self }))
    }

    /// All entries of a map as written, repeated keys included: the position of the key, the key
    /// and the value.
    pub fn written_entries(
        self,
    ) -> impl Iterator<Item = (Range<usize>, Cow<'d, str>, JsonNode<'d>)> {
        let JsonDocument { text, tape } = self.document;
        self.all_keys().map(move |at| {
            let key = JsonNode { at, ..self };
            (key.range(), tape.string(text, at), JsonNode { at: at + 1, ..self })
        })
    }

    /// The items of a list. Empty if this is not a list.
    pub fn items(self) -> impl Iterator<Item = JsonNode<'d>> {
        let slots = &self.document.tape.slots;
        let end = if self.is_list() { self.slot().next } else { 0 };
        let first = Some(self.at + 1).filter(|at| *at < end);
        let next = move |at: &u32| Some(slots[*at as usize].next).filter(|next| *next < end);
        std::iter::successors(first, next).map(move |at| JsonNode { at, ..self })
    }

    /// The slots of the keys that are not repeated later; each value is in the slot after its key.
    fn keys(self) -> impl Iterator<Item = u32> + 'd {
        let slots = &self.document.tape.slots;
        self.all_keys().filter(|key| !slots[*key as usize].is_shadowed())
    }

    /// The slots of all keys, including those that are repeated later.
    fn all_keys(self) -> impl Iterator<Item = u32> + 'd {
        let slots = &self.document.tape.slots;
        let end = if self.is_map() { self.slot().next } else { 0 };
        let first = Some(self.at + 1).filter(|at| *at < end);
        let next = move |key: &u32| Some(slots[*key as usize + 1].next).filter(|key| *key < end);
        std::iter::successors(first, next)
    }

    /// All children of a list or map, repeated keys included, each with its pointer token.
    fn parts(self) -> impl Iterator<Item = (Cow<'d, str>, JsonNode<'d>)> {
        let JsonDocument { text, tape } = self.document;
        let entry = move |at| (tape.string(text, at), JsonNode { at: at + 1, ..self });
        let item = |(at, item): (usize, _)| (Cow::Owned(at.to_string()), item);
        self.all_keys().map(entry).chain(self.items().enumerate().map(item))
    }

    /// The child that a pointer token refers to: a key of a map or an index in a list.
    fn child(self, token: &str) -> Option<JsonNode<'d>> {
        if !self.is_list() {
            return self.get(token);
        }
        let is_position = token == "0" || !token.starts_with(['0', '+']);
        self.items().nth(token.parse().ok().filter(|_| is_position)?)
    }

    /// The text of a string; `None` for any other value.
    pub fn text(self) -> Option<Cow<'d, str>> {
        let JsonDocument { text, tape } = self.document;
        (self.first_byte() == b'"').then(|| tape.string(text, self.at))
    }

    /// The value of a boolean; `None` for any other value.
    pub fn bool(self) -> Option<bool> {
        match self.first_byte() {
            b't' => Some(true),
            b'f' => Some(false),
            _ => None,
        }
    }

    /// The text of a string, or a number or boolean as written: for values where authors forget
    /// quotes, such as `version: 2.0`.
    pub fn scalar(self) -> Option<Cow<'d, str>> {
        match self.kind() {
            JsonKind::Text => self.text(),
            JsonKind::Number | JsonKind::Bool => Some(Cow::Borrowed(self.raw())),
            JsonKind::Null | JsonKind::List | JsonKind::Map => None,
        }
    }

    pub fn is_map(self) -> bool {
        self.first_byte() == b'{'
    }

    pub fn is_list(self) -> bool {
        self.first_byte() == b'['
    }

    pub fn is_null(self) -> bool {
        self.first_byte() == b'n'
    }

    /// The number of entries or items; 0 for a scalar. Takes linear time.
    pub fn len(self) -> usize {
        if self.is_list() { self.items().count() } else { self.keys().count() }
    }

    /// Whether there are no entries or items.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// An owned copy. Integers beyond 64 bits are rounded, and numbers beyond the range of a float
    /// are kept as text.
    pub fn to_value(self) -> Value {
        match self.kind() {
            JsonKind::Null => Value::Null,
            JsonKind::Bool => Value::Bool(self.first_byte() == b't'),
            JsonKind::Number => {
                serde_json::from_str(self.raw()).unwrap_or_else(|_| Value::from(self.raw()))
            }
            JsonKind::Text => Value::String(self.text().unwrap_or_default().into_owned()),
            // The recursion is no deeper than the reader allowed.
            JsonKind::List => self.items().map(JsonNode::to_value).collect(),
            JsonKind::Map => {
                let entries = self.entries().map(|(key, node)| (key.into_owned(), node.to_value()));
                Value::Object(entries.collect())
            }
        }
    }

    /// The index of this value in its document, for tables that are kept alongside the document.
    pub fn index(self) -> u32 {
        self.at
    }

    /// The byte range in the text of the document.
    pub fn range(self) -> Range<usize> {
        self.slot().start()..self.slot().end()
    }

    /// The JSON text of this value.
    pub fn raw(self) -> &'d str {
        &self.document.text[self.range()]
    }
}

//! A JSON document as its text and a tape: values are looked up in the text when they are asked for.

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
    /// `tape` is the tape of this very text.
    pub fn new(text: String, tape: Tape) -> JsonDocument {
        JsonDocument { text, tape }
    }

    pub fn root(&self) -> JsonNode<'_> {
        JsonNode { document: self, at: 0 }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value a JSON pointer (RFC 6901) names.
    pub fn pointer(&self, pointer: &str) -> Option<JsonNode<'_>> {
        self.descend(pointer, Cow::Borrowed)
    }

    /// The value the fragment of a reference names: `#/paths/~1a`, with or without its `#`.
    ///
    /// A fragment is percent-encoded as a whole, but there are authors who encode each part, and
    /// authors who encode nothing.
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

    /// The pointer to the innermost value that has this place of the text; a key is its value's.
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

/// A value of a document. Cheap to copy.
#[derive(Debug, Clone, Copy)]
pub struct JsonNode<'d> {
    document: &'d JsonDocument,
    at: u32,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool,
    /// A number as JSON writes it, of any size.
    Number,
    /// A string.
    Text,
    /// `[…]`
    List,
    /// `{…}`
    Map,
}

impl JsonKind {
    /// Its name in a message.
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

/// The same value of the same document, not one that is equal.
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

    /// What it is.
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

    /// The value of a key; of a repeated key, the last one. `None` when it is no map.
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

    /// The entries of a map in the order of the document, without those that a later entry with
    /// the same key replaces. Empty when it is no map.
    pub fn entries(self) -> impl Iterator<Item = (Cow<'d, str>, JsonNode<'d>)> {
        let JsonDocument { text, tape } = self.document;
        self.keys().map(move |at| (tape.string(text, at), JsonNode { at: at + 1, ..self }))
    }

    /// The items of a list. Empty when it is no list.
    pub fn items(self) -> impl Iterator<Item = JsonNode<'d>> {
        let slots = &self.document.tape.slots;
        let end = if self.is_list() { self.slot().next } else { 0 };
        let first = Some(self.at + 1).filter(|at| *at < end);
        let next = move |at: &u32| Some(slots[*at as usize].next).filter(|next| *next < end);
        std::iter::successors(first, next).map(move |at| JsonNode { at, ..self })
    }

    /// The slots of the keys that count; the value of each is behind it.
    fn keys(self) -> impl Iterator<Item = u32> + 'd {
        let slots = &self.document.tape.slots;
        self.all_keys().filter(|key| !slots[*key as usize].is_shadowed())
    }

    /// The slots of the keys, those too that a later one repeats.
    fn all_keys(self) -> impl Iterator<Item = u32> + 'd {
        let slots = &self.document.tape.slots;
        let end = if self.is_map() { self.slot().next } else { 0 };
        let first = Some(self.at + 1).filter(|at| *at < end);
        let next = move |key: &u32| Some(slots[*key as usize + 1].next).filter(|key| *key < end);
        std::iter::successors(first, next)
    }

    /// All that is written in a list or map, each with the part of a pointer that leads to it.
    fn parts(self) -> impl Iterator<Item = (Cow<'d, str>, JsonNode<'d>)> {
        let JsonDocument { text, tape } = self.document;
        let entry = move |at| (tape.string(text, at), JsonNode { at: at + 1, ..self });
        let item = |(at, item): (usize, _)| (Cow::Owned(at.to_string()), item);
        self.all_keys().map(entry).chain(self.items().enumerate().map(item))
    }

    /// What a part of a pointer leads to: a key of a map or the position in a list.
    fn child(self, token: &str) -> Option<JsonNode<'d>> {
        if !self.is_list() {
            return self.get(token);
        }
        let is_position = token == "0" || !token.starts_with(['0', '+']);
        self.items().nth(token.parse().ok().filter(|_| is_position)?)
    }

    /// The text of a string; `None` for all else.
    pub fn text(self) -> Option<Cow<'d, str>> {
        let JsonDocument { text, tape } = self.document;
        (self.first_byte() == b'"').then(|| tape.string(text, self.at))
    }

    /// Whether it is `true`; `None` when it is neither that nor `false`.
    pub fn bool(self) -> Option<bool> {
        match self.first_byte() {
            b't' => Some(true),
            b'f' => Some(false),
            _ => None,
        }
    }

    /// The text of a string, or a number or `true` and `false` as written: for places where
    /// authors forget quotes, such as `version: 2.0`.
    pub fn scalar(self) -> Option<Cow<'d, str>> {
        match self.kind() {
            JsonKind::Text => self.text(),
            JsonKind::Number | JsonKind::Bool => Some(Cow::Borrowed(self.raw())),
            JsonKind::Null | JsonKind::List | JsonKind::Map => None,
        }
    }

    /// Whether it is a map.
    pub fn is_map(self) -> bool {
        self.first_byte() == b'{'
    }

    /// Whether it is a list.
    pub fn is_list(self) -> bool {
        self.first_byte() == b'['
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.first_byte() == b'n'
    }

    /// How many entries or items it has: none when it is a scalar. They are counted.
    pub fn len(self) -> usize {
        if self.is_list() { self.items().count() } else { self.keys().count() }
    }

    /// Whether it has no entry and no item.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// An own copy. Whole numbers beyond 64 bits are rounded, and what is no number at all then
    /// is kept as text.
    pub fn to_value(self) -> Value {
        match self.kind() {
            JsonKind::Null => Value::Null,
            JsonKind::Bool => Value::Bool(self.first_byte() == b't'),
            JsonKind::Number => {
                serde_json::from_str(self.raw()).unwrap_or_else(|_| Value::from(self.raw()))
            }
            JsonKind::Text => Value::String(self.text().unwrap_or_default().into_owned()),
            // Not deeper than the reader let the document be.
            JsonKind::List => self.items().map(JsonNode::to_value).collect(),
            JsonKind::Map => {
                let entries = self.entries().map(|(key, node)| (key.into_owned(), node.to_value()));
                Value::Object(entries.collect())
            }
        }
    }

    /// Which value of its document it is, for tables beside it.
    pub fn index(self) -> u32 {
        self.at
    }

    /// Where it stands in the text of its document.
    pub fn range(self) -> Range<usize> {
        self.slot().start()..self.slot().end()
    }

    /// Its JSON text.
    pub fn raw(self) -> &'d str {
        &self.document.text[self.range()]
    }
}

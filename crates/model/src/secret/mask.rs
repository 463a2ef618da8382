//! Finds secrets in texts, in one pass for all of them.
//!
//! Every spelling of every secret is a path in one trie. A text is read from each offset at which a
//! spelling could begin, which a table of byte pairs decides; ordinary text costs one lookup per
//! byte, however many secrets there are.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use serde_json::Value;

use super::spelling::{self, ReadingPlace, SecretSpelling};
use super::{Secret, mark};
use crate::limits::{
    GUARDED_CHARS_MIN, MASKED_CHARS_MIN, PART_BYTES, PART_UNITS_MIN, SPELLING_UNITS_MIN,
};

/// The secrets to look for.
///
/// A mask finds a secret in plain text, percent-encoded, escaped as JSON, in hexadecimal and in
/// base64 at any offset, each in upper or lower case.
#[derive(Clone, Default)]
pub struct Mask {
    strength: Strength,
    secrets: Vec<(String, Secret)>,
    forms: Vec<Form>,
    nodes: Vec<Node>,
    /// The pairs of bytes that a spelling can begin with.
    begins: BytePairs,
}

/// How short a secret may be to be looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Strength {
    /// In data, where a short value would match ordinary text.
    #[default]
    Data,
    /// In a single request and its errors, which must not carry a secret that it was given.
    Guard,
}

/// The end of a spelling.
#[derive(Debug, Clone, Copy)]
struct Form {
    secret: usize,
    /// Whether the character before a match may encode part of the secret, as in base64.
    shares_first: bool,
    /// Whether the character after a match may encode part of the secret.
    shares_last: bool,
}

/// A node of the trie. Index 0 stands for "none" in its links: the root is nobody's child.
#[derive(Debug, Clone, Copy)]
struct Node {
    unit: char,
    child: u32,
    sibling: u32,
    form: Option<u32>,
}

/// A secret in a text.
#[derive(Debug)]
pub struct SecretMatch<'m> {
    /// Its byte range in the text.
    pub at: Range<usize>,
    pub name: &'m str,
    pub secret: &'m Secret,
}

impl Mask {
    /// A mask for data, without secrets. It looks for secrets of at least [`MASKED_CHARS_MIN`]
    /// characters.
    pub fn new() -> Mask {
        Mask::default()
    }

    /// A mask for one request and its errors, without secrets. It looks for secrets of at least
    /// [`GUARDED_CHARS_MIN`] characters.
    pub fn guard() -> Mask {
        Mask { strength: Strength::Guard, ..Mask::default() }
    }

    /// Whether a secret is long enough to be found in data.
    pub fn recognizes(secret: &Secret) -> bool {
        Strength::Data.is_enough(secret.reveal().trim())
    }

    /// Adds a secret, which is replaced by a mark with this name.
    pub fn add(&mut self, name: &str, secret: &Secret) {
        if self.secrets.iter().any(|(_, known)| known == secret) {
            return;
        }
        let value = secret.reveal();
        let index = self.secrets.len();
        let before = self.forms.len();
        self.add_value(index, value);
        // A secret from a file often ends in a line break that is not sent.
        if value.trim() != value {
            self.add_value(index, value.trim());
        }
        let is_sought = value.contains('\\') && self.strength.is_enough(value);
        if self.forms.len() > before || is_sought {
            self.secrets.push((name.to_owned(), secret.clone()));
        }
    }

    /// Adds all secrets from another mask.
    pub fn extend(&mut self, other: &Mask) {
        other.secrets.iter().for_each(|(name, secret)| self.add(name, secret));
    }

    /// Whether the mask has no secrets.
    pub fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// Whether the text contains a secret.
    pub fn finds(&self, text: &str) -> bool {
        self.finds_in(text.as_bytes(), true)
    }

    /// Whether the bytes contain a secret.
    pub fn finds_bytes(&self, bytes: &[u8]) -> bool {
        self.finds_in(bytes, false)
    }

    fn finds_in(&self, bytes: &[u8], is_text: bool) -> bool {
        self.search(bytes, is_text).next().is_some() || self.backslashed(bytes).is_some()
    }

    /// The secrets in a text, in order; they do not overlap.
    pub fn find_all<'m>(&'m self, text: &'m [u8]) -> impl Iterator<Item = SecretMatch<'m>> {
        self.search(text, std::str::from_utf8(text).is_ok())
    }

    /// The text with its secrets masked.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.masked(text.as_bytes(), true) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(
                String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
            ),
        }
    }

    /// The bytes with their secrets masked.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        self.masked(bytes, false)
    }

    /// The value with secrets masked in its keys and strings. Numbers stay numbers.
    pub fn json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.shown(text).into_owned()),
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::Object(map) => {
                let hide = |(name, value): (&String, _)| (self.text(name).into(), self.json(value));
                Value::Object(map.iter().map(hide).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// The headers with their secrets masked.
    pub fn headers(&self, headers: &[(String, String)]) -> Vec<(String, String)> {
        let hide = |text: &String| self.text(text).into_owned();
        headers.iter().map(|(name, value)| (hide(name), hide(value))).collect()
    }

    /// Where the beginning of a secret starts that the end of the bytes cut off.
    pub(super) fn part_at_end(&self, bytes: &[u8]) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        let mut search = self.search(bytes, false);
        let first = bytes.len().saturating_sub(PART_BYTES);
        (first..bytes.len())
            .find(|at| search.part(*at).is_some_and(|units| units >= PART_UNITS_MIN))
    }

    fn masked<'a>(&self, bytes: &'a [u8], is_text: bool) -> Cow<'a, [u8]> {
        let mut out = Vec::new();
        let mut done = 0;
        for found in self.search(bytes, is_text) {
            out.extend_from_slice(&bytes[done..found.at.start]);
            out.extend_from_slice(mark(found.name).as_bytes());
            done = found.at.end;
        }
        if done > 0 {
            out.extend_from_slice(&bytes[done..]);
        } else if self.backslashed(bytes).is_none() {
            return Cow::Borrowed(bytes);
        } else {
            out.extend_from_slice(bytes);
        }
        while let Some((at, name)) = self.backslashed(&out) {
            out.splice(at, mark(name).into_bytes());
        }
        Cow::Owned(out)
    }

    /// A secret with backslashes, as it is or as a JSON string. Where such a value ends, its last
    /// backslashes can also be read as escapes of each other, so the search may have passed it
    /// over.
    fn backslashed(&self, bytes: &[u8]) -> Option<(Range<usize>, &str)> {
        let values = self.secrets.iter().filter(|(_, secret)| {
            secret.reveal().contains('\\') && self.strength.is_enough(secret.reveal())
        });
        let mut found = values.flat_map(|(name, secret)| {
            let quoted = Value::from(secret.reveal()).to_string();
            let inner = quoted[1..quoted.len() - 1].to_owned();
            [inner, secret.reveal().to_owned()].map(|form| (name, form))
        });
        found.find_map(|(name, form)| {
            let at = bytes.windows(form.len()).position(|part| part == form.as_bytes())?;
            Some((at..at + form.len(), name.as_str()))
        })
    }

    fn search<'m>(&'m self, text: &'m [u8], is_text: bool) -> Search<'m> {
        Search { mask: self, text, from: 0, is_text, places: Vec::new(), next: Vec::new() }
    }

    fn add_value(&mut self, secret: usize, value: &str) {
        if !self.strength.is_enough(value) {
            return;
        }
        for SecretSpelling { units, shares_first, shares_last } in spelling::all(value) {
            if units.len() >= SPELLING_UNITS_MIN {
                self.insert(&units, Form { secret, shares_first, shares_last });
            }
        }
    }

    /// Adds a path to the trie. A path that is already there keeps its form.
    fn insert(&mut self, units: &[char], form: Form) {
        if self.nodes.is_empty() {
            self.nodes.push(Node { unit: '\0', child: 0, sibling: 0, form: None });
        }
        self.begins.add(units[0], units[1]);
        let mut node = 0;
        for unit in units {
            node = self.child(node, *unit).unwrap_or_else(|| self.new_child(node, *unit));
        }
        let end = &mut self.nodes[node as usize].form;
        if end.is_none() {
            *end = u32::try_from(self.forms.len()).ok();
            self.forms.push(form);
        }
    }

    fn new_child(&mut self, node: u32, unit: char) -> u32 {
        let new = u32::try_from(self.nodes.len()).expect("secrets are bounded");
        let parent = &mut self.nodes[node as usize];
        let sibling = std::mem::replace(&mut parent.child, new);
        self.nodes.push(Node { unit, child: 0, sibling, form: None });
        new
    }

    fn children(&self, node: u32) -> impl Iterator<Item = (u32, char)> {
        let mut next = self.nodes[node as usize].child;
        std::iter::from_fn(move || {
            let this = (next != 0).then_some(next)?;
            let node = self.nodes[this as usize];
            next = node.sibling;
            Some((this, node.unit))
        })
    }

    fn child(&self, node: u32, unit: char) -> Option<u32> {
        self.children(node).find(|(_, other)| *other == unit).map(|(child, _)| child)
    }
}

impl Strength {
    fn is_enough(self, value: &str) -> bool {
        let chars_min = match self {
            Strength::Data => MASKED_CHARS_MIN,
            Strength::Guard => GUARDED_CHARS_MIN,
        };
        value.chars().count() >= chars_min
    }
}

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.secrets.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_tuple("Mask").field(&names).finish()
    }
}

/// A search through a text, from left to right.
struct Search<'m> {
    mask: &'m Mask,
    text: &'m [u8],
    from: usize,
    /// Whether the text is valid UTF-8, so that no byte stands alone.
    is_text: bool,
    places: Vec<(u32, usize)>,
    next: Vec<(u32, usize)>,
}

impl<'m> Iterator for Search<'m> {
    type Item = SecretMatch<'m>;

    fn next(&mut self) -> Option<SecretMatch<'m>> {
        if self.mask.is_empty() {
            return None;
        }
        let mut at = self.from;
        while at + 1 < self.text.len() {
            if self.mask.begins.has(self.text[at], self.text[at + 1])
                && let Some((form, end)) = self.longest(at)
            {
                return Some(self.found(self.mask.forms[form as usize], at..end));
            }
            at += 1;
        }
        self.from = self.text.len();
        None
    }
}

impl<'m> Search<'m> {
    /// The longest spelling that begins at an offset, and its end.
    fn longest(&mut self, start: usize) -> Option<(u32, usize)> {
        let mut best: Option<(u32, usize)> = None;
        self.begin(start);
        while self.advance() {
            for &(node, end) in &self.places {
                let form = self.mask.nodes[node as usize].form;
                if let Some(form) = form.filter(|_| best.is_none_or(|(_, other)| end > other)) {
                    best = Some((form, end));
                }
            }
        }
        best
    }

    /// The number of units of a spelling that begins at an offset and is cut off by the end.
    fn part(&mut self, start: usize) -> Option<usize> {
        let mut part = None;
        let mut units = 0;
        self.begin(start);
        while self.advance() {
            units += 1;
            if self.places.iter().any(|(_, end)| *end == self.text.len()) {
                part = Some(units);
            }
        }
        part.filter(|_| self.longest(start).is_none())
    }

    fn begin(&mut self, start: usize) {
        self.places.clear();
        self.places.push((0, start));
    }

    /// Reads one unit further in every way; `false` if no spelling goes on.
    fn advance(&mut self) -> bool {
        let (mask, text, is_text) = (self.mask, self.text, self.is_text);
        self.next.clear();
        let next = &mut self.next;
        for &(node, at) in &self.places {
            // Some characters can be read in two ways, so several offsets are followed at once.
            spelling::read(ReadingPlace { text, at, is_text }, &mut |unit, end| {
                let lost = unit == char::REPLACEMENT_CHARACTER;
                let fits =
                    |other: char| other == unit || lost && matches!(other, '\u{80}'..='\u{ff}');
                let children = mask.children(node).filter(|(_, other)| fits(*other));
                next.extend(children.map(|(child, _)| (child, end)));
            });
        }
        if next.len() > 1 {
            next.sort_unstable();
            next.dedup();
        }
        std::mem::swap(&mut self.places, &mut self.next);
        !self.places.is_empty()
    }

    fn found(&mut self, form: Form, mut at: Range<usize>) -> SecretMatch<'m> {
        let shared = |byte: Option<&u8>| {
            byte.is_some_and(|b| b.is_ascii_alphanumeric() || b"+/-_".contains(b))
        };
        if form.shares_first && at.start > self.from && shared(self.text.get(at.start - 1)) {
            at.start -= 1;
        }
        if form.shares_last && shared(self.text.get(at.end)) {
            at.end += 1;
        }
        self.from = at.end;
        let (name, secret) = &self.mask.secrets[form.secret];
        SecretMatch { at, name, secret }
    }
}

/// A set of pairs of bytes.
#[derive(Clone, Default)]
struct BytePairs(Vec<u64>);

impl BytePairs {
    fn has(&self, first: u8, second: u8) -> bool {
        let index = usize::from(first) << 8 | usize::from(second);
        self.0.get(index / 64).is_some_and(|word| word & 1 << (index % 64) != 0)
    }

    /// Adds every pair of bytes that a spelling with these first units can begin with.
    fn add(&mut self, first: char, second: char) {
        self.0.resize((1 << 16) / 64, 0);
        for (one, is_whole) in spelling::first_bytes(first) {
            if is_whole {
                spelling::first_bytes(second).into_iter().for_each(|(two, _)| self.put(one, two));
            } else {
                (0..=u8::MAX).for_each(|two| self.put(one, two));
            }
        }
    }

    fn put(&mut self, first: u8, second: u8) {
        let index = usize::from(first) << 8 | usize::from(second);
        self.0[index / 64] |= 1 << (index % 64);
    }
}

#[cfg(test)]
mod tests;

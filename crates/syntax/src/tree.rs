//! A document as a tree in which every node knows its position in the text.
//!
//! Both readers build this tree, and everything else works on it; it does not interpret the values.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::span::Span;

/// A value with its position.
#[derive(Debug, Clone, PartialEq)]
pub struct SyntaxNode {
    /// The position. For an alias, this is where the alias is written; its contents keep the
    /// positions of the anchored value.
    pub at: Span,
    pub kind: SyntaxKind,
}

/// A map key with its position.
#[derive(Debug, Clone, PartialEq)]
pub struct SyntaxKey {
    /// The key, decoded.
    pub name: String,
    /// The position, including quotes.
    pub at: Span,
}

/// The kind and content of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum SyntaxKind {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    List(Vec<SyntaxNode>),
    Map(Vec<(SyntaxKey, SyntaxNode)>),
    /// A value that the reader has rejected and reported, so that nothing more is reported about
    /// it.
    Bad,
}

impl SyntaxNode {
    /// The noun for this kind of value in messages.
    pub fn noun(&self) -> &'static str {
        match self.kind {
            SyntaxKind::Null => "null",
            SyntaxKind::Bool(_) => "a boolean",
            SyntaxKind::Int(_) => "a whole number",
            SyntaxKind::Float(_) => "a number",
            SyntaxKind::Str(_) => "a string",
            SyntaxKind::List(_) => "a list",
            SyntaxKind::Map(_) => "a map",
            SyntaxKind::Bad => "an unreadable value",
        }
    }

    pub fn is_map(&self) -> bool {
        matches!(self.kind, SyntaxKind::Map(_))
    }

    /// The entries, if this is a map.
    pub fn entries(&self) -> &[(SyntaxKey, SyntaxNode)] {
        match &self.kind {
            SyntaxKind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items, if this is a list.
    pub fn items(&self) -> &[SyntaxNode] {
        match &self.kind {
            SyntaxKind::List(items) => items,
            _ => &[],
        }
    }

    /// The value of a key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&SyntaxNode> {
        self.entry(key).map(|(_, node)| node)
    }

    /// The key and value of an entry, if this is a map that has it.
    pub fn entry(&self, key: &str) -> Option<&(SyntaxKey, SyntaxNode)> {
        self.entries().iter().find(|(name, _)| name.name == key)
    }

    /// The text, if this is a string.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            SyntaxKind::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The same value without positions.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            SyntaxKind::Null | SyntaxKind::Bad => Value::Null,
            SyntaxKind::Bool(flag) => Value::Bool(*flag),
            SyntaxKind::Int(number) => Value::from(*number),
            SyntaxKind::Float(number) => Value::from(*number),
            SyntaxKind::Str(text) => Value::String(text.clone()),
            SyntaxKind::List(items) => items.iter().map(SyntaxNode::to_value).collect(),
            SyntaxKind::Map(entries) => {
                let pairs = entries.iter().map(|(key, node)| (key.name.clone(), node.to_value()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// Whether two nodes have the same value, regardless of their positions.
    pub(crate) fn is_same(&self, other: &SyntaxNode) -> bool {
        match (&self.kind, &other.kind) {
            (SyntaxKind::List(one), SyntaxKind::List(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.is_same(b))
            }
            (SyntaxKind::Map(one), SyntaxKind::Map(other)) => {
                let mut pairs = one.iter().zip(other);
                one.len() == other.len()
                    && pairs.all(|((a, one), (b, other))| a.name == b.name && one.is_same(other))
            }
            (one, other) => one == other,
        }
    }

    /// The number of keys and values in this node, including itself.
    pub fn count(&self) -> usize {
        1 + self.items().iter().map(SyntaxNode::count).sum::<usize>()
            + self.entries().iter().map(|(_, value)| 1 + value.count()).sum::<usize>()
    }

    /// The JSON pointer of the innermost node or entry that contains a position; a key counts as
    /// part of its entry.
    pub fn pointer(&self, at: Span) -> String {
        let mut path = String::new();
        let mut node = self;
        while let Some((segment, child)) = node.child_at(at) {
            path.push('/');
            path.push_str(&escape_pointer(&segment));
            match child {
                Some(next) if next.at != at => node = next,
                _ => break,
            }
        }
        path
    }

    /// The child that contains a position. Siblings are in text order, so this is a binary search,
    /// which keeps lookups cheap in documents with many findings.
    fn child_at(&self, at: Span) -> Option<(String, Option<&SyntaxNode>)> {
        if self.at == at {
            return None;
        }
        match &self.kind {
            SyntaxKind::List(items) => {
                let after = items.partition_point(|item| item.at.start <= at.start);
                let index = after.checked_sub(1)?;
                items[index].at.holds(at).then(|| (index.to_string(), Some(&items[index])))
            }
            SyntaxKind::Map(entries) => {
                let after = entries.partition_point(|(key, _)| key.at.start <= at.start);
                let (key, node) = &entries[after.checked_sub(1)?];
                if key.at.holds(at) {
                    return Some((key.name.clone(), None));
                }
                node.at.holds(at).then(|| (key.name.clone(), Some(node)))
            }
            _ => None,
        }
    }

    /// The map that has an entry whose key or value is at this position, and the entry's index.
    pub fn owner_of(&self, place: Span) -> Option<(&SyntaxNode, usize)> {
        let entries = self.entries();
        let after = entries.partition_point(|(key, _)| key.at.start <= place.start);
        if let Some(index) = after.checked_sub(1)
            && (entries[index].0.at == place || entries[index].1.at == place)
        {
            return Some((self, index));
        }
        let (_, child) = self.child_at(place)?;
        child?.owner_of(place)
    }

    /// The list that has an item at this position, and the item's index.
    pub(crate) fn list_of(&self, item: Span) -> Option<(&SyntaxNode, usize)> {
        match self.items().iter().position(|one| one.at == item) {
            Some(index) => Some((self, index)),
            None => self.child_at(item)?.1?.list_of(item),
        }
    }

    /// The node at exactly this position.
    pub fn node_at(&self, at: Span) -> Option<&SyntaxNode> {
        if self.at == at {
            return Some(self);
        }
        self.child_at(at)?.1?.node_at(at)
    }
}

/// Escapes a key for use in a JSON pointer.
pub fn escape_pointer(key: &str) -> Cow<'_, str> {
    match key.contains(['~', '/']) {
        true => Cow::Owned(key.replace('~', "~0").replace('/', "~1")),
        false => Cow::Borrowed(key),
    }
}

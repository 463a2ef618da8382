//! A document as a tree in which every node knows its place in the text.
//!
//! Both readers make this tree and everything else starts from it; it holds no meaning of its own.

use serde_json::{Map, Value};

/// A range of bytes in the document's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct At {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl At {
    /// The beginning of the document.
    pub const START: At = At { start: 0, end: 0 };

    /// A range.
    pub fn new(start: usize, end: usize) -> At {
        At { start: start as u32, end: end as u32 }
    }

    pub(crate) fn holds(self, other: At) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where; an alias stands where it is written, its contents where they are written.
    pub at: At,
    /// What.
    pub kind: Kind,
}

/// A key of a map and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The key, decoded.
    pub name: String,
    /// Where, quotes included.
    pub at: At,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "the variants are the kinds of JSON")]
pub enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
    /// Refused by the reader and reported there: nothing more is said of it.
    Bad,
}

impl Node {
    /// The word for this kind of value in a message.
    pub fn noun(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a boolean",
            Kind::Int(_) => "a whole number",
            Kind::Float(_) => "a number",
            Kind::Str(_) => "a string",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
            Kind::Bad => "an unreadable value",
        }
    }

    /// The entries, when this is a map.
    pub fn entries(&self) -> &[(Key, Node)] {
        match &self.kind {
            Kind::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The items, when this is a list.
    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    /// The value of a key, when this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entry(key).map(|(_, node)| node)
    }

    /// Key and value of a key, when this is a map that has it.
    pub fn entry(&self, key: &str) -> Option<&(Key, Node)> {
        self.entries().iter().find(|(name, _)| name.name == key)
    }

    /// The text, when this is a string.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The same value without places.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            Kind::Null | Kind::Bad => Value::Null,
            Kind::Bool(flag) => Value::Bool(*flag),
            Kind::Int(number) => Value::from(*number),
            Kind::Float(number) => Value::from(*number),
            Kind::Str(text) => Value::String(text.clone()),
            Kind::List(items) => items.iter().map(Node::to_value).collect(),
            Kind::Map(entries) => {
                let pairs = entries.iter().map(|(key, node)| (key.name.clone(), node.to_value()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// Whether two nodes have the same value, wherever they stand.
    pub(crate) fn is_same(&self, other: &Node) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::List(one), Kind::List(other)) => {
                one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.is_same(b))
            }
            (Kind::Map(one), Kind::Map(other)) => {
                let same = |((a, one), (b, other)): (&(Key, Node), &(Key, Node))| {
                    a.name == b.name && one.is_same(other)
                };
                one.len() == other.len() && one.iter().zip(other).all(same)
            }
            (one, other) => one == other,
        }
    }

    /// How many keys and values it holds, itself included.
    pub(crate) fn count(&self) -> usize {
        1 + self.items().iter().map(Node::count).sum::<usize>()
            + self.entries().iter().map(|(_, value)| 1 + value.count()).sum::<usize>()
    }

    /// The JSON pointer of what stands at a place: a key means its entry, a part of a string the
    /// string, and a place between things what surrounds it.
    pub fn pointer(&self, at: At) -> String {
        let mut path = String::new();
        let mut node = self;
        while let Some((segment, child)) = node.child_at(at) {
            path.push('/');
            path.push_str(&segment.replace('~', "~0").replace('/', "~1"));
            match child {
                Some(next) if next.at != at => node = next,
                _ => break,
            }
        }
        path
    }

    /// The child that holds a place. Siblings are in the order of the text, so this is a search by
    /// halves: a document with very many findings stays cheap.
    fn child_at(&self, at: At) -> Option<(String, Option<&Node>)> {
        if self.at == at {
            return None;
        }
        match &self.kind {
            Kind::List(items) => {
                let after = items.partition_point(|item| item.at.start <= at.start);
                let index = after.checked_sub(1)?;
                items[index].at.holds(at).then(|| (index.to_string(), Some(&items[index])))
            }
            Kind::Map(entries) => {
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

    /// The map that has an entry whose key or value is at this place, and the entry's index.
    pub(crate) fn owner_of(&self, place: At) -> Option<(&Node, usize)> {
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

    /// The node at exactly this place.
    pub(crate) fn node_at(&self, at: At) -> Option<&Node> {
        if self.at == at {
            return Some(self);
        }
        self.child_at(at)?.1?.node_at(at)
    }
}

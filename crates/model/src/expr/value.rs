//! The values that the evaluator works with.
//!
//! Data from the scope and string literals in the source are borrowed, never copied; values that an
//! expression creates are reference-counted. Cloning any value is cheap.

use std::cmp::Ordering;
use std::ops::Deref;
use std::rc::Rc;

use serde_json::{Map as JsonMap, Number, Value as Json};

use super::ValueType;
use super::literal::Literal;

#[derive(Clone, Debug)]
pub(super) enum Value<'v> {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer in the data that exceeds `i64`. It can only be passed on and compared.
    Big(u64),
    Double(f64),
    Str(Text<'v>),
    Bytes(Rc<[u8]>),
    List(List<'v>),
    Map(Map<'v>),
    Type(ValueType),
    Optional(Option<Rc<Value<'v>>>),
}

impl<'v> Value<'v> {
    pub(super) fn of_json(json: &'v Json) -> Value<'v> {
        match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => Value::of_number(number),
            Json::String(text) => Value::Str(Text::Borrowed(text)),
            Json::Array(items) => Value::List(List::Json(items)),
            Json::Object(map) => Value::Map(Map::Json(map)),
        }
    }

    fn of_number(number: &Number) -> Value<'v> {
        if let Some(int) = number.as_i64() {
            Value::Int(int)
        } else if let Some(big) = number.as_u64() {
            Value::Big(big)
        } else {
            // Every other number converts to a double. A NaN would be rejected by every operation
            // that uses it.
            Value::Double(number.as_f64().unwrap_or(f64::NAN))
        }
    }

    /// An owned value, for JSON that was parsed during the evaluation.
    pub(super) fn of_owned_json(json: Json) -> Value<'v> {
        match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(value),
            Json::Number(number) => Value::of_number(&number),
            Json::String(text) => Value::text(text),
            Json::Array(items) => {
                Value::list(items.into_iter().map(Value::of_owned_json).collect())
            }
            Json::Object(map) => {
                let entries = map.into_iter().map(|(key, value)| {
                    (Key::Str(Text::Shared(key.into())), Value::of_owned_json(value))
                });
                Value::Map(Map::Own(Rc::new(OwnMap::of_distinct(entries.collect()))))
            }
        }
    }

    pub(super) fn of_literal(literal: &'v Literal) -> Value<'v> {
        match literal {
            Literal::Null => Value::Null,
            Literal::Bool(value) => Value::Bool(*value),
            Literal::Int(value) => Value::Int(*value),
            Literal::Double(value) => Value::Double(*value),
            Literal::Str(text) => Value::Str(Text::Borrowed(text)),
            Literal::Bytes(bytes) => Value::Bytes(bytes.clone().into()),
        }
    }

    pub(super) fn text(text: String) -> Value<'v> {
        Value::Str(Text::Shared(text.into()))
    }

    pub(super) fn list(items: Vec<Value<'v>>) -> Value<'v> {
        let depth = items.iter().map(Value::depth).max().unwrap_or(0) + 1;
        Value::List(List::Own(Rc::new(OwnList { items, depth })))
    }

    pub(super) fn some(value: Value<'v>) -> Value<'v> {
        Value::Optional(Some(Rc::new(value)))
    }

    /// The nesting depth of a value created by an expression, not counting data from the scope
    /// inside it.
    pub(super) fn depth(&self) -> usize {
        match self {
            Value::List(List::Own(list)) => list.depth,
            Value::Map(Map::Own(map)) => map.depth,
            Value::Optional(Some(inner)) => inner.depth() + 1,
            _ => 0,
        }
    }

    pub(super) fn value_type(&self) -> ValueType {
        match self {
            Value::Null => ValueType::Null,
            Value::Bool(_) => ValueType::Bool,
            Value::Int(_) | Value::Big(_) => ValueType::Int,
            Value::Double(_) => ValueType::Double,
            Value::Str(_) => ValueType::String,
            Value::Bytes(_) => ValueType::Bytes,
            Value::List(_) => ValueType::List,
            Value::Map(_) => ValueType::Map,
            Value::Type(_) => ValueType::Type,
            Value::Optional(_) => ValueType::Optional,
        }
    }

    /// Whether it is the zero value of its type, which `optional.ofNonZeroValue` turns into an
    /// empty optional.
    pub(super) fn is_zero(&self) -> bool {
        match self {
            Value::Null => true,
            Value::Bool(value) => !value,
            Value::Int(value) => *value == 0,
            Value::Double(value) => *value == 0.0,
            Value::Str(text) => text.is_empty(),
            Value::Bytes(bytes) => bytes.is_empty(),
            Value::List(list) => list.len() == 0,
            Value::Map(map) => map.len() == 0,
            Value::Optional(inner) => inner.is_none(),
            Value::Big(_) | Value::Type(_) => false,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Text<'v> {
    Borrowed(&'v str),
    Shared(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum List<'v> {
    Json(&'v [Json]),
    Own(Rc<OwnList<'v>>),
}

/// A list created by an expression.
#[derive(Debug)]
pub(super) struct OwnList<'v> {
    items: Vec<Value<'v>>,
    depth: usize,
}

impl<'v> List<'v> {
    pub(super) fn len(&self) -> usize {
        match self {
            List::Json(items) => items.len(),
            List::Own(list) => list.items.len(),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<Value<'v>> {
        match self {
            List::Json(items) => items.get(index).map(Value::of_json),
            List::Own(list) => list.items.get(index).cloned(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Value<'v>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

#[derive(Clone, Debug)]
pub(super) enum Map<'v> {
    Json(&'v JsonMap<String, Json>),
    Own(Rc<OwnMap<'v>>),
}

/// A map created by an expression: the entries as written, and their order by key.
#[derive(Debug)]
pub(super) struct OwnMap<'v> {
    entries: Vec<(Key<'v>, Value<'v>)>,
    by_key: Vec<usize>,
    depth: usize,
}

impl<'v> OwnMap<'v> {
    /// Creates a map. The error is the index of an entry with a duplicate key.
    pub(super) fn new(entries: Vec<(Key<'v>, Value<'v>)>) -> Result<OwnMap<'v>, usize> {
        let map = OwnMap::of_distinct(entries);
        let key = |place: usize| &map.entries[place].0;
        let twice = map.by_key.windows(2).find(|pair| key(pair[0]).cmp(key(pair[1])).is_eq());
        match twice {
            Some(pair) => Err(pair[0].max(pair[1])),
            None => Ok(map),
        }
    }

    fn of_distinct(entries: Vec<(Key<'v>, Value<'v>)>) -> OwnMap<'v> {
        let mut by_key: Vec<usize> = (0..entries.len()).collect();
        by_key.sort_by(|left, right| entries[*left].0.cmp(&entries[*right].0));
        let depth = entries.iter().map(|(_, value)| value.depth()).max().unwrap_or(0) + 1;
        OwnMap { entries, by_key, depth }
    }
}

impl<'v> Map<'v> {
    pub(super) fn len(&self) -> usize {
        match self {
            Map::Json(map) => map.len(),
            Map::Own(map) => map.entries.len(),
        }
    }

    pub(super) fn get(&self, key: &Key<'_>) -> Option<Value<'v>> {
        match self {
            Map::Json(map) => match key {
                Key::Str(name) => map.get(&**name).map(Value::of_json),
                Key::Bool(_) | Key::Int(_) => None,
            },
            Map::Own(map) => {
                let place =
                    map.by_key.binary_search_by(|place| map.entries[*place].0.cmp(key)).ok()?;
                Some(map.entries[map.by_key[place]].1.clone())
            }
        }
    }

    /// The sorted keys, in the order in which macros visit them.
    pub(super) fn sorted_keys(&self) -> List<'v> {
        let items = match self {
            Map::Json(map) => {
                let mut keys: Vec<&'v str> = map.keys().map(String::as_str).collect();
                keys.sort_unstable();
                keys.into_iter().map(|key| Value::Str(Text::Borrowed(key))).collect()
            }
            Map::Own(map) => {
                map.by_key.iter().map(|place| map.entries[*place].0.to_value()).collect()
            }
        };
        List::Own(Rc::new(OwnList { items, depth: 1 }))
    }

    /// The first keys as text, in the order they were written.
    pub(super) fn names(&self, limit: usize) -> Vec<String> {
        match self {
            Map::Json(map) => map.keys().take(limit).cloned().collect(),
            Map::Own(map) => map.entries.iter().take(limit).map(|(key, _)| key.to_text()).collect(),
        }
    }

    /// The entries in the order they were written.
    pub(super) fn entries(&self) -> Vec<(Key<'v>, Value<'v>)> {
        match self {
            Map::Json(map) => map
                .iter()
                .map(|(key, value)| (Key::Str(Text::Borrowed(key)), Value::of_json(value)))
                .collect(),
            Map::Own(map) => map.entries.clone(),
        }
    }
}

/// A map key.
#[derive(Clone, Debug)]
pub(super) enum Key<'v> {
    Bool(bool),
    Int(i64),
    Str(Text<'v>),
}

impl<'v> Key<'v> {
    /// The key for looking up a value; an integral floating-point number becomes an integer.
    pub(super) fn of(value: &Value<'v>) -> Option<Key<'v>> {
        match value {
            Value::Double(double) => super::number::whole(*double).map(Key::Int),
            value => Key::of_entry(value),
        }
    }

    /// The key for a value in a map literal.
    pub(super) fn of_entry(value: &Value<'v>) -> Option<Key<'v>> {
        match value {
            Value::Bool(value) => Some(Key::Bool(*value)),
            Value::Int(value) => Some(Key::Int(*value)),
            Value::Str(text) => Some(Key::Str(text.clone())),
            _ => None,
        }
    }

    fn to_value(&self) -> Value<'v> {
        match self {
            Key::Bool(value) => Value::Bool(*value),
            Key::Int(value) => Value::Int(*value),
            Key::Str(text) => Value::Str(text.clone()),
        }
    }

    /// The key as text, as in a JSON object.
    pub(super) fn to_text(&self) -> String {
        match self {
            Key::Bool(value) => value.to_string(),
            Key::Int(value) => value.to_string(),
            Key::Str(text) => text.to_string(),
        }
    }

    /// Orders booleans before integers before strings, so that a map with mixed keys has an order
    /// too.
    pub(super) fn cmp(&self, other: &Key<'_>) -> Ordering {
        match (self, other) {
            (Key::Bool(left), Key::Bool(right)) => left.cmp(right),
            (Key::Int(left), Key::Int(right)) => left.cmp(right),
            (Key::Str(left), Key::Str(right)) => (**left).cmp(&**right),
            (Key::Bool(_), _) | (Key::Int(_), Key::Str(_)) => Ordering::Less,
            (Key::Str(_), _) | (Key::Int(_), Key::Bool(_)) => Ordering::Greater,
        }
    }
}

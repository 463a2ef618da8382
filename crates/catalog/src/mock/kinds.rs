//! The types of JSON as a set: what `type` allows.

use serde_json::Value;

/// A set of JSON's types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Types(u8);

impl Types {
    pub(super) const NULL: Types = Types(1);
    pub(super) const BOOLEAN: Types = Types(2);
    pub(super) const INTEGER: Types = Types(4);
    /// Integers are numbers too.
    pub(super) const NUMBER: Types = Types(12);
    pub(super) const STRING: Types = Types(16);
    pub(super) const ARRAY: Types = Types(32);
    pub(super) const OBJECT: Types = Types(64);
    pub(super) const ALL: Types = Types(127);

    /// What the keyword `type` says; all when it says nothing that is known.
    pub(super) fn of_keyword(keyword: &Value) -> Types {
        let one = |name: &Value| match name.as_str() {
            Some("null") => Types::NULL.0,
            Some("boolean") => Types::BOOLEAN.0,
            Some("integer") => Types::INTEGER.0,
            Some("number") => Types::NUMBER.0,
            Some("string" | "file") => Types::STRING.0,
            Some("array") => Types::ARRAY.0,
            Some("object") => Types::OBJECT.0,
            _ => 0,
        };
        let bits = match keyword {
            Value::Array(names) => names.iter().fold(0, |bits, name| bits | one(name)),
            name => one(name),
        };
        if bits == 0 { Types::ALL } else { Types(bits) }
    }

    /// What both allow.
    pub(super) fn and(self, other: Types) -> Types {
        Types(self.0 & other.0)
    }

    /// Whether it allows all of another.
    pub(super) fn has(self, other: Types) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether it allows nothing.
    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether a value is of one of its types.
    pub(super) fn allow(self, value: &Value) -> bool {
        self.has(match value {
            Value::Null => Types::NULL,
            Value::Bool(_) => Types::BOOLEAN,
            Value::Number(number) if is_whole(number) => Types::INTEGER,
            Value::Number(_) => Types::NUMBER,
            Value::String(_) => Types::STRING,
            Value::Array(_) => Types::ARRAY,
            Value::Object(_) => Types::OBJECT,
        })
    }
}

fn is_whole(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

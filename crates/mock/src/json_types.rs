//! A set of JSON types, as allowed by `type`.

use serde_json::Value;

/// A set of JSON types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JsonTypes(u8);

impl Default for JsonTypes {
    fn default() -> JsonTypes {
        JsonTypes::ALL
    }
}

impl JsonTypes {
    pub(crate) const NULL: JsonTypes = JsonTypes(1);
    pub(crate) const BOOLEAN: JsonTypes = JsonTypes(2);
    pub(crate) const INTEGER: JsonTypes = JsonTypes(4);
    /// Integers are numbers too.
    pub(crate) const NUMBER: JsonTypes = JsonTypes(12);
    pub(crate) const STRING: JsonTypes = JsonTypes(16);
    pub(crate) const ARRAY: JsonTypes = JsonTypes(32);
    pub(crate) const OBJECT: JsonTypes = JsonTypes(64);
    pub(crate) const ALL: JsonTypes = JsonTypes(127);
    /// Every single type, in order of preference.
    pub(crate) const KINDS: [JsonTypes; 7] = {
        use JsonTypes as T;
        [T::OBJECT, T::ARRAY, T::STRING, T::NUMBER, T::INTEGER, T::BOOLEAN, T::NULL]
    };

    /// Reads the `type` keyword; an unknown value allows all types.
    pub(crate) fn of_keyword(keyword: &Value) -> JsonTypes {
        let one = |name: &Value| match name.as_str() {
            Some("null") => JsonTypes::NULL.0,
            Some("boolean") => JsonTypes::BOOLEAN.0,
            Some("integer") => JsonTypes::INTEGER.0,
            Some("number") => JsonTypes::NUMBER.0,
            Some("string" | "file") => JsonTypes::STRING.0,
            Some("array") => JsonTypes::ARRAY.0,
            Some("object") => JsonTypes::OBJECT.0,
            _ => 0,
        };
        let bits = match keyword {
            Value::Array(names) => names.iter().fold(0, |bits, name| bits | one(name)),
            name => one(name),
        };
        if bits == 0 { JsonTypes::ALL } else { JsonTypes(bits) }
    }

    /// The intersection of two sets.
    pub(crate) fn and(self, other: JsonTypes) -> JsonTypes {
        JsonTypes(self.0 & other.0)
    }

    /// Whether this set contains all of another one.
    pub(crate) fn has(self, other: JsonTypes) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether the type of a value is in the set.
    pub(crate) fn allow(self, value: &Value) -> bool {
        self.has(match value {
            Value::Null => JsonTypes::NULL,
            Value::Bool(_) => JsonTypes::BOOLEAN,
            Value::Number(number) if is_whole(number) => JsonTypes::INTEGER,
            Value::Number(_) => JsonTypes::NUMBER,
            Value::String(_) => JsonTypes::STRING,
            Value::Array(_) => JsonTypes::ARRAY,
            Value::Object(_) => JsonTypes::OBJECT,
        })
    }
}

fn is_whole(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
}

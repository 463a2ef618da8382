//! Converts values to JSON.

use serde_json::{Map as JsonMap, Number, Value as Json};

use super::EvalErrorKind;
use super::limits::{RESULT_BYTES_MAX, RESULT_DEPTH_MAX};
use super::value::{Map, Value};

/// The result of evaluating an expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Value(Json),
    /// The whole expression is an empty optional, so the key or element it is written in is
    /// omitted.
    Omit,
}

/// Converts a value to JSON. Also returns the approximate number of bytes of text visited, which
/// costs fuel even if the conversion fails. Escape backslashes do not count.
pub(super) fn to_json(value: &Value<'_>) -> (Result<Json, EvalErrorKind>, usize) {
    let mut size = Size { bytes: 0 };
    let json = size.convert(value, 0);
    (json, size.bytes)
}

struct Size {
    bytes: usize,
}

impl Size {
    fn add(&mut self, bytes: usize) -> Result<(), EvalErrorKind> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > RESULT_BYTES_MAX { Err(EvalErrorKind::TooLarge) } else { Ok(()) }
    }

    fn convert(&mut self, value: &Value<'_>, depth: usize) -> Result<Json, EvalErrorKind> {
        if depth > RESULT_DEPTH_MAX {
            return Err(EvalErrorKind::TooDeep);
        }
        match value {
            Value::Str(text) => self.add(text.len() + 3)?,
            _ => self.add(4)?,
        }
        Ok(match value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Int(value) => Json::from(*value),
            Value::Big(value) => Json::from(*value),
            Value::Double(value) => {
                Json::Number(Number::from_f64(*value).ok_or(EvalErrorKind::NotFinite)?)
            }
            Value::Str(text) => Json::String(text.to_string()),
            Value::List(list) => {
                let items = list.iter().map(|item| self.convert(&item, depth + 1));
                Json::Array(items.collect::<Result<_, _>>()?)
            }
            Value::Map(map) => self.convert_map(map, depth)?,
            Value::Bytes(_) | Value::Type(_) | Value::Optional(_) => {
                return Err(EvalErrorKind::NotJson { found: value.value_type() });
            }
        })
    }

    /// Converts keys that are not strings to text. It is an error if this produces a duplicate key.
    fn convert_map(&mut self, map: &Map<'_>, depth: usize) -> Result<Json, EvalErrorKind> {
        let mut object = JsonMap::with_capacity(map.len());
        for (key, value) in map.entries() {
            let name = key.to_text();
            self.add(name.len() + 4)?;
            if object.insert(name, self.convert(&value, depth + 1)?).is_some() {
                return Err(EvalErrorKind::DuplicateKey);
            }
        }
        Ok(Json::Object(object))
    }
}

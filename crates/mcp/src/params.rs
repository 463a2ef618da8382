//! From the text of `params` to a map, in which no key was there twice.
//!
//! The text was scanned with the line it stands in: it is JSON of a depth that recursion can take.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Value};

use crate::fault::Fault;
use crate::message::Params;

/// The parameters by name; none are an empty map.
pub(crate) fn object(params: Params<'_>) -> Result<Map<String, Value>, Fault> {
    let text = match params {
        Params::None => return Ok(Map::new()),
        Params::Array(_) => return Err(not_an_object("params")),
        Params::Object(text) => text,
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    match Strict.deserialize(&mut reader) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(not_an_object("params")),
        Err(error) => {
            // The place is counted from the beginning of `params`: it would only mislead.
            let place = format!(" at line {} column {}", error.line(), error.column());
            let details = error.to_string();
            Err(Fault::invalid_params(details.strip_suffix(&place).unwrap_or(&details)))
        }
    }
}

/// The fault of a parameter that is there and is no object.
pub(crate) fn not_an_object(name: &str) -> Fault {
    Fault::invalid_params(format!("{name} must be an object"))
}

/// Any JSON value. `serde_json` alone keeps the last of two equal keys and says nothing.
#[derive(Clone, Copy)]
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = members.next_key::<String>()? {
            match map.entry(key) {
                Entry::Vacant(free) => free.insert(members.next_value_seed(self)?),
                Entry::Occupied(taken) => {
                    return Err(A::Error::custom(format_args!("`{}` is there twice", taken.key())));
                }
            };
        }
        Ok(Value::Object(map))
    }
}

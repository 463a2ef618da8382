//! Equality and ordering of values.

use std::cmp::Ordering;

use super::fuel::{Exhausted, Fuel};
use super::number;
use super::value::Value;

/// Whether two values are equal. Values of different types never are, except for numbers, which are
/// compared by value.
pub(super) fn equal(
    fuel: &mut Fuel,
    left: &Value<'_>,
    right: &Value<'_>,
) -> Result<bool, Exhausted> {
    fuel.spend(1)?;
    Ok(match (left, right) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        (Value::Str(left), Value::Str(right)) => {
            fuel.spend_bytes(left.len().min(right.len()))?;
            **left == **right
        }
        (Value::Bytes(left), Value::Bytes(right)) => {
            fuel.spend_bytes(left.len().min(right.len()))?;
            left == right
        }
        (Value::List(left), Value::List(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            for (left, right) in left.iter().zip(right.iter()) {
                if !equal(fuel, &left, &right)? {
                    return Ok(false);
                }
            }
            true
        }
        (Value::Map(left), Value::Map(right)) => {
            if left.len() != right.len() {
                return Ok(false);
            }
            fuel.spend(left.len() as u64)?;
            for (key, value) in left.entries() {
                match right.get(&key) {
                    Some(other) if equal(fuel, &value, &other)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
        (Value::Type(left), Value::Type(right)) => left == right,
        (Value::Optional(left), Value::Optional(right)) => match (left, right) {
            (Some(left), Some(right)) => equal(fuel, left, right)?,
            (left, right) => left.is_none() && right.is_none(),
        },
        (left, right) => number::compare(left, right) == Some(Ordering::Equal),
    })
}

/// The order of two values; `None` if they cannot be ordered.
pub(super) fn order(
    fuel: &mut Fuel,
    left: &Value<'_>,
    right: &Value<'_>,
) -> Result<Option<Ordering>, Exhausted> {
    Ok(match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
        (Value::Str(left), Value::Str(right)) => {
            fuel.spend_bytes(left.len().min(right.len()))?;
            Some((**left).cmp(&**right))
        }
        (Value::Bytes(left), Value::Bytes(right)) => {
            fuel.spend_bytes(left.len().min(right.len()))?;
            Some(left.cmp(right))
        }
        (left, right) => number::compare(left, right),
    })
}

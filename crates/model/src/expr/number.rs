//! Arithmetic and ordering of numbers. Overflow is an error, and comparisons never round.

use std::cmp::Ordering;

use super::EvalErrorKind;
use super::ast::BinaryOp;
use super::value::Value;

/// Two to the 63rd: one more than the largest integer.
const INT_LIMIT: f64 = 9_223_372_036_854_775_808.0;

/// Computes `left op right`; `None` if one of them is not a number.
///
/// Integers stay integers. If one side is a floating-point number, the other is converted to one,
/// because an expression must work regardless of whether an API returns `20` or `20.0`.
pub(super) fn arithmetic<'v>(
    op: BinaryOp,
    left: &Value<'_>,
    right: &Value<'_>,
) -> Option<Result<Value<'v>, EvalErrorKind>> {
    let doubles = match (left, right) {
        (Value::Int(left), Value::Int(right)) => return Some(integers(op, *left, *right)),
        (Value::Big(_), other) | (other, Value::Big(_)) => {
            let number = matches!(other, Value::Int(_) | Value::Double(_) | Value::Big(_));
            return number.then_some(Err(EvalErrorKind::BeyondInteger));
        }
        (Value::Double(left), Value::Double(right)) => (*left, *right),
        (Value::Int(left), Value::Double(right)) => (to_double(*left), *right),
        (Value::Double(left), Value::Int(right)) => (*left, to_double(*right)),
        _ => return None,
    };
    Some(floats(op, doubles.0, doubles.1))
}

fn integers<'v>(op: BinaryOp, left: i64, right: i64) -> Result<Value<'v>, EvalErrorKind> {
    let result = match op {
        BinaryOp::Divide | BinaryOp::Remainder if right == 0 => {
            return Err(EvalErrorKind::DivisionByZero);
        }
        BinaryOp::Add => left.checked_add(right),
        BinaryOp::Subtract => left.checked_sub(right),
        BinaryOp::Multiply => left.checked_mul(right),
        BinaryOp::Divide => left.checked_div(right),
        _ => left.checked_rem(right),
    };
    result.map(Value::Int).ok_or(EvalErrorKind::Overflow)
}

fn floats<'v>(op: BinaryOp, left: f64, right: f64) -> Result<Value<'v>, EvalErrorKind> {
    let result = match op {
        BinaryOp::Divide if right == 0.0 => return Err(EvalErrorKind::DivisionByZero),
        BinaryOp::Add => left + right,
        BinaryOp::Subtract => left - right,
        BinaryOp::Multiply => left * right,
        BinaryOp::Divide => left / right,
        _ => return Err(EvalErrorKind::FractionalRemainder),
    };
    finite(result)
}

/// A floating-point number that JSON can represent.
pub(super) fn finite<'v>(value: f64) -> Result<Value<'v>, EvalErrorKind> {
    if value.is_finite() { Ok(Value::Double(value)) } else { Err(EvalErrorKind::NotFinite) }
}

/// The order of two numbers, without rounding either; `None` if one of them is not a number.
pub(super) fn compare(left: &Value<'_>, right: &Value<'_>) -> Option<Ordering> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => Some(left.cmp(right)),
        (Value::Double(left), Value::Double(right)) => left.partial_cmp(right),
        (Value::Double(left), right) => {
            integer(right).map(|right| compare_mixed(right, *left).reverse())
        }
        (left, Value::Double(right)) => integer(left).map(|left| compare_mixed(left, *right)),
        (left, right) => Some(integer(left)?.cmp(&integer(right)?)),
    }
}

fn integer(value: &Value<'_>) -> Option<i128> {
    match value {
        Value::Int(value) => Some(i128::from(*value)),
        Value::Big(value) => Some(i128::from(*value)),
        _ => None,
    }
}

fn compare_mixed(integer: i128, double: f64) -> Ordering {
    // Beyond this, every integer in the data is smaller in magnitude; below it, the integral part
    // of the double is exact as an `i128`.
    const FAR: f64 = 1e30;
    if double >= FAR {
        return Ordering::Less;
    }
    if double <= -FAR {
        return Ordering::Greater;
    }
    let whole = double.trunc();
    let fraction = double - whole;
    integer
        .cmp(&(whole as i128))
        .then_with(|| 0.0_f64.partial_cmp(&fraction).unwrap_or(Ordering::Equal))
}

/// The number rounded towards zero, as in `int(x)`.
pub(super) fn truncated(value: f64) -> Option<i64> {
    // Both ends are excluded, because the doubles there also represent integers that are out of
    // range.
    (value > -INT_LIMIT && value < INT_LIMIT).then_some(value as i64)
}

/// The integer that is equal to a floating-point number.
pub(super) fn whole(value: f64) -> Option<i64> {
    (value.fract() == 0.0).then(|| truncated(value)).flatten()
}

/// An integer as a floating-point number, rounded if necessary.
#[expect(clippy::cast_precision_loss, reason = "rounding is intended, as in other languages")]
pub(super) fn to_double(value: i64) -> f64 {
    value as f64
}

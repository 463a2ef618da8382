//! Generates numbers that are within bounds and, if the bounds allow it, plausible for their
//! property's name.

use serde_json::{Number, Value};

use crate::constraints::Constraints;
use crate::random::Random;

/// The integer up to which a float represents all integers exactly.
const EXACT: f64 = 9_007_199_254_740_991.0;

/// Generates an integer.
pub(crate) fn integer(constraints: &Constraints<'_>, name: &str, random: &mut Random) -> Value {
    let (format_low, format_high) = match constraints.format {
        Some("int32") => (f64::from(i32::MIN), f64::from(i32::MAX)),
        Some("int8") => (-128.0, 127.0),
        Some("int16") => (-32768.0, 32767.0),
        _ => (-EXACT, EXACT),
    };
    let low =
        [constraints.minimum.map(f64::ceil), constraints.above.map(|above| above.floor() + 1.0)];
    let low = low.into_iter().flatten().fold(format_low, f64::max).max(-EXACT);
    let high =
        [constraints.maximum.map(f64::floor), constraints.under.map(|under| under.ceil() - 1.0)];
    let high = high.into_iter().flatten().fold(format_high, f64::min).min(EXACT);
    let step = constraints.multiples.iter().copied().fold(1.0, common_multiple);
    let (from, to) = window((low, high), usual(name));
    let first = (from / step).ceil();
    let last = (to / step).floor().max(first);
    let picked = (first + (random.fraction() * (last - first + 1.0)).floor()).min(last) * step;
    let picked = if picked > high && picked - step >= low { picked - step } else { picked };
    Value::from(picked as i64)
}

/// Generates a number that need not be an integer.
pub(crate) fn number(constraints: &Constraints<'_>, name: &str, random: &mut Random) -> Value {
    let step = constraints.multiples.iter().copied().reduce(common_multiple);
    let low = constraints.minimum.unwrap_or(-EXACT).max(constraints.above.unwrap_or(-EXACT));
    let high = constraints.maximum.unwrap_or(EXACT).min(constraints.under.unwrap_or(EXACT));
    let (from, to) = window((low, high), usual(name));
    let drawn = from + (to - from) * (0.05 + 0.9 * random.fraction());
    let picked = if let Some(step) = step {
        let count = (drawn / step).floor();
        let count = if count * step < low { count + 1.0 } else { count };
        // Dividing by the inverse keeps steps such as 0.01 exact in decimal.
        let inverse = (1.0 / step).round();
        let is_inverse = step < 1.0 && (1.0 / inverse - step).abs() < f64::EPSILON;
        if is_inverse { count / inverse } else { count * step }
    } else {
        let rounded = (drawn * 100.0).round() / 100.0;
        let fits = rounded > low && rounded < high;
        if fits { rounded } else { drawn }
    };
    if picked.fract() == 0.0 && picked.abs() < EXACT {
        return Value::from(picked as i64);
    }
    Number::from_f64(picked).map_or(Value::from(0), Value::Number)
}

/// The part of the allowed range that is also plausible, or else the end of the allowed range that
/// is closer to the plausible one.
fn window((low, high): (f64, f64), (usual_low, usual_high): (f64, f64)) -> (f64, f64) {
    let (from, to) = (low.max(usual_low), high.min(usual_high));
    if from <= to {
        (from, to)
    } else if low > usual_high {
        (low, high.min(low + 100.0))
    } else {
        (low.max(high - 100.0), high)
    }
}

fn common_multiple(one: f64, other: f64) -> f64 {
    let (mut big, mut small) = (one.max(other), one.min(other));
    for _ in 0..64 {
        if small < 1e-9 {
            break;
        }
        (big, small) = (small, big % small);
    }
    if big < 1e-9 { one } else { one / big * other }
}

/// The plausible range for a property name.
fn usual(name: &str) -> (f64, f64) {
    let name = name.to_ascii_lowercase();
    let has = |part: &str| name.contains(part);
    match name.as_str() {
        "id" => (1_000.0, 99_999.0),
        _ if name.ends_with("id") => (1_000.0, 99_999.0),
        "lat" | "latitude" => (-60.0, 60.0),
        "lon" | "lng" | "longitude" => (-170.0, 170.0),
        "age" => (18.0, 80.0),
        "page" => (1.0, 1.0),
        "port" => (1_024.0, 49_151.0),
        _ if has("year") => (2_020.0, 2_026.0),
        _ if has("month") => (1.0, 12.0),
        _ if has("day") => (1.0, 28.0),
        _ if has("timestamp") || has("created") || has("updated") || name.ends_with("_at") => {
            (1_704_067_200.0, 1_767_225_600.0)
        }
        _ if has("percent") || has("rate") => (1.0, 99.0),
        _ if has("price") || has("amount") || has("total") || has("balance") => (1.0, 500.0),
        _ if has("quantity") || has("count") || has("size") => (1.0, 20.0),
        _ => (1.0, 1_000.0),
    }
}

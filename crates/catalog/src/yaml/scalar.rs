//! Interprets plain YAML scalars according to the YAML 1.2 core schema, and writes them as JSON.

use std::borrow::Cow;

/// The meaning of a plain scalar.
#[derive(Debug)]
pub(super) enum Plain<'t> {
    Word(&'static str),
    Number(Cow<'t, str>),
    Text,
    NotFinite,
}

/// Interprets a plain scalar according to the core schema; `yes`, `010` and dates stay text.
pub(super) fn plain(text: &str) -> Plain<'_> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Plain::Word("null"),
        "true" | "True" | "TRUE" => Plain::Word("true"),
        "false" | "False" | "FALSE" => Plain::Word("false"),
        ".nan" | ".NaN" | ".NAN" => Plain::NotFinite,
        _ => match text.as_bytes()[0] {
            b'0'..=b'9' | b'-' | b'+' | b'.' => {
                let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
                if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
                    return Plain::NotFinite;
                }
                number(text).map_or(Plain::Text, Plain::Number)
            }
            _ => Plain::Text,
        },
    }
}

/// A YAML number as JSON, borrowed if the notation is the same.
fn number(text: &str) -> Option<Cow<'_, str>> {
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let is_digits = !digits.starts_with(['-', '+']);
            let value = u128::from_str_radix(digits, radix).ok().filter(|_| is_digits)?;
            return Some(Cow::Owned(value.to_string()));
        }
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => unsigned.split_at(at),
        None => (unsigned, ""),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let is_digits = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
    let power = exponent.get(1..).unwrap_or_default();
    let power = power.strip_prefix(['-', '+']).unwrap_or(power);
    let fits = is_digits(whole)
        && is_digits(fraction.unwrap_or_default())
        && mantissa.len() > usize::from(fraction.is_some())
        && is_digits(power)
        && (exponent.is_empty() || !power.is_empty());
    // `010` is ten in the core schema, eight elsewhere, and perhaps a postal code, so it stays
    // text.
    if !fits || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    if !text.starts_with('+') && !whole.is_empty() && fraction != Some("") {
        return Some(Cow::Borrowed(text));
    }
    let sign = if text.starts_with('-') { "-" } else { "" };
    let whole = if whole.is_empty() { "0" } else { whole };
    let fraction = fraction.map_or(String::new(), |digits| match digits {
        "" => ".0".to_owned(),
        _ => format!(".{digits}"),
    });
    Some(Cow::Owned(format!("{sign}{whole}{fraction}{exponent}")))
}

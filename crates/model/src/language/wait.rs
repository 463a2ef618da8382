//! How long a `wait` step waits, or until when.

use milepost_syntax::tree::{SyntaxKind, SyntaxNode};
use serde_json::{Value, json};

use crate::decode::{Decode, Defs, Report, Shape, Spot};
use crate::duration::Period;
use crate::finding::{Finding, Rule};
use crate::templated::Templated;

/// How long, or until when.
#[derive(Debug, Clone, PartialEq)]
pub enum Wait {
    /// A length of time.
    For(Period),
    /// A moment, as RFC 3339 has it.
    Until(Spot<String>),
    /// Known at run time.
    Computed(Templated),
}

impl Decode for Wait {
    const WANT: &'static str =
        "a duration such as `10m`, or a moment such as `2030-01-31T09:00:00Z`";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        match &node.kind {
            SyntaxKind::Str(text) if text.contains("{{") => {
                Templated::decode(node, report).map(Wait::Computed)
            }
            SyntaxKind::Str(text) if is_instant(text) => {
                Some(Wait::Until(Spot { at: node.at, value: text.clone() }))
            }
            SyntaxKind::Str(text) if looks_like_a_date(text) => {
                report.add(
                    Finding::error(
                        node.at,
                        Rule::Format,
                        format!("`{text}` is not a valid moment"),
                    )
                    .expected(Self::WANT)
                    .actual(format!("`{text}`"))
                    .suggest(format!("use {}", Self::WANT)),
                );
                None
            }
            _ => Period::decode(node, report).map(Wait::For),
        }
    }
}

fn looks_like_a_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-'
}

impl Shape for Wait {
    fn schema(_: &mut Defs) -> Value {
        json!({"type": "string", "examples": ["10m", "2030-01-31T09:00:00Z"]})
    }
}

/// `2030-01-31T09:00:00Z`, with fraction and offset as RFC 3339 allows them.
pub(crate) fn is_instant(text: &str) -> bool {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<u32> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let sign = |at: usize, allowed: &[u8]| bytes.get(at).is_some_and(|byte| allowed.contains(byte));
    let within = |value: Option<u32>, low: u32, high: u32| {
        value.is_some_and(|value| (low..=high).contains(&value))
    };
    let date = number(0, 4).is_some()
        && sign(4, b"-")
        && within(number(5, 7), 1, 12)
        && sign(7, b"-")
        && within(number(8, 10), 1, days(number(0, 4), number(5, 7)));
    let time = sign(10, b"Tt ")
        && within(number(11, 13), 0, 23)
        && sign(13, b":")
        && within(number(14, 16), 0, 59)
        && sign(16, b":")
        && within(number(17, 19), 0, 60);
    if !date || !time {
        return false;
    }
    let rest = &text[19..];
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let offset = zone.strip_prefix(['+', '-']).is_some_and(|offset| {
        offset.len() == 5
            && offset.as_bytes()[2] == b':'
            && within(offset[..2].parse().ok(), 0, 23)
            && within(offset[3..].parse().ok(), 0, 59)
    });
    zone == "Z" || zone == "z" || offset
}

/// How many days a month has.
fn days(year: Option<u32>, month: Option<u32>) -> u32 {
    let year = year.unwrap_or(0);
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        Some(2) if leap => 29,
        Some(2) => 28,
        Some(4 | 6 | 9 | 11) => 30,
        _ => 31,
    }
}

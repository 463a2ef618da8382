//! How long a `wait` step waits, or until when.

use milepost_syntax::tree::{SyntaxKind, SyntaxNode};
use serde_json::{Value, json};

use crate::decode::{Decode, Defs, Report, Spot};
use crate::duration::Period;
use crate::finding::{Finding, Rule};
use crate::templated::Templated;

/// A duration, or a point in time.
#[derive(Debug, Clone, PartialEq)]
pub enum Wait {
    /// A duration.
    For(Period),
    /// A point in time in RFC 3339 format.
    Until(Spot<String>),
    /// Computed at run time.
    Computed(Templated),
}

impl Decode for Wait {
    const WANT: &'static str =
        "a duration such as `10m`, or a timestamp such as `2030-01-31T09:00:00Z`";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        match &node.kind {
            SyntaxKind::Str(text) if text.contains("{{") => {
                Templated::decode(node, report).map(Wait::Computed)
            }
            SyntaxKind::Str(text) if is_instant(text) => {
                Some(Wait::Until(Spot { at: node.at, value: text.clone() }))
            }
            SyntaxKind::Str(text) if looks_like_a_date(text) => {
                Finding::error(node.at, Rule::Format, format!("`{text}` is not a valid timestamp"))
                    .expected(Self::WANT)
                    .actual(format!("`{text}`"))
                    .suggest(format!("use {}", Self::WANT))
                    .add_to(report);
                None
            }
            _ => Period::decode(node, report).map(Wait::For),
        }
    }

    fn schema(_: &mut Defs) -> Value {
        json!({"type": "string", "examples": ["10m", "2030-01-31T09:00:00Z"]})
    }
}

fn looks_like_a_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-'
}

/// Whether a string is an RFC 3339 timestamp such as `2030-01-31T09:00:00Z`, with any fractional
/// seconds and offset.
pub(crate) fn is_instant(text: &str) -> bool {
    let Some((moment, rest)) = text.split_at_checked(19) else { return false };
    let shape: String = moment.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    if !matches!(
        shape.as_str(),
        "0000-00-00T00:00:00" | "0000-00-00t00:00:00" | "0000-00-00 00:00:00"
    ) {
        return false;
    }
    let within = |digits: &str, low: u32, high: u32| {
        digits.parse().is_ok_and(|number: u32| (low..=high).contains(&number))
    };
    let fits = within(&moment[5..7], 1, 12)
        && within(&moment[8..10], 1, days(&moment[..4], &moment[5..7]))
        && within(&moment[11..13], 0, 23)
        && within(&moment[14..16], 0, 59)
        && within(&moment[17..], 0, 60);
    let zone = match rest.strip_prefix('.') {
        Some(fraction) => fraction.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let offset = zone.strip_prefix(['+', '-']).and_then(|offset| offset.split_once(':'));
    let is_offset = offset.is_some_and(|(hours, minutes)| {
        hours.len() == 2 && minutes.len() == 2 && within(hours, 0, 23) && within(minutes, 0, 59)
    });
    fits && (zone == "Z" || zone == "z" || is_offset)
}

/// The number of days in a month.
fn days(year: &str, month: &str) -> u32 {
    let year: u32 = year.parse().unwrap_or(0);
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        "02" if leap => 29,
        "02" => 28,
        "04" | "06" | "09" | "11" => 30,
        _ => 31,
    }
}

//! Durations as authors write them: `500ms`, `5s`, `10m`, `24h`, `7d`, `1h30m`.

use std::time::Duration;

use milepost_syntax::tree::{SyntaxKind, SyntaxNode};
use serde_json::{Value, json};

use crate::decode::{Decode, Defs, Report, wrong};
use crate::finding::{Finding, Rule};
use crate::limits;

/// A duration of more than zero and at most 366 days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Period(pub Duration);

const UNITS: [(&str, u64); 5] =
    [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

impl Period {
    /// Parses a duration; units go from large to small and each may occur once.
    pub fn parse(text: &str) -> Option<Period> {
        let mut rest = text;
        let mut total: u64 = 0;
        let mut previous = u64::MAX;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            let amount: u64 = rest[..digits].parse().ok()?;
            let unit_end = rest[digits..]
                .find(|c: char| c.is_ascii_digit())
                .map_or(rest.len(), |next| digits + next);
            let (_, factor) = UNITS.iter().find(|(unit, _)| *unit == &rest[digits..unit_end])?;
            if *factor >= previous {
                return None;
            }
            previous = *factor;
            total = total.checked_add(amount.checked_mul(*factor)?)?;
            rest = &rest[unit_end..];
        }
        (1..=limits::PERIOD_MS).contains(&total).then(|| Period(Duration::from_millis(total)))
    }

    /// The intended form of a malformed duration such as `30`, `30 seconds` or `5 min`.
    fn meant(text: &str) -> Option<String> {
        let text = text.trim().to_ascii_lowercase();
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let unit = match text[digits..].trim() {
            // A large number without a unit may be milliseconds.
            "" if digits > 3 => return None,
            "" | "s" | "sec" | "secs" | "second" | "seconds" => "s",
            "ms" | "milliseconds" | "millis" => "ms",
            "m" | "min" | "mins" | "minute" | "minutes" => "m",
            "h" | "hr" | "hrs" | "hour" | "hours" => "h",
            "d" | "day" | "days" => "d",
            _ => return None,
        };
        let meant = format!("{}{unit}", &text[..digits]);
        Period::parse(&meant).map(|_| meant)
    }
}

impl Decode for Period {
    const WANT: &'static str = "a duration such as `30s`, `10m` or `24h`";

    fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
        let text = match &node.kind {
            SyntaxKind::Str(text) => text.clone(),
            SyntaxKind::Int(number) => number.to_string(),
            _ => return wrong(node, report),
        };
        if let (Some(period), SyntaxKind::Str(_)) = (Period::parse(&text), &node.kind) {
            return Some(period);
        }
        let fault =
            Finding::error(node.at, Rule::Format, format!("`{text}` is not a valid duration"))
                .expected(Self::WANT)
                .actual(format!("`{text}`"));
        report.add(fault.write_instead(
            node.at,
            Period::meant(&text),
            &format!("use {}", Self::WANT),
        ));
        None
    }

    fn schema(_: &mut Defs) -> Value {
        json!({
            "type": "string",
            "pattern": "^(\\d+d)?(\\d+h)?(\\d+m)?(\\d+s)?(\\d+ms)?$",
            "minLength": 2,
            "examples": ["30s", "10m", "24h"],
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Period;

    #[test]
    fn periods() {
        let check = |text: &str, ms: Option<u64>| {
            let expected = ms.map(|ms| Period(Duration::from_millis(ms)));
            assert_eq!(Period::parse(text), expected, "{text}");
        };
        check("500ms", Some(500));
        check("1h30m", Some(5_400_000));
        check("24h", Some(86_400_000));
        check("366d", Some(366 * 86_400_000));
        check("367d", None);
        check("0s", None);
        check("30", None);
        check("30m1h", None);
        check("1h1h", None);
        check("", None);
        check("99999999999999999999h", None);
        check("5x", None);
    }

    #[test]
    fn slips() {
        assert_eq!(Period::meant("30").as_deref(), Some("30s"));
        assert_eq!(Period::meant("5 minutes").as_deref(), Some("5m"));
        assert_eq!(Period::meant("soon"), None);
        assert_eq!(Period::meant("30000"), None, "seconds or milliseconds");
    }
}

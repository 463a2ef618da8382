//! Identifiers: types that can only be created from valid text.

use std::fmt;

use milepost_syntax::mend::Mend;
use milepost_syntax::tree::SyntaxNode;
use serde_json::{Value, json};

use crate::decode::{Decode, Defs, Report};
use crate::finding::{Finding, Rule};
use crate::limits::ID_CHARS;
use crate::suggest;

/// Why a string is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {what}: use {rule}")]
pub struct InvalidId {
    /// The invalid string, truncated.
    pub text: String,
    /// The kind of identifier.
    pub what: &'static str,
    /// The expected format.
    pub rule: &'static str,
}

macro_rules! identifier {
    (
        $(#[$meta:meta])*
        $name:ident, $what:literal, $rule:literal, $pattern:literal, $check:expr
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// The format as a regular expression.
            pub const PATTERN: &'static str = $pattern;

            /// Parses and validates an identifier.
            pub fn parse(text: &str) -> Result<Self, InvalidId> {
                let check: fn(&str) -> bool = $check;
                if check(text) {
                    return Ok($name(text.to_owned()));
                }
                // Only the start of the string is quoted, since it may be hostile.
                let text = text.chars().take(80).collect();
                Err(InvalidId { text, what: $what, rule: $rule })
            }

            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

    };
}

identifier!(
    /// The id of a workflow, which is also the name of its file.
    WorkflowId,
    "workflow id",
    "lowercase letters, digits, `-` and `_`, at most one `.`, 1 to 64 characters",
    "^(?=.{1,64}$)[a-z0-9][a-z0-9_-]*(\\.[a-z0-9][a-z0-9_-]*)?$",
    |text| text.len() <= ID_CHARS
        && text.split('.').count() <= 2
        && text.split('.').all(is_word)
);
identifier!(
    /// The id of a step within its workflow.
    StepId,
    "step id",
    "lowercase letters, digits, `-` and `_`, 1 to 64 characters",
    "^[a-z0-9][a-z0-9_-]{0,63}$",
    |text| text.len() <= ID_CHARS && is_word(text)
);
identifier!(
    InputName,
    "input name",
    "letters, digits, `_` and `-`, not starting with a digit, 1 to 64 characters",
    "^[A-Za-z_][A-Za-z0-9_-]{0,63}$",
    |text| text.len() <= ID_CHARS
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
);
identifier!(
    /// The id of a catalog, which is also the group of its commands.
    CatalogId,
    "catalog id",
    "lowercase letters, digits and `-`, 1 to 64 characters",
    "^[a-z0-9][a-z0-9-]{0,63}$",
    |text| text.len() <= ID_CHARS && is_word(text) && !text.contains('_')
);
identifier!(
    /// The id of a run: 128 bits, which rules out guessing and accidental collisions.
    RunId,
    "run id",
    "`run_` followed by 26 digits or lowercase letters other than `i`, `l`, `o` and `u`",
    "^run_[0-7][0-9a-hjkmnp-tv-z]{25}$",
    |text| text.strip_prefix("run_").is_some_and(|digits| {
        digits.len() == RUN_DIGITS
            && digits.starts_with(|c: char| c < '8')
            && digits.bytes().all(|digit| BASE32.contains(&digit))
    })
);

/// Digits that are hard to mistake for one another, in order of value.
const BASE32: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// The number of digits in a run id: 128 bits, five per digit.
const RUN_DIGITS: usize = 26;

impl RunId {
    /// Creates an id from 128 bits. Random bits make it unique; for a run started by a step, the
    /// bits are derived from the step.
    pub fn from_bytes(bytes: [u8; 16]) -> RunId {
        let bits = u128::from_be_bytes(bytes);
        let digit = |at: usize| char::from(BASE32[(bits >> (5 * at)) as usize & 31]);
        RunId("run_".chars().chain((0..RUN_DIGITS).rev().map(digit)).collect())
    }
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-')
}

impl StepId {
    /// A placeholder for an id that could not be read, in a draft that is never used.
    pub(crate) fn unnamed(at: milepost_syntax::span::Span) -> StepId {
        StepId(format!("unnamed-{}", at.start))
    }
}

macro_rules! decode_id {
    ($name:ident, $want:literal, $slug:expr) => {
        impl Decode for $name {
            const WANT: &'static str = $want;

            fn decode(node: &SyntaxNode, report: &mut Report) -> Option<Self> {
                decode(node, report, $name::parse, $slug)
            }

            fn schema(_: &mut Defs) -> Value {
                json!({"type": "string", "pattern": $name::PATTERN})
            }
        }
    };
}

decode_id!(WorkflowId, "a workflow id", |text| suggest::slug(text, true));
decode_id!(StepId, "a step id", |text| suggest::slug(text, false));
decode_id!(CatalogId, "a catalog id", |text| Some(suggest::slug(text, false)?.replace('_', "-")));

fn decode<T>(
    node: &SyntaxNode,
    report: &mut Report,
    parse: impl Fn(&str) -> Result<T, InvalidId>,
    slug: impl Fn(&str) -> Option<String>,
) -> Option<T> {
    let text = String::decode(node, report)?;
    let invalid = match parse(&text) {
        Ok(id) => return Some(id),
        Err(invalid) => invalid,
    };
    let InvalidId { text: quoted, what, rule } = invalid;
    let fault = Finding::error(node.at, Rule::Id, format!("`{quoted}` is not a valid {what}"))
        .expected(rule)
        .actual(format!("`{quoted}`"));
    report.add(match slug(&text).filter(|meant| parse(meant).is_ok()) {
        Some(meant) => fault
            .suggest(format!("use `{meant}`"))
            .mend(Mend::Replace { at: node.at, value: meant.into() }),
        None => fault.suggest(format!("use {rule}")),
    });
    None
}

#[cfg(test)]
mod tests {
    use super::{InputName, RunId, StepId, WorkflowId};

    #[test]
    fn grammar() {
        for good in ["a", "refund-order", "wr.bug-hunt", "0_x", &"a".repeat(64)] {
            assert!(WorkflowId::parse(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "a.", ".a", "a.b.c", "A", "-a", "a b", "../a", "a/b", &"a".repeat(65)]
        {
            assert!(WorkflowId::parse(bad).is_err(), "{bad}");
        }
        assert!(StepId::parse("a.b").is_err());
        assert!(InputName::parse("orderId").is_ok());
        assert!(InputName::parse("1st").is_err());
    }

    #[test]
    fn a_run_is_128_bits() {
        let none = RunId::from_bytes([0; 16]);
        assert_eq!(none.as_str(), "run_00000000000000000000000000");
        let all = RunId::from_bytes([255; 16]);
        assert_eq!(all.as_str(), "run_7zzzzzzzzzzzzzzzzzzzzzzzzz");
        let counted = RunId::from_bytes([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);
        assert_eq!(counted.as_str(), "run_01081g81860w40j2gb1g6gw3rg");
        for id in [&none, &all, &counted] {
            assert_eq!(RunId::parse(id.as_str()).as_ref(), Ok(id));
        }
        let digits = "0".repeat(25);
        for bad in ["", "run_", "run_8", "u", "i", "A", "-"] {
            assert!(RunId::parse(bad).is_err(), "{bad}");
            assert!(RunId::parse(&format!("run_{digits}{bad}")).is_err(), "{bad}");
        }
        assert!(RunId::parse(&format!("run_8{digits}")).is_err(), "more than 128 bits");
    }
}

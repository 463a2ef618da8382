//! Secret values, and masking them in everything that is shown.
//!
//! Data is never masked: what is stored, compared or sent keeps its value. [`known_secrets`] lists
//! the secrets of this process, and everything that people or models see is masked with it where
//! the output is built, before it is truncated, because half a secret would not be found.

mod json_text;
pub mod known_secrets;
mod mask;
mod spelling;

use std::fmt;

use serde_json::Value;

use crate::limits::MARK_NAME_CHARS;
pub use mask::{Mask, SecretMatch};

/// A value that must only be shown to its recipient.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value so that it is not shown.
    pub fn new(value: impl Into<String>) -> Secret {
        Secret(value.into())
    }

    /// The value, for the code that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

const MARK: &str = "[secret:";
const MARK_END: char = ']';

/// The mark that replaces a secret.
pub fn mark(name: &str) -> String {
    format!("{MARK}{name}{MARK_END}")
}

/// The name in the first mark in a text, if its name could be that of a secret.
pub fn marked_name(text: &str) -> Option<&str> {
    text.match_indices(MARK).find_map(|(at, _)| {
        let rest = &text[at + MARK.len()..];
        let name = &rest[..rest.find(MARK_END)?];
        let plausible = |c: char| c.is_alphanumeric() || "_-.: /".contains(c);
        let is_name = !name.is_empty() && name.chars().count() <= MARK_NAME_CHARS;
        (is_name && name.chars().all(plausible)).then_some(name)
    })
}

/// The name in the first mark in the strings and keys of a value.
pub fn marked_name_in(value: &Value) -> Option<&str> {
    match value {
        Value::String(text) => marked_name(text),
        Value::Array(items) => items.iter().find_map(marked_name_in),
        Value::Object(map) => {
            map.iter().find_map(|(name, value)| marked_name(name).or_else(|| marked_name_in(value)))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_mark_is_found_wherever_it_stands() {
        for (text, expected) in [
            ("Bearer [secret:SHOP_TOKEN]!", Some("SHOP_TOKEN")),
            ("[secret:] [secret:token for oauth]", Some("token for oauth")),
            ("[secret:a\nb] [secret", None),
            ("[secret:${{ x }}]", None),
            ("secret:SHOP_TOKEN", None),
        ] {
            assert_eq!(marked_name(text), expected, "{text}");
        }
        assert_eq!(marked_name_in(&json!({"a": [1, {"[secret:K]": null}]})), Some("K"));
        assert_eq!(marked_name_in(&json!({"a": [1, "x", {"b": "y[secret:K]"}]})), Some("K"));
        assert_eq!(marked_name_in(&json!({"a": "secret"})), None);
    }
}

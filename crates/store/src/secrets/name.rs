//! Names of secrets.

use std::fmt;

use crate::limits;

/// The name of a secret. Names are shown and stored in the clear; values never are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
pub struct SecretName(String);

/// The error for a string that is not a valid secret name. The string is not included, because it
/// may be the secret itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is not a valid secret name: use letters, digits, `_`, `-` and `.`, a letter or `_` \
     first, 1 to {} characters",
    limits::SECRET_NAME_CHARS
)]
pub struct InvalidSecretName;

impl SecretName {
    /// The expected form, for messages.
    pub const EXPECTED: &'static str = "the name of a secret such as `GITHUB_TOKEN`";

    pub fn parse(text: &str) -> Result<SecretName, InvalidSecretName> {
        let first = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let rest = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        if first && text.len() <= limits::SECRET_NAME_CHARS && text.bytes().all(rest) {
            return Ok(SecretName(text.to_owned()));
        }
        Err(InvalidSecretName)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as written in the environment, where case, `-` and `.` are lost.
    pub fn in_environment(&self) -> String {
        self.0.to_ascii_uppercase().replace(['-', '.'], "_")
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::SecretName;

    #[test]
    fn grammar() {
        for good in ["a", "_", "GITHUB_TOKEN", "shop.api-key", "_9", &"a".repeat(64)] {
            assert_eq!(SecretName::parse(good).expect("is one").as_str(), good);
        }
        for bad in ["", "9", ".a", "-a", "a b", "a/b", "a$", "é", "a\n", &"a".repeat(65)] {
            let error = SecretName::parse(bad).expect_err(bad);
            assert!(bad.len() < 4 || !error.to_string().contains(bad), "{error}");
        }
    }

    #[test]
    fn in_the_environment() {
        let name = SecretName::parse("shop.api-Key_2").expect("is one");
        assert_eq!(name.in_environment(), "SHOP_API_KEY_2");
    }
}

//! Secrets in the environment, as it was when it was looked at.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use milepost_model::secret::Secret;

use super::SecretName;

const PREFIX: &str = "MILEPOST_SECRET_";
/// The variable of the passphrase that encrypts the secrets.
pub(super) const PASSPHRASE: &str = "MILEPOST_SECRETS_PASSPHRASE";

/// The secrets in the environment, and the passphrase of the others.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    /// By the name without the prefix.
    secrets: BTreeMap<String, Secret>,
    passphrase: Option<Secret>,
}

/// The variable of a secret.
pub(super) fn variable(name: &SecretName) -> String {
    format!("{PREFIX}{}", name.in_environment())
}

impl Environment {
    /// Picks the secrets out of all variables. An empty one, or one that is no text, is none.
    pub fn from_variables(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Environment {
        let mut environment = Environment::default();
        for (name, value) in variables {
            let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
            if value.is_empty() {
                continue;
            }
            if name == PASSPHRASE {
                environment.passphrase = Some(Secret::new(value));
            } else if let Some(name) = name.strip_prefix(PREFIX) {
                environment.secrets.insert(name.to_owned(), Secret::new(value));
            }
        }
        environment
    }

    pub(super) fn get(&self, name: &SecretName) -> Option<&Secret> {
        self.secrets.get(&name.in_environment())
    }

    pub(super) fn names(&self) -> BTreeSet<String> {
        self.secrets.keys().cloned().collect()
    }

    pub(super) fn passphrase(&self) -> Option<&Secret> {
        self.passphrase.as_ref()
    }
}

//! A snapshot of the environment: secrets and all other variables.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;

use milepost_model::secret::Secret;

use super::SecretName;

const PREFIX: &str = "MILEPOST_SECRET_";
/// The variable that contains the passphrase for the encrypted secrets.
pub(super) const PASSPHRASE: &str = "MILEPOST_SECRETS_PASSPHRASE";

/// The secrets in the environment, the passphrase for the stored ones, and all other variables.
#[derive(Debug, Clone, Default)]
pub struct Environment {
    secrets: BTreeMap<String, Secret>,
    pub(super) passphrase: Option<Secret>,
    /// All other variables. The configuration decides which of them may be read.
    others: BTreeMap<String, Secret>,
}

/// The name of the variable that contains a secret.
pub(super) fn variable(name: &SecretName) -> String {
    format!("{PREFIX}{}", name.in_environment())
}

impl Environment {
    /// Extracts the secrets from all variables. Empty values, and values that are not UTF-8, are
    /// ignored.
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
            } else {
                environment.others.insert(name.to_owned(), Secret::new(value));
            }
        }
        environment
    }

    /// A variable that does not belong to Milepost. The caller has checked that it may be read.
    pub fn variable(&self, name: &str) -> Option<&Secret> {
        self.others.get(name)
    }

    pub(super) fn get(&self, name: &SecretName) -> Option<&Secret> {
        self.secrets.get(&name.in_environment())
    }

    /// Every secret whose variable name is a valid secret name.
    pub(super) fn all(&self) -> impl Iterator<Item = (SecretName, Secret)> {
        let all = self.secrets.iter();
        all.filter_map(|(name, value)| Some((SecretName::parse(name).ok()?, value.clone())))
    }

    pub(super) fn names(&self) -> BTreeSet<String> {
        self.secrets.keys().cloned().collect()
    }
}

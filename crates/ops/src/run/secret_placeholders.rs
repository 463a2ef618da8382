//! Finds secret placeholders and replaces them.

use std::collections::BTreeMap;

use milepost_engine::command::StepCall;
use milepost_engine::{replace_secrets, secret_names_in};
use milepost_model::secret::Secret;

use crate::prelude::*;

/// A run's nonce, from which its placeholders are derived.
#[derive(Debug, Clone)]
pub(crate) struct SecretPlaceholders(pub(crate) String);

impl SecretPlaceholders {
    /// The names of the secrets whose placeholders occur in a value.
    pub(crate) fn names(&self, value: &Value) -> Vec<String> {
        secret_names_in(&self.0, value)
    }

    /// The names of the secrets whose placeholders occur in a request's arguments.
    pub(crate) fn names_of(&self, call: &StepCall) -> Vec<String> {
        let values = call.with.values().chain(&call.body).chain(call.headers.values());
        let mut names: Vec<String> = values.flat_map(|value| self.names(value)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// A request with its placeholders replaced by the secrets.
    pub(crate) fn revealed(&self, call: &StepCall, secrets: &BTreeMap<String, Secret>) -> StepCall {
        let mut call = call.clone();
        let values = call.with.values_mut().chain(&mut call.body).chain(call.headers.values_mut());
        values.for_each(|value| *value = self.reveal(value, secrets));
        call
    }

    /// A value with its placeholders replaced by the secrets.
    pub(crate) fn reveal(&self, value: &Value, secrets: &BTreeMap<String, Secret>) -> Value {
        replace_secrets(&self.0, value, &mut |name| Some(secrets.get(name)?.reveal().to_owned()))
    }

    /// A value with its placeholders replaced by inert text.
    pub(crate) fn broken(&self, value: &Value) -> Value {
        replace_secrets(&self.0, value, &mut |_| Some("[secret]".to_owned()))
    }
}

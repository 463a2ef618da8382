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

    /// The fields of a request whose values contain a secret's placeholder, such as `body.key`.
    pub(crate) fn fields(&self, call: &StepCall, name: &str) -> Vec<String> {
        let mut fields = Vec::new();
        for (key, value) in &call.with {
            self.find(value, name, format!("with.{key}"), &mut fields);
        }
        for (key, value) in &call.headers {
            self.find(value, name, format!("headers.{key}"), &mut fields);
        }
        if let Some(body) = &call.body {
            self.find(body, name, "body".to_owned(), &mut fields);
        }
        if fields.is_empty() {
            // It is in the name of a field, which nobody can allow.
            fields.push(String::new());
        }
        fields
    }

    fn find(&self, value: &Value, name: &str, at: String, fields: &mut Vec<String>) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    self.find(value, name, format!("{at}.{key}"), fields);
                }
            }
            Value::Array(items) => {
                for value in items {
                    self.find(value, name, at.clone(), fields);
                }
            }
            _ if self.names(value).iter().any(|found| found == name) => fields.push(at),
            _ => {}
        }
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

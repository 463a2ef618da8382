//! Sentinels in the place of secrets, and the secrets in the place of sentinels.

use std::collections::BTreeMap;

use milepost_engine::sentinel;
use milepost_model::secret::Secret;
use serde_json::{Map, Value};

/// The seal of a run: what its sentinels are made with.
#[derive(Debug, Clone)]
pub(crate) struct Sealed(pub(crate) String);

impl Sealed {
    /// The names of the secrets that stand in a value.
    pub(crate) fn names(&self, value: &Value) -> Vec<String> {
        let mut found = Vec::new();
        self.collect(value, &mut found);
        found
    }

    fn collect(&self, value: &Value, found: &mut Vec<String>) {
        match value {
            Value::String(text) => {
                let open = self.open();
                for rest in text.split(open.as_str()).skip(1) {
                    if let Some((name, _)) = rest.split_once(')')
                        && !found.iter().any(|known| known == name)
                    {
                        found.push(name.to_owned());
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| self.collect(item, found)),
            Value::Object(map) => map.values().for_each(|item| self.collect(item, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A value with its secrets in their places.
    pub(crate) fn reveal(&self, value: &Value, secrets: &BTreeMap<String, Secret>) -> Value {
        match value {
            Value::String(text) => {
                let mut text = text.clone();
                for (name, secret) in secrets {
                    text = text.replace(&sentinel(&self.0, name), secret.reveal());
                }
                Value::String(text)
            }
            Value::Array(items) => items.iter().map(|item| self.reveal(item, secrets)).collect(),
            Value::Object(map) => Value::Object(self.reveal_map(map, secrets)),
            other => other.clone(),
        }
    }

    pub(crate) fn reveal_map(
        &self,
        map: &Map<String, Value>,
        secrets: &BTreeMap<String, Secret>,
    ) -> Map<String, Value> {
        map.iter().map(|(name, value)| (name.clone(), self.reveal(value, secrets))).collect()
    }

    /// What every sentinel of this run begins with.
    fn open(&self) -> String {
        let whole = sentinel(&self.0, "");
        whole.strip_suffix(')').unwrap_or(&whole).to_owned()
    }
}

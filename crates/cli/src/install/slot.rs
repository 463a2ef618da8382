//! The location of an entry in a configuration of any format, and the conditions that must hold
//! before and after a change.

use serde_json::{Map, Value};

use super::edit::{EditFault, TextEdit, apply};
use super::{json, toml, yaml};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfigFormat {
    Json,
    Toml,
    Yaml,
}

/// The location of an entry: a name in an object of the file.
#[derive(Debug, Clone)]
pub(super) struct EntrySlot {
    pub(super) format: ConfigFormat,
    pub(super) parent: &'static str,
    pub(super) name: String,
}

/// A change that was verified to affect only the entry.
#[derive(Debug)]
pub(super) struct ConfigChange {
    pub(super) edits: Vec<TextEdit>,
    pub(super) after: String,
}

pub(super) type VerifiedChange = Result<ConfigChange, EditFault>;

impl EntrySlot {
    /// The value of the entry.
    pub(super) fn find(&self, text: &str) -> Result<Option<Value>, EditFault> {
        let whole = self.value(text)?;
        if !whole.is_object() && !whole.is_null() {
            return Err(EditFault::new(0, "the file must contain an object"));
        }
        Ok(whole.get(self.parent).and_then(|parent| parent.get(&self.name)).cloned())
    }

    /// Whether the file has the object that contains entries.
    pub(super) fn has_parent(&self, text: &str) -> bool {
        self.value(text).is_ok_and(|whole| whole.get(self.parent).is_some())
    }

    pub(super) fn insert(&self, text: &str, entry: &Map<String, Value>) -> VerifiedChange {
        let edits = match self.format {
            ConfigFormat::Json => json::insert(text, self, entry),
            ConfigFormat::Toml => toml::insert(text, self, entry),
            ConfigFormat::Yaml => yaml::insert(text, self, entry),
        }?;
        self.proven(text, edits, Some(entry))
    }

    pub(super) fn replace(&self, text: &str, entry: &Map<String, Value>) -> VerifiedChange {
        let edits = match self.format {
            ConfigFormat::Json => json::replace(text, self, entry),
            ConfigFormat::Toml => toml::replace(text, self, entry),
            ConfigFormat::Yaml => yaml::replace(text, self, entry),
        }?;
        self.proven(text, edits, Some(entry))
    }

    /// Removes the entry and, with `parent_too`, the object around it if it contains nothing else.
    pub(super) fn remove(&self, text: &str, parent_too: bool) -> VerifiedChange {
        let edits = match self.format {
            ConfigFormat::Json => json::remove(text, self, parent_too),
            ConfigFormat::Toml => toml::remove(text, self),
            ConfigFormat::Yaml => yaml::remove(text, self, parent_too),
        }?;
        self.proven(text, edits, None)
    }

    /// The snippet to paste by hand.
    pub(super) fn snippet(&self, entry: &Map<String, Value>) -> String {
        match self.format {
            ConfigFormat::Json => json::snippet(self, entry),
            ConfigFormat::Toml => toml::snippet(self, entry),
            ConfigFormat::Yaml => yaml::snippet(self, entry),
        }
    }

    /// The entry nested in its object, under its name.
    pub(super) fn whole(&self, entry: &Map<String, Value>) -> Value {
        let mut whole = Value::Null;
        self.put(&mut whole, Some(entry));
        whole
    }

    /// The content of the whole file.
    pub(super) fn value(&self, text: &str) -> Result<Value, EditFault> {
        match self.format {
            ConfigFormat::Json => json::value(text),
            ConfigFormat::Toml => toml::value(text),
            ConfigFormat::Yaml => yaml::value(text),
        }
    }

    /// Verifies a change by parsing the text before and after it: the values may differ only in the
    /// entry.
    fn proven(
        &self,
        text: &str,
        edits: Vec<TextEdit>,
        entry: Option<&Map<String, Value>>,
    ) -> VerifiedChange {
        let place = edits.first().map_or(0, |edit| edit.start);
        let unsure =
            || EditFault::new(place, "it is written in a way that cannot be edited safely");
        let after = apply(text, &edits).ok_or_else(unsure)?;
        let mut expected = self.value(text)?;
        let mut found = self.value(&after).map_err(|_| unsure())?;
        self.put(&mut expected, entry);
        for value in [&mut expected, &mut found] {
            self.settle(value);
        }
        if expected == found { Ok(ConfigChange { edits, after }) } else { Err(unsure()) }
    }

    fn put(&self, whole: &mut Value, entry: Option<&Map<String, Value>>) {
        let Some(whole) = object(whole) else { return };
        let Some(parent) = object(whole.entry(self.parent).or_insert(Value::Null)) else { return };
        match entry {
            Some(entry) => drop(parent.insert(self.name.clone(), Value::Object(entry.clone()))),
            None => drop(parent.shift_remove(&self.name)),
        }
    }

    /// Removes an empty object for entries, so that it compares equal to a missing one.
    fn settle(&self, whole: &mut Value) {
        let Some(whole) = object(whole) else { return };
        let parent = whole.get_mut(self.parent).and_then(object);
        if parent.is_some_and(|entries| entries.is_empty()) {
            whole.shift_remove(self.parent);
        }
    }
}

/// The members of an object; null counts as an empty object.
fn object(value: &mut Value) -> Option<&mut Map<String, Value>> {
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

//! The place of one entry in a configuration, whatever it is written in, and what must be true of
//! a file before and after a change.

use serde_json::{Map, Value};

use super::edit::{Edit, Fault, apply};
use super::{json, toml, yaml};

/// How a configuration is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Json,
    Toml,
    Yaml,
}

/// Where an entry goes: under a name, in an object of the file.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub(super) format: Format,
    pub(super) parent: &'static str,
    pub(super) name: String,
}

/// A change that was found to do what it says and nothing else.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) edits: Vec<Edit>,
    pub(super) after: String,
}

impl Slot {
    /// What the file says under the name.
    pub(super) fn find(&self, text: &str) -> Result<Option<Value>, Fault> {
        let whole = self.value(text)?;
        if !whole.is_object() && !whole.is_null() {
            return Err(Fault::new(0, "the file must hold an object"));
        }
        Ok(whole.get(self.parent).and_then(|parent| parent.get(&self.name)).cloned())
    }

    /// Whether the file has the object that holds entries.
    pub(super) fn has_parent(&self, text: &str) -> bool {
        self.value(text).is_ok_and(|whole| whole.get(self.parent).is_some())
    }

    /// Puts an entry in.
    pub(super) fn insert(&self, text: &str, entry: &Map<String, Value>) -> Result<Change, Fault> {
        let edits = match self.format {
            Format::Json => json::insert(text, self, entry),
            Format::Toml => toml::insert(text, self, entry),
            Format::Yaml => yaml::insert(text, self, entry),
        }?;
        self.proven(text, edits, Some(entry))
    }

    /// Lets an entry say something else.
    pub(super) fn replace(&self, text: &str, entry: &Map<String, Value>) -> Result<Change, Fault> {
        let edits = match self.format {
            Format::Json => json::replace(text, self, entry),
            Format::Toml => toml::replace(text, self, entry),
            Format::Yaml => yaml::replace(text, self, entry),
        }?;
        self.proven(text, edits, Some(entry))
    }

    /// Takes an entry out, and with `parent_too` the object that held it alone.
    pub(super) fn remove(&self, text: &str, parent_too: bool) -> Result<Change, Fault> {
        let edits = match self.format {
            Format::Json => json::remove(text, self, parent_too),
            Format::Toml => toml::remove(text, self),
            Format::Yaml => yaml::remove(text, self, parent_too),
        }?;
        self.proven(text, edits, None)
    }

    /// What to write by hand.
    pub(super) fn snippet(&self, entry: &Map<String, Value>) -> String {
        match self.format {
            Format::Json => json::snippet(self, entry),
            Format::Toml => toml::snippet(self, entry),
            Format::Yaml => yaml::snippet(self, entry),
        }
    }

    /// The entry with its name, in the object that holds it.
    pub(super) fn whole(&self, entry: &Map<String, Value>) -> Value {
        let mut whole = Value::Null;
        self.put(&mut whole, Some(entry));
        whole
    }

    fn value(&self, text: &str) -> Result<Value, Fault> {
        match self.format {
            Format::Json => json::value(text),
            Format::Toml => toml::value(text),
            Format::Yaml => yaml::value(text),
        }
    }

    /// Reads the text before and after: the new one says what the old one did, and the entry.
    fn proven(
        &self,
        text: &str,
        edits: Vec<Edit>,
        entry: Option<&Map<String, Value>>,
    ) -> Result<Change, Fault> {
        let place = edits.first().map_or(0, |edit| edit.start);
        let unsure = || Fault::new(place, "it is spelled in a way that is not changed here");
        let after = apply(text, &edits).ok_or_else(unsure)?;
        let mut expected = self.value(text)?;
        let mut found = self.value(&after).map_err(|_| unsure())?;
        self.put(&mut expected, entry);
        for value in [&mut expected, &mut found] {
            self.settle(value);
        }
        if expected == found { Ok(Change { edits, after }) } else { Err(unsure()) }
    }

    fn put(&self, whole: &mut Value, entry: Option<&Map<String, Value>>) {
        if whole.is_null() {
            *whole = Value::Object(Map::new());
        }
        let Some(whole) = whole.as_object_mut() else { return };
        let parent = whole.entry(self.parent).or_insert(Value::Null);
        if parent.is_null() {
            *parent = Value::Object(Map::new());
        }
        let Some(parent) = parent.as_object_mut() else { return };
        match entry {
            Some(entry) => drop(parent.insert(self.name.clone(), Value::Object(entry.clone()))),
            None => drop(parent.shift_remove(&self.name)),
        }
    }

    /// An object for entries that has none says the same as no object.
    fn settle(&self, whole: &mut Value) {
        if whole.is_null() {
            *whole = Value::Object(Map::new());
        }
        let Some(whole) = whole.as_object_mut() else { return };
        let is_empty = |parent: &Value| match parent {
            Value::Null => true,
            Value::Object(entries) => entries.is_empty(),
            _ => false,
        };
        if whole.get(self.parent).is_some_and(is_empty) {
            whole.shift_remove(self.parent);
        }
    }
}

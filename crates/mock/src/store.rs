//! A mock's state: the resources in each collection.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::resource::{id_pointer, plain_text};
use crate::{limits, overlay};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resource {
    /// The id as it appears in paths.
    pub(crate) id: String,
    pub(crate) value: Value,
    /// JSON pointer to the id in the value.
    id_at: String,
}

impl Resource {
    /// Creates a resource from its value; `None` if the value contains no id.
    pub(crate) fn new(value: Value, parameter: Option<&str>) -> Option<Resource> {
        let id_at = id_pointer(&value, parameter)?;
        let id = plain_text(value.pointer(&id_at)?);
        Some(Resource { id, value, id_at })
    }

    /// Merges fields into the value. The id changes only if `own_id` points to where this resource
    /// has its id; returns whether it does.
    pub(crate) fn merge(&mut self, fields: &Value, own_id: Option<String>) -> bool {
        let own = own_id.filter(|at| *at == self.id_at);
        let id = own.as_ref().map_or(&self.value, |_| fields).pointer(&self.id_at).cloned();
        overlay::merge(&mut self.value, fields);
        self.set_id(id.unwrap_or_default());
        own.is_some()
    }

    fn set_id(&mut self, id: Value) {
        self.id = plain_text(&id);
        if let Some(target) = self.value.pointer_mut(&self.id_at) {
            *target = id;
        }
    }

    /// Sets the id to the one from a path.
    pub(crate) fn rename(&mut self, id: &str) {
        let is_number = self.value.pointer(&self.id_at).is_some_and(Value::is_number);
        self.set_id(match id.parse::<i64>() {
            Ok(number) if is_number => Value::from(number),
            _ => Value::from(id),
        });
        id.clone_into(&mut self.id);
    }
}

/// The resources in one collection.
#[derive(Debug, Default)]
pub(crate) struct StoredCollection {
    pub(crate) items: Vec<Resource>,
    gone: VecDeque<String>,
    /// The number of resources ever created here.
    pub(crate) made: usize,
    touched: u64,
}

impl StoredCollection {
    pub(crate) fn position(&self, id: &str) -> Option<usize> {
        self.items.iter().position(|item| item.id == id)
    }

    /// Adds a resource, replacing any with the same id.
    pub(crate) fn put(&mut self, resource: Resource) {
        self.made += 1;
        self.gone.retain(|id| *id != resource.id);
        match self.position(&resource.id) {
            Some(at) => self.items[at] = resource,
            None => self.items.push(resource),
        }
        if self.items.len() > limits::COLLECTION_ITEMS {
            self.items.remove(0);
        }
    }

    pub(crate) fn remove(&mut self, at: usize) -> Resource {
        let resource = self.items.remove(at);
        self.gone.push_back(resource.id.clone());
        if self.gone.len() > limits::GONE_IDS {
            self.gone.pop_front();
        }
        resource
    }

    /// Whether a resource existed and was deleted.
    pub(crate) fn is_gone(&self, id: &str) -> bool {
        self.gone.iter().any(|gone| gone == id)
    }
}

/// All collections, by path with parameters filled in.
#[derive(Debug, Default)]
pub(crate) struct Store {
    collections: BTreeMap<String, StoredCollection>,
    clock: u64,
}

impl Store {
    pub(crate) fn has(&self, key: &str) -> bool {
        self.collections.contains_key(key)
    }

    /// The collection with this key, created if necessary.
    pub(crate) fn at(&mut self, key: &str) -> &mut StoredCollection {
        self.clock += 1;
        if !self.has(key) && self.collections.len() >= limits::COLLECTIONS {
            let oldest = self.collections.iter().min_by_key(|(_, collection)| collection.touched);
            if let Some(key) = oldest.map(|(key, _)| key.clone()) {
                self.collections.remove(&key);
            }
        }
        let collection = self.collections.entry(key.to_owned()).or_default();
        collection.touched = self.clock;
        collection
    }

    /// Removes everything below a deleted resource.
    pub(crate) fn forget_below(&mut self, key: &str, id: &str) {
        let below = format!("{key}/{}/", id.replace('/', "%2F"));
        self.collections.retain(|key, _| !key.starts_with(&below));
    }
}

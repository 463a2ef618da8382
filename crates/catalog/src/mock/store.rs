//! What a mock remembers: the resources of each collection.

use std::collections::{BTreeMap, VecDeque};

use serde_json::{Map, Value};

use super::resource::{id_field, id_text};
use crate::limits;

/// A resource.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Resource {
    /// Its id as it stands in paths.
    pub(super) id: String,
    pub(super) fields: Map<String, Value>,
}

impl Resource {
    /// A resource from its fields; nothing when they hold no id.
    pub(super) fn new(fields: Map<String, Value>, parameter: Option<&str>) -> Option<Resource> {
        let id = id_text(id_of(&fields, parameter)?);
        Some(Resource { id, fields })
    }

    /// Merges fields in; the id stays.
    pub(super) fn merge(&mut self, fields: &Map<String, Value>, parameter: Option<&str>) {
        let id = id_field(&self.fields, parameter).zip(id_of(&self.fields, parameter).cloned());
        for (name, value) in fields {
            let target = self.fields.entry(name.clone()).or_insert(Value::Null);
            super::overlay::merge(target, value);
        }
        if let Some((path, id)) = id {
            set(&mut self.fields, &path, id);
        }
    }
}

fn id_of<'f>(fields: &'f Map<String, Value>, parameter: Option<&str>) -> Option<&'f Value> {
    member(fields, &id_field(fields, parameter)?)
}

/// The member at a path of names.
pub(super) fn member<'f>(fields: &'f Map<String, Value>, path: &[String]) -> Option<&'f Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(fields.get(first)?, |value, step| value.get(step))
}

/// Sets the member at a path of names.
pub(super) fn set(fields: &mut Map<String, Value>, path: &[String], value: Value) {
    match path {
        [] => {}
        [name] => drop(fields.insert(name.clone(), value)),
        [name, rest @ ..] => {
            if let Some(Value::Object(inner)) = fields.get_mut(name) {
                set(inner, rest, value);
            }
        }
    }
}

/// The resources of one collection.
#[derive(Debug, Default)]
pub(super) struct Kept {
    pub(super) items: Vec<Resource>,
    gone: VecDeque<String>,
    /// How many were ever made here.
    pub(super) made: usize,
    touched: u64,
}

impl Kept {
    pub(super) fn position(&self, id: &str) -> Option<usize> {
        self.items.iter().position(|item| item.id == id)
    }

    /// Adds a resource, in place of one with the same id.
    pub(super) fn put(&mut self, resource: Resource) {
        self.made += 1;
        self.gone.retain(|id| *id != resource.id);
        match self.position(&resource.id) {
            Some(at) => self.items[at] = resource,
            None => self.items.push(resource),
        }
        if self.items.len() > limits::MOCK_COLLECTION_ITEMS {
            self.items.remove(0);
        }
    }

    pub(super) fn remove(&mut self, at: usize) -> Resource {
        let resource = self.items.remove(at);
        self.gone.push_back(resource.id.clone());
        if self.gone.len() > limits::MOCK_GONE_IDS {
            self.gone.pop_front();
        }
        resource
    }

    /// Whether a resource was there and was deleted.
    pub(super) fn is_gone(&self, id: &str) -> bool {
        self.gone.iter().any(|gone| gone == id)
    }
}

/// All collections, by path with the values of its parameters.
#[derive(Debug, Default)]
pub(super) struct Store {
    kept: BTreeMap<String, Kept>,
    clock: u64,
}

impl Store {
    pub(super) fn has(&self, key: &str) -> bool {
        self.kept.contains_key(key)
    }

    /// A collection, made when it is not there.
    pub(super) fn at(&mut self, key: &str) -> &mut Kept {
        self.clock += 1;
        if !self.has(key) && self.kept.len() >= limits::MOCK_COLLECTIONS {
            let oldest = self.kept.iter().min_by_key(|(_, kept)| kept.touched);
            if let Some(key) = oldest.map(|(key, _)| key.clone()) {
                self.kept.remove(&key);
            }
        }
        let kept = self.kept.entry(key.to_owned()).or_default();
        kept.touched = self.clock;
        kept
    }

    /// Forgets what stands below a resource that is gone.
    pub(super) fn forget_below(&mut self, key: &str, id: &str) {
        let below = format!("{key}/{}/", id.replace('/', "%2F"));
        self.kept.retain(|key, _| !key.starts_with(&below));
    }
}

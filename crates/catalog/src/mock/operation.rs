//! An operation with its schemas made ready when they are first asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::schema::{Schema, Way};
use super::shape::definition;
use crate::command::Command;
use crate::limits;

/// Which schema of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slot {
    Parameter(usize),
    Body(usize),
    /// Of a response, and which content of it.
    Answer(usize, usize),
}

/// Schemas that were made ready, by operation. Many operations share the schema of an error or of a
/// resource, and compiling one takes longest, so the same content is compiled once.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    schemas: BTreeMap<(usize, Slot), Arc<Schema>>,
    by_content: BTreeMap<(Way, [u8; 32]), Arc<Schema>>,
    /// How much JSON the kept schemas are.
    bytes: usize,
}

impl Shelf {
    fn make(&mut self, value: &Value, defs: &Map<String, Value>, way: Way) -> Arc<Schema> {
        let reached = reached(value, defs);
        let content = json!([value, reached]).to_string();
        let key = (way, Sha256::digest(content.as_bytes()).into());
        if let Some(schema) = self.by_content.get(&key) {
            return Arc::clone(schema);
        }
        let is_full = self.bytes + content.len() > limits::MOCK_SCHEMA_BYTES;
        if is_full || self.schemas.len() >= limits::MOCK_SCHEMAS {
            *self = Shelf::default();
        }
        let schema = Arc::new(Schema::new(value, Arc::new(reached), way));
        self.bytes += content.len();
        self.by_content.insert(key, Arc::clone(&schema));
        schema
    }
}

/// The definitions that a schema leads to.
fn reached(value: &Value, defs: &Map<String, Value>) -> Map<String, Value> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(map) => {
                let target = map.get("$ref").and_then(Value::as_str).and_then(definition);
                let found = target.and_then(|name| defs.get_key_value(&name));
                open.extend(found.filter(|(name, _)| names.insert(name)).map(|(_, def)| def));
                open.extend(map.values());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    let reached = defs.iter().filter(|(name, _)| names.contains(name.as_str()));
    reached.map(|(name, def)| (name.clone(), def.clone())).collect()
}

/// An operation at work.
#[derive(Debug)]
pub(super) struct Operation<'m> {
    index: usize,
    command: Arc<Command>,
    shelf: &'m mut Shelf,
}

impl<'m> Operation<'m> {
    pub(super) fn new(index: usize, command: Arc<Command>, shelf: &'m mut Shelf) -> Operation<'m> {
        Operation { index, command, shelf }
    }

    pub(super) fn command(&self) -> Arc<Command> {
        Arc::clone(&self.command)
    }

    /// A schema of the command, ready.
    pub(super) fn schema(&mut self, slot: Slot, value: &Value, way: Way) -> Arc<Schema> {
        if let Some(schema) = self.shelf.schemas.get(&(self.index, slot)) {
            return Arc::clone(schema);
        }
        let schema = self.shelf.make(value, &self.command.defs, way);
        self.shelf.schemas.insert((self.index, slot), Arc::clone(&schema));
        schema
    }
}

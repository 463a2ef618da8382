//! An operation with its schemas made ready when they are first asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::schema::{Schema, Way};
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

/// Schemas that were made ready, by operation.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    schemas: BTreeMap<(usize, Slot), Arc<Schema>>,
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
        let schemas = &mut self.shelf.schemas;
        if schemas.len() >= limits::MOCK_SCHEMAS && !schemas.contains_key(&(self.index, slot)) {
            schemas.clear();
        }
        let make = || Arc::new(Schema::new(value, &self.command.defs, way));
        Arc::clone(schemas.entry((self.index, slot)).or_insert_with(make))
    }
}

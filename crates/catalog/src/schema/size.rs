//! Estimates the cost of a schema. Both compiling it and validating a value follow its references,
//! so a hostile schema can double the work with every step.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Definitions, definition_name};
use crate::limits;

/// The size of a schema with its references expanded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SchemaSize {
    pub(crate) parts: usize,
    /// The number of paths by which a value can return to the same schema. The work grows by this
    /// factor with every nesting level of the value.
    pub(crate) ways: usize,
    /// Whether the schema refers back to a definition that is being expanded.
    returns: bool,
}

impl SchemaSize {
    fn add(&mut self, other: SchemaSize) {
        self.parts = self.parts.saturating_add(other.parts);
        self.ways = self.ways.max(other.ways);
        self.returns |= other.returns;
    }
}

const ONE_PART: SchemaSize = SchemaSize { parts: 1, ways: 0, returns: false };
const TOO_LARGE: SchemaSize = SchemaSize { parts: usize::MAX, ways: 1, returns: false };

pub(crate) fn size(schema: &Value, defs: &Definitions) -> SchemaSize {
    Unfolding { defs, sizes: HashMap::new(), open: Vec::new() }.size(schema, 0)
}

/// The nesting depth of a value, which is the exponent of `ways`.
pub(crate) fn depth(value: &Value) -> u32 {
    let mut deepest = 0;
    let mut open = vec![(value, 1)];
    while let Some((value, depth)) = open.pop() {
        deepest = deepest.max(depth);
        match value {
            Value::Array(items) => open.extend(items.iter().map(|item| (item, depth + 1))),
            Value::Object(map) => open.extend(map.values().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    deepest
}

struct Unfolding<'s> {
    defs: &'s Definitions,
    sizes: HashMap<String, SchemaSize>,
    /// The definitions that are being expanded.
    open: Vec<String>,
}

impl<'s> Unfolding<'s> {
    fn size(&mut self, schema: &'s Value, depth: usize) -> SchemaSize {
        if depth > limits::CHECKED_SCHEMA_DEPTH {
            return TOO_LARGE;
        }
        match schema {
            Value::Object(map) => self.map(map, depth),
            Value::Array(items) => self.sum(items.iter(), depth).0,
            _ => ONE_PART,
        }
    }

    fn map(&mut self, map: &'s Map<String, Value>, depth: usize) -> SchemaSize {
        let mut whole = ONE_PART;
        let mut returning = 0;
        for (key, value) in map {
            let (found, ways) = match (key.as_str(), value) {
                ("anyOf" | "oneOf" | "allOf", Value::Array(parts)) => self.sum(parts.iter(), depth),
                ("patternProperties" | "dependentSchemas", Value::Object(parts)) => {
                    self.sum(parts.values(), depth)
                }
                (key, value) => {
                    let found = match (key, value) {
                        ("$ref" | "$dynamicRef", Value::String(target)) => {
                            self.followed(target, depth)
                        }
                        ("properties", Value::Object(parts)) => self.sum(parts.values(), depth).0,
                        _ => self.size(value, depth + 1),
                    };
                    (found, usize::from(found.returns))
                }
            };
            whole.add(found);
            returning += ways;
        }
        whole.ways = whole.ways.max(returning);
        whole
    }

    /// The combined size of several subschemas, and how many of them are recursive.
    fn sum(&mut self, parts: impl Iterator<Item = &'s Value>, depth: usize) -> (SchemaSize, usize) {
        let mut whole = ONE_PART;
        let mut returning = 0;
        for part in parts {
            let found = self.size(part, depth + 1);
            whole.add(found);
            returning += usize::from(found.returns);
        }
        (whole, returning)
    }

    fn followed(&mut self, target: &str, depth: usize) -> SchemaSize {
        let Some(name) = definition_name(target) else { return ONE_PART };
        if self.open.contains(&name) {
            return SchemaSize { returns: true, ..ONE_PART };
        }
        if let Some(size) = self.sizes.get(&name) {
            return *size;
        }
        let Some(def) = self.defs.get(&name) else { return ONE_PART };
        self.open.push(name.clone());
        let size = self.size(def, depth + 1);
        self.open.pop();
        self.sizes.insert(name, size);
        size
    }
}

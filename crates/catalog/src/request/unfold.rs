//! How much work a schema of a document makes: compiling it and checking a value both follow its
//! references, and a hostile one doubles the work with every step.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::schema::{Defs, def_name};
use crate::limits;

/// How large a schema is with its references followed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Size {
    /// Its parts.
    pub(crate) parts: usize,
    /// Ways on which one place of a value comes back to the same schema: the work grows by this
    /// factor with every level of a value.
    pub(crate) ways: usize,
    /// It leads back to something that is being followed.
    returns: bool,
}

const TOO_LARGE: Size = Size { parts: usize::MAX, ways: 1, returns: false };

/// The size of a schema.
pub(crate) fn size(schema: &Value, defs: &Defs) -> Size {
    Unfolding { defs, sizes: HashMap::new(), open: Vec::new() }.size(schema, 0)
}

/// How deep a value is, and so how often `ways` multiply.
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
    defs: &'s Defs,
    sizes: HashMap<String, Size>,
    /// The definitions that are being followed.
    open: Vec<String>,
}

impl<'s> Unfolding<'s> {
    fn size(&mut self, schema: &'s Value, depth: usize) -> Size {
        if depth > limits::CHECKED_SCHEMA_DEPTH {
            return TOO_LARGE;
        }
        match schema {
            Value::Object(map) => self.map(map, depth),
            Value::Array(items) => self.sum(items.iter(), depth).0,
            _ => Size { parts: 1, ..Size::default() },
        }
    }

    fn map(&mut self, map: &'s Map<String, Value>, depth: usize) -> Size {
        let mut whole = Size { parts: 1, ..Size::default() };
        let mut returning = 0;
        for (key, value) in map {
            let (found, ways) = match (key.as_str(), value) {
                ("$ref" | "$dynamicRef", Value::String(target)) => {
                    let found = self.followed(target, depth);
                    (found, usize::from(found.returns))
                }
                ("anyOf" | "oneOf" | "allOf", Value::Array(parts)) => self.sum(parts.iter(), depth),
                ("patternProperties" | "dependentSchemas", Value::Object(parts)) => {
                    self.sum(parts.values(), depth)
                }
                ("properties", Value::Object(parts)) => {
                    let (found, _) = self.sum(parts.values(), depth);
                    (found, usize::from(found.returns))
                }
                (_, value) => {
                    let found = self.size(value, depth + 1);
                    (found, usize::from(found.returns))
                }
            };
            whole.parts = whole.parts.saturating_add(found.parts);
            whole.ways = whole.ways.max(found.ways);
            whole.returns |= found.returns;
            returning += ways;
        }
        whole.ways = whole.ways.max(returning);
        whole
    }

    /// Parts one after the other, and how many of them lead back.
    fn sum(&mut self, parts: impl Iterator<Item = &'s Value>, depth: usize) -> (Size, usize) {
        let mut whole = Size { parts: 1, ..Size::default() };
        let mut returning = 0;
        for part in parts {
            let found = self.size(part, depth + 1);
            whole.parts = whole.parts.saturating_add(found.parts);
            whole.ways = whole.ways.max(found.ways);
            whole.returns |= found.returns;
            returning += usize::from(found.returns);
        }
        (whole, returning)
    }

    fn followed(&mut self, target: &str, depth: usize) -> Size {
        let one = Size { parts: 1, ..Size::default() };
        let Some(name) = def_name(target) else { return one };
        if self.open.contains(&name) {
            return Size { returns: true, ..one };
        }
        if let Some(size) = self.sizes.get(&name) {
            return *size;
        }
        let Some(def) = self.defs.get(&name) else { return one };
        self.open.push(name.clone());
        let size = self.size(def, depth + 1);
        self.open.pop();
        self.sizes.insert(name, size);
        size
    }
}

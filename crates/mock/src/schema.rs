//! A command's schemas, compiled for generating and validating values.

use std::collections::BTreeMap;
use std::sync::Arc;

use jsonschema::Validator;
use milepost_catalog::schema::{Definitions, Direction, compile, one_way, reachable};
use serde_json::{Map, Value, json};

use crate::limits;

/// A schema for generating and validating values.
#[derive(Debug)]
pub(crate) struct CompiledSchema {
    pub(crate) value: Value,
    /// The definitions that the schema refers to.
    pub(crate) defs: Definitions,
    /// `None` if the schema does not compile.
    pub(crate) validator: Option<Validator>,
}

impl CompiledSchema {
    pub(crate) fn new(
        value: &Value,
        mut defs: Definitions,
        direction: Direction,
    ) -> CompiledSchema {
        let mut value = value.clone();
        let all = defs.clone();
        one_way(&mut value, &all, direction);
        defs.values_mut().for_each(|definition| one_way(definition, &all, direction));
        let validator = validator(&value, &defs).or_else(|| {
            // One bad pattern must not leave a whole response unvalidated.
            drop_bad_patterns(&mut value);
            defs.values_mut().for_each(drop_bad_patterns);
            validator(&value, &defs)
        });
        CompiledSchema { value, defs, validator }
    }

    /// Whether a value is valid; always true if the schema does not compile.
    pub(crate) fn fits(&self, value: &Value) -> bool {
        self.validator.as_ref().is_none_or(|validator| validator.is_valid(value))
    }

    /// The faults in a value, as JSON pointers and messages.
    pub(crate) fn faults(&self, value: &Value) -> Vec<(String, String)> {
        let Some(validator) = &self.validator else { return Vec::new() };
        let errors = validator.iter_errors(value).take(limits::FAULTS);
        errors.map(|error| (error.instance_path().to_string(), error.to_string())).collect()
    }
}

fn validator(schema: &Value, defs: &Definitions) -> Option<Validator> {
    let mut root = Map::from_iter([("allOf".to_owned(), json!([schema]))]);
    if !defs.is_empty() {
        root.insert("$defs".to_owned(), Value::Object(defs.clone()));
    }
    compile(&Value::Object(root)).ok()
}

fn drop_bad_patterns(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let bad = |pattern: &Value| {
                pattern.as_str().is_none_or(|text| fancy_regex::Regex::new(text).is_err())
            };
            if map.get("pattern").is_some_and(bad) {
                map.shift_remove("pattern");
            }
            map.values_mut().for_each(drop_bad_patterns);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_bad_patterns),
        _ => {}
    }
}

/// Identifies one of a command's schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SchemaSlot {
    Parameter(usize),
    Body(usize),
    /// The indexes of the response and of its content.
    Response(usize, usize),
}

/// Compiled schemas, by operation.
#[derive(Debug, Default)]
pub(crate) struct SchemaCache {
    schemas: BTreeMap<(usize, SchemaSlot), Arc<CompiledSchema>>,
    /// The total size of the cached schemas as JSON.
    bytes: usize,
}

impl SchemaCache {
    /// A compiled schema for a route's command.
    pub(crate) fn get(
        &mut self,
        route: usize,
        slot: SchemaSlot,
        value: &Value,
        defs: &Definitions,
    ) -> Arc<CompiledSchema> {
        if let Some(schema) = self.schemas.get(&(route, slot)) {
            return Arc::clone(schema);
        }
        let direction = match slot {
            SchemaSlot::Response(..) => Direction::Response,
            SchemaSlot::Parameter(_) | SchemaSlot::Body(_) => Direction::Request,
        };
        let names = reachable(value, defs);
        let reached = defs.iter().filter(|(name, _)| names.contains(*name));
        let reached: Definitions = reached.map(|(name, def)| (name.clone(), def.clone())).collect();
        let bytes = json!([value, reached]).to_string().len();
        let is_full = self.bytes + bytes > limits::SCHEMA_BYTES;
        if is_full || self.schemas.len() >= limits::SCHEMAS {
            *self = SchemaCache::default();
        }
        let schema = Arc::new(CompiledSchema::new(value, reached, direction));
        self.bytes += bytes;
        self.schemas.insert((route, slot), Arc::clone(&schema));
        schema
    }
}

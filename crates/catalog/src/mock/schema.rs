//! A schema of a command made ready: for answers without what is write-only, for requests without
//! asking for what is read-only, and compiled.

use std::borrow::Cow;
use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use serde_json::{Map, Value, json};

use super::shape::resolve;
use crate::limits;

/// Which way a value travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    Request,
    Answer,
}

/// A schema that values are made from and checked against.
#[derive(Debug)]
pub(super) struct Schema {
    /// The schema.
    pub(super) value: Value,
    /// What it refers to.
    pub(super) defs: Arc<Map<String, Value>>,
    /// Nothing when the schema is none.
    pub(super) validator: Option<Validator>,
}

impl Schema {
    /// Makes a schema ready.
    pub(super) fn new(value: &Value, mut defs: Arc<Map<String, Value>>, way: Way) -> Schema {
        let word = match way {
            Way::Request => "readOnly",
            Way::Answer => "writeOnly",
        };
        let marked = mentions(value, word) || defs.values().any(|def| mentions(def, word));
        let mut value = value.clone();
        if marked {
            let from = Arc::clone(&defs);
            one_way(&mut value, &from, way);
            let own = Arc::make_mut(&mut defs);
            own.values_mut().for_each(|def| one_way(def, &from, way));
        }
        let validator = compile(&value, &defs).or_else(|| {
            // One bad pattern must not leave a whole answer unchecked.
            mend(&mut value);
            Arc::make_mut(&mut defs).values_mut().for_each(mend);
            compile(&value, &defs)
        });
        Schema { value, defs, validator }
    }

    /// Whether a value fits; true when nobody can say.
    pub(super) fn fits(&self, value: &Value) -> bool {
        self.validator.as_ref().is_none_or(|validator| validator.is_valid(value))
    }

    /// What is wrong with a value: places and words.
    pub(super) fn faults(&self, value: &Value) -> Vec<(String, String)> {
        let Some(validator) = &self.validator else { return Vec::new() };
        let errors = validator.iter_errors(value).take(limits::MOCK_FAULTS);
        errors.map(|error| (error.instance_path().to_string(), error.to_string())).collect()
    }
}

fn compile(schema: &Value, defs: &Map<String, Value>) -> Option<Validator> {
    let patterns = PatternOptions::fancy_regex()
        .backtrack_limit(limits::PATTERN_STEPS)
        .size_limit(limits::PATTERN_COMPILED_BYTES);
    let mut root = Map::new();
    root.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("allOf".into(), json!([schema]));
    if !defs.is_empty() {
        root.insert("$defs".into(), Value::Object(defs.clone()));
    }
    let options = jsonschema::options().should_validate_formats(true).offline();
    options.with_pattern_options(patterns).build(&Value::Object(root)).ok()
}

fn mentions(value: &Value, word: &str) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| {
            (key == word && value == &Value::Bool(true)) || mentions(value, word)
        }),
        Value::Array(items) => items.iter().any(|item| mentions(item, word)),
        _ => false,
    }
}

/// Takes what travels the other way out of a schema and all schemas inside.
fn one_way(schema: &mut Value, defs: &Map<String, Value>, way: Way) {
    match schema {
        Value::Object(map) => {
            let hidden = hidden(map, defs, way, 0);
            if let Some(Value::Array(required)) = map.get_mut("required") {
                required
                    .retain(|name| !name.as_str().is_some_and(|n| hidden.iter().any(|h| h == n)));
            }
            if let (Some(Value::Object(properties)), Way::Answer) = (map.get_mut("properties"), way)
            {
                for name in &hidden {
                    if let Some(property) = properties.get_mut(&**name) {
                        *property = Value::Bool(false);
                    }
                }
            }
            let data = ["enum", "const", "default", "example", "examples"];
            let inside = map.iter_mut().filter(|(key, _)| !data.contains(&key.as_str()));
            inside.for_each(|(_, value)| one_way(value, defs, way));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| one_way(item, defs, way)),
        _ => {}
    }
}

/// The properties of a schema and its parts that travel the other way only.
fn hidden<'s>(
    map: &Map<String, Value>,
    defs: &'s Map<String, Value>,
    way: Way,
    depth: usize,
) -> Vec<Cow<'s, str>> {
    let word = if way == Way::Request { "readOnly" } else { "writeOnly" };
    let mut names = Vec::new();
    if depth > 8 {
        return names;
    }
    let target = |schema: &Value| schema.get("$ref")?.as_str().and_then(|at| resolve(at, defs));
    for (name, property) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let says = |schema: &Value| schema.get(word) == Some(&Value::Bool(true));
        if says(property) || target(property).is_some_and(says) {
            names.push(Cow::Owned(name.clone()));
        }
    }
    let parts = map.get("allOf").and_then(Value::as_array).into_iter().flatten();
    let parts = parts.filter_map(|part| target(part).or(Some(part)).and_then(Value::as_object));
    parts.for_each(|part| names.extend(hidden(part, defs, way, depth + 1)));
    names
}

/// Takes keywords out that a compiler refuses: patterns that are none, references to nowhere.
fn mend(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            let bad = |pattern: &Value| {
                pattern.as_str().is_none_or(|text| fancy_regex::Regex::new(text).is_err())
            };
            if map.get("pattern").is_some_and(bad) {
                map.shift_remove("pattern");
            }
            let data = ["enum", "const", "default", "example", "examples"];
            let inside = map.iter_mut().filter(|(key, _)| !data.contains(&key.as_str()));
            inside.for_each(|(_, value)| mend(value));
        }
        Value::Array(items) => items.iter_mut().for_each(mend),
        _ => {}
    }
}

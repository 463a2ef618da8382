//! Schemas for one direction: a request may omit `readOnly` properties, and a response must not
//! contain `writeOnly` ones.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{DATA_KEYWORDS, Definitions, each_part_in};

/// The direction in which a value is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    Request,
    Response,
}

/// Removes properties that are only sent in the other direction from `required`, recursively. In a
/// response, they are also forbidden.
pub fn one_way(schema: &mut Value, defs: &Definitions, direction: Direction) {
    restrict(schema, &BTreeSet::new(), defs, direction);
}

/// `above` holds the hidden properties of the schema whose `allOf` contains this one.
fn restrict(
    schema: &mut Value,
    above: &BTreeSet<String>,
    defs: &Definitions,
    direction: Direction,
) {
    let none = BTreeSet::new();
    if let Value::Array(items) = schema {
        items.iter_mut().for_each(|item| restrict(item, &none, defs, direction));
    }
    let mut hidden = above.clone();
    hidden.extend(hidden_properties(schema, defs, direction));
    let Value::Object(map) = schema else { return };
    if let Some(Value::Array(required)) = map.get_mut("required") {
        required.retain(|name| name.as_str().is_none_or(|name| !hidden.contains(name)));
    }
    if direction == Direction::Response
        && let Some(Value::Object(properties)) = map.get_mut("properties")
    {
        let other_way = properties.iter_mut().filter(|(name, _)| hidden.contains(*name));
        other_way.for_each(|(_, property)| *property = Value::Bool(false));
    }
    for (keyword, value) in map {
        match value {
            Value::Array(parts) if keyword == "allOf" => {
                parts.iter_mut().for_each(|part| restrict(part, &hidden, defs, direction));
            }
            _ if DATA_KEYWORDS.contains(&keyword.as_str()) => {}
            value => restrict(value, &none, defs, direction),
        }
    }
}

/// The properties of a schema and its `allOf` that are only sent in the other direction.
fn hidden_properties(schema: &Value, defs: &Definitions, direction: Direction) -> Vec<String> {
    let keyword = match direction {
        Direction::Request => "readOnly",
        Direction::Response => "writeOnly",
    };
    let is_hidden = |property: &Value| {
        let says = |schema: &Value| schema.get(keyword) == Some(&Value::Bool(true));
        says(property) || says(super::resolve(property, defs))
    };
    let mut names = Vec::new();
    each_part_in(schema, defs, &["allOf"], &mut |part| {
        let properties = part.get("properties").and_then(Value::as_object).into_iter().flatten();
        let hidden = properties.filter(|(_, property)| is_hidden(property));
        names.extend(hidden.map(|(name, _)| name.clone()));
    });
    names
}

//! Replaces generated values with stored ones as far as the schema allows: members that the
//! validator rejects keep their generated values.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::limits;
use crate::schema::CompiledSchema;

/// The JSON pointer to an object in a response, and the members to put there.
pub(crate) type Layer<'f> = (String, &'f Map<String, Value>);

/// A response with layers applied; `None` if it stays invalid even after members are dropped.
pub(crate) fn overlay(
    schema: &CompiledSchema,
    base: &Value,
    layers: &[Layer<'_>],
) -> Option<Value> {
    let mut taken_back: BTreeSet<(usize, String)> = BTreeSet::new();
    for _ in 0..limits::OVERLAY_ROUNDS {
        let mut value = base.clone();
        for (index, (at, fields)) in layers.iter().enumerate() {
            let target = value.pointer_mut(at)?.as_object_mut()?;
            for (name, field) in *fields {
                if !taken_back.contains(&(index, name.clone())) {
                    target.insert(name.clone(), field.clone());
                }
            }
        }
        let faults = schema.faults(&value);
        if faults.is_empty() {
            return Some(value);
        }
        let before = taken_back.len();
        for (place, _) in faults {
            take_back(&place, base, layers, &mut taken_back);
        }
        if taken_back.len() == before {
            return None;
        }
    }
    None
}

/// Drops the member that contains a fault, or all new members if the object itself is at fault.
fn take_back(
    place: &str,
    base: &Value,
    layers: &[Layer<'_>],
    taken_back: &mut BTreeSet<(usize, String)>,
) {
    for (index, (at, fields)) in layers.iter().enumerate() {
        let Some(rest) = place.strip_prefix(at.as_str()) else { continue };
        if let Some(inside) = rest.strip_prefix('/') {
            let name = inside.split('/').next().unwrap_or_default();
            let name = name.replace("~1", "/").replace("~0", "~");
            taken_back.insert((index, name));
        } else if rest.is_empty() {
            let own = base.pointer(at).and_then(Value::as_object);
            let new = fields.keys().filter(|name| !own.is_some_and(|own| own.contains_key(*name)));
            let mut new: Vec<String> = new.cloned().collect();
            if new.iter().all(|name| taken_back.contains(&(index, name.clone()))) {
                new = fields.keys().cloned().collect();
            }
            taken_back.extend(new.into_iter().map(|name| (index, name)));
        }
    }
}

/// Merges a value into another: objects member by member, anything else by replacement.
pub(crate) fn merge(target: &mut Value, from: &Value) {
    match (target, from) {
        (Value::Object(target), Value::Object(from)) => {
            for (name, value) in from {
                merge(target.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (target, from) => *target = from.clone(),
    }
}

#[cfg(test)]
mod tests {
    use milepost_catalog::schema::{Definitions, Direction};
    use serde_json::json;

    use super::*;

    fn check(schema: &Value, fields: &Value, expected: &Value) {
        let schema = CompiledSchema::new(schema, Definitions::new(), Direction::Response);
        let layers = [("/data".into(), fields.as_object().expect("an object"))];
        let value = overlay(&schema, &json!({"data": {"id": 1, "size": "s"}}), &layers);
        assert_eq!(value.expect("fits")["data"], *expected);
    }

    #[test]
    fn members_that_do_not_fit_stay_as_they_were() {
        let size = json!({"type": "object", "properties": {"size": {"enum": ["s", "m"]}}});
        let open = json!({"properties": {"data": size}});
        check(
            &open,
            &json!({"id": 2, "size": "xxl", "new": 1}),
            &json!({"id": 2, "size": "s", "new": 1}),
        );
        let mut closed = open.clone();
        closed["properties"]["data"]["additionalProperties"] = json!(false);
        closed["properties"]["data"]["properties"]["id"] = json!({"type": "integer"});
        check(&closed, &json!({"id": 2, "new": 1}), &json!({"id": 2, "size": "s"}));
    }
}

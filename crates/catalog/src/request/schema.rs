//! What a schema says without compiling it: the types of a value, the properties of a body, and
//! which schemas it needs beside it.

use serde_json::{Map, Value};

use crate::limits;

/// The schemas that others refer to, by name.
pub(crate) type Defs = Map<String, Value>;

/// The name in a reference `#/$defs/<name>`.
pub(crate) fn def_name(reference: &str) -> Option<String> {
    let raw = reference.strip_prefix("#/$defs/")?.split('/').next()?;
    let decoded = percent_encoding::percent_decode_str(raw).decode_utf8().ok()?;
    Some(decoded.replace("~1", "/").replace("~0", "~"))
}

/// The schema a reference leads to, or the schema itself.
pub fn resolve<'s>(schema: &'s Value, defs: &'s Defs) -> &'s Value {
    let mut schema = schema;
    for _ in 0..limits::REF_HOPS {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return schema };
        // A reference into a definition is rare, and looked up by its whole pointer.
        let name = def_name(reference);
        let target = name.and_then(|name| {
            let rest = reference.strip_prefix("#/$defs/")?.split_once('/').map(|(_, rest)| rest);
            let def = defs.get(&name)?;
            rest.map_or(Some(def), |rest| def.pointer(&format!("/{rest}")))
        });
        match target {
            Some(target) => schema = target,
            None => return schema,
        }
    }
    schema
}

/// Visits a schema and those it is made of: references, `allOf`, `anyOf`, `oneOf`.
pub(crate) fn each_part<'s>(schema: &'s Value, defs: &'s Defs, visit: &mut dyn FnMut(&'s Value)) {
    let mut open = vec![(schema, 0)];
    let mut seen = 0;
    while let Some((schema, depth)) = open.pop() {
        seen += 1;
        if seen > limits::COMPOSED_PARTS || depth > limits::VALUE_DEPTH {
            return;
        }
        visit(schema);
        let target = resolve(schema, defs);
        if !std::ptr::eq(target, schema) {
            visit(target);
        }
        for keyword in ["oneOf", "anyOf", "allOf"] {
            let parts = target.get(keyword).and_then(Value::as_array);
            open.extend(parts.into_iter().flatten().rev().map(|part| (part, depth + 1)));
        }
    }
}

/// The schema of each property, in the order of the document; the first one of a name.
pub(crate) fn properties<'s>(schema: &'s Value, defs: &'s Defs) -> Vec<(&'s str, &'s Value)> {
    let mut found: Vec<(&str, &Value)> = Vec::new();
    each_part(schema, defs, &mut |part| {
        for (name, property) in
            part.get("properties").and_then(Value::as_object).into_iter().flatten()
        {
            if !found.iter().any(|(known, _)| known == name) {
                found.push((name, property));
            }
        }
    });
    found
}

/// The types a value can have; empty when any.
pub(crate) fn types<'s>(schema: &'s Value, defs: &'s Defs) -> Vec<&'s str> {
    let mut found = Vec::new();
    let mut add = |name: &'s str| {
        if !found.contains(&name) {
            found.push(name);
        }
    };
    each_part(schema, defs, &mut |part| {
        match part.get("type") {
            Some(Value::String(name)) => add(name),
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).for_each(&mut add),
            _ => {}
        }
        let listed = part.get("enum").and_then(Value::as_array).into_iter().flatten();
        listed.chain(part.get("const")).for_each(|value| add(type_of(value)));
    });
    found
}

/// The type of a value in the words of JSON Schema.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// What a value is, for a person: `integer`, `array of string`, `string: open or closed`.
pub(crate) fn describe(schema: &Value, defs: &Defs) -> String {
    let types = types(schema, defs);
    if let ["array"] = types.as_slice() {
        let items = resolve(schema, defs).get("items").map(|items| self::types(items, defs));
        let items = items.filter(|items| !items.is_empty());
        return items
            .map_or("array".to_owned(), |items| format!("array of {}", items.join(" or ")));
    }
    if types.is_empty() { "any value".to_owned() } else { types.join(" or ") }
}

/// A property of a body that goes as bytes rather than as text.
pub(crate) fn is_binary(schema: &Value, defs: &Defs) -> bool {
    let mut binary = false;
    each_part(schema, defs, &mut |part| {
        let format = part.get("format").and_then(Value::as_str);
        let media = part.get("contentMediaType").and_then(Value::as_str);
        let encoded = part.get("contentEncoding").is_some();
        let octets = media.is_some_and(|media| !media.starts_with("text/")) && !encoded;
        binary |= format == Some("binary") || octets;
    });
    binary
}

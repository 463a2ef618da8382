//! The published JSON Schemas, generated from the same declarations as the decoders.

use serde_json::{Map, Value, json};

use crate::decode::{Decode, Defs};
use crate::guide::GuideDoc;
use crate::manifest::ManifestDoc;
use crate::workflow::Spelling;

/// The JSON Schema (2020-12) of a workflow format, for editors and authors.
pub fn of(spelling: Spelling) -> Value {
    let mut defs = Defs::new();
    let (top, name, title) = match spelling {
        Spelling::Manifest => {
            (ManifestDoc::schema(&mut defs), "ManifestDoc", "Milepost workflow manifest")
        }
        Spelling::Guide => (GuideDoc::schema(&mut defs), "GuideDoc", "Milepost guide"),
    };
    debug_assert!(top.get("$ref").is_some());
    let mut schema = Map::new();
    schema.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".into(), title.into());
    if let Some(Value::Object(body)) = defs.remove(name) {
        schema.extend(body);
    }
    // A document may name its schema with `$schema` for editors, so the schema must allow that key.
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("$schema".into(), json!({"type": "string"}));
    }
    schema.insert("$defs".into(), defs.into_iter().map(|(k, v)| (k.to_owned(), v)).collect());
    Value::Object(schema)
}

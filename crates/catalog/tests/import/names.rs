//! Names are stable when a document is imported again, and when any single path disappears.

use std::collections::BTreeMap;
use std::fs;

use milepost_catalog::document::ParsedDocument;
use milepost_catalog::import::Inspection;
use milepost_catalog::naming::AssignedNames;
use milepost_catalog::openapi::Api;
use serde_json::{Value, json};

use crate::read::{api, corpus, rows};

fn kept(rows: &[milepost_catalog::table::Row]) -> AssignedNames {
    rows.iter().map(|row| (row.key(), row.name.clone())).collect()
}

#[test]
fn importing_again_changes_no_name() {
    for path in corpus("openapi") {
        let api = api(&fs::read(&path).expect("a file"));
        let first = rows(&api);
        let again = Inspection::of(&api).into_rows(&kept(&first));
        assert_eq!(first, again, "{}", path.display());
        assert_eq!(first, rows(&api), "{}: the same without the record", path.display());
    }
}

#[test]
fn a_path_less_changes_no_other_name() {
    for path in corpus("openapi") {
        let bytes = fs::read(&path).expect("a file");
        let reading = ParsedDocument::read(&bytes).expect("a document");
        let value = reading.document.root().to_value();
        let whole = rows(&api(&bytes));
        let names = kept(&whole);
        let Some(paths) = value["paths"].as_object() else { continue };
        // Tries every path of a small document, and a sample of a large one.
        let step = paths.len().div_ceil(if bytes.len() > 500_000 { 2 } else { 8 }).max(1);
        for gone in paths.keys().step_by(step) {
            let mut less = skeleton(&value);
            less["paths"].as_object_mut().expect("paths").shift_remove(gone);
            let api = api(less.to_string().as_bytes());
            let left = Inspection::of(&api).into_rows(&names);
            let expected: BTreeMap<String, String> = names
                .iter()
                .filter(|(key, _)| key.split_once(' ').is_some_and(|(_, path)| path != gone))
                .map(|(key, name)| (key.clone(), name.clone()))
                .collect();
            assert_eq!(kept(&left), expected, "{}: without {gone}", path.display());
            // When the path comes back, its commands get their old names.
            let api = Api::new(ParsedDocument::read(&bytes).expect("a document")).expect("an API");
            assert_eq!(kept(&Inspection::of(&api).into_rows(&names)), names);
        }
    }
}

#[test]
fn a_list_behind_a_format_is_a_list() {
    let wrapped = |name: &str| {
        let schema = json!({"type": "object", "properties": {
            name: {"type": "array", "items": {"type": "object"}}, "page": {"type": "integer"}}});
        json!({"get": {"responses": {"200": {"description": "", "content": {
            "application/json": {"schema": schema}}}}}})
    };
    let document = json!({"openapi": "3.0.3", "info": {"title": "t", "version": "1"}, "paths": {
        "/Calls.json": wrapped("calls"),
        "/Calls/{Sid}.json": wrapped("notes"),
        "/queues.v2": wrapped("queues"),
    }});
    let rows = rows(&api(document.to_string().as_bytes()));
    let names: Vec<&str> = rows.iter().map(|row| &*row.name).collect();
    assert_eq!(names, ["calls:list", "calls:get", "queues-v2:get"]);
}

/// The document without the parts that names do not depend on, which makes many copies cheap.
fn skeleton(value: &Value) -> Value {
    let mut less = value.clone();
    if let Some(map) = less.as_object_mut() {
        map.shift_remove("components");
        map.shift_remove("definitions");
    }
    less
}

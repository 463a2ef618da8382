//! Every operation of every real document becomes a command or a warning.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;

use milepost_catalog::document::ParsedDocument;
use milepost_catalog::excerpt::Places;
use milepost_catalog::import::Inspection;
use milepost_catalog::naming::{AssignedNames, is_name};
use milepost_catalog::openapi::Api;
use milepost_model::target::CommandId;

use crate::read::{api, corpus, name};

const METHODS: &[&str] =
    &["get", "put", "post", "delete", "options", "head", "patch", "trace", "query"];

/// Counts operations independently of our code, except for the YAML parser.
fn count(bytes: &[u8]) -> usize {
    let value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        Err(_) => ParsedDocument::read(bytes).expect("YAML").document.root().to_value(),
    };
    let value: serde_json::Value = value;
    let Some(paths) = value["paths"].as_object() else { return 0 };
    let items = paths.iter().filter(|(path, _)| !path.starts_with("x-"));
    let items = items.filter_map(|(_, item)| item.as_object());
    items.map(|item| item.keys().filter(|key| METHODS.contains(&key.as_str())).count()).sum()
}

#[test]
fn nothing_is_dropped_without_a_word() {
    for path in corpus("openapi") {
        let bytes = fs::read(&path).expect("a file");
        let api = api(&bytes);
        let inspection = Inspection::of(&api);
        let expected = count(&bytes);
        assert_eq!(inspection.operation_count, expected, "{}", path.display());
        let dropped = inspection
            .warnings
            .iter()
            .filter(|warning| warning.message.contains("operation must be a map"))
            .count();
        assert_eq!(inspection.command_count() + dropped, expected, "{}", path.display());
        assert_eq!(inspection.violations, [], "{}", path.display());
        let rows = inspection.into_rows(&AssignedNames::new());
        let names: BTreeSet<&str> = rows.iter().map(|row| &*row.name).collect();
        assert_eq!(names.len(), rows.len(), "{}: names are unique", path.display());
        for row in &rows {
            assert!(is_name(&row.name), "{}: {}", path.display(), row.name);
        }
    }
}

#[test]
fn every_command_can_be_made_whole() {
    for path in corpus("openapi") {
        let api = api(&fs::read(&path).expect("a file"));
        let rows = Inspection::of(&api).into_rows(&AssignedNames::new());
        // Checks every command of a small document, and a sample of a large one.
        for row in rows.iter().step_by(rows.len().div_ceil(40).max(1)) {
            let id = CommandId::parse(&format!("api {}", row.name)).expect("an id");
            let command = api.command(id, row);
            let command = command.unwrap_or_else(|| panic!("{}: {}", name(&path), row.name));
            assert_eq!(command.parameters.len(), row.parameters.len(), "{}", row.name);
            assert_eq!(command.body.is_some(), row.body.is_some(), "{}", row.name);
            references_are_kept(&command);
        }
    }
}

/// The excerpt that is read from a large document for one command yields the same command as the
/// whole document.
#[test]
fn a_command_is_the_same_from_an_excerpt() {
    let mut compared = 0;
    for path in corpus("openapi") {
        let whole = api(&fs::read(&path).expect("a file"));
        let Some(places) = Places::of(whole.document()) else { continue };
        let text = whole.document().text();
        let read = |range: Range<u64>| {
            let range = usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?;
            text.get(range).map(str::to_owned)
        };
        let rows = Inspection::of(&whole).into_rows(&AssignedNames::new());
        for row in rows.iter().step_by(rows.len().div_ceil(20).max(1)) {
            let (item, _) = row.pointer.rsplit_once('/').expect("a pointer");
            let Some(excerpt) = places.excerpt(Some(item), read) else { continue };
            let part = api(excerpt.as_bytes());
            let id = || CommandId::parse(&format!("api {}", row.name)).expect("an id");
            assert_eq!(part.command(id(), row), whole.command(id(), row), "{}", row.name);
            assert_eq!(part.schemes(), whole.schemes(), "{}", name(&path));
            assert_eq!(part.servers(), whole.servers(), "{}", name(&path));
            compared += 1;
        }
    }
    assert!(compared > 100 || corpus("openapi").is_empty(), "only {compared} were compared");
}

/// Asserts that every reference of a command leads to a schema stored with it.
fn references_are_kept(command: &milepost_catalog::command::ApiCommand) {
    let mut open: Vec<&serde_json::Value> = command.defs.values().collect();
    open.extend(command.parameters.iter().map(|parameter| &parameter.schema));
    let contents = command.responses.iter().flat_map(|response| &response.contents);
    let contents = contents.chain(command.body.iter().flat_map(|body| &body.contents));
    open.extend(contents.map(|content| &content.schema));
    while let Some(value) = open.pop() {
        match value {
            serde_json::Value::Array(items) => open.extend(items),
            serde_json::Value::Object(map) => {
                if let Some(serde_json::Value::String(reference)) = map.get("$ref") {
                    let name = reference.strip_prefix("#/$defs/");
                    let known = name.is_some_and(|name| command.defs.contains_key(name));
                    assert!(known, "{}: {reference}", command.id);
                }
                let schemas = map.iter().filter(|(key, _)| {
                    !matches!(key.as_str(), "enum" | "const" | "default" | "examples")
                });
                open.extend(schemas.map(|(_, value)| value));
            }
            _ => {}
        }
    }
}

#[test]
fn documents_say_no_version_or_another() {
    let cases = [
        ("{\"a\": 1}", "this is not an OpenAPI document"),
        ("{\"swaggerVersion\": \"1.2\"}", "OpenAPI 1.2 is not supported"),
        ("{\"openapi\": \"4.0.0\"}", "OpenAPI 4.0.0 is not supported"),
    ];
    for (text, expected) in cases {
        let reading = ParsedDocument::read(text.as_bytes()).expect("JSON");
        let error = Api::new(reading).expect_err("no API");
        assert!(error.to_string().starts_with(expected), "{error}");
    }
}

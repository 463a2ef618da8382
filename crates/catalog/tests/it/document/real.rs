//! Documents of real services and of attackers.

use std::collections::BTreeMap;
use std::fs;

use milepost_catalog::document::{ParsedDocument, Unreadable};
use milepost_syntax::json::document::JsonNode;
use serde_json::Value;

use crate::corpus;

const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

fn operations(reading: &ParsedDocument) -> usize {
    let paths = reading.document.root().get("paths");
    let items = paths.into_iter().flat_map(JsonNode::entries);
    let methods = items.flat_map(|(_, item)| item.entries());
    methods.filter(|(method, _)| METHODS.contains(&method.as_ref())).count()
}

#[test]
fn every_real_document_is_read_whole() {
    let Some(folder) = corpus::folder("openapi") else { return };
    let manifest = fs::read_to_string(folder.join("manifest.csv")).expect("reads");
    let counts: BTreeMap<&str, usize> = manifest
        .lines()
        .skip(1)
        .map(|row| {
            let file = row.split(',').next().expect("has a file");
            let count = row.rsplit(',').next().expect("has a count");
            (file, count.parse().expect("is a number"))
        })
        .collect();
    let documents = corpus::documents("openapi");
    assert_eq!(documents.len(), counts.len());
    for (file, bytes) in documents {
        let reading =
            ParsedDocument::read(&bytes).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert_eq!(operations(&reading), counts[file.as_str()], "{file}");
        assert_eq!(reading.notes, [], "{file}");
        // JSON can be compared with serde directly; YAML is compared through the JSON it was
        // converted to.
        let text = if file.ends_with("json") { &bytes } else { reading.document.text().as_bytes() };
        let expected: Value = serde_json::from_slice(text).expect("is JSON");
        assert_eq!(reading.document.root().to_value(), expected, "{file}");
    }
}

/// The result of reading a hostile document: empty, the rules of its notes, or the error.
fn verdict(read: &Result<ParsedDocument, Unreadable>) -> String {
    match read {
        Ok(reading) => {
            let rules = reading.notes.iter().map(|note| format!("{} {}", note.rule, note.pointer));
            rules.collect::<Vec<_>>().join(", ")
        }
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn hostile_documents_are_refused_or_noted() {
    let expected = BTreeMap::from([
        ("01-empty.yaml", "Empty"),
        ("02-whitespace.json", "Empty"),
        ("15-billion-laughs.yaml", "TooManyAliases { line: 7, limit: 65536 }"),
        ("18-duplicate-keys.yaml", "duplicate-key /paths/~1a"),
        ("19-duplicate-keys.json", "duplicate-key /paths/~1a"),
        ("30-html-login-page.json", "Html"),
        ("33-invalid-utf8.yaml", "NotUtf8 { byte: 30 }"),
        ("35-yaml-multi-document.yaml", "SeveralDocuments { line: 4 }"),
    ]);
    for (file, bytes) in corpus::documents("hostile-openapi") {
        let verdict = verdict(&ParsedDocument::read(&bytes));
        match file.as_str() {
            "03-truncated.json" => {
                assert!(verdict.starts_with("Syntax { line: 1, column: 77, "), "{verdict}");
            }
            "21-deep-nesting-100k.yaml" | "22-deep-nesting-schema-5k.json" => {
                assert!(verdict.starts_with("TooDeep"), "{file}: {verdict}");
            }
            "25-huge-numbers.json" => {
                let notes = ["maximum", "minimum", "default"];
                let schema = "/paths/~1a/get/parameters/0/schema";
                let notes = notes.map(|key| format!("number {schema}/{key}"));
                assert_eq!(verdict, notes.join(", "));
            }
            file => assert_eq!(verdict, *expected.get(file).unwrap_or(&""), "{file}"),
        }
    }
}

#[test]
fn a_merge_key_of_the_corpus_is_applied() {
    for (file, bytes) in corpus::documents("hostile-openapi") {
        if file == "34-yaml-merge-keys-anchors.yaml" {
            let reading = ParsedDocument::read(&bytes).expect("is read");
            let operation = reading.document.pointer("/paths/~1a/get").expect("is there");
            let text = r#"{"operationId":"a","responses":{"200":{"description":"ok"}}}"#;
            assert_eq!(operation.raw(), text);
        }
    }
}

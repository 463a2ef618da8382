//! Properties of every document: nothing is lost, and nothing panics.

use milepost_catalog::document::ParsedDocument;
use milepost_syntax::json::document::{JsonDocument, JsonNode};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value};

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[\"\\\\\\n\\t\u{0}-\u{1f} a-z~/%😀]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::from),
            map(inner, 8).prop_map(Value::Object),
        ]
    })
}

fn map(
    value: impl Strategy<Value = Value>,
    size: usize,
) -> impl Strategy<Value = Map<String, Value>> {
    btree_map("[a-z\"\\\\/~é]{0,4}", value, 0..size).prop_map(|map| map.into_iter().collect())
}

fn document() -> impl Strategy<Value = Value> {
    map(value(), 24).prop_map(Value::Object)
}

/// Visits every node of a document by order, by key, and by pointer.
fn walk(document: &JsonDocument, node: JsonNode<'_>, pointer: &str) {
    assert!(document.pointer(pointer) == Some(node), "{pointer}");
    assert_eq!(node.len(), node.entries().count() + node.items().count());
    for (key, child) in node.entries() {
        assert!(node.get(&key) == Some(child), "{key}");
        let token = key.replace('~', "~0").replace('/', "~1");
        walk(document, child, &format!("{pointer}/{token}"));
    }
    for (at, child) in node.items().enumerate() {
        walk(document, child, &format!("{pointer}/{at}"));
    }
    let _ = (node.to_value(), node.scalar(), node.bool(), node.raw());
}

fn read_and_walk(bytes: &[u8]) {
    if let Ok(reading) = ParsedDocument::read(bytes) {
        walk(&reading.document, reading.document.root(), "");
    }
}

type Change = (prop::sample::Index, u8, u8);

fn changes(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Change>> {
    vec(any::<Change>(), count)
}

/// A document with some of its bytes replaced, removed or duplicated.
fn mutated(text: &str, changes: &[Change]) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for (index, kind, byte) in changes {
        let at = index.index(bytes.len());
        match kind % 4 {
            0 => bytes[at] = *byte,
            1 => bytes.insert(at, b"{}[]\"\\,:*&<-\n 0e.u!#|>'?"[*byte as usize % 24]),
            2 if bytes.len() > 1 => drop(bytes.remove(at)),
            _ => {
                let part = bytes[at..bytes.len().min(at + 20)].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
    bytes
}

const YAML: &str = "openapi: 3.0.3\ninfo: &i {title: \"t\\u00e9\", version: '1'}\nx: &a\n  \
    - &b 1.5\n  - [*b, ~, {k: v}]\npaths:\n  /a:\n    get:\n      <<: [*i, {q: 1}]\n      \
    d: |\n        text\n        more\n      200: !!str 5\n  ? [x]\n  : *a\n";

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_is_what_it_was(value in document(), pretty: bool) {
        let text = match pretty {
            true => serde_json::to_string_pretty(&value).expect("is written"),
            false => value.to_string(),
        };
        let reading = ParsedDocument::read(text.as_bytes()).expect("is read");
        prop_assert_eq!(reading.document.root().to_value(), value);
        prop_assert!(reading.notes.is_empty());
        walk(&reading.document, reading.document.root(), "");
    }

    /// JSON is valid YAML: after a document marker, the YAML parser must produce the same value.
    #[test]
    fn json_is_the_same_as_yaml(value in document()) {
        let text = format!("---\n{value}\n");
        let reading = ParsedDocument::read(text.as_bytes()).expect("is read");
        if !text.contains(|sign: char| sign != '\n' && sign.is_control()) {
            prop_assert_eq!(reading.document.root().to_value(), value);
        }
    }

    /// The reader accepts and refuses the same JSON as serde.
    #[test]
    fn what_is_json_is_what_serde_says(value in document(), changes in changes(1..4)) {
        let bytes = mutated(&value.to_string(), &changes);
        if bytes.starts_with(b"{\"") && let Ok(text) = std::str::from_utf8(&bytes) {
            match (ParsedDocument::read(&bytes), serde_json::from_str::<Value>(text)) {
                (Ok(reading), Ok(value)) => {
                    prop_assert_eq!(reading.document.root().to_value(), value);
                }
                (Ok(reading), Err(error)) => {
                    // serde refuses numbers out of range and lone surrogates.
                    prop_assert!(!reading.notes.is_empty(), "{text}: {error}");
                }
                (Err(error), serde) => prop_assert!(serde.is_err(), "{text}: {error}"),
            }
        }
    }

    #[test]
    fn bytes_never_panic(bytes in vec(any::<u8>(), 0..200)) {
        read_and_walk(&bytes);
    }

    #[test]
    fn signs_never_panic(text in "[{}\\[\\]\",:\\\\*&<\\-\n 0e.u!#|>'?a-c]{0,80}") {
        read_and_walk(text.as_bytes());
    }

    #[test]
    fn changed_yaml_never_panics(changes in changes(0..8)) {
        read_and_walk(&mutated(YAML, &changes));
    }
}

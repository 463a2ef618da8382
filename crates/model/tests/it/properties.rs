//! Properties of every input: no panics, positions within the text, and one meaning for a tree
//! however it is written.

use std::fmt::Write;

use milepost_model::document::Document;
use milepost_syntax::source::Format;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value};

use crate::{read, read_as};

/// Fragments of documents, valid and invalid.
const PIECES: &[&str] = &[
    "workflow: a\n",
    "id: abc\n",
    "name: n\n",
    "description: d\n",
    "steps:\n",
    "  - id: a\n",
    "    prompt: p\n",
    "    run: shop get\n",
    "    if: ",
    "inputs: {x: {type: string}}\n",
    "${{",
    "}}",
    " inputs.x ",
    " steps.a.output ",
    "steps['a']",
    "{{ x }}",
    "{",
    "}",
    "[",
    "]",
    ":",
    ": ",
    ",",
    "- ",
    "-",
    "\n",
    "  ",
    "    ",
    "\t",
    "\"",
    "'",
    "\\",
    "\\u",
    "\\ud800",
    "&a ",
    "*a",
    "!t ",
    "<<: ",
    "|\n",
    ">-\n",
    "# c\n",
    "---\n",
    "...\n",
    "? ",
    "%YAML 1.2\n",
    "null",
    "true",
    "1",
    "-1.5e3",
    "1e999",
    "0x1f",
    ".nan",
    "010",
    "é",
    "😀",
    "\u{feff}",
    "\u{202e}",
    "\u{1b}",
    "\0",
    "\r\n",
    "\r",
    "\u{85}",
    "\u{2028}",
    "== ",
    "&&",
    "(",
    ")",
    "?.",
    "size(",
    "secret('x')",
    "\"workflow\":\"a\",",
    "\"steps\":",
    "{\"id\":\"a\",\"prompt\":\"p\"}",
    "depends_on: [a]\n",
    "final_output: ",
    "type: loop\n",
    "runCondition: {var: x}\n",
    "matches: '(a'\n",
];

/// Asserts what must be true of every result.
fn sound(document: &Document) {
    let Some(source) = &document.source else {
        assert_eq!(document.violations.len(), 1);
        return;
    };
    let text = source.text();
    for violation in &document.violations {
        let (start, end) = (violation.at.start as usize, violation.at.end as usize);
        assert!(start <= end && end <= text.len(), "{violation:?} in {text:?}");
        assert!(text.is_char_boundary(start) && text.is_char_boundary(end), "{violation:?}");
        let lines = text.split('\n').count();
        assert!((1..=lines).contains(&(violation.line as usize)), "{violation:?}");
        let line = text.split('\n').nth(violation.line as usize - 1).unwrap_or("");
        let column = violation.column as usize;
        assert!((1..=line.chars().count() + 1).contains(&column), "{violation:?} in {line:?}");
        assert!(!violation.message.is_empty());
        assert!(violation.suggestion.is_some(), "{violation:?} in {text:?}");
        for edit in violation.fix.iter().flat_map(|fix| &fix.edits) {
            let range = edit.at.start as usize..edit.at.end as usize;
            assert!(text.get(range).is_some(), "{edit:?} in {text:?}");
        }
    }
    assert_eq!(document.is_valid(), document.workflow.is_some());
    if let Some(fixed) = document.fixed() {
        read_as(fixed, source.format());
    }
}

/// Removes characters that YAML allows only as escapes.
fn printable(text: &str) -> String {
    let odd =
        |c: char| matches!(c, '\0' | '\u{7f}'..='\u{9f}' | '\u{fffe}'..='\u{ffff}' | '\u{feff}');
    text.chars().filter(|c| !odd(*c)).collect()
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e300..1e300f64).prop_map(Value::from),
        select(vec![
            "",
            "~",
            "yes",
            "010",
            "0x1f",
            "1e3",
            ".inf",
            "- a",
            "a: b",
            "#",
            "*a",
            "null",
            "<<",
            "é\u{1b}\n"
        ])
        .prop_map(Value::from),
        any::<String>().prop_map(|text| Value::from(printable(&text))),
        vec(select(PIECES), 0..4).prop_map(|parts| Value::from(printable(&parts.concat()))),
    ]
}

fn tree() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 5, |inner| {
        let key = "[a-z_<~ :#-]{0,6}|[\u{a0}-\u{d7ff}]{1,3}";
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((key, inner), 0..5).prop_map(|pairs| {
                Value::Object(pairs.into_iter().collect::<Map<String, Value>>())
            }),
        ]
    })
}

/// Renders a value in block style with every string in double quotes: YAML that is not JSON.
fn block(value: &Value, indent: usize, text: &mut String) {
    let margin = " ".repeat(indent);
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                write!(text, "\n{margin}{}:", Value::from(key.as_str())).expect("writes");
                block(value, indent + 2, text);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                write!(text, "\n{margin}-").expect("writes");
                block(item, indent + 2, text);
            }
        }
        other => write!(text, " {other}").expect("writes"),
    }
}

/// Sized so that the five properties have more than ten thousand cases in total.
fn config() -> ProptestConfig {
    ProptestConfig { cases: 2_100, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn arbitrary_bytes(bytes in vec(any::<u8>(), 0..200)) {
        sound(&read(&bytes));
        sound(&read_as(&bytes, Format::Json));
    }

    #[test]
    fn arbitrary_pieces(pieces in vec(select(PIECES), 0..24)) {
        let text = pieces.concat();
        sound(&read(&text));
        sound(&read_as(&text, Format::Json));
        sound(&read_as(&text, Format::Yaml));
    }

    #[test]
    fn arbitrary_pieces_after_a_sound_start(pieces in vec(select(PIECES), 0..12)) {
        let text = format!("workflow: a\nsteps:\n  - id: a\n    prompt: {}", pieces.concat());
        sound(&read(&text));
        let steps = "steps: [{id: a, title: t, prompt: p}]";
        let head = format!("id: abc\nname: n\ndescription: d\n{steps}\n");
        let text = head + &pieces.concat();
        sound(&read(&text));
    }

    #[test]
    fn a_tree_means_the_same_in_every_spelling(value in tree()) {
        let compact = value.to_string();
        let pretty = format!("{value:#}");
        let mut yaml = "---".to_owned();
        block(&value, 0, &mut yaml);
        for (text, format) in [
            (&compact, Format::Json),
            (&pretty, Format::Json),
            (&compact, Format::Yaml),
            (&yaml, Format::Yaml),
        ] {
            let document = read_as(text, format);
            sound(&document);
            let expected: Value = serde_json::from_str(&compact).expect("is what was printed");
            prop_assert_eq!(document.parsed(), Some(expected), "{:?} {}", format, text);
        }
    }

    #[test]
    fn a_tree_under_any_key_of_a_workflow(value in tree(), key in select(vec![
        "workflow", "title", "steps", "inputs", "requires", "concurrency", "timeout",
        "final_output",
        "id", "name", "description", "version", "metaGuidance", "functionDefinitions", "budget",
    ])) {
        let mut document = serde_json::json!({
            "workflow": "a", "steps": [{"id": "a", "prompt": "p"}],
        });
        document[key] = value.clone();
        sound(&read(document.to_string()));
        let mut guide = serde_json::json!({
            "id": "abc", "name": "n", "description": "d",
            "steps": [{"id": "a", "title": "t", "prompt": "p"}],
        });
        guide[key] = value.clone();
        sound(&read(guide.to_string()));
        let step = serde_json::json!({"id": "a", "title": "t", "prompt": "p", key: value});
        guide["steps"] = serde_json::json!([step]);
        sound(&read(guide.to_string()));
    }
}

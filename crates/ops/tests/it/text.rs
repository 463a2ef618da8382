//! Arguments as text and as values come to the same.

use std::sync::LazyLock;

use milepost_ops::{Alone, OPERATIONS, Operation, Operations, Problem, Response, Strict};
use proptest::prelude::*;
use serde_json::json;

use crate::over;

static OVER: LazyLock<(tempfile::TempDir, Operations)> = LazyLock::new(|| {
    let step = |id: &str| json!({"id": id, "title": "A", "prompt": "{{n}} {{m + 1}}"});
    let looped = json!({
        "id": "round", "title": "L", "type": "loop",
        "loop": {"type": "for", "count": 2, "maxIterations": 3}, "body": [step("inner")],
    });
    let guide = json!({
        "id": "one", "name": "One", "description": "d", "version": "1.0.0",
        "steps": [step("first"), looped, step("last.one")],
    });
    over(&[("one.json", &guide.to_string())])
});

fn operation(name: &str) -> &'static Operation {
    OPERATIONS.iter().find(|operation| operation.name == name).expect("is there")
}

type Told = Result<String, String>;

fn told(answer: Result<Response, Problem>) -> Told {
    answer.map(|answer| answer.json().to_owned()).map_err(|problem| format!("{problem:?}"))
}

fn by_text(operation: &Operation, text: &str) -> Option<Told> {
    OVER.1.call_text(operation, &Alone, text).map(told)
}

/// By values; none when the text has a key twice, which the doors refuse.
fn by_value(operation: &Operation, text: &str) -> Option<Told> {
    let Strict(value) = serde_json::from_str(text).ok()?;
    Some(told(OVER.1.call(operation.name, &Alone, value)))
}

#[test]
fn what_plainly_fits_is_read_from_the_text() {
    for (name, text) in [
        ("guide.list", "{}"),
        ("guide.get", r#"{"id":"one","mode":"metadata"}"#),
        ("guide.get", r#"{"id":"one"}"#),
        ("guide.next", r#"{"workflowId":"one","completedSteps":[]}"#),
        ("guide.next", r#"{"workflowId":"one","completedSteps":["first"],"currentStep":null}"#),
        ("guide.next", r#"{"completedSteps":["round@0::inner"],"workflowId":"one"}"#),
        ("guide.next", r#"{"workflowId":"one","completedSteps":[],"context":{"n":[1.5,"ä"]}}"#),
        ("guide.next", r#"{"workflowId":"none","completedSteps":["first"]}"#),
        ("guide.validate", r#"{"workflowId":"one","stepId":"first","output":"\u00e4"}"#),
        ("guide.validate_json", r#"{"workflowJson":"{}"}"#),
    ] {
        let operation = operation(name);
        let read = by_text(operation, text);
        assert!(read.is_some(), "{text}");
        assert_eq!(read, by_value(operation, text), "{text}");
    }
}

#[test]
fn what_does_not_is_left_to_the_schema() {
    for (name, text) in [
        ("guide.get", r#"["one","preview"]"#),
        ("guide.get", r#"{"id":"one","id":"one"}"#),
        ("guide.get", r#"{"id":"../one"}"#),
        ("guide.next", r#"{"workflowId":"one","completedSteps":["a..b"]}"#),
        ("guide.next", r#"{"workflowId":"one","completedSteps":[],"context":{"a":1,"a":2}}"#),
        ("guide.next", r#"{"workflowId":"one","completedSteps":[],"context":[]}"#),
        ("guide.validate", r#"{"workflowId":"one","stepId":"first","output":""}"#),
    ] {
        assert_eq!(by_text(operation(name), text), None, "{text}");
    }
}

fn key() -> impl Strategy<Value = String> {
    let names = [
        "workflowId",
        "completedSteps",
        "currentStep",
        "context",
        "stepId",
        "output",
        "id",
        "mode",
        "workflowJson",
        "workflow\\u0049d",
        "extra",
    ];
    prop::sample::select(names.to_vec()).prop_map(str::to_owned)
}

fn name() -> impl Strategy<Value = String> {
    let names = [
        "one",
        "first",
        "last.one",
        "round@0::inner",
        "round",
        "inner",
        "on",
        "",
        "a.b.c",
        "a..b",
        ".ab",
        "One",
        "x/y",
        "../one",
        "preview",
        "metadata",
        "none",
        "ab\\n",
        "\\u0000",
        "ä",
        "{}",
    ];
    prop_oneof![
        9 => prop::sample::select(names.to_vec()).prop_map(str::to_owned),
        1 => "[a-zA-Z0-9_.:@-]{0,70}",
    ]
}

/// The text of a value, now and then with a key twice.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        6 => name().prop_map(|name| format!("\"{name}\"")),
        1 => prop::sample::select(vec!["null", "true", "7", "-1.5e3", "[]", "{}"])
            .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        let pair = (prop::sample::select(vec!["n", "m", "k"]), inner.clone())
            .prop_map(|(key, value)| format!("\"{key}\":{value}"));
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(|all| format!("[{}]", all.join(","))),
            prop::collection::vec(pair, 0..3).prop_map(|all| format!("{{{}}}", all.join(", "))),
        ]
    })
}

/// Arguments of which most fit.
fn arguments() -> impl Strategy<Value = String> {
    let pair = (key(), value()).prop_map(|(key, value)| format!("\"{key}\":{value}"));
    let begun = prop::sample::select(vec![
        "",
        r#""id":"one""#,
        r#""workflowId":"one","completedSteps":["first"]"#,
        r#""workflowId":"one","completedSteps":[]"#,
        r#""workflowId":"one","stepId":"first""#,
        r#""workflowId":"one""#,
    ]);
    (begun, prop::collection::vec(pair, 0..3)).prop_map(|(begun, mut pairs)| {
        pairs.extend((!begun.is_empty()).then(|| begun.to_owned()));
        format!("{{{}}}", pairs.join(","))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn text_and_values_come_to_the_same(text in arguments()) {
        for operation in OPERATIONS {
            if let Some(read) = by_text(operation, &text) {
                let valued = by_value(operation, &text);
                prop_assert_eq!(Some(read), valued, "{}: {}", operation.name, text);
            }
        }
    }
}

//! Validating values against their inputs: every constraint applies, all are reported at once, and
//! nothing is converted.

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_model::document::Document;
use milepost_model::input::{Input, TextFormat};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The input described by some YAML.
fn input(keys: &str) -> Input {
    let text = format!("workflow: x\ninputs: {{a: {{{keys}}}}}\nsteps: [{{id: s, prompt: Do}}]\n");
    let world = World { commands: &NoCommands, env_allow: None };
    let document = Document::read(text.as_bytes(), None, world);
    let workflow = document.workflow.unwrap_or_else(|| panic!("{:?}", document.violations));
    workflow.inputs.get("a").expect("the input").clone()
}

/// The pointer and rule of every violation in a value.
fn told(keys: &str, value: &Value) -> Vec<String> {
    let objections = input(keys).judge("a", value);
    objections.iter().map(|one| format!("{} {}", one.pointer, one.rule.name())).collect()
}

#[track_caller]
fn check(keys: &str, good: &[Value], bad: &[(Value, &[&str])]) {
    for value in good {
        assert_eq!(told(keys, value), Vec::<String>::new(), "{keys}: {value}");
    }
    for (value, expected) in bad {
        assert_eq!(told(keys, value), *expected, "{keys}: {value}");
    }
}

#[test]
fn a_type_takes_its_values_and_converts_none() {
    let wrong: &[&str] = &[" type"];
    check("", &[json!("x"), json!("")], &[(json!(1), wrong), (json!(null), wrong)]);
    check("type: string", &[json!("1")], &[(json!(true), wrong), (json!(["x"]), wrong)]);
    check("type: number", &[json!(1), json!(1.5)], &[(json!("1"), wrong)]);
    check("type: integer", &[json!(1), json!(-7)], &[(json!(1.5), wrong), (json!("1"), wrong)]);
    check("type: boolean", &[json!(true)], &[(json!("true"), wrong), (json!(1), wrong)]);
    check("type: array", &[json!([]), json!([1, "x"])], &[(json!("[]"), wrong)]);
    check("type: object", &[json!({})], &[(json!([]), wrong)]);
}

#[test]
fn every_rule_acts() {
    check("enum: [a, b]", &[json!("a")], &[(json!("c"), &[" choice"])]);
    check("validate: {enum: [a, b]}", &[json!("b")], &[(json!("c"), &[" choice"])]);
    check(
        "enum: [a, b], validate: {enum: [b, c]}",
        &[json!("b")],
        &[(json!("a"), &[" choice"]), (json!("d"), &[" choice", " choice"])],
    );
    check("validate: {pattern: '^[0-9]+$'}", &[json!("42")], &[(json!("x"), &[" pattern"])]);
    check(
        "validate: {min_length: 2, max_length: 3}",
        &[json!("äö"), json!("abc")],
        &[(json!("a"), &[" range"]), (json!("abcd"), &[" range"])],
    );
    check(
        "type: integer, validate: {minimum: 1, maximum: 3}",
        &[json!(1), json!(3)],
        &[(json!(0), &[" range"]), (json!(4), &[" range"])],
    );
    check(
        "type: array, validate: {min_items: 1, max_items: 2}",
        &[json!([1])],
        &[(json!([]), &[" range"]), (json!([1, 2, 3]), &[" range"])],
    );
}

#[test]
fn every_broken_rule_is_told_at_once() {
    let keys = "enum: [abc], validate: {pattern: '^a', min_length: 3, format: email}";
    check(keys, &[], &[(json!("x"), &[" range", " pattern", " format", " choice"])]);
}

#[test]
fn all_formats_are_looked_at() {
    for (format, good, bad) in [
        ("email", "ada@example.org", "ada at example"),
        ("url", "https://example.org/x?y=1", "example.org/x"),
        ("uri", "https://example.org", "//example.org"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456"),
        ("date", "2024-02-29", "2023-02-29"),
        ("date-time", "2026-07-28T09:00:00Z", "2026-07-28 09:00"),
    ] {
        let keys = format!("validate: {{format: {format}}}");
        check(&keys, &[json!(good)], &[(json!(bad), &[" format"])]);
    }
    assert!(!TextFormat::Email.accepts(""));
}

#[test]
fn several_values_are_judged_one_by_one() {
    let keys = "mode: multiple, enum: [a, b], validate: {max_items: 2}";
    check(
        keys,
        &[json!([]), json!(["a", "b"])],
        &[
            (json!("a"), &[" type"]),
            (json!(["a", 1]), &["/1 type"]),
            (json!(["a", "c"]), &["/1 choice"]),
            (json!(["a", "b", "c"]), &[" range", "/2 choice"]),
        ],
    );
    check("type: array, mode: multiple", &[json!([["x"], 1])], &[(json!("x"), &[" type"])]);
    let many: Vec<Value> = vec![json!(1); 10_000];
    assert_eq!(told(keys, &Value::Array(many)).len(), 20);
}

#[test]
fn an_objection_says_what_to_do_and_never_quotes_a_secret() {
    let objections = input("enum: [open, paid]").judge("a", &json!("pad"));
    let [one] = objections.as_slice() else { panic!("{objections:?}") };
    assert_eq!(one.message, "input `a` is not one of the choices");
    assert_eq!((one.expected.as_str(), one.actual.as_str()), ("`open` or `paid`", "\"pad\""));
    assert_eq!(one.suggestion, "did you mean `paid`?");
    let secret = "secret: true, enum: [canary-1], validate: {pattern: '^x', format: uuid}";
    for value in [json!("canary-2"), json!(["canary-2"]), json!({"canary-2": 1})] {
        let told = format!("{:?}", input(secret).judge("a", &value));
        assert!(!told.contains("canary-2"), "{told}");
    }
}

#[test]
fn text_becomes_what_the_type_says_or_nothing() {
    for (keys, text, expected) in [
        ("", "42", Some(json!("42"))),
        ("", " x ", Some(json!(" x "))),
        ("type: integer", "42", Some(json!(42))),
        ("type: integer", "4.2", None),
        ("type: number", "4.2", Some(json!(4.2))),
        ("type: boolean", "true", Some(json!(true))),
        ("type: boolean", "yes", None),
        ("type: array", "[1, 2]", Some(json!([1, 2]))),
        ("type: array", "1", None),
        ("type: object", r#"{"a": 1}"#, Some(json!({"a": 1}))),
        ("mode: multiple", "a", Some(json!(["a"]))),
        ("mode: multiple", r#"["a", "b"]"#, Some(json!(["a", "b"]))),
        ("type: integer, mode: multiple", "7", Some(json!([7]))),
        ("type: integer, mode: multiple", "x", None),
    ] {
        assert_eq!(input(keys).from_text(text).ok(), expected, "{keys}: {text}");
    }
}

#[test]
fn values_are_joined_where_the_author_says_so() {
    let items = json!(["a", 2, true]);
    for (join, expected) in [
        ("join: {}", json!("a,2,true")),
        ("join: {separator: ' | '}", json!("a | 2 | true")),
        ("join: {separator: ', ', wrap_each: '\"'}", json!(r#""a", "2", "true""#)),
    ] {
        let keys = format!("mode: multiple, {join}");
        assert_eq!(input(&keys).joined(items.clone()), expected, "{join}");
    }
    assert_eq!(input("mode: multiple").joined(items.clone()), items);
    assert_eq!(input("mode: multiple, join: {}").joined(json!([])), json!(""));
}

proptest! {
    #[test]
    fn what_was_joined_can_be_taken_apart(items in prop::collection::vec("[a-z0-9 ]{0,8}", 1..6)) {
        let input = input("mode: multiple, join: {separator: ';', wrap_each: \"'\"}");
        let joined = input.joined(json!(items));
        let text = joined.as_str().expect("a text");
        let parts = text.split(';').map(|part| part.strip_prefix('\'')?.strip_suffix('\''));
        let parts: Option<Vec<&str>> = parts.collect();
        prop_assert_eq!(parts.expect("each is wrapped"), items);
    }

    #[test]
    fn text_that_is_taken_is_of_the_type(
        text in "[0-9a-z.\\[\\]{}\", -]{0,12}",
        kind in 0..6usize,
    ) {
        let kinds = ["string", "number", "integer", "boolean", "array", "object"];
        let input = input(&format!("type: {}", kinds[kind]));
        if let Ok(value) = input.from_text(&text) {
            prop_assert!(input.judge("a", &value).is_empty());
        }
    }
}

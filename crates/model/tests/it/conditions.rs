//! Condition objects: a total function that tolerates sloppy values, and the partial result while
//! variables are missing.

use milepost_model::condition::{Condition, Truth, equal};
use milepost_model::step::When;
use serde_json::{Value, json};

use crate::{guide, read};

/// Parses the condition as part of a guide's step.
fn condition(condition: &Value) -> Condition {
    let step = json!({"id": "a", "title": "t", "prompt": "p", "runCondition": condition});
    let document = read(guide(&step.to_string()));
    let workflow = document.workflow.unwrap_or_else(|| {
        unreachable!("{condition} is refused: {:?}", document.violations);
    });
    match workflow.steps[0].when.clone() {
        Some(When::Condition(condition)) => condition,
        other => unreachable!("{other:?}"),
    }
}

/// Evaluates a condition in a context: `decide` is three-valued, `holds` is not, and where `decide`
/// has a result, `holds` agrees.
fn check(text: &Value, context: &Value, expected: &str) {
    let condition = condition(text);
    let decided = match condition.decide(context) {
        Truth::Holds => "true",
        Truth::Fails => "false",
        Truth::Undecided(_) => "open",
    };
    assert_eq!(decided, expected, "{text} under {context}");
    if decided != "open" {
        assert_eq!(condition.holds(context).to_string(), expected, "{text} under {context}");
    }
}

fn holds(text: &Value, context: &Value) -> bool {
    condition(text).holds(context)
}

#[test]
fn truthiness() {
    let only = json!({"var": "x"});
    for (value, expected) in [
        (json!(null), "false"),
        (json!(false), "false"),
        (json!(0), "false"),
        (json!(0.0), "false"),
        (json!(-0.0), "false"),
        (json!(""), "false"),
        (json!(true), "true"),
        (json!(1), "true"),
        (json!(-1), "true"),
        (json!(0.1), "true"),
        (json!(" "), "true"),
        (json!("0"), "true"),
        (json!("false"), "true"),
        (json!([]), "true"),
        (json!({}), "true"),
    ] {
        check(&only, &json!({"x": value}), expected);
    }
    check(&only, &json!({}), "open");
    assert!(!holds(&only, &json!({})));
}

#[test]
fn nothing_is_always_true() {
    for empty in
        [json!({}), json!({"and": [{}]}), json!({"and": [{"and": []}]}), json!({"or": [{}]})]
    {
        check(&empty, &json!({}), "true");
    }
    check(&json!({"not": {}}), &json!({}), "false");
    check(&json!({"or": []}), &json!({}), "false");
    check(&json!({"and": []}), &json!({}), "true");
}

#[test]
fn operators() {
    let cases = [
        (json!({"equals": "large"}), json!("large"), true),
        (json!({"equals": "large"}), json!(" LARGE "), true),
        (json!({"equals": "large"}), json!("larger"), false),
        (json!({"equals": 0.9}), json!("0.9"), true),
        (json!({"equals": "0.9"}), json!(0.9), true),
        (json!({"equals": 1}), json!(1.0), true),
        (json!({"equals": "1"}), json!("1.0"), false),
        (json!({"equals": true}), json!("true"), true),
        (json!({"equals": true}), json!("Yes"), true),
        (json!({"equals": false}), json!("no"), true),
        (json!({"equals": true}), json!("on"), false),
        (json!({"equals": "yes"}), json!(true), true),
        (json!({"equals": true}), json!(1), false),
        (json!({"equals": null}), json!(null), true),
        (json!({"equals": null}), json!(""), false),
        (json!({"equals": [1, "A"]}), json!(["1", "a"]), true),
        (json!({"equals": [1]}), json!([1, 2]), false),
        (json!({"equals": {"a": 1}}), json!({"a": 1}), true),
        (json!({"equals": "STRASSE"}), json!("strasse"), true),
        (json!({"equals": "É"}), json!("é"), true),
        (json!({"not_equals": "large"}), json!("small"), true),
        (json!({"notEquals": "large"}), json!("Large"), false),
        (json!({"gt": 3}), json!(4), true),
        (json!({"gt": 3}), json!(3), false),
        (json!({"gt": 3}), json!("4"), true),
        (json!({"gt": "3"}), json!(" 4 "), true),
        (json!({"gt": 3}), json!("four"), false),
        (json!({"gt": 3}), json!(true), false),
        (json!({"gt": 3}), json!(null), false),
        (json!({"gte": 3}), json!(3), true),
        (json!({"lt": 3}), json!(2.9), true),
        (json!({"lt": 3}), json!("nan"), false),
        (json!({"lt": 3}), json!("-inf"), false),
        (json!({"lte": 3}), json!(3.0), true),
        (json!({"in": ["a", 1]}), json!("A"), true),
        (json!({"in": ["a", 1]}), json!("1"), true),
        (json!({"in": ["a", 1]}), json!("b"), false),
        (json!({"in": []}), json!("b"), false),
        (json!({"contains": "ell"}), json!("HELLO"), true),
        (json!({"contains": "x"}), json!(["X ", "y"]), true),
        (json!({"contains": 1}), json!(["1"]), true),
        (json!({"contains": "k"}), json!({"k": 0}), true),
        (json!({"contains": "1"}), json!(1), false),
        (json!({"starts_with": "he"}), json!("Hello"), true),
        (json!({"startsWith": "lo"}), json!("Hello"), false),
        (json!({"ends_with": "LO"}), json!("hello "), true),
        (json!({"endsWith": "he"}), json!("hello"), false),
        (json!({"starts_with": "1"}), json!(12), false),
        (json!({"matches": "^h.*o$"}), json!("hello"), true),
        (json!({"matches": "^h.*o$"}), json!("Hello"), false),
        (json!({"matches": "1"}), json!(1), false),
        (json!({"gt": 1, "lt": 5}), json!(3), true),
        (json!({"gt": 1, "lt": 5}), json!(5), false),
    ];
    for (mut operator, value, expected) in cases {
        operator["var"] = "x".into();
        check(&operator, &json!({"x": value}), &expected.to_string());
    }
}

#[test]
fn a_missing_variable_is_null_and_nothing_else() {
    let cases = [
        (json!({"equals": null}), true),
        (json!({"equals": false}), false),
        (json!({"equals": ""}), false),
        (json!({"not_equals": "x"}), true),
        (json!({"not_equals": null}), false),
        (json!({"gt": 0}), false),
        (json!({"lt": 0}), false),
        (json!({"in": [null]}), false),
        (json!({"contains": "x"}), false),
        (json!({"starts_with": ""}), false),
        (json!({"matches": ".*"}), false),
    ];
    for (mut operator, expected) in cases {
        operator["var"] = "x".into();
        assert_eq!(holds(&operator, &json!({})), expected, "{operator}");
        check(&operator, &json!({}), "open");
    }
}

#[test]
fn paths_reach_inside() {
    let context = json!({"a": {"b": [{"c": 1}], "d.e": 2}, "a.b": "whole", "n": null});
    let is = |path: &str, value: Value| json!({"var": path, "equals": value});
    check(&is("a.b.0.c", json!(1)), &context, "true");
    check(&is("a.b", json!("whole")), &context, "true");
    check(&is("a.b.1.c", json!(1)), &context, "open");
    check(&is("a.b.x", json!(1)), &context, "open");
    check(&is("n", json!(null)), &context, "true");
    check(&is("n.x", json!(1)), &context, "open");
    check(&is("a.b.-1", json!(1)), &context, "open");
}

#[test]
fn three_values() {
    let (x, y) = (json!({"var": "x"}), json!({"var": "y"}));
    let cases = [
        (json!({"and": [x, y]}), json!({"x": true}), "open"),
        (json!({"and": [x, y]}), json!({"x": false}), "false"),
        (json!({"and": [x, y]}), json!({"y": null}), "false"),
        (json!({"and": [x, y]}), json!({"x": 1, "y": 1}), "true"),
        (json!({"or": [x, y]}), json!({"x": true}), "true"),
        (json!({"or": [x, y]}), json!({"x": false}), "open"),
        (json!({"or": [x, y]}), json!({"x": false, "y": false}), "false"),
        (json!({"not": x}), json!({}), "open"),
        (json!({"not": x}), json!({"x": false}), "true"),
        (json!({"not": {"and": [x, y]}}), json!({"x": false}), "true"),
        (json!({"not": {"or": [x, y]}}), json!({"y": 1}), "false"),
        (json!({"not": {"not": x}}), json!({"x": 1}), "true"),
        (json!({"or": [{"and": [x, y]}, {"not": x}]}), json!({"x": false}), "true"),
        (json!({"or": [{"and": [x, y]}, {"not": x}]}), json!({"x": true}), "open"),
        (json!({"var": "x", "gt": 1, "or": [y]}), json!({"x": 0}), "false"),
        (json!({"var": "x", "gt": 1, "or": [y]}), json!({"x": 2}), "open"),
    ];
    for (text, context, expected) in cases {
        check(&text, &context, expected);
    }
}

#[test]
fn what_is_waited_for_is_named() {
    let text = json!({"and": [
        {"var": "size", "equals": "large"},
        {"var": "risk", "in": ["low", "high"]},
        {"var": "score", "gt": 3},
        {"var": "done"},
    ]});
    let Truth::Undecided(wanted) = condition(&text).decide(&json!({"done": true})) else {
        unreachable!("three are missing");
    };
    let wanted: Vec<(&str, Option<Vec<Value>>)> =
        wanted.iter().map(|one| (one.variable.as_str(), one.expected.clone())).collect();
    let expected = [
        ("size", Some(vec![json!("large")])),
        ("risk", Some(vec![json!("low"), json!("high")])),
        ("score", None),
    ];
    assert_eq!(wanted, expected);
    assert_eq!(condition(&text).variables(), ["size", "risk", "score", "done"]);
}

#[test]
fn values_that_would_keep_it_from_holding_are_not_offered() {
    let text = json!({"not": {"var": "size", "equals": "large"}});
    let Truth::Undecided(wanted) = condition(&text).decide(&json!({})) else {
        unreachable!("it is missing");
    };
    assert_eq!(wanted[0].expected, None);
    let text = json!({"or": [{"var": "size", "equals": "large"}, {"var": "x"}]});
    let Truth::Undecided(wanted) = condition(&text).decide(&json!({"x": false})) else {
        unreachable!("it is missing");
    };
    assert_eq!(wanted[0].expected, Some(vec![json!("large")]));
}

#[test]
fn equality_is_symmetric_and_its_negation_exact() {
    let values = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(0.9),
        json!("0.9"),
        json!("true"),
        json!("Yes"),
        json!("no"),
        json!(""),
        json!(" a "),
        json!("A"),
        json!([1]),
        json!(["1"]),
        json!({"a": 1}),
        json!({}),
    ];
    for one in &values {
        assert!(equal(one, one), "{one}");
        for other in &values {
            assert_eq!(equal(one, other), equal(other, one), "{one} {other}");
            let is = json!({"var": "x", "equals": other});
            let is_not = json!({"var": "x", "not_equals": other});
            let context = json!({"x": one});
            assert_ne!(holds(&is, &context), holds(&is_not, &context), "{one} {other}");
        }
    }
}

#[test]
fn what_is_no_condition_is_refused() {
    let cases = [
        (json!({"var": "x", "equal": 1}), "unknown operator `equal`"),
        (json!({"var": "x", "eq": 1}), "unknown operator `eq`"),
        (json!({"var": "x", "bogus_operator": 1}), "unknown operator `bogus_operator`"),
        (json!({"equals": 1}), "`equals` has nothing to compare: `var` is missing"),
        (json!({"var": ""}), "`var` is empty"),
        (json!({"var": "x", "gt": "many"}), "expected a number, found a string"),
        (json!({"var": "x", "in": {}}), "expected a list, found a map"),
        (json!({"var": "x", "matches": "(a"}), "the pattern does not compile: unclosed group"),
        (
            json!({"and": [[]]}),
            "expected a condition such as `{var: size, equals: large}`, found a list",
        ),
        (json!([]), "expected a condition such as `{var: size, equals: large}`, found a list"),
    ];
    for (condition, message) in cases {
        let step = json!({"id": "a", "title": "t", "prompt": "p", "runCondition": condition});
        let document = read(guide(&step.to_string()));
        let found: Vec<&str> =
            document.violations.iter().map(|violation| violation.message.as_str()).collect();
        assert_eq!(found, [message], "{condition}");
        assert!(document.violations[0].suggestion.is_some());
    }
}

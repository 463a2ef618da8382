//! Compares an answer with the one that a transcript expects.

use serde_json::Value;

/// Matches any text within a string.
const ANY: char = '…';
/// The last element of an array that may continue.
const MORE: &str = "…and more";

/// The parts of `expected` that `actual` lacks, each with its pointer. Objects may have additional
/// keys; arrays are compared element by element.
pub(crate) fn within(expected: &Value, actual: &Value) -> Vec<String> {
    let mut found = Vec::new();
    compare(expected, actual, "", &mut found);
    found
}

fn compare(expected: &Value, actual: &Value, at: &str, found: &mut Vec<String>) {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            for (key, expected) in expected {
                match actual.get(key) {
                    Some(actual) => compare(expected, actual, &format!("{at}/{key}"), found),
                    None => found.push(format!("{at}/{key}: is missing")),
                }
            }
        }
        (Value::Array(expected), Value::Array(actual)) => elements(expected, actual, at, found),
        (Value::String(expected), Value::String(actual)) if resembles(expected, actual) => {}
        (expected, actual) if expected == actual => {}
        (expected, actual) => found.push(format!("{at}: expected {expected}, found {actual}")),
    }
}

fn elements(expected: &[Value], actual: &[Value], at: &str, found: &mut Vec<String>) {
    let (expected, more) = match expected.split_last() {
        Some((last, rest)) if last == MORE => (rest, true),
        _ => (expected, false),
    };
    if actual.len() < expected.len() || !more && actual.len() > expected.len() {
        found.push(format!("{at}: {} elements expected, {} found", expected.len(), actual.len()));
    }
    for (index, (expected, actual)) in expected.iter().zip(actual).enumerate() {
        compare(expected, actual, &format!("{at}/{index}"), found);
    }
}

/// Whether a string matches a pattern in which `…` stands for any text.
fn resembles(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split(ANY);
    let first = parts.next().expect("a split has a first part");
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let Some(last) = parts.next_back() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some(start) = rest.find(part) else {
            return false;
        };
        rest = &rest[start + part.len()..];
    }
    rest.ends_with(last)
}

#[test]
fn texts_with_gaps() {
    for (pattern, text) in [
        ("", ""),
        ("a", "a"),
        ("…", ""),
        ("…", "a"),
        ("a…c", "abc"),
        ("a…c", "ac"),
        ("…b…", "abc"),
        ("a…b…c", "a b b c"),
    ] {
        assert!(resembles(pattern, text), "{pattern} is {text}");
    }
    for (pattern, text) in
        [("", "a"), ("a", "ab"), ("a…a", "a"), ("a…c", "acb"), ("…b…b…", "abc"), ("…c…b…", "abc")]
    {
        assert!(!resembles(pattern, text), "{pattern} is not {text}");
    }
}

#[test]
fn parts_of_values() {
    use serde_json::json;
    let actual = json!({"a": [1, {"b": null, "c": "text"}], "d": 1});
    for expected in [
        json!({}),
        json!({"d": 1}),
        json!({"a": [1, {}]}),
        json!({"a": ["…and more"]}),
        json!({"a": [1, {"b": null, "c": "t…"}, "…and more"]}),
    ] {
        assert_eq!(within(&expected, &actual), [""; 0], "{expected}");
    }
    for expected in [
        json!([]),
        json!({"d": 1.0}),
        json!({"d": "1"}),
        json!({"e": null}),
        json!({"a": [1]}),
        json!({"a": [1, {}, {}]}),
        json!({"a": [1, {}, {}, "…and more"]}),
        json!({"a": [1, {"c": null}]}),
    ] {
        assert_eq!(within(&expected, &actual).len(), 1, "{expected}");
    }
}

//! JSON: values, error positions, duplicate keys, and pointers.

use expect_test::expect;
use milepost_catalog::document::{ParsedDocument, Unreadable};
use milepost_catalog::limits;
use milepost_syntax::json::document::{JsonKind, JsonNode};
use serde_json::{Value, json};

use super::{check, read};

#[test]
fn values_are_what_they_were() {
    let text = r#" { "a" : [ 1 , -2.50e+3 , true , false , null , "x" , { } , [ ] ] , "b":{} }
"#;
    check(text, expect![[r#"{"a":[1,-2500.0,true,false,null,"x",{},[]],"b":{}}"#]]);
}

#[test]
fn escapes_are_decoded() {
    let text = r#"{"\u0061\n":"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00 é 😀"}"#;
    let expected: Value = serde_json::from_str(text).expect("is JSON");
    assert_eq!(read(text).document.root().to_value(), expected);
    assert!(read(text).notes.is_empty());
}

#[test]
fn half_a_character_is_noted_and_replaced() {
    check(
        r#"{"a":["\ud83d","\ude00x","\ud83d\ud83d\ude00","\ud83d\u0041"]}"#,
        expect![[r#"
        {"a":["�","�x","�😀","�A"]}
        1:8 /a/0 lone-surrogate: `\ud83d` is half of a surrogate pair and is read as `�`
        1:17 /a/1 lone-surrogate: `\ude00` is half of a surrogate pair and is read as `�`
        1:27 /a/2 lone-surrogate: `\ud83d` is half of a surrogate pair and is read as `�`
        1:48 /a/3 lone-surrogate: `\ud83d` is half of a surrogate pair and is read as `�`"#]],
    );
}

#[test]
fn numbers_beyond_64_bits_are_kept_and_noted() {
    let text = r#"{"c":18446744073709551616,
"d":-1e999,"e":123456789012345678901234567890}"#;
    check(
        text,
        expect![[r#"
            {"c":1.8446744073709552e+19,"d":"-1e999","e":1.2345678901234568e+29}
            1:6 /c number: `18446744073709551616` is rounded: it does not fit in 64 bits
            2:5 /d number: `-1e999` is out of range and kept as text
            2:16 /e number: `123456789012345678901234` is rounded: it does not fit in 64 bits"#]],
    );
    let reading = read(text);
    let written = reading.document.pointer("/e").expect("is there").scalar();
    assert_eq!(written.as_deref(), Some("123456789012345678901234567890"));
}

#[test]
fn of_a_repeated_key_the_last_counts() {
    check(
        r#"{"a":{"x":1},"b":2,"\u0061":3,"a":{"b~/":[0,{"c":1,"c":2}]}}"#,
        expect![[r#"
        {"b":2,"a":{"b~/":[0,{"c":2}]}}
        1:20 /a duplicate-key: duplicate key `a`; the last one wins
        1:31 /a duplicate-key: duplicate key `a`; the last one wins
        1:52 /a/b~0~1/1/c duplicate-key: duplicate key `c`; the last one wins"#]],
    );
    let reading = read(r#"{"a":1,"b":2,"a":3}"#);
    let root = reading.document.root();
    assert_eq!(root.len(), 2);
    assert_eq!(root.get("a").map(JsonNode::raw), Some("3"));
    assert_eq!(root.entries().map(|(key, _)| key.into_owned()).collect::<String>(), "ba");
}

#[test]
fn a_repeated_key_of_a_large_map_counts_like_one_of_a_small_map() {
    let entry = |at: usize| format!("\"k{}\":{at}", at % 40);
    let text = format!("{{{}}}", (0..43).map(entry).collect::<Vec<_>>().join(","));
    let reading = read(&text);
    let root = reading.document.root();
    assert_eq!(root.len(), 40);
    assert_eq!(root.to_value(), serde_json::from_str::<Value>(&text).expect("is JSON"));
    let notes = reading.notes.iter().map(|note| note.pointer.as_str());
    assert_eq!(notes.collect::<Vec<_>>(), ["/k0", "/k1", "/k2"]);
    for key in 0..40 {
        let value = root.get(&format!("k{key}")).expect("is there").to_value();
        assert_eq!(value, json!(if key < 3 { key + 40 } else { key }));
    }
    assert_eq!(root.get("k40"), None);
}

#[test]
fn notes_are_bounded_and_counted() {
    let text = format!("{{{}\"a\":0}}", "\"a\":0,".repeat(1_000));
    let reading = read(&text);
    assert_eq!(reading.notes.len(), milepost_syntax::limits::READ_WARNINGS + 1);
    let last = reading.notes.last().expect("is there");
    assert_eq!(last.message, "further notes not shown: 900");
}

#[test]
fn faults_have_their_place() {
    check("{\"a\": [1,\n  2", expect!["line 2, column 4: the text ends inside a list or a map"]);
    check("{\"a\":\n\"é\",,}", expect!["line 2, column 5: expected a key in double quotes"]);
    check("{\"a\":1,}", expect!["line 1, column 8: a comma after the last entry of a map"]);
    check("{\"a\":[1,]}", expect!["line 1, column 9: expected a value after `,` or `:`"]);
    check("{\"a\":01}", expect!["line 1, column 6: a number with a leading zero"]);
    check("{\"a\":1.}", expect!["line 1, column 8: expected a digit"]);
    check("{\"a\":tru}", expect!["line 1, column 6: expected a JSON value"]);
    check("{\"a\" 1}", expect!["line 1, column 6: expected `:` after a key"]);
    check("{\"a\":1 \"b\":2}", expect!["line 1, column 8: expected `,` or `}` after a value"]);
    check("{\"a\":[1}", expect!["line 1, column 8: expected `,` or `]` after a value"]);
    check(
        "{\"a\":\"x\ny\"}",
        expect!["line 1, column 8: a control character in a string; escape it"],
    );
    check("{\"a\":\"x\\y\"}", expect!["line 1, column 8: an invalid escape in a JSON string"]);
    check("{\"a\":\"\\u12g4\"}", expect!["line 1, column 7: `\\u` needs four hexadecimal digits"]);
    check("{\"a\":\"x", expect!["line 1, column 6: an unclosed string"]);
    check("{\"a\":", expect!["line 1, column 6: the text ends where a value is expected"]);
    check("{", expect!["line 1, column 2: the text ends where a key is expected"]);
    check("{} {}", expect!["line 1, column 4: text after the end of the JSON value"]);
}

#[test]
fn what_is_no_document_is_said() {
    check("", expect!["the document is empty; give an OpenAPI document in JSON or YAML"]);
    check(" \r\n\t", expect!["the document is empty; give an OpenAPI document in JSON or YAML"]);
    check("\u{FEFF}", expect!["the document is empty; give an OpenAPI document in JSON or YAML"]);
    check(
        "[{}]",
        expect!["the document is a list, not a map; an OpenAPI document starts with `openapi:`"],
    );
    check(
        b"{\"a\":\"\xE9\"}",
        expect!["the document is not valid UTF-8 at byte 6; save it as UTF-8"],
    );
    check(b"\xFF\xFE{\0}\0", expect!["the document is UTF-16; save it as UTF-8"]);
    check(b"\0{\0}", expect!["the document is UTF-16; save it as UTF-8"]);
    check(
        "<?xml version=\"1.0\"?>",
        expect!["the document is XML; give an OpenAPI document in JSON or YAML"],
    );
    for page in ["<!DOCTYPE html>", "\n <html lang=en>", "\u{FEFF}<HTML>", "<!-- x --><html>"] {
        assert_eq!(ParsedDocument::read(page.as_bytes()).unwrap_err(), Unreadable::Html, "{page}");
    }
    let large = vec![b' '; limits::DOCUMENT_BYTES + 1];
    check(large, expect!["the document is larger than 32 MiB; import a part of it"]);
}

#[test]
fn nesting_is_bounded() {
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    let deepest = read(&nested(limits::DEPTH - 1));
    assert_eq!(deepest.document.root().to_value().to_string(), nested(limits::DEPTH - 1));
    for depth in [limits::DEPTH, 100_000] {
        let error = ParsedDocument::read(nested(depth).as_bytes()).unwrap_err();
        assert_eq!(error, Unreadable::TooDeep { line: 1, column: limits::DEPTH as u32 + 5 });
    }
}

#[test]
fn pointers_lead_to_values() {
    let text = r#"{"paths":{"/a/{id}":{"x~y":[10,20]},"":1,"é":2,"50%":3,"a b":4}}"#;
    let reading = read(text);
    let raw = |pointer| reading.document.pointer(pointer).map(JsonNode::raw);
    assert_eq!(raw(""), Some(text));
    assert_eq!(raw("/paths/~1a~1{id}/x~0y/1"), Some("20"));
    assert_eq!(raw("/paths/"), Some("1"));
    for nothing in ["paths", "/path", "/paths/~1a~1{id}/x~0y/2", "/paths/~1a~1{id}/x~0y/01"] {
        assert_eq!(raw(nothing), None, "{nothing}");
    }
    assert_eq!(raw("/paths/~1a~1{id}/x~0y/+1"), None);
    let raw = |fragment| reading.document.fragment(fragment).map(JsonNode::raw);
    assert_eq!(raw("#"), Some(text));
    assert_eq!(raw("#/paths/~1a~1%7Bid%7D/x~0y/0"), Some("10"));
    assert_eq!(raw("#/paths/%2Fa%2F%7Bid%7D/x~0y/0"), Some("10"), "each part is encoded");
    assert_eq!(raw("#/paths/%C3%A9"), Some("2"));
    assert_eq!(raw("#/paths/50%"), Some("3"), "nothing is encoded");
    assert_eq!(raw("/paths/a%20b"), Some("4"));
}

#[test]
fn nodes_say_what_they_are() {
    let reading = read(r#"{"n":null,"b":true,"i":1.50,"t":"x","l":[1],"m":{}}"#);
    let root = reading.document.root();
    let of = |key: &str| root.get(key).expect("is there");
    let kinds: Vec<JsonKind> = root.entries().map(|(_, node)| node.kind()).collect();
    let all = [
        JsonKind::Null,
        JsonKind::Bool,
        JsonKind::Number,
        JsonKind::Text,
        JsonKind::List,
        JsonKind::Map,
    ];
    assert_eq!(kinds, all);
    let scalars: Vec<_> = root.entries().map(|(_, node)| node.scalar()).collect();
    let scalars: Vec<_> = scalars.iter().map(|scalar| scalar.as_deref()).collect();
    assert_eq!(scalars, [None, Some("true"), Some("1.50"), Some("x"), None, None]);
    assert_eq!((of("b").bool(), of("t").bool()), (Some(true), None));
    assert_eq!((of("t").text().as_deref(), of("i").text()), (Some("x"), None));
    assert!(of("n").is_null() && of("l").is_list() && of("m").is_map() && of("m").is_empty());
    assert_eq!(of("l").items().count(), 1);
    assert_eq!(of("m").items().count() + of("l").entries().count() + of("t").len(), 0);
    assert_eq!(of("t").get("x"), None);
    assert!(of("l") == of("l") && of("l") != of("m") && of("l").index() != of("m").index());
    let other = read(reading.document.text());
    assert!(other.document.root() != root, "equal, but of another document");
}

//! Things that no argument and no document may do: leave the base URL, add a header, or take
//! forever.

use std::time::{Duration, Instant};

use milepost_catalog::request::{Misuse, Request, RequestNote};

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use url::Url;

use crate::{cases, request, taking, with};

const BASES: &[&str] = &[
    "http://api.test",
    "http://api.test/",
    "https://api.test/v1",
    "https://api.test/v1/",
    "https://user@api.test:8443/a/b.c/",
    "http://[::1]:8080/x",
    "http://api.test/v1?key=1",
];

const PATHS: &[&str] = &[
    "/t/{a}",
    "/{a}",
    "{a}",
    "/{a}/{b}",
    "/{a}.{b}",
    "/{a}{b}",
    "/x{a}z/{b}/",
    "/{a}:verb",
    "/t/{a}/../{b}",
    "/./{a}",
    "/t/%2e%2e/{a}",
    "/t;{a}/{b}",
    "/t?x={a}#{b}",
    "//evil.test/{a}",
    "/\\evil.test/{a}",
    "/t/{a}/%2F..%2f{b}",
    "@evil.test/{a}",
    ":80/{a}",
];

/// Arbitrary text, and text that would escape the path if anything were wrong.
fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        ".",
        "..",
        "/",
        "\\",
        "%2e",
        "%2E%2e",
        "%2f",
        "%5c",
        "?",
        "#",
        "@",
        ":",
        ";",
        "//",
        "\t",
        "\r\n",
        "\0",
        " ",
        "http://evil.test",
        "a",
        "é",
        "%",
        "%25",
        "．",
        "\u{200b}",
        "[",
        "{b}",
    ]);
    prop_oneof![
        prop::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat()),
        any::<String>(),
    ]
}

fn hostile_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        hostile_text().prop_map(Value::from),
        prop::collection::vec(hostile_text(), 0..3).prop_map(Value::from),
        prop::collection::btree_map(hostile_text(), hostile_text(), 0..3)
            .prop_map(|map| json!(map)),
        Just(Value::Null),
    ]
}

/// Whether a segment, as servers interpret it (decoded and without parameters), changes the
/// directory.
fn leads_elsewhere(segment: &str) -> bool {
    let decoded = percent_encoding::percent_decode_str(segment).decode_utf8_lossy();
    matches!(decoded.split(';').next(), Some("." | ".."))
}

fn assert_under(request: &Request, base: &Url, path: &str) {
    let url = &request.url;
    let text = url.as_str();
    assert_eq!(url.origin(), base.origin(), "{text}");
    assert_eq!(url.username(), base.username(), "{text}");
    assert!(url.fragment().is_none(), "{text}");
    let prefix = format!("{}/", base.path().trim_end_matches('/'));
    assert!(url.path().starts_with(&prefix), "{text} is not under {base}");
    let rest = &url.path()[prefix.len()..];
    assert!(!rest.split('/').any(leads_elsewhere), "{text}");
    // No value adds or removes a segment.
    let template = path.split(['?', '#']).next().unwrap_or_default();
    let segments = template.trim_start_matches('/').matches('/').count();
    let doubled = usize::from(template.starts_with("//"));
    assert_eq!(rest.matches('/').count(), segments + doubled, "{text} of {path}");
    assert_eq!(Url::parse(text).as_ref(), Ok(url), "{text} is read as it is written");
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(3_000))]

    #[test]
    fn no_value_leaves_the_base_url(
        base in prop::sample::select(BASES),
        path in prop::sample::select(PATHS),
        style in prop::sample::select(vec!["simple", "label", "matrix"]),
        explode in any::<bool>(),
        reserved in any::<bool>(),
        a in hostile_value(),
        b in hostile_value(),
    ) {
        let base = Url::parse(base).unwrap();
        let parameter = |name: &str| json!({
            "name": name, "in": "path", "style": style, "explode": explode,
            "allowReserved": reserved,
        });
        let operation = json!({"path": path, "parameters": [parameter("a"), parameter("b")]});
        let command = cases::command(&operation);
        let mut given = Map::new();
        for (name, value) in [("a", a), ("b", b)] {
            if path.contains(&format!("{{{name}}}")) && !path.contains(&format!("#{{{name}}}")) {
                given.insert(name.to_owned(), value);
            }
        }
        match cases::build(&command, &base, &with(&Value::Object(given))) {
            Ok(request) => assert_under(&request, &base, path),
            Err(misuses) => {
                for misuse in misuses {
                    let refused = matches!(misuse, Misuse::Unsendable { .. } | Misuse::Path { .. });
                    prop_assert!(refused, "{misuse:?}");
                }
            }
        }
    }

}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn no_value_adds_a_header_or_a_cookie(value in hostile_text(), style in 0..3_usize) {
        let parameter = [
            json!({"name": "X-A", "in": "header"}),
            json!({"name": "X-A", "in": "cookie"}),
            json!({"name": "X-A", "in": "cookie", "style": "cookie"}),
        ][style].clone();
        if let Ok(request) = request(&taking(&json!([parameter])), &with(&json!({"X-A": value}))) {
            prop_assert_eq!(request.headers.len(), 2);
            for (_, value) in &request.headers {
                prop_assert!(!value.chars().any(|c| c.is_control() && c != '\t'), "{value:?}");
            }
            prop_assert!(style == 0 || !request.headers[1].1.contains(';'));
        }
    }

    #[test]
    fn no_value_adds_a_query_parameter(value in hostile_text(), name in hostile_text()) {
        let operation = taking(&json!([{"name": name, "in": "query"}]));
        let request = request(&operation, &with(&json!({name.as_str(): value}))).unwrap();
        let read: Vec<_> = request.url.query_pairs().into_owned().collect();
        prop_assert_eq!(read, [(name, value)]);
    }

    #[test]
    fn a_form_is_read_back_as_it_was_written(
        fields in prop::collection::btree_map(hostile_text(), hostile_text(), 0..4),
    ) {
        let form = json!({"method": "POST",
            "body": {"content": {"application/x-www-form-urlencoded": {}}}});
        let mut arguments = with(&json!({}));
        arguments.body = Some(json!(fields));
        let sent = request(&form, &arguments).unwrap().body.unwrap();
        let read = url::form_urlencoded::parse(&crate::bytes(&sent)).into_owned().collect();
        prop_assert_eq!(fields, read);
    }
}

#[test]
fn a_base_that_is_none() {
    let command = cases::command(&json!({"path": "/t"}));
    for base in ["file:///etc/passwd", "ftp://api.test", "data:text/plain,x", "unix:/run/x"] {
        let found = cases::build(&command, &Url::parse(base).unwrap(), &with(&json!({})));
        assert!(matches!(found.unwrap_err().as_slice(), [Misuse::Base { .. }]), "{base}");
    }
}

#[test]
fn a_url_is_never_longer_than_the_limit() {
    let operation = taking(&json!([{"name": "q", "in": "query"}]));
    let limit = milepost_catalog::limits::URL_BYTES;
    let others = "http://api.test/v1/t?q=".len();
    let with_bytes = |bytes| request(&operation, &with(&json!({"q": "x".repeat(bytes)})));
    assert!(with_bytes(limit - others).is_ok());
    let found = with_bytes(limit - others + 1).unwrap_err();
    assert_eq!(found, [Misuse::TooLong { bytes: limit + 1, limit }]);
}

/// Builds a request with a body under a schema, with a timeout.
fn checked(schema: &Value, defs: &Value, body: Value) -> Result<Request, Vec<Misuse>> {
    let operation = json!({"method": "POST", "$defs": defs,
        "body": {"content": {"application/json": {"schema": schema}}}});
    let mut arguments = with(&json!({}));
    arguments.body = Some(body);
    let start = Instant::now();
    let found = request(&operation, &arguments);
    assert!(start.elapsed() < Duration::from_secs(1), "took {:?}", start.elapsed());
    found
}

#[track_caller]
fn check_unchecked(schema: &Value, defs: &Value, body: Value) {
    let request = checked(schema, defs, body).expect("is not refused");
    assert!(
        matches!(request.notes.as_slice(), [RequestNote::Unchecked { .. }]),
        "{:?}",
        request.notes
    );
}

#[test]
fn a_schema_that_does_not_compile_is_a_note() {
    check_unchecked(&json!({"type": "wrong"}), &json!({}), json!(1));
    check_unchecked(&json!({"pattern": "("}), &json!({}), json!("x"));
    check_unchecked(&json!({"$ref": "#/$defs/gone"}), &json!({}), json!("x"));
    check_unchecked(&json!({"$ref": "file:///etc/passwd"}), &json!({}), json!("x"));
    check_unchecked(&json!({"$ref": "http://evil.test/schema"}), &json!({}), json!("x"));
}

#[test]
fn a_schema_that_doubles_the_work_is_not_followed() {
    let mut defs = Map::new();
    for level in 0..60 {
        let next = json!({"$ref": format!("#/$defs/a{}", level + 1)});
        defs.insert(format!("a{level}"), json!({"allOf": [next, next]}));
    }
    defs.insert("a60".to_owned(), json!({"type": "string"}));
    check_unchecked(&json!({"$ref": "#/$defs/a0"}), &Value::Object(defs), json!("x"));
}

#[test]
fn a_schema_that_is_a_long_chain_is_not_followed() {
    let mut defs = Map::new();
    for level in 0..5_000 {
        defs.insert(format!("a{level}"), json!({"$ref": format!("#/$defs/a{}", level + 1)}));
    }
    defs.insert("a5000".to_owned(), json!({"type": "string"}));
    check_unchecked(&json!({"$ref": "#/$defs/a0"}), &Value::Object(defs), json!("x"));
}

#[test]
fn a_schema_that_comes_back_to_itself_by_many_ways() {
    let back = json!({"properties": {"a": {"$ref": "#/$defs/node"}}});
    let defs = json!({"node": {"allOf": vec![back; 50]}});
    let deep = (0..40).fold(json!(1), |value, _| json!({"a": value}));
    check_unchecked(&json!({"$ref": "#/$defs/node"}), &defs, deep);
    assert!(checked(&json!({"$ref": "#/$defs/node"}), &defs, json!({"a": 1})).is_ok());
}

#[test]
fn a_tree_is_checked_however_deep() {
    let node = json!({"type": "object", "properties": {"child": {"$ref": "#/$defs/node"}},
        "additionalProperties": false});
    let defs = json!({"node": node});
    let deep = |end: Value| (0..40).fold(end, |value, _| json!({"child": value}));
    let schema = json!({"$ref": "#/$defs/node"});
    assert_eq!(checked(&schema, &defs, deep(json!({}))).unwrap().notes, []);
    let found = checked(&schema, &defs, deep(json!({"x": 1}))).unwrap_err();
    assert!(matches!(found.as_slice(), [Misuse::Invalid { .. }]), "{found:?}");
}

#[test]
fn a_pattern_that_takes_for_ever() {
    let schema = json!({"type": "string", "pattern": "^(a|a)*(?=b)c$"});
    check_unchecked(&schema, &json!({}), json!("a".repeat(60)));
}

#[test]
fn a_multipart_body_never_holds_its_boundary() {
    let form = json!({"method": "POST", "body": {"content": {"multipart/form-data": {}}}});
    let mut arguments = with(&json!({}));
    arguments.body = Some(json!({"f": {"$file": "a.bin"}}));
    let payload = request(&form, &arguments).unwrap().body.unwrap();
    let before = payload.content_type().into_owned();
    let boundary = before.split_once("boundary=").unwrap().1.to_owned();
    let hostile = format!("\r\n--{boundary}\r\n\r\ninjected").into_bytes();
    let read = |_: &str| Ok::<_, ()>(hostile.clone());
    let after = payload.clone().with_files(read).unwrap();
    assert_ne!(after.content_type(), before.as_str());
    let plain = payload.with_files(|_| Ok::<_, ()>(b"x".to_vec())).unwrap();
    assert_eq!(plain.content_type(), before.as_str());
}

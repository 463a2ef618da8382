//! Arguments: all mistakes are reported at once with their remedies; coercion of strings, media
//! types, and speed.

use std::sync::Arc;
use std::time::Instant;

use expect_test::{Expect, expect};
use milepost_catalog::command::{Content, Response};
use milepost_catalog::request::{Arguments, PartContent, Payload, Piece, PreparedCommand, coerce};
use milepost_model::wording::Neutral;
use serde_json::{Map, Value, json};

use crate::{base, cases, request, taking, with};

fn orders() -> Value {
    json!({"method": "POST", "path": "/orders/{order_id}/refunds", "parameters": [
        {"name": "order_id", "in": "path", "schema": {"type": "integer"}},
        {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 100}},
        {"name": "expand", "in": "query", "required": true,
            "schema": {"type": "array", "items": {"type": "string"}}},
        {"name": "X-Trace", "in": "header"},
        {"name": "Host", "in": "header"},
    ], "body": {"required": true, "content": {"application/json": {"schema":
        {"$ref": "#/$defs/refund"}}}},
    "$defs": {
        "refund": {"allOf": [{"$ref": "#/$defs/base"}, {"required": ["amount"],
            "properties": {"amount": {"$ref": "#/$defs/amount"}}}]},
        "base": {"required": ["id", "reason"], "properties": {
            "id": {"type": "string", "readOnly": true}, "reason": {"type": "string"}}},
        "amount": {"type": "integer", "minimum": 1}}})
}

#[track_caller]
fn check_faults(operation: &Value, arguments: &Arguments, wanted: &Expect) {
    let misuses = request(operation, arguments).expect_err("there are faults");
    let lines =
        misuses.iter().map(|misuse| format!("{misuse}\n  {}\n", misuse.hint().worded(&Neutral)));
    wanted.assert_eq(&lines.collect::<String>());
}

#[test]
fn every_fault_at_once_with_what_to_do() {
    let arguments = with(&json!({"order_id": "x", "limt": 5, "limit": 500, "host": "evil.test",
        "X-Trace": "a\nb", "amount": 0, "body.reason": 5}));
    check_faults(
        &orders(),
        &arguments,
        &expect![[r#"
            there is no parameter `limt`
              did you mean `limit`?
            the header `Host` is not an argument: it is set when the request is sent
              leave it out
            the path parameter `order_id`: "x" is not of type "integer"
              change the value to match the schema
            the query parameter `limit`: 500 is greater than the maximum of 100
              change the value to match the schema
            the query parameter `expand` (array of string) is missing
              give `with: {"expand":"…"}`
            the header parameter `X-Trace` cannot be sent: it contains a control character
              remove the character
            the body at `/reason`: 5 is not of type "string"
              change the value to match the schema
            the body at `/amount`: 0 is less than the minimum of 1
              change the value to match the schema
        "#]],
    );
}

#[test]
fn a_body_that_is_missing_or_too_much() {
    check_faults(
        &orders(),
        &with(&json!({"order_id": 1, "expand": []})),
        &expect![[r"
            the body (application/json) is missing
              give `body`
        "]],
    );
    let mut both = with(&json!({"order_id": 1, "expand": [], "amount": 1}));
    both.body = Some(json!("text"));
    check_faults(
        &orders(),
        &both,
        &expect![[r"
            `amount` is a property of the body, but the given body is a string
              put the property into `body`
        "]],
    );
    both.body = Some(json!({"amount": 2, "reason": "x"}));
    check_faults(
        &orders(),
        &both,
        &expect![[r"
            `body.amount` and `amount` are the same body property
              leave out `amount`
        "]],
    );
}

#[test]
fn properties_of_composed_schemas_stand_in_with() {
    let arguments = with(&json!({"order_id": 1, "expand": [], "amount": 1, "reason": "r"}));
    let request = request(&orders(), &arguments).unwrap();
    assert_eq!(crate::bytes(&request.body.unwrap()), br#"{"amount":1,"reason":"r"}"#);
    assert_eq!(request.notes, []);
    assert_eq!(request.path_template, "/orders/{order_id}/refunds");
}

#[test]
fn one_name_in_several_places() {
    let operation = json!({"path": "/t/{id}", "parameters": [
        {"name": "id", "in": "path"}, {"name": "id", "in": "query"}]});
    check_faults(
        &operation,
        &with(&json!({"id": 1})),
        &expect![[r"
            `id` is ambiguous: several parameters have this name
              write `path.id` or `query.id`
        "]],
    );
}

#[test]
fn values_are_not_guessed() {
    let operation = taking(&json!([{"name": "n", "in": "query", "schema": {"type": "integer"}}]));
    assert!(request(&operation, &with(&json!({"n": 5}))).is_ok());
    assert!(request(&operation, &with(&json!({"n": "5"}))).is_err());
    assert!(request(&operation, &with(&json!({"n": 5.5}))).is_err());
}

#[test]
fn text_of_a_command_line_becomes_what_the_schema_says() {
    let defs: Map<String, Value> =
        json!({"id": {"type": "integer"}, "loop": {"$ref": "#/$defs/loop"}})
            .as_object()
            .unwrap()
            .clone();
    let check = |schema: Value, text: &str, wanted: Value| {
        assert_eq!(coerce(&schema, &defs, text), wanted, "{schema} {text:?}");
    };
    check(json!({"type": "integer"}), "5", json!(5));
    check(json!({"type": "integer"}), "-5", json!(-5));
    check(json!({"type": "integer"}), "x", json!("x"));
    check(json!({"type": "integer"}), "99999999999999999999", json!("99999999999999999999"));
    check(json!({"type": "number"}), "1.5", json!(1.5));
    check(json!({"type": "number"}), "5", json!(5));
    check(json!({"type": "boolean"}), "true", json!(true));
    check(json!({"type": "boolean"}), "yes", json!("yes"));
    check(json!({"type": "string"}), "5", json!("5"));
    check(json!({"type": "string"}), "null", json!("null"));
    check(json!({"type": ["integer", "null"]}), "null", json!(null));
    check(json!({"type": "array", "items": {"type": "integer"}}), "1,2", json!([1, 2]));
    check(json!({"type": "array", "items": {"type": "string"}}), "1,2", json!(["1", "2"]));
    check(json!({"type": "array"}), "[1, \"a\"]", json!([1, "a"]));
    check(json!({"type": "array"}), "", json!([]));
    check(json!({"type": "object"}), "{\"a\": 1}", json!({"a": 1}));
    check(json!({"type": "object"}), "{", json!("{"));
    check(json!({"anyOf": [{"type": "string"}, {"type": "array"}]}), "a,b", json!("a,b"));
    check(json!({"anyOf": [{"type": "string"}, {"type": "array"}]}), "[1]", json!([1]));
    check(json!({"enum": [1, 2, "auto"]}), "2", json!(2));
    check(json!({"enum": [1, 2, "auto"]}), "auto", json!("auto"));
    check(json!({"$ref": "#/$defs/id"}), "7", json!(7));
    check(json!({"$ref": "#/$defs/loop"}), "x", json!("x"));
    check(json!(true), "5", json!(5));
    check(json!(true), "007", json!("007"));
    check(json!(true), "text", json!("text"));
    check(json!({}), "[1]", json!([1]));
}

#[test]
fn what_is_accepted_begins_with_json() {
    let content = |media_type: &&str| Content {
        media_type: (*media_type).to_owned(),
        schema: Value::Bool(true),
        encoding: Vec::new(),
        example: None,
    };
    let response = |status: &str, types: &[&str]| Response {
        status: status.to_owned(),
        description: String::new(),
        contents: types.iter().map(content).collect(),
        headers: Vec::new(),
        links: Vec::new(),
    };
    let check = |responses: Vec<Response>, asked: Option<&str>, wanted: &str| {
        let mut command = cases::command(&json!({}));
        command.responses = responses;
        let arguments = Arguments { accept: asked.map(str::to_owned), ..Arguments::default() };
        let request = PreparedCommand::new(Arc::new(command)).build(&base(), &arguments).unwrap();
        assert_eq!(request.headers, [("Accept".to_owned(), wanted.to_owned())]);
    };
    check(vec![], None, "*/*");
    check(vec![response("204", &[])], None, "*/*");
    check(vec![response("200", &["text/csv"])], None, "text/csv");
    let both = || {
        vec![
            response("404", &["application/problem+json"]),
            response("200", &["application/xml", "application/json"]),
        ]
    };
    check(both(), None, "application/json, application/problem+json, application/xml;q=0.5");
    check(both(), Some("application/xml"), "application/xml");
    check(vec![response("200", &["evil\r\nX: 1"])], None, "*/*");
}

#[test]
fn files_are_named_and_read_by_the_sender() {
    let form = json!({"method": "POST", "body": {"content": {"multipart/form-data": {}}}});
    let mut arguments = with(&json!({}));
    arguments.body = Some(json!({"note": "x", "f": {"$file": "dir/a.txt"}}));
    let payload = request(&form, &arguments).unwrap().body.unwrap();
    let again = request(&form, &arguments).unwrap().body.unwrap();
    assert_eq!(payload, again, "the same arguments give the same bytes");
    assert!(payload.pieces().contains(&Piece::File("dir/a.txt")));
    let read = payload.with_files(|path| Ok::<_, ()>(path.to_uppercase().into_bytes())).unwrap();
    let text = String::from_utf8(crate::bytes(&read)).unwrap();
    assert!(text.contains("filename=\"a.txt\""), "{text}");
    assert!(text.contains("\r\n\r\nDIR/A.TXT\r\n--"), "{text}");

    let bytes = json!({"method": "PUT", "body": {"content": {"image/png": {}}}});
    arguments.body = Some(json!({"$file": "a.png"}));
    let payload = request(&bytes, &arguments).unwrap().body.unwrap();
    let content = PartContent::File("a.png".to_owned());
    let wanted = Payload::Whole { content_type: "image/png".to_owned(), content };
    assert_eq!(payload, wanted);
}

#[test]
fn prepared_commands_are_shared_between_threads() {
    let prepared = Arc::new(PreparedCommand::new(Arc::new(cases::command(&orders()))));
    let arguments = with(&json!({"order_id": 1, "expand": ["a"], "amount": 1, "reason": "r"}));
    let wanted = prepared.build(&base(), &arguments).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| assert_eq!(prepared.build(&base(), &arguments).unwrap(), wanted));
        }
    });
}

/// The limit is far above the time needed, and far below the time that compiling schemas for each
/// call would take.
#[test]
fn a_prepared_command_compiles_nothing_again() {
    let prepared = PreparedCommand::new(Arc::new(cases::command(&orders())));
    let arguments = with(&json!({"order_id": 1, "expand": ["a"], "amount": 1, "reason": "r"}));
    let time = |calls: u32| {
        let start = Instant::now();
        for _ in 0..calls {
            assert!(prepared.build(&base(), &arguments).is_ok());
        }
        start.elapsed() / calls
    };
    let first = time(1);
    let each = time(2_000);
    assert!(each * 3 < first, "the first call took {first:?}, each other {each:?}");
}

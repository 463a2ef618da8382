//! Responses generated from schemas: each satisfies everything that its schema requires.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{json as body, mock, mock_of_schema, send, send_with};

/// Generates responses from a schema with several seeds; all of them must satisfy it.
fn check(schema: &Value) -> Value {
    let answer = send(&mut mock_of_schema(schema), "GET /thing", None);
    assert_eq!(answer.header("x-milepost-mock"), None, "{schema} gave {answer:?}");
    let value = body(&answer);
    let options = jsonschema::options().should_validate_formats(true);
    let validator = options.build(schema).expect("a schema");
    assert!(validator.is_valid(&value), "{value} does not fit {schema}");
    value
}

#[test]
fn scalars_fit_their_bounds() {
    check(&json!({"type": "integer", "minimum": 7, "maximum": 7}));
    check(&json!({"type": "integer", "exclusiveMinimum": -3, "exclusiveMaximum": -1}));
    check(&json!({"type": "integer", "multipleOf": 250, "minimum": 1001, "maximum": 1300}));
    check(&json!({"type": "number", "multipleOf": 0.01, "minimum": 0.01, "maximum": 0.05}));
    check(&json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.001}));
    check(&json!({"type": "string", "minLength": 90, "maxLength": 91}));
    check(&json!({"type": "string", "maxLength": 2}));
    check(&json!({"type": "string", "pattern": "^[A-Z]{3}-\\d{4}$"}));
    check(&json!({"type": ["null", "boolean"]}));
    check(&json!({"type": "string", "not": {"enum": ["a"]}, "enum": ["a", "b"]}));
    check(&json!({"const": {"a": [1, null]}}));
}

#[test]
fn texts_are_of_their_format() {
    let formats = [
        "date-time",
        "date",
        "time",
        "duration",
        "email",
        "idn-email",
        "hostname",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "uri",
        "uri-reference",
        "iri",
        "iri-reference",
        "uuid",
        "uri-template",
        "json-pointer",
        "relative-json-pointer",
        "regex",
        "byte",
        "password",
        "int64",
        "unheard-of",
    ];
    for format in formats {
        check(&json!({"type": "string", "format": format}));
    }
}

#[test]
fn lists_fit_their_bounds() {
    let five = check(&json!({"type": "array", "items": {"type": "boolean"}, "minItems": 5}));
    assert_eq!(five.as_array().map(Vec::len), Some(5));
    check(
        &json!({"type": "array", "items": {"enum": [1, 2, 3]}, "minItems": 3, "uniqueItems": true}),
    );
    check(&json!({"type": "array", "items": {"type": "string", "examples": ["x"]}, "minItems": 3,
            "uniqueItems": true}));
    check(&json!({"type": "array", "prefixItems": [{"const": 1}, {"type": "string"}],
            "items": false}));
    check(&json!({"type": "array", "items": {"type": "integer"}, "contains": {"minimum": 900,
            "maximum": 905}}));
    check(&json!({"type": "array", "items": {"type": "integer"}, "maxItems": 0}));
}

#[test]
fn objects_fit_their_bounds() {
    check(&json!({"type": "object", "required": ["a", "b"],
            "properties": {"a": {"type": "integer"}}}));
    check(
        &json!({"type": "object", "minProperties": 4, "additionalProperties": {"type": "integer"}}),
    );
    check(
        &json!({"type": "object", "maxProperties": 1, "properties": {"a": {}, "b": {}, "c": {}}}),
    );
    check(&json!({"type": "object", "minProperties": 1,
            "patternProperties": {"^x-[a-z]+$": {"type": "integer"}},
                "additionalProperties": false}));
    check(
        &json!({"type": "object", "propertyNames": {"pattern": "^[a-c]{4}$"}, "minProperties": 2}),
    );
    check(
        &json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
            "dependentRequired": {"a": ["z"]}}),
    );
    check(&json!({"type": "object", "properties": {"a": {"type": "integer", "minimum": 5,
            "maximum": 4}}}));
}

#[test]
fn combinations_hold_together() {
    check(&json!({"allOf": [{"type": "object", "required": ["a"],
            "properties": {"a": {"type": "integer"}}},
        {"properties": {"a": {"minimum": 40, "maximum": 41}, "b": {"type": "string"}}}]}));
    // Most objects match both branches, so one branch must be made to fail.
    check(&json!({"oneOf": [{"type": "object", "properties": {"a": {"type": "string"}}},
        {"type": "object", "properties": {"b": {"type": "string"}}}]}));
    check(&json!({"type": "object", "properties": {"a": {"type": "integer"},
            "b": {"type": "integer"}},
        "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}));
    check(&json!({"anyOf": [false, {"type": "string", "format": "uuid"}]}));
    check(&json!({"oneOf": [{"type": "number"}, {"type": "integer"}]}));
    check(&json!({"type": "object", "properties": {"a": {}, "b": {}}, "not": {"required": ["b"]}}));
    check(&json!({"type": "object", "properties": {"kind": {"enum": ["x", "y"]}},
            "required": ["kind"],
        "if": {"properties": {"kind": {"const": "x"}}}, "then": {"required": ["extra"]}}));
    check(&json!({"allOf": [{"enum": [1, 2, 3]}, {"enum": [3, 4]}]}));
}

#[test]
fn schemas_that_refer_to_themselves_come_to_an_end() {
    let document = |required: &str| {
        format!(
            r##"{{"openapi": "3.1.0", "info": {{"title": "T", "version": "1"}},
        "paths": {{"/thing": {{"get": {{"responses": {{"200": {{"description": "",
            "content": {{"application/json":
            {{"schema": {{"$ref": "#/components/schemas/Node"}}}}}}}}}}}}}}}},
        "components": {{"schemas": {{"Node": {{"type": "object", "required": [{required}],
            "properties": {{
            "children": {{"type": "array", "items": {{"$ref": "#/components/schemas/Node"}}}},
            "next": {{"anyOf": [{{"$ref": "#/components/schemas/Node"}},
                {{"type": "null"}}]}}}}}}}}}}}}"##
        )
    };
    for required in ["", r#""children""#, r#""next""#, r#""children", "next""#] {
        let answer = send(&mut mock(&document(required)), "GET /thing", None);
        assert_eq!((answer.status, answer.header("x-milepost-mock")), (200, None), "{required}");
        assert!(answer.body.len() < 100_000);
    }
}

#[test]
fn what_cannot_be_is_said_to_be_unverified() {
    let answer = send(
        &mut mock_of_schema(&json!({"type": "integer", "minimum": 2, "maximum": 1})),
        "GET /thing",
        None,
    );
    assert_eq!((answer.status, answer.header("x-milepost-mock")), (200, Some("unverified")));
}

#[test]
fn discriminators_name_the_branch() {
    let document = r##"{"openapi": "3.0.3", "info": {"title": "T", "version": "1"},
        "paths": {"/thing": {"get": {"responses": {"200": {"description": "",
            "content": {"application/json":
            {"schema": {"oneOf": [{"$ref": "#/components/schemas/Cat"},
                {"$ref": "#/components/schemas/Dog"}],
              "discriminator": {"propertyName": "kind",
                  "mapping": {"cat": "#/components/schemas/Cat",
                      "dog": "#/components/schemas/Dog"}}}}}}}}}},
        "components": {"schemas": {
            "Cat": {"type": "object", "required": ["kind", "lives"],
                "properties": {"kind": {"type": "string"}, "lives": {"type": "integer"}}},
            "Dog": {"type": "object", "required": ["kind", "barks"],
                "properties": {"kind": {"type": "string"}, "barks": {"type": "boolean"}}}}}}"##;
    assert_eq!(body(&send(&mut mock(document), "GET /thing", None))["kind"], "cat");
}

#[test]
fn values_look_like_what_they_are_called() {
    let text = json!({"type": "string"});
    let thing =
        check(&json!({"type": "object", "properties": {"email": text, "homepage_url": text,
        "created_at": text, "currency": text, "country": text, "price": {"type": "number"}}}));
    let is = |name: &str, part: &str| {
        assert!(thing[name].as_str().is_some_and(|t| t.contains(part)), "{thing}");
    };
    is("email", "@example.com");
    is("homepage_url", "https://");
    is("created_at", "T");
    assert_eq!(thing["currency"].as_str().map(str::len), Some(3));
    assert_eq!(thing["country"].as_str().map(str::len), Some(2));
    assert!(thing["price"].as_f64().is_some_and(|price| (0.0..1000.0).contains(&price)));
}

/// An operation with several responses and media types.
const CHOICE: &str = r#"
openapi: 3.0.0
info: {title: T, version: "1"}
paths:
  /good:
    get:
      responses:
        "404": {description: none}
        "200":
          description: fine
          content:
            text/plain: {schema: {type: string}, example: hello}
            application/xml: {schema: {type: object, properties: {a: {type: integer, enum: [1]}}}}
            application/json: {schema: {type: object, required: [a],
                properties: {a: {type: integer}}}, example: {a: 5}}
  /bad-example:
    get:
      responses:
        "200":
          description: fine
          content:
            application/json: {schema: {type: object, required: [a],
                properties: {a: {type: integer}}}, example: {a: no}}
  /range: {get: {responses: {"2XX": {description: fine}}}}
  /default: {get: {responses: {default: {description: fine}}}}
  /moved: {get: {responses: {"302": {description: elsewhere}}}}
  /gone: {delete: {responses: {"200": {description: fine}, "204": {description: fine}}}}
"#;

#[test]
fn the_answer_is_the_documented_success() {
    let mut mock = mock(CHOICE);
    let mut status = |request: &str| send(&mut mock, request, None).status;
    assert_eq!(status("GET /good"), 200);
    assert_eq!(status("GET /range"), 200);
    assert_eq!(status("GET /default"), 200);
    assert_eq!(status("GET /moved"), 302);
    assert_eq!(status("DELETE /gone"), 204);
}

#[test]
fn the_media_type_is_the_one_that_is_accepted() {
    let mut mock = mock(CHOICE);
    let mut get = |accept: &str| {
        let answer = send_with(&mut mock, "GET /good", None, &[("accept", accept)]);
        let kind = answer.header("content-type").expect("a type").to_owned();
        (kind, String::from_utf8(answer.body).expect("text"))
    };
    let json = ("application/json".to_owned(), r#"{"a":5}"#.to_owned());
    assert_eq!(get("*/*"), json);
    assert_eq!(get("text/plain;q=0.4, application/json;q=0.5"), json);
    assert_eq!(get("image/png"), json, "what is there is better than nothing");
    assert_eq!(get("text/*"), ("text/plain".to_owned(), "hello".to_owned()));
    let xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><response><a>1</a></response>";
    assert_eq!(get("application/xml"), ("application/xml".to_owned(), xml.to_owned()));
}

#[test]
fn an_example_that_does_not_fit_is_not_given() {
    let answer = body(&send(&mut mock(CHOICE), "GET /bad-example", None));
    assert!(answer["a"].is_i64(), "{answer}");
}

#[test]
fn head_and_options_are_answered_without_being_documented() {
    let mut mock = mock(CHOICE);
    let head = send(&mut mock, "HEAD /good", None);
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(head.header("content-type"), Some("application/json"));
    let options = send(&mut mock, "OPTIONS /good", None);
    assert_eq!((options.status, options.header("allow")), (204, Some("GET, HEAD, OPTIONS")));
}

/// Schemas that can be satisfied.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        (0_i64..50, 0_i64..50).prop_map(
            |(low, more)| json!({"type": "integer", "minimum": low, "maximum": low + more})
        ),
        (0_usize..9, 0_usize..9).prop_map(
            |(low, more)| json!({"type": "string", "minLength": low, "maxLength": low + more})
        ),
        Just(json!({"type": "boolean"})),
        Just(json!({"type": ["string", "null"], "format": "date"})),
        "[a-z]{1,4}".prop_map(|word| json!({"enum": [word, 3, null]})),
        "[a-c]{1,2}(-[0-9]{1,3})?"
            .prop_map(|text| json!({"type": "string", "pattern": format!("^{text}[x-z]+$")})),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            (proptest::collection::btree_map("[a-e]", inner.clone(), 0..4), any::<bool>())
                .prop_map(|(members, closed)| {
                    let required: Vec<&String> = members.keys().take(2).collect();
                    json!({"type": "object", "properties": members, "required": required,
                    "additionalProperties": !closed})
                }),
            (inner.clone(), 0_usize..4).prop_map(|(item, least)| json!({"type": "array",
                "items": item, "minItems": least})),
            (inner.clone(), inner).prop_map(|(one, other)| json!({"anyOf": [one, other]})),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_schema_that_can_be_met_is_met(schema in schemas()) {
        check(&schema);
    }
}

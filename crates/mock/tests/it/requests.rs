//! Requests are checked as strictly as by a real server.

use milepost_catalog::command::{Location, SecurityScheme};
use milepost_mock::{MockResponse, MockSettings};
use serde_json::{Value, json};

use crate::support::{json as body, mock, mock_with, send, send_with};

const SHOP: &str = r#"
openapi: 3.0.3
info: {title: T, version: "1"}
security: [{key: []}]
components: {securitySchemes: {key: {type: apiKey, in: header, name: X-Key}}}
paths:
  /find/{id}:
    get:
      parameters:
        - {name: id, in: path, required: true, schema: {type: integer}}
        - {name: q, in: query, required: true, schema: {type: string, minLength: 2}}
        - {name: tags, in: query, schema: {type: array, items: {type: integer}}}
        - {name: fields, in: query, explode: false, schema: {type: array, items: {type: string,
            enum: [a, b]}}}
        - {name: filter, in: query, style: deepObject, explode: true, schema: {type: object,
            properties: {size: {type: integer}}}}
        - {name: X-Trace, in: header, schema: {type: boolean}}
        - {name: session, in: cookie, schema: {type: string, maxLength: 3}}
        - {name: json, in: query, content: {application/json: {schema: {type: object,
            required: [a]}}}}
      responses: {"200": {description: fine}}
  /put:
    post:
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [name, id]
              properties: {name: {type: string}, id: {type: integer, readOnly: true},
                  n: {type: integer}}
          multipart/form-data:
            schema: {type: object, required: [file, n], properties: {file: {type: string,
                format: binary}, n: {type: integer}}}
      responses:
        "201": {description: fine}
        "422":
          description: wrong
          content: {application/json: {schema: {type: object, required: [detail],
              properties: {detail: {type: string}}}}}
"#;

fn get(query: &str, headers: &[(&str, &str)]) -> MockResponse {
    send_with(&mut mock(SHOP), &format!("GET /find/{query}"), None, headers)
}

fn places(answer: &MockResponse) -> Vec<String> {
    let faults = body(answer)["faults"].as_array().cloned().unwrap_or_default();
    faults.iter().filter_map(|fault| fault["place"].as_str().map(str::to_owned)).collect()
}

#[test]
fn good_requests_pass_in_every_style() {
    let good = [
        "7?q=ok",
        "7?q=ok&tags=1&tags=2",
        "7?q=ok&tags=1",
        "7?q=ok&fields=a,b",
        "7?q=ok&filter[size]=3",
        "7?q=ok&json=%7B%22a%22:1%7D",
        "7?q=12",
        "7?q=ok&tags=",
    ];
    for query in good {
        assert_eq!(get(query, &[]).status, 200, "{query}");
    }
    let headers = [("x-trace", "true"), ("cookie", "a=b; session=abc")];
    assert_eq!(get("7?q=ok", &headers).status, 200);
}

#[test]
fn every_fault_is_told_at_once() {
    let answer = get(
        "x?tags=1&tags=b&fields=a,z&filter[size]=s",
        &[("X-Trace", "maybe"), ("Cookie", "session=long!")],
    );
    assert_eq!(answer.status, 400);
    let expected = [
        "path.id",
        "query.q",
        "query.tags/1",
        "query.fields/1",
        "query.filter/size",
        "header.X-Trace",
        "cookie.session",
    ];
    assert_eq!(places(&answer), expected);
}

#[test]
fn bodies_are_checked_and_the_status_is_a_documented_one() {
    let mut mock = mock(SHOP);
    let mut post = |value: Value| send(&mut mock, "POST /put", Some(value));
    assert_eq!(post(json!({"name": "a"})).status, 201, "what is read-only is not asked for");
    let bad = post(json!({"n": "x"}));
    assert_eq!(bad.status, 422);
    let detail = body(&bad)["detail"].as_str().expect("a text").to_owned();
    assert!(detail.contains("body/n") && detail.contains("name"), "{detail}");
    assert_eq!(send(&mut mock, "POST /put", None).status, 422);
}

#[test]
fn bodies_of_other_media_types_are_refused() {
    let mut mock = mock(SHOP);
    let answer =
        send_with(&mut mock, "POST /put", Some(json!("<a/>")), &[("content-type", "text/xml")]);
    assert_eq!(answer.status, 422, "the only documented one");
    let broken = send_with(
        &mut mock,
        "POST /put",
        Some(json!("{")),
        &[("content-type", "application/json")],
    );
    assert_eq!(broken.status, 422);
}

#[test]
fn multipart_forms_are_read() {
    let mut mock = mock(SHOP);
    let mut post = |form: &str| {
        let form = form.replace('\n', "\r\n");
        let kind = [("content-type", "multipart/form-data; boundary=\"x\"")];
        send_with(&mut mock, "POST /put", Some(json!(form)), &kind).status
    };
    let number = "--x\nContent-Disposition: form-data; name=\"n\"\n\n3\n";
    let file = "--x\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\n\nbytes\n";
    assert_eq!(post(&format!("{number}{file}--x--\n")), 201);
    assert_eq!(post(&format!("{number}--x--\n")), 422);
    assert_eq!(post("nonsense"), 422);
}

#[test]
fn credentials_are_asked_for_only_when_strict() {
    assert_eq!(get("7?q=ok", &[]).status, 200);
    let key = SecurityScheme::ApiKey { name: "X-Key".into(), location: Location::Header };
    let schemes = vec![("key".to_owned(), key)];
    let settings = MockSettings { strict_auth: true, schemes, ..MockSettings::default() };
    let mut mock = mock_with(SHOP, settings);
    assert_eq!(send(&mut mock, "GET /find/7?q=ok", None).status, 401);
    assert_eq!(send_with(&mut mock, "GET /find/7?q=ok", None, &[("x-key", "k")]).status, 200);
}

#[test]
fn unknown_paths_and_methods_are_told() {
    let mut mock = mock(SHOP);
    let nothing = send(&mut mock, "GET /finds", None);
    assert_eq!(nothing.status, 404);
    let near = send(&mut mock, "GET /find/1/2", None);
    assert_eq!(body(&near)["near"], json!(["/find/{id}"]));
    let method = send(&mut mock, "DELETE /put", None);
    assert_eq!((method.status, method.header("allow")), (405, Some("OPTIONS, POST")));
}

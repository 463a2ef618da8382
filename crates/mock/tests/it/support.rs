//! Helpers to create mocks of documents and send requests to them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost_catalog::command::Method;
use milepost_catalog::document::ParsedDocument;
use milepost_catalog::import::Inspection;
use milepost_catalog::naming::AssignedNames;
use milepost_catalog::openapi::Api;
use milepost_mock::{Mock, MockRequest, MockResponse, MockSettings, MockSource};
use milepost_model::id::CatalogId;
use serde_json::Value;

/// The operations of a document.
pub(crate) fn documented(bytes: &[u8]) -> MockSource {
    let reading = ParsedDocument::read(bytes).expect("a document");
    let api = Arc::new(Api::new(reading).expect("an API"));
    let rows = Inspection::of(&api).into_rows(&AssignedNames::new());
    MockSource { api, rows, catalog: CatalogId::parse("doc").expect("an id") }
}

/// A mock of a document.
pub(crate) fn mock_with(document: &str, settings: MockSettings) -> Mock {
    Mock::new(documented(document.as_bytes()), settings)
}

/// A mock of a document with default settings.
pub(crate) fn mock(document: &str) -> Mock {
    mock_with(document, MockSettings { seed: 1, ..MockSettings::default() })
}

/// A mock with one operation, `GET /thing`, whose response has this schema.
pub(crate) fn mock_of_schema(schema: &Value) -> Mock {
    let answer = serde_json::json!({"content": {"application/json": {"schema": schema}}});
    let document = serde_json::json!({
        "openapi": "3.1.0",
        "info": {"title": "T", "version": "1"},
        "paths": {"/thing": {"get": {"responses": {"200": answer}}}},
    });
    mock(&document.to_string())
}

/// Sends `METHOD /path?query` with an optional body.
pub(crate) fn send(mock: &mut Mock, request: &str, body: Option<Value>) -> MockResponse {
    send_with(mock, request, body, &[])
}

/// Like `send`, with headers. A string body with a `content-type` is sent as is.
#[expect(clippy::needless_pass_by_value, reason = "`Some(json!(..))` reads best")]
pub(crate) fn send_with(
    mock: &mut Mock,
    request: &str,
    body: Option<Value>,
    headers: &[(&str, &str)],
) -> MockResponse {
    let (method, target) = request.split_once(' ').expect("method and path");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut all: Vec<(String, String)> =
        headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let has_type = all.iter().any(|(name, _)| name == "content-type");
    let bytes = match &body {
        Some(Value::String(text)) if has_type => text.clone().into_bytes(),
        Some(value) => {
            if !has_type {
                all.push(("content-type".into(), "application/json".into()));
            }
            value.to_string().into_bytes()
        }
        None => Vec::new(),
    };
    mock.answer(&MockRequest {
        method: Method::parse(method).expect("a method"),
        path,
        query: url::form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
        headers: all,
        body: &bytes,
    })
}

/// The JSON body of a response.
pub(crate) fn json(answer: &MockResponse) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("no JSON: {answer:?}"))
}

/// Every real document. If the corpus is missing, prints a notice and returns none.
pub(crate) fn corpus() -> Vec<PathBuf> {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut folders = above.map(|folder| folder.join("shared/corpus/openapi"));
    let Some(folder) = folders.find(|folder| folder.is_dir()) else {
        eprintln!("skipped: no corpus of documents above the workspace");
        return Vec::new();
    };
    let files = std::fs::read_dir(folder).expect("a folder");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|kind| kind == "json" || kind == "yaml"));
    files.sort();
    files
}

//! Malicious documents, each with its expected outcome.

use std::fs;
use std::time::Instant;

use milepost_catalog::bundle::{Bundle, FetchedFile};
use milepost_catalog::document::ParsedDocument;
use milepost_catalog::import::{Inspection, ResolvedBaseUrl};
use milepost_catalog::naming::AssignedNames;
use milepost_catalog::openapi::Api;

use crate::read::{corpus, name};

/// The outcome of importing a document, as text.
fn outcome(bytes: &[u8]) -> String {
    let reading = match ParsedDocument::read(bytes) {
        Ok(reading) => reading,
        Err(error) => return format!("error: {error}"),
    };
    let mut bundle = Bundle::new(reading);
    while let Some(file) = bundle.wanted() {
        bundle.add(&file, FetchedFile::Refused("it was not opened".to_owned()));
    }
    let bundled = bundle.finish().expect("a document");
    let api = match Api::new(bundled.reading) {
        Ok(api) => api,
        Err(error) => return format!("unknown: {error}"),
    };
    let inspection = Inspection::of(&api);
    let base = ResolvedBaseUrl::of(&api, None, None);
    let mut told = Vec::new();
    let violations = [inspection.violations.clone(), bundled.violations, base.violations].concat();
    for finding in &violations {
        told.push(format!("violation {} {}: {}", finding.rule.0, finding.path, finding.message));
    }
    for finding in inspection.warnings.iter().chain(&bundled.warnings) {
        told.push(format!("warning {} {}: {}", finding.rule.0, finding.path, finding.message));
    }
    let rows = inspection.into_rows(&AssignedNames::new());
    for row in &rows {
        let id = milepost_model::target::CommandId::parse(&format!("api {}", row.name));
        let made = api.command(id.expect("an id"), row);
        told.push(format!(
            "command {} {:?}",
            row.name,
            made.map(|command| command.parameters.len())
        ));
    }
    told.join("\n")
}

/// File names, each with strings that its outcome must contain.
const EXPECTED: &[(&str, &[&str])] = &[
    ("01-empty", &["error: ", "empty"]),
    ("02-whitespace", &["error: ", "empty"]),
    ("03-truncated", &["error: ", "line"]),
    ("05-missing-paths-30", &["violation paths", "3.0"]),
    ("06-missing-paths-31-webhooks", &["warning webhooks", "warning no-operations"]),
    ("07-missing-info", &["warning info", "command "]),
    ("09-version-number-not-string", &["command a:get"]),
    ("10-openapi-30-number", &["warning version", "warning no-operations"]),
    ("11-cyclic-ref-pure", &["command "]),
    ("13-cyclic-param-ref", &["warning ref-cycle", "command a:get Some(0)"]),
    ("14-ref-exponential-fanout", &["command "]),
    ("15-billion-laughs", &["error: "]),
    ("17-duplicate-operation-ids", &["warning operation-id", "command a:get", "command b:get"]),
    ("18-duplicate-keys", &["duplicate"]),
    ("19-duplicate-keys", &["duplicate"]),
    ("21-deep-nesting-100k", &["error: "]),
    ("22-deep-nesting-schema-5k", &["error: "]),
    ("23-ref-file-etc-passwd", &["violation ref-refused", "etc/passwd"]),
    ("25-huge-numbers", &["command "]),
    ("26-null-everywhere", &["warning path-item", "warning operation", "command c:create"]),
    ("27-wrong-types", &["violation paths"]),
    ("29-not-openapi", &["unknown: "]),
    ("30-html-login-page", &["error: ", "HTML"]),
    ("31-bom-crlf", &["warning no-operations"]),
    ("33-invalid-utf8", &["error: ", "UTF-8"]),
    ("34-yaml-merge-keys-anchors", &["command a:get"]),
    ("35-yaml-multi-document", &["error: "]),
    ("37-prompt-injection-names", &["command a:get"]),
    ("38-path-traversal-title", &["command admin:get Some(1)"]),
    ("39-server-ssrf-variables", &["violation server-scheme"]),
    ("42-ref-with-escapes", &["command a:get Some(1)"]),
];

#[test]
fn each_attack_ends_as_expected() {
    for path in corpus("hostile-openapi") {
        let file = name(&path);
        let row = EXPECTED.iter().find(|(start, _)| file.starts_with(start));
        let (_, expected) = row.unwrap_or_else(|| panic!("{file} has no expectation here"));
        let start = Instant::now();
        let outcome = outcome(&fs::read(&path).expect("a file"));
        let took = start.elapsed();
        assert!(took.as_secs_f64() < 1.0, "{file} took {took:?}");
        for text in *expected {
            assert!(outcome.contains(text), "{file}: no `{text}` in\n{outcome}");
        }
        assert!(!outcome.chars().any(|c| c != '\n' && milepost_catalog::text::hidden(c)), "{file}");
    }
}

#[test]
fn a_document_of_several_files_stands_alone() {
    let Some(main) =
        corpus("openapi-multi/spec").into_iter().find(|path| name(path) == "swagger.yaml")
    else {
        return;
    };
    let mut bundle =
        Bundle::new(ParsedDocument::read(&fs::read(&main).expect("a file")).expect("YAML"));
    let mut read = Vec::new();
    while let Some(file) = bundle.wanted() {
        let bytes = fs::read(main.parent().expect("a folder").join(&file)).expect("a file");
        bundle.add(&file, FetchedFile::Bytes(bytes));
        read.push(file);
    }
    read.sort();
    assert_eq!(read, ["../common/Error.yaml", "NewPet.yaml", "Pet.yaml", "parameters.yaml"]);
    let bundled = bundle.finish().expect("a document");
    assert!(bundled.changed);
    let api = Api::new(bundled.reading).expect("an API");
    let inspection = Inspection::of(&api);
    assert_eq!(inspection.warnings, []);
    let rows = inspection.into_rows(&AssignedNames::new());
    let names: Vec<&str> = rows.iter().map(|row| &*row.name).collect();
    assert_eq!(names, ["pets:list", "pets:create", "pets:get", "pets:delete"]);
    let id = milepost_model::target::CommandId::parse("petstore pets:create").expect("an id");
    let command = api.command(id, &rows[1]).expect("a command");
    assert!(command.defs.keys().any(|name| name.contains("Pet")), "{:?}", command.defs.keys());
}

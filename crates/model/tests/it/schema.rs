//! The published schemas agree with the decoder, and the corpus of real guides is judged as listed.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use jsonschema::{Draft, Validator};
use milepost_model::finding::Severity;
use milepost_model::workflow::Spelling;
use milepost_syntax::source::Format;
use serde_json::{Value, json};

use crate::{read, read_as};

fn validator(spelling: Spelling) -> Validator {
    let schema = milepost_model::schema::of(spelling);
    assert!(jsonschema::meta::is_valid(&schema));
    jsonschema::options()
        .with_draft(Draft::Draft202012)
        .should_validate_formats(true)
        .build(&schema)
        .expect("compiles")
}

fn example(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
    let document = read(fs::read(path).expect("is there"));
    assert!(document.is_valid(), "{:?}", document.violations);
    document.parsed().expect("parses")
}

/// The folder of real guides, named by the environment or next to the checkout.
fn corpus() -> Option<PathBuf> {
    let named = std::env::var_os("MILEPOST_CORPUS").map(PathBuf::from);
    let beside = || {
        let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        above.map(|folder| folder.join("shared/corpus")).find(|folder| folder.is_dir())
    };
    let found = named.or_else(beside).map(|folder| folder.join("guides"));
    let found = found.filter(|folder| folder.join("MANIFEST.json").is_file());
    if found.is_none() {
        let words = "\nSKIPPED: no corpus of guides; name its folder with MILEPOST_CORPUS\n";
        std::io::stderr().write_all(words.as_bytes()).expect("writes");
    }
    found
}

/// The file name, text and verdict of every guide in the corpus.
fn guides() -> Vec<(String, Vec<u8>, bool)> {
    let Some(folder) = corpus() else { return Vec::new() };
    let list = fs::read(folder.join("MANIFEST.json")).expect("is there");
    let list: Vec<Value> = serde_json::from_slice(&list).expect("is a list");
    assert_eq!(list.len(), 57);
    list.iter()
        .map(|row| {
            let file = row["file"].as_str().expect("is text").to_owned();
            let text = fs::read(folder.join(&file)).expect("is there");
            (file, text, row["valid"] == true)
        })
        .collect()
}

#[test]
fn the_corpus_is_judged_as_its_list_says() {
    for (file, text, valid) in guides() {
        let document = read_as(&text, Format::Json);
        assert_eq!(document.is_valid(), valid, "{file}: {:#?}", document.violations);
        let odd = document.violations.iter().filter(|one| {
            let rules = ["not-acted-on", "version"];
            one.severity == Severity::Warning && !rules.contains(&one.rule.name())
        });
        let odd: Vec<_> = odd.map(|one| (one.rule.name(), &one.message)).collect();
        assert!(odd.is_empty(), "{file}: {odd:?}");
    }
}

#[test]
fn the_schema_accepts_every_valid_guide_of_the_corpus() {
    let validator = validator(Spelling::Guide);
    for (file, text, _) in guides().into_iter().filter(|(_, _, valid)| *valid) {
        let guide: Value = serde_json::from_slice(&text).expect("parses");
        let faults: Vec<String> = validator
            .iter_errors(&guide)
            .map(|fault| format!("{}: {fault:.200}", fault.instance_path()))
            .collect();
        assert!(faults.is_empty(), "{file}: {faults:#?}");
    }
}

#[test]
fn the_schemas_accept_the_examples() {
    assert!(validator(Spelling::Manifest).is_valid(&example("refund-order.yaml")));
    assert!(validator(Spelling::Guide).is_valid(&example("review-change.json")));
}

#[test]
fn the_schemas_let_a_document_name_its_schema() {
    let mut manifest = example("refund-order.yaml");
    manifest["$schema"] = "workflow.schema.json".into();
    assert!(validator(Spelling::Manifest).is_valid(&manifest));
}

/// A document with one value inserted or, for `REMOVE`, removed.
fn changed(document: &Value, pointer: &str, value: &Value) -> Value {
    let mut document = document.clone();
    let (parent, key) = pointer.rsplit_once('/').expect("has a slash");
    let parent = document.pointer_mut(parent).expect("is there");
    match parent {
        Value::Object(map) if value == "REMOVE" => {
            map.shift_remove(key);
        }
        Value::Object(map) => {
            map.insert(key.to_owned(), value.clone());
        }
        Value::Array(items) => items[key.parse::<usize>().expect("is a number")] = value.clone(),
        _ => unreachable!("{pointer} is in no map"),
    }
    document
}

/// Asserts that the schema and the decoder agree.
fn agree(spelling: Spelling, base: &Value, cases: &[(&str, Value, bool)]) {
    let validator = validator(spelling);
    for (pointer, value, fine) in cases {
        let document = changed(base, pointer, value);
        let decoded = read(document.to_string());
        assert_eq!(decoded.is_valid(), *fine, "{pointer} {value}: {:?}", decoded.violations);
        assert_eq!(validator.is_valid(&document), *fine, "{pointer} {value} by the schema");
    }
}

#[test]
fn schema_and_decoder_agree_on_manifests() {
    let base = json!({
        "workflow": "a", "title": "t", "concurrency": 2, "timeout": "1h", "tags": ["x"],
        "inputs": {"x": {"type": "string", "optional": true}},
        "steps": [
            {"id": "a", "prompt": "${{ inputs.x }}", "retry": {"max_attempts": 2}},
            {"id": "b", "run": "shop get", "with": {"id": 1}, "on_error": "fail"},
            {"id": "c", "approve": {"message": "ok?"}, "depends_on": ["b"]},
        ],
    });
    agree(
        Spelling::Manifest,
        &base,
        &[
            ("/title", json!("u"), true),
            ("/title", json!(5), false),
            ("/titel", json!("u"), false),
            ("/workflow", json!("REMOVE"), false),
            ("/workflow", json!("Not An Id"), false),
            ("/workflow", json!("a.b"), true),
            ("/workflow", json!("a.b.c"), false),
            ("/workflow", json!("x".repeat(64)), true),
            ("/workflow", json!("x".repeat(65)), false),
            ("/steps", json!([]), false),
            ("/steps", json!({}), false),
            ("/steps", json!("REMOVE"), false),
            ("/concurrency", json!(0), false),
            ("/concurrency", json!(64), true),
            ("/concurrency", json!(65), false),
            ("/concurrency", json!("2"), false),
            ("/concurrency", json!(1.5), false),
            ("/timeout", json!("soon"), false),
            ("/timeout", json!("10m"), true),
            ("/tags", json!("x"), false),
            ("/tags/0", json!(1), false),
            ("/inputs/x/type", json!("text"), false),
            ("/inputs/x/type", json!("integer"), true),
            ("/inputs/x/optional", json!("yes"), false),
            ("/inputs/x/bogus", json!(1), false),
            ("/inputs/x/mode", json!("many"), false),
            ("/steps/0/id", json!("REMOVE"), false),
            ("/steps/0/id", json!("A"), false),
            ("/steps/0/id", json!("a.b"), false),
            ("/steps/0/bogus", json!(1), false),
            ("/steps/0/retry/max_attempts", json!(0), false),
            ("/steps/0/retry/max_attempts", json!("2"), false),
            ("/steps/0/retry/backoff", json!("random"), false),
            ("/steps/0/retry/backoff", json!("exponential"), true),
            ("/steps/1/on_error", json!("ignore"), false),
            ("/steps/1/on_error", json!("continue"), true),
            ("/steps/1/with", json!([]), false),
            ("/steps/1/run", json!("REMOVE"), false),
            ("/steps/1/prompt", json!("two kinds"), false),
            ("/steps/2/depends_on", json!("b"), false),
            ("/steps/2/approve", json!("ok?"), true),
            ("/steps/2/approve", json!(5), false),
            ("/steps/2/approve/message", json!("REMOVE"), false),
            ("/budget", json!({"http_calls": -1}), false),
            ("/budget", json!({"bogus": 1}), false),
            ("/requires", json!({"catalogs": [{}]}), false),
            ("/requires", json!({"catalogs": [{"vendor": "shop"}]}), true),
        ],
    );
}

#[test]
fn schema_and_decoder_agree_on_guides() {
    let base = json!({
        "id": "abc", "name": "n", "description": "d", "version": "1.0.0",
        "steps": [
            {"id": "a", "title": "t", "prompt": "p", "runCondition": {"var": "x", "equals": 1}},
            {"id": "l", "type": "loop", "title": "t",
             "loop": {"type": "for", "count": 2, "maxIterations": 3},
             "body": [{"id": "b", "title": "t", "prompt": "p"}]},
        ],
    });
    agree(
        Spelling::Guide,
        &base,
        &[
            ("/id", json!("ab"), false),
            ("/id", json!("ABC"), false),
            ("/id", json!("a.b"), true),
            ("/id", json!("x".repeat(65)), false),
            ("/name", json!(""), false),
            ("/name", json!("x".repeat(128)), true),
            ("/name", json!("x".repeat(129)), false),
            ("/name", json!(1), false),
            ("/description", json!("REMOVE"), false),
            ("/description", json!("x".repeat(513)), false),
            ("/version", json!("one"), false),
            ("/version", json!("1.2"), false),
            ("/version", json!("1.2.3-rc.1+b"), true),
            ("/version", json!("REMOVE"), true),
            ("/bogus", json!(1), false),
            ("/assessments", json!([]), true),
            ("/metaGuidance", json!("x"), false),
            ("/metaGuidance", json!(["x"]), true),
            ("/steps", json!([]), false),
            ("/steps/0/title", json!("REMOVE"), false),
            ("/steps/0/prompt", json!("x".repeat(8193)), false),
            ("/steps/0/agentRole", json!("short"), false),
            ("/steps/0/agentRole", json!("long enough"), true),
            ("/steps/0/guidance", json!("x"), false),
            ("/steps/0/askForFiles", json!("yes"), false),
            ("/steps/0/bogus", json!(1), false),
            ("/steps/0/outputContract", json!({"anything": 1}), true),
            ("/steps/0/runCondition", json!({}), true),
            ("/steps/0/runCondition", json!([]), false),
            ("/steps/0/runCondition/equal", json!(1), false),
            ("/steps/0/runCondition/in", json!(1), false),
            ("/steps/0/runCondition/not", json!({"var": "y"}), true),
            ("/steps/0/requireConfirmation", json!("yes"), false),
            ("/steps/0/requireConfirmation", json!({"var": "x"}), true),
            ("/steps/1/loop/type", json!("forever"), false),
            ("/steps/1/loop/maxIterations", json!(0), false),
            ("/steps/1/loop/maxIterations", json!(1001), false),
            ("/steps/1/loop/maxIterations", json!("3"), false),
            ("/steps/1/loop/bogus", json!(1), false),
            ("/steps/1/body/0/id", json!("REMOVE"), false),
            ("/steps/1/type", json!("circle"), false),
        ],
    );
}

//! The official CEL conformance cases for the sections that our subset covers.
//!
//! `cel-expected-failures.txt` lists every case in which the language differs on purpose. The list
//! is strict: an unlisted failure fails the test, and so does a listed case that passes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use milepost_model::expr::{Expr, Fuel, MapScope, Outcome};
use serde_json::{Map, Value as Json};

const EXPECTED_FAILURES: &str = include_str!("cel-expected-failures.txt");

const SECTIONS: [&str; 12] = [
    "basic",
    "comparisons",
    "conversions",
    "fields",
    "fp_math",
    "integer_math",
    "lists",
    "logic",
    "macros",
    "optionals",
    "parse",
    "string",
];

#[test]
#[expect(clippy::print_stderr, reason = "a skipped suite must not look like a passed one")]
fn cel_spec() {
    let Some(path) = corpus() else {
        eprintln!("SKIPPED: no CEL conformance corpus; set MILEPOST_CORPUS to its directory");
        return;
    };
    let text = std::fs::read_to_string(&path).unwrap();
    let mut expected = expected_failures();
    let mut by_reason: BTreeMap<&str, usize> = BTreeMap::new();
    let mut problems = Vec::new();
    let mut passed = 0;
    for line in text.lines() {
        let case: Json = serde_json::from_str(line).unwrap();
        let part = |key: &str| case[key].as_str().unwrap_or_default();
        if !SECTIONS.contains(&part("section")) {
            continue;
        }
        let name = format!("{}/{}/{}", part("section"), part("group"), part("name"));
        match (run(&case), expected.remove(name.as_str())) {
            (Ok(()), None) => passed += 1,
            (Err(_), Some(reason)) => *by_reason.entry(reason).or_default() += 1,
            (Ok(()), Some(reason)) => problems.push(format!("{name} passes, listed as {reason}")),
            (Err(why), None) => {
                problems.push(format!("{name} fails: {why}\n    {}", part("expr")));
            }
        }
    }
    problems.extend(expected.keys().map(|name| format!("{name} is listed but does not exist")));
    eprintln!("CEL conformance: {passed} passed, expected failures {by_reason:?}");
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

fn corpus() -> Option<PathBuf> {
    let inside =
        |root: &Path| Some(root.join("cel/conformance.jsonl")).filter(|path| path.is_file());
    if let Some(root) = std::env::var_os("MILEPOST_CORPUS") {
        return inside(Path::new(&root));
    }
    let mut ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    ancestors.find_map(|directory| inside(&directory.join("shared/corpus")))
}

/// Expected failures, as case name to reason.
fn expected_failures() -> BTreeMap<&'static str, &'static str> {
    EXPECTED_FAILURES
        .lines()
        .filter(|line| !line.starts_with('#') && !line.trim().is_empty())
        .map(|line| line.split_once("  ").map(|(name, reason)| (name, reason.trim())).unwrap())
        .collect()
}

fn run(case: &Json) -> Result<(), String> {
    let source = case["expr"].as_str().unwrap();
    let scope = MapScope::new(bindings(case)?);
    let evaluate = |source: &str| {
        let expr = Expr::parse(source).map_err(|error| error.to_string())?;
        Ok::<_, String>(expr.eval(&scope, &mut Fuel::default()))
    };
    let Some(value) = case.get("value") else {
        // A source that does not parse does not prove that its evaluation fails.
        return match evaluate(source)? {
            Ok(found) => Err(format!("an error was expected, found {found:?}")),
            Err(_) => Ok(()),
        };
    };
    // JSON has neither bytes nor types, so they are compared within the language itself. The line
    // break terminates a comment at the end of the case.
    let (source, expected) = if let Some(bytes) = value.get("bytesValue") {
        (format!("base64({source}\n)"), bytes.clone())
    } else if let Some(name) = value.get("typeValue") {
        (format!("({source}\n) == {}", name.as_str().unwrap()), Json::Bool(true))
    } else {
        (source.to_owned(), plain(value)?)
    };
    match evaluate(&source)? {
        Ok(Outcome::Value(found)) if same(&found, &expected) => Ok(()),
        Ok(found) => Err(format!("{found:?} is not {expected}")),
        Err(error) => Err(error.to_string()),
    }
}

fn bindings(case: &Json) -> Result<Map<String, Json>, String> {
    let Some(bindings) = case.get("bindings").and_then(Json::as_object) else {
        return Ok(Map::new());
    };
    bindings.iter().map(|(name, bound)| Ok((name.clone(), plain(&bound["value"])?))).collect()
}

/// Converts a value from the corpus's protobuf form to plain JSON.
fn plain(value: &Json) -> Result<Json, String> {
    let (kind, inner) = value.as_object().and_then(|value| value.iter().next()).unwrap();
    Ok(match kind.as_str() {
        "nullValue" => Json::Null,
        "boolValue" | "stringValue" => inner.clone(),
        "int64Value" => inner.as_str().unwrap().parse::<i64>().unwrap().into(),
        "doubleValue" => match inner.as_f64() {
            Some(double) => double.into(),
            None => return Err(format!("{inner} is not finite")),
        },
        "listValue" => {
            let values = inner.get("values").and_then(Json::as_array);
            let items: Result<Vec<Json>, String> =
                values.into_iter().flatten().map(plain).collect();
            items?.into()
        }
        "mapValue" => {
            let entries = inner.get("entries").and_then(Json::as_array);
            let mut map = Map::new();
            for entry in entries.into_iter().flatten() {
                let key = match plain(&entry["key"])? {
                    Json::String(key) => key,
                    other => other.to_string(),
                };
                map.insert(key, plain(&entry["value"])?);
            }
            map.into()
        }
        other => return Err(format!("JSON has no {other}")),
    })
}

/// Equality that distinguishes integers from floating-point numbers and ignores the order of keys.
fn same(found: &Json, expected: &Json) -> bool {
    match (found, expected) {
        (Json::Number(found), Json::Number(expected)) => {
            found.is_f64() == expected.is_f64()
                && found.as_f64() == expected.as_f64()
                && found.as_i64() == expected.as_i64()
        }
        (Json::Array(found), Json::Array(expected)) => {
            found.len() == expected.len()
                && found.iter().zip(expected).all(|(found, expected)| same(found, expected))
        }
        (Json::Object(found), Json::Object(expected)) => {
            found.len() == expected.len()
                && found.iter().all(|(key, found)| {
                    expected.get(key).is_some_and(|expected| same(found, expected))
                })
        }
        _ => found == expected,
    }
}

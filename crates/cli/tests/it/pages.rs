//! `milepost docs` with the real binary: every user-facing page is included unchanged.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::Place;
use crate::catalog::problem;
use crate::docs::read;

#[test]
fn every_page_is_printed_unchanged() {
    let place = Place::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let entries = fs::read_dir(&folder).expect("reads").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let pages: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
        // Left out of the binary: people who build from source have the file.
        .filter(|name| name != "ARCHITECTURE")
        .collect();
    let listed = place.say("docs --json").ends(0).quiet().json();
    let topics = listed["topics"].as_array().expect("a list");
    for page in &pages {
        let text = place.run(["docs", page]).ends(0).quiet().out;
        assert_eq!(text.trim_end(), read(&format!("docs/{page}.md")).trim_end(), "{page}");
        assert!(topics.iter().any(|topic| topic["topic"] == **page), "{page} is not listed");
    }
    assert_eq!(topics.len(), pages.len() + 1, "these and the list of errors");
    let shown = place.say("docs").ends(0);
    assert!(shown.out.starts_with("TOPIC ") && shown.out.contains("durability"), "{}", shown.out);
    assert!(shown.err.starts_with("next: milepost docs "), "{}", shown.err);
}

#[test]
fn every_error_has_its_page() {
    let place = Place::new();
    let listed = place.say("docs --json").ends(0).json();
    let errors: Vec<&str> =
        listed["errors"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let codes: Vec<&str> =
        milepost_model::problem::Code::ALL.iter().map(|code| code.name()).collect();
    assert!(codes.iter().all(|code| errors.contains(code)), "{errors:?}");
    let page = read("docs/errors/WORKFLOW_INVALID.md");
    let same =
        ["WORKFLOW_INVALID", "workflow_invalid", "workflow-invalid", "errors/WORKFLOW_INVALID.md"];
    for name in same {
        assert_eq!(place.run(["docs", name]).ends(0).quiet().out.trim_end(), page.trim_end());
    }
    let told = place.run(["docs", "WORKFLOW_INVALID", "--json"]).ends(0).json();
    assert_eq!((&told["title"], &told["text"]), (&"WORKFLOW_INVALID".into(), &page.into()));
}

#[test]
fn a_misspelt_page_is_reported_with_a_suggestion() {
    let place = Place::new();
    for (name, meant) in [
        ("durabilty", "did you mean `milepost docs durability`?"),
        ("WORKFLOW_INVALD", "did you mean `milepost docs WORKFLOW_INVALID`?"),
        ("catalog", "did you mean `milepost docs catalogs`?"),
        ("../../etc/passwd", "`milepost docs` lists the pages"),
    ] {
        let told = problem(&place.run(["docs", name, "--json"]).ends(2));
        assert_eq!(told["suggested_action"], meant, "{name}");
    }
}

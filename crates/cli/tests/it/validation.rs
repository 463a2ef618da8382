//! Validation against imported commands: one document for each violation and each warning, with the
//! real binary and a real catalog.

use std::fmt::Write as _;

use serde_json::Value;

use crate::Place;

const CASES: &str = include_str!("validation.txt");

#[test]
fn every_violation_and_warning_is_found_alone_at_its_place() {
    let cases: Vec<(&str, &str)> =
        CASES.split("\n## ").skip(1).filter_map(|case| case.split_once('\n')).collect();
    assert!(cases.len() > 50, "{} cases are too few", cases.len());
    assert_eq!(differences(&cases), "");
}

/// The documents whose findings differ from the expected ones.
fn differences(cases: &[(&str, &str)]) -> String {
    let place = Place::shop();
    let child = "workflow: child\ninputs: {name: {}}\n\
                 steps: [{id: a, prompt: \"${{ inputs.name }}\"}]\n";
    let library = place.root.path().join("home/.config/milepost/workflows");
    std::fs::create_dir_all(&library).expect("made");
    std::fs::write(library.join("child.yaml"), child).expect("written");
    for (index, (_, document)) in cases.iter().enumerate() {
        place.put(&format!("{index}.yaml"), &format!("workflow: w\n{document}"));
    }
    let names = (0..cases.len()).map(|index| format!("{index}.yaml"));
    let arguments = ["workflow", "validate", "--json"].map(str::to_owned).into_iter().chain(names);
    let told = place.run(arguments).json();
    let mut wrong = String::new();
    for (index, (expected, document)) in cases.iter().enumerate() {
        let found = told["files"][index]["violations"].as_array().expect("a list");
        let words = |one: &Value| ["severity", "rule", "path"].map(|key| text(&one[key])).join(" ");
        let found: Vec<String> = found.iter().map(words).collect();
        if found != [*expected] {
            let _ = writeln!(wrong, "## {expected}\n{document}found: {found:#?}\n");
        }
    }
    wrong
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

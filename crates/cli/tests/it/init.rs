//! `milepost init` with the real binary: the files it creates validate and run, and existing files
//! are kept.

use std::fs;

use serde_json::{Value, json};

use crate::{Place, finish};

const MADE: &[&str] = &[
    ".milepost/README.md",
    ".milepost/.gitignore",
    ".milepost/shop.yaml",
    ".milepost/workflows/order-report.yaml",
    ".milepost/config.toml",
    ".milepost/catalogs/shop-api.toml",
];

fn texts(place: &Place) -> Vec<String> {
    MADE.iter().map(|name| place.text(name)).collect()
}

#[test]
fn the_sample_validates_and_runs_on_the_mock() {
    let place = Place::new();
    let ran = place.say("init").ends(0);
    for name in MADE {
        assert!(
            ran.out.contains(&format!("created {}", place.path(name).display())),
            "{}",
            ran.out
        );
        assert!(place.path(name).is_file(), "{name}");
    }
    assert_eq!(ran.err, "next: milepost run order-report --mock\n");
    place.workflow("validate order-report").ends(0).quiet();
    let next = ran.err.trim_start_matches("next: milepost ").trim_end();
    let run = place.say(&format!("{next} --json")).ends(0).out;
    let last: Value = serde_json::from_str(run.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["status"], "succeeded");
    // The catalog belongs to the project, and `doctor` finds nothing wrong.
    assert!(!place.root.path().join("home/.config").exists());
    place.say("doctor").ends(0);
    for name in MADE {
        // A project can be moved: only the catalog's record contains its origin.
        let elsewhere = name.ends_with("shop-api.toml");
        let root = place.root.path().display().to_string();
        assert!(elsewhere || !place.text(name).contains(&root), "{name}");
    }
}

#[test]
fn existing_files_stay() {
    let place = Place::with(&[(".milepost/config.toml", "# mine\n")]);
    let told = place.say("init --json").ends(0).quiet().json();
    let config = place.path(".milepost/config.toml").display().to_string();
    assert_eq!(told["kept"], json!([config]));
    assert_eq!(told["made"].as_array().map(Vec::len), Some(MADE.len() - 1));
    assert_eq!(place.text(".milepost/config.toml"), "# mine\n");
    place.put(".milepost/workflows/order-report.yaml", "workflow: order-report\n# mine\n");
    let before = texts(&place);
    let told = place.say("init --json").ends(0).quiet().json();
    assert_eq!(told["made"], json!([]));
    assert_eq!(told["kept"].as_array().map(Vec::len), Some(MADE.len()));
    assert_eq!(texts(&place), before);
}

#[test]
fn a_missing_folder_is_created() {
    let place = Place::new();
    let told = place.run(["init", "my project", "--json"]).ends(0).json();
    assert_eq!(told["next"], "cd 'my project' && milepost run order-report --mock");
    assert_eq!(told["project"], place.path("my project").display().to_string());
    assert!(place.path("my project/.milepost/config.toml").is_file());
    let mut there = place.command();
    there.current_dir(place.path("my project"));
    finish(there.args(["run", "order-report", "--mock"]), "").ends(0);
    // A variable that takes precedence over the project is reported, but the project is still
    // complete.
    let mut command = place.command();
    command.env("REGISTRY_CONFIG_PATH", "elsewhere.toml").args(["init", "other"]);
    let ran = finish(&mut command, "").ends(0);
    assert!(ran.err.contains("`REGISTRY_CONFIG_PATH` is set"), "{}", ran.err);
    assert!(place.path("other/.milepost/catalogs/shop-api.toml").is_file());
    assert!(!place.path("catalogs").exists());
}

#[test]
fn a_file_in_the_way_is_reported() {
    let place = Place::new();
    fs::write(place.path(".milepost"), "").expect("writes");
    let ran = place.say("init").ends(75);
    assert!(ran.err.contains(".milepost` is a file, not a folder"), "{}", ran.err);
    assert_eq!(place.text(".milepost"), "");
}

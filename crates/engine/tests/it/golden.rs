//! Journals of every version stay readable and keep their meaning forever. Never edit a line of a
//! released version's journals. `current` is what this version writes; it becomes the folder of a
//! version when that version is released.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use milepost_engine::event::JournalEntry;
use milepost_engine::state::State;

use crate::rendering;
use crate::scenarios::ALL;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/golden")
}

#[test]
fn journals_of_every_version_come_to_what_they_came_to() {
    let versions = fs::read_dir(folder()).expect("the folder is there").flatten();
    let versions: Vec<PathBuf> = versions.map(|version| version.path()).collect();
    assert!(versions.iter().any(|version| version.ends_with("0.1.0")), "{versions:?}");
    versions.iter().for_each(|version| check_version(version));
}

fn check_version(version: &Path) {
    let mut read = 0;
    for file in fs::read_dir(version).expect("the folder is there").flatten() {
        let path = file.path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("a golden journal is readable");
        let entries: Vec<JournalEntry> = text
            .lines()
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect();
        let state =
            State::fold(&entries).expect("an old journal is legal").expect("it has entries");
        let lines: Vec<String> = entries[1..].iter().map(rendering::line).collect();
        let told = format!("{}\n\n{}\n", lines.join("\n"), rendering::outcome(&state));
        expect_file![path.with_extension("txt")].assert_eq(&told);
        read += 1;
    }
    assert!(read >= ALL.len(), "{read} journals");
}

#[test]
fn journals_are_written_as_the_current_ones() {
    for scenario in ALL {
        let run = scenario.run();
        let lines: Vec<String> = run
            .journal
            .iter()
            .map(|entry| serde_json::to_string(entry).expect("an entry is JSON"))
            .collect();
        let path = folder().join("current").join(format!("{}.jsonl", scenario.name));
        expect_file![path].assert_eq(&(lines.join("\n") + "\n"));
    }
}

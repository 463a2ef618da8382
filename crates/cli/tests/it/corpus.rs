//! Runs real and hostile documents through the real binary.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Place, Ran, finish};

/// The time limit for a hostile document.
const TIME: Duration = Duration::from_secs(1);
const MEMORY_KIB: u64 = 200 * 1024;

/// A folder of the corpus, named by the environment or next to the checkout.
fn corpus(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("MILEPOST_CORPUS").map(PathBuf::from);
    let beside = || {
        let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        above.map(|folder| folder.join("shared/corpus")).find(|folder| folder.is_dir())
    };
    let found = named.or_else(beside).map(|folder| folder.join(name)).filter(|it| it.is_dir());
    if found.is_none() {
        let words = format!("\nSKIPPED: no corpus `{name}`; name it with MILEPOST_CORPUS\n");
        std::io::stderr().write_all(words.as_bytes()).expect("writes");
    }
    found
}

fn documents(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("is there").flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    let is_document = |path: &PathBuf| {
        let end = path.extension().and_then(|end| end.to_str());
        matches!(end, Some("json" | "yaml" | "yml")) && !path.ends_with("MANIFEST.json")
    };
    paths.retain(is_document);
    paths.sort();
    paths
}

fn catalog(place: &Place, words: &[&str], path: &Path) -> Ran {
    finish(place.command().arg("catalog").args(words).arg(path), "")
}

/// Runs the command in a shell that limits its address space, which is larger than the memory it
/// touches. A process that requests more is killed.
fn measured(place: &Place, path: &Path) -> (Ran, Duration) {
    let script = format!("ulimit -v {MEMORY_KIB}; exec \"$0\" catalog validate --json \"$1\"");
    let mut shell = Command::new("sh");
    let own = place.command();
    shell.current_dir(place.path("")).env_clear();
    shell.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    // By default the allocator reserves all the address space it can get, which would leave too
    // little.
    shell.env("MIMALLOC_ARENA_RESERVE", "16M");
    shell.args(["-c", &script, env!("CARGO_BIN_EXE_milepost")]).arg(path);
    let start = Instant::now();
    let ran = finish(&mut shell, "");
    (ran, start.elapsed())
}

#[test]
fn hostile_documents_take_little_time_and_memory() {
    let Some(folder) = corpus("hostile-openapi") else { return };
    let place = Place::new();
    let paths = documents(&folder);
    assert!(paths.len() >= 31, "{}", paths.len());
    for path in paths {
        let (ran, took) = measured(&place, &path);
        let name = path.display();
        assert!(matches!(ran.code, 0 | 2), "{name}: {} {}", ran.code, ran.err);
        assert!(!ran.err.contains("panicked"), "{name}: {}", ran.err);
        let response: Value = serde_json::from_str(&ran.out).expect("is JSON");
        assert_eq!(response["valid"] == true, ran.code == 0, "{name}");
        assert_eq!(
            response["violations"].as_array().map(Vec::is_empty),
            Some(ran.code == 0),
            "{name}"
        );
        assert!(took < TIME * patience(), "{name} took {took:?}");
    }
}

/// A factor that allows for an unoptimised binary on a busy machine.
fn patience() -> u32 {
    if cfg!(debug_assertions) { 5 } else { 1 }
}

#[test]
fn every_real_document_is_imported_completely() {
    let Some(folder) = corpus("openapi") else { return };
    let place = Place::new();
    let paths = documents(&folder);
    assert!(paths.len() >= 60, "{}", paths.len());
    let mut commands = 0;
    for (number, path) in paths.iter().enumerate() {
        let name = path.display();
        let title = format!("doc-{number}");
        let import = ["import", "--json", "--title", &title, "--vendor", &title];
        let ran = catalog(&place, &import, path).ends(0).quiet();
        let told = ran.json();
        let count = |key: &str| told[key].as_u64().expect("is a number");
        let warnings = told["warnings"].as_array().expect("is a list");
        let dropped = warnings.iter().filter(|one| is_dropped(one)).count();
        assert_eq!(count("operation_count"), count("command_count") + dropped as u64, "{name}");
        commands += count("command_count");
        if number % 8 == 0 {
            keeps_its_names(&place, &title, path);
        }
    }
    assert!(commands > 1_000, "{commands}");
    let listed = place.say("catalog list --json").ends(0).quiet().json();
    assert_eq!(listed["catalogs"].as_array().map(Vec::len), Some(paths.len()));
}

/// Whether a warning is about an operation that did not become a command.
fn is_dropped(warning: &Value) -> bool {
    warning["message"].as_str().is_some_and(|text| text.contains("operation must be a map"))
}

fn keeps_its_names(place: &Place, title: &str, path: &Path) {
    let record = place.root.path().join(format!("home/.config/milepost/catalogs/{title}.toml"));
    let before = fs::read_to_string(&record).expect("is there");
    let again = ["import", "--json", "--overwrite", "--title", title, "--vendor", title];
    let told = catalog(place, &again, path).ends(0).quiet().json();
    assert_eq!(told["replaced"], true);
    // A document that contains only webhooks has no operations.
    let names = |text: &str| text.find("[names]").map(|at| text[at..].to_owned());
    assert_eq!(names(&fs::read_to_string(&record).expect("is there")), names(&before));
}

#[test]
fn a_document_of_many_files_imports() {
    let Some(folder) = corpus("openapi-multi") else { return };
    let place = Place::new();
    let root = folder.display().to_string();
    let mut imported = 0;
    for path in all(&folder) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        if !text.starts_with("swagger:") && !text.starts_with("openapi:") {
            continue;
        }
        let words = ["import", "--json", "--refs-root", &root];
        let told = catalog(&place, &words, &path).ends(0).quiet().json();
        assert!(told["command_count"].as_u64() > Some(0), "{told}");
        let warnings = told["warnings"].as_array().expect("is a list");
        let lost = warnings
            .iter()
            .filter(|one| one["rule"].as_str().is_some_and(|rule| rule.contains("ref")));
        assert_eq!(lost.count(), 0, "{told}");
        imported += 1;
    }
    assert!(imported > 0, "nothing to import in {root}");
}

fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found = crate::secret::files(folder);
    found.retain(|path| path.extension().is_some_and(|end| end == "yaml" || end == "json"));
    found.sort();
    found
}

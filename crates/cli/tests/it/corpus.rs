//! Real documents and hostile ones, through the real binary.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{Place, Ran, finish};

/// What a hostile document may take.
const TIME: Duration = Duration::from_secs(1);
const MEMORY_KIB: u64 = 200 * 1024;

/// A folder of the corpus: named by the environment, or beside the checkout.
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

/// Runs it in a shell that asks the system for the most memory it ever held.
fn measured(place: &Place, path: &Path) -> (Ran, Duration, u64) {
    let mut command = place.command();
    let binary = env!("CARGO_BIN_EXE_milepost");
    // Address space is bounded, so that what is asked for and never touched is seen as well;
    // `VmHWM` of the process itself would be gone with it.
    let script = "ulimit -v 1048576; exec \"$0\" catalog validate --json \"$1\"";
    let mut shell = Command::new("sh");
    shell.current_dir(place.path("")).env_clear();
    shell.envs(command.env("PATH", "/usr/bin:/bin").get_envs().filter_map(|(k, v)| Some((k, v?))));
    shell.args(["-c", script, binary]).arg(path);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let start = Instant::now();
    let child = shell.spawn().expect("starts");
    let status = format!("/proc/{}/status", child.id());
    let (stop, stopped) = std::sync::mpsc::channel::<()>();
    let watcher = std::thread::spawn(move || {
        let mut most = 0;
        while stopped.recv_timeout(Duration::from_micros(500)).is_err() {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let held = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            most = most.max(held.unwrap_or(0));
        }
        most
    });
    let output = child.wait_with_output().expect("ends");
    let took = start.elapsed();
    let _ = stop.send(());
    let most = watcher.join().expect("watches");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("is text");
    let code = output.status.code().expect("is not killed");
    (Ran { code, out: text(output.stdout), err: text(output.stderr) }, took, most)
}

#[test]
fn hostile_documents_are_judged_quickly_and_in_little_memory() {
    let Some(folder) = corpus("hostile-openapi") else { return };
    let place = Place::new();
    let paths = documents(&folder);
    assert!(paths.len() >= 31, "{}", paths.len());
    for path in paths {
        let (ran, took, most) = measured(&place, &path);
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
        assert!(most > 0, "{name}: its memory was never seen");
        assert!(most < MEMORY_KIB, "{name} held {most} KiB");
    }
}

/// A binary without optimisation, on a machine that does other things too.
fn patience() -> u32 {
    if cfg!(debug_assertions) { 5 } else { 1 }
}

#[test]
fn every_real_document_imports_whole() {
    let Some(folder) = corpus("openapi") else { return };
    let place = Place::new();
    let paths = documents(&folder);
    assert!(paths.len() >= 60, "{}", paths.len());
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
        assert!(count("command_count") > 0, "{name}");
        if number % 8 == 0 {
            keeps_its_names(&place, &title, path);
        }
    }
    let listed = place.say("catalog list --json").ends(0).quiet().json();
    assert_eq!(listed["catalogs"].as_array().map(Vec::len), Some(paths.len()));
}

/// A warning that stands for an operation which is no command.
fn is_dropped(warning: &Value) -> bool {
    warning["message"].as_str().is_some_and(|text| text.contains("operation must be a map"))
}

fn keeps_its_names(place: &Place, title: &str, path: &Path) {
    let record = place.root.path().join(format!("home/.config/milepost/catalogs/{title}.toml"));
    let before = fs::read_to_string(&record).expect("is there");
    let again = ["import", "--json", "--overwrite", "--title", title, "--vendor", title];
    let told = catalog(place, &again, path).ends(0).quiet().json();
    assert_eq!(told["replaced"], true);
    let names = |text: &str| {
        let at = text.find("[names]").expect("names are kept");
        text[at..].to_owned()
    };
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

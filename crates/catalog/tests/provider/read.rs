//! Shared helpers: documents and their providers.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use milepost_catalog::document::ParsedDocument;
use milepost_catalog::import::Inspection;
use milepost_catalog::naming::AssignedNames;
use milepost_catalog::openapi::Api;
use milepost_catalog::provider::{self, InferredProvider};
use milepost_catalog::table::Row;

/// The names and bytes of the real documents. If they are missing, prints a notice and returns
/// none.
pub(crate) fn corpus() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus/openapi");
    let Ok(entries) = fs::read_dir(&folder) else {
        say(&format!("\nSKIPPED: there is no corpus at {}", folder.display()));
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "json" || ext == "yaml"))
        .collect();
    files.sort();
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    files.iter().map(|path| (name(path), fs::read(path).expect("a file"))).collect()
}

/// The table and the providers of a document.
pub(crate) fn providers(bytes: &[u8]) -> (Vec<Row>, Vec<InferredProvider>) {
    let reading = ParsedDocument::read(bytes).expect("a readable document");
    let api = Api::new(reading).expect("an API");
    let rows = Inspection::of(&api).into_rows(&AssignedNames::new());
    let providers = provider::infer(&api, &rows);
    (rows, providers)
}

/// Prints a message for the person running the tests.
pub(crate) fn say(words: &str) {
    std::io::stderr().write_all(format!("{words}\n").as_bytes()).expect("writes");
}

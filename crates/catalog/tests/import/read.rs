//! Shared helpers: documents and their locations.

use std::fs;
use std::path::{Path, PathBuf};

use milepost_catalog::document::ParsedDocument;
use milepost_catalog::import::Inspection;
use milepost_catalog::naming::AssignedNames;
use milepost_catalog::openapi::Api;
use milepost_catalog::table::Row;

/// The documents in a folder of the corpus. If the folder is missing, prints a notice and returns
/// none.
#[expect(clippy::print_stderr, reason = "a test that is left out says so")]
pub(crate) fn corpus(folder: &str) -> Vec<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus").join(folder);
    let Ok(entries) = fs::read_dir(&path) else {
        eprintln!("SKIPPED: there is no corpus at {}", path.display());
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "json" || ext == "yaml"))
        .collect();
    files.sort();
    files
}

/// Parses a document that must be an API.
pub(crate) fn api(bytes: &[u8]) -> Api {
    let reading = ParsedDocument::read(bytes).expect("a readable document");
    Api::new(reading).expect("an API")
}

/// The table of a first import.
pub(crate) fn rows(api: &Api) -> Vec<Row> {
    Inspection::of(api).into_rows(&AssignedNames::new())
}

pub(crate) fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

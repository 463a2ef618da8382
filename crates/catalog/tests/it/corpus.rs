//! Documents of real services and of attackers, stored next to the checkout rather than in it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A folder of the corpus, named by the environment or next to the checkout.
pub(crate) fn folder(name: &str) -> Option<PathBuf> {
    let named = std::env::var_os("MILEPOST_CORPUS").map(PathBuf::from);
    let beside = || {
        let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        above.map(|folder| folder.join("shared/corpus")).find(|folder| folder.is_dir())
    };
    let found = named.or_else(beside).map(|folder| folder.join(name));
    let found = found.filter(|folder| folder.is_dir());
    if found.is_none() {
        let words = format!("\nSKIPPED: no corpus `{name}`; name its folder by MILEPOST_CORPUS\n");
        std::io::stderr().write_all(words.as_bytes()).expect("writes");
    }
    found
}

/// The names and bytes of all documents in a folder, sorted by name.
pub(crate) fn documents(name: &str) -> Vec<(String, Vec<u8>)> {
    let Some(folder) = folder(name) else { return Vec::new() };
    let mut paths: Vec<PathBuf> =
        fs::read_dir(&folder).expect("lists").map(|entry| entry.expect("reads").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "json" || end == "yaml"));
    paths.sort();
    assert!(!paths.is_empty(), "{} has no documents", folder.display());
    let name = |path: &Path| path.file_name().expect("is a file").to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), fs::read(path).expect("reads"))).collect()
}

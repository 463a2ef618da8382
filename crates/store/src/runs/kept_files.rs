//! Files next to the database that runs refer to, each named by the hash of its content. They are
//! part of a backup, and are removed once no run refers to them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::{blobs, documents, limits};

/// The folders that contain these files. All of them are part of a backup.
pub(super) const FOLDERS: &[&str] = &[blobs::FOLDER, documents::FOLDER];

/// Other files in a backup: the data for signing decisions.
pub(super) const BESIDE: &[&str] = &["person.json"];

/// Length of a file name: a SHA-256 in hexadecimal.
pub(super) const NAME_CHARS: usize = 64;

/// A file that runs may refer to.
#[derive(Debug)]
pub(super) struct StoredFile {
    pub(super) folder: &'static str,
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
}

pub(super) fn all(directory: &Path) -> Vec<StoredFile> {
    list(directory, FOLDERS).into_iter().map(|(file, _)| file).collect()
}

/// The blobs for which `is_unused` returns true, given their name and the time they were last
/// stored. Other folders are not considered: catalog documents are cleaned up separately.
pub(super) fn unused_since(
    directory: &Path,
    is_unused: impl Fn(&str, u64) -> bool,
) -> Vec<StoredFile> {
    let files = list(directory, &[blobs::FOLDER]).into_iter();
    let unused = files.filter(|(file, kept_ms)| is_unused(&file.name, *kept_ms));
    unused.map(|(file, _)| file).collect()
}

fn list(directory: &Path, folders: &[&'static str]) -> Vec<(StoredFile, u64)> {
    let mut found = Vec::new();
    for folder in folders {
        let Ok(entries) = fs::read_dir(directory.join(folder)) else { continue };
        for entry in entries.take(limits::KEPT_FILES).flatten() {
            let (Ok(metadata), Ok(name)) = (entry.metadata(), entry.file_name().into_string())
            else {
                continue;
            };
            let is_hash = name.len() == NAME_CHARS
                && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
            if !metadata.is_file() || !is_hash {
                continue;
            }
            let kept = metadata.modified().unwrap_or_else(|_| SystemTime::now());
            let kept = kept.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let kept_ms = u64::try_from(kept.as_millis()).unwrap_or(u64::MAX);
            let (path, bytes) = (entry.path(), metadata.len());
            found.push((StoredFile { folder, name, path, bytes }, kept_ms));
        }
    }
    found
}

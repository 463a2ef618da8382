//! Files beside the database that runs refer to: what a copy of the runs needs too, and what goes
//! when no run names it any more. Each is named by the hash of what it holds.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::{blobs, documents, limits};

/// The folders that they are in. A copy of the runs holds all of them.
pub(super) const FOLDERS: &[&str] = &[blobs::FOLDER, documents::FOLDER];

/// Files that a copy holds besides: what decisions are signed with.
pub(super) const BESIDE: &[&str] = &["person.json"];

/// Characters of a name: a SHA-256 in hexadecimal digits.
pub(super) const NAME_CHARS: usize = 64;

/// A file.
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

/// Those that nobody is about to name, as somebody says of a name and the time it was last kept.
/// Only files whose names runs mention are ever removed for that: no others are looked at.
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

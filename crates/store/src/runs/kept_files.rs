//! Files next to the database that runs refer to, each named by the hash of its content. They are
//! part of a backup, and are removed once no run refers to them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::documents::{BLOBS, DOCUMENTS};
use crate::limits;

/// The folders that contain these files, all of which are part of a backup.
pub(super) const FOLDERS: &[&str] = &[BLOBS, DOCUMENTS];

/// Other files in a backup: the data for signing decisions.
pub(super) const BESIDE: &[&str] = &["person.json"];

/// Length of a file name: a SHA-256 hash in hexadecimal.
pub(super) const NAME_CHARS: usize = 64;

/// A file that runs may refer to.
#[derive(Debug)]
pub(super) struct StoredFile {
    pub(super) folder: &'static str,
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// When it was last stored.
    pub(super) kept_ms: u64,
}

pub(super) fn list(directory: &Path, folders: &[&'static str]) -> Vec<StoredFile> {
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
            found.push(StoredFile { folder, name, path, bytes, kept_ms });
        }
    }
    found
}

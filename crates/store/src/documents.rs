//! Catalog documents that runs are pinned to, stored under the hash of their bytes. A document may
//! be many megabytes, so it is written once, and starting a run only checks that it exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use milepost_catalog::limits::DOCUMENT_BYTES;

use crate::file::{self, FileError, FileMode, WriteOptions};
use crate::{Digest, Locations, limits};

pub(crate) const DOCUMENTS: &str = "documents";
pub(crate) const BLOBS: &str = "blobs";

/// The documents that are kept for runs.
#[derive(Debug, Clone)]
pub struct KeptDocuments {
    path: PathBuf,
}

impl KeptDocuments {
    /// The documents in a data directory. Does not touch the disk.
    pub fn at(data: &Path) -> KeptDocuments {
        KeptDocuments { path: data.join(DOCUMENTS) }
    }

    /// Whether a document is stored.
    pub fn has(&self, hash: Digest) -> bool {
        self.file(hash).is_file()
    }

    /// Like [`Self::has`], but for a run that is about to start: also resets the document's age, so
    /// that [`Self::retain`] does not remove it.
    pub fn renew(&self, hash: Digest) -> bool {
        let file = fs::File::options().write(true).open(self.file(hash));
        file.is_ok_and(|file| file.set_modified(SystemTime::now()).is_ok())
    }

    /// Stores a document under its hash, unless it is already there.
    pub fn keep(&self, hash: Digest, bytes: &[u8]) -> Result<(), FileError> {
        file::make_directory(&self.path, FileMode::Owner)?;
        match file::write(&self.file(hash), bytes, WriteOptions::PRIVATE_NEW) {
            Err(FileError::Exists { .. }) => Ok(()),
            written => written,
        }
    }

    /// Reads a document; `None` if it is missing or damaged.
    pub fn read(&self, hash: Digest) -> Result<Option<Vec<u8>>, FileError> {
        let bytes = file::if_present(file::read_document(&self.file(hash), DOCUMENT_BYTES))?;
        Ok(bytes.filter(|bytes| Digest::of(bytes) == hash))
    }

    /// The path of a document's file.
    pub fn file(&self, hash: Digest) -> PathBuf {
        self.path.join(hash.to_string())
    }

    /// Removes the documents that are no longer referenced, except recently written ones: the run
    /// they were written for may be about to start. Returns how many were removed.
    pub fn retain(&self, referred: &BTreeSet<Digest>) -> Result<u64, FileError> {
        let mut removed = 0;
        let entries = fs::read_dir(&self.path).map_err(|error| FileError::of(&self.path, error));
        for entry in file::if_present(entries)?.into_iter().flatten().flatten() {
            let hash = entry.file_name().to_str().and_then(Digest::parse);
            let unused = hash.is_some_and(|hash| !referred.contains(&hash));
            if unused && age(&entry) >= limits::DOCUMENT_UNUSED && file::remove(&entry.path())? {
                removed += 1;
            }
        }
        Ok(removed)
    }
}

/// Binary data that runs refer to, stored like documents.
#[derive(Debug, Clone)]
pub struct Blobs(KeptDocuments);

impl Blobs {
    /// The user's blobs. Does not touch the disk.
    pub fn open(locations: &Locations) -> Blobs {
        Blobs(KeptDocuments { path: locations.data.join(BLOBS) })
    }

    /// Stores bytes and returns the path of their file. Identical bytes are stored once, and a
    /// fresh modification time keeps the cleanup from removing what is about to be referenced.
    pub fn keep(&self, bytes: &[u8]) -> Result<PathBuf, FileError> {
        let hash = Digest::of(bytes);
        if !self.0.renew(hash) {
            self.0.keep(hash, bytes)?;
        }
        Ok(self.0.file(hash))
    }
}

fn age(entry: &fs::DirEntry) -> Duration {
    let modified = entry.metadata().and_then(|metadata| metadata.modified());
    let age = modified.ok().and_then(|modified| SystemTime::now().duration_since(modified).ok());
    age.unwrap_or_default()
}

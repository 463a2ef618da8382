//! Content-addressed storage for binary data: each blob is a file named after its hash.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::file::{self, FileError, FileMode, WriteOptions};
use crate::{Digest, Locations};

/// The folder in the user's data directory that holds the blobs.
pub(crate) const FOLDER: &str = "blobs";

/// The directory of blobs.
#[derive(Debug, Clone)]
pub struct Blobs {
    path: PathBuf,
}

impl Blobs {
    /// The user's blobs. Does not touch the disk.
    pub fn open(locations: &Locations) -> Blobs {
        Blobs { path: locations.data.join(FOLDER) }
    }

    /// Stores bytes and returns the path of their file. Identical bytes are stored once.
    pub fn keep(&self, bytes: &[u8]) -> Result<PathBuf, FileError> {
        file::make_directory(&self.path, FileMode::Owner)?;
        let path = self.path.join(Digest::of(bytes).to_string());
        match file::write(&path, bytes, WriteOptions::PRIVATE_NEW) {
            Ok(()) => Ok(path),
            Err(FileError::Exists { .. }) => {
                // A fresh modification time keeps the cleanup from removing a blob that is about to
                // be referenced.
                let file = OpenOptions::new().write(true).open(&path);
                let touched = file.and_then(|file| file.set_modified(SystemTime::now()));
                touched.map_err(|error| FileError::of(&path, error))?;
                Ok(path)
            }
            Err(error) => Err(error),
        }
    }
}

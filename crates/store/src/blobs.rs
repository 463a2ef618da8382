//! Bytes that are no text, kept under the hash of what they are.

use std::fs::OpenOptions;
use std::path::PathBuf;
use std::time::SystemTime;

use crate::file::{self, FileError, FileMode, WriteOptions};
use crate::{Digest, Locations};

/// The folder of the user's data that they are in.
pub(crate) const FOLDER: &str = "blobs";

/// The directory that bytes are kept in.
#[derive(Debug, Clone)]
pub struct Blobs {
    path: PathBuf,
}

impl Blobs {
    /// Those of the user. Looks at nothing yet.
    pub fn open(locations: &Locations) -> Blobs {
        Blobs { path: locations.data.join(FOLDER) }
    }

    /// Keeps bytes, and says where. The same bytes are kept once.
    pub fn keep(&self, bytes: &[u8]) -> Result<PathBuf, FileError> {
        file::make_directory(&self.path, FileMode::Owner)?;
        let path = self.path.join(Digest::of(bytes).to_string());
        match file::write(&path, bytes, WriteOptions::PRIVATE_NEW) {
            Ok(()) => Ok(path),
            Err(FileError::Exists { .. }) => {
                // Whoever clears away must see that somebody is about to refer to it.
                let file = OpenOptions::new().write(true).open(&path);
                let touched = file.and_then(|file| file.set_modified(SystemTime::now()));
                touched.map_err(|error| FileError::of(&path, error))?;
                Ok(path)
            }
            Err(error) => Err(error),
        }
    }
}

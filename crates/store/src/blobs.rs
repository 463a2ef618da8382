//! Bytes that are no text, kept under the hash of what they are.

use std::path::PathBuf;

use crate::file::{self, FileError, Lasting, Manner, Readers, Replace};
use crate::locations::Locations;
use milepost_model::digest::Digest;

/// The directory that bytes are kept in.
#[derive(Debug, Clone)]
pub struct Blobs {
    path: PathBuf,
}

impl Blobs {
    /// Those of the user. Looks at nothing yet.
    pub fn open(locations: &Locations) -> Blobs {
        Blobs { path: locations.data.join("blobs") }
    }

    /// Keeps bytes, and says where. The same bytes are kept once.
    pub fn keep(&self, bytes: &[u8]) -> Result<PathBuf, FileError> {
        file::make_directory(&self.path, Readers::Owner)?;
        let path = self.path.join(Digest::of(bytes).to_string());
        let manner =
            Manner { replace: Replace::No, readers: Readers::Owner, lasting: Lasting::Synced };
        match file::write(&path, bytes, manner) {
            Ok(()) | Err(FileError::Exists { .. }) => Ok(path),
            Err(error) => Err(error),
        }
    }
}

//! Data derived from a catalog, cached because loading it is faster than recomputing it. It may be
//! deleted at any time; files that are damaged, outdated or written by another program version are
//! treated as missing.

use std::path::{Path, PathBuf};

use milepost_model::id::CatalogId;

use super::record::{AuthProfiles, CatalogRecord};
use super::text;
use crate::file::{self, FileError};
use crate::{Digest, Directory, Locations, limits};

/// Identifies the input from which data was derived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedKey {
    id: CatalogId,
    hash: Digest,
}

impl DerivedKey {
    /// The key for a record, its document and the version of the derivation. Whether a catalog is
    /// enabled and how it authenticates are ignored, because neither affects a command.
    pub fn of(record: &CatalogRecord, document: Digest, version: u32) -> DerivedKey {
        let shaping = CatalogRecord { enabled: true, auth: AuthProfiles::new(), ..record.clone() };
        let text = text::canonical(&shaping);
        let parts: [&[u8]; 3] = [document.bytes(), text.as_bytes(), &version.to_le_bytes()];
        DerivedKey { id: record.id.clone(), hash: Digest::of_parts(&parts) }
    }

    fn file_name(&self) -> String {
        format!("{}-{}.bin", self.id, &self.hash.to_string()[..16])
    }
}

/// The derived data for all catalogs.
#[derive(Debug)]
pub struct DerivedCache {
    path: PathBuf,
}

/// The start of every file. The key and the checksum of the content follow.
const MAGIC: &[u8; 8] = b"mpderiv1";
const HEAD: usize = MAGIC.len() + 32 + 32;

impl DerivedCache {
    /// The derived data in the cache directory. Does not touch the disk.
    pub fn open(locations: &Locations) -> DerivedCache {
        DerivedCache { path: locations.cache.join("derived") }
    }

    /// The derived data for a key; `None` if it is missing or damaged.
    pub fn read(&self, key: &DerivedKey) -> Option<Vec<u8>> {
        let directory = Directory::open(&self.path).ok()??;
        let limit = limits::DERIVED_BYTES + HEAD;
        let mut bytes = directory.read(Path::new(&key.file_name()), limit).ok()?;
        let head = bytes.get(..HEAD)?;
        if head != head_of(key, &bytes[HEAD..]) {
            return None;
        }
        bytes.drain(..HEAD);
        Some(bytes)
    }

    /// Whether a file exists but does not contain valid data.
    pub fn is_damaged(&self, key: &DerivedKey) -> bool {
        let there = std::fs::symlink_metadata(self.path_of(key)).is_ok();
        there && self.read(key).is_none()
    }

    /// The path of the file for a key.
    pub fn path_of(&self, key: &DerivedKey) -> PathBuf {
        self.path.join(key.file_name())
    }

    /// Stores derived data and removes older data derived from the same catalog.
    pub fn write(&self, key: &DerivedKey, bytes: &[u8]) -> Result<(), FileError> {
        let path = self.path_of(key);
        file::check_size(&path, bytes.len(), limits::DERIVED_BYTES)?;
        file::write_cache(&path, &[&head_of(key, bytes), bytes].concat())?;
        let name = key.file_name();
        self.forget_but(&key.id, |other| other == name)
    }

    /// Removes everything that was derived from a catalog.
    pub fn forget(&self, id: &CatalogId) -> Result<(), FileError> {
        self.forget_but(id, |_| false)
    }

    fn forget_but(&self, id: &CatalogId, keep: impl Fn(&str) -> bool) -> Result<(), FileError> {
        let Some(directory) = Directory::open(&self.path)? else { return Ok(()) };
        let of_id = |name: &str| {
            name.strip_suffix(".bin")
                .and_then(|stem| stem.rsplit_once('-'))
                .is_some_and(|(other, hash)| other == id.as_str() && hash.len() == 16)
        };
        for name in directory.files(of_id)? {
            if !keep(&name) {
                file::remove(&self.path.join(name))?;
            }
        }
        Ok(())
    }
}

fn head_of(key: &DerivedKey, bytes: &[u8]) -> Vec<u8> {
    [&MAGIC[..], key.hash.bytes(), Digest::of(bytes).bytes()].concat()
}

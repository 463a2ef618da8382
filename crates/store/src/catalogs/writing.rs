//! How catalogs are written. Every change holds the lock of the directory.

use std::path::{Path, PathBuf};

use milepost_catalog::limits::DOCUMENT_BYTES;
use milepost_model::id::CatalogId;

use super::error::{CatalogConflict, CatalogError, SaveError};
use super::record::{AuthProfiles, CatalogRecord};
use super::{Catalogs, FORMATS, files, text};
use crate::directory::Directory;
use crate::file::{self, FileError, FileMode};
use crate::limits;
use crate::lock::Lock;
use milepost_model::digest::Digest;

/// What saving did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedCatalog {
    pub record: PathBuf,
    pub document: PathBuf,
    /// There was a catalog of this id before.
    pub replaced: bool,
}

/// What removing did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedCatalog {
    /// The file of the record, which is gone.
    pub record: Option<PathBuf>,
    pub documents: Vec<PathBuf>,
    pub kept: Option<PathBuf>,
}

impl Catalogs {
    /// Writes a catalog: its document, then its record, whose hash of the document is set here.
    /// Whatever happens in between, there is the old catalog or the new one.
    pub fn save(
        &self,
        mut record: CatalogRecord,
        document: &[u8],
        overwrite: bool,
    ) -> Result<SavedCatalog, SaveError> {
        let id = record.id.clone();
        let document_path = self.document_path(&id, record.format);
        bounded(&document_path, document.len(), DOCUMENT_BYTES)?;
        record.source_sha256 = Digest::of(document);
        file::make_directory(&self.path, FileMode::Same)?;
        let _lock = Lock::of(&self.path)?;
        self.settle(&id)?;
        self.check_conflict(&record, overwrite)?;
        let replaced = self.is_there(&files::record(&id))?;
        let text = self.text(&record)?;
        self.put_document(&record, document, replaced)?;
        file::write_atomic(&self.record_path(&id), text.as_bytes(), true)?;
        self.settle(&id)?;
        for other in FORMATS.into_iter().filter(|format| *format != record.format) {
            file::remove(&self.document_path(&id, other))?;
        }
        Ok(SavedCatalog { record: self.record_path(&id), document: document_path, replaced })
    }

    /// Says whether the commands of a catalog can be used.
    pub fn set_enabled(&self, id: &CatalogId, enabled: bool) -> Result<CatalogRecord, SaveError> {
        self.update(id, |record| record.enabled = enabled)
    }

    /// Changes how a catalog authenticates, from what it is on disk: nobody changes it meanwhile.
    pub fn change_auth(
        &self,
        id: &CatalogId,
        change: impl FnOnce(&mut AuthProfiles),
    ) -> Result<CatalogRecord, SaveError> {
        self.update(id, |record| change(&mut record.auth))
    }

    /// Removes a catalog, readable or not, and its document if asked.
    pub fn remove(
        &self,
        id: &CatalogId,
        remove_manifest: bool,
    ) -> Result<RemovedCatalog, CatalogError> {
        let nothing = || CatalogError::NotFound { id: id.clone() };
        let Some(_) = Directory::open(&self.path)? else { return Err(nothing()) };
        let _lock = Lock::of(&self.path)?;
        self.settle(id)?;
        let record = self.record_path(id);
        let had_record = file::remove(&record)?;
        let mut removed = RemovedCatalog {
            record: had_record.then_some(record),
            documents: Vec::new(),
            kept: None,
        };
        for format in FORMATS {
            let path = self.document_path(id, format);
            if remove_manifest && file::remove(&path)? {
                removed.documents.push(path);
            } else if self.is_there(&files::document(id, format))? {
                removed.kept = Some(path);
            }
        }
        file::sync_directory(&self.path)?;
        if removed.record.is_none() && removed.documents.is_empty() {
            return Err(nothing());
        }
        Ok(removed)
    }

    /// Writes a record again after a change to it.
    fn update(
        &self,
        id: &CatalogId,
        change: impl FnOnce(&mut CatalogRecord),
    ) -> Result<CatalogRecord, SaveError> {
        let nothing = || CatalogError::NotFound { id: id.clone() };
        let Some(_) = Directory::open(&self.path)? else { return Err(nothing().into()) };
        let _lock = Lock::of(&self.path)?;
        let mut record = CatalogRecord::clone(self.need(id)?.as_ref());
        change(&mut record);
        let text = self.text(&record)?;
        file::write_atomic(&self.record_path(id), text.as_bytes(), true)?;
        Ok(record)
    }

    fn check_conflict(&self, record: &CatalogRecord, overwrite: bool) -> Result<(), SaveError> {
        let listing = self.list()?;
        if !overwrite && self.is_there(&files::record(&record.id))? {
            let held = listing.records.iter().find(|held| held.id == record.id);
            let title = held.map(|held| held.title.clone());
            return Err(SaveError::Exists {
                id: record.id.clone(),
                title,
                by: CatalogConflict::Id,
            });
        }
        let mut others = listing.records.iter().filter(|held| held.id != record.id);
        match others.find(|held| held.is_titled(&record.title)) {
            Some(held) => Err(SaveError::Exists {
                id: held.id.clone(),
                title: Some(held.title.clone()),
                by: CatalogConflict::Title,
            }),
            None => Ok(()),
        }
    }

    /// The text a record is written as, comments of the one before it included.
    fn text(&self, record: &CatalogRecord) -> Result<String, SaveError> {
        let old = match Directory::open(&self.path)? {
            Some(directory) => {
                directory.read(Path::new(&files::record(&record.id)), limits::RECORD_BYTES)
            }
            None => Err(FileError::NotFound { path: self.path.clone() }),
        };
        let text = match old {
            Ok(old) => text::render_over(record, &old),
            Err(FileError::NotFound { .. } | FileError::TooLarge { .. }) => text::render(record),
            // A link out of the directory, or no file at all.
            Err(error) => return Err(error.into()),
        };
        bounded(&self.record_path(&record.id), text.len(), limits::RECORD_BYTES)?;
        // What could not be read again must not be written.
        text::parse(text.as_bytes()).map_err(|fault| SaveError::Unfit { fault })?;
        Ok(text)
    }

    /// Puts a document where it belongs; beside it while another one still counts.
    fn put_document(
        &self,
        record: &CatalogRecord,
        bytes: &[u8],
        replaced: bool,
    ) -> Result<(), FileError> {
        let id = &record.id;
        let name = files::document(id, record.format);
        let held = match Directory::open(&self.path)? {
            Some(directory) => {
                directory.read(Path::new(&name), bytes.len()).map(|held| held == bytes)
            }
            None => Ok(false),
        };
        match held {
            Ok(true) => return Ok(()),
            Ok(false) | Err(FileError::NotFound { .. } | FileError::TooLarge { .. }) => {}
            // A link out of the directory, or no file at all.
            Err(error) => return Err(error),
        }
        let name = if replaced { files::next_document(id, record.format) } else { name };
        file::write_atomic(&self.path.join(name), bytes, true)
    }

    /// Ends what a writer that died, or this one, has begun: a document that waits for its record
    /// takes its place once the record is written, and goes if it never was. Needs the lock.
    pub(super) fn settle(&self, id: &CatalogId) -> Result<(), FileError> {
        let Some(directory) = Directory::open(&self.path)? else { return Ok(()) };
        for format in FORMATS {
            let next = files::next_document(id, format);
            let bytes = file::if_present(directory.read(Path::new(&next), DOCUMENT_BYTES))?;
            let Some(bytes) = bytes else { continue };
            let record = self.look(&directory, &files::record(id));
            let due = record.is_some_and(|outcome| {
                outcome.is_ok_and(|record| {
                    record.format == format && record.source_sha256 == Digest::of(&bytes)
                })
            });
            let next = self.path.join(next);
            if due {
                let target = self.document_path(id, format);
                std::fs::rename(&next, &target).map_err(|error| FileError::of(&target, error))?;
            } else {
                file::remove(&next)?;
            }
            file::sync_directory(&self.path)?;
        }
        Ok(())
    }
}

fn bounded(path: &Path, bytes: usize, limit: usize) -> Result<(), FileError> {
    if bytes > limit {
        return Err(FileError::TooLarge { path: path.to_owned(), bytes: bytes as u64 });
    }
    Ok(())
}

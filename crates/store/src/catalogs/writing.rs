//! Writes catalogs. Every change is made while holding the directory's lock.

use std::path::{Path, PathBuf};

use milepost_catalog::limits::DOCUMENT_BYTES;
use milepost_model::id::CatalogId;

use super::error::{CatalogConflict, CatalogError, SaveError};
use super::record::{AuthProfiles, CatalogRecord};
use super::{Catalogs, FORMATS, files, text};
use crate::file::{self, FileError, FileMode};
use crate::lock::Lock;
use crate::{Digest, Directory, limits};

/// The result of saving a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SavedCatalog {
    pub record: PathBuf,
    pub document: PathBuf,
    /// Whether a catalog with this id existed before.
    pub replaced: bool,
}

/// The result of removing a catalog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedCatalog {
    /// The path of the removed record.
    pub record: Option<PathBuf>,
    pub documents: Vec<PathBuf>,
    pub kept: Option<PathBuf>,
}

impl Catalogs {
    /// Writes a catalog: first its document, then its record, which gets the document's hash. An
    /// interruption leaves either the old catalog or the new one.
    pub fn save(
        &self,
        mut record: CatalogRecord,
        document: &[u8],
        overwrite: bool,
    ) -> Result<SavedCatalog, SaveError> {
        let id = record.id.clone();
        let document_path = self.document_path(&id, record.format);
        file::check_size(&document_path, document.len(), DOCUMENT_BYTES)?;
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

    /// Enables or disables a catalog's commands.
    pub fn set_enabled(&self, id: &CatalogId, enabled: bool) -> Result<CatalogRecord, SaveError> {
        self.update(id, |record| record.enabled = enabled)
    }

    /// Changes a catalog's credentials, starting from those on disk, while holding the lock.
    pub fn change_auth(
        &self,
        id: &CatalogId,
        change: impl FnOnce(&mut AuthProfiles),
    ) -> Result<CatalogRecord, SaveError> {
        self.update(id, |record| change(&mut record.auth))
    }

    /// Records that a person accepts a catalog that an agent imported.
    pub fn accept(&self, id: &CatalogId) -> Result<CatalogRecord, SaveError> {
        self.update(id, |record| record.by_agent = false)
    }

    /// Removes a catalog, readable or not, and its document if requested.
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
        let record = had_record.then_some(record);
        let mut removed = RemovedCatalog { record, documents: Vec::new(), kept: None };
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

    /// Applies a change to a record and writes it.
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
            let (title, by) = (held.map(|held| held.title.clone()), CatalogConflict::Id);
            return Err(SaveError::Exists { id: record.id.clone(), title, by });
        }
        let mut others = listing.records.iter().filter(|held| held.id != record.id);
        match others.find(|held| held.is_titled(&record.title)) {
            Some(held) => {
                let (title, by) = (Some(held.title.clone()), CatalogConflict::Title);
                Err(SaveError::Exists { id: held.id.clone(), title, by })
            }
            None => Ok(()),
        }
    }

    /// The file content for a record, including the comments from the file it replaces.
    fn text(&self, record: &CatalogRecord) -> Result<String, SaveError> {
        let old = self.held(&files::record(&record.id), limits::RECORD_BYTES)?;
        let text = match old {
            Some(old) => text::render_over(record, &old),
            None => text::render(record),
        };
        file::check_size(&self.record_path(&record.id), text.len(), limits::RECORD_BYTES)?;
        // Never write a record that could not be read back.
        text::parse(text.as_bytes()).map_err(|fault| SaveError::Unfit { fault })?;
        Ok(text)
    }

    /// The content of a file; `None` if it is missing or too large.
    fn held(&self, name: &str, limit: usize) -> Result<Option<Vec<u8>>, FileError> {
        let Some(directory) = Directory::open(&self.path)? else { return Ok(None) };
        match directory.read(Path::new(name), limit) {
            Err(FileError::TooLarge { .. }) => Ok(None),
            read => file::if_present(read),
        }
    }

    /// Writes a document to its final path, or next to it while the old record is still in effect.
    fn put_document(
        &self,
        record: &CatalogRecord,
        bytes: &[u8],
        replaced: bool,
    ) -> Result<(), FileError> {
        let id = &record.id;
        let name = files::document(id, record.format);
        if self.held(&name, bytes.len())?.is_some_and(|held| held == bytes) {
            return Ok(());
        }
        let name = if replaced { files::next_document(id, record.format) } else { name };
        file::write_atomic(&self.path.join(name), bytes, true)
    }

    /// Completes a write by this process or by one that died: a document that is waiting for its
    /// record is moved into place if the record was written, and removed if it was not. The caller
    /// holds the lock.
    pub(super) fn settle(&self, id: &CatalogId) -> Result<(), FileError> {
        let Some(directory) = Directory::open(&self.path)? else { return Ok(()) };
        for format in FORMATS {
            let next = files::next_document(id, format);
            let bytes = file::if_present(directory.read(Path::new(&next), DOCUMENT_BYTES))?;
            let Some(bytes) = bytes else { continue };
            let due = self.look(&directory, &files::record(id)).is_some_and(|record| {
                let sha256 = Digest::of(&bytes);
                record.is_ok_and(|record| (record.format, record.source_sha256) == (format, sha256))
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

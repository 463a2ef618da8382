//! The catalogs on disk: a record and a document each, as they are at the moment of the call.
//!
//! Several processes share the directory. Who writes holds its lock; who reads does not, and looks
//! at every file's stamp instead. The record is what counts: a document without one is kept for
//! the next import, and a new document lies beside the old one until its record is written.

mod derived;
mod error;
mod files;
mod record;
mod text;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use milepost_catalog::limits::DOCUMENT_BYTES;
use milepost_model::id::CatalogId;
use milepost_model::source::Format;

pub use derived::{Derived, DerivedKey};
pub use error::{CatalogError, Conflict, RecordFault, SaveError, Unreadable};
pub use record::{
    Auth, BaseUrl, ClientAuth, Credential, GivenBy, Idempotency, Options, Part, ProfileName,
    Record, Source, operation_key,
};

use crate::digest::Digest;
use crate::directory::Directory;
use crate::file::{self, FileError, Readers};
use crate::limits;
use crate::locations::Locations;
use crate::lock::Lock;
use crate::stamp::Seen;

/// The catalogs of a directory, for as long as a process lives.
#[derive(Debug)]
pub struct Catalogs {
    path: PathBuf,
    /// Records by the name of their file, as they were last read.
    known: Mutex<HashMap<String, Known>>,
}

#[derive(Debug)]
struct Known {
    seen: Seen,
    outcome: Outcome,
}

type Outcome = Result<Arc<Record>, Arc<Unreadable>>;

/// Every catalog at one moment.
#[derive(Debug, Default)]
pub struct CatalogListing {
    /// Every record, sorted by id.
    pub records: Vec<Arc<Record>>,
    /// Every file that should be a record and is none, sorted by path.
    pub unreadable: Vec<Arc<Unreadable>>,
    /// Not every file was looked at.
    pub cut: bool,
}

/// A document of the directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    /// Its file.
    pub path: PathBuf,
    /// How it is written.
    pub format: Format,
    /// What it says.
    pub bytes: Vec<u8>,
    /// The hash of that.
    pub sha256: Digest,
    /// Somebody changed it after it was imported.
    pub edited: bool,
}

/// What saving did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    /// The file of the record.
    pub record: PathBuf,
    /// The file of the document.
    pub document: PathBuf,
    /// There was a catalog of this id before.
    pub replaced: bool,
}

/// What removing did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The file of the record, which is gone.
    pub record: Option<PathBuf>,
    /// The documents that are gone.
    pub documents: Vec<PathBuf>,
    /// The document that was kept.
    pub kept: Option<PathBuf>,
}

const FORMATS: [Format; 2] = [Format::Json, Format::Yaml];

impl Catalogs {
    /// The catalogs beside the configuration. Looks at nothing yet.
    pub fn open(locations: &Locations) -> Catalogs {
        Catalogs { path: locations.catalogs(), known: Mutex::new(HashMap::new()) }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of a record.
    pub fn record_path(&self, id: &CatalogId) -> PathBuf {
        self.path.join(files::record(id))
    }

    /// The file of a document.
    pub fn document_path(&self, id: &CatalogId, format: Format) -> PathBuf {
        self.path.join(files::document(id, format))
    }

    /// Every catalog, and every file that should be one.
    pub fn list(&self) -> Result<CatalogListing, FileError> {
        let mut listing = CatalogListing::default();
        let Some(directory) = Directory::open(&self.path)? else { return Ok(listing) };
        let mut names = directory.files(Path::new(""), files::is_record)?;
        names.sort();
        listing.cut = names.len() > limits::CATALOGS;
        names.truncate(limits::CATALOGS);
        for name in &names {
            match self.look(&directory, name) {
                Some(Ok(record)) => listing.records.push(record),
                Some(Err(unreadable)) => listing.unreadable.push(unreadable),
                // It went in between.
                None => {}
            }
        }
        listing.records.sort_by(|one, other| one.id.cmp(&other.id));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|name, _| names.binary_search(name).is_ok());
        Ok(listing)
    }

    /// The catalog of an id.
    pub fn get(&self, id: &CatalogId) -> Result<Option<Arc<Record>>, CatalogError> {
        let Some(directory) = Directory::open(&self.path)? else { return Ok(None) };
        self.look(&directory, &files::record(id)).transpose().map_err(CatalogError::Unreadable)
    }

    /// The catalog of an id or a title. An id wins.
    pub fn find(&self, text: &str) -> Result<Option<Arc<Record>>, CatalogError> {
        if let Ok(id) = CatalogId::parse(text)
            && let Some(record) = self.get(&id)?
        {
            return Ok(Some(record));
        }
        Ok(self.list()?.records.into_iter().find(|record| record.is_titled(text)))
    }

    /// The document of a catalog.
    pub fn document(&self, id: &CatalogId) -> Result<StoredDocument, CatalogError> {
        let record = self.need(id)?;
        match self.read_document(id, record.format) {
            Ok(document) if document.sha256 == record.source_sha256 => return Ok(document),
            Ok(_) | Err(FileError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        // Edited, or a writer was or is between record and document: with the lock there is none.
        if self.lock_if_writable()?.is_some() {
            self.settle(id)?;
        }
        let record = self.need(id)?;
        let document = self.read_document(id, record.format)?;
        let edited = document.sha256 != record.source_sha256;
        Ok(StoredDocument { edited, ..document })
    }

    /// The document that was kept when the catalog of this id was removed.
    pub fn kept(&self, id: &CatalogId) -> Result<Option<StoredDocument>, FileError> {
        if self.is_there(&files::record(id))? {
            return Ok(None);
        }
        for format in FORMATS {
            match self.read_document(id, format) {
                Ok(document) => return Ok(Some(document)),
                Err(FileError::NotFound { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Writes a catalog: its document, then its record, whose hash of the document is set here.
    /// Whatever happens in between, there is the old catalog or the new one.
    pub fn save(
        &self,
        mut record: Record,
        document: &[u8],
        overwrite: bool,
    ) -> Result<Saved, SaveError> {
        let id = record.id.clone();
        let saved = Saved {
            record: self.record_path(&id),
            document: self.document_path(&id, record.format),
            replaced: self.is_there(&files::record(&id))?,
        };
        record.source_sha256 = Digest::of(document);
        bounded(&saved.document, document.len(), DOCUMENT_BYTES)?;
        file::make_directory(&self.path, Readers::Same)?;
        let _lock = Lock::of(&self.path)?;
        self.settle(&id)?;
        let replaced = self.is_there(&files::record(&id))?;
        self.check_conflict(&record, overwrite)?;
        let text = self.text(&record)?;
        self.put_document(&record, document, replaced)?;
        file::write_atomic(&saved.record, text.as_bytes(), true)?;
        self.settle(&id)?;
        let other = FORMATS.into_iter().find(|format| *format != record.format);
        if let Some(other) = other {
            file::remove(&self.document_path(&id, other))?;
        }
        Ok(Saved { replaced, ..saved })
    }

    /// Says whether the commands of a catalog can be used.
    pub fn set_enabled(&self, id: &CatalogId, enabled: bool) -> Result<Record, SaveError> {
        self.update(id, |record| record.enabled = enabled)
    }

    /// Says how a catalog authenticates.
    pub fn set_auth(&self, id: &CatalogId, auth: Auth) -> Result<Record, SaveError> {
        self.update(id, |record| record.auth = auth)
    }

    /// Removes a catalog, readable or not, and its document if asked.
    pub fn remove(&self, id: &CatalogId, remove_manifest: bool) -> Result<Removed, CatalogError> {
        let nothing = || CatalogError::NotFound { id: id.clone() };
        let Some(_) = Directory::open(&self.path)? else { return Err(nothing()) };
        let _lock = Lock::of(&self.path)?;
        self.settle(id)?;
        let record = self.record_path(id);
        let had_record = file::remove(&record)?;
        let mut removed =
            Removed { record: had_record.then_some(record), documents: Vec::new(), kept: None };
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

    fn need(&self, id: &CatalogId) -> Result<Arc<Record>, CatalogError> {
        self.get(id)?.ok_or_else(|| CatalogError::NotFound { id: id.clone() })
    }

    /// Writes a record again after a change to it.
    fn update(
        &self,
        id: &CatalogId,
        change: impl FnOnce(&mut Record),
    ) -> Result<Record, SaveError> {
        let nothing = || CatalogError::NotFound { id: id.clone() };
        let Some(_) = Directory::open(&self.path)? else { return Err(nothing().into()) };
        let _lock = Lock::of(&self.path)?;
        let mut record = Record::clone(self.need(id)?.as_ref());
        change(&mut record);
        let text = self.text(&record)?;
        file::write_atomic(&self.record_path(id), text.as_bytes(), true)?;
        Ok(record)
    }

    fn check_conflict(&self, record: &Record, overwrite: bool) -> Result<(), SaveError> {
        let listing = self.list()?;
        if !overwrite && self.is_there(&files::record(&record.id))? {
            let held = listing.records.iter().find(|held| held.id == record.id);
            let title = held.map(|held| held.title.clone());
            return Err(SaveError::Exists { id: record.id.clone(), title, by: Conflict::Id });
        }
        let mut others = listing.records.iter().filter(|held| held.id != record.id);
        match others.find(|held| held.is_titled(&record.title)) {
            Some(held) => Err(SaveError::Exists {
                id: held.id.clone(),
                title: Some(held.title.clone()),
                by: Conflict::Title,
            }),
            None => Ok(()),
        }
    }

    /// The text a record is written as, comments of the one before it included.
    fn text(&self, record: &Record) -> Result<String, SaveError> {
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
    fn put_document(&self, record: &Record, bytes: &[u8], replaced: bool) -> Result<(), FileError> {
        let id = &record.id;
        let name = files::document(id, record.format);
        match self.read_document(id, record.format) {
            Ok(held) if held.sha256 == record.source_sha256 => return Ok(()),
            Ok(_) | Err(FileError::NotFound { .. } | FileError::TooLarge { .. }) => {}
            // A link out of the directory, or no file at all.
            Err(error) => return Err(error),
        }
        let name = if replaced { files::next_document(id, record.format) } else { name };
        file::write_atomic(&self.path.join(name), bytes, true)
    }

    /// Ends what a writer that died, or this one, has begun: a document that waits for its record
    /// takes its place once the record is written, and goes if it never was. Needs the lock.
    fn settle(&self, id: &CatalogId) -> Result<(), FileError> {
        let Some(directory) = Directory::open(&self.path)? else { return Ok(()) };
        for format in FORMATS {
            let next = files::next_document(id, format);
            let bytes = match directory.read(Path::new(&next), DOCUMENT_BYTES) {
                Ok(bytes) => bytes,
                Err(FileError::NotFound { .. }) => continue,
                Err(error) => return Err(error),
            };
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

    fn read_document(&self, id: &CatalogId, format: Format) -> Result<StoredDocument, FileError> {
        let path = self.document_path(id, format);
        let Some(directory) = Directory::open(&self.path)? else {
            return Err(FileError::NotFound { path });
        };
        let bytes = directory.read(Path::new(&files::document(id, format)), DOCUMENT_BYTES)?;
        let sha256 = Digest::of(&bytes);
        Ok(StoredDocument { path, format, bytes, sha256, edited: false })
    }

    /// Whether something is at a name, whatever it is.
    fn is_there(&self, name: &str) -> Result<bool, FileError> {
        let path = self.path.join(name);
        match std::fs::symlink_metadata(&path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(FileError::of(&path, error)),
        }
    }

    /// The lock; none in a directory that nobody can write to, and where nobody does.
    fn lock_if_writable(&self) -> Result<Option<Lock>, FileError> {
        use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        match Lock::of(&self.path) {
            Ok(lock) => Ok(Some(lock)),
            Err(FileError::Io { source, .. })
                if matches!(source.kind(), PermissionDenied | ReadOnlyFilesystem) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// What a file says now; read only if it changed. `None` when there is none.
    fn look(&self, directory: &Directory, name: &str) -> Option<Outcome> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = match directory.stamp(Path::new(name)) {
            Ok(stamp) => stamp,
            Err(FileError::NotFound { .. }) if !directory.is_link(Path::new(name)) => {
                known.remove(name);
                return None;
            }
            Err(error) => return Some(Err(self.unreadable(name, error.into()))),
        };
        if let Some(known) = known.get(name)
            && known.seen.is_still(stamp)
        {
            return Some(known.outcome.clone());
        }
        let (seen, bytes) = match directory.read_seen(Path::new(name), limits::RECORD_BYTES) {
            Ok(read) => read,
            Err(FileError::NotFound { .. }) => return None,
            Err(error) => return Some(Err(self.unreadable(name, error.into()))),
        };
        let outcome = files::read_record(name, &bytes)
            .map(Arc::new)
            .map_err(|fault| self.unreadable(name, fault));
        known.insert(name.to_owned(), Known { seen, outcome: outcome.clone() });
        Some(outcome)
    }

    fn unreadable(&self, name: &str, fault: RecordFault) -> Arc<Unreadable> {
        Arc::new(Unreadable { path: self.path.join(name), id: files::record_id(name), fault })
    }
}

fn bounded(path: &Path, bytes: usize, limit: usize) -> Result<(), FileError> {
    if bytes > limit {
        return Err(FileError::TooLarge { path: path.to_owned(), bytes: bytes as u64 });
    }
    Ok(())
}

//! The catalogs on disk, each with a record and a document, as they are at the time of each call.
//!
//! Several processes share the directory. Writers hold its lock; readers do not, and check the
//! stamp of every file instead. The record is authoritative: a document without a record is kept
//! for the next import, and a new document is stored next to the old one until its record is
//! written.

mod derived;
mod error;
mod files;
mod record;
mod text;
mod writing;

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use milepost_catalog::limits::DOCUMENT_BYTES;
use milepost_model::id::CatalogId;
use milepost_syntax::source::Format;
use serde::{Deserialize, Serialize};

pub use derived::{DerivedCache, DerivedKey};
pub use error::{CatalogConflict, CatalogError, RecordFault, SaveError, UnreadableRecord};
pub(crate) use record::origin;
pub use record::{
    AuthProfiles, BaseUrl, CatalogCredential, CatalogOptions, CatalogRecord, CatalogSource,
    ClientAuth, CredentialField, GivenBy, Idempotency, ProfileName, operation_key,
};
pub use writing::{RemovedCatalog, SavedCatalog};

use crate::file::{self, FileError};
use crate::lock::Lock;
use crate::stamp::{FileStamp, ObservedStamp};
use crate::{Digest, Directory, Locations, limits};

/// The catalogs in a directory, for the lifetime of a process.
#[derive(Debug)]
pub struct Catalogs {
    path: PathBuf,
    /// Records by file name, as they were last read.
    known: Mutex<HashMap<String, Known>>,
}

#[derive(Debug)]
struct Known {
    seen: ObservedStamp,
    outcome: Outcome,
}

type Outcome = Result<Arc<CatalogRecord>, Arc<UnreadableRecord>>;

/// A snapshot of every catalog.
#[derive(Debug, Default)]
pub struct CatalogListing {
    /// Every record, sorted by id.
    pub records: Vec<Arc<CatalogRecord>>,
    /// Every file that should be a record but is not valid, sorted by path.
    pub unreadable: Vec<Arc<UnreadableRecord>>,
    pub cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredDocument {
    pub path: PathBuf,
    pub format: Format,
    pub bytes: Vec<u8>,
    pub sha256: Digest,
    /// Whether it was changed after the import.
    pub edited: bool,
    /// Used later to check that the document is untouched. `None` if the document was written too
    /// recently for such a check to be reliable.
    pub mark: Option<DocumentMark>,
}

/// The state of a catalog's document, determined without changing anything.
#[derive(Debug)]
pub enum DocumentStanding {
    /// As imported.
    Same,
    /// Changed after the import.
    Edited,
    /// The latest import is still stored next to it: its writer died or has not finished.
    Unfinished,
    Missing,
    Unreadable(FileError),
}

const FORMATS: [Format; 2] = [Format::Json, Format::Yaml];

impl Catalogs {
    /// The catalogs next to the configuration file. Does not touch the disk.
    pub fn open(locations: &Locations) -> Catalogs {
        Catalogs { path: locations.catalogs(), known: Mutex::new(HashMap::new()) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn record_path(&self, id: &CatalogId) -> PathBuf {
        self.path.join(files::record(id))
    }

    pub fn document_path(&self, id: &CatalogId, format: Format) -> PathBuf {
        self.path.join(files::document(id, format))
    }

    /// Every catalog, and every record file that is not valid.
    pub fn list(&self) -> Result<CatalogListing, FileError> {
        let mut listing = CatalogListing::default();
        let Some(directory) = Directory::open(&self.path)? else { return Ok(listing) };
        let mut names = directory.files(files::is_record)?;
        names.sort();
        listing.cut = names.len() > limits::CATALOGS;
        names.truncate(limits::CATALOGS);
        for name in &names {
            match self.look(&directory, name) {
                Some(Ok(record)) => listing.records.push(record),
                Some(Err(unreadable)) => listing.unreadable.push(unreadable),
                // The file was removed in the meantime.
                None => {}
            }
        }
        listing.records.sort_by(|one, other| one.id.cmp(&other.id));
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|name, _| names.binary_search(name).is_ok());
        Ok(listing)
    }

    /// The catalog with the given id.
    pub fn get(&self, id: &CatalogId) -> Result<Option<Arc<CatalogRecord>>, CatalogError> {
        let name = files::record(id);
        if let Some(outcome) = self.untouched(&name) {
            return outcome.map(Some).map_err(CatalogError::Unreadable);
        }
        let Some(directory) = Directory::open(&self.path)? else { return Ok(None) };
        self.look(&directory, &name).transpose().map_err(CatalogError::Unreadable)
    }

    /// Finds a catalog by its id or its title. The id takes precedence.
    pub fn find(&self, text: &str) -> Result<Option<Arc<CatalogRecord>>, CatalogError> {
        if let Ok(id) = CatalogId::parse(text)
            && let Some(record) = self.get(&id)?
        {
            return Ok(Some(record));
        }
        Ok(self.list()?.records.into_iter().find(|record| record.is_titled(text)))
    }

    /// A catalog's document, including whether it was edited.
    pub fn document(&self, id: &CatalogId) -> Result<StoredDocument, CatalogError> {
        let record = self.need(id)?;
        match self.read_document(id, record.format) {
            Ok(document) if document.sha256 == record.source_sha256 => return Ok(document),
            Ok(_) | Err(FileError::NotFound { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        // The document was edited, or a writer has written the document but not yet its record.
        // Holding the lock rules out an active writer.
        let lock = self.lock_if_writable()?;
        if lock.is_some() {
            self.settle(id)?;
        }
        let record = self.need(id)?;
        let document = self.read_document(id, record.format)?;
        let edited = document.sha256 != record.source_sha256;
        Ok(StoredDocument { edited, ..document })
    }

    /// The state of a catalog's document. Takes no lock and changes nothing.
    pub fn examine(&self, record: &CatalogRecord) -> DocumentStanding {
        let found = self.read_document(&record.id, record.format);
        if found.as_ref().is_ok_and(|document| document.sha256 == record.source_sha256) {
            return DocumentStanding::Same;
        }
        let next = self.path.join(files::next_document(&record.id, record.format));
        let next = file::read_document(&next, DOCUMENT_BYTES);
        if next.is_ok_and(|bytes| Digest::of(&bytes) == record.source_sha256) {
            return DocumentStanding::Unfinished;
        }
        match found {
            Ok(_) => DocumentStanding::Edited,
            Err(FileError::NotFound { .. }) => DocumentStanding::Missing,
            Err(error) => DocumentStanding::Unreadable(error),
        }
    }

    /// Opens a catalog's document to read parts of it; `None` unless it has remained untouched
    /// since it was read in full and marked.
    pub fn parts(&self, record: &CatalogRecord, mark: DocumentMark) -> Option<DocumentReader> {
        let directory = Directory::open(&self.path).ok()??;
        let name = files::document(&record.id, record.format);
        let (file, stamp) = directory.open_stamped(Path::new(&name)).ok()?;
        (stamp == mark.0).then_some(DocumentReader { file, length: stamp.length })
    }

    /// A catalog's document, if it currently has this hash. Takes no lock.
    pub fn document_with(&self, record: &CatalogRecord, hash: Digest) -> Option<StoredDocument> {
        let found = self.read_document(&record.id, record.format).ok()?;
        (found.sha256 == hash).then_some(found)
    }

    /// Whether a catalog's document has remained untouched since it was marked.
    pub fn is_untouched(&self, record: &CatalogRecord, mark: DocumentMark) -> bool {
        let path = self.document_path(&record.id, record.format);
        std::fs::symlink_metadata(&path).is_ok_and(|file| FileStamp::of_file(file) == mark.0)
    }

    /// A catalog's document as it is now, even if its record does not match. Takes no lock.
    pub fn document_now(&self, record: &CatalogRecord) -> Result<StoredDocument, FileError> {
        self.read_document(&record.id, record.format)
    }

    /// The document that was kept when the catalog with this id was removed.
    pub fn kept(&self, id: &CatalogId) -> Result<Option<StoredDocument>, FileError> {
        if self.is_there(&files::record(id))? {
            return Ok(None);
        }
        let mut documents = FORMATS
            .into_iter()
            .filter_map(|format| file::if_present(self.read_document(id, format)).transpose());
        documents.next().transpose()
    }

    fn need(&self, id: &CatalogId) -> Result<Arc<CatalogRecord>, CatalogError> {
        self.get(id)?.ok_or_else(|| CatalogError::NotFound { id: id.clone() })
    }

    fn read_document(&self, id: &CatalogId, format: Format) -> Result<StoredDocument, FileError> {
        let path = self.document_path(id, format);
        let Some(directory) = Directory::open(&self.path)? else {
            return Err(FileError::NotFound { path });
        };
        let name = files::document(id, format);
        let (seen, bytes) = directory.read_seen(Path::new(&name), DOCUMENT_BYTES)?;
        let sha256 = Digest::of(&bytes);
        let mark = seen.settled().map(DocumentMark);
        Ok(StoredDocument { path, format, bytes, sha256, edited: false, mark })
    }

    /// Whether an entry of any type exists under a name.
    fn is_there(&self, name: &str) -> Result<bool, FileError> {
        file::is_there(&self.path.join(name))
    }

    /// The lock; `None` if the directory is not writable, and therefore has no writers.
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

    /// The cached outcome for a file if it is unchanged. This must be fast, because every step of a
    /// run calls it.
    fn untouched(&self, name: &str) -> Option<Outcome> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(name)?;
        let metadata = std::fs::symlink_metadata(self.path.join(name)).ok()?;
        known.seen.is_still(FileStamp::of_file(metadata)).then(|| known.outcome.clone())
    }

    /// The outcome for a file, which is read only if it changed; `None` if it does not exist.
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

    fn unreadable(&self, name: &str, fault: RecordFault) -> Arc<UnreadableRecord> {
        Arc::new(UnreadableRecord { path: self.path.join(name), id: files::record_id(name), fault })
    }
}

/// The settled stamp of a document, used to detect changes without reading the document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentMark(FileStamp);

/// An open document, for reading parts of it. It was read in full earlier and has not changed
/// since.
#[derive(Debug)]
pub struct DocumentReader {
    file: File,
    length: u64,
}

impl DocumentReader {
    /// The size of the document in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The text in a byte range; `None` if the range is invalid or cannot be read.
    pub fn read(&mut self, range: Range<u64>) -> Option<String> {
        let length = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        self.file.seek(SeekFrom::Start(range.start)).ok()?;
        let mut text = String::with_capacity(length);
        self.file.by_ref().take(length as u64).read_to_string(&mut text).ok()?;
        (text.len() == length).then_some(text)
    }
}

//! The library: every workflow by id, as it is on disk at the time of each call.
//!
//! No cached result is assumed to be current: every call checks whether what it depends on has
//! changed. Nothing is read in advance: an index knows which file has which id, and a document is
//! read and validated when it is needed, then cached.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use milepost_model::check::World;
use milepost_model::document::Document;

use crate::index::{FileId, ValidatedFile, Validity, WorkflowIndex};
use crate::listing::{InvalidFile, Listing};
use crate::{FileError, Locations, SourceKind, limits};

/// A workflow in the library.
#[derive(Debug)]
pub struct LibraryEntry {
    pub id: String,
    pub source: SourceKind,
    /// The path of its file; for a built-in workflow, only the name.
    pub path: PathBuf,
    /// The hash of its bytes.
    pub version: String,
    pub document: Arc<Document>,
}

/// What an id refers to.
#[derive(Debug, Clone)]
pub enum LibraryMatch {
    Workflow(Arc<LibraryEntry>),
    /// No valid workflow has this id, only an invalid file.
    Invalid(Arc<InvalidFile>),
}

/// Every workflow in a set of directories, plus the built-in ones, for the lifetime of a process.
///
/// Validation results are cached until a file changes, so every call must pass a `World` with the
/// same commands.
#[derive(Debug)]
pub struct Library {
    locations: Locations,
    state: Mutex<State>,
}

impl Library {
    /// A library of the workflows in these directories. Does not touch the disk.
    pub fn open(locations: Locations) -> Library {
        let state = Mutex::new(State::new(&locations));
        Library { locations, state }
    }

    pub fn locations(&self) -> &Locations {
        &self.locations
    }

    /// Looks up an id. Later sources take precedence, but an invalid file never hides a valid
    /// workflow: it is returned only if there is no valid one.
    ///
    /// A source that cannot be listed is an error, because reporting an existing workflow as
    /// missing would be worse.
    pub fn get(&self, id: &str, world: World<'_>) -> Result<Option<LibraryMatch>, FileError> {
        self.state().get(id, world)
    }

    /// A value that changes when a file is added to or removed from one of the directories.
    pub fn stamp(&self) -> u64 {
        let mut hasher = std::hash::DefaultHasher::new();
        for (_, directory) in &self.locations.directories {
            let changed = std::fs::metadata(directory).and_then(|found| found.modified());
            std::hash::Hash::hash(&changed.ok(), &mut hasher);
        }
        std::hash::Hasher::finish(&hasher)
    }

    pub fn listing(&self, world: World<'_>) -> Result<Arc<Listing>, FileError> {
        self.state().listing(world)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| {
            // A call that panicked may have left the state half-updated, so start over.
            let mut state = poisoned.into_inner();
            *state = State::new(&self.locations);
            self.state.clear_poison();
            state
        })
    }
}

#[derive(Debug)]
struct State {
    index: WorkflowIndex,
    documents: DocumentCache,
    /// The last listing, with the index's change count at that time.
    listing: Option<(u64, Arc<Listing>)>,
}

impl State {
    fn new(locations: &Locations) -> State {
        State {
            index: WorkflowIndex::new(locations),
            documents: DocumentCache::default(),
            listing: None,
        }
    }

    fn get(&mut self, id: &str, world: World<'_>) -> Result<Option<LibraryMatch>, FileError> {
        self.index.look_for(id)?;
        if let Some(found) = self.winner(id, world) {
            return Ok(Some(found));
        }
        // A file that had a different id when it was last checked may have this one now.
        self.index.look_at_everything()?;
        Ok(self.winner(id, world))
    }

    fn listing(&mut self, world: World<'_>) -> Result<Arc<Listing>, FileError> {
        self.index.look_at_everything()?;
        if let Some((changes, listing)) = &self.listing
            && *changes == self.index.changes
        {
            return Ok(Arc::clone(listing));
        }
        let open =
            self.index.files().filter(|(_, record)| matches!(record.verdict, Validity::Open));
        let open: Vec<FileId> = open.map(|(file, _)| file).collect();
        for file in open {
            self.index.judge(file, world);
        }
        let listing = Arc::new(Listing::of(&self.index));
        self.listing = Some((self.index.changes, Arc::clone(&listing)));
        Ok(listing)
    }

    /// The first valid workflow with the given id, or else the first invalid file.
    fn winner(&mut self, id: &str, world: World<'_>) -> Option<LibraryMatch> {
        for file in self.index.candidates(id) {
            let known = self.index.record(file).map(|record| &record.verdict);
            if matches!(known, None | Some(Validity::Invalid(_))) {
                continue;
            }
            if let Some(found @ LibraryMatch::Workflow(_)) = self.found(file, id, world) {
                return Some(found);
            }
        }
        let files = self.index.candidates(id);
        files.into_iter().find_map(|file| self.found(file, id, world))
    }

    /// The match for a file; `None` if the file is gone or now has a different id.
    fn found(&mut self, file: FileId, id: &str, world: World<'_>) -> Option<LibraryMatch> {
        if let Some(found) = self.documents.get(file) {
            return Some(found);
        }
        let ValidatedFile { file, document } = self.index.judge(file, world)?;
        let record = self.index.record(file).filter(|record| record.id == id)?;
        let bytes = document.as_ref().and_then(|document| document.source.as_ref());
        let bytes = bytes.map_or(0, |source| source.text().len());
        let document = document.map(Arc::new);
        let found = match (&record.verdict, document) {
            (Validity::Valid(summary), Some(document)) => {
                LibraryMatch::Workflow(Arc::new(LibraryEntry {
                    id: summary.id.clone(),
                    source: summary.source,
                    path: summary.path.clone(),
                    version: summary.version.clone(),
                    document,
                }))
            }
            (Validity::Invalid(refusal), document) => {
                let path = self.index.path(record);
                LibraryMatch::Invalid(Arc::new(refusal.clone().at(path, document)))
            }
            (Validity::Open | Validity::Valid(_), _) => return None,
        };
        self.documents.put(file, found.clone(), bytes);
        Some(found)
    }
}

/// The recently used documents, most recent last: a bounded cache, so that a large library needs
/// little memory.
#[derive(Debug, Default)]
struct DocumentCache {
    held: VecDeque<Held>,
    bytes: usize,
}

#[derive(Debug)]
struct Held {
    file: FileId,
    found: LibraryMatch,
    bytes: usize,
}

impl DocumentCache {
    /// Returns the cached match for a file and marks it as the most recently used.
    fn get(&mut self, file: FileId) -> Option<LibraryMatch> {
        let at = self.held.iter().rposition(|held| held.file == file)?;
        if let Some(held) = self.held.remove(at) {
            self.held.push_back(held);
        }
        self.held.back().map(|held| held.found.clone())
    }

    /// Caches a match and evicts the least recently used ones. The newest is always kept,
    /// regardless of its size.
    fn put(&mut self, file: FileId, found: LibraryMatch, bytes: usize) {
        self.held.push_back(Held { file, found, bytes });
        self.bytes += bytes;
        while self.held.len() > 1
            && (self.held.len() > limits::DOCUMENTS || self.bytes > limits::DOCUMENTS_BYTES)
        {
            let eldest = self.held.pop_front();
            self.bytes -= eldest.map_or(0, |held| held.bytes);
        }
    }
}

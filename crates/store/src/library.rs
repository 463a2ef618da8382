//! The library: every workflow there is, by id, and every file that is none.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use milepost_model::check::World;
use milepost_model::document::Document;
use milepost_model::limits::DOCUMENT_BYTES;
use milepost_model::source::Format;

use crate::builtin;
use crate::directory::Directory;
use crate::file::FileError;
use crate::locations::{Locations, SourceKind};

/// A workflow of the library.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its id.
    pub id: String,
    /// Which kind of source it comes from.
    pub source: SourceKind,
    /// Its file; of a built-in workflow only the name.
    pub path: PathBuf,
    /// The bytes of the file.
    pub bytes: Arc<[u8]>,
    /// What they say.
    pub document: Arc<Document>,
    /// Which of the sources it comes from: two of them may be one inside the other.
    origin: usize,
}

/// A file that is no workflow, or whose id is taken.
#[derive(Debug, Clone)]
pub struct Invalid {
    /// The file.
    pub path: PathBuf,
    /// Why, in one sentence.
    pub reason: String,
    /// What the file says, when it could be read.
    pub document: Option<Arc<Document>>,
}

/// What one source holds.
#[derive(Debug, Clone)]
pub struct SourceReport {
    /// Its kind.
    pub kind: SourceKind,
    /// Its directory; none for what comes with the program.
    pub path: Option<PathBuf>,
    /// Whether the directory is there.
    pub exists: bool,
    /// How many workflows it holds.
    pub count: usize,
    /// Ids that a later source has too, with that source's kind.
    pub shadowed: Vec<(String, SourceKind)>,
    /// Not every file was looked at.
    pub cut: bool,
}

/// Every workflow, by id, after one look at every source.
#[derive(Debug, Default)]
pub struct Library {
    entries: BTreeMap<String, Entry>,
    invalid: Vec<Invalid>,
    sources: Vec<SourceReport>,
}

impl Library {
    /// Looks at every source. A source that cannot be read is an error: a library that silently
    /// lacks workflows would be worse.
    pub fn scan(locations: &Locations, world: World<'_>) -> Result<Library, FileError> {
        let mut library = Library::default();
        library.add_built_in(world);
        for (kind, path) in &locations.directories {
            library.add_directory(*kind, path, world)?;
        }
        Ok(library)
    }

    /// The workflow of an id.
    pub fn get(&self, id: &str) -> Option<&Entry> {
        self.entries.get(id)
    }

    /// Every workflow, sorted by id.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// Every file that is no workflow.
    pub fn invalid(&self) -> &[Invalid] {
        &self.invalid
    }

    /// What each source holds, least first.
    pub fn sources(&self) -> &[SourceReport] {
        &self.sources
    }

    fn add_built_in(&mut self, world: World<'_>) {
        let report = SourceReport {
            kind: SourceKind::BuiltIn,
            path: None,
            exists: true,
            count: 0,
            shadowed: Vec::new(),
            cut: false,
        };
        self.sources.push(report);
        for (name, text) in builtin::WORKFLOWS {
            self.add(SourceKind::BuiltIn, PathBuf::from(name), text.as_bytes().into(), world);
        }
    }

    fn add_directory(
        &mut self,
        kind: SourceKind,
        path: &Path,
        world: World<'_>,
    ) -> Result<(), FileError> {
        let directory = Directory::open(path)?;
        let files = match &directory {
            Some(directory) => directory.documents()?,
            None => crate::directory::Files::default(),
        };
        self.sources.push(SourceReport {
            kind,
            path: Some(path.to_owned()),
            exists: directory.is_some(),
            count: 0,
            shadowed: Vec::new(),
            cut: files.cut,
        });
        for (relative, error) in &files.refused {
            self.refuse(path.join(relative), error);
        }
        let Some(directory) = directory else { return Ok(()) };
        for relative in files.paths {
            let full = path.join(&relative);
            match directory.read(&relative, DOCUMENT_BYTES) {
                Ok(bytes) => self.add(kind, full, bytes.into(), world),
                Err(error) => self.refuse(full, &error),
            }
        }
        Ok(())
    }

    fn refuse(&mut self, path: PathBuf, error: &FileError) {
        let reason = match error {
            FileError::Io { source, .. } => format!("{error}: {source}"),
            _ => error.to_string(),
        };
        self.invalid.push(Invalid { path, reason, document: None });
    }

    fn add(&mut self, source: SourceKind, path: PathBuf, bytes: Arc<[u8]>, world: World<'_>) {
        let extension = path.extension().and_then(|extension| extension.to_str());
        let format = extension.and_then(Format::of_extension);
        let document = Arc::new(Document::read(&bytes, format, world));
        let Some(workflow) = &document.workflow else {
            let first = document.violations.first();
            let reason = first.map_or_else(String::new, |violation| {
                format!("line {}: {}", violation.line, violation.message)
            });
            self.invalid.push(Invalid { path, reason, document: Some(document) });
            return;
        };
        let id = workflow.id.value.to_string();
        let here = self.sources.len() - 1;
        if let Some(held) = self.entries.get(&id) {
            if held.origin == here {
                let reason = format!("id `{id}` is taken by `{}`", held.path.display());
                self.invalid.push(Invalid { path, reason, document: Some(document) });
                return;
            }
            self.sources[held.origin].shadowed.push((id.clone(), source));
        }
        self.sources[here].count += 1;
        let entry = Entry { id: id.clone(), source, path, bytes, document, origin: here };
        self.entries.insert(id, entry);
    }
}

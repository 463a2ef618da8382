//! Which files exist and which id each of them has, kept up to date by checking the disk.
//!
//! Only a summary of each workflow is kept: documents are read, validated and dropped.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use milepost_model::check::World;
use milepost_model::document::Document;

use crate::directory::{self, Directory};
use crate::file_reading::{self, FileChange, FileReading, FileTrace, WholeFile};
use crate::listing::{InvalidReason, WorkflowSummary};
use crate::parallel;
use crate::tree::Tree;
use crate::{FileError, Locations, SourceKind, builtin};

/// Identifies one version of a file's content. A changed file gets a new id, so that cached data
/// never goes stale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct FileId(u64);

/// What is known about a file.
#[derive(Debug)]
pub(crate) struct FileRecord {
    pub(crate) source: usize,
    pub(crate) path: Arc<Path>,
    pub(crate) id: String,
    pub(crate) verdict: Validity,
    trace: FileTrace,
}

/// Whether a file is a valid workflow.
#[derive(Debug)]
pub(crate) enum Validity {
    /// Not checked yet.
    Open,
    Valid(Arc<WorkflowSummary>),
    /// It is not a valid workflow, for this reason.
    Invalid(InvalidReason),
}

impl Validity {
    fn is_refusal(&self, refusal: Option<&InvalidReason>) -> bool {
        matches!((self, refusal), (Validity::Invalid(known), Some(refusal)) if known == refusal)
    }
}

/// A directory that contains workflows, or the built-in workflows.
#[derive(Debug)]
pub(crate) struct WorkflowSource {
    pub(crate) kind: SourceKind,
    pub(crate) path: Option<PathBuf>,
    /// `None` if the directory does not exist.
    pub(crate) directory: Option<Directory>,
    pub(crate) tree: Tree,
    files: HashMap<Arc<Path>, FileId>,
}

/// A file that was read in full and validated.
pub(crate) struct ValidatedFile {
    pub(crate) file: FileId,
    /// `None` if the file could not be read.
    pub(crate) document: Option<Document>,
}

/// Every file in every source.
#[derive(Debug)]
pub(crate) struct WorkflowIndex {
    /// In ascending order of precedence.
    pub(crate) sources: Vec<WorkflowSource>,
    files: HashMap<FileId, FileRecord>,
    /// The files with each id, in order of precedence.
    by_id: HashMap<String, Vec<FileId>>,
    next: u64,
    /// Incremented whenever a change is detected.
    pub(crate) changes: u64,
}

impl WorkflowIndex {
    /// An empty index, which the first check fills.
    pub(crate) fn new(locations: &Locations) -> WorkflowIndex {
        let source = |kind, path| WorkflowSource {
            kind,
            path,
            directory: None,
            tree: Tree::default(),
            files: HashMap::new(),
        };
        let directories = locations.directories.iter();
        let directories = directories.map(|(kind, path)| source(*kind, Some(path.clone())));
        let sources = std::iter::once(source(SourceKind::BuiltIn, None)).chain(directories);
        WorkflowIndex {
            sources: sources.collect(),
            files: HashMap::new(),
            by_id: HashMap::new(),
            next: 0,
            changes: 0,
        }
    }

    /// Every file, in no particular order.
    pub(crate) fn files(&self) -> impl Iterator<Item = (FileId, &FileRecord)> {
        self.files.iter().map(|(file, record)| (*file, record))
    }

    /// What is known about a file; `None` if it has changed since.
    pub(crate) fn record(&self, file: FileId) -> Option<&FileRecord> {
        self.files.get(&file)
    }

    /// The path of a file; for a built-in workflow, only its name.
    pub(crate) fn path(&self, record: &FileRecord) -> PathBuf {
        match &self.sources[record.source].path {
            Some(source) => source.join(&record.path),
            None => record.path.to_path_buf(),
        }
    }

    /// The files with the given id, in order of precedence.
    pub(crate) fn candidates(&self, id: &str) -> Vec<FileId> {
        self.by_id.get(id).cloned().unwrap_or_default()
    }

    /// Checks everything that determines which file an id refers to: the folders and the files that
    /// have the id. The cost does not depend on the number of files.
    pub(crate) fn look_for(&mut self, id: &str) -> Result<(), FileError> {
        self.look_at_folders()?;
        self.look_at(&self.candidates(id));
        Ok(())
    }

    /// Checks every folder and every file.
    pub(crate) fn look_at_everything(&mut self) -> Result<(), FileError> {
        self.look_at_folders()?;
        let files: Vec<FileId> = self.files.keys().copied().collect();
        self.look_at(&files);
        Ok(())
    }

    /// Reads a file in full and validates it; `None` if it no longer exists.
    pub(crate) fn judge(&mut self, file: FileId, world: World<'_>) -> Option<ValidatedFile> {
        let record = self.files.get(&file)?;
        let whole = match &self.sources[record.source].directory {
            Some(directory) => file_reading::for_document(directory, &record.path, world),
            None => Ok(file_reading::for_built_in(built_in(&record.path)?, &record.path, world)),
        };
        let WholeFile { reading, document, bytes } = match whole {
            Ok(whole) => whole,
            Err(look) => {
                let file = self.apply(file, *look)?;
                return Some(ValidatedFile { file, document: None });
            }
        };
        let verdict = match &document.workflow {
            Some(workflow) => {
                let source = self.sources[record.source].kind;
                let summary =
                    WorkflowSummary::of(&document, workflow, &bytes, source, self.path(record));
                Validity::Valid(Arc::new(summary))
            }
            None => Validity::Invalid(InvalidReason::of_document(&document)),
        };
        let same = record.trace.hash == reading.trace.hash && record.id == reading.id;
        let look =
            if same { FileChange::Touched(reading.trace) } else { FileChange::Read(reading) };
        let file = self.apply(file, look)?;
        self.files.get_mut(&file)?.verdict = verdict;
        Some(ValidatedFile { file, document: Some(document) })
    }

    fn look_at_folders(&mut self) -> Result<(), FileError> {
        if self.next == 0 {
            self.add_built_in();
        }
        for number in 0..self.sources.len() {
            if !self.is_unchanged(number)? {
                self.look_again(number)?;
            }
        }
        Ok(())
    }

    /// Whether a source's folders are unchanged.
    fn is_unchanged(&self, number: usize) -> Result<bool, FileError> {
        let source = &self.sources[number];
        match (&source.path, &source.directory) {
            (None, _) => Ok(true),
            (Some(path), None) => Ok(directory::stamp_at(path)?.is_none()),
            (Some(_), Some(directory)) => Ok(source.tree.is_all_still(directory)),
        }
    }

    /// Lists a source's changed folders and checks the files in them.
    fn look_again(&mut self, number: usize) -> Result<(), FileError> {
        let source = &mut self.sources[number];
        let Some(path) = &source.path else { return Ok(()) };
        let clock = SystemTime::now();
        let root = directory::stamp_at(path)?.map(|stamp| stamp.seen(clock));
        let opened = if root.is_some() { Directory::open(path)? } else { None };
        let known = mem::take(&mut source.tree);
        let (Some(root), Some(directory)) = (root, opened) else {
            source.directory = None;
            self.changes += 1;
            let gone: Vec<FileId> = mem::take(&mut source.files).into_values().collect();
            gone.into_iter().for_each(|file| self.remove(file));
            return Ok(());
        };
        // Problems with the source itself are not compared with the previous ones; they always
        // count as a change and are reported again.
        if known.cut || !known.refused().is_empty() || source.directory.is_none() {
            self.changes += 1;
        }
        let (tree, listed) = known.grown(&directory, root)?;
        let mut before = mem::take(&mut source.files);
        let mut changed = Vec::new();
        let mut new = Vec::new();
        for (folder, path) in tree.documents() {
            match before.remove_entry(path.as_path()) {
                Some((path, file)) => {
                    source.files.insert(path, file);
                    if listed.contains(folder) {
                        changed.push(file);
                    }
                }
                None => new.push(Arc::from(path)),
            }
        }
        if tree.cut || !tree.refused().is_empty() {
            self.changes += 1;
        }
        source.directory = Some(directory);
        source.tree = tree;
        before.into_values().for_each(|file| self.remove(file));
        self.look_at(&changed);
        self.add(number, &new);
        Ok(())
    }

    fn add(&mut self, number: usize, paths: &[Arc<Path>]) {
        let Some(directory) = &self.sources[number].directory else { return };
        let looks = parallel::map(paths, |path| file_reading::for_id(directory, path, None));
        for (path, look) in paths.iter().zip(looks) {
            if let FileChange::Read(reading) = look {
                self.insert(number, Arc::clone(path), reading);
            }
        }
    }

    fn add_built_in(&mut self) {
        for (name, text) in builtin::WORKFLOWS {
            let path = Path::new(name);
            self.insert(0, Arc::from(path), FileReading::of_built_in(text, path));
        }
    }

    fn look_at(&mut self, files: &[FileId]) {
        let looks = parallel::map(files, |file| self.look(*file));
        for (file, look) in files.iter().zip(looks) {
            self.apply(*file, look);
        }
    }

    fn look(&self, file: FileId) -> FileChange {
        let Some(record) = self.files.get(&file) else { return FileChange::Same };
        match &self.sources[record.source].directory {
            Some(directory) => file_reading::for_id(directory, &record.path, Some(record.trace)),
            None => FileChange::Same,
        }
    }

    /// Applies the result of a check and returns the file's current id, or `None` if it no longer
    /// exists.
    fn apply(&mut self, file: FileId, look: FileChange) -> Option<FileId> {
        let record = self.files.get_mut(&file)?;
        match look {
            FileChange::Same => Some(file),
            FileChange::Touched(trace) => {
                record.trace = trace;
                Some(file)
            }
            FileChange::Gone => {
                self.remove(file);
                None
            }
            // The same failure as before: the file was read again only because there is no other
            // way to tell whether it changed.
            FileChange::Read(reading) if record.verdict.is_refusal(reading.refused.as_ref()) => {
                Some(file)
            }
            FileChange::Read(reading) => {
                let (source, path) = (record.source, Arc::clone(&record.path));
                self.remove(file);
                Some(self.insert(source, path, reading))
            }
        }
    }

    fn insert(&mut self, source: usize, path: Arc<Path>, reading: FileReading) -> FileId {
        let file = FileId(self.next);
        self.next += 1;
        self.changes += 1;
        let verdict = reading.refused.map_or(Validity::Open, Validity::Invalid);
        let FileReading { id, trace, .. } = reading;
        let rank = |record: &FileRecord| (Reverse(record.source), Arc::clone(&record.path));
        let held = self.by_id.entry(id.clone()).or_default();
        let record = FileRecord { source, path: Arc::clone(&path), id, verdict, trace };
        let at = held.partition_point(|other| {
            self.files.get(other).is_some_and(|other| rank(other) < rank(&record))
        });
        held.insert(at, file);
        self.files.insert(file, record);
        self.sources[source].files.insert(path, file);
        file
    }

    fn remove(&mut self, file: FileId) {
        let Some(record) = self.files.remove(&file) else { return };
        self.changes += 1;
        self.sources[record.source].files.remove(&record.path);
        if let Entry::Occupied(mut held) = self.by_id.entry(record.id) {
            held.get_mut().retain(|other| *other != file);
            if held.get().is_empty() {
                held.remove();
            }
        }
    }
}

fn built_in(path: &Path) -> Option<&'static str> {
    let mut workflows = builtin::WORKFLOWS.iter();
    workflows.find(|(name, _)| Path::new(name) == path).map(|(_, text)| *text)
}

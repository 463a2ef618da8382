//! Finds a workflow's file in the writable directory, and reads its current content.

use std::path::{Path, PathBuf};

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_model::id::WorkflowId;
use milepost_syntax::limits::DOCUMENT_BYTES;
use milepost_syntax::source::Format;

use super::log::TextRef;
use crate::index::{FileId, Validity, WorkflowIndex};
use crate::{Digest, FileError, Locations, SourceKind, identity};

/// The `World` for validating documents without checking their commands.
pub(super) const WORLD: World<'static> = World { commands: &NoCommands, env_allow: None };

/// The index of the directory among the sources; the built-in workflows come first.
const DIRECTORY: usize = 1;

/// The files in the writable directory.
#[derive(Debug)]
pub(super) struct DirectoryFiles {
    path: PathBuf,
    index: WorkflowIndex,
}

/// A workflow's file.
#[derive(Debug)]
pub(super) struct HeldFile {
    pub(super) path: PathBuf,
    /// Its content, read for this call.
    pub(super) bytes: Vec<u8>,
    pub(super) text: TextRef,
    /// Other files with the same id, which are shadowed by this one.
    pub(super) others: Vec<PathBuf>,
}

impl DirectoryFiles {
    pub(super) fn of(directory: &Path) -> DirectoryFiles {
        let directories = vec![(SourceKind::Runtime, directory.to_owned())];
        let locations = Locations { directories, ..Locations::default() };
        DirectoryFiles { path: directory.to_owned(), index: WorkflowIndex::new(&locations) }
    }

    /// Discards the index, because the thread that was using it panicked.
    pub(super) fn reset(&mut self) {
        *self = DirectoryFiles::of(&self.path);
    }

    /// The file with the given id. If there are several, the one that the library uses.
    pub(super) fn held(&mut self, id: &WorkflowId) -> Result<Option<HeldFile>, FileError> {
        self.index.look_for(id.as_str())?;
        let mut files = self.own(id);
        if files.is_empty() {
            // A file that had a different id when it was last checked may have this one now.
            self.index.look_at_everything()?;
            files = self.own(id);
        }
        let Some(winner) = self.winner(&files) else { return Ok(None) };
        let path = |file: FileId| self.index.record(file).map(|record| record.path.to_path_buf());
        let Some(held) = path(winner) else { return Ok(None) };
        let others = self.own(id).into_iter().filter_map(path).filter(|other| *other != held);
        let others = others.collect();
        match self.read(&held) {
            Ok(bytes) => {
                let format = identity::format(&held).unwrap_or(Format::Yaml);
                let text = TextRef { version: Digest::of(&bytes), format };
                Ok(Some(HeldFile { path: held, bytes, text, others }))
            }
            // It was removed between the check and the read.
            Err(FileError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a file in the directory.
    pub(super) fn read(&self, path: &Path) -> Result<Vec<u8>, FileError> {
        match &self.index.sources[DIRECTORY].directory {
            Some(directory) => directory.read(path, DOCUMENT_BYTES),
            None => Err(FileError::NotFound { path: self.path.join(path) }),
        }
    }

    fn own(&self, id: &WorkflowId) -> Vec<FileId> {
        let mut files = self.index.candidates(id.as_str());
        files.retain(|file| {
            self.index.record(*file).is_some_and(|record| record.source == DIRECTORY)
        });
        files
    }

    /// The first valid workflow, or else the first file.
    fn winner(&mut self, files: &[FileId]) -> Option<FileId> {
        if files.len() > 1 {
            for file in files {
                let Some(judged) = self.index.judge(*file, WORLD) else { continue };
                let record = self.index.record(judged.file);
                if record.is_some_and(|record| matches!(record.verdict, Validity::Valid(_))) {
                    return Some(judged.file);
                }
            }
        }
        files.first().copied()
    }
}

//! Which file of the directory holds a workflow, and what it says at this moment.

use std::path::{Path, PathBuf};

use milepost_model::check::World;
use milepost_model::commands::NoCommands;
use milepost_model::id::WorkflowId;
use milepost_syntax::limits::DOCUMENT_BYTES;
use milepost_syntax::source::Format;

use super::log::TextRef;
use crate::index::{FileId, Validity, WorkflowIndex};
use crate::{Digest, FileError, Locations, SourceKind, identity};

/// What documents are checked against when it only matters whether they are workflows at all.
pub(super) const WORLD: World<'static> = World { commands: &NoCommands, env_allow: None };

/// The number of the directory among the sources of its index: what comes with the program is
/// first.
const DIRECTORY: usize = 1;

/// The files of the directory that is written.
#[derive(Debug)]
pub(super) struct DirectoryFiles {
    path: PathBuf,
    index: WorkflowIndex,
}

/// The file of a workflow.
#[derive(Debug)]
pub(super) struct HeldFile {
    pub(super) path: PathBuf,
    /// What it says, read for this call.
    pub(super) bytes: Vec<u8>,
    pub(super) text: TextRef,
    /// Other files that say the same id and do not count.
    pub(super) others: Vec<PathBuf>,
}

impl DirectoryFiles {
    pub(super) fn of(directory: &Path) -> DirectoryFiles {
        let directories = vec![(SourceKind::Runtime, directory.to_owned())];
        let locations = Locations { directories, ..Locations::default() };
        DirectoryFiles { path: directory.to_owned(), index: WorkflowIndex::new(&locations) }
    }

    /// Begins anew: whoever used this last did not come to an end.
    pub(super) fn reset(&mut self) {
        *self = DirectoryFiles::of(&self.path);
    }

    /// The file that has an id. Of several, the one that counts in the library.
    pub(super) fn held(&mut self, id: &WorkflowId) -> Result<Option<HeldFile>, FileError> {
        self.index.look_for(id.as_str())?;
        let mut files = self.own(id);
        if files.is_empty() {
            // A file that had another id when it was looked at may have this one now.
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
            // It went between the look and the reading.
            Err(FileError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What a file of the directory says.
    pub(super) fn read(&self, path: &Path) -> Result<Vec<u8>, FileError> {
        match &self.index.sources()[DIRECTORY].directory {
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

    /// The first file that is a workflow, else the first.
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

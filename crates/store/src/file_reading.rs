//! Checks a single file: whether it has changed, and if so, what it contains now.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::LazyLock;

use milepost_model::check::World;
use milepost_model::document::Document;
use milepost_syntax::limits::DOCUMENT_BYTES;

use crate::listing::InvalidReason;
use crate::stamp::ObservedStamp;
use crate::{Directory, FileError, identity};

/// The result of an earlier check, to compare with.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FileTrace {
    /// `None` if not even the stamp could be read, or if there is nothing on disk to check.
    pub(crate) seen: Option<ObservedStamp>,
    /// Identifies the content; `None` if the file could not be read.
    pub(crate) hash: Option<u64>,
}

/// The result of a check.
#[derive(Debug)]
pub(crate) enum FileChange {
    /// The file is unchanged.
    Same,
    /// The content is the same, but the file was touched, or its stamp has settled.
    Touched(FileTrace),
    /// The file no longer exists.
    Gone,
    /// The content changed, or the file was not checked before.
    Read(FileReading),
}

/// The part of a file's content that the index needs.
#[derive(Debug)]
pub(crate) struct FileReading {
    pub(crate) trace: FileTrace,
    pub(crate) id: String,
    pub(crate) refused: Option<InvalidReason>,
}

impl FileReading {
    /// The data for a built-in workflow. Its id is its file name, so that it need not be parsed at
    /// startup.
    pub(crate) fn of_built_in(text: &str, path: &Path) -> FileReading {
        let trace = FileTrace { seen: None, hash: Some(hash(text.as_bytes())) };
        FileReading { trace, id: identity::of_name(path), refused: None }
    }
}

/// Determines the id of a file. The file is opened only if it may have changed since `known`.
pub(crate) fn for_id(directory: &Directory, path: &Path, known: Option<FileTrace>) -> FileChange {
    if let Some(FileTrace { seen: Some(seen), .. }) = known
        && let Ok(now) = directory.stamp(path)
        && seen.is_still(now)
    {
        return FileChange::Same;
    }
    let (seen, bytes) = match directory.read_seen(path, DOCUMENT_BYTES) {
        Ok(read) => read,
        Err(error) => return refused(directory, path, &error),
    };
    let trace = FileTrace { seen: Some(seen), hash: Some(hash(&bytes)) };
    if known.is_some_and(|known| known.hash == trace.hash) {
        return FileChange::Touched(trace);
    }
    FileChange::Read(FileReading { trace, id: identity::of_bytes(&bytes, path), refused: None })
}

/// The full content of a file, parsed and as bytes.
pub(crate) struct WholeFile {
    pub(crate) reading: FileReading,
    pub(crate) document: Document,
    pub(crate) bytes: Vec<u8>,
}

/// Reads a file in full.
pub(crate) fn for_document(
    directory: &Directory,
    path: &Path,
    world: World<'_>,
) -> Result<WholeFile, Box<FileChange>> {
    match directory.read_seen(path, DOCUMENT_BYTES) {
        Ok((seen, bytes)) => Ok(whole(Some(seen), bytes, path, world)),
        Err(error) => Err(Box::new(refused(directory, path, &error))),
    }
}

/// Reads a built-in workflow.
pub(crate) fn for_built_in(text: &str, path: &Path, world: World<'_>) -> WholeFile {
    whole(None, text.as_bytes().to_vec(), path, world)
}

fn whole(seen: Option<ObservedStamp>, bytes: Vec<u8>, path: &Path, world: World<'_>) -> WholeFile {
    let document = Document::read(&bytes, identity::format(path), world);
    let id = identity::of_document(&document, &bytes, path);
    let trace = FileTrace { seen, hash: Some(hash(&bytes)) };
    WholeFile { reading: FileReading { trace, id, refused: None }, document, bytes }
}

fn refused(directory: &Directory, path: &Path, error: &FileError) -> FileChange {
    if matches!(error, FileError::NotFound { .. }) && !directory.is_link(path) {
        return FileChange::Gone;
    }
    // Without a stamp, the file is read again on every check, because the cause, such as a link or
    // the permissions of a folder, may change without affecting the file itself.
    let trace = FileTrace::default();
    FileChange::Read(FileReading {
        trace,
        id: identity::of_name(path),
        refused: Some(InvalidReason::of_file(error)),
    })
}

/// Uses a random key, so that nobody can construct two files with the same hash.
fn hash(bytes: &[u8]) -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEY.hash_one(bytes)
}

//! One look at one file: whether it is as it was, and if not, what it is now.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::LazyLock;

use milepost_model::check::World;
use milepost_model::document::Document;
use milepost_syntax::limits::DOCUMENT_BYTES;

use crate::listing::InvalidReason;
use crate::stamp::ObservedStamp;
use crate::{Directory, FileError, identity};

/// What an earlier look has left to compare with.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FileTrace {
    /// None when not even the stamp could be had, or when nothing has to be looked at.
    pub(crate) seen: Option<ObservedStamp>,
    /// Tells one content from another; none of a file that could not be read.
    pub(crate) hash: Option<u64>,
}

/// What a look came to.
#[derive(Debug)]
pub(crate) enum FileChange {
    /// The file is as it was.
    Same,
    /// It says what it said, and has been touched or has settled.
    Touched(FileTrace),
    /// There is no such file any more.
    Gone,
    /// It says something else, or was never looked at.
    Read(FileReading),
}

/// What a file says, as far as it was of interest.
#[derive(Debug)]
pub(crate) struct FileReading {
    pub(crate) trace: FileTrace,
    pub(crate) id: String,
    pub(crate) refused: Option<InvalidReason>,
}

impl FileReading {
    /// What text that comes with the program says: its name is its id, so that no start has to read
    /// it.
    pub(crate) fn of_built_in(text: &str, path: &Path) -> FileReading {
        let trace = FileTrace { seen: None, hash: Some(hash(text.as_bytes())) };
        FileReading { trace, id: identity::of_name(path), refused: None }
    }
}

/// Looks at a file for its id; opens it only if it is not what `known` says.
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

/// What a file says in full, with the bytes that say so.
pub(crate) struct WholeFile {
    pub(crate) reading: FileReading,
    pub(crate) document: Document,
    pub(crate) bytes: Vec<u8>,
}

/// Reads a file whole.
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

/// Reads text that comes with the program.
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
    // Without a stamp the file is tried again at every look: what keeps it from being read, such
    // as a link or the rights of a folder, may change without a trace at the file.
    let trace = FileTrace::default();
    FileChange::Read(FileReading {
        trace,
        id: identity::of_name(path),
        refused: Some(InvalidReason::of_file(error)),
    })
}

/// Told apart with a key nobody knows, so that nobody can make two contents that look the same.
fn hash(bytes: &[u8]) -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEY.hash_one(bytes)
}

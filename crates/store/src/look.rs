//! One look at one file: whether it is as it was, and if not, what it is now.

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::LazyLock;

use milepost_model::check::World;
use milepost_model::document::Document;
use milepost_model::limits::DOCUMENT_BYTES;

use crate::directory::Directory;
use crate::file::FileError;
use crate::identity;
use crate::listing::Refusal;
use crate::stamp::Seen;

/// What an earlier look has left to compare with.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Trace {
    /// None when not even the stamp could be had, or when nothing has to be looked at.
    pub(crate) seen: Option<Seen>,
    /// Tells one content from another; none of a file that could not be read.
    pub(crate) hash: Option<u64>,
}

/// What a look came to.
#[derive(Debug)]
pub(crate) enum Look {
    /// The file is as it was.
    Same,
    /// It says what it said, and has been touched or has settled.
    Touched(Trace),
    /// There is no such file any more.
    Gone,
    /// It says something else, or was never looked at.
    Read(Reading),
}

/// What a file says, as far as it was of interest.
#[derive(Debug)]
pub(crate) struct Reading {
    pub(crate) trace: Trace,
    /// The id it counts under.
    pub(crate) id: String,
    /// Why it could not be read.
    pub(crate) refused: Option<Refusal>,
}

impl Reading {
    /// What text that comes with the program says: its name is its id, so that no start has to read
    /// it.
    pub(crate) fn of_built_in(text: &str, path: &Path) -> Reading {
        let trace = Trace { seen: None, hash: Some(hash(text.as_bytes())) };
        Reading { trace, id: identity::of_name(path), refused: None }
    }
}

/// Looks at a file for its id; opens it only if it is not what `known` says.
pub(crate) fn for_id(directory: &Directory, path: &Path, known: Option<Trace>) -> Look {
    if let Some(Trace { seen: Some(seen), .. }) = known
        && let Ok(now) = directory.stamp(path)
        && seen.is_still(now)
    {
        return Look::Same;
    }
    let (seen, bytes) = match directory.read_seen(path, DOCUMENT_BYTES) {
        Ok(read) => read,
        Err(error) => return refused(directory, path, &error),
    };
    let trace = Trace { seen: Some(seen), hash: Some(hash(&bytes)) };
    if known.is_some_and(|known| known.hash == trace.hash) {
        return Look::Touched(trace);
    }
    Look::Read(Reading { trace, id: identity::of_bytes(&bytes, path), refused: None })
}

/// What a file says in full, with the bytes that say so.
pub(crate) struct Whole {
    pub(crate) reading: Reading,
    pub(crate) document: Document,
    pub(crate) bytes: Vec<u8>,
}

/// Reads a file whole.
pub(crate) fn for_document(
    directory: &Directory,
    path: &Path,
    world: World<'_>,
) -> Result<Whole, Box<Look>> {
    match directory.read_seen(path, DOCUMENT_BYTES) {
        Ok((seen, bytes)) => Ok(whole(Some(seen), bytes, path, world)),
        Err(error) => Err(Box::new(refused(directory, path, &error))),
    }
}

/// Reads text that comes with the program.
pub(crate) fn for_built_in(text: &str, path: &Path, world: World<'_>) -> Whole {
    whole(None, text.as_bytes().to_vec(), path, world)
}

fn whole(seen: Option<Seen>, bytes: Vec<u8>, path: &Path, world: World<'_>) -> Whole {
    let document = Document::read(&bytes, identity::format(path), world);
    let id = identity::of_document(&document, &bytes, path);
    let trace = Trace { seen, hash: Some(hash(&bytes)) };
    Whole { reading: Reading { trace, id, refused: None }, document, bytes }
}

fn refused(directory: &Directory, path: &Path, error: &FileError) -> Look {
    if matches!(error, FileError::NotFound { .. }) && !directory.is_link(path) {
        return Look::Gone;
    }
    // Without a stamp the file is tried again at every look: what keeps it from being read, such
    // as a link or the rights of a folder, may change without a trace at the file.
    let trace = Trace::default();
    Look::Read(Reading {
        trace,
        id: identity::of_name(path),
        refused: Some(Refusal::of_file(error)),
    })
}

/// Told apart with a key nobody knows, so that nobody can make two contents that look the same.
fn hash(bytes: &[u8]) -> u64 {
    static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    KEY.hash_one(bytes)
}

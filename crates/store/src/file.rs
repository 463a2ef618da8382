//! Single files: read whole and bounded, written whole or not at all.

mod fault;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

#[cfg(debug_assertions)]
pub use fault::file_faults;
pub use fault::{FileFault, FileFaults, FilePoint};
pub(crate) use fault::{at, write_all};

use crate::limits;

/// Why a file could not be read or written; each variant is another thing to do about it.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is nothing at this path.
    #[error("there is no file `{}`", path.display())]
    NotFound {
        /// The path.
        path: PathBuf,
    },
    /// A directory, a device, a pipe or a socket.
    #[error("`{}` is not a regular file", path.display())]
    NotRegular {
        /// The path.
        path: PathBuf,
    },
    /// A link that leaves its directory.
    #[error("`{}` leads out of its directory", path.display())]
    Outside {
        /// The path.
        path: PathBuf,
    },
    /// Larger than any document may be.
    #[error("`{}` is too large: {bytes} bytes", path.display())]
    TooLarge {
        /// The path.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// Something is there already.
    #[error("`{}` exists", path.display())]
    Exists {
        /// The path.
        path: PathBuf,
    },
    /// The system refused.
    #[error("cannot use `{}`", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl FileError {
    pub(crate) fn of(path: &Path, source: io::Error) -> FileError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => FileError::NotFound { path },
            io::ErrorKind::AlreadyExists => FileError::Exists { path },
            _ => FileError::Io { path, source },
        }
    }
}

/// Reads a file the user named. The size is looked at before anything is read, and no more than
/// that is read, because a file may grow.
pub fn read_document(path: &Path, limit: usize) -> Result<Vec<u8>, FileError> {
    // Looked at before it is opened: opening a pipe waits for somebody to write to it.
    let before = fs::metadata(path).map_err(|error| FileError::of(path, error))?;
    if !before.is_file() {
        return Err(FileError::NotRegular { path: path.to_owned() });
    }
    let file = File::open(path).map_err(|error| FileError::of(path, error))?;
    let metadata = file.metadata().map_err(|error| FileError::of(path, error))?;
    if !metadata.is_file() {
        return Err(FileError::NotRegular { path: path.to_owned() });
    }
    bounded(path, file, metadata.len(), limit)
}

pub(crate) fn bounded(
    path: &Path,
    file: impl Read,
    size: u64,
    limit: usize,
) -> Result<Vec<u8>, FileError> {
    let too_large = |bytes| FileError::TooLarge { path: path.to_owned(), bytes };
    if size > limit as u64 {
        return Err(too_large(size));
    }
    let bytes = if size == 0 { to_its_end(file, limit) } else { as_much(file, size as usize) };
    let bytes = bytes.map_err(|error| FileError::of(path, error))?;
    if bytes.len() > limit {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// What a file has that told its size, in as few pieces as the system gives.
fn as_much(mut file: impl Read, size: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while filled < size {
        match file.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// What a file has that tells no size, and one byte more than it may.
fn to_its_end(file: impl Read, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether a file holds exactly these bytes.
pub(crate) fn is_of(mut file: impl Read, bytes: &[u8]) -> io::Result<bool> {
    let mut chunk = vec![0; limits::COMPARED_BYTES];
    let mut rest = bytes;
    loop {
        let count = match file.read(&mut chunk) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        match (rest.split_at_checked(count), count) {
            (_, 0) => return Ok(rest.is_empty()),
            (Some((same, more)), _) if same == &chunk[..count] => rest = more,
            _ => return Ok(false),
        }
    }
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Manner {
    pub(crate) replace: Replace,
    pub(crate) readers: Readers,
    pub(crate) lasting: Lasting,
}

/// Whether a file that is there may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replace {
    Yes,
    No,
}

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Those who may read the file it replaces; of a new one, whoever the system lets.
    Same,
    /// Its owner alone, from the first byte.
    Owner,
}

/// What a crash of the machine may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// Nothing: what was written is on the disk.
    Synced,
    /// The file: it can be made again.
    Unsynced,
}

/// Writes a file whole or not at all: a new file beside it, synced, then renamed over it, and the
/// directory synced. With `overwrite` false a file that is there is left alone.
pub fn write_atomic(path: &Path, bytes: &[u8], overwrite: bool) -> Result<(), FileError> {
    let replace = if overwrite { Replace::Yes } else { Replace::No };
    write(path, bytes, Manner { replace, readers: Readers::Same, lasting: Lasting::Synced })
}

/// Writes a file whole or not at all, in the manner asked for.
pub(crate) fn write(path: &Path, bytes: &[u8], manner: Manner) -> Result<(), FileError> {
    // A link is written through, not replaced by a file; one that leads nowhere stays.
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(_) if fs::symlink_metadata(path).is_ok() => {
            return Err(FileError::Exists { path: path.to_owned() });
        }
        Err(_) => path.to_owned(),
    };
    let parent = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let (temporary, mut file) = create_beside(&target, &parent, manner.readers)?;
    let result = fill(&mut file, bytes, &target, &temporary, manner);
    if result.is_err() {
        // What went wrong is told; a file left behind would only add to it.
        drop(fs::remove_file(&temporary));
    }
    result.map_err(|error| FileError::of(path, error))?;
    match manner.lasting {
        Lasting::Synced => sync_directory(&parent),
        Lasting::Unsynced => Ok(()),
    }
}

/// Makes what was renamed or removed in a directory last.
pub(crate) fn sync_directory(path: &Path) -> Result<(), FileError> {
    let directory = File::open(path).map_err(|error| FileError::of(path, error))?;
    let synced = at(FilePoint::SyncDirectory, || directory.sync_all());
    synced.map_err(|error| FileError::of(path, error))
}

fn fill(
    file: &mut File,
    bytes: &[u8],
    target: &Path,
    temporary: &Path,
    manner: Manner,
) -> io::Result<()> {
    // Before the text is in it: what only its owner may read is never there for others.
    if manner.readers == Readers::Same
        && let Ok(metadata) = fs::metadata(target)
    {
        file.set_permissions(metadata.permissions())?;
    }
    write_all(file, bytes)?;
    if manner.lasting == Lasting::Synced {
        at(FilePoint::Sync, || file.sync_all())?;
    }
    match manner.replace {
        Replace::Yes => at(FilePoint::Rename, || fs::rename(temporary, target)),
        // Linking fails where renaming would silently replace.
        Replace::No => {
            at(FilePoint::Rename, || fs::hard_link(temporary, target))?;
            at(FilePoint::Remove, || fs::remove_file(temporary))
        }
    }
}

/// A new file in the same directory, under a name nobody has.
fn create_beside(
    target: &Path,
    parent: &Path,
    readers: Readers,
) -> Result<(PathBuf, File), FileError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if readers == Readers::Owner {
        owner_only(&mut options);
    }
    let name = target.file_name().map_or_else(OsString::new, ToOwned::to_owned);
    for attempt in 0..100u32 {
        let mut temporary = OsString::from(".");
        temporary.push(&name);
        temporary.push(format!(".{}-{attempt}.tmp", std::process::id()));
        let temporary = parent.join(temporary);
        match at(FilePoint::Open, || options.open(&temporary)) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(FileError::of(parent, error)),
        }
    }
    Err(FileError::Exists { path: target.to_owned() })
}

/// Makes new files readable by their owner alone. Where there are no such modes, the directory of
/// the user's own data is what keeps others out.
pub(crate) fn owner_only(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Makes a directory and those above it; new ones are for their owner alone if asked.
pub(crate) fn make_directory(path: &Path, readers: Readers) -> Result<(), FileError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    #[cfg(not(unix))]
    let _ = readers;
    builder.create(path).map_err(|error| FileError::of(path, error))
}

/// Opens a file that lines are added to, for its owner alone where it is made. A link is not
/// followed: where the lines go is what the path says.
pub fn open_log(path: &Path) -> Result<File, FileError> {
    // Looked at before it is opened: opening a pipe waits for somebody to read from it.
    match fs::symlink_metadata(path) {
        Ok(before) if !before.is_file() => {
            return Err(FileError::NotRegular { path: path.to_owned() });
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(FileError::of(path, error));
        }
        _ => {}
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    owner_only(&mut options);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        // Should it become a link or a pipe after the look.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(|error| FileError::of(path, error))?;
    let metadata = file.metadata().map_err(|error| FileError::of(path, error))?;
    if !metadata.is_file() {
        return Err(FileError::NotRegular { path: path.to_owned() });
    }
    Ok(file)
}

/// Removes a file; whether there was one.
pub(crate) fn remove(path: &Path) -> Result<bool, FileError> {
    match at(FilePoint::Remove, || fs::remove_file(path)) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(FileError::of(path, error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_of_the_bytes_it_holds_and_of_no_others() {
        let held: Vec<u8> = (0..3 * limits::COMPARED_BYTES + 5).map(|at| at as u8).collect();
        let is_of = |bytes: &[u8]| is_of(&held[..], bytes).expect("reads");
        assert!(is_of(&held));
        assert!(!is_of(&held[..held.len() - 1]));
        assert!(!is_of(&[&held[..], b"x"].concat()));
        let mut other = held.clone();
        *other.last_mut().expect("is not empty") ^= 1;
        assert!(!is_of(&other));
        assert!(super::is_of(&b""[..], b"").expect("reads"));
    }
}

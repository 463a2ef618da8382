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

/// Why a file could not be read or written; each variant is another thing to do about it.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("there is no file `{}`", path.display())]
    NotFound { path: PathBuf },
    /// A directory, a device, a pipe or a socket.
    #[error("`{}` is not a regular file", path.display())]
    NotRegular { path: PathBuf },
    #[error("`{}` leads out of its directory", path.display())]
    Outside { path: PathBuf },
    #[error("`{}` is too large: {bytes} bytes", path.display())]
    TooLarge { path: PathBuf, bytes: u64 },
    #[error("`{}` exists", path.display())]
    Exists { path: PathBuf },
    #[error("cannot use `{}`", path.display())]
    Io {
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

    /// What is wrong, with what the system said where it was the system that refused.
    pub(crate) fn told(&self) -> String {
        match self {
            FileError::Io { source, .. } => format!("{self}: {source}"),
            _ => self.to_string(),
        }
    }
}

/// Reads a file the user named. The size is looked at before anything is read, and no more than
/// that is read, because a file may grow.
pub fn read_document(path: &Path, limit: usize) -> Result<Vec<u8>, FileError> {
    // Looked at before it is opened: opening a pipe waits for somebody to write to it.
    regular(path, fs::metadata(path))?;
    let file = File::open(path).map_err(|error| FileError::of(path, error))?;
    let metadata = regular(path, file.metadata())?;
    bounded(path, file, metadata.len(), limit)
}

/// What the system tells of a file that has to be a regular one.
fn regular(path: &Path, told: io::Result<fs::Metadata>) -> Result<fs::Metadata, FileError> {
    let metadata = told.map_err(|error| FileError::of(path, error))?;
    match metadata.is_file() {
        true => Ok(metadata),
        false => Err(FileError::NotRegular { path: path.to_owned() }),
    }
}

/// What the system tells of a file; `None` for one that does not exist.
pub(crate) fn metadata(path: &Path) -> Result<Option<fs::Metadata>, FileError> {
    if_present(fs::metadata(path).map_err(|error| FileError::of(path, error)))
}

/// Whether something is at a path, whatever it is: links are not followed.
pub(crate) fn is_there(path: &Path) -> Result<bool, FileError> {
    let found = fs::symlink_metadata(path).map_err(|error| FileError::of(path, error));
    Ok(if_present(found)?.is_some())
}

/// `None` for a file that does not exist.
pub(crate) fn if_present<T>(read: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(FileError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The mode of a file that others than its owner may use.
pub(crate) fn exposed_mode(path: &Path) -> Result<Option<u32>, FileError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        let metadata = fs::metadata(path).map_err(|error| FileError::of(path, error))?;
        let mode = metadata.permissions().mode() & 0o777;
        Ok((mode & 0o077 != 0).then_some(mode))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        Ok(None)
    }
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
    // One byte more than allowed tells that it grew; a file that tells no size is read to its end.
    let mut bytes = Vec::with_capacity(size as usize);
    let read = file.take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| FileError::of(path, error))?;
    if bytes.len() > limit {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriteOptions {
    pub(crate) replace: Replace,
    pub(crate) mode: FileMode,
    pub(crate) sync: SyncMode,
}

impl WriteOptions {
    /// Synced, for its owner alone; replaces what exists.
    pub(crate) const PRIVATE: WriteOptions =
        WriteOptions { replace: Replace::Yes, mode: FileMode::Owner, sync: SyncMode::Synced };
    /// The same, but fails when something exists.
    pub(crate) const PRIVATE_NEW: WriteOptions =
        WriteOptions { replace: Replace::No, ..WriteOptions::PRIVATE };
    /// For what can be made again: not synced.
    pub(crate) const CACHE: WriteOptions =
        WriteOptions { sync: SyncMode::Unsynced, ..WriteOptions::PRIVATE };
}

/// Whether a file that is there may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replace {
    Yes,
    No,
}

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileMode {
    /// Those who may read the file it replaces; of a new one, whoever the system lets.
    Same,
    /// Its owner alone, from the first byte.
    Owner,
}

/// What a crash of the machine may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncMode {
    /// Nothing: what was written is on the disk.
    Synced,
    /// The file: it can be made again.
    Unsynced,
}

/// Writes a file whole or not at all: a new file beside it, synced, then renamed over it, and the
/// directory synced. With `overwrite` false a file that is there is left alone.
pub fn write_atomic(path: &Path, bytes: &[u8], overwrite: bool) -> Result<(), FileError> {
    let replace = if overwrite { Replace::Yes } else { Replace::No };
    write(path, bytes, WriteOptions { replace, mode: FileMode::Same, sync: SyncMode::Synced })
}

/// Writes a file that can be made again, with the directory it is in. What is there is of no worth:
/// a link is replaced, not written through.
pub(crate) fn write_cache(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    make_directory(path.parent().unwrap_or(Path::new(".")), FileMode::Owner)?;
    remove(path)?;
    write(path, bytes, WriteOptions::CACHE)
}

/// Refuses what is larger than this, before it is written.
pub(crate) fn check_size(path: &Path, bytes: usize, limit: usize) -> Result<(), FileError> {
    match bytes > limit {
        true => Err(FileError::TooLarge { path: path.to_owned(), bytes: bytes as u64 }),
        false => Ok(()),
    }
}

/// Writes a file whole or not at all, as the options say.
pub(crate) fn write(path: &Path, bytes: &[u8], options: WriteOptions) -> Result<(), FileError> {
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
    let (temporary, mut file) = create_beside(&target, &parent, options.mode)?;
    let result = fill(&mut file, bytes, &target, &temporary, options);
    if result.is_err() {
        // What went wrong is told; a file left behind would only add to it.
        drop(fs::remove_file(&temporary));
    }
    result.map_err(|error| FileError::of(path, error))?;
    match options.sync {
        SyncMode::Synced => sync_directory(&parent),
        SyncMode::Unsynced => Ok(()),
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
    options: WriteOptions,
) -> io::Result<()> {
    // Before the text is in it: what only its owner may read is never there for others.
    if options.mode == FileMode::Same
        && let Ok(metadata) = fs::metadata(target)
    {
        file.set_permissions(metadata.permissions())?;
    }
    write_all(file, bytes)?;
    if options.sync == SyncMode::Synced {
        at(FilePoint::Sync, || file.sync_all())?;
    }
    match options.replace {
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
    readers: FileMode,
) -> Result<(PathBuf, File), FileError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    if readers == FileMode::Owner {
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

/// To open a file for writing that is made for its owner alone where there is none.
pub(crate) fn owned() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    owner_only(&mut options);
    options
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
pub(crate) fn make_directory(path: &Path, readers: FileMode) -> Result<(), FileError> {
    let builder = &mut directory_builder(readers);
    builder.recursive(true).create(path).map_err(|error| FileError::of(path, error))
}

/// What makes a directory that is for its owner alone if asked.
pub(crate) fn directory_builder(readers: FileMode) -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    if readers == FileMode::Owner {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    }
    #[cfg(not(unix))]
    let _ = readers;
    builder
}

/// Opens a file that lines are added to, for its owner alone where it is made. A link is not
/// followed: where the lines go is what the path says.
pub fn open_log(path: &Path) -> Result<File, FileError> {
    // Looked at before it is opened: opening a pipe waits for somebody to read from it.
    if_present(regular(path, fs::symlink_metadata(path)))?;
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
    regular(path, file.metadata())?;
    Ok(file)
}

/// Removes a file; whether there was one.
pub(crate) fn remove(path: &Path) -> Result<bool, FileError> {
    let removed = at(FilePoint::Remove, || fs::remove_file(path));
    Ok(if_present(removed.map_err(|error| FileError::of(path, error)))?.is_some())
}

//! Single files: read in full up to a limit, and written completely or not at all.

mod fault;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

#[cfg(debug_assertions)]
pub use fault::file_faults;
pub use fault::{FileFault, FileFaults, FilePoint};
pub(crate) use fault::{at, write_all};

/// Why a file could not be read or written. Each variant calls for a different response.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("there is no file `{}`", path.display())]
    NotFound { path: PathBuf },
    /// A directory, a device, a pipe or a socket.
    #[error("`{}` is not a regular file", path.display())]
    NotRegular { path: PathBuf },
    #[error("`{}` is a file, not a folder", path.display())]
    NotFolder { path: PathBuf },
    #[error("`{}` is outside its directory", path.display())]
    Outside { path: PathBuf },
    #[error("`{}` is too large: {bytes} bytes", path.display())]
    TooLarge { path: PathBuf, bytes: u64 },
    #[error("`{}` already exists", path.display())]
    Exists { path: PathBuf },
    #[error("cannot access `{}`", path.display())]
    Io {
        path: PathBuf,
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
            io::ErrorKind::NotADirectory => {
                let file = path.ancestors().find(|path| path.is_file());
                FileError::NotFolder { path: file.unwrap_or(&path).to_owned() }
            }
            _ => FileError::Io { path, source },
        }
    }

    /// The error message, including the system's own message if a system call failed.
    pub fn told(&self) -> String {
        match self {
            FileError::Io { source, .. } => {
                milepost_model::suggest::without_error_number(&format!("{self}: {source}"))
            }
            _ => self.to_string(),
        }
    }
}

/// Reads a file that the user named. The size is checked before reading and enforced while reading,
/// because the file may grow.
pub fn read_document(path: &Path, limit: usize) -> Result<Vec<u8>, FileError> {
    // The type is checked before opening, because opening a pipe blocks until someone writes to it.
    regular(path, fs::metadata(path))?;
    let file = File::open(path).map_err(|error| FileError::of(path, error))?;
    let metadata = regular(path, file.metadata())?;
    bounded(path, file, metadata.len(), limit)
}

/// The metadata of a file, which must be a regular file.
fn regular(path: &Path, told: io::Result<fs::Metadata>) -> Result<fs::Metadata, FileError> {
    let metadata = told.map_err(|error| FileError::of(path, error))?;
    match metadata.is_file() {
        true => Ok(metadata),
        false => Err(FileError::NotRegular { path: path.to_owned() }),
    }
}

/// The metadata of a file; `None` if it does not exist.
pub(crate) fn metadata(path: &Path) -> Result<Option<fs::Metadata>, FileError> {
    if_present(fs::metadata(path).map_err(|error| FileError::of(path, error)))
}

/// Whether a file of any type exists at a path. Links are not followed.
pub(crate) fn is_there(path: &Path) -> Result<bool, FileError> {
    let found = fs::symlink_metadata(path).map_err(|error| FileError::of(path, error));
    Ok(if_present(found)?.is_some())
}

/// Turns [`FileError::NotFound`] into `None`.
pub(crate) fn if_present<T>(read: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match read {
        Ok(found) => Ok(Some(found)),
        Err(FileError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The mode of a file that users other than its owner can access; `None` if only its owner can.
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
    // Reading one byte more than allowed detects growth; a file that reports no size is read to its
    // end.
    let mut bytes = Vec::with_capacity(size as usize);
    let read = file.take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| FileError::of(path, error))?;
    if bytes.len() > limit {
        return Err(too_large(bytes.len() as u64));
    }
    Ok(bytes)
}

/// Options for writing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriteOptions {
    pub(crate) replace: Replace,
    pub(crate) mode: FileMode,
    pub(crate) sync: SyncMode,
}

impl WriteOptions {
    /// Synced, accessible to its owner only; replaces an existing file.
    pub(crate) const PRIVATE: WriteOptions =
        WriteOptions { replace: Replace::Yes, mode: FileMode::Owner, sync: SyncMode::Synced };
    /// Like [`Self::PRIVATE`], but fails if the file exists.
    pub(crate) const PRIVATE_NEW: WriteOptions =
        WriteOptions { replace: Replace::No, ..WriteOptions::PRIVATE };
    /// For data that can be rebuilt: not synced.
    pub(crate) const CACHE: WriteOptions =
        WriteOptions { sync: SyncMode::Unsynced, ..WriteOptions::PRIVATE };
}

/// Whether an existing file may be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replace {
    Yes,
    No,
}

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileMode {
    /// The same users as for the file it replaces; for a new file, the system's default.
    Same,
    /// Only its owner, from the moment it is created.
    Owner,
}

/// What may be lost if the machine crashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncMode {
    /// Nothing: the data is on disk.
    Synced,
    /// The file, which can be rebuilt.
    Unsynced,
}

/// Writes a file atomically: writes and syncs a temporary file next to it, renames that over it,
/// and syncs the directory. With `overwrite` false, an existing file is left alone and reported as
/// an error.
pub fn write_atomic(path: &Path, bytes: &[u8], overwrite: bool) -> Result<(), FileError> {
    let replace = if overwrite { Replace::Yes } else { Replace::No };
    write(path, bytes, WriteOptions { replace, mode: FileMode::Same, sync: SyncMode::Synced })
}

/// Writes a file that can be rebuilt, creating its directory if necessary. Any existing content is
/// disposable, so a link is replaced, not written through.
pub(crate) fn write_cache(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    make_directory(path.parent().unwrap_or(Path::new(".")), FileMode::Owner)?;
    remove(path)?;
    write(path, bytes, WriteOptions::CACHE)
}

/// Rejects content that exceeds the limit before anything is written.
pub(crate) fn check_size(path: &Path, bytes: usize, limit: usize) -> Result<(), FileError> {
    match bytes > limit {
        true => Err(FileError::TooLarge { path: path.to_owned(), bytes: bytes as u64 }),
        false => Ok(()),
    }
}

/// Writes a file atomically, according to the options.
pub(crate) fn write(path: &Path, bytes: &[u8], options: WriteOptions) -> Result<(), FileError> {
    // A link is written through, not replaced; a dangling link is left alone.
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
        // The error is already being reported; failing to clean up would add nothing.
        drop(fs::remove_file(&temporary));
    }
    result.map_err(|error| FileError::of(path, error))?;
    match options.sync {
        SyncMode::Synced => sync_directory(&parent),
        SyncMode::Unsynced => Ok(()),
    }
}

/// Makes renames and removals in a directory durable.
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
    // Permissions are set before anything is written, so that private content is never exposed.
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
        // Linking fails if the target exists, whereas renaming would silently replace it.
        Replace::No => {
            at(FilePoint::Rename, || fs::hard_link(temporary, target))?;
            at(FilePoint::Remove, || fs::remove_file(temporary))
        }
    }
}

/// Creates a temporary file with an unused name in the same directory.
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

/// Options that open a file for writing, creating it readable only by its owner.
pub(crate) fn owned() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    owner_only(&mut options);
    options
}

/// Makes new files readable by their owner only. On systems without such modes, the permissions of
/// the user's data directory protect them.
pub(crate) fn owner_only(options: &mut OpenOptions) {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(not(unix))]
    let _ = options;
}

/// Creates a directory and its parents; with [`FileMode::Owner`], new ones are accessible to their
/// owner only.
pub(crate) fn make_directory(path: &Path, readers: FileMode) -> Result<(), FileError> {
    let builder = &mut directory_builder(readers);
    builder.recursive(true).create(path).map_err(|error| match FileError::of(path, error) {
        FileError::Exists { path } => FileError::NotFolder { path },
        error => error,
    })
}

/// A builder for directories, private to the owner if requested.
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

/// Opens a file for appending, creating it for its owner only. A link is not followed, so that the
/// lines end up in exactly this file.
pub fn open_log(path: &Path) -> Result<File, FileError> {
    // The type is checked before opening, because opening a pipe blocks until someone reads from
    // it.
    if_present(regular(path, fs::symlink_metadata(path)))?;
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    owner_only(&mut options);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        // In case the file becomes a link or a pipe after the check.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    }
    let file = options.open(path).map_err(|error| FileError::of(path, error))?;
    regular(path, file.metadata())?;
    Ok(file)
}

/// Removes a file and returns whether it existed.
pub(crate) fn remove(path: &Path) -> Result<bool, FileError> {
    let removed = at(FilePoint::Remove, || fs::remove_file(path));
    Ok(if_present(removed.map_err(|error| FileError::of(path, error)))?.is_some())
}

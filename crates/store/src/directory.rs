//! A directory as a capability: nothing outside the directory can be reached through it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{fs, io};

use cap_std::ambient_authority;
#[cfg(unix)]
use cap_std::fs::OpenOptionsExt;
use cap_std::fs::{Dir, DirEntry, File, Metadata, OpenOptions};

use crate::file::{self, FileError};
use crate::stamp::{FileStamp, ObservedStamp};

/// A directory that gives access only to what is below it: no `..`, no links that lead out, regular
/// files only.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    dir: Dir,
}

/// The documents and subfolders in a folder, excluding hidden entries and other kinds of files.
#[derive(Debug, Default)]
pub(crate) struct FolderNames {
    pub(crate) documents: Vec<OsString>,
    pub(crate) folders: Vec<OsString>,
}

/// The current stamp of the directory at a path; `None` if it does not exist.
pub(crate) fn stamp_at(path: &Path) -> Result<Option<FileStamp>, FileError> {
    Ok(file::metadata(path)?.map(FileStamp::of_file))
}

impl Directory {
    /// Opens a directory; `None` if it does not exist.
    pub fn open(path: &Path) -> Result<Option<Directory>, FileError> {
        let dir = Dir::open_ambient_dir(path, ambient_authority());
        let dir = file::if_present(dir.map_err(|error| FileError::of(path, error)))?;
        Ok(dir.map(|dir| Directory { path: path.to_owned(), dir }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a file below the directory.
    pub fn read(&self, relative: &Path, limit: usize) -> Result<Vec<u8>, FileError> {
        Ok(self.read_seen(relative, limit)?.1)
    }

    /// Reads a file below the directory and returns it with the stamp taken before reading.
    pub(crate) fn read_seen(
        &self,
        relative: &Path,
        limit: usize,
    ) -> Result<(ObservedStamp, Vec<u8>), FileError> {
        let clock = SystemTime::now();
        let (file, metadata) = self.open_regular(relative)?;
        let seen = FileStamp::of(&metadata).seen(clock);
        let path = self.path.join(relative);
        let bytes = file::bounded(&path, file.into_std(), metadata.len(), limit)?;
        Ok((seen, bytes))
    }

    /// Opens a file below the directory and returns it with its current stamp.
    pub(crate) fn open_stamped(&self, relative: &Path) -> Result<(fs::File, FileStamp), FileError> {
        let (file, metadata) = self.open_regular(relative)?;
        Ok((file.into_std(), FileStamp::of(&metadata)))
    }

    /// The stamp of a file or folder below the directory; links are followed.
    pub(crate) fn stamp(&self, relative: &Path) -> Result<FileStamp, FileError> {
        let metadata = self.metadata(relative);
        let metadata = metadata.map_err(|error| refuse(&self.path.join(relative), error))?;
        Ok(FileStamp::of(&metadata))
    }

    /// Whether the path is a symbolic link. The target need not exist or be inside the directory.
    pub(crate) fn is_link(&self, relative: &Path) -> bool {
        self.dir.symlink_metadata(relative).is_ok_and(|metadata| metadata.is_symlink())
    }

    /// The names in a folder below the directory; the empty path is the directory itself.
    pub(crate) fn names(&self, folder: &Path) -> Result<FolderNames, FileError> {
        let fail = |error| FileError::of(&self.path.join(folder), error);
        let mut names = FolderNames::default();
        for entry in self.entries(folder)? {
            let name = entry.file_name();
            if entry.file_type().map_err(fail)?.is_dir() {
                names.folders.push(name);
            } else if is_document(Path::new(&name)) {
                names.documents.push(name);
            }
        }
        Ok(names)
    }

    /// The entries in a folder below the directory, except hidden ones.
    fn entries(&self, folder: &Path) -> Result<Vec<DirEntry>, FileError> {
        let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let entries = self.dir.read_dir(here).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut entries = entries.map_err(|error| FileError::of(&self.path.join(folder), error))?;
        entries.retain(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
        Ok(entries)
    }

    /// The names of the entries in the directory that `wanted` accepts, in no particular order.
    /// Hidden entries are skipped.
    pub(crate) fn files(&self, wanted: impl Fn(&str) -> bool) -> Result<Vec<String>, FileError> {
        let entries = self.entries(Path::new(""))?.into_iter();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        Ok(names.filter(|name| wanted(name)).collect())
    }

    /// The metadata of a file or folder; links are followed. Most entries are not links and need
    /// only one system call instead of three.
    fn metadata(&self, relative: &Path) -> io::Result<Metadata> {
        let metadata = self.dir.symlink_metadata(relative)?;
        if metadata.is_symlink() { self.dir.metadata(relative) } else { Ok(metadata) }
    }

    fn open_regular(&self, relative: &Path) -> Result<(File, Metadata), FileError> {
        let fail = |error| refuse(&self.path.join(relative), error);
        let not_regular = || FileError::NotRegular { path: self.path.join(relative) };
        let file = match self.dir.open_with(relative, &at_once()) {
            Ok(file) => file,
            // Opening a socket fails, so its type is checked here.
            Err(error) => match self.metadata(relative) {
                Ok(metadata) if !metadata.is_file() => return Err(not_regular()),
                _ => return Err(fail(error)),
            },
        };
        let metadata = file.metadata().map_err(fail)?;
        if !metadata.is_file() {
            return Err(not_regular());
        }
        Ok((file, metadata))
    }
}

/// Opens for reading without blocking, in case the file turns out to be a pipe.
fn at_once() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    options
}

fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("json" | "yaml" | "yml"))
}

/// Maps an error, recognizing paths that lead out of the directory: those are rejected by the
/// capability rather than the system, so their error has no OS error number.
fn refuse(path: &Path, error: io::Error) -> FileError {
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::PermissionDenied, None) => FileError::Outside { path: path.to_owned() },
        _ => FileError::of(path, error),
    }
}

//! A file that is edited in place at the user's request, such as the configuration of another
//! program. Links are resolved, the content is compared before it is replaced, and the owner never
//! changes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::file::{self, FileError, FileMode, Replace, SyncMode, WriteOptions, read_document};

/// Why a file was not changed. Each variant calls for a different response.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is read-only. Renaming another file over it would bypass that protection.
    #[error("`{}` is read-only", path.display())]
    ReadOnly { path: PathBuf },
    /// The file belongs to another user, and replacing it would change its owner.
    #[error("`{}` belongs to another user", path.display())]
    NotOurs { path: PathBuf },
    #[error("`{}` is a dangling link", path.display())]
    Dangling { path: PathBuf },
    /// Another program wrote to the file after it was read.
    #[error("`{}` was changed by another program in the meantime", path.display())]
    Changed { path: PathBuf },
}

/// A file as it was read, or the path of a file that does not exist yet.
#[derive(Debug)]
pub struct EditedFile {
    path: PathBuf,
    target: PathBuf,
    limit: usize,
    bytes: Option<Vec<u8>>,
}

impl EditedFile {
    /// Reads a file. Links are followed, but not out of `within`: a folder that someone else
    /// created must not determine which of the user's files is changed.
    pub fn open(path: &Path, within: Option<&Path>, limit: usize) -> Result<EditedFile, EditError> {
        let target = behind_links(path)?;
        if let Some(within) = within
            && !target.starts_with(behind_links(within)?)
        {
            return Err(FileError::Outside { path: path.to_owned() }.into());
        }
        let bytes = read(&target, limit)?;
        Ok(EditedFile { path: path.to_owned(), target, limit, bytes })
    }

    /// The content as it was read; `None` if the file does not exist.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }

    /// The target of the path if it is a link.
    pub fn link_target(&self) -> Option<&Path> {
        let linked = fs::symlink_metadata(&self.path).is_ok_and(|found| found.is_symlink());
        linked.then_some(&self.target)
    }

    /// The parent directories that have to be created, outermost first.
    pub fn missing_directories(&self) -> Vec<PathBuf> {
        let folders = self.target.ancestors().skip(1).take_while(|folder| !folder.exists());
        let mut missing: Vec<PathBuf> = folders.map(Path::to_owned).collect();
        missing.reverse();
        missing
    }

    /// Replaces the file atomically, provided it has not changed since it was read. An existing
    /// file keeps its mode; with `private`, a new one is accessible to its owner only.
    pub fn replace(&self, bytes: &[u8], private: bool) -> Result<(), EditError> {
        self.check()?;
        let (replace, mode) = match (&self.bytes, private) {
            (Some(_), _) => (Replace::Yes, FileMode::Same),
            (None, true) => (Replace::No, FileMode::Owner),
            (None, false) => (Replace::No, FileMode::Same),
        };
        if let Some(parent) = self.target.parent().filter(|_| self.bytes.is_none()) {
            file::make_directory(parent, mode)?;
        }
        file::write(&self.target, bytes, WriteOptions { replace, mode, sync: SyncMode::Synced })?;
        Ok(())
    }

    /// Removes the file, provided it has not changed since it was read, and then those of the given
    /// directories that are empty.
    pub fn remove(&self, directories: &[PathBuf]) -> Result<(), EditError> {
        self.check()?;
        file::remove(&self.target)?;
        if let Some(parent) = self.target.parent() {
            file::sync_directory(parent)?;
        }
        for directory in directories.iter().rev() {
            // A directory that is not empty is kept.
            if fs::remove_dir(directory).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), EditError> {
        let path = || self.path.clone();
        if read(&self.target, self.limit)? != self.bytes {
            return Err(EditError::Changed { path: path() });
        }
        if self.bytes.is_none() {
            return Ok(());
        }
        let found = fs::metadata(&self.target).map_err(|error| FileError::of(&self.path, error))?;
        if found.permissions().readonly() {
            return Err(EditError::ReadOnly { path: path() });
        }
        if !is_ours(&found) {
            return Err(EditError::NotOurs { path: path() });
        }
        Ok(())
    }
}

fn read(path: &Path, limit: usize) -> Result<Option<Vec<u8>>, FileError> {
    file::if_present(read_document(path, limit))
}

/// Resolves all links in a path, which may not exist yet.
fn behind_links(path: &Path) -> Result<PathBuf, EditError> {
    match fs::canonicalize(path) {
        Ok(target) => Ok(target),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(EditError::Dangling { path: path.to_owned() });
            }
            match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) => Ok(behind_links(parent)?.join(name)),
                _ => Err(FileError::of(path, error).into()),
            }
        }
        Err(error) => Err(FileError::of(path, error).into()),
    }
}

#[cfg(unix)]
fn is_ours(found: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(found) == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
fn is_ours(_found: &fs::Metadata) -> bool {
    true
}

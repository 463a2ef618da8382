//! A file that is changed in place on the user's word, such as the configuration of another
//! program: found behind its links, compared before it is replaced, never taken from its owner.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::file::{self, FileError, FileMode, Replace, SyncMode, WriteOptions, read_document};

/// Why a file is not changed; each variant is another thing to do about it.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its mode says that it is not to be written, which renaming another over it would ignore.
    #[error("`{}` is read-only", path.display())]
    ReadOnly { path: PathBuf },
    /// It belongs to somebody else, and would belong to this user afterwards.
    #[error("`{}` belongs to another user", path.display())]
    NotOurs { path: PathBuf },
    #[error("`{}` is a link that leads nowhere", path.display())]
    Dangling { path: PathBuf },
    /// Somebody wrote to it since it was read.
    #[error("`{}` was changed by another program meanwhile", path.display())]
    Changed { path: PathBuf },
}

/// A file as it was read, or the place where there is none yet.
#[derive(Debug)]
pub struct EditedFile {
    path: PathBuf,
    target: PathBuf,
    limit: usize,
    bytes: Option<Vec<u8>>,
}

impl EditedFile {
    /// Reads a file. Links are followed, but not out of `within`: a folder that comes from
    /// somebody else must not say which file of this user is changed.
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

    /// What it holds; nothing when it is not there.
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }

    /// The file behind the links, when there are any.
    pub fn link_target(&self) -> Option<&Path> {
        let linked = fs::symlink_metadata(&self.path).is_ok_and(|found| found.is_symlink());
        linked.then_some(&self.target)
    }

    /// The directories that have to be made for it, the outermost first.
    pub fn missing_directories(&self) -> Vec<PathBuf> {
        let folders = self.target.ancestors().skip(1).take_while(|folder| !folder.exists());
        let mut missing: Vec<PathBuf> = folders.map(Path::to_owned).collect();
        missing.reverse();
        missing
    }

    /// Writes it whole or not at all, if it still is what was read. Its mode stays; what is new may
    /// be for its owner alone.
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

    /// Removes it, if it still is what was read, and of these directories those that are empty.
    pub fn remove(&self, directories: &[PathBuf]) -> Result<(), EditError> {
        self.check()?;
        file::remove(&self.target)?;
        if let Some(parent) = self.target.parent() {
            file::sync_directory(parent)?;
        }
        for directory in directories.iter().rev() {
            // One that holds something else by now stays.
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

/// The path without links, also of what is not there yet.
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

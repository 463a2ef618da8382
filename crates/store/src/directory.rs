//! One directory as a capability: nothing outside it can be reached through it.

use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;

use crate::file::{self, FileError};
use crate::limits;

/// A directory that can only be read below itself: no `..`, no link out, regular files only.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    dir: Dir,
}

/// The files of a directory, what of it cannot be read, and whether there was more than is looked
/// at.
#[derive(Debug, Default)]
pub(crate) struct Files {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) refused: Vec<(PathBuf, FileError)>,
    pub(crate) cut: bool,
}

impl Directory {
    /// Opens a directory; `None` when there is none.
    pub fn open(path: &Path) -> Result<Option<Directory>, FileError> {
        match Dir::open_ambient_dir(path, ambient_authority()) {
            Ok(dir) => Ok(Some(Directory { path: path.to_owned(), dir })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(FileError::of(path, error)),
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads a file below the directory.
    pub fn read(&self, relative: &Path, limit: usize) -> Result<Vec<u8>, FileError> {
        let full = self.path.join(relative);
        // Looked at before it is opened: opening a pipe waits for somebody to write to it.
        let before = self.dir.metadata(relative).map_err(|error| refuse(&full, error))?;
        if !before.is_file() {
            return Err(FileError::NotRegular { path: full });
        }
        let file = self.dir.open(relative).map_err(|error| refuse(&full, error))?;
        let metadata = file.metadata().map_err(|error| FileError::of(&full, error))?;
        if !metadata.is_file() {
            return Err(FileError::NotRegular { path: full });
        }
        file::bounded(&full, file, metadata.len(), limit)
    }

    /// Every document below the directory, by extension, sorted by path.
    pub(crate) fn documents(&self) -> Result<Files, FileError> {
        let mut files = Files::default();
        self.walk(Path::new(""), 0, &mut files)?;
        files.paths.sort();
        Ok(files)
    }

    fn walk(&self, below: &Path, depth: usize, files: &mut Files) -> Result<(), FileError> {
        let here = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        let fail = |error| FileError::of(&self.path.join(below), error);
        for entry in self.dir.read_dir(here).map_err(fail)? {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name();
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            let path = below.join(&name);
            let kind = entry.file_type().map_err(fail)?;
            if kind.is_dir() {
                if depth == limits::DEPTH {
                    files.cut = true;
                } else if let Err(error) = self.walk(&path, depth + 1, files) {
                    // One folder that may not be read hides none of the others.
                    files.refused.push((path, error));
                }
            } else if is_document(&path) {
                if files.paths.len() == limits::FILES {
                    files.cut = true;
                    return Ok(());
                }
                files.paths.push(path);
            }
        }
        Ok(())
    }
}

fn is_document(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("json" | "yaml" | "yml"))
}

/// A path that leaves the directory is refused by the capability, not by the system: then the
/// error carries no number of the system's.
fn refuse(path: &Path, error: io::Error) -> FileError {
    match (error.kind(), error.raw_os_error()) {
        (io::ErrorKind::PermissionDenied, None) => FileError::Outside { path: path.to_owned() },
        _ => FileError::of(path, error),
    }
}

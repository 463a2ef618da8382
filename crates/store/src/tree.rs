//! A source's folders as they were last listed, so that only changed ones are listed again.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::directory::{self, Directory, FolderNames};
use crate::file::{self, FileError};
use crate::limits;
use crate::stamp::ObservedStamp;

/// A source's folders by relative path; the source itself is the empty path.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    folders: HashMap<PathBuf, Folder>,
    pub(crate) cut: bool,
}

#[derive(Debug)]
struct Folder {
    /// `None` if not even the stamp could be read.
    seen: Option<ObservedStamp>,
    names: FolderNames,
    /// Why the folder could not be listed.
    refused: Option<FileError>,
}

impl Tree {
    /// Lists the folders below a directory. Folders known to this tree are listed again only if
    /// they changed. Returns the new tree and the paths of the folders that were listed.
    ///
    /// The directory itself must be readable: a library that silently lacks workflows would be
    /// worse than an error. An unreadable subfolder does not affect the others. `root` was observed
    /// before the directory was opened, because the directory may be replaced in between.
    pub(crate) fn grown(
        mut self,
        directory: &Directory,
        root: ObservedStamp,
    ) -> Result<(Tree, HashSet<PathBuf>), FileError> {
        if self.cut {
            // Folders that were left out because of the limit may fit now.
            self.folders.clear();
        }
        let tree = Tree::default();
        let known = self.folders;
        let mut walk = Walk { directory, root, known, tree, count: 0, listed: HashSet::new() };
        walk.folder(PathBuf::new(), 0)?;
        Ok((walk.tree, walk.listed))
    }

    /// Whether every folder has remained unchanged since it was listed.
    pub(crate) fn is_all_still(&self, directory: &Directory) -> bool {
        self.folders.iter().all(|(path, folder)| folder.is_still(directory, path))
    }

    /// Every document, with its folder.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (&Path, PathBuf)> {
        self.folders.iter().flat_map(|(path, folder)| {
            folder.names.documents.iter().map(move |name| (path.as_path(), path.join(name)))
        })
    }

    /// The folders that could not be read, sorted by path.
    pub(crate) fn refused(&self) -> Vec<(&Path, &FileError)> {
        let folders = self.folders.iter();
        let mut refused: Vec<_> = folders
            .filter_map(|(path, folder)| Some((path.as_path(), folder.refused.as_ref()?)))
            .collect();
        refused.sort_by_key(|(path, _)| *path);
        refused
    }
}

impl Folder {
    fn is_still(&self, directory: &Directory, path: &Path) -> bool {
        let now = if path.as_os_str().is_empty() {
            // Checked by path rather than by the open handle, because the directory may have been
            // replaced.
            directory::stamp_at(directory.path()).ok().flatten()
        } else {
            directory.stamp(path).ok()
        };
        match (&self.seen, now) {
            (Some(seen), Some(now)) => seen.is_still(now),
            (seen, now) => seen.is_none() && now.is_none(),
        }
    }
}

struct Walk<'d> {
    directory: &'d Directory,
    root: ObservedStamp,
    known: HashMap<PathBuf, Folder>,
    tree: Tree,
    count: usize,
    listed: HashSet<PathBuf>,
}

impl Walk<'_> {
    fn folder(&mut self, path: PathBuf, depth: usize) -> Result<(), FileError> {
        let Some(mut folder) = self.current(&path, depth)? else { return Ok(()) };
        let room = limits::FILES - self.count;
        if folder.names.documents.len() > room {
            folder.names.documents.truncate(room);
            self.tree.cut = true;
        }
        self.count += folder.names.documents.len();
        if depth == limits::DEPTH {
            self.tree.cut |= !folder.names.folders.is_empty();
        } else {
            for name in &folder.names.folders {
                self.folder(path.join(name), depth + 1)?;
            }
        }
        self.tree.folders.insert(path, folder);
        Ok(())
    }

    /// A folder as it is now; `None` if it disappeared since its parent was listed. In that case
    /// the parent has changed and will be listed again.
    fn current(&mut self, path: &Path, depth: usize) -> Result<Option<Folder>, FileError> {
        if let Some(known) = self.known.remove(path)
            && known.is_still(self.directory, path)
        {
            return Ok(Some(known));
        }
        self.listed.insert(path.to_owned());
        file::if_present(self.list(path, depth))
    }

    fn list(&self, path: &Path, depth: usize) -> Result<Folder, FileError> {
        if depth == 0 {
            let names = self.directory.names(path)?;
            return Ok(Folder { seen: Some(self.root), names, refused: None });
        }
        let clock = SystemTime::now();
        let stamp = self.directory.stamp(path);
        let seen = stamp.as_ref().ok().map(|stamp| stamp.seen(clock));
        match stamp.and_then(|_| self.directory.names(path)) {
            Ok(names) => Ok(Folder { seen, names, refused: None }),
            Err(error @ FileError::NotFound { .. }) => Err(error),
            Err(error) => Ok(Folder { seen, names: FolderNames::default(), refused: Some(error) }),
        }
    }
}

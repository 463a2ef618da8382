//! The folders of one source as they were last listed, so that only those that changed are listed
//! again.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::directory::{self, Directory, FolderNames};
use crate::file::{self, FileError};
use crate::limits;
use crate::stamp::ObservedStamp;

/// The folders of a source by their path below it; the source itself is the empty path.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    folders: HashMap<PathBuf, Folder>,
    pub(crate) cut: bool,
}

#[derive(Debug)]
struct Folder {
    /// None when not even that could be told.
    seen: Option<ObservedStamp>,
    names: FolderNames,
    /// Why its names could not be read.
    refused: Option<FileError>,
}

impl Tree {
    /// Lists the folders below a directory. Of those this tree knows already, only the ones that
    /// changed are listed again; their paths come with the new tree.
    ///
    /// The directory itself must be readable: a library that silently lacks workflows would be
    /// worse than an error. One folder that is not hides none of the others. `root` was seen
    /// before the directory was opened, since another may take its place in between.
    pub(crate) fn grown(
        mut self,
        directory: &Directory,
        root: ObservedStamp,
    ) -> Result<(Tree, HashSet<PathBuf>), FileError> {
        if self.cut {
            // What was left out for want of room may have room now.
            self.folders.clear();
        }
        let tree = Tree::default();
        let known = self.folders;
        let mut walk = Walk { directory, root, known, tree, count: 0, listed: HashSet::new() };
        walk.folder(PathBuf::new(), 0)?;
        Ok((walk.tree, walk.listed))
    }

    /// Whether every folder is still as it was listed.
    pub(crate) fn is_all_still(&self, directory: &Directory) -> bool {
        self.folders.iter().all(|(path, folder)| folder.is_still(directory, path))
    }

    /// Every document with the folder it is in.
    pub(crate) fn documents(&self) -> impl Iterator<Item = (&Path, PathBuf)> {
        self.folders.iter().flat_map(|(path, folder)| {
            folder.names.documents.iter().map(move |name| (path.as_path(), path.join(name)))
        })
    }

    /// The folders that could not be read, in the order of their paths.
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
            // By its path, not by what is open: another may have taken its place.
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

    /// A folder as it is now; `None` when it has gone since the one above was listed, which will
    /// be listed again for that.
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

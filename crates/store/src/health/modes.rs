//! Who may read what is for its owner alone.

use std::path::PathBuf;

use crate::file::FileError;
use crate::locations::Locations;

/// What a private path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// A key, a secret or the journal.
    File,
    /// A directory that holds such files.
    Directory,
}

/// A private path that is not for its owner alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposed {
    /// The path.
    pub path: PathBuf,
    /// What it is.
    pub kept: Kept,
    /// Its mode.
    pub mode: u32,
    /// It belongs to another user: only that one, or an administrator, can change it.
    pub foreign: bool,
}

/// The names of private files in the data directory.
const FILES: &[&str] = &[
    "chain.key",
    "runs.db",
    "runs.db-wal",
    "runs.db-shm",
    "runs.use",
    "secrets.age",
    "secrets.key",
    "person.json",
    crate::token::FILE,
];

/// Everything that is for its owner alone, whether it is there or not.
pub fn private_paths(locations: &Locations) -> Vec<(Kept, PathBuf)> {
    let (data, cache) = (&locations.data, &locations.cache);
    let folders = [
        data.clone(),
        data.join("wake"),
        data.join("history"),
        data.join("blobs"),
        cache.clone(),
        cache.join("derived"),
        cache.join("choices"),
    ];
    let folders = folders.into_iter().map(|path| (Kept::Directory, path));
    let files = FILES.iter().map(|name| (Kept::File, data.join(name)));
    folders.chain(files).collect()
}

/// The private paths that others may use, or that belong to others.
#[cfg(unix)]
pub fn exposed(locations: &Locations) -> Vec<Exposed> {
    use std::os::unix::fs::MetadataExt;

    let own = rustix::process::geteuid().as_raw();
    let look = |(kept, path): (Kept, PathBuf)| {
        let metadata = std::fs::metadata(&path).ok()?;
        let (mode, foreign) = (metadata.mode() & 0o777, metadata.uid() != own);
        (mode & 0o077 != 0 || foreign).then_some(Exposed { path, kept, mode, foreign })
    };
    private_paths(locations).into_iter().filter_map(look).collect()
}

/// Where there are no modes, the user's own directory is what keeps others out.
#[cfg(not(unix))]
pub fn exposed(_: &Locations) -> Vec<Exposed> {
    Vec::new()
}

/// Makes a private path its owner's alone.
#[cfg(unix)]
pub fn close(exposed: &Exposed) -> Result<(), FileError> {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    let mode = match exposed.kept {
        Kept::File => 0o600,
        Kept::Directory => 0o700,
    };
    let path = &exposed.path;
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .map_err(|error| FileError::of(path, error))
}

/// There is nothing to close.
#[cfg(not(unix))]
pub fn close(_: &Exposed) -> Result<(), FileError> {
    Ok(())
}

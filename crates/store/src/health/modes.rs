//! Permissions of files and directories that should be accessible to their owner only.

use std::path::PathBuf;

use crate::{FileError, Locations};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivatePathKind {
    /// A key, a secret or the journal.
    File,
    /// A directory that contains such files.
    Directory,
}

/// Why a private path is exposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Its mode gives others access.
    Open(u32),
    /// It belongs to another user; only that user or an administrator can change it.
    Foreign,
    /// It is a link, and its target may not belong to the user.
    Link,
}

/// A private path that others may be able to access.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposed {
    pub path: PathBuf,
    pub kept: PrivatePathKind,
    pub exposure: Exposure,
    /// Whether its mode can be fixed without side effects: it is not a link, and it belongs to the
    /// user.
    pub closable: bool,
}

/// The names of private files in the data directory.
const FILES: &[&str] = &[
    "chain.key",
    "runs.db",
    "runs.db-wal",
    "runs.db-shm",
    "runs.use",
    "runs.reserve",
    "secrets.age",
    "secrets.key",
    "person.json",
    crate::person::HISTORY_FILE,
    crate::grants::FILE,
    crate::token::FILE,
];

/// Everything that should be accessible to its owner only, whether it exists or not.
pub fn private_paths(locations: &Locations) -> Vec<(PrivatePathKind, PathBuf)> {
    let (data, cache) = (&locations.data, &locations.cache);
    let folders = [
        data.clone(),
        data.join("wake"),
        data.join("progress"),
        data.join("history"),
        data.join("blobs"),
        cache.clone(),
        cache.join("derived"),
        cache.join("choices"),
    ];
    let folders = folders.into_iter().map(|path| (PrivatePathKind::Directory, path));
    let files = FILES.iter().map(|name| (PrivatePathKind::File, data.join(name)));
    folders.chain(files).collect()
}

/// The private paths that others can access, that belong to another user, or that are links.
#[cfg(unix)]
pub fn exposed(locations: &Locations) -> Vec<Exposed> {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    let own = rustix::process::geteuid().as_raw();
    let look = |(kept, path): (PrivatePathKind, PathBuf)| {
        let itself = fs::symlink_metadata(&path).ok()?;
        // A user may move a whole directory elsewhere and link to it, but has no reason to replace
        // a file or folder inside it with a link.
        let whole = path == locations.data || path == locations.cache;
        let link = itself.is_symlink();
        let metadata = if link && whole { fs::metadata(&path).ok()? } else { itself };
        let mode = metadata.mode() & 0o777;
        let exposure = if link && !whole {
            Exposure::Link
        } else if metadata.uid() != own {
            Exposure::Foreign
        } else if mode & 0o077 != 0 {
            Exposure::Open(mode)
        } else {
            return None;
        };
        let closable = !link && exposure != Exposure::Foreign;
        Some(Exposed { path, kept, exposure, closable })
    };
    private_paths(locations).into_iter().filter_map(look).collect()
}

/// On systems without modes, the permissions of the user's directory protect its contents.
#[cfg(not(unix))]
pub fn exposed(_: &Locations) -> Vec<Exposed> {
    Vec::new()
}

/// Restricts a private path to its owner. A path that has become a link since it was checked is
/// rejected, because its target must not be changed.
#[cfg(unix)]
pub fn close(exposed: &Exposed) -> Result<(), FileError> {
    use rustix::fs::{Mode, OFlags};

    let mode = match exposed.kept {
        PrivatePathKind::File => Mode::RUSR | Mode::WUSR,
        PrivatePathKind::Directory => Mode::RWXU,
    };
    // Opening a pipe would otherwise block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let closed = rustix::fs::open(&exposed.path, flags, Mode::empty())
        .and_then(|file| rustix::fs::fchmod(file, mode));
    closed.map_err(|error| FileError::of(&exposed.path, error.into()))
}

/// Nothing to do on systems without modes.
#[cfg(not(unix))]
pub fn close(_: &Exposed) -> Result<(), FileError> {
    Ok(())
}

//! Who may read what is for its owner alone.

use std::path::PathBuf;

use crate::{FileError, Locations};

/// What a private path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PrivatePathKind {
    /// A key, a secret or the journal.
    File,
    /// A directory that holds such files.
    Directory,
}

/// Why a private path is not for its owner alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exposure {
    /// Others may use it, by its mode.
    Open(u32),
    /// It belongs to another user: only that one, or an administrator, can change it.
    Foreign,
    /// It is a link: what it leads to is not known to be ours.
    Link,
}

/// A private path that is not for its owner alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exposed {
    pub path: PathBuf,
    pub kept: PrivatePathKind,
    pub exposure: Exposure,
    /// Whether it can be closed without changing anything else: it is no link, and ours.
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
    crate::token::FILE,
];

/// Everything that is for its owner alone, whether it is there or not.
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

/// The private paths that others may use, or that belong to others, or that are links.
#[cfg(unix)]
pub fn exposed(locations: &Locations) -> Vec<Exposed> {
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    let own = rustix::process::geteuid().as_raw();
    let look = |(kept, path): (PrivatePathKind, PathBuf)| {
        let itself = fs::symlink_metadata(&path).ok()?;
        // A user may keep all of it elsewhere, by a link to the whole; a link inside is nobody's
        // way to arrange things.
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

/// Where there are no modes, the user's own directory is what keeps others out.
#[cfg(not(unix))]
pub fn exposed(_: &Locations) -> Vec<Exposed> {
    Vec::new()
}

/// Makes a private path its owner's alone. One that has become a link since it was looked at is
/// refused: what it leads to is not ours to change.
#[cfg(unix)]
pub fn close(exposed: &Exposed) -> Result<(), FileError> {
    use rustix::fs::{Mode, OFlags};

    let mode = match exposed.kept {
        PrivatePathKind::File => Mode::RUSR | Mode::WUSR,
        PrivatePathKind::Directory => Mode::RWXU,
    };
    // A pipe would wait for somebody at its other end.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let closed = rustix::fs::open(&exposed.path, flags, Mode::empty())
        .and_then(|file| rustix::fs::fchmod(file, mode));
    closed.map_err(|error| FileError::of(&exposed.path, error.into()))
}

/// There is nothing to close.
#[cfg(not(unix))]
pub fn close(_: &Exposed) -> Result<(), FileError> {
    Ok(())
}

//! Files left behind by processes that died while writing.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use crate::file::{self, FileError};
use crate::{Locations, limits};

/// The directories in which temporary files are created and renamed.
fn directories(locations: &Locations) -> Vec<PathBuf> {
    let mut all = vec![
        locations.data.clone(),
        locations.data.join("blobs"),
        locations.cache.join("derived"),
        locations.cache.join("choices"),
        locations.catalogs(),
        locations.runtime().to_owned(),
    ];
    let configs = [&locations.config, &locations.user_config];
    all.extend(configs.into_iter().filter_map(|config| config.parent()).map(Path::to_owned));
    all.sort();
    all.dedup();
    all
}

/// Temporary files whose writer is gone.
pub fn leftovers(locations: &Locations) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for directory in directories(locations) {
        let Ok(entries) = fs::read_dir(directory) else { continue };
        let entries = entries.take(limits::FILES).flatten();
        found.extend(entries.filter(is_left).map(|entry| entry.path()));
    }
    found.sort();
    found
}

/// Removes leftovers. A file that is already gone is not an error.
pub fn remove_leftovers(paths: &[PathBuf]) -> Result<(), FileError> {
    paths.iter().try_for_each(|path| file::remove(path).map(drop))
}

/// Directories whose lock is currently held.
pub fn held_locks(locations: &Locations) -> Vec<PathBuf> {
    let is_held = |directory: &PathBuf| {
        let file = File::open(directory.join(".lock"));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    };
    directories(locations).into_iter().filter(is_held).collect()
}

fn is_left(entry: &fs::DirEntry) -> bool {
    let name = entry.file_name();
    let Some(writer) = name.to_str().and_then(writer) else { return false };
    let metadata = entry.metadata();
    // Another machine may write here too, and its processes are not visible, so the file must also
    // be old.
    let old = metadata.is_ok_and(|metadata| {
        let age = metadata.modified().ok().and_then(|time| time.elapsed().ok());
        metadata.is_file() && age.is_some_and(|age| age >= limits::LEFT_AFTER)
    });
    old && !is_alive(writer)
}

/// The process id in the name of a temporary file, such as `.name.1234-0.tmp`.
fn writer(name: &str) -> Option<u32> {
    let (stem, writer) = name.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.')?;
    let (process, attempt) = writer.split_once('-')?;
    let digits = !attempt.is_empty() && attempt.bytes().all(|byte| byte.is_ascii_digit());
    process.parse().ok().filter(|_| digits && !stem.is_empty())
}

#[cfg(unix)]
fn is_alive(process: u32) -> bool {
    let process = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw);
    // Any error other than "no such process" means that the process exists.
    process.is_some_and(|process| {
        let asked = rustix::process::test_kill_process(process);
        asked != Err(rustix::io::Errno::SRCH)
    })
}

/// Processes cannot be queried here, so age alone decides.
#[cfg(not(unix))]
fn is_alive(_: u32) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::writer;

    #[test]
    fn only_names_that_writers_make_are_theirs() {
        assert_eq!(writer(".config.toml.1234-0.tmp"), Some(1234));
        assert_eq!(writer(".a.b.1-99.tmp"), Some(1));
        let others = ["a.1-0.tmp", ".a.tmp", ".a.1.tmp", ".a.1-.tmp", ".a.x-0.tmp", ".1-0.tmp"];
        for other in others {
            assert_eq!(writer(other), None, "{other}");
        }
    }
}

//! A cache of the choices that providers returned, for when a provider cannot be reached. Its files
//! may be deleted at any time, and a damaged one is treated as missing.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::file::{self, FileError};
use crate::{Digest, Directory, Locations, limits};

/// The cached choices from all providers.
#[derive(Debug)]
pub struct ChoiceCache {
    path: PathBuf,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedChoices {
    /// The time since they were written; zero if the clock was set back since then.
    pub age: Duration,
    pub bytes: Vec<u8>,
}

/// The start of every file. The time and the checksum of the content follow.
const MAGIC: &[u8; 8] = b"mpchoic1";
const HEAD: usize = MAGIC.len() + 8 + 32;

impl ChoiceCache {
    /// The choices in the cache directory. Does not touch the disk.
    pub fn open(locations: &Locations) -> ChoiceCache {
        ChoiceCache { path: locations.cache.join("choices") }
    }

    /// The choices cached under a key; `None` if they are missing or damaged.
    pub fn read(&self, key: &str) -> Option<CachedChoices> {
        let directory = Directory::open(&self.path).ok()??;
        let limit = limits::CHOICES_BYTES + HEAD;
        let mut bytes = directory.read(Path::new(&file_name(key)), limit).ok()?;
        let (magic, rest) = bytes.split_at_checked(MAGIC.len())?;
        let (when, rest) = rest.split_first_chunk::<8>()?;
        let (sum, body) = rest.split_at_checked(32)?;
        if magic != MAGIC || sum != Digest::of_parts(&[key.as_bytes(), when, body]).bytes() {
            return None;
        }
        let then = UNIX_EPOCH + Duration::from_secs(u64::from_le_bytes(*when));
        let age = SystemTime::now().duration_since(then).unwrap_or_default();
        bytes.drain(..HEAD);
        Some(CachedChoices { age, bytes })
    }

    /// Stores choices, replacing any that are cached under the same key.
    ///
    /// # Errors
    /// If the choices are too large, or the file cannot be written.
    pub fn write(&self, key: &str, bytes: &[u8]) -> Result<(), FileError> {
        let path = self.path.join(file_name(key));
        file::check_size(&path, bytes.len(), limits::CHOICES_BYTES)?;
        self.make_room();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let when = now.to_le_bytes();
        let checksum = Digest::of_parts(&[key.as_bytes(), &when, bytes]);
        file::write_cache(&path, &[&MAGIC[..], &when, checksum.bytes(), bytes].concat())
    }

    /// Removes the oldest files once the cache is full.
    fn make_room(&self) {
        let Ok(entries) = std::fs::read_dir(&self.path) else { return };
        let mut files: Vec<(SystemTime, PathBuf)> = entries
            .flatten()
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        files.sort();
        let over = (files.len() + 1).saturating_sub(limits::CHOICES);
        for (_, path) in files.iter().take(over) {
            // If removing a file fails, the next write tries again.
            let _ = file::remove(path);
        }
    }
}

/// The name is a digest because a key may contain the arguments of a call, which must not be
/// visible.
fn file_name(key: &str) -> String {
    format!("{}.bin", Digest::of(key.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choices() -> (tempfile::TempDir, ChoiceCache) {
        let folder = tempfile::tempdir().expect("a folder");
        let choices = ChoiceCache { path: folder.path().join("choices") };
        (folder, choices)
    }

    #[test]
    fn what_was_kept_is_read_again_whole_or_not_at_all() {
        let (_folder, choices) = choices();
        assert_eq!(choices.read("a"), None);
        choices.write("a", b"[1, 2]").expect("written");
        choices.write("b", b"[3]").expect("written");
        let kept = choices.read("a").expect("kept");
        assert_eq!(kept.bytes, b"[1, 2]");
        assert!(kept.age < Duration::from_mins(1), "{:?}", kept.age);
        let path = choices.path.join(file_name("a"));
        let mut bytes = std::fs::read(&path).expect("read");
        for at in 0..bytes.len() {
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).expect("written");
            assert_eq!(choices.read("a"), None, "byte {at}");
            bytes[at] ^= 1;
        }
        std::fs::write(&path, &bytes[..20]).expect("written");
        assert_eq!(choices.read("a"), None);
    }

    #[test]
    fn the_oldest_go_and_too_much_is_refused() {
        let (_folder, choices) = choices();
        for index in 0..limits::CHOICES + 5 {
            choices.write(&index.to_string(), b"[]").expect("written");
        }
        let files = std::fs::read_dir(&choices.path).expect("a folder").count();
        assert_eq!(files, limits::CHOICES);
        let large = vec![b' '; limits::CHOICES_BYTES + 1];
        assert!(matches!(choices.write("large", &large), Err(FileError::TooLarge { .. })));
    }
}

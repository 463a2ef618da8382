//! A run's secret inputs, encrypted with the store's key for the next process that drives the run.
//!
//! There is one file per run, bound to the run and to its expiry time. The files are not part of a
//! backup, because a backup also contains the key.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use milepost_model::id::RunId;
use milepost_model::secret::Secret;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::file::{self, FileError, FileMode, WriteOptions};
use crate::limits;
use crate::lock::Lock;
use crate::runs::{RunsError, derived_key, derived_key_or_made};

const FOLDER: &str = "sealed-inputs";
/// The purpose for which the store's key is used here.
const PURPOSE: &str = "the secret inputs of runs";
/// Size of the expiry time at the start of a file.
const EXPIRY_BYTES: usize = size_of::<u64>();

/// Why secret inputs could not be encrypted or decrypted.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// The store's key cannot be used.
    #[error(transparent)]
    Key(#[from] RunsError),
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    #[error("the system provided no random numbers")]
    NoRandomness,
    /// The inputs exceed the size limit.
    #[error("the secret inputs are larger than {} bytes", limits::SEALED_INPUTS_BYTES)]
    TooLarge,
    /// The file was encrypted with another key or for another run, or was modified.
    #[error("cannot decrypt `{}`", path.display())]
    Shut { path: PathBuf },
}

/// The secret inputs of all runs in a data directory.
#[derive(Debug, Clone)]
pub struct SealedInputs {
    data: PathBuf,
}

impl SealedInputs {
    /// The secret inputs in a data directory. Does not touch the disk.
    pub fn of(data: &Path) -> SealedInputs {
        SealedInputs { data: data.to_owned() }
    }

    fn folder(&self) -> PathBuf {
        self.data.join(FOLDER)
    }

    fn path(&self, run: &RunId) -> PathBuf {
        self.folder().join(run.as_str())
    }

    /// Stores a run's secret inputs, replacing any earlier ones. The expiry time is in milliseconds
    /// since 1970.
    pub fn put(
        &self,
        run: &RunId,
        inputs: &BTreeMap<String, Secret>,
        expires_ms: u64,
    ) -> Result<(), SealError> {
        file::make_directory(&self.data, FileMode::Owner)?;
        let key = {
            let _lock = Lock::of(&self.data)?;
            derived_key_or_made(&self.data, PURPOSE)?
        };
        let plain: BTreeMap<&str, &str> =
            inputs.iter().map(|(name, secret)| (name.as_str(), secret.reveal())).collect();
        let mut text = serde_json::to_vec(&plain).map_err(|_| SealError::TooLarge)?;
        if text.len() > limits::SEALED_INPUTS_BYTES {
            return Err(SealError::TooLarge);
        }
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| SealError::NoRandomness)?;
        let expiry = expires_ms.to_le_bytes();
        sealing(&key)
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(bound(run, expiry)),
                &mut text,
            )
            .map_err(|_| SealError::TooLarge)?;
        let bytes = [&expiry[..], &nonce, &text].concat();
        file::make_directory(&self.folder(), FileMode::Owner)?;
        Ok(file::write(&self.path(run), &bytes, WriteOptions::PRIVATE)?)
    }

    /// A run's secret inputs; empty if there are none or they have expired.
    pub fn get(&self, run: &RunId, now_ms: u64) -> Result<BTreeMap<String, Secret>, SealError> {
        let path = self.path(run);
        let room = EXPIRY_BYTES + NONCE_LEN + CHACHA20_POLY1305.tag_len();
        let bytes = file::read_document(&path, limits::SEALED_INPUTS_BYTES + room);
        let Some(bytes) = file::if_present(bytes)? else { return Ok(BTreeMap::new()) };
        let shut = || SealError::Shut { path: path.clone() };
        let (expiry, rest) = bytes.split_first_chunk::<EXPIRY_BYTES>().ok_or_else(shut)?;
        if u64::from_le_bytes(*expiry) <= now_ms {
            self.remove(run)?;
            return Ok(BTreeMap::new());
        }
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>().ok_or_else(shut)?;
        let key = derived_key(&self.data, PURPOSE)?.ok_or_else(shut)?;
        let mut sealed = sealed.to_vec();
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let aad = Aad::from(bound(run, *expiry));
        let text = sealing(&key).open_in_place(nonce, aad, &mut sealed).map_err(|_| shut())?;
        let plain: BTreeMap<String, String> = serde_json::from_slice(text).map_err(|_| shut())?;
        Ok(plain.into_iter().map(|(name, value)| (name, Secret::new(value))).collect())
    }

    /// Removes a run's secret inputs.
    pub fn remove(&self, run: &RunId) -> Result<(), SealError> {
        file::remove(&self.path(run))?;
        Ok(())
    }

    /// The runs that have stored secret inputs, up to a limit.
    pub fn runs(&self) -> Vec<RunId> {
        let Ok(folder) = fs::read_dir(self.folder()) else { return Vec::new() };
        let names = folder.flatten().take(limits::SEALED_INPUTS_SWEPT);
        let runs = names.filter_map(|entry| RunId::parse(entry.file_name().to_str()?).ok());
        runs.collect()
    }

    /// Removes expired inputs. Files whose expiry time cannot be read are kept: they cannot be
    /// decrypted either.
    pub fn remove_expired(&self, now_ms: u64) {
        for run in self.runs() {
            if expiry(&self.path(&run)).is_some_and(|expiry| expiry <= now_ms) {
                // If this fails, the next process tries again.
                drop(self.remove(&run));
            }
        }
    }
}

/// The time at which a file expires.
fn expiry(path: &Path) -> Option<u64> {
    use std::io::Read;

    let mut bytes = [0; EXPIRY_BYTES];
    fs::File::open(path).ok()?.read_exact(&mut bytes).ok()?;
    Some(u64::from_le_bytes(bytes))
}

/// A file's associated data, which keeps it from being used for another run or with a later expiry
/// time.
fn bound(run: &RunId, expiry: [u8; EXPIRY_BYTES]) -> Vec<u8> {
    [run.as_str().as_bytes(), &expiry].concat()
}

fn sealing(key: &[u8]) -> LessSafeKey {
    let key = UnboundKey::new(&CHACHA20_POLY1305, key).expect("the key has the required length");
    LessSafeKey::new(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CANARY: &str = "c4n4ry-0f-the-inputs";

    fn run(number: u8) -> RunId {
        RunId::from_bytes([number; 16])
    }

    fn given() -> BTreeMap<String, Secret> {
        BTreeMap::from([("pass".to_owned(), Secret::new(CANARY.to_owned()))])
    }

    fn kept(inputs: &SealedInputs, run: &RunId, now_ms: u64) -> Option<String> {
        let found = inputs.get(run, now_ms).expect("opens");
        found.get("pass").map(|secret| secret.reveal().to_owned())
    }

    #[test]
    fn what_is_sealed_is_there_until_it_expires() {
        let data = tempfile::tempdir().expect("a folder");
        let inputs = SealedInputs::of(data.path());
        assert_eq!(kept(&inputs, &run(1), 0), None);
        inputs.put(&run(1), &given(), 1_000).expect("is sealed");
        inputs.put(&run(2), &given(), 2_000).expect("is sealed");
        let other = SealedInputs::of(data.path());
        assert_eq!(kept(&other, &run(1), 999).as_deref(), Some(CANARY));
        let bytes = fs::read(inputs.path(&run(1))).expect("reads");
        assert!(!bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes()));
        assert_eq!(kept(&inputs, &run(1), 1_000), None);
        assert!(!inputs.path(&run(1)).exists());
        inputs.remove_expired(1_999);
        assert_eq!(kept(&inputs, &run(2), 1_999).as_deref(), Some(CANARY));
        inputs.remove_expired(2_000);
        assert!(!inputs.path(&run(2)).exists());
    }

    #[test]
    fn nothing_opens_for_another_run_or_longer_or_with_another_key() {
        let data = tempfile::tempdir().expect("a folder");
        let inputs = SealedInputs::of(data.path());
        inputs.put(&run(1), &given(), 1_000).expect("is sealed");
        let sealed = fs::read(inputs.path(&run(1))).expect("reads");
        fs::write(inputs.path(&run(2)), &sealed).expect("writes");
        assert!(matches!(inputs.get(&run(2), 0), Err(SealError::Shut { .. })));
        let mut longer = sealed.clone();
        longer[..EXPIRY_BYTES].copy_from_slice(&u64::MAX.to_le_bytes());
        fs::write(inputs.path(&run(1)), &longer).expect("writes");
        assert!(matches!(inputs.get(&run(1), 0), Err(SealError::Shut { .. })));
        fs::write(inputs.path(&run(1)), &sealed).expect("writes");
        fs::remove_file(data.path().join("chain.key")).expect("is removed");
        assert!(matches!(inputs.get(&run(1), 0), Err(SealError::Shut { .. })));
    }
}

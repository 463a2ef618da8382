//! Secrets in a single file in the age format, encrypted with a passphrase or with a key file next
//! to it that only its owner may read. The `age` tool understands the key file.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use age::secrecy::{ExposeSecret, SecretString};
use age::{DecryptError, Decryptor, scrypt, x25519};
use milepost_model::secret::Secret;

use super::entry::{self, SecretEntries, StoredSecret};
use super::{Origins, SecretError, SecretName, origins};
use crate::file::{self, FileMode, WriteOptions};
use crate::lock::Lock;
use crate::stamp::ObservedStamp;
use crate::{Directory, limits};

const FILE: &str = "secrets.age";
const KEY: &str = "secrets.key";
const KEY_HEAD: &str =
    "# The key for the secrets file next to it. Anyone with both files can read the secrets.\n";

#[derive(Debug)]
pub(super) struct EncryptedFile {
    directory: PathBuf,
    passphrase: Option<Secret>,
    /// The entries last read, cached because deriving the key from a passphrase is slow.
    known: Mutex<Option<(ObservedStamp, Arc<SecretEntries>)>>,
}

impl EncryptedFile {
    pub(super) fn new(directory: &Path, passphrase: Option<Secret>) -> EncryptedFile {
        let directory = directory.to_owned();
        EncryptedFile { directory, passphrase, known: Mutex::new(None) }
    }

    pub(super) fn get(&self, name: &SecretName) -> Result<Option<StoredSecret>, SecretError> {
        Ok(self.read()?.and_then(|entries| entries.get(name).cloned()))
    }

    pub(super) fn all(&self) -> Result<Option<Arc<SecretEntries>>, SecretError> {
        self.read()
    }

    pub(super) fn origins(&self) -> Result<Origins, SecretError> {
        Ok(self.read()?.map(|entries| origins(&entries)).unwrap_or_default())
    }

    /// Changes the secrets; nothing is written if the change fails.
    pub(super) fn change(
        &self,
        change: impl FnOnce(&mut SecretEntries) -> Result<(), SecretError>,
    ) -> Result<(), SecretError> {
        file::make_directory(&self.directory, FileMode::Owner)?;
        let _lock = Lock::of(&self.directory)?;
        let before = self.read()?;
        let mut entries = before.as_deref().cloned().unwrap_or_default();
        change(&mut entries)?;
        let bytes = self.encrypted(&entry::render(&entries), before.is_some())?;
        if bytes.len() > limits::SECRETS_FILE_BYTES {
            return Err(SecretError::TooLarge);
        }
        file::write(&self.path(), &bytes, WriteOptions::PRIVATE)?;
        Ok(())
    }

    fn path(&self) -> PathBuf {
        self.directory.join(FILE)
    }

    fn key_path(&self) -> PathBuf {
        self.directory.join(KEY)
    }

    /// The contents of the file, which is read and decrypted only if it changed; `None` if it does
    /// not exist.
    fn read(&self) -> Result<Option<Arc<SecretEntries>>, SecretError> {
        let Some(directory) = Directory::open(&self.directory)? else { return Ok(None) };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(stamp) = file::if_present(directory.stamp(Path::new(FILE)))? else {
            *known = None;
            return Ok(None);
        };
        if let Some((seen, entries)) = &*known
            && seen.is_still(stamp)
        {
            return Ok(Some(Arc::clone(entries)));
        }
        let (seen, bytes) = directory.read_seen(Path::new(FILE), limits::SECRETS_FILE_BYTES)?;
        let text = self.decrypted(&directory, &bytes)?;
        let damaged = || SecretError::Damaged { path: self.path() };
        let entries = Arc::new(entry::parse(&text).ok_or_else(damaged)?);
        *known = Some((seen, Arc::clone(&entries)));
        Ok(Some(entries))
    }

    fn decrypted(&self, directory: &Directory, bytes: &[u8]) -> Result<Vec<u8>, SecretError> {
        let damaged = || SecretError::Damaged { path: self.path() };
        let decryptor = Decryptor::new_buffered(bytes).map_err(|_| damaged())?;
        let wrong = |error: &DecryptError, wrong| match error {
            DecryptError::NoMatchingKeys
            | DecryptError::KeyDecryptionFailed
            | DecryptError::DecryptionFailed => wrong,
            _ => damaged(),
        };
        if decryptor.is_scrypt() {
            let needs = || SecretError::NeedsPassphrase { path: self.path() };
            let passphrase = self.passphrase.as_ref().ok_or_else(needs)?;
            let mut identity = scrypt::Identity::new(secret_string(passphrase));
            identity.set_max_work_factor(limits::SCRYPT_LOG_N_MAX);
            age::decrypt(&identity, bytes)
                .map_err(|error| wrong(&error, SecretError::WrongPassphrase { path: self.path() }))
        } else {
            let missing = || SecretError::KeyMissing { path: self.key_path() };
            let key = self.key(directory)?.ok_or_else(missing)?;
            age::decrypt(&key, bytes)
                .map_err(|error| wrong(&error, SecretError::WrongKey { path: self.key_path() }))
        }
    }

    /// Encrypts with the passphrase if there is one, and with the key otherwise.
    fn encrypted(&self, text: &[u8], has_file: bool) -> Result<Vec<u8>, SecretError> {
        let outcome = if let Some(passphrase) = &self.passphrase {
            let mut recipient = scrypt::Recipient::new(secret_string(passphrase));
            recipient.set_work_factor(limits::SCRYPT_LOG_N);
            age::encrypt(&recipient, text)
        } else {
            let missing = || SecretError::KeyMissing { path: self.key_path() };
            let directory = Directory::open(&self.directory)?.ok_or_else(missing)?;
            let key = match self.key(&directory)? {
                Some(key) => key,
                // With a new key, it would no longer be clear which key opens which file.
                None if has_file => return Err(missing()),
                None => self.new_key()?,
            };
            age::encrypt(&key.to_public(), text)
        };
        // Encryption in memory does not fail because of the contents.
        outcome.map_err(|_| SecretError::WrongKey { path: self.key_path() })
    }

    fn key(&self, directory: &Directory) -> Result<Option<x25519::Identity>, SecretError> {
        let path = self.key_path();
        let bytes = file::if_present(directory.read(Path::new(KEY), limits::KEY_FILE_BYTES))?;
        let Some(bytes) = bytes else { return Ok(None) };
        if let Some(mode) = file::exposed_mode(&path)? {
            return Err(SecretError::KeyExposed { path, mode });
        }
        let text = std::str::from_utf8(&bytes).unwrap_or_default();
        let mut lines = text.lines().map(str::trim);
        let line = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        let key = line.and_then(|line| line.parse().ok());
        key.map(Some).ok_or(SecretError::WrongKey { path })
    }

    fn new_key(&self) -> Result<x25519::Identity, SecretError> {
        let key = x25519::Identity::generate();
        let text = format!("{KEY_HEAD}{}\n", key.to_string().expose_secret());
        file::write(&self.key_path(), text.as_bytes(), WriteOptions::PRIVATE_NEW)?;
        Ok(key)
    }
}

fn secret_string(secret: &Secret) -> SecretString {
    SecretString::from(secret.reveal().to_owned())
}

//! Secrets stored by the operating system: Keychain, Credential Manager, Secret Service.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use keyring::Error;
use keyring::v1::Entry;

use super::entry::StoredSecret;
use super::{Origins, SecretError, SecretName};
use crate::file::{self, FileMode};
use crate::limits;
use crate::lock::Lock;

const SERVICE: &str = "milepost";
/// Keyrings cannot be listed, so this entry lists the names of all the others. A secret cannot have
/// this name.
const NAMES: &str = ".names";

/// The user's keyring.
#[derive(Debug)]
pub(super) struct Keyring {
    /// The directory whose lock guards updates to the list of names.
    directory: PathBuf,
}

impl Keyring {
    pub(super) fn new(directory: &Path) -> Keyring {
        Keyring { directory: directory.to_owned() }
    }

    pub(super) fn set(&self, name: &SecretName, kept: &StoredSecret) -> Result<(), SecretError> {
        let _lock = self.lock()?;
        let mut names = names()?;
        if names.insert(name.as_str().to_owned()) {
            if names.len() > limits::SECRETS {
                return Err(SecretError::TooLarge);
            }
            // The list is written first: a crash may leave a name without a secret, but never a
            // secret that is not listed.
            write(NAMES, &listed(&names))?;
        }
        write(name.as_str(), &kept.text())
    }

    pub(super) fn remove(&self, name: &SecretName) -> Result<(), SecretError> {
        let _lock = self.lock()?;
        let mut names = names()?;
        let known = names.remove(name.as_str());
        match entry(name.as_str())?.delete_credential() {
            Ok(()) => {}
            Err(Error::NoEntry) if known => {}
            Err(Error::NoEntry) => return Err(SecretError::NotFound { name: name.clone() }),
            Err(error) => return Err(failed(&error)),
        }
        write(NAMES, &listed(&names))
    }

    fn lock(&self) -> Result<Lock, SecretError> {
        file::make_directory(&self.directory, FileMode::Owner)?;
        Ok(Lock::of(&self.directory)?)
    }
}

/// The names of secrets, each with the origin that the secret is bound to.
pub(super) fn origins() -> Result<Origins, SecretError> {
    let names = names()?;
    let names = names.iter().filter_map(|name| SecretName::parse(name).ok());
    names
        .filter_map(|name| {
            let kept = get(&name).transpose()?;
            Some(kept.map(|kept| (name, kept.origin)))
        })
        .collect()
}

fn names() -> Result<BTreeSet<String>, SecretError> {
    let Some(text) = read(NAMES)? else { return Ok(BTreeSet::new()) };
    serde_json::from_str(&text).map_err(|_| damaged())
}

/// The secret with the given name.
pub(super) fn get(name: &SecretName) -> Result<Option<StoredSecret>, SecretError> {
    let Some(text) = read(name.as_str())? else { return Ok(None) };
    StoredSecret::parse(&text).map(Some).ok_or_else(damaged)
}

fn listed(names: &BTreeSet<String>) -> String {
    serde_json::to_string(names).expect("strings are valid JSON")
}

fn entry(user: &str) -> Result<Entry, SecretError> {
    Entry::new(SERVICE, user).map_err(|error| failed(&error))
}

fn read(user: &str) -> Result<Option<String>, SecretError> {
    match entry(user)?.get_password() {
        Ok(text) => Ok(Some(text)),
        Err(Error::NoEntry) => Ok(None),
        Err(error) => Err(failed(&error)),
    }
}

fn write(user: &str, text: &str) -> Result<(), SecretError> {
    entry(user)?.set_password(text).map_err(|error| failed(&error))
}

fn damaged() -> SecretError {
    SecretError::Damaged { path: PathBuf::from(SERVICE) }
}

/// Maps an error without keeping it, because some errors contain the bytes of the secret.
fn failed(error: &Error) -> SecretError {
    match error {
        Error::TooLong(..) => SecretError::TooLarge,
        Error::BadEncoding(_) => damaged(),
        _ => SecretError::NoKeyring,
    }
}

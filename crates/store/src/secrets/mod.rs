//! Secrets by name: set and had by people and by the one client that sends them, shown to nobody.
//!
//! The environment is asked first, then the one place where secrets are kept. No value is ever in
//! an error, in the text of a `Debug`, or on disk in the clear.

mod encrypted;
mod entry;
mod environment;
#[cfg(feature = "keyring")]
mod keyring;
mod name;

use std::path::PathBuf;

use milepost_model::secret::Secret;
use url::Origin;

use encrypted::EncryptedFile;
use entry::{SecretEntries, StoredSecret};
pub use environment::Environment;
pub use name::{InvalidSecretName, SecretName};

use crate::{FileError, Locations, SecretsBackend, limits};

/// Every secret there is.
#[derive(Debug)]
pub struct Vault {
    environment: Environment,
    keeper: Keeper,
}

/// Where secrets are kept beside the environment.
#[derive(Debug)]
enum Keeper {
    File(EncryptedFile),
    #[cfg(feature = "keyring")]
    Keyring(keyring::Keyring),
    Nobody,
}

/// A secret as it is listed: without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretEntry {
    /// Its name; of one that is only in the environment, as it is spelt there.
    pub name: SecretName,
    pub from: SecretsBackend,
    /// It is kept elsewhere too, but the environment wins.
    pub shadowed: bool,
    pub origin: Option<String>,
}

/// Why a secret could not be had or kept. Says names and places, never values.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error(
        "there is no secret `{name}`: set it, or set the variable `{}`",
        environment::variable(name)
    )]
    NotFound { name: SecretName },
    /// It is for one origin, and was asked for without one or for another.
    #[error("secret `{name}` is for `{origin}` alone")]
    OtherOrigin { name: SecretName, origin: String },
    /// A URL that has no origin: it is neither `http` nor `https`.
    #[error("a secret can be bound to an `http` or `https` origin only")]
    NoOrigin,
    #[error("a secret cannot be empty: give it a value")]
    Empty,
    #[error("secrets are at most {} of at most {} bytes", limits::SECRETS, limits::SECRET_BYTES)]
    TooLarge,
    #[error(
        "secrets come from the environment alone: set the variable, \
         or set `backend = \"file\"` under `[secrets]` in the configuration"
    )]
    ReadOnly,
    /// This program was built without the operating system's keyring, or there is none.
    #[error("there is no keyring here: set `backend = \"file\"` under `[secrets]`")]
    NoKeyring,
    #[error("others may read `{}` (mode {mode:03o}): run `chmod 600` on it", path.display())]
    KeyExposed { path: PathBuf, mode: u32 },
    #[error("the key `{}` is gone: put it back, or remove the secrets beside it", path.display())]
    KeyMissing { path: PathBuf },
    /// The key is no key, or not the one of the secrets.
    #[error("`{}` does not open the secrets beside it: put the right key back", path.display())]
    WrongKey { path: PathBuf },
    /// The secrets are encrypted with a passphrase, and there is none.
    #[error("`{}` needs its passphrase: set `{}`", path.display(), environment::PASSPHRASE)]
    NeedsPassphrase { path: PathBuf },
    #[error("`{}` is not the passphrase of `{}`", environment::PASSPHRASE, path.display())]
    WrongPassphrase { path: PathBuf },
    /// The secrets are no longer what was written.
    #[error(
        "`{}` is damaged: put a copy back, or remove it and set the secrets again",
        path.display()
    )]
    Damaged { path: PathBuf },
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Vault {
    /// The secrets of the environment and of one keeper. Looks at nothing yet.
    pub fn open(
        locations: &Locations,
        backend: SecretsBackend,
        environment: Environment,
    ) -> Result<Vault, SecretError> {
        let keeper = match backend {
            SecretsBackend::File => {
                let passphrase = environment.passphrase().cloned();
                Keeper::File(EncryptedFile::new(&locations.data, passphrase))
            }
            #[cfg(feature = "keyring")]
            SecretsBackend::Keyring => Keeper::Keyring(keyring::Keyring::new(&locations.data)),
            #[cfg(not(feature = "keyring"))]
            SecretsBackend::Keyring => return Err(SecretError::NoKeyring),
            SecretsBackend::Env => Keeper::Nobody,
        };
        Ok(Vault { environment, keeper })
    }

    /// Keeps a secret, for one origin alone if one is given.
    pub fn set(
        &self,
        name: &SecretName,
        value: Secret,
        origin: Option<&Origin>,
    ) -> Result<(), SecretError> {
        let kept = StoredSecret::new(value, origin)?;
        match &self.keeper {
            Keeper::File(file) => file.change(|entries| {
                entries.insert(name.clone(), kept);
                match entries.len() > limits::SECRETS {
                    true => Err(SecretError::TooLarge),
                    false => Ok(()),
                }
            }),
            #[cfg(feature = "keyring")]
            Keeper::Keyring(keyring) => keyring.set(name, &kept),
            Keeper::Nobody => Err(SecretError::ReadOnly),
        }
    }

    /// A secret that is for no origin in particular. One that is bound is refused here.
    pub fn get(&self, name: &SecretName) -> Result<Secret, SecretError> {
        self.found(name, None)
    }

    /// A secret to be sent to an origin; one that is for another is refused.
    pub fn get_for(&self, name: &SecretName, origin: &Origin) -> Result<Secret, SecretError> {
        self.found(name, Some(origin))
    }

    /// Lets go of a secret that is kept. What is in the environment stays there.
    pub fn remove(&self, name: &SecretName) -> Result<(), SecretError> {
        let nothing = || SecretError::NotFound { name: name.clone() };
        match &self.keeper {
            Keeper::File(file) => {
                file.change(|entries| entries.remove(name).map(drop).ok_or_else(nothing))
            }
            #[cfg(feature = "keyring")]
            Keeper::Keyring(keyring) => keyring.remove(name),
            Keeper::Nobody => Err(SecretError::ReadOnly),
        }
    }

    /// Every secret by name, sorted.
    pub fn list(&self) -> Result<Vec<SecretEntry>, SecretError> {
        let (kept, from) = match &self.keeper {
            Keeper::File(file) => (file.origins()?, SecretsBackend::File),
            #[cfg(feature = "keyring")]
            Keeper::Keyring(_) => (keyring::origins()?, SecretsBackend::Keyring),
            Keeper::Nobody => (Vec::new(), SecretsBackend::Env),
        };
        let mut elsewhere = self.environment.names();
        let mut entries = Vec::new();
        for (name, origin) in kept {
            let shadowed = elsewhere.contains(&name.in_environment());
            let origin = origin.filter(|_| !shadowed);
            let from = if shadowed { SecretsBackend::Env } else { from };
            elsewhere.remove(&name.in_environment());
            entries.push(SecretEntry { name, from, shadowed, origin });
        }
        let others = elsewhere.iter().filter_map(|name| SecretName::parse(name).ok());
        entries.extend(others.map(|name| SecretEntry {
            name,
            from: SecretsBackend::Env,
            shadowed: false,
            origin: None,
        }));
        entries.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(entries)
    }

    fn found(&self, name: &SecretName, origin: Option<&Origin>) -> Result<Secret, SecretError> {
        if let Some(secret) = self.environment.get(name) {
            return Ok(secret.clone());
        }
        let kept = match &self.keeper {
            Keeper::File(file) => file.get(name)?,
            #[cfg(feature = "keyring")]
            Keeper::Keyring(_) => keyring::get(name)?,
            Keeper::Nobody => None,
        };
        let kept = kept.ok_or_else(|| SecretError::NotFound { name: name.clone() })?;
        kept.for_origin(name, origin)
    }
}

/// Names and what they are bound to.
type Origins = Vec<(SecretName, Option<String>)>;

fn origins(entries: &SecretEntries) -> Origins {
    entries.iter().map(|(name, kept)| (name.clone(), kept.origin().map(str::to_owned))).collect()
}

//! Secrets by name. They are set by people, read only by the client that sends them, and never
//! shown.
//!
//! The environment is consulted first, then the configured backend. A value never appears in an
//! error, in `Debug` output, or unencrypted on disk.

mod code;
mod encrypted;
mod entry;
mod environment;
#[cfg(feature = "keyring")]
mod keyring;
mod name;

use std::path::PathBuf;

use milepost_model::secret::{Secret, known_secrets};
use url::Origin;

pub use code::SecretCodes;
use encrypted::EncryptedFile;
use entry::{SecretEntries, StoredSecret};
pub use environment::Environment;
pub use name::{InvalidSecretName, SecretName};

use crate::{FileError, Locations, SecretsBackend, limits};

/// Access to all secrets.
#[derive(Debug)]
pub struct Vault {
    environment: Environment,
    keeper: Keeper,
}

/// A secret, and the origin that it is bound to, if any.
pub type KnownSecret = (SecretName, Secret, Option<String>);

/// Where secrets are stored, apart from the environment.
#[derive(Debug)]
enum Keeper {
    File(EncryptedFile),
    #[cfg(feature = "keyring")]
    Keyring(keyring::Keyring),
    Nobody,
}

/// A secret in a listing, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretEntry {
    /// Its name. A secret that is only in the environment has the name used there.
    pub name: SecretName,
    pub from: SecretsBackend,
    /// Whether the environment overrides a stored secret.
    pub shadowed: bool,
    pub origin: Option<String>,
}

/// Why a secret could not be read or stored. Contains names and paths, never values.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error(
        "there is no secret `{name}`: set it, or set the variable `{}`",
        environment::variable(name)
    )]
    NotFound { name: SecretName },
    /// The secret is bound to an origin, but was requested for another or for none.
    #[error("secret `{name}` may only be sent to `{origin}`")]
    OtherOrigin { name: SecretName, origin: String },
    /// The URL has no origin, because it is neither `http` nor `https`.
    #[error("a secret can be bound to an `http` or `https` origin only")]
    NoOrigin,
    #[error("a secret cannot be empty")]
    Empty,
    #[error(
        "at most {} secrets of at most {} bytes each can be stored",
        limits::SECRETS,
        limits::SECRET_BYTES
    )]
    TooLarge,
    #[error("secrets are read from the environment only")]
    ReadOnly,
    /// The program was built without keyring support, or the system has no keyring.
    #[error("no keyring is available")]
    NoKeyring,
    #[error("`{}` is accessible to other users (mode {mode:03o})", path.display())]
    KeyExposed { path: PathBuf, mode: u32 },
    #[error("the key `{}` is missing", path.display())]
    KeyMissing { path: PathBuf },
    /// The file is not a key, or not the key for these secrets.
    #[error("`{}` is not the key for the secrets next to it", path.display())]
    WrongKey { path: PathBuf },
    /// The secrets are encrypted with a passphrase, which is not set.
    #[error("`{}` needs its passphrase", path.display())]
    NeedsPassphrase { path: PathBuf },
    #[error(
        "`{}` does not contain the passphrase for `{}`",
        environment::PASSPHRASE,
        path.display()
    )]
    WrongPassphrase { path: PathBuf },
    /// The encrypted file is corrupted.
    #[error("`{}` is damaged", path.display())]
    Damaged { path: PathBuf },
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FileError),
}

impl Vault {
    /// The secrets in the environment and in one backend. Does not touch the disk.
    pub fn open(
        locations: &Locations,
        backend: SecretsBackend,
        environment: Environment,
    ) -> Result<Vault, SecretError> {
        let keeper = match backend {
            SecretsBackend::File => {
                let passphrase = environment.passphrase.clone();
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

    /// Stores a secret, bound to an origin if one is given.
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
                if entries.len() > limits::SECRETS { Err(SecretError::TooLarge) } else { Ok(()) }
            }),
            #[cfg(feature = "keyring")]
            Keeper::Keyring(keyring) => keyring.set(name, &kept),
            Keeper::Nobody => Err(SecretError::ReadOnly),
        }
    }

    /// A secret that is not bound to an origin; a bound one is an error. From now on, this process
    /// masks it in its output.
    pub fn get(&self, name: &SecretName) -> Result<Secret, SecretError> {
        let secret = self.found(name, None)?;
        known_secrets::register(name.as_str(), &secret);
        Ok(secret)
    }

    /// A secret to be sent to an origin; one bound to another origin is an error. From now on, this
    /// process masks it in its output.
    pub fn get_for(&self, name: &SecretName, origin: &Origin) -> Result<Secret, SecretError> {
        let secret = self.found(name, Some(origin))?;
        known_secrets::register(name.as_str(), &secret);
        Ok(secret)
    }

    /// A user name or client id, which is bound to an origin like a secret, but is not masked.
    pub fn identifier_for(
        &self,
        name: &SecretName,
        origin: &Origin,
    ) -> Result<Secret, SecretError> {
        self.found(name, Some(origin))
    }

    /// Whether a secret is stored for this origin alone. A value from the environment is bound to
    /// nothing.
    pub fn is_bound_to(&self, name: &SecretName, origin: &Origin) -> Result<bool, SecretError> {
        if self.environment.get(name).is_some() {
            return Ok(false);
        }
        let kept = self.kept(name)?;
        Ok(kept.is_some_and(|kept| kept.is_bound_to(origin)))
    }

    /// Every secret that can be read without asking anybody, with the origin that it is bound to.
    /// A keyring may ask, so its secrets are left out.
    pub fn known(&self) -> Result<Vec<KnownSecret>, SecretError> {
        let entries = match &self.keeper {
            Keeper::File(file) => file.all()?,
            #[cfg(feature = "keyring")]
            Keeper::Keyring(_) => None,
            Keeper::Nobody => None,
        };
        let own = self.environment.all();
        let is_shadowed = |name: &SecretName| self.environment.get(name).is_some();
        let entries = entries.iter().flat_map(|entries| entries.iter());
        let kept = entries.filter(|(name, _)| !is_shadowed(name));
        let kept = kept.map(|(name, one)| (name.clone(), one.value.clone(), one.origin.clone()));
        Ok(own.map(|(name, value)| (name, value, None)).chain(kept).collect())
    }

    /// Removes a stored secret. The environment is not changed.
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

    /// All secrets, sorted by name.
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
        let kept = self.kept(name)?;
        let kept = kept.ok_or_else(|| SecretError::NotFound { name: name.clone() })?;
        kept.for_origin(name, origin)
    }

    fn kept(&self, name: &SecretName) -> Result<Option<StoredSecret>, SecretError> {
        match &self.keeper {
            Keeper::File(file) => file.get(name),
            #[cfg(feature = "keyring")]
            Keeper::Keyring(_) => keyring::get(name),
            Keeper::Nobody => Ok(None),
        }
    }
}

/// The names of secrets, each with the origin that the secret is bound to.
type Origins = Vec<(SecretName, Option<String>)>;

fn origins(entries: &SecretEntries) -> Origins {
    entries.iter().map(|(name, kept)| (name.clone(), kept.origin.clone())).collect()
}

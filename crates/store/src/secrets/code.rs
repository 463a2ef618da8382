//! Codes of secret values: equal values have equal codes, and without the store's key a code says
//! nothing about its value.

use std::path::Path;

use hmac::{Hmac, KeyInit as _, Mac as _};
use milepost_model::document::hex;
use milepost_model::secret::Secret;
use sha2::Sha256;

use crate::limits;
use crate::lock::Lock;
use crate::runs::{RunsError, derived_key, derived_key_or_made};

/// The purpose for which the store's key is used here.
const PURPOSE: &str = "codes of secrets in questions";

/// Computes the codes of secrets with the key of a data directory.
#[derive(Clone)]
pub struct SecretCodes(Hmac<Sha256>);

impl SecretCodes {
    /// Reads the directory's key, or creates it if there is none.
    ///
    /// # Errors
    /// If the key cannot be read or written.
    ///
    /// # Panics
    /// Never: HMAC takes keys of any length.
    pub fn open(data: &Path) -> Result<SecretCodes, RunsError> {
        let key = if let Some(key) = derived_key(data, PURPOSE)? {
            key
        } else {
            let _lock = Lock::of(data)?;
            derived_key_or_made(data, PURPOSE)?
        };
        let keyed = Hmac::new_from_slice(&key).expect("HMAC takes keys of any length");
        Ok(SecretCodes(keyed))
    }

    pub fn of(&self, secret: &Secret) -> String {
        let whole = self.0.clone().chain_update(secret.reveal()).finalize().into_bytes();
        hex(&whole[..limits::SECRET_CODE_BYTES])
    }
}

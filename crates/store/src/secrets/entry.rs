//! A secret with the origin it is bound to, and the serialization of all secrets before encryption.

use std::collections::BTreeMap;

use milepost_model::secret::Secret;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::{Origin, Url};

use super::{SecretError, SecretName};
use crate::limits;

/// Every stored secret.
pub(super) type SecretEntries = BTreeMap<SecretName, StoredSecret>;

/// A secret and the only origin it may be sent to, if it is bound to one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredSecret {
    #[serde(serialize_with = "reveal", deserialize_with = "hide")]
    pub(super) value: Secret,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<String>,
}

fn reveal<S: Serializer>(secret: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.reveal())
}

fn hide<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}

/// All secrets before they are encrypted.
#[derive(Serialize, Deserialize)]
struct All<S> {
    version: u32,
    secrets: S,
}

const VERSION: u32 = 1;

impl StoredSecret {
    pub(super) fn new(value: Secret, origin: Option<&Origin>) -> Result<StoredSecret, SecretError> {
        match value.reveal().len() {
            0 => return Err(SecretError::Empty),
            1..=limits::SECRET_BYTES => {}
            _ => return Err(SecretError::TooLarge),
        }
        if origin.is_some_and(|origin| !origin.is_tuple()) {
            return Err(SecretError::NoOrigin);
        }
        Ok(StoredSecret { value, origin: origin.map(Origin::ascii_serialization) })
    }

    /// Whether the secret is stored for this origin alone.
    pub(super) fn is_bound_to(&self, origin: &Origin) -> bool {
        self.origin.as_deref().is_some_and(|own| same_origin(own, origin))
    }

    /// The secret, if it may be sent to this origin.
    pub(super) fn for_origin(
        self,
        name: &SecretName,
        origin: Option<&Origin>,
    ) -> Result<Secret, SecretError> {
        match (self.origin, origin) {
            (None, _) => Ok(self.value),
            (Some(own), Some(asked)) if same_origin(&own, asked) => Ok(self.value),
            (Some(origin), _) => Err(SecretError::OtherOrigin { name: name.clone(), origin }),
        }
    }

    /// Serializes one secret.
    #[cfg(feature = "keyring")]
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("strings are valid JSON")
    }

    /// Parses one secret.
    #[cfg(feature = "keyring")]
    pub(super) fn parse(text: &str) -> Option<StoredSecret> {
        serde_json::from_str(text).ok()
    }
}

fn same_origin(own: &str, asked: &Origin) -> bool {
    // Two opaque origins are never equal, so a string that is not an origin matches nothing.
    Url::parse(own).is_ok_and(|own| own.origin() == *asked)
}

/// Serializes all secrets.
pub(super) fn render(entries: &SecretEntries) -> Vec<u8> {
    serde_json::to_vec(&All { version: VERSION, secrets: entries }).expect("strings are valid JSON")
}

/// Parses all secrets; `None` if the content does not have the expected form.
pub(super) fn parse(text: &[u8]) -> Option<SecretEntries> {
    let all: All<BTreeMap<String, StoredSecret>> = serde_json::from_slice(text).ok()?;
    if all.version != VERSION {
        return None;
    }
    let entries = all.secrets.into_iter();
    entries.map(|(name, one)| Some((SecretName::parse(&name).ok()?, one))).collect()
}

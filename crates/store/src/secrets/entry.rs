//! A secret with the origin it is bound to, and the serialisation of all secrets before encryption.

use std::collections::BTreeMap;

use milepost_model::secret::Secret;
use serde::{Deserialize, Serialize};
use url::{Origin, Url};

use super::{SecretError, SecretName};
use crate::limits;

/// Every stored secret.
pub(super) type SecretEntries = BTreeMap<SecretName, StoredSecret>;

/// A secret and the only origin it may be sent to, if it is bound to one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredSecret {
    value: Secret,
    origin: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct All<'t> {
    version: u32,
    #[serde(borrow)]
    secrets: BTreeMap<&'t str, One>,
}

/// The serialised form. It does not implement `Debug`, because it contains the value.
#[derive(Serialize, Deserialize)]
struct One {
    value: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
}

impl From<&StoredSecret> for One {
    fn from(kept: &StoredSecret) -> One {
        One { value: kept.value.reveal().to_owned(), origin: kept.origin.clone() }
    }
}

impl From<One> for StoredSecret {
    fn from(one: One) -> StoredSecret {
        StoredSecret { value: Secret::new(one.value), origin: one.origin }
    }
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

    pub(super) fn origin(&self) -> Option<&str> {
        self.origin.as_deref()
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

    /// Serialises one secret.
    #[cfg(feature = "keyring")]
    pub(super) fn text(&self) -> String {
        serde_json::to_string(&One::from(self)).expect("strings are valid JSON")
    }

    /// Parses one secret.
    #[cfg(feature = "keyring")]
    pub(super) fn parse(text: &str) -> Option<StoredSecret> {
        serde_json::from_str::<One>(text).ok().map(StoredSecret::from)
    }
}

fn same_origin(own: &str, asked: &Origin) -> bool {
    // Two opaque origins are never equal, so a string that is not an origin matches nothing.
    Url::parse(own).is_ok_and(|own| own.origin() == *asked)
}

/// Serialises all secrets.
pub(super) fn render(entries: &SecretEntries) -> Vec<u8> {
    let secrets = entries.iter().map(|(name, kept)| (name.as_str(), One::from(kept)));
    let all = All { version: VERSION, secrets: secrets.collect() };
    serde_json::to_vec(&all).expect("strings are valid JSON")
}

/// Parses all secrets; `None` if the content does not have the expected form.
pub(super) fn parse(text: &[u8]) -> Option<SecretEntries> {
    let all: All<'_> = serde_json::from_slice(text).ok()?;
    if all.version != VERSION {
        return None;
    }
    let entries = all.secrets.into_iter();
    entries.map(|(name, one)| Some((SecretName::parse(name).ok()?, one.into()))).collect()
}

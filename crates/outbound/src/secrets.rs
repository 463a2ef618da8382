//! The interfaces for reading secrets, by name and just before they are sent, and for keeping them
//! from being sent anywhere else.

use std::fmt::Debug;

use milepost_model::secret::Secret;

use crate::outgoing::Outgoing;

/// A secret store.
pub trait SecretSource: Send + Sync {
    /// The secret with this name.
    fn secret(&self, name: &str) -> Result<Secret, SecretSourceError>;

    /// A user name or client id that is stored like a secret but is none: it is never masked.
    fn identifier(&self, name: &str) -> Result<String, SecretSourceError> {
        Ok(self.secret(name)?.reveal().to_owned())
    }
}

/// Knows which secrets a request may carry.
pub trait SecretGuard: Debug + Send + Sync {
    /// The name of a secret in a finished request that may not be sent to the request's origin.
    fn refuses(&self, request: &Outgoing) -> Option<String>;
}

/// Why a secret cannot be read. Contains its name, never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretSourceError {
    #[error("there is no secret `{name}`")]
    Missing { name: String },
    /// The store that holds the secret cannot be opened.
    #[error("the secret `{name}` cannot be read: {why}")]
    Unreadable { name: String, why: String },
}

impl SecretSourceError {
    /// The name of the secret.
    pub fn name(&self) -> &str {
        match self {
            SecretSourceError::Missing { name } | SecretSourceError::Unreadable { name, .. } => {
                name
            }
        }
    }
}

//! The port through which secrets come: by name, at the moment they are sent.

use milepost_model::secret::Secret;

/// Where secrets are kept.
pub trait Secrets: Send + Sync {
    /// The secret of this name.
    fn secret(&self, name: &str) -> Result<Secret, SecretError>;
}

/// Why a secret cannot be had. Says its name, never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// There is none of this name.
    #[error("there is no secret `{name}`")]
    Missing {
        /// The name.
        name: String,
    },
    /// It is kept somewhere that is not open.
    #[error("the secret `{name}` cannot be read: {why}")]
    Unreadable {
        /// The name.
        name: String,
        /// What the store says.
        why: String,
    },
}

impl SecretError {
    /// The name of the secret.
    pub fn name(&self) -> &str {
        match self {
            SecretError::Missing { name } | SecretError::Unreadable { name, .. } => name,
        }
    }
}

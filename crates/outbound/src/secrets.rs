//! The port through which secrets come: by name, at the moment they are sent.

use milepost_model::secret::Secret;

/// Where secrets are kept.
pub trait SecretSource: Send + Sync {
    /// The secret of this name.
    fn secret(&self, name: &str) -> Result<Secret, SecretSourceError>;
}

/// Why a secret cannot be had. Says its name, never its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretSourceError {
    #[error("there is no secret `{name}`")]
    Missing { name: String },
    /// It is kept somewhere that is not open.
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

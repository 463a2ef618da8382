//! The part of a request that is kept for people to read.

use serde::{Deserialize, Serialize};

use crate::secret_placeholder;

/// A request as a person may see it: secrets are masked, and long parts are truncated. It does not
/// include the catalog's credentials, which are added when the request is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRequest {
    pub method: String,
    /// The full URL.
    pub url: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The beginning of the body, if there is one and it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The size of the whole body, unless all of it is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
    /// The header that carries the idempotency key of the attempt, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_header: Option<String>,
}

impl SentRequest {
    /// Masks secret placeholders, regardless of their encoding.
    pub(crate) fn shown(mut self, nonce: &str) -> SentRequest {
        self.url = secret_placeholder::mask_request(nonce, &self.url);
        for (_, value) in &mut self.headers {
            *value = secret_placeholder::mask_request(nonce, value);
        }
        self.body = self.body.map(|body| secret_placeholder::mask_request(nonce, &body));
        self
    }
}

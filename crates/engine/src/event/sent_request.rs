//! What is kept of a request, for people.

use serde::{Deserialize, Serialize};

use crate::secret_placeholder;

/// A request as a person may see it: marks in the place of secrets, and what is long is cut. The
/// credentials of its catalog are added when it is sent, and are no part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRequest {
    /// Its method.
    pub method: String,
    /// Its whole address.
    pub url: String,
    /// Its headers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The beginning of its body, when it has one and that is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The bytes of its whole body, unless all of it is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
    /// The header that the idempotency key of the attempt travels in, when it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_header: Option<String>,
}

impl SentRequest {
    /// The same with marks in the place of sentinels, however they were encoded.
    pub(crate) fn shown(mut self, nonce: &str) -> SentRequest {
        self.url = secret_placeholder::mask_request(nonce, &self.url);
        for (_, value) in &mut self.headers {
            *value = secret_placeholder::mask_request(nonce, value);
        }
        self.body = self.body.map(|body| secret_placeholder::mask_request(nonce, &body));
        self
    }
}

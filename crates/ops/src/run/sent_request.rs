//! A request as stored with its attempt, with enough detail for a person to find it on the server.

use std::collections::BTreeMap;

use milepost_engine::event::{Attempt, SentRequest};
use milepost_engine::limits;
use milepost_model::secret::known_secrets;
use milepost_outbound::Outgoing;
use url::Url;

use crate::prelude::*;

/// A request that was, or was about to be, sent; secrets masked.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct SentView {
    /// The number of the attempt.
    pub attempt: u32,
    /// When, in milliseconds since 1970.
    pub sent_ms: u64,
    /// Its method and URL: `POST https://api.example/refunds`.
    pub request: String,
    /// Its headers, except the catalog's credentials.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The start of its body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The size of the whole body, if truncated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_bytes: Option<u64>,
    /// Lets the server detect repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

impl SentView {
    pub(crate) fn of(attempt: &Attempt, sent_ms: u64) -> SentView {
        let key = || Some(attempt.idempotency_key.clone());
        let mut view = SentView {
            attempt: attempt.attempt,
            sent_ms,
            request: attempt.request.clone(),
            // Version 0.1.0 did not store the request.
            idempotency_key: key().filter(|_| attempt.write && attempt.sent.is_none()),
            ..SentView::default()
        };
        if let Some(sent) = attempt.sent.as_deref() {
            view.request = format!("{} {}", sent.method, sent.url);
            view.headers = sent.headers.iter().cloned().collect();
            view.body.clone_from(&sent.body);
            view.body_bytes = sent.body_bytes;
            view.idempotency_key = sent.key_header.as_ref().and_then(|_| key());
            let key = view.idempotency_key.clone();
            view.headers.extend(sent.key_header.clone().zip(key));
        }
        view
    }
}

/// How long a request may still take effect after it was recorded, even if the process that sent it
/// is gone.
pub(super) fn arrives_within_ms(timeout_ms: u64) -> u64 {
    // Tests shorten it with this variable; release builds ignore it.
    #[cfg(debug_assertions)]
    if let Some(told) = std::env::var("MILEPOST_ARRIVES_MS").ok().and_then(|ms| ms.parse().ok()) {
        return told;
    }
    timeout_ms.saturating_add(limits::ARRIVAL_MARGIN_MS)
}

/// Headers whose values are never shown, even if a workflow sets them.
const PRIVATE: &[&str] = &[
    "api-key",
    "apikey",
    "authorization",
    "cookie",
    "proxy-authorization",
    "x-access-token",
    "x-api-key",
    "x-auth-token",
];
/// Replaces the values of private headers.
const MASK: &str = "***";

/// A drafted request in the form it is stored, with placeholders for secrets. Its headers do not
/// yet include the idempotency key.
pub(super) fn shown(request: &Outgoing, key_header: Option<&str>) -> SentRequest {
    let headers = request.headers.iter().take(limits::SENT_HEADERS).map(|(name, value)| {
        let is_private = PRIVATE.iter().any(|private| private.eq_ignore_ascii_case(name));
        let value = if is_private { MASK } else { beginning(value, limits::SENT_LINE_BYTES) };
        (name.clone(), value.to_owned())
    });
    // Truncation may split a character, which does not make the body binary.
    let body = &request.body[..known_secrets::whole(&request.body, limits::SENT_BODY_BYTES)];
    let body = match std::str::from_utf8(body) {
        Ok(whole) => Some(whole),
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&body[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    };
    let whole = body.is_some_and(|body| body.len() == request.body.len());
    SentRequest {
        method: request.method.clone(),
        url: beginning(&address(&request.url), limits::SENT_LINE_BYTES).to_owned(),
        headers: headers.collect(),
        body: body.filter(|body| !body.is_empty()).map(str::to_owned),
        body_bytes: (!whole).then_some(request.body.len() as u64),
        key_header: key_header.map(str::to_owned),
    }
}

/// A URL with its password masked.
fn address(url: &Url) -> String {
    let mut url = url.clone();
    if url.password().is_some() {
        // Cannot fail: a URL with a password has a host.
        let _ = url.set_password(Some(MASK));
    }
    url.into()
}

/// The beginning of a string, at most `bytes_max` bytes, cut at a character boundary.
fn beginning(text: &str, bytes_max: usize) -> &str {
    &text[..known_secrets::whole(text.as_bytes(), text.floor_char_boundary(bytes_max))]
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn request(body: impl Into<Bytes>) -> Outgoing {
        Outgoing {
            method: "POST".to_owned(),
            url: Url::parse("https://me:word@api.example/refunds?id=7").expect("an address"),
            headers: vec![
                ("Accept".to_owned(), "application/json".to_owned()),
                ("X-Api-Key".to_owned(), "hunter2".to_owned()),
            ],
            body: body.into(),
        }
    }

    #[test]
    fn a_request_is_kept_without_what_is_private() {
        let sent = shown(&request(r#"{"amount":5}"#), Some("Idempotency-Key"));
        assert_eq!(sent.url, "https://me:***@api.example/refunds?id=7");
        assert_eq!(sent.headers[1].1, MASK);
        assert_eq!(sent.body.as_deref(), Some(r#"{"amount":5}"#));
        assert_eq!((sent.body_bytes, sent.key_header.as_deref()), (None, Some("Idempotency-Key")));
    }

    #[test]
    fn a_long_body_is_cut_between_two_characters() {
        let long = "é".repeat(limits::SENT_BODY_BYTES);
        let sent = shown(&request(format!("x{long}")), None);
        let body = sent.body.expect("it is text");
        assert_eq!(body.len(), limits::SENT_BODY_BYTES - 1);
        assert_eq!(sent.body_bytes, Some(2 * limits::SENT_BODY_BYTES as u64 + 1));
    }

    #[test]
    fn of_a_body_that_is_no_text_only_its_length_is_kept() {
        let sent = shown(&request(vec![0xFF, 0xD8, 0xFF]), None);
        assert_eq!((sent.body, sent.body_bytes), (None, Some(3)));
        let sent = shown(&request(Vec::new()), None);
        assert_eq!((sent.body, sent.body_bytes), (None, None));
    }
}

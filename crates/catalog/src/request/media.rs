//! Media types: how a body is encoded, and which of several alternatives is chosen.

/// How a body with a given media type is encoded, in order of preference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MediaKind {
    /// `application/json`, and ranges such as `*/*` that include it.
    Json,
    /// `application/problem+json` and other types with a JSON suffix.
    JsonLike,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `multipart/form-data` and other multipart types, which are framed the same way.
    Multipart,
    /// `text/plain`, `text/csv`.
    Text,
    /// One JSON value per line.
    JsonLines,
    /// `application/octet-stream`, `image/png` and all unknown types.
    Bytes,
    /// XML, accepted only as text.
    Xml,
}

impl MediaKind {
    /// Classifies a media type as written in a document.
    pub fn of(media_type: &str) -> MediaKind {
        let essence = essence(media_type);
        match essence.as_str() {
            "application/json" | "text/json" | "*/*" | "application/*" => MediaKind::Json,
            "application/x-www-form-urlencoded" => MediaKind::Form,
            "application/x-ndjson" | "application/jsonl" | "application/ndjson" => {
                MediaKind::JsonLines
            }
            "application/xml" | "text/xml" => MediaKind::Xml,
            _ if essence.ends_with("+json") || essence.ends_with("/json") => MediaKind::JsonLike,
            "text/x-json" => MediaKind::JsonLike,
            _ if essence.ends_with("+xml") => MediaKind::Xml,
            _ if essence.starts_with("multipart/") => MediaKind::Multipart,
            _ if essence.starts_with("text/") => MediaKind::Text,
            _ => MediaKind::Bytes,
        }
    }

    pub fn is_json(self) -> bool {
        matches!(self, MediaKind::Json | MediaKind::JsonLike)
    }
}

/// A media type in lowercase, without its parameters.
pub fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// The media type to send as `Content-Type`; for a range, the simplest type that it includes.
pub fn concrete(media_type: &str) -> &str {
    match essence(media_type).as_str() {
        "*/*" | "application/*" => "application/json",
        "text/*" => "text/plain",
        "multipart/*" => "multipart/form-data",
        other if other.contains('*') || other.is_empty() => "application/octet-stream",
        _ => media_type,
    }
}

/// Whether a requested media type matches one that the document offers.
pub fn matches(offered: &str, asked: &str) -> bool {
    let (offered, asked) = (essence(offered), essence(asked));
    match offered.strip_suffix('*') {
        Some("*/") => true,
        Some(prefix) => asked.starts_with(prefix),
        None => offered == asked,
    }
}

/// Whether `text` is a valid media type.
pub(crate) fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| !part.is_empty() && part.bytes().all(is_token_byte);
    let essence = essence(text);
    let two = essence.split_once('/').is_some_and(|(a, b)| is_token(a) && is_token(b));
    two && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// Whether a byte may occur in an HTTP token.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

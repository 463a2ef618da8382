//! Media types: what kind of bytes a body is, and which of several is chosen.

/// What a body in a media type is made of. In the order in which we choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MediaKind {
    /// `application/json`, and ranges such as `*/*` that include it.
    Json,
    /// `application/problem+json` and the like.
    JsonLike,
    /// `application/x-www-form-urlencoded`.
    Form,
    /// `multipart/form-data`, and other multipart types in the same frame.
    Multipart,
    /// `text/plain`, `text/csv`.
    Text,
    /// One JSON value on each line.
    JsonLines,
    /// `application/octet-stream`, `image/png` and all that is not known.
    Bytes,
    /// XML: only as text.
    Xml,
}

impl MediaKind {
    /// The kind of a media type as a document writes it.
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

/// A media type without its parameters, in small letters.
pub fn essence(media_type: &str) -> String {
    media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// What is sent as `Content-Type`: a range is no type, so the plainest type in it is taken.
pub fn concrete(media_type: &str) -> &str {
    match essence(media_type).as_str() {
        "*/*" | "application/*" => "application/json",
        "text/*" => "text/plain",
        "multipart/*" => "multipart/form-data",
        other if other.contains('*') || other.is_empty() => "application/octet-stream",
        _ => media_type,
    }
}

/// Whether a type that was asked for is what a document offers.
pub fn matches(offered: &str, asked: &str) -> bool {
    let (offered, asked) = (essence(offered), essence(asked));
    match offered.strip_suffix('*') {
        Some("*/") => true,
        Some(prefix) => asked.starts_with(prefix),
        None => offered == asked,
    }
}

/// Whether a text can stand in a header as a media type.
pub(crate) fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| !part.is_empty() && part.bytes().all(is_token_byte);
    let essence = essence(text);
    let two = essence.split_once('/').is_some_and(|(a, b)| is_token(a) && is_token(b));
    two && text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// A byte of a token of HTTP.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

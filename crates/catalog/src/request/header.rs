//! Headers and cookies: which ones are never arguments, and which characters a value may contain.

use super::media::is_token_byte;
use super::misuse::Reason;
use crate::text::WordList;

/// Headers that OpenAPI does not allow as parameters, or that belong to the connection.
const OWN: WordList = WordList(
    "accept authorization connection content-length content-type expect host http2-settings \
     keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer \
     transfer-encoding upgrade",
);

/// Whether only the sender may set this header.
pub(crate) fn is_own(name: &str) -> bool {
    OWN.iter().any(|own| own.eq_ignore_ascii_case(name))
}

/// Checks that a name and a value can be sent as a header.
pub(crate) fn check(name: &str, value: &str) -> Result<(), Reason> {
    if name.is_empty() || !name.bytes().all(is_token_byte) {
        return Err(Reason::Name);
    }
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(Reason::Control);
    }
    if value.chars().any(|c| u32::from(c) > 0xFF) {
        return Err(Reason::NotLatin);
    }
    if value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']) {
        return Err(Reason::Blank);
    }
    Ok(())
}

/// Checks that `text` can be sent in the `Cookie` header.
pub(crate) fn check_cookie(text: &str) -> Result<(), Reason> {
    check("cookie", text)?;
    if text.is_ascii() { Ok(()) } else { Err(Reason::NotLatin) }
}

/// The bytes of a header value: one per character, as in ISO 8859-1.
pub fn bytes(value: &str) -> Vec<u8> {
    value.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect()
}

//! Percent-encoding: which characters of a value are kept depends on where it is sent.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything except the unreserved characters in RFC 3986.
const UNRESERVED: &AsciiSet = &keeping(NON_ALPHANUMERIC, b"-._~");

/// The characters of `set`, except those in `kept`.
const fn keeping(set: &AsciiSet, kept: &[u8]) -> AsciiSet {
    let (mut set, mut at) = (set.remove(kept[0]), 1);
    while at < kept.len() {
        set = set.remove(kept[at]);
        at += 1;
    }
    set
}

/// Characters encoded in a query with `allowReserved`. OpenAPI leaves it to the sender to encode
/// characters that are invalid in a query (`[`, `]`, `#`) or special in a form (`&`, `+`); `'` is
/// encoded by the URL standard.
const RESERVED_IN_QUERY: &AsciiSet = &keeping(UNRESERVED, b":/?@!$()*,;=");

/// Characters encoded in a path with `allowReserved`: all that are invalid in a segment.
const RESERVED_IN_PATH: &AsciiSet = &keeping(UNRESERVED, b":@!$&'()*+,;=");

/// Characters encoded in a document's path template: only those that are invalid in a path.
const LITERAL: &AsciiSet = &RESERVED_IN_PATH.remove(b'/');

/// Characters encoded after a `?` in a document's path template.
const QUERY_LITERAL: &AsciiSet = &RESERVED_IN_QUERY.remove(b'&').remove(b'+');

/// `application/x-www-form-urlencoded` as the URL standard defines it; a space becomes `+`.
const FORM: &AsciiSet = &keeping(NON_ALPHANUMERIC, b"*-._ ");

/// How text is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encode {
    /// Only unreserved characters are kept.
    Strict,
    /// `allowReserved` in a query; existing triples such as `%2F` are kept as well.
    ReservedInQuery,
    /// `allowReserved` in a path.
    ReservedInPath,
    /// The literal parts of a document's path template.
    Literal,
    /// The literal parts after a `?` in a path template.
    QueryLiteral,
    Form,
    /// Nothing is encoded, as in headers and multipart parts.
    Raw,
}

impl Encode {
    /// Appends the encoded text.
    pub(crate) fn push(self, out: &mut String, text: &str) {
        match self {
            Encode::Strict => out.extend(utf8_percent_encode(text, UNRESERVED)),
            Encode::ReservedInQuery => push_with_triples(out, text, RESERVED_IN_QUERY),
            Encode::ReservedInPath => out.extend(utf8_percent_encode(text, RESERVED_IN_PATH)),
            Encode::Literal => push_with_triples(out, text, LITERAL),
            Encode::QueryLiteral => push_with_triples(out, text, QUERY_LITERAL),
            Encode::Form => {
                for piece in utf8_percent_encode(text, FORM) {
                    out.extend(piece.chars().map(|c| if c == ' ' { '+' } else { c }));
                }
            }
            Encode::Raw => out.push_str(text),
        }
    }

    /// Returns the encoded text.
    pub(crate) fn text(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 8);
        self.push(&mut out, text);
        out
    }
}

/// Encodes the characters in the set but keeps existing triples (RFC 6570, section 3.2.3).
fn push_with_triples(out: &mut String, text: &str, set: &'static AsciiSet) {
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let hex = rest.as_bytes().get(at + 1..at + 3);
        let is_triple = hex.is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        out.extend(utf8_percent_encode(&rest[..at], set));
        let end = if is_triple { at + 3 } else { at + 1 };
        out.push_str(if is_triple { &rest[at..end] } else { "%25" });
        rest = &rest[end..];
    }
    out.extend(utf8_percent_encode(rest, set));
}

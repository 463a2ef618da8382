//! Percent-encoding: which characters of a value stay, by where it travels.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All but the unreserved characters of RFC 3986.
const UNRESERVED: &AsciiSet = &keeping(NON_ALPHANUMERIC, b"-._~");

/// A set that encodes what another one does but for these characters.
const fn keeping(set: &AsciiSet, kept: &[u8]) -> AsciiSet {
    let (mut set, mut at) = (set.remove(kept[0]), 1);
    while at < kept.len() {
        set = set.remove(kept[at]);
        at += 1;
    }
    set
}

/// What `allowReserved` lets stay behind the `?`. OpenAPI leaves it to the sender to encode what is
/// no query (`[`, `]`, `#`) and what would end a value in a form (`&`, `+`); `'` is encoded by the
/// URL standard.
const RESERVED_IN_QUERY: &AsciiSet = &keeping(UNRESERVED, b":/?@!$()*,;=");

/// What `allowReserved` lets stay in a path: nothing that could end a segment.
const RESERVED_IN_PATH: &AsciiSet = &keeping(UNRESERVED, b":@!$&'()*+,;=");

/// The path of a document: as it is written, but never with a character that is none of a path.
const LITERAL: &AsciiSet = &RESERVED_IN_PATH.remove(b'/');

/// What stands behind a `?` in the path of a document.
const QUERY_LITERAL: &AsciiSet = &RESERVED_IN_QUERY.remove(b'&').remove(b'+');

/// `application/x-www-form-urlencoded` of the URL standard; a space is `+`.
const FORM: &AsciiSet = &keeping(NON_ALPHANUMERIC, b"*-._ ");

/// How a text is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encode {
    /// Only unreserved characters stay.
    Strict,
    /// `allowReserved` behind the `?`: triples such as `%2F` stay as well.
    ReservedInQuery,
    /// `allowReserved` in a path.
    ReservedInPath,
    /// The path template of a document, its placeholders apart.
    Literal,
    /// What stands behind a `?` in such a template.
    QueryLiteral,
    Form,
    /// Nothing is encoded: headers, parts of a multipart body.
    Raw,
}

impl Encode {
    /// Writes a text encoded.
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

    /// A text encoded.
    pub(crate) fn text(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len() + 8);
        self.push(&mut out, text);
        out
    }
}

/// Encodes all but the set and triples that are there already (RFC 6570, 3.2.3).
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

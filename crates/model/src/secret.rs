//! Secret values, and masking them in everything that is shown.
//!
//! A [`Mask`] contains every secret that a call uses and replaces each occurrence, whether plain,
//! percent-encoded, escaped as JSON or in base64. It is applied where output is *built*, before it
//! is truncated, because half a secret would not be found.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::Value;

use crate::limits::{MASKED_BASE64_BYTES_MIN, MASKED_CHARS_MIN};

/// A value that must only be shown to its recipient.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value so that it is not shown.
    pub fn new(value: impl Into<String>) -> Secret {
        Secret(value.into())
    }

    /// The value, for the code that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// The secrets to mask in everything that people and models see.
///
/// A secret of fewer than [`MASKED_CHARS_MIN`] characters is not masked, because it would match
/// ordinary text, and the marks would reveal more about it than the text did.
#[derive(Clone, Default)]
pub struct Mask {
    needles: Vec<Needle>,
}

/// One encoding of a secret.
#[derive(Clone, PartialEq)]
struct Needle {
    name: String,
    units: Vec<Unit>,
    /// Whether the character before a match may encode part of the secret, as in base64.
    shares_first: bool,
    /// Whether the character after a match may encode part of the secret.
    shares_last: bool,
}

/// A part of a secret that can be written in several ways.
#[derive(Clone, Copy, PartialEq)]
enum Unit {
    Char(char),
    /// A run of backslashes of any length: every level of escaping doubles them.
    Backslashes,
}

impl Mask {
    /// A mask without secrets.
    pub fn new() -> Mask {
        Mask::default()
    }

    /// Adds a secret, which is replaced by a mark with this name.
    pub fn add(&mut self, name: &str, secret: &Secret) {
        let value = secret.reveal();
        self.add_value(name, value);
        // A secret from a file often ends in a line break that is not sent.
        self.add_value(name, value.trim());
    }

    /// Adds all secrets from another mask.
    pub fn extend(&mut self, other: &Mask) {
        other.needles.iter().for_each(|needle| self.push(needle.clone()));
    }

    /// Whether the mask has no secrets.
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// Whether the text contains a secret.
    pub fn finds(&self, text: &str) -> bool {
        self.finds_bytes(text.as_bytes())
    }

    /// Whether the bytes contain a secret.
    pub fn finds_bytes(&self, bytes: &[u8]) -> bool {
        self.next(bytes, 0, &self.begins()).is_some()
    }

    /// The text with its secrets masked.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }

    /// The bytes with their secrets masked.
    pub fn bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let begins = self.begins();
        let mut out = Vec::new();
        let mut done = 0;
        while let Some(found) = self.next(bytes, done, &begins) {
            out.extend_from_slice(&bytes[done..found.start]);
            out.extend_from_slice(mark(&found.needle.name).as_bytes());
            done = found.end;
        }
        if done == 0 {
            return Cow::Borrowed(bytes);
        }
        out.extend_from_slice(&bytes[done..]);
        Cow::Owned(out)
    }

    /// The value with secrets masked in its keys, strings and numbers.
    pub fn json(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text).into_owned()),
            Value::Number(number) if self.finds(&number.to_string()) => {
                Value::String(self.text(&number.to_string()).into_owned())
            }
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::Object(map) => {
                let hide = |(name, value): (&String, _)| (self.text(name).into(), self.json(value));
                Value::Object(map.iter().map(hide).collect())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// The headers with their secrets masked.
    pub fn headers(&self, headers: &[(String, String)]) -> Vec<(String, String)> {
        let hide = |text: &String| self.text(text).into_owned();
        headers.iter().map(|(name, value)| (hide(name), hide(value))).collect()
    }

    fn add_value(&mut self, name: &str, value: &str) {
        if value.chars().count() < MASKED_CHARS_MIN {
            return;
        }
        self.push(Needle::plain(name, value));
        if value.len() >= MASKED_BASE64_BYTES_MIN {
            for offset in 0..3 {
                Needle::base64(name, value, offset).into_iter().for_each(|form| self.push(form));
            }
        }
    }

    fn push(&mut self, needle: Needle) {
        if !self.needles.contains(&needle) {
            self.needles.push(needle);
        }
    }

    /// The first secret at or after an offset. If several start at the same offset, the longest
    /// wins.
    fn next(&self, text: &[u8], from: usize, begins: &Begins) -> Option<Found<'_>> {
        if self.needles.is_empty() {
            return None;
        }
        (from..text.len()).filter(|&at| begins[usize::from(text[at])]).find_map(|at| {
            let found = self.needles.iter().filter_map(|needle| needle.at(text, at, from));
            found.max_by_key(|found| found.end)
        })
    }

    /// The bytes that a secret can start with, so that all others can be skipped.
    fn begins(&self) -> Begins {
        let mut begins = [false; 256];
        let escapes = [b'%', b'\\', b'+'];
        let literal = self.needles.iter().flat_map(Needle::literal_firsts);
        escapes.into_iter().chain(literal).for_each(|byte| begins[usize::from(byte)] = true);
        begins
    }
}

type Begins = [bool; 256];

impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names: Vec<_> = self.needles.iter().map(|needle| needle.name.as_str()).collect();
        names.dedup();
        f.debug_tuple("Mask").field(&names).finish()
    }
}

/// The mark that replaces a secret.
pub fn mark(name: &str) -> String {
    format!("[secret:{name}]")
}

struct Found<'a> {
    needle: &'a Needle,
    start: usize,
    end: usize,
}

impl Needle {
    fn plain(name: &str, value: &str) -> Needle {
        let mut units: Vec<Unit> = Vec::with_capacity(value.len());
        for char in value.chars() {
            match char {
                '\\' if units.last() == Some(&Unit::Backslashes) => {}
                '\\' => units.push(Unit::Backslashes),
                _ => units.push(Unit::Char(char)),
            }
        }
        Needle { name: name.to_owned(), units, shares_first: false, shares_last: false }
    }

    /// The base64 characters that encode only the secret when `offset` bytes come before it in its
    /// group of three.
    fn base64(name: &str, value: &str, offset: usize) -> Vec<Needle> {
        let mut bytes = vec![0; offset];
        bytes.extend_from_slice(value.as_bytes());
        let (first, last) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
        let cut = |encoded: String| Needle {
            shares_first: offset > 0,
            shares_last: !bytes.len().is_multiple_of(3),
            ..Needle::plain(name, &encoded[first..last])
        };
        vec![cut(STANDARD_NO_PAD.encode(&bytes)), cut(URL_SAFE_NO_PAD.encode(&bytes))]
    }

    fn literal_firsts(&self) -> Vec<u8> {
        let Some(Unit::Char(char)) = self.units.first() else { return vec![b'\\'] };
        let mut firsts = vec![char.encode_utf8(&mut [0; 4]).as_bytes()[0]];
        if let Some(byte) = u8::try_from(*char).ok().filter(|byte| !byte.is_ascii()) {
            firsts.extend([byte, UNREADABLE[0]]);
        }
        firsts
    }

    fn at(&self, text: &[u8], at: usize, from: usize) -> Option<Found<'_>> {
        // Some characters can be read in two ways, so several offsets are followed at once.
        let mut places = vec![at];
        for unit in &self.units {
            let mut next = Vec::with_capacity(1);
            places.iter().for_each(|&place| unit.ends(text, place, &mut next));
            if next.is_empty() {
                return None;
            }
            next.sort_unstable();
            next.dedup();
            places = next;
        }
        let mut end = places.last().copied().filter(|end| *end > at)?;
        let mut start = at;
        let shared = |byte: Option<&u8>| {
            byte.is_some_and(|b| b.is_ascii_alphanumeric() || b"+/-_".contains(b))
        };
        if self.shares_first && start > from && shared(text.get(start - 1)) {
            start -= 1;
        }
        if self.shares_last && shared(text.get(end)) {
            end += 1;
        }
        Some(Found { needle: self, start, end })
    }
}

impl Unit {
    /// Collects the offsets where this unit ends if it starts at `at`, one for each way to write
    /// it.
    fn ends(self, text: &[u8], at: usize, ends: &mut Vec<usize>) {
        match self {
            Unit::Backslashes => {
                let mut end = at;
                while let Some(next) = backslash(text, end) {
                    end = next;
                }
                if end > at {
                    ends.push(end);
                }
            }
            Unit::Char(char) => {
                let mut buffer = [0; 4];
                let bytes = char.encode_utf8(&mut buffer).as_bytes();
                if text[at..].starts_with(bytes) {
                    ends.push(at + bytes.len());
                }
                if char == ' ' && text.get(at) == Some(&b'+') {
                    ends.push(at + 1);
                }
                let encoded = bytes.iter().try_fold(at, |at, byte| percent(text, at, *byte));
                ends.extend(encoded);
                ends.extend(escaped(text, at, char));
                ends.extend(as_latin_1(text, at, char));
            }
        }
    }
}

/// The end of a character written as one Latin-1 byte, as in a header, or as the replacement
/// character that such a byte becomes when it is decoded as UTF-8.
fn as_latin_1(text: &[u8], at: usize, char: char) -> Option<usize> {
    let byte = u8::try_from(char).ok().filter(|byte| !byte.is_ascii())?;
    if text[at..].starts_with(UNREADABLE) {
        return Some(at + UNREADABLE.len());
    }
    let literal = (text.get(at) == Some(&byte)).then_some(at + 1);
    literal.or_else(|| percent(text, at, byte))
}

/// The replacement character for bytes that are not valid UTF-8.
const UNREADABLE: &[u8] = "\u{fffd}".as_bytes();

fn backslash(text: &[u8], at: usize) -> Option<usize> {
    percent(text, at, b'\\').or_else(|| escaped(text, at, '\\')).or_else(|| {
        let literal = text.get(at) == Some(&b'\\');
        literal.then_some(at + 1)
    })
}

/// The end of a byte written as `%XX`, possibly encoded several times: `%2525XX`.
fn percent(text: &[u8], at: usize, byte: u8) -> Option<usize> {
    if text.get(at) != Some(&b'%') {
        return None;
    }
    let mut digits = at + 1;
    while byte != b'%' && text.get(digits..digits + 2) == Some(b"25") {
        digits += 2;
    }
    let found = std::str::from_utf8(text.get(digits..digits + 2)?).ok()?;
    let found = u8::from_str_radix(found, 16).ok()?;
    (found == byte).then_some(digits + 2)
}

/// The end of a character escaped as in JSON, possibly several times.
fn escaped(text: &[u8], at: usize, char: char) -> Option<usize> {
    let after = after_backslashes(text, at)?;
    let letter = match char {
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '"' | '/' | '\'' => char as u8,
        _ => 0,
    };
    if letter != 0 && text.get(after) == Some(&letter) {
        return Some(after + 1);
    }
    let mut buffer = [0; 2];
    let mut end = at;
    for unit in char.encode_utf16(&mut buffer) {
        let after = after_backslashes(text, end)?;
        if text.get(after) != Some(&b'u') {
            return None;
        }
        let digits = std::str::from_utf8(text.get(after + 1..after + 5)?).ok()?;
        if u16::from_str_radix(digits, 16).ok()? != *unit {
            return None;
        }
        end = after + 5;
    }
    Some(end)
}

fn after_backslashes(text: &[u8], at: usize) -> Option<usize> {
    let count = text.get(at..)?.iter().take_while(|byte| **byte == b'\\').count();
    (count > 0).then_some(at + count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn mask(values: &[(&str, &str)]) -> Mask {
        let mut mask = Mask::new();
        values.iter().for_each(|(name, value)| mask.add(name, &Secret::new(*value)));
        mask
    }

    #[track_caller]
    fn check(secret: &str, text: &str, expected: &str) {
        assert_eq!(mask(&[("k", secret)]).text(text), expected);
    }

    #[test]
    fn every_occurrence_goes_and_the_rest_stays() {
        check("s3cret", "a s3cret, as3cretb; s3cre", "a [secret:k], a[secret:k]b; s3cre");
        check("s3cret", "nothing", "nothing");
        check("schlüssel", "x=schlüssel&y", "x=[secret:k]&y");
    }

    #[test]
    fn the_bytes_of_a_header_go_too() {
        let header = |text: &str| -> Vec<u8> { text.chars().map(|char| char as u8).collect() };
        let shown = mask(&[("k", "übertöne")]).bytes(&header("x: übertöne;")).into_owned();
        assert_eq!(shown, b"x: [secret:k];");
        check("übertöne", &String::from_utf8_lossy(&header("x: übertöne;")), "x: [secret:k];");
        check("schlüssel", "?k=schl%FCssel", "?k=[secret:k]");
    }

    #[test]
    fn short_values_are_left_alone() {
        check("abc", "abcabc", "abcabc");
        check("abcd", "abcd", "[secret:k]");
    }

    #[test]
    fn percent_encoded_forms_go() {
        check("p/w d+x%", "?k=p%2Fw%20d%2Bx%25&z", "?k=[secret:k]&z");
        check("p/w d+x%", "?k=p%2fw+d%2bx%25&z", "?k=[secret:k]&z");
        check("p/wd", "?next=%252Fa%26k=p%252Fwd", "?next=%252Fa%26k=[secret:k]");
        check("a%25b", "a%25b a%2525b", "[secret:k] [secret:k]");
        check("ключ", "%D0%BA%D0%BB%D1%8E%D1%87", "[secret:k]");
    }

    #[test]
    fn escaped_forms_go() {
        check(r#"pa"ss\w"#, r#"{"a":"pa\"ss\\w"}"#, r#"{"a":"[secret:k]"}"#);
        check(r#"pa"ss\w"#, r#""{\"a\":\"pa\\\"ss\\\\w\"}""#, r#""{\"a\":\"[secret:k]\"}""#);
        check("line\nbreak", r"line\nbreak", "[secret:k]");
        check("a/b/c/d", r"a\/b\/c\/d", "[secret:k]");
        check("ключ🔑", r"\u043a\u043b\u044e\u0447\ud83d\udd11", "[secret:k]");
    }

    #[test]
    fn base64_goes_at_every_offset() {
        for before in ["", "u", "us", "use", "user:"] {
            let encoded = STANDARD_NO_PAD.encode(format!("{before}correct-horse:x"));
            let shown = mask(&[("k", "correct-horse")]).text(&encoded).into_owned();
            assert!(shown.contains("[secret:k]"), "{before}: {shown}");
            let visible = shown.replace("[secret:k]", "");
            assert!(visible.len() <= encoded.len() - 16, "{before}: {shown}");
        }
    }

    #[test]
    fn the_longer_of_two_secrets_wins() {
        let mask = mask(&[("short", "token"), ("long", "token-and-more")]);
        assert_eq!(mask.text("token-and-more token"), "[secret:long] [secret:short]");
    }

    #[test]
    fn a_line_break_at_the_end_does_not_hide_the_value() {
        check("s3cret\n", "x s3cret y", "x [secret:k] y");
    }

    #[test]
    fn json_loses_names_texts_and_numbers() {
        let mask = mask(&[("pin", "123456"), ("k", "s3cret")]);
        let shown = mask.json(&json!({"s3cret": ["a s3cret", 123_456, 12, null, true]}));
        let marked = json!({"[secret:k]": ["a [secret:k]", "[secret:pin]", 12, null, true]});
        assert_eq!(shown, marked);
    }

    #[test]
    fn debug_shows_names_only() {
        let mask = mask(&[("k", "s3cret")]);
        assert_eq!(format!("{mask:?} {:?}", Secret::new("x")), r#"Mask(["k"]) Secret(…)"#);
    }

    proptest! {
        #[test]
        fn no_secret_survives(
            secret in r#"[a-zA-Z0-9%+/\\"' ü🔑]{4,12}"#,
            before in r#"[a-z%\\"+]{0,6}"#,
            after in r#"[a-z%\\"+]{0,6}"#,
        ) {
            prop_assume!(secret.trim().chars().count() >= 4);
            let mask = mask(&[("k", &secret)]);
            let text = format!("{before}{secret}{after}");
            prop_assert!(!mask.text(&text).contains(&secret));
            let quoted = Value::String(text.clone()).to_string();
            let inner = Value::String(secret.clone()).to_string();
            prop_assert!(!mask.text(&quoted).contains(&inner[1..inner.len() - 1]));
        }

        #[test]
        fn any_text_is_survived(text in any::<String>(), secret in any::<String>()) {
            let mask = mask(&[("k", &secret)]);
            let hidden = mask.text(&text).into_owned();
            prop_assert!(mask.finds(&text) || hidden == text);
        }
    }
}

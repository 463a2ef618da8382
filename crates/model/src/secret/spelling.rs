//! How a secret can be spelled, and how a text is read so that all of these spellings agree.
//!
//! A spelling is a sequence of units: lowercase characters, with each run of backslashes as one
//! unit, because every level of escaping doubles them. Reading a text undoes escapes of any depth.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use crate::document::hex;
use crate::limits::MASKED_BASE64_BYTES_MIN;

/// One way to write a secret.
pub(super) struct SecretSpelling {
    pub(super) units: Vec<char>,
    pub(super) shares_first: bool,
    pub(super) shares_last: bool,
}

/// All ways to write a value.
pub(super) fn all(value: &str) -> Vec<SecretSpelling> {
    let mut spellings = vec![SecretSpelling::whole(value)];
    if value.len() >= MASKED_BASE64_BYTES_MIN {
        spellings.push(SecretSpelling::whole(&hex(value.as_bytes())));
        for offset in 0..3 {
            spellings.extend(SecretSpelling::base64(value, offset));
        }
    }
    spellings
}

impl SecretSpelling {
    fn whole(text: &str) -> SecretSpelling {
        let mut units: Vec<char> = Vec::with_capacity(text.len());
        for char in text.chars() {
            if char != '\\' || units.last() != Some(&'\\') {
                units.push(folded(char));
            }
        }
        SecretSpelling { units, shares_first: false, shares_last: false }
    }

    /// The base64 characters that encode only the value when `offset` bytes come before it in its
    /// group of three, in both alphabets.
    fn base64(value: &str, offset: usize) -> [SecretSpelling; 2] {
        let mut bytes = vec![0; offset];
        bytes.extend_from_slice(value.as_bytes());
        let (first, last) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
        let cut = |encoded: String| SecretSpelling {
            shares_first: offset > 0,
            shares_last: !bytes.len().is_multiple_of(3),
            ..SecretSpelling::whole(&encoded[first..last])
        };
        [cut(STANDARD_NO_PAD.encode(&bytes)), cut(URL_SAFE_NO_PAD.encode(&bytes))]
    }
}

fn folded(char: char) -> char {
    if char.is_ascii() {
        return char.to_ascii_lowercase();
    }
    let mut lower = char.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) => one,
        _ => char,
    }
}

/// The bytes that the text of a unit can begin with, and whether that byte is all of it.
pub(super) fn first_bytes(unit: char) -> Vec<(u8, bool)> {
    let mut bytes = vec![(b'%', false), (b'\\', false)];
    if unit == ' ' {
        bytes.push((b'+', true));
    }
    if let Ok(byte) = u8::try_from(unit) {
        if byte.is_ascii() {
            bytes.extend([(byte, true), (byte.to_ascii_uppercase(), true)]);
            return bytes;
        }
        bytes.extend([(byte, true), (LOST[0], false)]);
    }
    for char in std::iter::once(unit).chain(unit.to_uppercase()) {
        let mut buffer = [0; 4];
        char.encode_utf8(&mut buffer);
        bytes.push((buffer[0], false));
        bytes.extend(u8::try_from(char).ok().map(|byte| (byte, true)));
    }
    bytes
}

/// The replacement character for bytes that are not valid UTF-8.
const LOST: &[u8] = "\u{fffd}".as_bytes();

/// An offset in a text.
#[derive(Clone, Copy)]
pub(super) struct ReadingPlace<'t> {
    pub(super) text: &'t [u8],
    pub(super) at: usize,
    /// Whether the text is valid UTF-8.
    pub(super) is_text: bool,
}

/// Calls `found` with each unit that the text at an offset can be read as, and with its end. A
/// character that was lost when Latin-1 was decoded as UTF-8 is read as the replacement character.
pub(super) fn read(place: ReadingPlace<'_>, found: &mut dyn FnMut(char, usize)) {
    let ReadingPlace { text, at, is_text } = place;
    match text.get(at) {
        None => {}
        Some(b'%') => {
            found('%', at + 1);
            percent(text, at, found);
        }
        Some(b'\\') => {
            backslashes(text, at + 1, found);
            escape(text, at, found);
        }
        Some(b'+') => {
            found('+', at + 1);
            found(' ', at + 1);
        }
        Some(byte) if byte.is_ascii() => found(char::from(byte.to_ascii_lowercase()), at + 1),
        Some(byte) => {
            if let Some(char) = decoded(&text[at..]) {
                found(folded(char), at + char.len_utf8());
            }
            if !is_text {
                found(folded(char::from(*byte)), at + 1);
            }
        }
    }
}

/// The character at the start of the bytes, if it is valid UTF-8.
fn decoded(bytes: &[u8]) -> Option<char> {
    let length = match bytes.first()? {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    std::str::from_utf8(bytes.get(..length)?).ok()?.chars().next()
}

/// Reads a character written as `%XX`, possibly encoded several times: `%2525XX`.
fn percent(text: &[u8], at: usize, found: &mut dyn FnMut(char, usize)) {
    let mut digits = at + 1;
    while let Some(byte) = hex_byte(text, digits) {
        let end = digits + 2;
        if byte == b'\\' {
            backslashes(text, end, found);
        } else if byte.is_ascii() {
            found(char::from(byte.to_ascii_lowercase()), end);
        } else {
            found(folded(char::from(byte)), end);
            let mut bytes = vec![byte];
            let mut end = end;
            while bytes.len() < 4 && decoded(&bytes).is_none() {
                let Some((byte, after)) = percent_byte(text, end) else { break };
                bytes.push(byte);
                end = after;
            }
            if let Some(char) = decoded(&bytes) {
                found(folded(char), end);
            }
        }
        if byte != b'%' {
            return;
        }
        digits = end;
    }
}

/// A byte that is not `%`, written as `%XX`, and where it ends.
fn percent_byte(text: &[u8], at: usize) -> Option<(u8, usize)> {
    let mut digits = at + 1;
    (text.get(at) == Some(&b'%')).then_some(())?;
    while text.get(digits..digits + 2) == Some(b"25") {
        digits += 2;
    }
    Some((hex_byte(text, digits)?, digits + 2))
}

fn hex_byte(text: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| char::from(*text.get(at)?).to_digit(16);
    u8::try_from(digit(at)? << 4 | digit(at + 1)?).ok()
}

/// Reads a character escaped as in JSON, possibly several times.
fn escape(text: &[u8], at: usize, found: &mut dyn FnMut(char, usize)) {
    let after = after_run(text, at);
    let letter = match text.get(after) {
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(byte @ (b'"' | b'/' | b'\'')) => char::from(*byte),
        Some(b'u') => return unicode(text, at, found),
        _ => return,
    };
    found(letter, after + 1);
}

/// Reads a character written as `\uXXXX`, or as two of these.
fn unicode(text: &[u8], at: usize, found: &mut dyn FnMut(char, usize)) {
    let unit = |at: usize| {
        let after = after_run(text, at);
        (after > at && text.get(after) == Some(&b'u')).then_some(())?;
        let (high, low) = (hex_byte(text, after + 1)?, hex_byte(text, after + 3)?);
        Some((u16::from_be_bytes([high, low]), after + 5))
    };
    let Some((first, end)) = unit(at) else { return };
    let second = unit(end);
    let units = [Some(first), second.map(|(second, _)| second)];
    let mut decoded = char::decode_utf16(units.into_iter().flatten());
    let Some(Ok(char)) = decoded.next() else { return };
    let end = if char.len_utf16() == 2 { second.map_or(end, |(_, end)| end) } else { end };
    match char {
        '\\' => backslashes(text, end, found),
        char => found(folded(char), end),
    }
}

/// The end of a run of backslashes.
fn after_run(text: &[u8], at: usize) -> usize {
    let run = text[at.min(text.len())..].iter().take_while(|byte| **byte == b'\\').count();
    at + run
}

/// Reads a run of backslashes whose first one ends at `at`. The last ones may belong to the escape
/// that follows, whose number of backslashes doubles with each level.
fn backslashes(text: &[u8], at: usize, found: &mut dyn FnMut(char, usize)) {
    let end = after_backslashes(text, at);
    found('\\', end);
    for others in [1, 2, 4, 8] {
        if end >= at + others {
            found('\\', end - others);
        }
    }
}

/// The end of a run of backslashes, some of which may be percent-encoded.
fn after_backslashes(text: &[u8], at: usize) -> usize {
    let mut end = after_run(text, at);
    while let Some((b'\\', after)) = percent_byte(text, end) {
        end = after_run(text, after);
    }
    end
}

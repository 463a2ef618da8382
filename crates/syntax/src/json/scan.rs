//! A single pass over a document that verifies that it is valid JSON.
//!
//! Values are skipped, not built; a [`ScanSink`] is notified of their positions. Deep nesting in
//! hostile input uses no stack, and code that later reads part of the text encounters no syntax
//! errors.

use std::borrow::Cow;
use std::ops::Range;

use crate::escape::plain_prefix;
use crate::limits;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Json,
    /// JSON as used in editor settings: with comments and trailing commas.
    Jsonc,
}

/// Why a document is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanError {
    /// The byte offset at which reading stopped.
    pub at: usize,
    /// Where the faulty part starts.
    pub start: usize,
    /// Whether reading stopped because the document ended.
    pub is_end: bool,
    pub kind: ScanErrorKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanErrorKind {
    ControlCharacter,
    ExpectedColon,
    ExpectedDigit,
    ExpectedKey,
    ExpectedSeparatorInList,
    ExpectedSeparatorInMap,
    ExpectedValue,
    LeadingZero,
    LoneSurrogate,
    MissingValue,
    NumberTooLarge,
    TextAfterValue,
    TooDeep,
    TrailingComma,
    UnclosedComment,
    UnclosedString,
    UnicodeEscape,
    UnknownEscape,
}

impl ScanError {
    fn at(start: usize, kind: ScanErrorKind) -> ScanError {
        ScanError { at: start, start, is_end: false, kind }
    }

    pub fn message(&self) -> &'static str {
        use ScanErrorKind as Kind;
        match (self.kind, self.is_end) {
            (Kind::ExpectedKey, true) => "the text ends where a key is expected",
            (Kind::ExpectedSeparatorInList | Kind::ExpectedSeparatorInMap, true) => {
                "the text ends inside a list or a map"
            }
            (Kind::ExpectedValue, true) => "the text ends where a value is expected",
            (Kind::UnicodeEscape | Kind::UnknownEscape, true) => "the text ends inside a string",
            (Kind::ControlCharacter, _) => "a control character in a string; escape it",
            (Kind::ExpectedColon, _) => "expected `:` after a key",
            (Kind::ExpectedDigit, _) => "expected a digit",
            (Kind::ExpectedKey, _) => "expected a key in double quotes",
            (Kind::ExpectedSeparatorInList, _) => "expected `,` or `]` after a value",
            (Kind::ExpectedSeparatorInMap, _) => "expected `,` or `}` after a value",
            (Kind::ExpectedValue, _) => "expected a JSON value",
            (Kind::LeadingZero, _) => "a number with a leading zero",
            (Kind::LoneSurrogate, _) => "half of a surrogate pair",
            (Kind::MissingValue, _) => "expected a value after `,` or `:`",
            (Kind::NumberTooLarge, _) => "a number out of range",
            (Kind::TextAfterValue, _) => "text after the end of the JSON value",
            (Kind::TooDeep, _) => "nested too deeply",
            (Kind::TrailingComma, _) => "a comma after the last entry of a map",
            (Kind::UnclosedComment, _) => "an unclosed comment",
            (Kind::UnclosedString, _) => "an unclosed string",
            (Kind::UnicodeEscape, _) => "`\\u` needs four hexadecimal digits",
            (Kind::UnknownEscape, _) => "an invalid escape in a JSON string",
        }
    }
}

/// Receives the values of a document, in order.
pub trait ScanSink {
    fn open(&mut self, _start: usize, _is_map: bool) {}

    fn close(&mut self, _end: usize) {}

    fn key(&mut self, _span: Range<usize>, _has_escapes: bool) {}

    fn scalar(&mut self, _span: Range<usize>, _has_escapes: bool) {}

    /// Called after `scalar` for every number; `start` is its offset.
    fn check_number(&mut self, written: &str, start: usize) -> Result<(), ScanErrorKind>;

    fn check_lone_surrogate(&mut self, unit: u32, start: usize) -> Result<(), ScanErrorKind>;
}

/// Accepts what `serde_json` accepts.
struct Strict;

impl ScanSink for Strict {
    fn check_number(&mut self, written: &str, _: usize) -> Result<(), ScanErrorKind> {
        let may_be_large = written.len() > limits::FLOAT_DIGITS || written.contains(['e', 'E']);
        if may_be_large && !written.parse().is_ok_and(f64::is_finite) {
            return Err(ScanErrorKind::NumberTooLarge);
        }
        Ok(())
    }

    fn check_lone_surrogate(&mut self, _: u32, _: usize) -> Result<(), ScanErrorKind> {
        Err(ScanErrorKind::LoneSurrogate)
    }
}

type Scanned<T> = Result<T, ScanError>;

/// A position in a document that advances over values.
pub struct Scanner<'t> {
    text: &'t str,
    at: usize,
    dialect: Dialect,
    max_depth: usize,
    depth: usize,
    /// One bit for each open level: 1 for a map, 0 for a list.
    maps: [u64; limits::SCAN_DEPTH / 64],
}

impl<'t> Scanner<'t> {
    /// Creates a scanner; `max_depth` is capped at [`limits::SCAN_DEPTH`].
    pub fn new(text: &'t str, dialect: Dialect, max_depth: usize) -> Scanner<'t> {
        let max_depth = max_depth.min(limits::SCAN_DEPTH);
        Scanner { text, at: 0, dialect, max_depth, depth: 0, maps: Default::default() }
    }

    pub fn at(&self) -> usize {
        self.at
    }

    /// The text between a position and the current one.
    pub fn since(&self, start: usize) -> &'t str {
        &self.text[start..self.at]
    }

    /// The next byte that is not whitespace, without consuming it.
    pub fn peek(&mut self) -> Scanned<u8> {
        self.skip_space()?;
        self.byte().ok_or_else(|| self.error(ScanErrorKind::ExpectedValue))
    }

    /// Checks that only whitespace is left.
    pub fn end(&mut self) -> Scanned<()> {
        self.skip_space()?;
        match self.byte() {
            None => Ok(()),
            Some(_) => Err(self.error(ScanErrorKind::TextAfterValue)),
        }
    }

    /// Skips a map; `entry` receives each key and value as written.
    pub fn map(&mut self, mut entry: impl FnMut(&'t str, &'t str)) -> Scanned<()> {
        self.entries(|scanner, key| {
            entry(key, scanner.value()?);
            Ok(())
        })
    }

    /// Skips a map; `value` receives each key as written and must skip its value.
    pub fn entries(
        &mut self,
        mut value: impl FnMut(&mut Scanner<'t>, &'t str) -> Scanned<()>,
    ) -> Scanned<()> {
        self.members(true, |scanner| {
            let start = scanner.at;
            let end = scanner.key(&mut Strict)?;
            value(scanner, &scanner.text[start..end])
        })
    }

    /// Skips a list; `item` receives each item as written.
    pub fn list(&mut self, mut item: impl FnMut(&'t str)) -> Scanned<()> {
        self.members(false, |scanner| {
            item(scanner.value()?);
            Ok(())
        })
    }

    fn members(
        &mut self,
        is_map: bool,
        mut member: impl FnMut(&mut Scanner<'t>) -> Scanned<()>,
    ) -> Scanned<()> {
        let (opener, closer) = if is_map { (b'{', b'}') } else { (b'[', b']') };
        if self.peek()? != opener {
            return Err(self.error(ScanErrorKind::ExpectedValue));
        }
        self.open(is_map, &mut Strict)?;
        let mut more = self.byte() != Some(closer);
        while more {
            member(self)?;
            more = self.separator(is_map)?;
        }
        self.close(&mut Strict);
        Ok(())
    }

    /// Skips one value of any kind and returns its text.
    pub fn value(&mut self) -> Scanned<&'t str> {
        self.walk(&mut Strict)
    }

    /// Skips one value of any kind, reports its parts to the sink, and returns its text.
    pub fn walk(&mut self, sink: &mut impl ScanSink) -> Scanned<&'t str> {
        self.skip_space()?;
        let (start, outside) = (self.at, self.depth);
        loop {
            match self.byte() {
                Some(b'"') => {
                    let start = self.at;
                    let has_escapes = self.string(sink)?;
                    sink.scalar(start..self.at, has_escapes);
                }
                Some(b'{') => {
                    self.open(true, sink)?;
                    if self.byte() != Some(b'}') {
                        self.key(sink)?;
                        continue;
                    }
                    self.close(sink);
                }
                Some(b'[') => {
                    self.open(false, sink)?;
                    if self.byte() != Some(b']') {
                        continue;
                    }
                    self.close(sink);
                }
                Some(b'-' | b'0'..=b'9') => self.number(sink)?,
                Some(b't') => self.word("true", sink)?,
                Some(b'f') => self.word("false", sink)?,
                Some(b'n') => self.word("null", sink)?,
                Some(b'}' | b']') => return Err(self.error(ScanErrorKind::MissingValue)),
                _ => return Err(self.error(ScanErrorKind::ExpectedValue)),
            }
            loop {
                if self.depth == outside {
                    return Ok(&self.text[start..self.at]);
                }
                let is_map = self.is_in_map();
                if self.separator(is_map)? {
                    if is_map {
                        self.key(sink)?;
                    }
                    break;
                }
                self.close(sink);
            }
        }
    }

    /// Whether another value follows; if not, the closing bracket is next.
    fn separator(&mut self, is_map: bool) -> Scanned<bool> {
        self.skip_space()?;
        let closer = if is_map { b'}' } else { b']' };
        match self.byte() {
            Some(b',') => {
                self.at += 1;
                self.skip_space()?;
                Ok(self.dialect == Dialect::Json || self.byte() != Some(closer))
            }
            Some(byte) if byte == closer => Ok(false),
            _ if is_map => Err(self.error(ScanErrorKind::ExpectedSeparatorInMap)),
            _ => Err(self.error(ScanErrorKind::ExpectedSeparatorInList)),
        }
    }

    fn is_in_map(&self) -> bool {
        let level = self.depth - 1;
        self.maps[level / 64] >> (level % 64) & 1 == 1
    }

    fn open(&mut self, is_map: bool, sink: &mut impl ScanSink) -> Scanned<()> {
        if self.depth == self.max_depth {
            return Err(self.error(ScanErrorKind::TooDeep));
        }
        let (word, bit) = (self.depth / 64, self.depth % 64);
        self.maps[word] = self.maps[word] & !(1 << bit) | u64::from(is_map) << bit;
        self.depth += 1;
        sink.open(self.at, is_map);
        self.at += 1;
        self.skip_space()
    }

    /// Skips a closing bracket that has been seen.
    fn close(&mut self, sink: &mut impl ScanSink) {
        self.depth -= 1;
        self.at += 1;
        sink.close(self.at);
    }

    /// Skips a key, its colon and the whitespace after it; returns where the key ends.
    fn key(&mut self, sink: &mut impl ScanSink) -> Scanned<usize> {
        let start = self.at;
        match self.byte() {
            Some(b'"') => {}
            Some(b'}') => return Err(self.error(ScanErrorKind::TrailingComma)),
            _ => return Err(self.error(ScanErrorKind::ExpectedKey)),
        }
        let has_escapes = self.string(sink)?;
        let end = self.at;
        sink.key(start..end, has_escapes);
        self.skip_space()?;
        if self.byte() != Some(b':') {
            return Err(self.error(ScanErrorKind::ExpectedColon));
        }
        self.at += 1;
        self.skip_space()?;
        Ok(end)
    }

    fn word(&mut self, word: &str, sink: &mut impl ScanSink) -> Scanned<()> {
        let start = self.at;
        for letter in word.bytes() {
            if self.byte() != Some(letter) {
                return Err(self.error_from(start, ScanErrorKind::ExpectedValue));
            }
            self.at += 1;
        }
        sink.scalar(start..self.at, false);
        Ok(())
    }

    fn number(&mut self, sink: &mut impl ScanSink) -> Scanned<()> {
        let start = self.at;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
            if self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
                return Err(self.error_from(start, ScanErrorKind::LeadingZero));
            }
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        sink.scalar(start..self.at, false);
        let checked = sink.check_number(&self.text[start..self.at], start);
        checked.map_err(|kind| ScanError::at(start, kind))
    }

    fn digits(&mut self) -> Scanned<()> {
        let start = self.at;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.error(ScanErrorKind::ExpectedDigit)) } else { Ok(()) }
    }

    /// Skips a string; returns whether it contains escapes.
    fn string(&mut self, sink: &mut impl ScanSink) -> Scanned<bool> {
        let start = self.at;
        let mut has_escapes = false;
        self.at += 1;
        loop {
            self.at += plain_prefix(&self.text.as_bytes()[self.at..]);
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(has_escapes);
                }
                Some(b'\\') => {
                    has_escapes = true;
                    self.escape(sink)?;
                }
                Some(_) => return Err(self.error(ScanErrorKind::ControlCharacter)),
                None => return Err(self.error_from(start, ScanErrorKind::UnclosedString)),
            }
        }
    }

    fn escape(&mut self, sink: &mut impl ScanSink) -> Scanned<()> {
        let start = self.at;
        self.at += 1;
        match self.byte() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                let unit = self.unit(start)?;
                let is_high = (0xD800..=0xDBFF).contains(&unit);
                let escape_follows = is_high && self.text[self.at..].starts_with("\\u");
                match unit_at(self.text.as_bytes(), self.at).filter(|_| escape_follows) {
                    Some(low) if is_low_surrogate(low) => self.at += 6,
                    // An incomplete escape follows, which is the actual error and is reported next.
                    None if escape_follows => {}
                    _ if is_high || is_low_surrogate(unit) => {
                        let checked = sink.check_lone_surrogate(unit, start);
                        checked.map_err(|kind| ScanError::at(start, kind))?;
                    }
                    _ => {}
                }
            }
            _ => return Err(self.error_from(start, ScanErrorKind::UnknownEscape)),
        }
        Ok(())
    }

    /// Skips the `uXXXX` of the escape that starts at `start`.
    fn unit(&mut self, start: usize) -> Scanned<u32> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.byte().and_then(|byte| char::from(byte).to_digit(16));
            let error = || self.error_from(start, ScanErrorKind::UnicodeEscape);
            unit = unit << 4 | digit.ok_or_else(error)?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn skip_space(&mut self) -> Scanned<()> {
        loop {
            match self.byte() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => {
                    self.at += 1;
                    // About half of a pretty-printed document is indentation, so skip it in larger
                    // steps.
                    while self.text.as_bytes().get(self.at..self.at + 8) == Some(b"        ") {
                        self.at += 8;
                    }
                }
                Some(b'/') if self.dialect == Dialect::Jsonc => {
                    match comment(&self.text[self.at..]) {
                        Some(length) => self.at += length,
                        None if self.text[self.at..].starts_with("/*") => {
                            return Err(self.error(ScanErrorKind::UnclosedComment));
                        }
                        None => return Ok(()),
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, kind: ScanErrorKind) -> ScanError {
        self.error_from(self.at, kind)
    }

    fn error_from(&self, start: usize, kind: ScanErrorKind) -> ScanError {
        ScanError { at: self.at, start, is_end: self.at >= self.text.len(), kind }
    }
}

/// The length of the comment at the start of `text`; `None` if there is none or it is not closed.
pub fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    text.strip_prefix("/*")?.find("*/").map(|end| end + 4)
}

/// The UTF-16 code unit of the `\uXXXX` escape at `pos`.
pub(super) fn unit_at(bytes: &[u8], pos: usize) -> Option<u32> {
    let digits = bytes.get(pos + 2..pos + 6)?;
    digits.iter().try_fold(0, |unit, digit| Some(unit * 16 + char::from(*digit).to_digit(16)?))
}

pub(super) fn is_low_surrogate(unit: u32) -> bool {
    (0xDC00..=0xDFFF).contains(&unit)
}

/// Decodes a string literal; `None` if the value is not a string. A lone surrogate becomes U+FFFD.
pub fn decode(written: &str) -> Option<Cow<'_, str>> {
    let inside = written.strip_prefix('"')?.strip_suffix('"')?;
    Some(if inside.contains('\\') { Cow::Owned(unescape(inside)) } else { Cow::Borrowed(inside) })
}

/// Decodes the content of a string literal whose escapes the scanner has found valid.
pub(super) fn unescape(raw: &str) -> String {
    let bytes = raw.as_bytes();
    let mut text = String::with_capacity(raw.len());
    let mut pos = 0;
    while let Some(found) = memchr::memchr(b'\\', &bytes[pos..]) {
        text.push_str(&raw[pos..pos + found]);
        pos += found;
        let (sign, length) = match bytes[pos + 1] {
            b'b' => ('\u{8}', 2),
            b'f' => ('\u{c}', 2),
            b'n' => ('\n', 2),
            b'r' => ('\r', 2),
            b't' => ('\t', 2),
            b'u' => unescape_unit(bytes, pos),
            sign => (char::from(sign), 2),
        };
        text.push(sign);
        pos += length;
    }
    text.push_str(&raw[pos..]);
    text
}

fn unescape_unit(bytes: &[u8], pos: usize) -> (char, usize) {
    let high = unit_at(bytes, pos).unwrap_or(0xFFFD);
    let follows = bytes.get(pos + 6..).is_some_and(|rest| rest.starts_with(b"\\u"));
    let low = unit_at(bytes, pos + 6).filter(|low| follows && is_low_surrogate(*low));
    match (high, low) {
        (0xD800..=0xDBFF, Some(low)) => {
            let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
            (char::from_u32(code).unwrap_or('\u{FFFD}'), 12)
        }
        _ => (char::from_u32(high).unwrap_or('\u{FFFD}'), 6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEPTH: usize = 128;

    fn scan(text: &str) -> Scanned<&str> {
        let mut scanner = Scanner::new(text, Dialect::Json, DEPTH);
        let value = scanner.value()?;
        scanner.end()?;
        Ok(value)
    }

    #[test]
    fn passes_over_what_serde_json_reads() {
        for text in [
            "0",
            "-0.5e-7",
            "[]",
            "{}",
            "[[],{}]",
            r#"{"a":[1,{"b":null}],"c":"\u00e4\n"}"#,
            r#""\ud83d\ude00""#,
            "[true,false,null]",
            " [ 1 , 2 ] ",
            "123456789012345678901234567890",
        ] {
            assert_eq!(scan(text), Ok(text.trim()), "{text}");
            serde_json::from_str::<serde_json::Value>(text).expect(text);
        }
    }

    #[test]
    fn an_error_says_where_reading_stopped_and_why() {
        for (text, at, kind) in [
            ("", 0, None),
            ("{\"a\":1", 6, None),
            ("{\"a\" 1}", 5, None),
            ("{a:1}", 1, None),
            ("{\"a\":1,}", 7, None),
            ("[1,]", 3, None),
            ("[1}", 2, None),
            ("{\"a\":1]", 6, None),
            ("[1] 2", 4, None),
            ("01", 1, None),
            ("1.", 2, None),
            ("-x", 1, None),
            ("+1", 0, None),
            ("NaN", 0, None),
            ("nul", 3, None),
            ("trUe", 2, None),
            ("1e999", 0, Some(ScanErrorKind::NumberTooLarge)),
            ("\"a", 2, None),
            ("\"\t\"", 1, None),
            ("\"\\x\"", 2, None),
            ("\"\\u12g4\"", 5, None),
            ("\"\\ud800\"", 1, Some(ScanErrorKind::LoneSurrogate)),
            ("\"\\udc00\"", 1, Some(ScanErrorKind::LoneSurrogate)),
            ("\"\\ud800\\u0041\"", 1, Some(ScanErrorKind::LoneSurrogate)),
            ("'a'", 0, None),
            ("// x", 0, None),
        ] {
            let error = scan(text).expect_err(text);
            assert_eq!((error.at, error.is_end), (at, at == text.len()), "{text}");
            assert!(kind.is_none_or(|kind| error.kind == kind), "{text}: {error:?}");
        }
    }

    #[test]
    fn depth_is_bounded_and_costs_no_stack() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(scan(&nested(DEPTH - 1)).is_ok());
        assert!(scan(&nested(DEPTH)).is_ok());
        for levels in [DEPTH + 1, 100_000] {
            let error = scan(&nested(levels)).expect_err("is too deep");
            assert_eq!((error.at, error.kind), (DEPTH, ScanErrorKind::TooDeep));
        }
        let objects = "{\"a\":[".repeat(64) + &"]}".repeat(64);
        assert!(scan(&objects).is_ok());
    }
}

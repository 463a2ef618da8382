//! One pass over a line that proves it is JSON and finds the members it is made of.
//!
//! Values are passed over, not built: the envelope of a message needs only their places, an id is
//! echoed as the text it was sent as, and the depth of a hostile line costs no stack. What reads a
//! part of the text afterwards cannot meet a syntax error.

use std::borrow::Cow;
use std::fmt::{self, Display};

use milepost_model::escape::plain_prefix;

use crate::limits;

/// Why a line is no JSON, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SyntaxFault {
    /// The byte at which reading stopped.
    pub(crate) at: usize,
    pub(crate) what: What,
}

/// What stands where reading stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    End,
    Token,
    ByteOrderMark,
    NoUtf8,
    TooDeep,
    LoneSurrogate,
    TooLarge,
}

impl Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::End => f.write_str("Unexpected end of JSON input"),
            What::Token => f.write_str("Unexpected token in JSON"),
            What::ByteOrderMark => f.write_str("Unexpected token in JSON: a byte order mark"),
            What::NoUtf8 => f.write_str("Unexpected token in JSON: bytes that are not UTF-8"),
            What::TooDeep => {
                write!(f, "Unexpected token in JSON: more than {} levels deep", limits::DEPTH)
            }
            What::LoneSurrogate => f.write_str("Unexpected token in JSON: half a surrogate pair"),
            What::TooLarge => f.write_str("Unexpected token in JSON: a number out of range"),
        }
    }
}

type Scanned<T> = Result<T, SyntaxFault>;

/// A place in a text that moves on as values are passed over.
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Arrays and objects that are open around the place.
    depth: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Scanner<'a> {
        Scanner { text, at: 0, depth: 0 }
    }

    /// The next byte that is no white space, which is not passed over.
    pub(crate) fn peek(&mut self) -> Scanned<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.byte() {
            self.at += 1;
        }
        self.byte().ok_or_else(|| self.fault())
    }

    /// Passes over an object; `member` gets each key and value as they are written.
    pub(crate) fn object(&mut self, mut member: impl FnMut(&'a str, &'a str)) -> Scanned<()> {
        self.members(|scanner, key| {
            member(key, scanner.value()?);
            Ok(())
        })
    }

    /// Passes over an object; `value` gets each key as it is written, and passes over its value.
    pub(crate) fn members(
        &mut self,
        mut value: impl FnMut(&mut Scanner<'a>, &'a str) -> Scanned<()>,
    ) -> Scanned<()> {
        self.open(b'{')?;
        let mut more = self.peek()? != b'}';
        while more {
            let key = self.key()?;
            value(self, key)?;
            more = match self.peek()? {
                b',' => true,
                b'}' => false,
                _ => return Err(self.fault()),
            };
            if more {
                self.at += 1;
            }
        }
        self.close();
        Ok(())
    }

    /// Passes over an array; `member` gets each value as it is written.
    pub(crate) fn array(&mut self, mut member: impl FnMut(&'a str)) -> Scanned<()> {
        self.open(b'[')?;
        let mut more = self.peek()? != b']';
        while more {
            member(self.value()?);
            more = match self.peek()? {
                b',' => true,
                b']' => false,
                _ => return Err(self.fault()),
            };
            if more {
                self.at += 1;
            }
        }
        self.close();
        Ok(())
    }

    /// What was passed over since a place.
    pub(crate) fn since(&self, start: usize) -> &'a str {
        &self.text[start..self.at]
    }

    /// The place.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Nothing but white space is left.
    pub(crate) fn end(&mut self) -> Scanned<()> {
        match self.peek() {
            Ok(_) => Err(self.fault()),
            Err(_) => Ok(()),
        }
    }

    /// Passes over one value of any kind, whatever it holds, and gives its text.
    pub(crate) fn value(&mut self) -> Scanned<&'a str> {
        self.peek()?;
        let start = self.at;
        // What is open inside this value, innermost in the lowest bit: 1 is an object. There are
        // as many bits as levels.
        const { assert!(limits::DEPTH <= 128) };
        let mut open: u128 = 0;
        let outside = self.depth;
        loop {
            match self.peek()? {
                opener @ (b'{' | b'[') => {
                    self.open(opener)?;
                    open = open << 1 | u128::from(opener == b'{');
                    // `]` and `}` are two past `[` and `{`.
                    if self.peek()? != opener + 2 {
                        if opener == b'{' {
                            self.key()?;
                        }
                        continue;
                    }
                    self.close();
                    open >>= 1;
                }
                _ => self.scalar()?,
            }
            if !self.after_value(&mut open, outside)? {
                return Ok(&self.text[start..self.at]);
            }
        }
    }

    /// What follows a value: the end of what it stands in, or (`true`) another value.
    fn after_value(&mut self, open: &mut u128, outside: usize) -> Scanned<bool> {
        while self.depth > outside {
            let in_object = *open & 1 == 1;
            match self.peek()? {
                b',' => {
                    self.at += 1;
                    if in_object {
                        self.key()?;
                    }
                    return Ok(true);
                }
                b'}' if in_object => self.close(),
                b']' if !in_object => self.close(),
                _ => return Err(self.fault()),
            }
            *open >>= 1;
        }
        Ok(false)
    }

    fn open(&mut self, opener: u8) -> Scanned<()> {
        if self.peek()? != opener {
            return Err(self.fault());
        }
        if self.depth == limits::DEPTH {
            return Err(SyntaxFault { at: self.at, what: What::TooDeep });
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    /// Passes over a closing character that was seen.
    fn close(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    /// A key with its quotes; its colon is passed over too.
    fn key(&mut self) -> Scanned<&'a str> {
        if self.peek()? != b'"' {
            return Err(self.fault());
        }
        let start = self.at;
        self.string()?;
        let key = &self.text[start..self.at];
        if self.peek()? != b':' {
            return Err(self.fault());
        }
        self.at += 1;
        Ok(key)
    }

    fn scalar(&mut self) -> Scanned<()> {
        match self.byte() {
            Some(b'"') => self.string(),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word(b"true"),
            Some(b'f') => self.word(b"false"),
            Some(b'n') => self.word(b"null"),
            _ => Err(self.fault()),
        }
    }

    fn word(&mut self, word: &[u8]) -> Scanned<()> {
        for letter in word {
            self.expect(|byte| byte == *letter)?;
        }
        Ok(())
    }

    fn number(&mut self) -> Scanned<()> {
        let start = self.at;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        let mut may_be_large = self.at - start > limits::PLAIN_DIGITS;
        if let Some(b'e' | b'E') = self.byte() {
            may_be_large = true;
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.digits()?;
        }
        let number = &self.text[start..self.at];
        if may_be_large && !number.parse().is_ok_and(f64::is_finite) {
            return Err(SyntaxFault { at: start, what: What::TooLarge });
        }
        Ok(())
    }

    fn digits(&mut self) -> Scanned<()> {
        self.expect(|byte| byte.is_ascii_digit())?;
        while self.byte().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Scanned<()> {
        self.at += 1;
        loop {
            self.at += plain_prefix(&self.text.as_bytes()[self.at..]);
            match self.byte() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                _ => return Err(self.fault()),
            }
        }
    }

    fn escape(&mut self) -> Scanned<()> {
        let start = self.at;
        self.at += 1;
        if self.byte() != Some(b'u') {
            return self.expect(|byte| b"\"\\/bfnrt".contains(&byte));
        }
        let lone = SyntaxFault { at: start, what: What::LoneSurrogate };
        match self.unit()? {
            0xDC00..=0xDFFF => Err(lone),
            0xD800..=0xDBFF => {
                if !self.text[self.at..].starts_with("\\u") {
                    return Err(lone);
                }
                self.at += 1;
                if (0xDC00..=0xDFFF).contains(&self.unit()?) { Ok(()) } else { Err(lone) }
            }
            _ => Ok(()),
        }
    }

    /// The `uXXXX` of an escape, as its UTF-16 unit.
    fn unit(&mut self) -> Scanned<u32> {
        self.at += 1;
        let mut unit = 0;
        for _ in 0..4 {
            let digit = self.byte().and_then(|byte| char::from(byte).to_digit(16));
            unit = unit << 4 | digit.ok_or_else(|| self.fault())?;
            self.at += 1;
        }
        Ok(unit)
    }

    fn expect(&mut self, wanted: impl Fn(u8) -> bool) -> Scanned<()> {
        if !self.byte().is_some_and(wanted) {
            return Err(self.fault());
        }
        self.at += 1;
        Ok(())
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fault(&self) -> SyntaxFault {
        let what = if self.at < self.text.len() { What::Token } else { What::End };
        SyntaxFault { at: self.at, what }
    }
}

/// The text that a string stands for, from how it is written (a value that was scanned); `None` for
/// a value that is no string.
pub(crate) fn decode(written: &str) -> Option<Cow<'_, str>> {
    let inner = written.strip_prefix('"')?.strip_suffix('"')?;
    if inner.contains('\\') {
        return serde_json::from_str(written).ok().map(Cow::Owned);
    }
    Some(Cow::Borrowed(inner))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Scanned<&str> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value()?;
        scanner.end()?;
        Ok(value)
    }

    #[test]
    fn what_serde_reads_is_passed_over() {
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
    fn a_fault_says_where_and_what() {
        for (text, at, what) in [
            ("", 0, What::End),
            ("{\"a\":1", 6, What::End),
            ("{\"a\" 1}", 5, What::Token),
            ("{a:1}", 1, What::Token),
            ("{\"a\":1,}", 7, What::Token),
            ("[1,]", 3, What::Token),
            ("[1}", 2, What::Token),
            ("{\"a\":1]", 6, What::Token),
            ("[1] 2", 4, What::Token),
            ("01", 1, What::Token),
            ("1.", 2, What::End),
            ("-x", 1, What::Token),
            ("+1", 0, What::Token),
            ("NaN", 0, What::Token),
            ("nul", 3, What::End),
            ("trUe", 2, What::Token),
            ("1e999", 0, What::TooLarge),
            ("\"a", 2, What::End),
            ("\"\t\"", 1, What::Token),
            ("\"\\x\"", 2, What::Token),
            ("\"\\u12g4\"", 5, What::Token),
            ("\"\\ud800\"", 1, What::LoneSurrogate),
            ("\"\\udc00\"", 1, What::LoneSurrogate),
            ("\"\\ud800\\u0041\"", 1, What::LoneSurrogate),
            ("'a'", 0, What::Token),
            ("// x", 0, What::Token),
        ] {
            assert_eq!(scan(text), Err(SyntaxFault { at, what }), "{text}");
        }
    }

    #[test]
    fn depth_is_bounded_and_costs_no_stack() {
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(scan(&nested(limits::DEPTH - 1)).is_ok());
        assert!(scan(&nested(limits::DEPTH)).is_ok());
        for levels in [limits::DEPTH + 1, 100_000] {
            let fault = SyntaxFault { at: limits::DEPTH, what: What::TooDeep };
            assert_eq!(scan(&nested(levels)), Err(fault));
        }
        let objects = "{\"a\":[".repeat(64) + &"]}".repeat(64);
        assert!(scan(&objects).is_ok());
    }
}

//! Splits text into tokens.
//!
//! A token is a kind and a span; its text is decoded when it is needed (`literal.rs`). The messages
//! for operators from other languages come from `common_mistakes.rs`.

use milepost_syntax::span::Span;

use super::ast::BinaryOp;
use super::{SyntaxError, common_mistakes};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tok {
    End,
    Ident,
    /// `` `any text` ``
    Quoted,
    Int,
    Float,
    /// Any string or bytes literal, including prefix and quotes.
    Str,
    True,
    False,
    Null,
    LParen,
    RParen,
    LBracket,
    RBracket,
    LBrace,
    RBrace,
    Dot,
    Comma,
    Colon,
    Question,
    Not,
    And,
    Or,
    Op(BinaryOp),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) tok: Tok,
    pub(super) span: Span,
}

pub(super) struct Lexer<'s> {
    source: &'s str,
    at: usize,
}

impl<'s> Lexer<'s> {
    pub(super) fn new(source: &'s str, at: usize) -> Lexer<'s> {
        Lexer { source, at }
    }

    /// The next token. After the last token it is always [`Tok::End`].
    pub(super) fn next(&mut self) -> Result<Token, SyntaxError> {
        self.skip_blank();
        let start = self.at;
        let Some(first) = self.peek(0) else {
            return Ok(Token { tok: Tok::End, span: Span::new(start, start) });
        };
        let tok = match first {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word()?,
            b'0'..=b'9' => self.number()?,
            b'.' if self.peek(1).is_some_and(|byte| byte.is_ascii_digit()) => self.number()?,
            b'\'' | b'"' => self.string(start, false)?,
            b'`' => self.quoted()?,
            _ => self.operator(first)?,
        };
        Ok(Token { tok, span: Span::new(start, self.at) })
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.source.as_bytes().get(self.at + ahead).copied()
    }

    fn skip_blank(&mut self) {
        loop {
            match self.peek(0) {
                Some(b' ' | b'\t' | b'\n' | b'\r' | b'\x0c') => self.at += 1,
                Some(b'/') if self.peek(1) == Some(b'/') => {
                    let rest = &self.source.as_bytes()[self.at..];
                    let line = rest.iter().position(|byte| *byte == b'\n');
                    self.at += line.unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    fn word(&mut self) -> Result<Tok, SyntaxError> {
        let start = self.at;
        self.skip_while(is_word);
        let word = &self.source[start..self.at];
        Ok(match word {
            "true" => Tok::True,
            "false" => Tok::False,
            "null" => Tok::Null,
            "in" => Tok::Op(BinaryOp::In),
            _ => {
                let prefix = word.len() <= 2 && is_string_prefix(word);
                if prefix && matches!(self.peek(0), Some(b'\'' | b'"')) {
                    let raw = word.contains(['r', 'R']);
                    return self.string(start, raw);
                }
                Tok::Ident
            }
        })
    }

    fn number(&mut self) -> Result<Tok, SyntaxError> {
        let start = self.at;
        let mut tok = Tok::Int;
        if self.peek(0) == Some(b'0') && matches!(self.peek(1), Some(b'x' | b'X')) {
            self.at += 2;
            self.skip_while(|byte| byte.is_ascii_hexdigit());
            if self.at == start + 2 {
                return Err(common_mistakes::bad_number(self.source, start, self.at));
            }
        } else {
            self.skip_while(|byte| byte.is_ascii_digit());
            if self.peek(0) == Some(b'.') && self.peek(1).is_some_and(|byte| byte.is_ascii_digit())
            {
                tok = Tok::Float;
                self.at += 1;
                self.skip_while(|byte| byte.is_ascii_digit());
            }
            if self.exponent() {
                tok = Tok::Float;
            }
        }
        if self.peek(0).is_some_and(is_word) {
            return Err(common_mistakes::bad_number(self.source, start, self.at));
        }
        Ok(tok)
    }

    fn exponent(&mut self) -> bool {
        if !matches!(self.peek(0), Some(b'e' | b'E')) {
            return false;
        }
        let sign = usize::from(matches!(self.peek(1), Some(b'+' | b'-')));
        if !self.peek(1 + sign).is_some_and(|byte| byte.is_ascii_digit()) {
            return false;
        }
        self.at += 1 + sign;
        self.skip_while(|byte| byte.is_ascii_digit());
        true
    }

    /// Lexes a string from its opening quote; `start` is the offset of its prefix.
    fn string(&mut self, start: usize, raw: bool) -> Result<Tok, SyntaxError> {
        let bytes = self.source.as_bytes();
        let quote = bytes[self.at];
        let triple = bytes[self.at..].starts_with(&[quote; 3]);
        self.at += if triple { 3 } else { 1 };
        while let Some(byte) = self.peek(0) {
            match byte {
                b'\\' if !raw => self.at += 1 + usize::from(self.peek(1).is_some()),
                b'\n' | b'\r' if !triple => break,
                _ if byte != quote => self.at += 1,
                _ if !triple => {
                    self.at += 1;
                    return Ok(Tok::Str);
                }
                _ if bytes[self.at..].starts_with(&[quote; 3]) => {
                    self.at += 3;
                    return Ok(Tok::Str);
                }
                _ => self.at += 1,
            }
        }
        // The byte skipped after a backslash may be the first of a multi-byte character.
        while !self.source.is_char_boundary(self.at) {
            self.at += 1;
        }
        Err(common_mistakes::open_string(Span::new(start, self.at), quote, triple))
    }

    fn quoted(&mut self) -> Result<Tok, SyntaxError> {
        let start = self.at;
        let rest = &self.source.as_bytes()[start + 1..];
        match rest.iter().position(|byte| matches!(byte, b'`' | b'\n')) {
            Some(length) if rest[length] == b'`' => {
                self.at += length + 2;
                Ok(Tok::Quoted)
            }
            found => {
                let end = start + 1 + found.unwrap_or(rest.len());
                Err(common_mistakes::open_string(Span::new(start, end), b'`', false))
            }
        }
    }

    fn operator(&mut self, first: u8) -> Result<Tok, SyntaxError> {
        let second = self.peek(1);
        let (tok, length) = match (first, second) {
            (b'=', Some(b'=')) if self.peek(2) != Some(b'=') => (Tok::Op(BinaryOp::Equal), 2),
            (b'!', Some(b'=')) if self.peek(2) != Some(b'=') => (Tok::Op(BinaryOp::NotEqual), 2),
            (b'!', next) if next != Some(b'=') => (Tok::Not, 1),
            (b'<', Some(b'=')) => (Tok::Op(BinaryOp::LessOrEqual), 2),
            (b'<', next) if next != Some(b'>') => (Tok::Op(BinaryOp::Less), 1),
            (b'>', Some(b'=')) => (Tok::Op(BinaryOp::GreaterOrEqual), 2),
            (b'>', _) => (Tok::Op(BinaryOp::Greater), 1),
            (b'&', Some(b'&')) => (Tok::And, 2),
            (b'|', Some(b'|')) => (Tok::Or, 2),
            (b'?', next) if !self.is_foreign_question(next) => (Tok::Question, 1),
            (b'*', next) if next != Some(b'*') => (Tok::Op(BinaryOp::Multiply), 1),
            (b'(', _) => (Tok::LParen, 1),
            (b')', _) => (Tok::RParen, 1),
            (b'[', _) => (Tok::LBracket, 1),
            (b']', _) => (Tok::RBracket, 1),
            (b'{', _) => (Tok::LBrace, 1),
            (b'}', _) => (Tok::RBrace, 1),
            (b'.', _) => (Tok::Dot, 1),
            (b',', _) => (Tok::Comma, 1),
            (b':', _) => (Tok::Colon, 1),
            (b'+', _) => (Tok::Op(BinaryOp::Add), 1),
            (b'-', _) => (Tok::Op(BinaryOp::Subtract), 1),
            (b'/', next) if next != Some(b'*') => (Tok::Op(BinaryOp::Divide), 1),
            (b'%', _) => (Tok::Op(BinaryOp::Remainder), 1),
            _ => return Err(common_mistakes::bad_operator(self.source, self.at)),
        };
        self.at += length;
        Ok(tok)
    }

    /// Whether `??` or `?.` was borrowed from another language. `?.5 : 1` is a conditional without
    /// a space after the `?`.
    fn is_foreign_question(&self, next: Option<u8>) -> bool {
        match next {
            Some(b'?') => true,
            Some(b'.') => !self.peek(2).is_some_and(|byte| byte.is_ascii_digit()),
            _ => false,
        }
    }

    fn skip_while(&mut self, keep: impl Fn(u8) -> bool) {
        while self.peek(0).is_some_and(&keep) {
            self.at += 1;
        }
    }
}

/// Whether a byte may be part of a name.
pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_string_prefix(word: &str) -> bool {
    matches!(word, "r" | "R" | "b" | "B")
        || matches!(word, "br" | "bR" | "Br" | "BR" | "rb" | "rB" | "Rb" | "RB")
}

/// The offset of the `}}` that closes an expression starting at `start` in a template.
///
/// Braces and strings inside the expression are skipped by lexing them. If the expression cannot be
/// lexed, the next `}}` is used, so that the lexer's error can be reported later.
pub(crate) fn closing_braces(text: &str, start: usize) -> Option<usize> {
    let mut lexer = Lexer::new(text, start);
    let mut depth = 0_usize;
    loop {
        let before = lexer.at;
        match lexer.next() {
            Ok(Token { tok: Tok::End, .. }) => return None,
            Ok(Token { tok: Tok::LBrace, .. }) => depth += 1,
            Ok(Token { tok: Tok::RBrace, span }) if depth == 0 => {
                let at = span.start as usize;
                if text[at..].starts_with("}}") {
                    return Some(at);
                }
                // The expression contains an unclosed map, so the first of the two braces was taken
                // for the end of that map.
                if text[start..at].ends_with('}') {
                    return Some(at - 1);
                }
            }
            Ok(Token { tok: Tok::RBrace, .. }) => depth -= 1,
            Ok(_) => {}
            Err(_) => return text[before..].find("}}").map(|found| before + found),
        }
    }
}

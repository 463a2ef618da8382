//! Decodes literal tokens into values: numbers, strings and bytes.

use milepost_syntax::span::Span;

use super::SyntaxError;

#[derive(Debug)]
pub(super) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Str(Box<str>),
    Bytes(Box<[u8]>),
}

/// Decodes an integer token, given whether a minus sign precedes it.
pub(super) fn int(text: &str, negative: bool, span: Span) -> Result<Literal, SyntaxError> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let magnitude = match hex {
        Some(digits) => i128::from_str_radix(digits, 16),
        None => text.parse::<i128>(),
    };
    let signed = magnitude.ok().map(|value| if negative { -value } else { value });
    match signed.and_then(|value| i64::try_from(value).ok()) {
        Some(value) => Ok(Literal::Int(value)),
        None => Err(SyntaxError::new(span, "this integer does not fit into 64 bits")
            .help("write it as a string, or as a floating-point number such as `1e20`")),
    }
}

/// Decodes a floating-point token, given whether a minus sign precedes it.
pub(super) fn double(text: &str, negative: bool, span: Span) -> Result<Literal, SyntaxError> {
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => {
            Ok(Literal::Double(if negative { -value } else { value }))
        }
        _ => Err(SyntaxError::new(span, "this number is too large")),
    }
}

/// Decodes a string or bytes token: removes prefix and quotes, and resolves escapes.
pub(super) fn string(text: &str, span: Span) -> Result<Literal, SyntaxError> {
    let quote_at = text.find(['\'', '"']).unwrap_or(0);
    let (prefix, quoted) = text.split_at(quote_at);
    let bytes = prefix.contains(['b', 'B']);
    let raw = prefix.contains(['r', 'R']);
    let width = if is_triple(quoted) { 3 } else { 1 };
    let body = &quoted[width..quoted.len() - width];
    if raw || !body.contains('\\') {
        return Ok(if bytes {
            Literal::Bytes(body.as_bytes().into())
        } else {
            Literal::Str(body.into())
        });
    }
    let start = span.start as usize + quote_at + width;
    if bytes {
        unescape(body, start, Target::Bytes).map(|out| Literal::Bytes(out.into()))
    } else {
        let out = unescape(body, start, Target::Text)?;
        let text = String::from_utf8(out).expect("escapes in a string yield whole characters");
        Ok(Literal::Str(text.into()))
    }
}

/// The span of a string token between its quotes.
pub(super) fn inside(text: &str, span: Span) -> Span {
    let quote_at = text.find(['\'', '"', '`']).unwrap_or(0);
    let width = if is_triple(&text[quote_at..]) { 3 } else { 1 };
    Span::new(span.start as usize + quote_at + width, span.end as usize - width)
}

fn is_triple(quoted: &str) -> bool {
    quoted.len() >= 6 && (quoted.starts_with("'''") || quoted.starts_with("\"\"\""))
}

#[derive(Clone, Copy, PartialEq)]
enum Target {
    Text,
    Bytes,
}

fn unescape(body: &str, start: usize, target: Target) -> Result<Vec<u8>, SyntaxError> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(at) = rest.find('\\') {
        out.extend_from_slice(&rest.as_bytes()[..at]);
        let escape = &rest[at..];
        let offset = start + (body.len() - escape.len());
        let length =
            one_escape(escape, target, &mut out).ok_or_else(|| bad_escape(escape, offset))?;
        rest = &escape[length..];
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(out)
}

/// Appends the character or byte of the escape at the start of the text; returns the escape's
/// length.
fn one_escape(escape: &str, target: Target, out: &mut Vec<u8>) -> Option<usize> {
    let letter = *escape.as_bytes().get(1)?;
    let plain = match letter {
        b'a' => 0x07,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        b'\\' | b'?' | b'"' | b'\'' | b'`' => letter,
        _ => return numeric_escape(escape, letter, target, out),
    };
    out.push(plain);
    Some(2)
}

fn numeric_escape(escape: &str, letter: u8, target: Target, out: &mut Vec<u8>) -> Option<usize> {
    let (from, digits, radix) = match letter {
        b'x' | b'X' => (2, 2, 16),
        b'u' if target == Target::Text => (2, 4, 16),
        b'U' if target == Target::Text => (2, 8, 16),
        b'0'..=b'3' => (1, 3, 8),
        _ => return None,
    };
    let text = escape.get(from..from + digits)?;
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let code = u32::from_str_radix(text, radix).ok()?;
    match target {
        Target::Bytes => out.push(u8::try_from(code).ok()?),
        Target::Text => {
            let character = char::from_u32(code)?;
            out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    Some(from + digits)
}

fn bad_escape(escape: &str, offset: usize) -> SyntaxError {
    let shown: String = escape.chars().take(2).collect();
    let span = Span::new(offset, offset + shown.len());
    let error = SyntaxError::new(span, format!("`{shown}` is not an escape"));
    if shown.ends_with(['x', 'X', 'u', 'U']) || shown.ends_with(|last: char| last.is_ascii_digit())
    {
        return error
            .help("write a numeric escape as `\\x41`, `\\u0041`, `\\U00000041` or `\\101`");
    }
    error
        .help("write the backslash twice, or a raw string such as `r'\\d+'`")
        .replace(Span::new(offset, offset + 1), "\\\\")
}

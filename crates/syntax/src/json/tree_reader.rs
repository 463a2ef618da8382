//! Reads JSON into a tree with positions, or reports the first fault with its position and its fix.
//!
//! Strings and numbers are passed to `serde_json` one literal at a time, so that it handles
//! escapes, surrogates and rounding; structure, limits and duplicate keys are handled here.

use std::collections::HashMap;

use crate::fault::{Faults, SyntaxFault, SyntaxResult, SyntaxRule};
use crate::limits;
use crate::mend::Mend;
use crate::source::Source;
use crate::span::Span;
use crate::tree::{SyntaxKey, SyntaxKind, SyntaxNode};

/// Reads a JSON document. Faults that leave the structure intact go to `faults`.
pub fn read_tree(source: &Source, faults: &mut Faults) -> SyntaxResult<SyntaxNode> {
    let text = source.text();
    let mut reader = Reader { text, pos: 0, open: Vec::new(), slips: Vec::new(), nodes: 0, faults };
    let read = reader.document();
    let mut faults = reader.slips;
    match read {
        Ok(node) if faults.is_empty() => return Ok(node),
        Ok(_) => {}
        Err(fault) => faults.push(*fault),
    }
    // Report only the first fault; its fix covers all faults that the reader recovered from.
    let mends: Vec<Mend> = faults.iter_mut().filter_map(|fault| fault.mend.take()).collect();
    let mend = (!mends.is_empty()).then_some(Mend::All(mends));
    Err(Box::new(SyntaxFault { mend, ..faults.swap_remove(0) }))
}

struct Reader<'t, 'f> {
    text: &'t str,
    pos: usize,
    /// The closing brackets that are still expected, used to fix a document that ends too early.
    open: Vec<char>,
    /// Syntax errors the reader recovered from, each with its fix. Authors who write one trailing
    /// comma or comment usually write more.
    slips: Vec<SyntaxFault>,
    nodes: usize,
    faults: &'f mut Faults,
}

impl Reader<'_, '_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn document(&mut self) -> SyntaxResult<SyntaxNode> {
        self.skip_space();
        let node = self.value()?;
        self.skip_space();
        if self.peek().is_none() {
            return Ok(node);
        }
        let at = Span::new(self.pos, self.text.len());
        let fault = SyntaxFault::new(at, "text after the end of the JSON value");
        Err(fault.suggest("remove everything after the closing bracket"))
    }

    /// Skips whitespace, and comments, which JSON does not have.
    fn skip_space(&mut self) {
        loop {
            if let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
                self.pos += 1;
                continue;
            }
            let Some(length) = comment(&self.text[self.pos..]) else { return };
            let at = Span::new(self.pos, self.pos + length);
            let fault = SyntaxFault::new(at, "comments are not allowed in JSON")
                .suggest("remove the comment, or write the workflow as YAML");
            self.slips.push(*fault.edit(at, ""));
            self.pos += length;
        }
    }

    fn value(&mut self) -> SyntaxResult<SyntaxNode> {
        self.nodes += 1;
        if self.nodes > limits::NODES {
            return Err(too_many(Span::new(self.pos, self.pos)));
        }
        let start = self.pos;
        let kind = match self.peek() {
            Some(b'{') => self.map(),
            Some(b'[') => self.list(),
            Some(b'"') => self.string().map(SyntaxKind::Str),
            Some(b'\'') => self.single_quoted().map(SyntaxKind::Str),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
            None => Err(self.ended()),
        }?;
        Ok(SyntaxNode { at: Span::new(start, self.pos), kind })
    }

    fn enter(&mut self, closer: char) -> SyntaxResult<()> {
        if self.open.len() == limits::DEPTH {
            return Err(too_deep(Span::new(self.pos, self.pos + 1)));
        }
        self.open.push(closer);
        self.pos += 1;
        self.skip_space();
        Ok(())
    }

    fn leave(&mut self) {
        self.open.pop();
        self.pos += 1;
    }

    fn map(&mut self) -> SyntaxResult<SyntaxKind> {
        self.enter('}')?;
        let mut entries: Vec<(SyntaxKey, SyntaxNode)> = Vec::new();
        while self.peek() != Some(b'}') {
            let key = self.key()?;
            self.skip_space();
            match self.peek() {
                Some(b':') => self.pos += 1,
                None => return Err(self.ended()),
                Some(next) => {
                    self.pos = key.at.end as usize;
                    let fault = self.lacks(':', "after the property name");
                    if !matches!(next, b'"' | b'{' | b'[' | b'-' | b'0'..=b'9') {
                        return Err(fault.mend(None));
                    }
                    self.slips.push(*fault);
                }
            }
            self.skip_space();
            let value = self.value()?;
            entries.push((key, value));
            self.separator(b'}')?;
        }
        self.leave();
        report_duplicates(&entries, self.faults);
        Ok(SyntaxKind::Map(entries))
    }

    fn list(&mut self) -> SyntaxResult<SyntaxKind> {
        self.enter(']')?;
        let mut items = Vec::new();
        while self.peek() != Some(b']') {
            items.push(self.value()?);
            self.separator(b']')?;
        }
        self.leave();
        Ok(SyntaxKind::List(items))
    }

    /// Expects a comma and another item, or the closing bracket.
    fn separator(&mut self, closer: u8) -> SyntaxResult<()> {
        let after_value = self.pos;
        self.skip_space();
        match self.peek() {
            Some(byte) if byte == closer => Ok(()),
            Some(b',') => {
                let comma = Span::new(self.pos, self.pos + 1);
                self.pos += 1;
                self.skip_space();
                if self.peek() == Some(closer) {
                    let fault = SyntaxFault::new(comma, "a comma after the last item")
                        .suggest("remove the comma")
                        .edit(comma, "");
                    self.slips.push(*fault);
                }
                Ok(())
            }
            None => Err(self.ended()),
            Some(other @ (b'}' | b']')) => Err(self.crossed(char::from(other), char::from(closer))),
            Some(_) => {
                let another = self.another_follows(closer);
                let next = std::mem::replace(&mut self.pos, after_value);
                let fault = self.lacks(',', "between two items");
                if !another {
                    return Err(fault.mend(None));
                }
                self.slips.push(*fault);
                self.pos = next;
                Ok(())
            }
        }
    }

    /// Whether another entry or item starts here, rather than the rest of a string whose quotes
    /// were not escaped.
    fn another_follows(&self, closer: u8) -> bool {
        let rest = &self.text[self.pos..];
        if closer == b']' {
            return rest.starts_with(['"', '\'', '{', '[']);
        }
        let quote = rest.chars().next().filter(|sign| matches!(sign, '"' | '\''));
        let name = match quote {
            Some(quote) => rest[1..].find(quote).map(|end| &rest[end + 2..]),
            None => Some(&rest[self.bare_word().len()..]),
        };
        name.is_some_and(|after| after.len() < rest.len() && after.trim_start().starts_with(':'))
    }

    fn key(&mut self) -> SyntaxResult<SyntaxKey> {
        self.nodes += 1;
        let start = self.pos;
        let name = match self.peek() {
            Some(b'"') => self.string()?,
            Some(b'\'') => self.single_quoted()?,
            None => return Err(self.ended()),
            Some(_) => self.bare_key()?,
        };
        Ok(SyntaxKey { name, at: Span::new(start, self.pos) })
    }

    fn bare_key(&mut self) -> SyntaxResult<String> {
        let word = self.bare_word().to_owned();
        if word.is_empty() {
            let fault = self.stray_sign().expected("a name in double quotes");
            return Err(fault.suggest("remove it, or write a name in quotes"));
        }
        let at = Span::new(self.pos, self.pos + word.len());
        let text = format!("\"{word}\"");
        let fault = SyntaxFault::new(at, "a property name without quotes")
            .expected("a name in double quotes")
            .suggest(format!("write `{text}`"));
        self.slips.push(*fault.edit(at, text));
        self.pos += word.len();
        Ok(word)
    }

    /// The fault for a character that starts neither a key nor a value.
    fn stray_sign(&self) -> Box<SyntaxFault> {
        let found = self.text[self.pos..].chars().next().unwrap_or(' ');
        let at = Span::new(self.pos, self.pos + found.len_utf8());
        SyntaxFault::new(at, format!("unexpected `{found}`"))
    }

    fn string(&mut self) -> SyntaxResult<String> {
        let start = self.pos;
        let bytes = self.text.as_bytes();
        let mut escaped = false;
        let mut end = start + 1;
        loop {
            match bytes.get(end) {
                None | Some(b'\n') => {
                    let at = Span::new(start, end.min(bytes.len()));
                    let fault = SyntaxFault::new(at, "an unclosed string");
                    return Err(fault.suggest("close it with `\"`"));
                }
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    end += 2;
                }
                Some(byte) if *byte < 0x20 => {
                    let (at, escape) = (Span::new(end, end + 1), format!("\\u{byte:04x}"));
                    let fault = SyntaxFault::new(at, "a control character in a string");
                    return Err(fault.suggest(format!("write it as `{escape}`")).edit(at, escape));
                }
                Some(_) => end += 1,
            }
        }
        self.pos = end + 1;
        if !escaped {
            return Ok(self.text[start + 1..end].to_owned());
        }
        let literal = &self.text[start..=end];
        serde_json::from_str(literal).map_err(|_| bad_escape(Span::new(start, end + 1), literal))
    }

    fn number(&mut self) -> SyntaxResult<SyntaxKind> {
        let start = self.pos;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.pos += 1;
        }
        if &self.text[start..self.pos] == "-" && self.text[self.pos..].starts_with("Infinity") {
            self.pos += "Infinity".len();
        }
        let literal = &self.text[start..self.pos];
        let fraction = |text: &str| serde_json::from_str::<f64>(text).ok();
        self.faults.past_number(number(literal, Span::new(start, self.pos), fraction))
    }

    fn word(&mut self) -> SyntaxResult<SyntaxKind> {
        let word = self.bare_word().to_owned();
        let at = Span::new(self.pos, self.pos + word.len());
        if word.is_empty() {
            let fault = self.stray_sign().expected("a JSON value");
            return Err(fault.suggest("remove it, or replace it with a value"));
        }
        self.pos += word.len();
        let json = match (word.as_str(), word.to_ascii_lowercase().as_str()) {
            ("null", _) => return Ok(SyntaxKind::Null),
            ("true" | "false", _) => return Ok(SyntaxKind::Bool(word == "true")),
            ("NaN" | "Infinity", _) => {
                return self.faults.past_number(Err(not_finite(at, &word)));
            }
            (_, json @ ("true" | "false" | "null")) => json.to_owned(),
            (_, "none" | "nil" | "undefined") => "null".to_owned(),
            _ => format!("\"{word}\""),
        };
        let fault = SyntaxFault::new(at, format!("`{word}` is not a JSON value"))
            .suggest(format!("write `{json}`"));
        let rest = self.text[self.pos..].trim_start();
        if !rest.is_empty() && !rest.starts_with([',', '}', ']']) {
            return Err(fault);
        }
        self.slips.push(*fault.edit(at, json));
        Ok(SyntaxKind::Bad)
    }

    fn bare_word(&self) -> &str {
        let rest = &self.text[self.pos..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-' && c != '$');
        &rest[..end.unwrap_or(rest.len())]
    }

    fn single_quoted(&mut self) -> SyntaxResult<String> {
        let rest = &self.text[self.pos + 1..];
        let line = rest.split('\n').next().unwrap_or(rest);
        // An apostrophe is followed by a letter, the closing quote by punctuation.
        let closes = |(at, _): &(usize, &str)| {
            let after = line[at + 1..].trim_start();
            after.is_empty() || after.starts_with([',', ':', '}', ']'])
        };
        let close = line.match_indices('\'').find(closes).map(|(at, _)| at);
        let at = Span::new(self.pos, self.pos + close.map_or(1, |close| close + 2));
        let fault =
            SyntaxFault::new(at, "a string in single quotes").expected("a string in double quotes");
        let inside = close.map(|close| line[..close].replace("\\'", "'").replace('"', "\\\""));
        let text = inside.map(|inside| format!("\"{inside}\"")).unwrap_or_default();
        let Ok(value) = serde_json::from_str::<String>(&text) else {
            return Err(fault.suggest("put it in double quotes"));
        };
        self.pos = at.end as usize;
        let fault = fault.suggest(format!("write `{text}`"));
        self.slips.push(*fault.edit(at, text));
        Ok(value)
    }

    fn lacks(&self, what: char, place: &str) -> Box<SyntaxFault> {
        let at = Span::new(self.pos, self.pos);
        SyntaxFault::new(at, format!("missing `{what}` {place}"))
            .suggest(format!("put a `{what}` here"))
            .edit(at, what.to_string())
    }

    /// Only the author knows which of the two brackets is wrong, so there is no fix.
    fn crossed(&self, found: char, closer: char) -> Box<SyntaxFault> {
        let at = Span::new(self.pos, self.pos + 1);
        let what = if closer == ']' { "list" } else { "map" };
        SyntaxFault::new(at, format!("`{found}` inside an open {what}"))
            .expected(format!("`,` or `{closer}`"))
            .suggest(format!("close the {what} with `{closer}` first"))
    }

    fn ended(&self) -> Box<SyntaxFault> {
        let end = self.text.trim_end().len();
        let at = Span::new(end, end);
        if end == 0 {
            let fault = SyntaxFault::new(at, "the document is empty");
            return fault.expected("a JSON object").suggest("write a workflow");
        }
        let fault = SyntaxFault::new(at, "unexpected end of JSON input");
        let closers: String = self.open.iter().rev().collect();
        let after_value = self.text.trim_end().ends_with(['}', ']', '"', 'e', 'l'])
            || self.text.trim_end().ends_with(|c: char| c.is_ascii_digit());
        if closers.is_empty() || !after_value {
            return fault.suggest("check for missing closing braces, brackets, or quotes");
        }
        fault.suggest(format!("add `{closers}` at the end")).edit(at, closers)
    }
}

/// The length of the comment at the start of the text, in the syntax of other languages; an
/// unclosed comment extends to the end.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("/*") {
        return Some(text.find("*/").map_or(text.len(), |end| end + 2));
    }
    let is_line = text.starts_with("//") || text.starts_with('#');
    is_line.then(|| text.find('\n').unwrap_or(text.len()))
}

/// The characters that may follow a backslash in a JSON string.
const ESCAPES: &str = "\"\\/bfnrtu";

fn bad_escape(literal_at: Span, literal: &str) -> Box<SyntaxFault> {
    let start = literal_at.start as usize;
    if let Some((first, text)) = literal_backslashes(literal, ESCAPES) {
        let at = Span::new(start + first, start + first + 1);
        let fault = SyntaxFault::new(at, "a backslash that escapes nothing");
        return fault
            .expected("`\\\\` for a backslash")
            .suggest(format!("write `{text}`"))
            .edit(literal_at, text);
    }
    let bad = |(from, length): &(usize, usize)| {
        let escape = format!("\"{}\"", &literal[*from..from + length]);
        serde_json::from_str::<String>(&escape).is_err()
    };
    let (from, length) = escapes(literal).find(bad).unwrap_or((0, literal.len()));
    let at = Span::new(start + from, start + from + length);
    let escape = &literal[from..from + length];
    let fault = SyntaxFault::new(at, format!("`{escape}` is not a JSON escape"));
    fault
        .expected("four hexadecimal digits, or a whole surrogate pair")
        .suggest("write the character itself, or `\\\\u` for a backslash and a `u`")
}

/// Doubles every backslash that escapes nothing (`\d`) in a quoted literal. Returns the position of
/// the first one and the new literal; `None` if there are none.
pub(crate) fn literal_backslashes(literal: &str, escapes: &str) -> Option<(usize, String)> {
    let mut first = None;
    let mut text = String::with_capacity(literal.len() + 8);
    let mut signs = literal.char_indices();
    while let Some((index, sign)) = signs.next() {
        if sign != '\\' {
            text.push(sign);
            continue;
        }
        let Some((_, next)) = signs.next() else { break };
        if escapes.contains(next) {
            text.extend(['\\', next]);
            continue;
        }
        first.get_or_insert(index);
        // An apostrophe needs no backslash, and no author wants a literal one in front of it.
        text.push_str(if next == '\'' { "" } else { "\\\\" });
        text.push(next);
    }
    first.map(|first| (first, text))
}

/// The start and length of each escape in a string literal; a surrogate pair counts as one.
fn escapes(literal: &str) -> impl Iterator<Item = (usize, usize)> {
    let bytes = literal.as_bytes();
    let unit = |at: usize| {
        let digits = literal.get(at..)?.strip_prefix("\\u")?.get(..4)?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut next = 0;
    std::iter::from_fn(move || {
        let from = next + bytes[next..].iter().position(|byte| *byte == b'\\')?;
        let length = match (unit(from), unit(from + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(_), _) => 6,
            // A backslash and the character after it, which may be wider than one byte.
            (None, _) => 1 + literal[from + 1..].chars().next().map_or(0, char::len_utf8),
        };
        next = from + length;
        Some((from, length))
    })
}

/// Reads a number that both readers accept: an integer that fits, or a finite float.
pub(crate) fn number(
    literal: &str,
    at: Span,
    fraction: impl Fn(&str) -> Option<f64>,
) -> SyntaxResult<SyntaxKind> {
    let digits = literal.trim_start_matches(['-', '+']);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let leading_zero = digits.len() > 1 && digits.starts_with('0');
        return match literal.parse::<i64>() {
            Ok(value) if !leading_zero => Ok(SyntaxKind::Int(value)),
            Ok(value) => Err(SyntaxFault::new(at, "a number with leading zeros")
                .suggest(format!("write `{value}`, or put it in quotes"))
                .edit(at, value.to_string())),
            Err(_) => Err(SyntaxFault::new(at, format!("`{literal}` has too many digits"))
                .rule(SyntaxRule::Number)
                .expected("a whole number from -2^63 to 2^63 - 1")
                .suggest("write a smaller number, or put it in quotes to keep it as text")),
        };
    }
    match fraction(literal) {
        Some(value) if value.is_finite() => Ok(SyntaxKind::Float(value)),
        Some(_) => Err(not_finite(at, literal)),
        // `serde_json` rejects numbers that overflow; a bare `inf` is not JSON anyway.
        None if literal.parse::<f64>().is_ok_and(f64::is_infinite) => Err(not_finite(at, literal)),
        None => Err(SyntaxFault::new(at, format!("`{literal}` is not a number"))
            .suggest("write it as digits with one `.`, or put it in quotes")),
    }
}

/// Reports duplicate keys in a map; the later key is the fault. Both stay in the tree, so that the
/// rest of the document is still read and a fix can remove one.
pub(crate) fn report_duplicates(entries: &[(SyntaxKey, SyntaxNode)], faults: &mut Faults) {
    let mut first = HashMap::with_capacity(entries.len());
    for entry @ (key, value) in entries {
        let (original, kept) = *first.entry(key.name.as_str()).or_insert(entry);
        if std::ptr::eq(original, key) {
            continue;
        }
        faults.add(|| {
            SyntaxFault::new(key.at, format!("duplicate key `{}`", key.name))
                .rule(SyntaxRule::DuplicateKey)
                .related(original.at, "first used here")
                .suggest("remove one of the two")
                .mend(kept.is_same(value).then_some(Mend::Remove { key: key.at }))
        });
    }
}

pub(crate) fn not_finite(at: Span, literal: &str) -> Box<SyntaxFault> {
    SyntaxFault::new(at, format!("`{literal}` is not a finite number"))
        .rule(SyntaxRule::Number)
        .expected("a finite number")
        .suggest("write a finite number, or put it in quotes to keep it as text")
}

pub(crate) fn too_many(at: Span) -> Box<SyntaxFault> {
    let limit = limits::NODES;
    SyntaxFault::new(at, format!("more than {limit} keys and values"))
        .expected(format!("at most {limit} keys and values"))
        .suggest("split the document into a workflow that runs several smaller ones")
}

pub(crate) fn too_deep(at: Span) -> Box<SyntaxFault> {
    let limit = limits::DEPTH;
    SyntaxFault::new(at, format!("nested deeper than {limit} levels"))
        .suggest("flatten the document")
}

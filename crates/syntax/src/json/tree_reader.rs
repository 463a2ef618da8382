//! The strict JSON reader: one tree with places, or the first fault with its place and its mend.
//!
//! Strings and numbers are handed to `serde_json` one literal at a time, so that escapes,
//! surrogates and rounding are its business; structure, limits and duplicate keys are ours.

use std::collections::HashMap;

use crate::fault::Faults;
use crate::fault::{SyntaxFault, SyntaxRule};
use crate::limits;
use crate::mend::Mend;
use crate::source::Source;
use crate::span::Span;
use crate::tree::{SyntaxKey, SyntaxKind, SyntaxNode};

type Outcome<T> = Result<T, Box<SyntaxFault>>;

/// Reads a document that is JSON. Faults that leave the structure whole go to `findings`.
pub fn read_tree(source: &Source, faults: &mut Faults) -> Outcome<SyntaxNode> {
    let text = source.text();
    let mut reader = Reader { text, pos: 0, open: Vec::new(), slips: Vec::new(), nodes: 0, faults };
    let read = reader.document();
    let slips = std::mem::take(&mut reader.slips);
    let (node, last) = match read {
        Ok(node) => (Some(node), None),
        Err(fault) => (None, Some(fault)),
    };
    let mut faults = slips.into_iter().chain(last.map(|fault| *fault));
    match (faults.next(), node) {
        (None, Some(node)) => Ok(node),
        (None, None) => Ok(SyntaxNode { at: Span::START, kind: SyntaxKind::Bad }),
        (Some(mut first), _) => {
            // One violation, the first; its mend is that of all that could be read past.
            let mends = first.mend.take().into_iter().chain(faults.filter_map(|one| one.mend));
            let mends: Vec<Mend> = mends.collect();
            first.mend = (!mends.is_empty()).then_some(Mend::All(mends));
            Err(Box::new(first))
        }
    }
}

struct Reader<'t, 'f> {
    text: &'t str,
    pos: usize,
    /// The brackets that are open, for the mend of a document that just ends.
    open: Vec<char>,
    /// Faults that were read past, each with its mend: authors who write one trailing comma or
    /// comment write more of them.
    slips: Vec<SyntaxFault>,
    nodes: usize,
    faults: &'f mut Faults,
}

impl Reader<'_, '_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn document(&mut self) -> Outcome<SyntaxNode> {
        self.skip_space();
        let node = self.value()?;
        self.skip_space();
        if self.peek().is_none() {
            return Ok(node);
        }
        let at = Span::new(self.pos, self.text.len());
        let fault = SyntaxFault::new(at, "text after the end of the JSON value");
        Err(Box::new(fault.suggest("remove what follows the closing bracket")))
    }

    /// White space, and the comments that JSON does not have.
    fn skip_space(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.pos += 1,
                Some(b'/' | b'#') if self.at_comment() => {
                    let fault = self.comment();
                    self.pos = fault.at.end as usize;
                    self.slips.push(*fault);
                }
                _ => return,
            }
        }
    }

    fn value(&mut self) -> Outcome<SyntaxNode> {
        self.nodes += 1;
        if self.nodes > limits::NODES {
            return Err(too_many(Span::new(self.pos, self.pos)));
        }
        match self.peek() {
            Some(b'{') => self.map(),
            Some(b'[') => self.list(),
            Some(b'"') => {
                let start = self.pos;
                let text = self.string()?;
                Ok(SyntaxNode { at: Span::new(start, self.pos), kind: SyntaxKind::Str(text) })
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
            None => Err(self.ended()),
        }
    }

    fn enter(&mut self, closer: char) -> Outcome<()> {
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

    fn map(&mut self) -> Outcome<SyntaxNode> {
        let start = self.pos;
        self.enter('}')?;
        let mut entries: Vec<(SyntaxKey, SyntaxNode)> = Vec::new();
        while self.peek() != Some(b'}') {
            let key = self.key()?;
            self.skip_space();
            match self.peek() {
                Some(b':') => self.pos += 1,
                None => return Err(self.ended()),
                Some(b'"' | b'{' | b'[' | b'-' | b'0'..=b'9') => {
                    self.pos = key.at.end as usize;
                    self.slips.push(*self.lacks(':', "after the property name"));
                }
                Some(_) => {
                    self.pos = key.at.end as usize;
                    let fault = self.lacks(':', "after the property name");
                    return Err(Box::new(SyntaxFault { mend: None, ..*fault }));
                }
            }
            self.skip_space();
            let value = self.value()?;
            entries.push((key, value));
            self.separator(b'}')?;
        }
        self.leave();
        report_duplicates(&entries, self.faults);
        Ok(SyntaxNode { at: Span::new(start, self.pos), kind: SyntaxKind::Map(entries) })
    }

    fn list(&mut self) -> Outcome<SyntaxNode> {
        let start = self.pos;
        self.enter(']')?;
        let mut items = Vec::new();
        while self.peek() != Some(b']') {
            items.push(self.value()?);
            self.separator(b']')?;
        }
        self.leave();
        Ok(SyntaxNode { at: Span::new(start, self.pos), kind: SyntaxKind::List(items) })
    }

    /// After an item: a comma and another item, or the closing bracket.
    fn separator(&mut self, closer: u8) -> Outcome<()> {
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
                        .mend(Mend::Edit { at: comma, text: String::new() });
                    self.slips.push(fault);
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
                    return Err(Box::new(SyntaxFault { mend: None, ..*fault }));
                }
                self.slips.push(*fault);
                self.pos = next;
                Ok(())
            }
        }
    }

    /// Whether what stands here begins another entry or item, and is not the rest of a string
    /// whose quotes were not escaped.
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

    fn key(&mut self) -> Outcome<SyntaxKey> {
        self.nodes += 1;
        let start = self.pos;
        match self.peek() {
            Some(b'"') => {
                let name = self.string()?;
                Ok(SyntaxKey { name, at: Span::new(start, self.pos) })
            }
            None => Err(self.ended()),
            Some(b'\'') => {
                let name = self.single_quoted()?;
                Ok(SyntaxKey { name, at: Span::new(start, self.pos) })
            }
            Some(_) => {
                let word = self.bare_word().to_owned();
                if word.is_empty() {
                    let found = self.text[start..].chars().next().unwrap_or(' ');
                    let at = Span::new(start, start + found.len_utf8());
                    let fault = SyntaxFault::new(at, format!("unexpected `{found}`"))
                        .expected("a name in double quotes");
                    return Err(Box::new(fault.suggest("remove it, or write a name in quotes")));
                }
                let at = Span::new(start, start + word.len());
                let fault = SyntaxFault::new(at, "a property name without quotes")
                    .expected("a name in double quotes");
                let text = format!("\"{word}\"");
                let fault = fault.suggest(format!("write `{text}`"));
                self.slips.push(fault.mend(Mend::Edit { at, text }));
                self.pos += word.len();
                Ok(SyntaxKey { name: word, at })
            }
        }
    }

    fn string(&mut self) -> Outcome<String> {
        let start = self.pos;
        let bytes = self.text.as_bytes();
        let mut escaped = false;
        let mut end = start + 1;
        loop {
            match bytes.get(end) {
                None | Some(b'\n') => {
                    let at = Span::new(start, end.min(bytes.len()));
                    let fault = SyntaxFault::new(at, "a string that is not closed");
                    return Err(Box::new(fault.suggest("close it with `\"`")));
                }
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    end += 2;
                }
                Some(byte) if *byte < 0x20 => {
                    let at = Span::new(end, end + 1);
                    let fault = SyntaxFault::new(at, "a control character in a string")
                        .suggest(format!("write it as `\\u{byte:04x}`"))
                        .mend(Mend::Edit { at, text: format!("\\u{byte:04x}") });
                    return Err(Box::new(fault));
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

    fn number(&mut self) -> Outcome<SyntaxNode> {
        let start = self.pos;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.pos += 1;
        }
        if &self.text[start..self.pos] == "-" && self.text[self.pos..].starts_with("Infinity") {
            self.pos += "Infinity".len();
        }
        let at = Span::new(start, self.pos);
        let literal = &self.text[start..self.pos];
        match number(literal, at, |text| serde_json::from_str::<f64>(text).ok()) {
            Ok(node) => Ok(node),
            Err(fault) if fault.rule == SyntaxRule::Number => {
                self.faults.add(|| *fault);
                Ok(SyntaxNode { at, kind: SyntaxKind::Bad })
            }
            Err(fault) => Err(fault),
        }
    }

    fn word(&mut self) -> Outcome<SyntaxNode> {
        let start = self.pos;
        if self.peek() == Some(b'\'') {
            let text = self.single_quoted()?;
            return Ok(SyntaxNode { at: Span::new(start, self.pos), kind: SyntaxKind::Str(text) });
        }
        let word = self.bare_word().to_owned();
        let at = Span::new(start, start + word.len().max(1));
        self.pos += word.len();
        let kind = match word.as_str() {
            "null" => SyntaxKind::Null,
            "true" => SyntaxKind::Bool(true),
            "false" => SyntaxKind::Bool(false),
            "NaN" | "Infinity" => {
                self.faults.add(|| *not_finite(at, &word));
                SyntaxKind::Bad
            }
            other => {
                let fault = self.unexpected(at, other);
                let rest = self.text[self.pos..].trim_start();
                if fault.mend.is_none() || !(rest.is_empty() || rest.starts_with([',', '}', ']'])) {
                    return Err(Box::new(SyntaxFault { mend: None, ..*fault }));
                }
                self.slips.push(*fault);
                SyntaxKind::Bad
            }
        };
        Ok(SyntaxNode { at, kind })
    }

    fn bare_word(&self) -> &str {
        let rest = &self.text[self.pos..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-' && c != '$');
        &rest[..end.unwrap_or(rest.len())]
    }

    fn unexpected(&self, at: Span, word: &str) -> Box<SyntaxFault> {
        if word.is_empty() {
            let found = self.text[at.start as usize..].chars().next().unwrap_or(' ');
            let at = Span::new(at.start as usize, at.start as usize + found.len_utf8());
            let fault = SyntaxFault::new(at, format!("unexpected `{found}`"));
            return Box::new(fault.expected("a JSON value").suggest("remove it, or put a value"));
        }
        let json = match word.to_ascii_lowercase().as_str() {
            "true" => "true".to_owned(),
            "false" => "false".to_owned(),
            "none" | "nil" | "undefined" | "null" => "null".to_owned(),
            _ => format!("\"{word}\""),
        };
        Box::new(
            SyntaxFault::new(at, format!("`{word}` is not a JSON value"))
                .suggest(format!("write `{json}`"))
                .mend(Mend::Edit { at, text: json }),
        )
    }

    fn single_quoted(&mut self) -> Outcome<String> {
        let rest = &self.text[self.pos + 1..];
        let line = rest.split('\n').next().unwrap_or(rest);
        // An apostrophe inside is followed by a letter, the closing quote by a sign.
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
            return Err(Box::new(fault.suggest("put it in double quotes")));
        };
        self.pos = at.end as usize;
        let fault = fault.suggest(format!("write `{text}`"));
        self.slips.push(fault.mend(Mend::Edit { at, text }));
        Ok(value)
    }

    fn at_comment(&self) -> bool {
        let rest = &self.text[self.pos..];
        rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#')
    }

    fn comment(&self) -> Box<SyntaxFault> {
        let rest = &self.text[self.pos..];
        let end = if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            rest.find('\n').unwrap_or(rest.len())
        };
        let at = Span::new(self.pos, self.pos + end);
        Box::new(
            SyntaxFault::new(at, "a comment: JSON has none")
                .suggest("remove it, or keep the workflow as YAML")
                .mend(Mend::Edit { at, text: String::new() }),
        )
    }

    fn lacks(&self, what: char, place: &str) -> Box<SyntaxFault> {
        let at = Span::new(self.pos, self.pos);
        Box::new(
            SyntaxFault::new(at, format!("a missing `{what}` {place}"))
                .suggest(format!("put a `{what}` here"))
                .mend(Mend::Edit { at, text: what.to_string() }),
        )
    }

    /// Which of the two brackets is wrong only the author knows, so there is no mend.
    fn crossed(&self, found: char, closer: char) -> Box<SyntaxFault> {
        let at = Span::new(self.pos, self.pos + 1);
        let what = if closer == ']' { "list" } else { "map" };
        Box::new(
            SyntaxFault::new(at, format!("`{found}` inside an open {what}"))
                .expected(format!("`,` or `{closer}`"))
                .suggest(format!("close the {what} with `{closer}` first")),
        )
    }

    fn ended(&self) -> Box<SyntaxFault> {
        let end = self.text.trim_end().len();
        let at = Span::new(end, end);
        if end == 0 {
            let fault = SyntaxFault::new(at, "the document is empty");
            return Box::new(fault.expected("a JSON object").suggest("write a workflow"));
        }
        let fault = SyntaxFault::new(at, "unexpected end of JSON input");
        let closers: String = self.open.iter().rev().collect();
        let after_value = self.text.trim_end().ends_with(['}', ']', '"', 'e', 'l'])
            || self.text.trim_end().ends_with(|c: char| c.is_ascii_digit());
        if closers.is_empty() || !after_value {
            return Box::new(
                fault.suggest("check for missing closing braces, brackets, or quotes"),
            );
        }
        Box::new(
            fault
                .suggest(format!("close it with `{closers}`"))
                .mend(Mend::Edit { at, text: closers }),
        )
    }
}

/// The escapes of a JSON string, by the sign after the backslash.
const ESCAPES: &str = "\"\\/bfnrtu";

fn bad_escape(literal_at: Span, literal: &str) -> Box<SyntaxFault> {
    let start = literal_at.start as usize;
    if let Some((first, text)) = literal_backslashes(literal, ESCAPES) {
        let at = Span::new(start + first, start + first + 1);
        let fault = SyntaxFault::new(at, "a backslash that escapes nothing");
        return Box::new(
            fault
                .expected("`\\\\` for a backslash")
                .suggest(format!("write `{text}`"))
                .mend(Mend::Edit { at: literal_at, text }),
        );
    }
    let bad = |(from, length): &(usize, usize)| {
        let escape = format!("\"{}\"", &literal[*from..from + length]);
        serde_json::from_str::<String>(&escape).is_err()
    };
    let (from, length) = escapes(literal).find(bad).unwrap_or((0, literal.len()));
    let at = Span::new(start + from, start + from + length);
    let escape = &literal[from..from + length];
    let fault = SyntaxFault::new(at, format!("`{escape}` is not a JSON escape"));
    Box::new(
        fault
            .expected("four hexadecimal digits, or a whole surrogate pair")
            .suggest("write the character itself, or `\\\\u` for a backslash and a `u`"),
    )
}

/// A quoted literal in which every backslash that escapes nothing is meant as one (`\d`), with the
/// place of the first of them; none when there is no such.
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
        // An apostrophe needs no backslash and nobody means to see one before it.
        text.push_str(if next == '\'' { "" } else { "\\\\" });
        text.push(next);
    }
    first.map(|first| (first, text))
}

/// Start and length of each escape in a string literal; a surrogate pair is one.
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
            // The sign behind the backslash, whatever its width.
            (None, _) => 1 + literal[from + 1..].chars().next().map_or(0, char::len_utf8),
        };
        next = from + length;
        Some((from, length))
    })
}

/// A number both readers accept: a whole number that fits, or a finite fraction.
pub(crate) fn number(
    literal: &str,
    at: Span,
    fraction: impl Fn(&str) -> Option<f64>,
) -> Outcome<SyntaxNode> {
    let digits = literal.trim_start_matches(['-', '+']);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let leading_zero = digits.len() > 1 && digits.starts_with('0');
        return match literal.parse::<i64>() {
            Ok(value) if !leading_zero => Ok(SyntaxNode { at, kind: SyntaxKind::Int(value) }),
            Ok(value) => Err(Box::new(
                SyntaxFault::new(at, "a number with leading zeros")
                    .suggest(format!("write `{value}`, or put it in quotes"))
                    .mend(Mend::Edit { at, text: value.to_string() }),
            )),
            Err(_) => Err(Box::new(
                SyntaxFault::new(at, format!("`{literal}` has too many digits"))
                    .rule(SyntaxRule::Number)
                    .expected("a whole number from -2^63 to 2^63 - 1")
                    .suggest("write a smaller number, or put it in quotes to keep it as text"),
            )),
        };
    }
    match fraction(literal) {
        Some(value) if value.is_finite() => Ok(SyntaxNode { at, kind: SyntaxKind::Float(value) }),
        Some(_) => Err(not_finite(at, literal)),
        // serde_json refuses what overflows; a bare `inf` literal is not JSON anyway.
        None if literal.parse::<f64>().is_ok_and(f64::is_infinite) => Err(not_finite(at, literal)),
        None => Err(Box::new(
            SyntaxFault::new(at, format!("`{literal}` is not a number"))
                .suggest("write it as digits with one `.`, or put it in quotes"),
        )),
    }
}

/// A key that stands twice in one map: the second is the fault. Both stay in the tree, so that
/// the rest of the document is still read and a mend can take one away.
pub(crate) fn report_duplicates(entries: &[(SyntaxKey, SyntaxNode)], faults: &mut Faults) {
    // Nearly every map is small: comparing its few keys is cheaper than hashing them.
    let mut first: HashMap<&str, usize> = HashMap::new();
    let small = entries.len() <= 16;
    for (index, (key, value)) in entries.iter().enumerate() {
        let earlier = match small {
            true => entries[..index].iter().position(|(other, _)| other.name == key.name),
            false => first.get(key.name.as_str()).copied(),
        };
        let Some(earlier) = earlier else {
            if !small {
                first.insert(&key.name, index);
            }
            continue;
        };
        faults.add(|| {
            let (original, kept) = &entries[earlier];
            let fault = SyntaxFault::new(key.at, format!("duplicate key `{}`", key.name))
                .rule(SyntaxRule::DuplicateKey)
                .related(original.at, "first written here")
                .suggest("remove one of the two");
            let mend = kept.is_same(value).then_some(Mend::Remove { key: key.at });
            SyntaxFault { mend, ..fault }
        });
    }
}

pub(crate) fn not_finite(at: Span, literal: &str) -> Box<SyntaxFault> {
    Box::new(
        SyntaxFault::new(at, format!("`{literal}` is not a finite number"))
            .rule(SyntaxRule::Number)
            .expected("a finite number")
            .suggest("write a finite number, or put it in quotes to keep it as text"),
    )
}

pub(crate) fn too_many(at: Span) -> Box<SyntaxFault> {
    let limit = limits::NODES;
    Box::new(
        SyntaxFault::new(at, format!("more than {limit} keys and values"))
            .expected(format!("at most {limit} keys and values"))
            .suggest("split it into several workflows and run them from one another"),
    )
}

pub(crate) fn too_deep(at: Span) -> Box<SyntaxFault> {
    let limit = limits::DEPTH;
    Box::new(
        SyntaxFault::new(at, format!("nested deeper than {limit} levels"))
            .suggest("flatten the document"),
    )
}

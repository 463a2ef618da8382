//! The strict JSON reader: one tree with places, or the first fault with its place and its mend.
//!
//! Strings and numbers are handed to `serde_json` one literal at a time, so that escapes,
//! surrogates and rounding are its business; structure, limits and duplicate keys are ours.

use std::collections::HashMap;

use crate::finding::{Finding, Mend, Rule};
use crate::limits;
use crate::source::Source;
use crate::tree::{At, Key, Kind, Node};

type Outcome<T> = Result<T, Box<Finding>>;

/// Reads a document that is JSON. Faults that leave the structure whole go to `findings`.
pub(crate) fn read(source: &Source, findings: &mut Vec<Finding>) -> Outcome<Node> {
    let mut reader = Reader { text: source.text(), pos: 0, open: Vec::new(), findings };
    reader.skip_space();
    let node = reader.value()?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(node),
        Some(_) => {
            let at = At::new(reader.pos, source.text().len());
            let fault = Finding::error(at, Rule::Syntax, "text after the end of the JSON value");
            Err(Box::new(fault.suggest("remove what follows the closing bracket")))
        }
    }
}

struct Reader<'t, 'f> {
    text: &'t str,
    pos: usize,
    /// The brackets that are open, for the mend of a document that just ends.
    open: Vec<char>,
    findings: &'f mut Vec<Finding>,
}

impl Reader<'_, '_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.pos += 1;
        }
    }

    fn value(&mut self) -> Outcome<Node> {
        match self.peek() {
            Some(b'{') => self.map(),
            Some(b'[') => self.list(),
            Some(b'"') => {
                let start = self.pos;
                let text = self.string()?;
                Ok(Node { at: At::new(start, self.pos), kind: Kind::Str(text) })
            }
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(_) => self.word(),
            None => Err(self.ended()),
        }
    }

    fn enter(&mut self, closer: char) -> Outcome<()> {
        if self.open.len() == limits::DEPTH {
            return Err(too_deep(At::new(self.pos, self.pos + 1)));
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

    fn map(&mut self) -> Outcome<Node> {
        let start = self.pos;
        self.enter('}')?;
        let mut entries: Vec<(Key, Node)> = Vec::new();
        while self.peek() != Some(b'}') {
            let key = self.key()?;
            let after_key = self.pos;
            self.skip_space();
            match self.peek() {
                Some(b':') => self.pos += 1,
                None => return Err(self.ended()),
                Some(_) => {
                    self.pos = after_key;
                    return Err(self.lacks(':', "after the property name"));
                }
            }
            self.skip_space();
            let value = self.value()?;
            entries.push((key, value));
            self.separator(b'}')?;
        }
        self.leave();
        report_duplicates(&entries, self.findings);
        Ok(Node { at: At::new(start, self.pos), kind: Kind::Map(entries) })
    }

    fn list(&mut self) -> Outcome<Node> {
        let start = self.pos;
        self.enter(']')?;
        let mut items = Vec::new();
        while self.peek() != Some(b']') {
            items.push(self.value()?);
            self.separator(b']')?;
        }
        self.leave();
        Ok(Node { at: At::new(start, self.pos), kind: Kind::List(items) })
    }

    /// After an item: a comma and another item, or the closing bracket.
    fn separator(&mut self, closer: u8) -> Outcome<()> {
        let after_value = self.pos;
        self.skip_space();
        match self.peek() {
            Some(byte) if byte == closer => Ok(()),
            Some(b',') => {
                let comma = At::new(self.pos, self.pos + 1);
                self.pos += 1;
                self.skip_space();
                if self.peek() == Some(closer) {
                    let fault = Finding::error(comma, Rule::Syntax, "a comma after the last item")
                        .suggest("remove the comma")
                        .mend(Mend::Edit { at: comma, text: String::new() });
                    return Err(Box::new(fault));
                }
                Ok(())
            }
            None => Err(self.ended()),
            Some(_) if self.at_comment() => Err(self.comment()),
            Some(other @ (b'}' | b']')) => Err(self.crossed(char::from(other), char::from(closer))),
            Some(_) => {
                self.pos = after_value;
                Err(self.lacks(',', "between two items"))
            }
        }
    }

    fn key(&mut self) -> Outcome<Key> {
        let start = self.pos;
        match self.peek() {
            Some(b'"') => {
                let name = self.string()?;
                Ok(Key { name, at: At::new(start, self.pos) })
            }
            None => Err(self.ended()),
            Some(b'\'') => Err(self.single_quoted()),
            Some(_) if self.at_comment() => Err(self.comment()),
            Some(_) => {
                let word = self.bare_word();
                if word.is_empty() {
                    let found = self.text[start..].chars().next().unwrap_or(' ');
                    let at = At::new(start, start + found.len_utf8());
                    let fault = Finding::error(at, Rule::Syntax, format!("unexpected `{found}`"))
                        .expected("a name in double quotes");
                    return Err(Box::new(fault.suggest("remove it, or write a name in quotes")));
                }
                let at = At::new(start, start + word.len());
                let quoted = format!("\"{word}\"");
                let fault = Finding::error(at, Rule::Syntax, "a property name without quotes")
                    .expected("a name in double quotes")
                    .suggest(format!("write `{quoted}`"));
                Err(Box::new(fault.mend(Mend::Edit { at, text: quoted })))
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
                    let at = At::new(start, end);
                    let fault = Finding::error(at, Rule::Syntax, "a string that is not closed");
                    return Err(Box::new(fault.suggest("close it with `\"`")));
                }
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    end += 2;
                }
                Some(byte) if *byte < 0x20 => {
                    let at = At::new(end, end + 1);
                    let fault = Finding::error(at, Rule::Syntax, "a control character in a string")
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
        serde_json::from_str(&self.text[start..=end]).map_err(|error| {
            let at = At::new(start, end + 1);
            // serde_json ends its messages with its own position, which is one inside the literal.
            let words = error.to_string();
            let cause = words.split(" at line ").next().unwrap_or(&words).to_owned();
            bad_escape(at, &self.text[start..=end], &cause)
        })
    }

    fn number(&mut self) -> Outcome<Node> {
        let start = self.pos;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.pos += 1;
        }
        let at = At::new(start, self.pos);
        let literal = &self.text[start..self.pos];
        match number(literal, at, |text| serde_json::from_str::<f64>(text).ok()) {
            Ok(node) => Ok(node),
            Err(fault) if fault.rule == Rule::Number => {
                self.findings.push(*fault);
                Ok(Node { at, kind: Kind::Bad })
            }
            Err(fault) => Err(fault),
        }
    }

    fn word(&mut self) -> Outcome<Node> {
        let start = self.pos;
        if self.peek() == Some(b'\'') {
            return Err(self.single_quoted());
        }
        if self.at_comment() {
            return Err(self.comment());
        }
        let word = self.bare_word().to_owned();
        let at = At::new(start, start + word.len().max(1));
        self.pos += word.len();
        let kind = match word.as_str() {
            "null" => Kind::Null,
            "true" => Kind::Bool(true),
            "false" => Kind::Bool(false),
            "NaN" | "Infinity" => {
                self.findings.push(*not_finite(at, &word));
                Kind::Bad
            }
            other => return Err(self.unexpected(at, other)),
        };
        Ok(Node { at, kind })
    }

    fn bare_word(&self) -> &str {
        let rest = &self.text[self.pos..];
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-' && c != '$');
        &rest[..end.unwrap_or(rest.len())]
    }

    fn unexpected(&self, at: At, word: &str) -> Box<Finding> {
        if word.is_empty() {
            let found = self.text[at.start as usize..].chars().next().unwrap_or(' ');
            let at = At::new(at.start as usize, at.start as usize + found.len_utf8());
            let fault = Finding::error(at, Rule::Syntax, format!("unexpected `{found}`"));
            return Box::new(fault.expected("a JSON value").suggest("remove it, or put a value"));
        }
        let json = match word.to_ascii_lowercase().as_str() {
            "true" => "true".to_owned(),
            "false" => "false".to_owned(),
            "none" | "nil" | "undefined" | "null" => "null".to_owned(),
            _ => format!("\"{word}\""),
        };
        Box::new(
            Finding::error(at, Rule::Syntax, format!("`{word}` is not a JSON value"))
                .suggest(format!("write `{json}`"))
                .mend(Mend::Edit { at, text: json }),
        )
    }

    fn single_quoted(&self) -> Box<Finding> {
        let rest = &self.text[self.pos + 1..];
        let line = rest.split('\n').next().unwrap_or(rest);
        let fault = |end: usize| {
            let at = At::new(self.pos, self.pos + end);
            Finding::error(at, Rule::Syntax, "a string in single quotes")
                .expected("a string in double quotes")
        };
        let Some(close) = line.find('\'') else {
            return Box::new(fault(1).suggest("put it in double quotes"));
        };
        let text = serde_json::Value::from(&line[..close]).to_string();
        let fault = fault(close + 2);
        let at = fault.place.at;
        Box::new(fault.suggest(format!("write `{text}`")).mend(Mend::Edit { at, text }))
    }

    fn at_comment(&self) -> bool {
        let rest = &self.text[self.pos..];
        rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#')
    }

    fn comment(&self) -> Box<Finding> {
        let rest = &self.text[self.pos..];
        let end = if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else {
            rest.find('\n').unwrap_or(rest.len())
        };
        let at = At::new(self.pos, self.pos + end);
        Box::new(
            Finding::error(at, Rule::Syntax, "a comment: JSON has none")
                .suggest("remove it, or keep the workflow as YAML")
                .mend(Mend::Edit { at, text: String::new() }),
        )
    }

    fn lacks(&self, what: char, place: &str) -> Box<Finding> {
        let at = At::new(self.pos, self.pos);
        Box::new(
            Finding::error(at, Rule::Syntax, format!("a missing `{what}` {place}"))
                .suggest(format!("put a `{what}` here"))
                .mend(Mend::Edit { at, text: what.to_string() }),
        )
    }

    /// Which of the two brackets is wrong only the author knows, so there is no mend.
    fn crossed(&self, found: char, closer: char) -> Box<Finding> {
        let at = At::new(self.pos, self.pos + 1);
        let what = if closer == ']' { "list" } else { "map" };
        Box::new(
            Finding::error(at, Rule::Syntax, format!("`{found}` inside an open {what}"))
                .expected(format!("`,` or `{closer}`"))
                .suggest(format!("close the {what} with `{closer}` first")),
        )
    }

    fn ended(&self) -> Box<Finding> {
        let end = self.text.trim_end().len();
        let at = At::new(end, end);
        let fault = Finding::error(at, Rule::Syntax, "unexpected end of JSON input");
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

fn bad_escape(literal_at: At, literal: &str, cause: &str) -> Box<Finding> {
    let start = literal_at.start as usize;
    if let Some((first, text)) = literal_backslashes(literal, ESCAPES) {
        let at = At::new(start + first, start + first + 1);
        let fault = Finding::error(at, Rule::Syntax, "a backslash that escapes nothing");
        return Box::new(
            fault
                .expected("`\\\\` for a backslash")
                .suggest(format!("write `{text}`"))
                .mend(Mend::Edit { at: literal_at, text }),
        );
    }
    let first = literal.find("\\u").unwrap_or(0);
    let at = At::new(start + first, literal_at.end as usize);
    let fault = Finding::error(at, Rule::Syntax, format!("a bad escape: {cause}"));
    Box::new(fault.suggest("write four hex digits, or the character itself"))
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

/// A number both readers accept: a whole number that fits, or a finite fraction.
pub(crate) fn number(
    literal: &str,
    at: At,
    fraction: impl Fn(&str) -> Option<f64>,
) -> Outcome<Node> {
    let digits = literal.trim_start_matches(['-', '+']);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let leading_zero = digits.len() > 1 && digits.starts_with('0');
        return match literal.parse::<i64>() {
            Ok(value) if !leading_zero => Ok(Node { at, kind: Kind::Int(value) }),
            Ok(value) => Err(Box::new(
                Finding::error(at, Rule::Syntax, "a number with leading zeros")
                    .suggest(format!("write `{value}`, or put it in quotes"))
                    .mend(Mend::Edit { at, text: value.to_string() }),
            )),
            Err(_) => Err(Box::new(
                Finding::error(at, Rule::Number, format!("`{literal}` has too many digits"))
                    .expected("a whole number from -2^63 to 2^63 - 1")
                    .suggest("write a smaller number, or put it in quotes to keep it as text"),
            )),
        };
    }
    match fraction(literal) {
        Some(value) if value.is_finite() => Ok(Node { at, kind: Kind::Float(value) }),
        Some(_) => Err(not_finite(at, literal)),
        // serde_json refuses what overflows; a bare `inf` literal is not JSON anyway.
        None if literal.parse::<f64>().is_ok_and(f64::is_infinite) => Err(not_finite(at, literal)),
        None => Err(Box::new(
            Finding::error(at, Rule::Syntax, format!("`{literal}` is not a number"))
                .suggest("write it as digits with one `.`, or put it in quotes"),
        )),
    }
}

/// A key that stands twice in one map: the second is the fault. Both stay in the tree, so that
/// the rest of the document is still read and a mend can take one away.
pub(crate) fn report_duplicates(entries: &[(Key, Node)], findings: &mut Vec<Finding>) {
    let mut first: HashMap<&str, usize> = HashMap::with_capacity(entries.len());
    for (index, (key, value)) in entries.iter().enumerate() {
        let Some(earlier) = first.get(key.name.as_str()) else {
            first.insert(&key.name, index);
            continue;
        };
        let (original, kept) = &entries[*earlier];
        let message = format!("duplicate key `{}`", key.name);
        let fault = Finding::error(key.at, Rule::DuplicateKey, message)
            .related(original.at, "first written here")
            .suggest("remove one of the two");
        findings.push(if kept.to_value() == value.to_value() {
            fault.mend(Mend::Remove { key: key.at })
        } else {
            fault
        });
    }
}

pub(crate) fn not_finite(at: At, literal: &str) -> Box<Finding> {
    Box::new(
        Finding::error(at, Rule::Number, format!("`{literal}` is not a finite number"))
            .expected("a finite number")
            .suggest("write a finite number, or put it in quotes to keep it as text"),
    )
}

pub(crate) fn too_deep(at: At) -> Box<Finding> {
    let limit = limits::DEPTH;
    Box::new(
        Finding::error(at, Rule::Syntax, format!("nested deeper than {limit} levels"))
            .suggest("flatten the document"),
    )
}

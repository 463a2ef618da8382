//! The YAML reader: converts parser events to JSON text, using the YAML 1.2 core schema.
//!
//! It is lenient with careless documents: tags are ignored, keys of any kind become text, and merge
//! keys are applied. Aliases are expanded, and the bytes they add are limited in proportion to the
//! document's size.

mod scalar;

use std::borrow::Cow;
use std::collections::HashSet;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, StrInput};
use milepost_syntax::escape::{escape, plain_prefix};
use milepost_syntax::json::tape::ReadWarnings;

use crate::document::{Unreadable, place};
use crate::limits;
use scalar::{Plain, plain};

/// YAML converted to JSON.
pub(crate) struct Written {
    pub(crate) text: String,
    /// The position of each key in the JSON text and in the YAML source.
    pub(crate) places: Vec<(u32, u32)>,
    pub(crate) warnings: ReadWarnings,
}

/// Converts a YAML document to JSON. Also returns the YAML that was actually parsed.
pub(crate) fn write(source: &str) -> Result<(Written, Cow<'_, str>), Unreadable> {
    let error = match Writer::new(source).document() {
        Ok(written) => return Ok((written, Cow::Borrowed(source))),
        Err(error @ Unreadable::Syntax { .. }) => error,
        Err(error) => return Err(error),
    };
    let Some(first) = source.find(is_refused) else { return Err(error) };
    let clean = source.replace(is_refused, "");
    let mut written = Writer::new(&clean).document()?;
    written.warnings.add(0, "control-characters", || {
        let count = source.matches(is_refused).count();
        let (line, _) = place(source, first);
        format!("YAML forbids control characters; dropped: {count}, starting on line {line}")
    });
    Ok((written, Cow::Owned(clean)))
}

/// Characters that YAML forbids unless they are escaped.
fn is_refused(sign: char) -> bool {
    sign.is_control() && !matches!(sign, '\t' | '\n' | '\r' | '\u{85}')
}

struct Writer<'t> {
    source: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    out: String,
    open: Vec<Open>,
    /// Positions in `out` of the keys of all open maps, innermost last.
    keys: Vec<(u32, u32)>,
    /// Anchored values by the parser's anchor id; `None` while a value is still being written.
    anchors: Vec<Option<Anchor>>,
    places: Vec<(u32, u32)>,
    warnings: ReadWarnings,
    /// Bytes that aliases and merge keys have added so far.
    added: usize,
    may_add: usize,
}

/// A list or map that is still being written.
struct Open {
    /// Offset of its opening bracket in `out`.
    start: usize,
    anchor: usize,
    /// Index in `keys` of its first key.
    keys: usize,
    /// Maps to merge into this one, in order of precedence.
    merged: Vec<String>,
    awaits: Awaits,
}

/// What an open list or map expects next.
#[derive(Clone, Copy)]
enum Awaits {
    Item,
    Key,
    Value,
    /// The value of `<<`, which is cut from `out` afterwards.
    Merge(Cut),
    /// The end of a key that is a list or map, which is cut from `out` afterwards.
    KeyEnd(Cut),
}

/// The state to restore when the end of `out` is cut.
#[derive(Clone, Copy)]
struct Cut {
    /// The start of the cut part in the source.
    at: usize,
    out: usize,
    anchors: usize,
    places: usize,
}

/// The JSON text of an anchored value.
enum Anchor {
    Written {
        start: u32,
        end: u32,
    },
    /// The value was cut from `out`.
    Apart(String),
}

type Outcome = Result<(), Unreadable>;

impl<'t> Writer<'t> {
    fn new(source: &'t str) -> Writer<'t> {
        let options = granit_parser::options! {
            flow_nesting_limit: limits::DEPTH + 1,
            block_nesting_limit: limits::DEPTH + 1,
        };
        Writer {
            source,
            parser: Parser::new_from_str_with_options(source, options),
            out: String::with_capacity(source.len()),
            open: Vec::new(),
            keys: Vec::new(),
            anchors: Vec::new(),
            places: Vec::new(),
            warnings: ReadWarnings::default(),
            added: 0,
            may_add: limits::ALIAS_BYTES_FLOOR.max(source.len() * limits::ALIAS_FACTOR),
        }
    }

    fn document(mut self) -> Result<Written, Unreadable> {
        let mut second = None;
        loop {
            let (event, span) = match self.parser.next_event() {
                None | Some(Ok((Event::StreamEnd, _))) => break,
                Some(Ok(next)) => next,
                Some(Err(error)) => return Err(refused(&error, self.source)),
            };
            let at = span.byte_range().map_or(0, |range| range.start).min(self.source.len());
            match event {
                Event::DocumentStart(..) if !self.out.is_empty() => second = Some(at),
                // A trailing `---` starts an empty document.
                Event::Scalar(..) if second.is_some() && span.is_empty() => {}
                Event::Scalar(..)
                | Event::SequenceStart(..)
                | Event::MappingStart(..)
                | Event::Alias(..)
                | Event::SequenceEnd
                | Event::MappingEnd => {
                    if let Some(second) = second {
                        let (line, _) = place(self.source, second);
                        return Err(Unreadable::SeveralDocuments { line });
                    }
                    self.event(event, at)?;
                }
                _ => {}
            }
        }
        let Writer { out: text, places, warnings, .. } = self;
        if text.is_empty() {
            Err(Unreadable::Empty)
        } else {
            Ok(Written { text, places, warnings })
        }
    }

    fn event(&mut self, event: Event<'t>, at: usize) -> Outcome {
        if self.out.len() > limits::UNPACKED_BYTES {
            return Err(Unreadable::TooLarge { limit: limits::UNPACKED_BYTES });
        }
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let is_text = style != ScalarStyle::Plain
                    || tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
                if self.awaits_key() {
                    return self.scalar_key(&text, is_text, anchor, at);
                }
                self.begin(at);
                let start = self.out.len();
                self.scalar(&text, is_text);
                self.remember(anchor, start, at)?;
                self.end(at)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.enter('[', anchor, at);
                Ok(())
            }
            Event::MappingStart(_, anchor, _) => {
                self.enter('{', anchor, at);
                Ok(())
            }
            Event::SequenceEnd => self.leave(']', at),
            Event::MappingEnd => self.leave('}', at),
            Event::Alias(id) => self.alias(id, at),
            _ => Ok(()),
        }
    }

    fn awaits_key(&self) -> bool {
        matches!(self.open.last(), Some(Open { awaits: Awaits::Key, .. }))
    }

    fn cut(&self, at: usize) -> Cut {
        let (anchors, places) = (self.anchors.len(), self.places.len());
        Cut { at, out: self.out.len(), anchors, places }
    }

    /// Called before a value: writes a list's comma and handles keys that are not scalars.
    fn begin(&mut self, at: usize) {
        let cut = self.cut(at);
        let Some(open) = self.open.last_mut() else { return };
        match open.awaits {
            Awaits::Item if self.out.len() > open.start + 1 => self.out.push(','),
            Awaits::Key => open.awaits = Awaits::KeyEnd(cut),
            _ => {}
        }
    }

    /// Called after a value: updates the enclosing list or map.
    fn end(&mut self, at: usize) -> Outcome {
        let Some(open) = self.open.last_mut() else { return Ok(()) };
        match open.awaits {
            Awaits::Item | Awaits::Key => Ok(()),
            Awaits::Value => {
                open.awaits = Awaits::Key;
                Ok(())
            }
            Awaits::Merge(cut) => {
                open.awaits = Awaits::Key;
                self.merge(cut, at)
            }
            Awaits::KeyEnd(cut) => {
                let text = self.take(cut);
                self.charge(text.len(), at)?;
                let start = self.key(&text, cut.at);
                let message = || "a key that is a list or a map is read as text".to_owned();
                self.warnings.add(start, "yaml-key", message);
                Ok(())
            }
        }
    }

    fn enter(&mut self, bracket: char, anchor: usize, at: usize) {
        self.begin(at);
        let awaits = if bracket == '{' { Awaits::Key } else { Awaits::Item };
        let (start, keys) = (self.out.len(), self.keys.len());
        self.open.push(Open { start, anchor, keys, merged: Vec::new(), awaits });
        self.out.push(bracket);
    }

    fn leave(&mut self, bracket: char, at: usize) -> Outcome {
        let Some(open) = self.open.pop() else { return Ok(()) };
        if !open.merged.is_empty() {
            let merged = self.merged(&open);
            let comma = usize::from(self.out.len() == open.start + 1).min(merged.len());
            self.out.push_str(&merged[comma..]);
        }
        self.keys.truncate(open.keys);
        self.out.push(bracket);
        self.remember(open.anchor, open.start, at)?;
        self.end(at)
    }

    fn scalar_key(&mut self, text: &str, is_text: bool, anchor: usize, at: usize) -> Outcome {
        let cut = self.cut(at);
        if text == "<<" && !is_text {
            if let Some(open) = self.open.last_mut() {
                open.awaits = Awaits::Merge(cut);
            }
            return Ok(());
        }
        let start = self.key(text, at);
        self.remember(anchor, start, at)
    }

    /// Writes a key with its colon and returns its start offset.
    fn key(&mut self, text: &str, at: usize) -> usize {
        let Some(open) = self.open.last_mut() else { return 0 };
        open.awaits = Awaits::Value;
        if self.out.len() > open.start + 1 {
            self.out.push(',');
        }
        let start = self.out.len();
        self.places.push((start as u32, at as u32));
        write_string(&mut self.out, text);
        self.keys.push((start as u32, self.out.len() as u32));
        // `remember` excludes this colon from the text of an anchored key.
        self.out.push(':');
        start
    }

    fn scalar(&mut self, text: &str, is_text: bool) {
        let plain = if is_text { Plain::Text } else { plain(text) };
        match plain {
            Plain::Word(word) => self.out.push_str(word),
            Plain::Number(number) => self.out.push_str(&number),
            Plain::Text => write_string(&mut self.out, text),
            Plain::NotFinite => {
                let message = || format!("`{text}` is not a JSON number; it is kept as text");
                self.warnings.add(self.out.len(), "number", message);
                write_string(&mut self.out, text);
            }
        }
    }

    fn remember(&mut self, anchor: usize, start: usize, at: usize) -> Outcome {
        if anchor == 0 {
            return Ok(());
        }
        if anchor > limits::ANCHORS {
            let (line, _) = place(self.source, at);
            return Err(Unreadable::TooManyAnchors { line });
        }
        if self.anchors.len() <= anchor {
            self.anchors.resize_with(anchor + 1, || None);
        }
        let end = self.out.len() - usize::from(self.out.ends_with(':'));
        self.anchors[anchor] = Some(Anchor::Written { start: start as u32, end: end as u32 });
        Ok(())
    }

    fn alias(&mut self, id: usize, at: usize) -> Outcome {
        let text = match self.anchors.get(id) {
            Some(Some(Anchor::Written { start, end })) => {
                self.out[*start as usize..*end as usize].to_owned()
            }
            Some(Some(Anchor::Apart(text))) => text.clone(),
            _ => {
                let (line, column) = place(self.source, at);
                let message = "the alias refers to a value that contains it; write the value out";
                let message = message.to_owned();
                return Err(Unreadable::Syntax { line, column, message });
            }
        };
        // Merged aliases are charged in `merge`.
        if !matches!(self.open.last(), Some(Open { awaits: Awaits::Merge(_), .. })) {
            self.charge(text.len(), at)?;
        }
        if self.awaits_key() {
            let text = serde_json::from_str(&text).unwrap_or(text);
            self.key(&text, at);
            return Ok(());
        }
        self.begin(at);
        self.out.push_str(&text);
        self.end(at)
    }

    fn charge(&mut self, bytes: usize, at: usize) -> Outcome {
        self.added += bytes;
        if self.added <= self.may_add {
            return Ok(());
        }
        let (line, _) = place(self.source, at);
        Err(Unreadable::TooManyAliases { line, limit: self.may_add })
    }

    /// Cuts everything written since `cut`, preserving the anchored values in it.
    fn take(&mut self, cut: Cut) -> String {
        for anchor in self.anchors.iter_mut().skip(cut.anchors).flatten() {
            if let Anchor::Written { start, end } = *anchor {
                *anchor = Anchor::Apart(self.out[start as usize..end as usize].to_owned());
            }
        }
        self.places.truncate(cut.places);
        for warning in &mut self.warnings.kept {
            warning.at = warning.at.min(cut.out);
        }
        self.out.split_off(cut.out)
    }

    /// Handles the value of `<<`: a map or a list of maps, merged when the enclosing map ends.
    fn merge(&mut self, cut: Cut, at: usize) -> Outcome {
        let text = self.take(cut);
        self.charge(text.len(), at)?;
        let merged: Vec<String> = match text.as_bytes().first() {
            Some(b'{') => vec![text.clone()],
            Some(b'[') => members(&text).into_iter().map(str::to_owned).collect(),
            _ => vec![String::new()],
        };
        if merged.iter().all(|one| one.starts_with('{')) {
            if let Some(open) = self.open.last_mut() {
                open.merged.extend(merged);
            }
            return Ok(());
        }
        let start = self.key("<<", cut.at);
        let message = "`<<` takes a map or a list of maps; it is kept as an ordinary key";
        self.warnings.add(start, "yaml-merge", || message.to_owned());
        self.out.push_str(&text);
        self.end(at)
    }

    /// The merged entries whose keys the map does not have itself, each preceded by a comma.
    fn merged(&self, open: &Open) -> String {
        let own = self.keys[open.keys..].iter();
        let mut seen: HashSet<&str> =
            own.map(|(start, end)| &self.out[*start as usize..*end as usize]).collect();
        let mut entries = String::new();
        for entry in open.merged.iter().flat_map(|map| members(map)) {
            if seen.insert(&entry[..string_end(entry.as_bytes(), 0)]) {
                entries.push(',');
                entries.push_str(entry);
            }
        }
        entries
    }
}

fn refused(error: &ScanError, source: &str) -> Unreadable {
    let at = error.marker().byte_offset().unwrap_or(0).min(source.len());
    let (line, column) = place(source, at);
    let start = source[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let indent = source[start..].trim_start_matches(' ');
    let message = match error.kind() {
        ErrorKind::RecursionLimitExceeded => return Unreadable::TooDeep { line, column },
        _ if indent.starts_with('\t') => "a tab in the indentation; use spaces",
        ErrorKind::MappingValueNotAllowed => "unexpected `: `; put the value in quotes",
        ErrorKind::UnclosedQuotedScalar | ErrorKind::InvalidQuotedScalarIndent => {
            "unterminated quoted string; close it before this point"
        }
        ErrorKind::UnclosedFlowCollection { .. }
        | ErrorKind::ExpectedFlowMappingSeparator
        | ErrorKind::ExpectedFlowSequenceSeparator
        | ErrorKind::InvalidColonPlacement
        | ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofFlowSequence => {
            "unclosed bracket or missing comma before this point"
        }
        ErrorKind::InvalidIndentation
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::MappingKeyNotAllowed => "the indentation does not match the lines above",
        ErrorKind::UnknownAnchor => "an alias without an anchor; write the value out",
        _ => &error.info(),
    };
    let message = message.to_owned();
    Unreadable::Syntax { line, column, message }
}

/// Writes `text` as a JSON string literal.
fn write_string(out: &mut String, text: &str) {
    out.push('"');
    escape(text, |part| out.push_str(part));
    out.push('"');
}

/// The items or entries of a list or map as written by this module, without whitespace.
fn members(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut members = Vec::new();
    let (mut start, mut pos, mut depth) = (1, 1, 0);
    while pos < bytes.len() - 1 {
        match bytes[pos] {
            b'"' => {
                pos = string_end(bytes, pos);
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => {
                members.push(&text[start..pos]);
                start = pos + 1;
            }
            _ => {}
        }
        pos += 1;
    }
    if start < pos {
        members.push(&text[start..pos]);
    }
    members
}

/// The end of the string that starts at `pos`.
fn string_end(bytes: &[u8], pos: usize) -> usize {
    let mut end = pos + 1;
    loop {
        end += plain_prefix(&bytes[end..]);
        if bytes.get(end) != Some(&b'\\') {
            return end + 1;
        }
        end += 2;
    }
}

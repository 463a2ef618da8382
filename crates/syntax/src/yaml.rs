//! The YAML reader: turns parser events into a tree with positions, within limits, using the core
//! schema.
//!
//! It is stricter than YAML: no tags, no merge keys, one document, keys are scalars, numbers are
//! finite, and aliases may expand only to a fixed number of nodes.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, StrInput};

use crate::fault::{Faults, SyntaxFault, SyntaxResult, SyntaxRule};
use crate::json;
use crate::limits;
use crate::repair;
use crate::source::Source;
use crate::span::Span;
use crate::tree::{SyntaxKey, SyntaxKind, SyntaxNode};
use crate::yaml_fault;

/// Reads a YAML document. Faults that leave the structure intact go to `faults`.
pub fn read(source: &Source, faults: &mut Faults) -> SyntaxResult<SyntaxNode> {
    parse(source.text(), faults).map_err(|mut fault| {
        fault.mend = fault.mend.map(|mend| {
            let next = |text: &str| parse(text, &mut Faults::default()).err()?.mend;
            repair::with_further(source.text(), mend, next)
        });
        fault
    })
}

/// The parser, with our limits.
fn parser(text: &str) -> Parser<'_, StrInput<'_>> {
    let options = granit_parser::options! {
        flow_nesting_limit: limits::DEPTH + 1,
        block_nesting_limit: limits::DEPTH + 1,
        simple_key_max_lookahead: 1024,
    };
    Parser::new_from_str_with_options(text, options)
}

/// The offset at which `text` stops being valid YAML; its length if all of it is valid.
pub(crate) fn sound_until(text: &str) -> usize {
    let mut parser = parser(text);
    loop {
        match parser.next_event() {
            Some(Ok(_)) => {}
            Some(Err(error)) => return error.marker().byte_offset().unwrap_or(0),
            None => return text.len(),
        }
    }
}

fn parse(text: &str, faults: &mut Faults) -> SyntaxResult<SyntaxNode> {
    let mut reader = Reader {
        text,
        parser: parser(text),
        anchors: HashMap::new(),
        alias_nodes: 0,
        depth: 0,
        nodes: 0,
        faults,
    };
    reader.document()
}

struct Reader<'t, 'f> {
    text: &'t str,
    parser: Parser<'t, StrInput<'t>>,
    /// Anchored values with their sizes; a value that is too large for any alias is not kept.
    anchors: HashMap<usize, (Option<SyntaxNode>, usize)>,
    alias_nodes: usize,
    depth: usize,
    nodes: usize,
    faults: &'f mut Faults,
}

impl<'t> Reader<'t, '_> {
    fn next(&mut self) -> SyntaxResult<(Event<'t>, Span)> {
        loop {
            match self.parser.next_event() {
                Some(Ok((Event::Comment(..) | Event::Anchor(..), _))) => {}
                Some(Ok((event, span))) => return Ok((event, place(self.text, span))),
                Some(Err(error)) => return Err(yaml_fault::of(&error, self.text)),
                None => return Ok((Event::StreamEnd, Span::START)),
            }
        }
    }

    fn document(&mut self) -> SyntaxResult<SyntaxNode> {
        loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentStart(..), _) => {}
                (Event::StreamEnd, _) => {
                    return Ok(SyntaxNode { at: Span::START, kind: SyntaxKind::Null });
                }
                (event, at) => {
                    let node = self.node(event, at)?;
                    self.end_of_stream()?;
                    return Ok(node);
                }
            }
        }
    }

    fn end_of_stream(&mut self) -> SyntaxResult<()> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentStart(..), at) => {
                    let fault = SyntaxFault::new(at, "a second YAML document")
                        .expected("one workflow per file")
                        .suggest("move it into a separate file");
                    return Err(fault);
                }
                _ => {}
            }
        }
    }

    fn node(&mut self, event: Event<'t>, at: Span) -> SyntaxResult<SyntaxNode> {
        self.charge(at)?;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let bang =
                    tag.as_ref().and_then(|_| yaml_fault::bang(self.text, at.start as usize));
                if let Some(mend) = bang {
                    let fault = SyntaxFault::new(at, "`!` starts a YAML tag here");
                    return Err(fault.suggest("put the value in quotes").mend(mend));
                }
                let node = match tag {
                    Some(_) => SyntaxNode { at, kind: self.tagged(at) },
                    None => self.scalar(&text, style, at)?,
                };
                self.remember(anchor, &node)?;
                Ok(node)
            }
            Event::SequenceStart(_, anchor, ref tag) | Event::MappingStart(_, anchor, ref tag) => {
                let is_list = matches!(event, Event::SequenceStart(..));
                let mut node = if is_list { self.list(at)? } else { self.map(at)? };
                if tag.is_some() {
                    node.kind = self.tagged(at);
                }
                self.remember(anchor, &node)?;
                Ok(node)
            }
            Event::Alias(id) => self.alias(id, at),
            _ => {
                let fault = SyntaxFault::new(at, "a YAML value is missing here");
                Err(fault.suggest("put a value here"))
            }
        }
    }

    /// Keeps an anchored node with its size, so that an alias can be counted against the limit
    /// before the node is copied.
    fn remember(&mut self, anchor: usize, node: &SyntaxNode) -> SyntaxResult<()> {
        if anchor == 0 {
            return Ok(());
        }
        if self.anchors.len() == limits::ANCHORS {
            let message = format!("more than {} anchors", limits::ANCHORS);
            let fault = SyntaxFault::new(node.at, message);
            return Err(fault.suggest("write the values out"));
        }
        let size = node.count();
        let kept = (size <= limits::ALIAS_NODES).then(|| node.clone());
        self.anchors.insert(anchor, (kept, size));
        Ok(())
    }

    fn alias(&mut self, id: usize, at: Span) -> SyntaxResult<SyntaxNode> {
        let Some((node, size)) = self.anchors.get(&id) else {
            let fault = SyntaxFault::new(at, "an alias inside its own anchor")
                .suggest("write the value out");
            return Err(fault);
        };
        self.alias_nodes += size;
        let Some(node) = node.as_ref().filter(|_| self.alias_nodes <= limits::ALIAS_NODES) else {
            let limit = limits::ALIAS_NODES;
            let message = format!("aliases add up to more than {limit} values");
            let fault = SyntaxFault::new(at, message).suggest("write the values out");
            return Err(fault);
        };
        Ok(SyntaxNode { at, kind: node.kind.clone() })
    }

    fn enter(&mut self, at: Span) -> SyntaxResult<()> {
        self.depth += 1;
        if self.depth > limits::DEPTH {
            return Err(json::too_deep(at));
        }
        Ok(())
    }

    fn list(&mut self, at: Span) -> SyntaxResult<SyntaxNode> {
        self.enter(at)?;
        let mut items = Vec::new();
        let end = loop {
            match self.next()? {
                (Event::SequenceEnd, end) => break end,
                (event, at) => items.push(self.node(event, at)?),
            }
        };
        self.depth -= 1;
        let mut at = self.extent(at, end, items.last().map(|item| item.at));
        let first = items.first().map_or(at.start, |item| item.at.start) as usize;
        if !self.text[at.start as usize..].starts_with('[') {
            // Without indentation, the parser puts the start of the list at its first item, not at
            // the dash.
            at.start = self.text[..first].rfind('-').map_or(at.start, |dash| dash as u32);
        }
        Ok(SyntaxNode { at, kind: SyntaxKind::List(items) })
    }

    fn map(&mut self, at: Span) -> SyntaxResult<SyntaxNode> {
        self.enter(at)?;
        let mut entries = Vec::new();
        let mut merged = false;
        let end = loop {
            let key = match self.next()? {
                (Event::MappingEnd, end) => break end,
                (event, at) => self.key(event, at)?,
            };
            let (event, value_at) = self.next()?;
            let value = self.node(event, value_at)?;
            self.refuse_glued_colon(&key, &value)?;
            if key.name == "<<" && self.text[key.at.start as usize..].starts_with("<<") {
                merged = true;
                self.faults.add(|| {
                    SyntaxFault::new(key.at, "merge keys are not supported")
                        .suggest("write the merged keys out")
                });
            }
            entries.push((key, value));
        };
        self.depth -= 1;
        let start = entries.first().map_or(at, |(key, _)| key.at);
        let last = entries.last().map(|(key, node)| Span { start: key.at.end, end: node.at.end });
        let mut at = self.extent(at, end, last);
        if !self.text[at.start as usize..].starts_with('{') {
            at.start = start.start;
        }
        if merged {
            return Ok(SyntaxNode { at, kind: SyntaxKind::Bad });
        }
        json::report_duplicates(&entries, self.faults);
        Ok(SyntaxNode { at, kind: SyntaxKind::Map(entries) })
    }

    /// The full span of a collection. A flow collection ends at its bracket; a block collection
    /// ends where its last value ends, not where the parser noticed the end.
    fn extent(&self, at: Span, end: Span, last: Option<Span>) -> Span {
        let flow = matches!(self.text.as_bytes().get(at.start as usize), Some(b'{' | b'['))
            && end.end > end.start;
        let end = if flow { end.end } else { last.map_or(at.end, |last| last.end) };
        Span { start: at.start, end: end.max(at.start) }
    }

    fn charge(&mut self, at: Span) -> SyntaxResult<()> {
        self.nodes += 1;
        if self.nodes > limits::NODES { Err(json::too_many(at)) } else { Ok(()) }
    }

    fn key(&mut self, event: Event<'t>, at: Span) -> SyntaxResult<SyntaxKey> {
        self.charge(at)?;
        match event {
            Event::Scalar(_, _, _, Some(_)) => {
                self.tagged(at);
                Ok(SyntaxKey { name: String::new(), at })
            }
            Event::Scalar(text, style, anchor, None) => {
                if text.is_empty() && style == ScalarStyle::Plain {
                    let fault =
                        SyntaxFault::new(at, "a value without a key").suggest("write `key: value`");
                    return Err(fault);
                }
                let name = text.into_owned();
                let node = SyntaxNode { at, kind: SyntaxKind::Str(name.clone()) };
                self.remember(anchor, &node)?;
                Ok(SyntaxKey { name, at })
            }
            Event::Alias(id) => match self.alias(id, at)?.kind {
                SyntaxKind::Str(name) => Ok(SyntaxKey { name, at }),
                _ => Err(bad_key(at)),
            },
            _ => {
                // `x: {{ y }}`: braces without quotes are read as a map whose key is a map.
                if self.text[at.start as usize..].starts_with('{') {
                    return Err(self.unquoted_braces(at));
                }
                Err(bad_key(at))
            }
        }
    }

    fn unquoted_braces(&self, at: Span) -> Box<SyntaxFault> {
        let before = self.text[..at.start as usize].trim_end();
        let Some(outer) = before.strip_suffix('{').map(str::len) else { return bad_key(at) };
        let close = self.text[outer..].find("}}").map(|end| outer + end + 2);
        let Some(close) = close else { return bad_key(at) };
        let inside = self.text[at.start as usize + 1..close - 2].trim();
        let place = Span::new(outer, close);
        let inside = inside.replace('\\', "\\\\").replace('"', "\\\"");
        let fault = SyntaxFault::new(place, "`{{ }}` without quotes is a YAML map");
        // Text after the braces belongs inside the quotes too, but where it ends is uncertain.
        let rest = self.text[close..].lines().next().unwrap_or_default().trim();
        if !rest.is_empty() && !rest.starts_with(['#', ',', '}', ']']) {
            return fault.suggest("put the whole text in quotes");
        }
        // Guides use `{{ x }}`, and manifests use `${{ x }}`.
        let text = match self.text.lines().any(|line| line.starts_with("workflow:")) {
            true => format!("\"${{{{ {inside} }}}}\""),
            false => format!("\"{{{{{inside}}}}}\""),
        };
        fault.suggest(format!("write `{text}`")).edit(place, text)
    }

    /// Rejects `{id:5}`, which YAML reads as the key `id:5` without a value; no author means that.
    fn refuse_glued_colon(&self, key: &SyntaxKey, value: &SyntaxNode) -> SyntaxResult<()> {
        let source = &self.text[key.at.start as usize..key.at.end as usize];
        let empty = value.kind == SyntaxKind::Null && value.at.start == value.at.end;
        let colon = source.find(':').filter(|colon| colon + 1 < source.len());
        let Some(colon) = colon.filter(|_| empty && !source.starts_with(['"', '\''])) else {
            return Ok(());
        };
        let at = Span::new(key.at.start as usize + colon + 1, key.at.start as usize + colon + 1);
        let fault =
            SyntaxFault::new(key.at, format!("`{source}` is read as a key without a value"))
                .suggest("put a space after the colon")
                .edit(at, " ");
        Err(fault)
    }

    fn tagged(&mut self, at: Span) -> SyntaxKind {
        self.faults.add(|| yaml_fault::tag(self.text, at));
        SyntaxKind::Bad
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, at: Span) -> SyntaxResult<SyntaxNode> {
        if style != ScalarStyle::Plain {
            let block = matches!(style, ScalarStyle::Literal | ScalarStyle::Folded);
            let at = if block { self.block_scalar(at) } else { at };
            return Ok(SyntaxNode { at, kind: SyntaxKind::Str(text.to_owned()) });
        }
        Ok(SyntaxNode { at, kind: self.faults.past_number(plain(text, at))? })
    }

    /// The full span of a block scalar. The parser's span extends from the first word to the next
    /// token; ours starts at the `|` or `>` and ends after the last word.
    fn block_scalar(&self, at: Span) -> Span {
        let (start, end) = (at.start as usize, at.end as usize);
        let before = self.text[..start].trim_end();
        let (line_start, line) = yaml_fault::line_at(self.text, before.len());
        let is_header = |(sign, _): &(usize, &str)| {
            let rest = line[sign + 1..].trim_start_matches(|c: char| "+-0123456789".contains(c));
            rest.trim_start().is_empty() || rest.trim_start().starts_with('#')
        };
        let header = line.match_indices(['|', '>']).find(is_header);
        let start = header.map_or(start, |(sign, _)| line_start + sign);
        Span::new(start, start.max(self.text[..end].trim_end().len()))
    }
}

fn bad_key(at: Span) -> Box<SyntaxFault> {
    let fault = SyntaxFault::new(at, "a key that is a list or a map");
    fault.expected("a key that is text").suggest("put quotes around the value")
}

fn place(text: &str, span: granit_parser::Span) -> Span {
    let range = span.byte_range().unwrap_or(0..0);
    Span::new(range.start.min(text.len()), range.end.min(text.len()))
}

/// Reads a plain scalar by the core schema of YAML 1.2, in which `yes` is text; `010` stays text
/// too.
fn plain(text: &str, at: Span) -> SyntaxResult<SyntaxKind> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => SyntaxKind::Null,
        "true" | "True" | "TRUE" => SyntaxKind::Bool(true),
        "false" | "False" | "FALSE" => SyntaxKind::Bool(false),
        _ => match text.as_bytes()[0] {
            b'0'..=b'9' | b'-' | b'+' | b'.' => return numeric(text, at),
            _ => SyntaxKind::Str(text.to_owned()),
        },
    })
}

fn numeric(text: &str, at: Span) -> SyntaxResult<SyntaxKind> {
    let unsigned = text.trim_start_matches(['-', '+']);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Err(json::not_finite(at, text));
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8)] {
        if let Some(digits) = text.strip_prefix(prefix)
            && !digits.is_empty()
            && digits.chars().all(|digit| digit.is_digit(radix))
        {
            let value = i64::from_str_radix(digits, radix);
            return value.map(SyntaxKind::Int).map_err(|_| {
                let message = format!("`{text}` has too many digits");
                let fault = SyntaxFault::new(at, message).rule(SyntaxRule::Number);
                fault.suggest("put it in quotes")
            });
        }
    }
    let numeric = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && text.len() - unsigned.len() <= 1
        && looks_numeric(unsigned);
    if !numeric {
        return Ok(SyntaxKind::Str(text.to_owned()));
    }
    // `010` is ten in the core schema but eight elsewhere, so it stays text, as if quoted.
    let leading_zero = unsigned.len() > 1 && unsigned.bytes().all(|byte| byte.is_ascii_digit());
    if leading_zero && unsigned.starts_with('0') {
        return Ok(SyntaxKind::Str(text.to_owned()));
    }
    let literal = text.strip_prefix('+').unwrap_or(text);
    json::number(literal, at, |text| text.parse().ok())
}

/// Matches `[0-9]*(\.[0-9]*)?([eE][-+]?[0-9]+)?` with at least one digit before the exponent.
fn looks_numeric(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let mut digits = mantissa.chars().filter(|c| *c != '.');
    let dots = mantissa.matches('.').count();
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    dots <= 1
        && exponent_fits
        && mantissa.len() > dots
        && digits.all(|digit| digit.is_ascii_digit())
}

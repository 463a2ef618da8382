//! Explains in our own words what is wrong with invalid YAML, with the position of the actual
//! mistake and, if it is certain, a fix.
//!
//! The parser reports where it gave up, which for an unclosed quote or bracket may be many lines
//! after the mistake.

use granit_parser::{ErrorKind as Kind, ScanError};

use crate::fault::SyntaxFault;
use crate::json;
use crate::limits;
use crate::mend::Mend;
use crate::span::Span;
use crate::yaml;

/// The characters that may follow a backslash in a double-quoted string.
const ESCAPES: &str = "0abtnvfre\"/\\N_LPxuU \t\n";

/// Looks for one mistake around the offset where the parser gave up.
type Cause = fn(&Kind, &str, usize) -> Option<Box<SyntaxFault>>;

/// The mistakes to look for; the first one found is reported.
const CAUSES: &[Cause] = &[
    tab,
    trailing_comma,
    glued_dash,
    braces,
    glued_colon,
    unopened,
    too_deep,
    escape,
    open_quote,
    open_bracket,
    glued_in_flow,
    directive,
];

/// Turns a parser error into a fault.
pub(crate) fn of(error: &ScanError, text: &str) -> Box<SyntaxFault> {
    let offset = error.marker().byte_offset().unwrap_or(0).min(text.len());
    let rest = &text[offset..];
    if let Some(fault) = CAUSES.iter().find_map(|cause| cause(error.kind(), text, offset)) {
        return fault;
    }
    let (message, suggestion) = explain(error.kind(), &error.info(), rest);
    let fault = SyntaxFault::new(Span::new(offset, offset), message).suggest(suggestion);
    let quote =
        matches!(error.kind(), Kind::MappingValueNotAllowed | Kind::InvalidBlockScalarHeader)
            || rest.starts_with(['`', '@', '%']);
    match bang(text, offset).or_else(|| quoted_value(text, offset).filter(|_| quote)) {
        Some(mend) => fault.suggest("put the value in quotes").mend(mend),
        None => fault,
    }
}

/// The fault for a value with a tag; the tag comes before the position that the parser reports.
pub(crate) fn tag(text: &str, value: Span) -> Box<SyntaxFault> {
    let before = &text[..value.start as usize];
    let line = before.trim_end().rfind('\n').map_or(0, |newline| newline + 1);
    let mark = before[line..].rfind('!').map(|mark| &before[..=line + mark]);
    let start = mark.map_or(value.start as usize, |mark| mark.trim_end_matches('!').len());
    let length = text[start..].find(|c: char| c.is_whitespace() || ",]}".contains(c));
    let word = if mark.is_some() { &text[start..start + length.unwrap_or(0)] } else { "" };
    let at = Span::new(start, start + word.len());
    let fault = SyntaxFault::new(at, "YAML tags are not supported");
    let written = &text[value.start as usize..value.end as usize];
    match word {
        // A quoted value is already text.
        "!!str" if !written.starts_with(['"', '\'', '|', '>']) => {
            let text = serde_json::Value::from(written).to_string();
            fault.suggest("remove the tag").edit(Span::new(start, value.end as usize), text)
        }
        "!!str" | "!!int" | "!!float" | "!!bool" | "!!null" | "!!map" | "!!seq" => {
            let space = text[at.end as usize..].starts_with(' ');
            let end = at.end as usize + usize::from(space);
            fault.suggest("remove the tag").edit(Span::new(start, end), "")
        }
        _ => fault.suggest("write the value without the tag"),
    }
}

fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The start of the line that contains an offset, and the line without its line break.
pub(crate) fn line_at(text: &str, offset: usize) -> (usize, &str) {
    let start = line_start(text, offset);
    (start, text[start..].lines().next().unwrap_or(""))
}

/// A tab in the indentation of the faulty line or of an adjacent one.
fn tab(_: &Kind, text: &str, offset: usize) -> Option<Box<SyntaxFault>> {
    let (start, line) = line_at(text, offset);
    let before = line_at(text, start.saturating_sub(1));
    let newline = text[start..].find('\n');
    let after = line_at(text, newline.map_or(start, |newline| start + newline + 1));
    let lines = [(start, line), before, after];
    let (start, tab) = lines.iter().find_map(|(start, line)| {
        Some((*start, indentation(line).find('\t')?)).filter(|_| !line.trim().is_empty())
    })?;
    let at = Span::new(start + tab, start + tab + 1);
    let unit = indent_unit(text);
    let mut mends = Vec::new();
    let mut from = 0;
    for line in text.split_inclusive('\n') {
        // After spaces, a tab may be part of a block scalar; at the start of a line it cannot.
        if line.starts_with('\t') || from == start {
            let indent = indentation(line);
            let text = indent.replace('\t', &unit);
            mends.push(Mend::Edit { at: Span::new(from, from + indent.len()), text });
        }
        from += line.len();
    }
    let fault = SyntaxFault::new(at, "a tab in the indentation");
    Some(fault.suggest("indent with spaces").mend(Mend::All(mends)))
}

/// The whitespace at the start of a line.
fn indentation(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// One level of indentation, judging by the lines of the document that are indented with spaces.
fn indent_unit(text: &str) -> String {
    let spaces = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let least = text.lines().map(spaces).filter(|count| *count > 0).min().unwrap_or(2);
    " ".repeat(least.clamp(2, 8))
}

/// `if: !steps.a.output.ok` is a tag in YAML, but a negation to its author.
pub(crate) fn bang(text: &str, offset: usize) -> Option<Mend> {
    // This is called for every tag, so do not search for the start of a line that is too long for
    // such a key.
    let from = offset.saturating_sub(limits::NEGATION_COLUMN_BYTES);
    let near = &text[text.floor_char_boundary(from)..offset];
    if offset > limits::NEGATION_COLUMN_BYTES && !near.contains('\n') {
        return None;
    }
    let (_, line) = line_at(text, offset);
    let (key, value) = line.split_once(": ")?;
    let key = key.trim().trim_start_matches("- ");
    let takes_expression = matches!(key, "if" | "when" | "until" | "check");
    let negates = value.trim_start().starts_with('!');
    (takes_expression && negates).then(|| quoted_value(text, offset))?
}

/// `{id:"5"}`: the parser may give up several lines later, because it mistakes the closing quote
/// for an opening one. Reported only if a space after the colon lets the parser get past that
/// point.
fn glued_in_flow(_: &Kind, text: &str, offset: usize) -> Option<Box<SyntaxFault>> {
    let mut end = offset;
    for _ in 0..limits::LOOK_BACK_LINES {
        let (start, line) = line_at(text, end);
        if let Some(colon) = colon_in_flow(line) {
            let at = start + colon + 1;
            let mended = format!("{} {}", &text[..at], &text[at..]);
            let is_mended = yaml::sound_until(&mended) > offset + 1;
            return is_mended.then(|| no_space(Span::new(at, at), at));
        }
        end = start.checked_sub(1)?;
    }
    None
}

/// The fault for a colon without a space after it; the fix inserts the space at `place`.
fn no_space(at: Span, place: usize) -> Box<SyntaxFault> {
    SyntaxFault::new(at, "no space after the colon")
        .suggest("put a space after the colon")
        .edit(Span::new(place, place), " ")
}

/// `%YAML 1.1` and other directives.
fn directive(_: &Kind, text: &str, offset: usize) -> Option<Box<SyntaxFault>> {
    text[line_start(text, offset)..].starts_with('%').then(|| {
        SyntaxFault::new(Span::new(offset, offset), "YAML directives are not supported")
            .expected("YAML 1.2 without directives")
            .suggest("remove the line that starts with `%`")
    })
}

/// The first colon on this line that follows a key in a flow map and is directly followed by a
/// quote or bracket.
fn colon_in_flow(line: &str) -> Option<usize> {
    line.match_indices(':').map(|(colon, _)| colon).find(|colon| {
        let word = line[..*colon].trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
        word.len() < *colon
            && word.trim_end().ends_with(['{', ','])
            && line[colon + 1..].starts_with(['"', '\'', '{', '['])
    })
}

/// `{id: ${{ x }}}`: inside `{ }` and `[ ]`, an expression needs quotes.
fn braces(_: &Kind, text: &str, offset: usize) -> Option<Box<SyntaxFault>> {
    let rest = &text[offset..];
    let start = offset
        .checked_sub(1)
        .filter(|dollar| text.as_bytes()[*dollar] == b'$' && rest.starts_with("{{"))?;
    let line = text[start..].lines().next()?;
    let (at, quoted) = quoted_expressions(line)?;
    let at = Span::new(start, start + at);
    Some(
        SyntaxFault::new(at, "`${{ }}` without quotes inside a flow collection")
            .suggest(format!("write `{quoted}`"))
            .edit(at, quoted),
    )
}

/// The length of the text up to the end of its last unquoted expression, and that text with every
/// expression quoted; a closing quote without an opening one is ignored.
fn quoted_expressions(text: &str) -> Option<(usize, String)> {
    let mut quoted = String::new();
    let mut done = 0;
    while let Some(found) = text[done..].find("${{") {
        let open = done + found;
        let before = text[..open].chars().next_back();
        let Some(close) = text[open..].find("}}").map(|end| open + end + 2) else { break };
        if before.is_some_and(|sign| sign != ' ' && sign != '[') {
            break;
        }
        quoted.push_str(&text[done..open]);
        quoted.push_str(&serde_json::Value::from(&text[open..close]).to_string());
        done = close + usize::from(text[close..].starts_with('"'));
    }
    (done > 0).then_some((done, quoted))
}

/// `key:value`, `key:{…}` or `{key:"value"}`, on the line where the parser gave up or above it.
fn glued_colon(kind: &Kind, text: &str, offset: usize) -> Option<Box<SyntaxFault>> {
    let mut lines = lines_up(text, offset).filter(|(_, line)| !line.trim().is_empty());
    let (key, colon) = match kind {
        Kind::SimpleKeyExpected | Kind::MappingValueNotAllowed => {
            lines.take(2).find_map(|(start, line)| glued_key(start, line))
        }
        Kind::InvalidTrailingDoubleQuotedScalar
        | Kind::InvalidTrailingSingleQuotedScalar
        | Kind::FlowMappingValueAdjacentCollection => lines
            .find_map(|(start, line)| glued_key(start, line).or_else(|| glued_quote(start, line))),
        _ => None,
    }?;
    Some(no_space(Span::new(key, colon + 1), colon + 1))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
}

/// The positions of the key and the colon in a line that starts with a key and has no space after
/// its colon.
fn glued_key(start: usize, line: &str) -> Option<(usize, usize)> {
    let key = line.trim_start_matches([' ', '-']);
    let from = start + line.len() - key.len();
    let colon = key.find(':').filter(|colon| is_word(&key[..*colon]))?;
    let glued = key[colon + 1..].starts_with(|c: char| !c.is_whitespace() && c != ':' && c != '/');
    glued.then_some((from, from + colon))
}

/// `{key:"value"}`: YAML allows the space to be omitted only after a quoted key.
fn glued_quote(start: usize, line: &str) -> Option<(usize, usize)> {
    line.match_indices(':').find_map(|(colon, _)| {
        let before = &line[..colon];
        let word = before.rfind(['{', ',', ' '])? + 1;
        let close = line[colon + 1..].starts_with(['"', '\'', '[', '{']);
        (close && is_word(&before[word..])).then_some((start + word, start + colon))
    })
}

/// `key: a: 1, b: 2}`: the opening brace is missing.
fn unopened(kind: &Kind, text: &str, offset: usize) -> Option<Box<SyntaxFault>> {
    if !matches!(kind, Kind::MappingValueNotAllowed) {
        return None;
    }
    let start = line_start(text, offset);
    let line = text[start..].lines().next()?;
    let more = line.matches('}').count() > line.matches('{').count();
    if !more || !line.trim_end().ends_with('}') {
        return None;
    }
    // `- a: 1, b: 2}` lacks the brace before its first key, `key: a: 1, b: 2}` after it.
    let first = line.split(',').next().unwrap_or(line);
    let value = match first.matches(": ").count() {
        1 => line.len() - line.trim_start_matches([' ', '-']).len(),
        _ => line.find(": ")? + 2,
    };
    let at = Span::new(start + value, start + value);
    let fault = SyntaxFault::new(at, "`}` closes a map that was never opened");
    Some(fault.suggest("put a `{` here").edit(at, "{"))
}

/// A line that is indented deeper than the one above, which already has a value and cannot have
/// children.
fn too_deep(kind: &Kind, text: &str, offset: usize) -> Option<Box<SyntaxFault>> {
    if !matches!(kind, Kind::MappingValueNotAllowed) {
        return None;
    }
    let mut lines = lines_up(text, offset).filter(|(_, line)| !line.trim().is_empty());
    let ((start, line), (_, above)) = (lines.next()?, lines.next()?);
    let column = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
    let (here, there) = (column(line), column(above));
    let scalar = above[there..].split_once(": ").is_some_and(|(key, _)| is_word(key));
    if here <= there || !scalar || line[here..].matches(": ").count() != 1 {
        return None;
    }
    let at = Span::new(start + here, start + here);
    let indent = Span::new(start, start + here);
    Some(
        SyntaxFault::new(at, "the indentation does not match the lines above")
            .suggest("align this line with its siblings")
            .edit(indent, " ".repeat(there)),
    )
}

/// `"\d"`: a backslash in double quotes that escapes nothing.
fn escape(kind: &Kind, text: &str, offset: usize) -> Option<Box<SyntaxFault>> {
    if !matches!(kind, Kind::UnknownQuotedScalarEscape) {
        return None;
    }
    // The parser points at the string or into it; the string starts on this line.
    let line = &text[line_start(text, offset)..];
    let open = line_start(text, offset) + line.find('"')?;
    let literal = double_quoted(&text[open..])?;
    let (first, mended) = json::literal_backslashes(literal, ESCAPES)?;
    let at = Span::new(open + first, open + first + 1);
    Some(
        SyntaxFault::new(at, "a backslash that escapes nothing")
            .expected("`\\\\` for a backslash")
            .suggest(format!("write `{mended}`"))
            .edit(Span::new(open, open + literal.len()), mended),
    )
}

/// The double-quoted literal at the start of `text`.
fn double_quoted(text: &str) -> Option<&str> {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, sign)| {
        let closes = *sign == '"' && !escaped;
        escaped = *sign == '\\' && !escaped;
        closes
    });
    end.map(|(end, _)| &text[..=end])
}

/// `title: "T",`: a JSON comma after a YAML value.
fn trailing_comma(kind: &Kind, text: &str, offset: usize) -> Option<Box<SyntaxFault>> {
    let behind = matches!(
        kind,
        Kind::InvalidTrailingDoubleQuotedScalar | Kind::InvalidTrailingSingleQuotedScalar
    );
    let (start, line) = line_at(text, offset);
    let comma = start + line.trim_end().strip_suffix(',')?.len();
    let at = Span::new(comma, comma + 1);
    (behind && comma >= offset).then(|| {
        SyntaxFault::new(at, "a comma at the end of the line")
            .suggest("remove the comma")
            .edit(at, "")
    })
}

/// `-id: x` on the faulty line or the one above: a key in YAML, but a list item to its author.
fn glued_dash(_: &Kind, text: &str, offset: usize) -> Option<Box<SyntaxFault>> {
    lines_up(text, offset).take(2).find_map(|(start, line)| {
        let item = line.trim_start();
        let key = item.strip_prefix('-')?.split(':').next()?;
        let word = !key.is_empty() && key.chars().all(|c| c.is_alphabetic() || c == '_');
        let dash = start + line.len() - item.len();
        let at = Span::new(dash, dash + 1);
        word.then(|| {
            SyntaxFault::new(at, "no space after the dash")
                .suggest("put a space after the dash")
                .edit(Span::new(dash + 1, dash + 1), " ")
        })
    })
}

/// The lines from the one that contains `offset` upwards, each with its start.
fn lines_up(text: &str, offset: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut end = Some(text[offset..].find('\n').map_or(text.len(), |end| offset + end));
    std::iter::from_fn(move || {
        let stop = end?;
        let start = line_start(text, stop);
        end = start.checked_sub(1);
        Some((start, &text[start..stop]))
    })
    .take(limits::CAUSE_LINES)
}

/// A quoted string that is not closed on its line, reported where it opens.
fn open_quote(kind: &Kind, text: &str, offset: usize) -> Option<Box<SyntaxFault>> {
    let quoted = matches!(
        kind,
        Kind::UnclosedQuotedScalar
            | Kind::InvalidQuotedScalarIndent
            | Kind::DocumentIndicatorInQuotedScalar
            | Kind::InvalidTrailingDoubleQuotedScalar
            | Kind::InvalidTrailingSingleQuotedScalar
    );
    if !quoted {
        return None;
    }
    let open = lines_up(text, offset)
        .find_map(|(start, line)| Opened::of(line).quote.map(|quote| start + quote))?;
    let fault = SyntaxFault::new(Span::new(open, open + 1), "an unclosed quoted string");
    Some(fault.suggest("close the quotes"))
}

/// A bracket that is not closed on its line although the next line does not belong inside it.
fn open_bracket(kind: &Kind, text: &str, offset: usize) -> Option<Box<SyntaxFault>> {
    let flow = matches!(
        kind,
        Kind::UnclosedFlowCollection { .. }
            | Kind::ExpectedFlowMappingSeparator
            | Kind::ExpectedFlowSequenceSeparator
            | Kind::InvalidColonPlacement
            | Kind::InvalidFlowScalarIndent
            | Kind::BlockEntryInFlowCollection
            | Kind::UnexpectedEofFlowMapping
            | Kind::UnexpectedEofFlowSequence
    );
    if !flow {
        return None;
    }
    let indent = |line: &str| line.len() - line.trim_start_matches([' ', '-']).len();
    let mut below: Option<&str> = None;
    for (start, line) in lines_up(text, offset) {
        let left = Opened::of(line).brackets.last().copied();
        let outside = below.is_none_or(|below| {
            indent(below) <= indent(line) && !below.trim_start().starts_with([']', '}'])
        });
        if let Some(bracket) = left.filter(|_| outside) {
            let at = Span::new(start + bracket, start + bracket + 1);
            let open = &line[bracket..=bracket];
            let fault = SyntaxFault::new(at, format!("`{open}` is not closed"));
            return Some(fault.suggest("close the bracket"));
        }
        if !line.trim().is_empty() {
            below = Some(line);
        }
    }
    None
}

/// Quotes and brackets that a line leaves open, judging by the line alone.
#[derive(Default)]
struct Opened {
    brackets: Vec<usize>,
    quote: Option<usize>,
}

impl Opened {
    fn of(line: &str) -> Opened {
        let mut opened = Opened::default();
        let mut quote: Option<(usize, char)> = None;
        let mut before = ' ';
        let mut signs = line.char_indices();
        while let Some((index, sign)) = signs.next() {
            match (quote, sign) {
                (Some((_, '"')), '\\') => drop(signs.next()),
                (Some((_, open)), _) if sign == open => quote = None,
                // Quotes only matter where a value starts.
                (None, '"' | '\'') if " [{,:-".contains(before) => quote = Some((index, sign)),
                (None, '#') if before == ' ' => break,
                (None, '[' | '{') if begins_value(&line[..index], &opened) => {
                    opened.brackets.push(index);
                }
                (None, ']' | '}') => drop(opened.brackets.pop()),
                _ => {}
            }
            before = sign;
        }
        opened.quote = quote.map(|(index, _)| index);
        opened
    }
}

/// A bracket opens a collection after `: `, `- `, another bracket or a comma.
fn begins_value(before: &str, opened: &Opened) -> bool {
    let text = before.trim_end();
    text.is_empty()
        || text.ends_with([':', '-'])
        || (!opened.brackets.is_empty() && text.ends_with(['[', '{', ',']))
}

/// The fix for `key: a value: with a colon`: quotes around everything after the first `: `.
fn quoted_value(text: &str, offset: usize) -> Option<Mend> {
    let (start, line) = line_at(text, offset);
    let value = line.find(": ")? + 2;
    // In a flow map, it is unclear where the value ends.
    if line[..value].contains(['{', '[', '"', '\'']) {
        return None;
    }
    let words = line[value..].split(" #").next()?.trim();
    if words.is_empty() || words.starts_with(['"', '\'', '[', '{', '&', '*', '#']) {
        return None;
    }
    let from = start + value + (line[value..].len() - line[value..].trim_start().len());
    let quoted = serde_json::Value::from(words).to_string();
    Some(Mend::Edit { at: Span::new(from, from + words.len()), text: quoted })
}

/// Rephrases a parser error, with a suggestion.
fn explain(kind: &Kind, words: &str, rest: &str) -> (String, &'static str) {
    if rest.starts_with(['`', '@', '%']) {
        let message = format!("a value cannot start with `{}`", &rest[..1]);
        return (message, "put the value in quotes");
    }
    let (message, suggestion) = match kind {
        Kind::RecursionLimitExceeded => ("nested deeper than 64 levels", "flatten the document"),
        Kind::MappingValueNotAllowed => ("a second `: ` on this line", "put the value in quotes"),
        Kind::UnknownAnchor => ("an alias without its anchor", "write the value out"),
        Kind::UnclosedQuotedScalar => ("an unclosed quoted string", "close the quotes"),
        Kind::UnclosedFlowCollection { open } => {
            return (format!("`{open}` is not closed"), "close the bracket");
        }
        Kind::InvalidIndentation
        | Kind::ExpectedBlockMappingKey
        | Kind::ExpectedBlockSequenceEntry
        | Kind::ExpectedDocumentStart
        | Kind::MappingKeyNotAllowed => {
            ("the indentation does not match the lines above", "align this line with its siblings")
        }
        Kind::ExpectedFlowMappingSeparator | Kind::ExpectedFlowSequenceSeparator => {
            ("missing `,` or closing bracket", "separate the items with `,`")
        }
        Kind::UnknownQuotedScalarEscape => {
            ("an unknown escape in a quoted string", "use single quotes, or write `\\\\`")
        }
        Kind::MismatchedFlowCollectionEnd { open, close } => {
            let message = format!("`{open}` is closed by `{close}`");
            return (message, "close each bracket with the matching one");
        }
        Kind::MisplacedFlowCollectionEnd => {
            ("a closing bracket without an opening one", "add an opening one, or remove it")
        }
        Kind::InvalidBlockScalarHeader => {
            ("a value cannot start with `>` or `|`", "put the value in quotes")
        }
        _ if words.contains("surrogate") => {
            ("half of a surrogate pair", "write the character itself")
        }
        _ if words.contains("unexpected character") => {
            ("a control character", "write it as an escape in double quotes")
        }
        Kind::SimpleKeyExpected => ("a line without `:`", "write `key: value`"),
        _ => {
            let then = "check the indentation and the quotes of this line and the one before";
            return (format!("YAML syntax error: {words}"), then);
        }
    };
    (message.to_owned(), suggestion)
}

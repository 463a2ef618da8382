//! One entry in a map of a YAML file, put in, replaced or taken out by its lines; every other byte
//! stays. Maps in braces are left alone.

use std::ops::Range;

use milepost_model::reading;
use milepost_model::tree::{Key, Kind, Node};
use serde_json::{Map, Value};

use super::edit::{Edit, Fault, indentation, is_first_in_line, line_start, newline, next_line};
use super::slot::Slot;

/// How far a map stands in from its key where nothing shows it.
const STEP: &str = "  ";

/// What the whole file says.
pub(super) fn value(text: &str) -> Result<Value, Fault> {
    Ok(parse(text)?.to_value())
}

/// What to write by hand.
pub(super) fn snippet(slot: &Slot, entry: &Map<String, Value>) -> String {
    let (parent, block) = (slot.parent, block(slot, entry, STEP, STEP));
    format!("{parent}:\n{block}")
}

/// Puts an entry behind the last one.
pub(super) fn insert(
    text: &str,
    slot: &Slot,
    entry: &Map<String, Value>,
) -> Result<Vec<Edit>, Fault> {
    let root = parse(text)?;
    let Some((key, parent)) = root.entry(slot.parent) else {
        let indent = root.entries().first().map_or("", |(key, _)| indentation(text, start(key)));
        refuse_braces(text, &root)?;
        let inner = format!("{indent}{STEP}");
        let lines = format!("{indent}{}:\n{}", slot.parent, block(slot, entry, &inner, STEP));
        return Ok(vec![below(text, text.len(), &lines)]);
    };
    own_line(text, key)?;
    let (Some((first, model)), Some(last)) = (parent.entries().first(), parent.entries().last())
    else {
        return into_empty(text, (key, parent), slot, entry);
    };
    refuse_braces(text, parent)?;
    own_line(text, first)?;
    let indent = indentation(text, start(first));
    let lines = block(slot, entry, indent, step(text, first, model).unwrap_or(STEP));
    Ok(vec![below(text, next_line(text, end_of(text, &last.0, &last.1)), &lines)])
}

/// Lets an entry say something else.
pub(super) fn replace(
    text: &str,
    slot: &Slot,
    entry: &Map<String, Value>,
) -> Result<Vec<Edit>, Fault> {
    let root = parse(text)?;
    let ((_, parent), (key, node)) = found(text, &root, slot)?;
    refuse_braces(text, parent)?;
    let Range { start: from, end } = lines_of(text, key, node);
    let unit = step(text, key, node).unwrap_or(STEP);
    let new = with_ends(text, &block(slot, entry, indentation(text, start(key)), unit));
    let whole = text[from..end].ends_with('\n');
    let new = if whole { new } else { new.trim_end().to_owned() };
    Ok(vec![Edit { start: from, end, text: new }])
}

/// Takes an entry out, and with `parent_too` the key that held it alone.
pub(super) fn remove(text: &str, slot: &Slot, parent_too: bool) -> Result<Vec<Edit>, Fault> {
    let root = parse(text)?;
    let ((parent_key, parent), (key, node)) = found(text, &root, slot)?;
    refuse_braces(text, parent)?;
    let lines = lines_of(text, key, node);
    if parent.entries().len() > 1 {
        return Ok(vec![without_lines(text, lines)]);
    }
    let below = next_line(text, end(parent_key));
    if parent_too && below == lines.start {
        let head = line_start(text, start(parent_key));
        return Ok(vec![without_lines(text, head..lines.end)]);
    }
    let colon = end(parent_key) + text[end(parent_key)..].find(':').unwrap_or(0) + 1;
    Ok(vec![Edit::insert(colon, " {}"), without_lines(text, lines)])
}

fn parse(text: &str) -> Result<Node, Fault> {
    reading::yaml(text).map_err(|fault| {
        let line = text.split_inclusive('\n').take(fault.line as usize - 1);
        let start: usize = line.map(str::len).sum();
        let column = text[start..].chars().take(fault.column as usize - 1);
        Fault::new(start + column.map(char::len_utf8).sum::<usize>(), fault.message)
    })
}

type Entry<'n> = (&'n Key, &'n Node);

/// The map of entries and the entry in it, with their keys.
fn found<'n>(text: &str, root: &'n Node, slot: &Slot) -> Result<(Entry<'n>, Entry<'n>), Fault> {
    let missing = || Fault::new(0, format!("there is no `{}` in it", slot.name));
    let (parent_key, parent) = root.entry(slot.parent).ok_or_else(missing)?;
    let (key, node) = parent.entry(&slot.name).ok_or_else(missing)?;
    own_line(text, key)?;
    Ok(((parent_key, parent), (key, node)))
}

/// A key whose map says nothing: null, or `{}`.
fn into_empty(
    text: &str,
    (key, parent): Entry<'_>,
    slot: &Slot,
    entry: &Map<String, Value>,
) -> Result<Vec<Edit>, Fault> {
    if !matches!(parent.kind, Kind::Null | Kind::Map(_)) {
        return Err(Fault::new(start_of(parent), format!("`{}` must be a map", slot.parent)));
    }
    let indent = format!("{}{STEP}", indentation(text, start(key)));
    let lines = block(slot, entry, &indent, STEP);
    let at = next_line(text, end(key));
    let colon = end(key) + text[end(key)..].find(':').map_or(0, |colon| colon + 1);
    // What is written in its place goes; a comment behind it stays.
    let (from, to) = (colon, parent.at.end as usize);
    let spelled = to > from && to <= at && parent.at.start < parent.at.end;
    let mut edits = Vec::new();
    if spelled {
        edits.push(Edit::remove(from, to));
    }
    edits.push(below(text, at, &lines));
    Ok(edits)
}

fn refuse_braces(text: &str, node: &Node) -> Result<(), Fault> {
    match text[start_of(node)..].starts_with(['{', '[']) && !node.entries().is_empty() {
        true => Err(Fault::new(start_of(node), "a map in braces is not changed here")),
        false => Ok(()),
    }
}

fn own_line(text: &str, key: &Key) -> Result<(), Fault> {
    match is_first_in_line(text, start(key)) {
        true => Ok(()),
        false => Err(Fault::new(start(key), format!("`{}` has no line of its own", key.name))),
    }
}

/// How far the map of a key stands in from it.
fn step<'t>(text: &'t str, key: &Key, node: &Node) -> Option<&'t str> {
    let (first, _) = node.entries().first()?;
    let inner = indentation(text, start(first)).strip_prefix(indentation(text, start(key)))?;
    (!inner.is_empty() && is_first_in_line(text, start(first))).then_some(inner)
}

/// The lines of an entry.
fn lines_of(text: &str, key: &Key, node: &Node) -> Range<usize> {
    line_start(text, start(key))..next_line(text, end_of(text, key, node))
}

/// Where the text of an entry ends: contents of an alias stand somewhere else.
fn end_of(text: &str, key: &Key, node: &Node) -> usize {
    let here = &text[start_of(node)..];
    let whole = here.starts_with(['*', '{', '[']);
    let last = match &node.kind {
        Kind::Map(entries) if !whole => entries.last().map(|(key, node)| end_of(text, key, node)),
        Kind::List(items) if !whole => items.last().map(|item| end_of(text, key, item)),
        _ if node.at.start < node.at.end => Some(node.at.end as usize),
        _ => None,
    };
    last.unwrap_or(0).max(end(key))
}

fn start(key: &Key) -> usize {
    key.at.start as usize
}

fn end(key: &Key) -> usize {
    key.at.end as usize
}

fn start_of(node: &Node) -> usize {
    node.at.start as usize
}

/// Lines put in before the line that begins at an offset. A file whose last line does not end
/// keeps it so.
fn below(text: &str, at: usize, lines: &str) -> Edit {
    let lines = with_ends(text, lines);
    let unended = at == text.len() && !text.is_empty() && !text.ends_with('\n');
    match unended {
        true => Edit::insert(at, format!("{}{}", newline(text), lines.trim_end())),
        false => Edit::insert(at, lines),
    }
}

/// The counterpart: of lines that end the file without an end of their own, the one before goes.
fn without_lines(text: &str, lines: Range<usize>) -> Edit {
    let unended = lines.end == text.len() && !text.ends_with('\n');
    let before = text[..lines.start].strip_suffix('\n').filter(|_| unended);
    let start = before.map_or(lines.start, |text| text.strip_suffix('\r').unwrap_or(text).len());
    Edit::remove(start, lines.end)
}

fn with_ends(text: &str, lines: &str) -> String {
    lines.replace('\n', newline(text))
}

fn block(slot: &Slot, entry: &Map<String, Value>, indent: &str, step: &str) -> String {
    let mut lines = vec![format!("{indent}{}:", scalar(&slot.name))];
    let spelled = |value: &Value| value.as_str().map_or_else(|| value.to_string(), scalar);
    for (key, value) in entry {
        let items = value.as_array().filter(|items| !items.is_empty());
        match items {
            Some(items) => {
                lines.push(format!("{indent}{step}{key}:"));
                let item = |item| format!("{indent}{step}{step}- {}", spelled(item));
                lines.extend(items.iter().map(item));
            }
            None => lines.push(format!("{indent}{step}{key}: {}", spelled(value))),
        }
    }
    lines.join("\n") + "\n"
}

/// A text without quotes where it can mean nothing else.
fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _./-".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let word = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    match begins && !word && text.chars().all(plain) && !text.ends_with(' ') {
        true => text.to_owned(),
        // JSON is YAML.
        false => Value::from(text).to_string(),
    }
}

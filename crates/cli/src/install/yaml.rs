//! Adds, replaces or removes one entry in a map of a YAML file, leaving every other byte unchanged.
//! Flow maps (in braces) are not edited.

use std::ops::Range;

use milepost_syntax::tree::{SyntaxKey, SyntaxKind, SyntaxNode};
use milepost_syntax::untyped_tree;
use serde_json::{Map, Value};

use super::edit::{
    EditFault, Edits, TextEdit, indentation, is_first_in_line, line_start, newline, next_line,
};
use super::slot::EntrySlot;

/// The default indentation of a map.
const STEP: &str = "  ";

pub(super) fn value(text: &str) -> Result<Value, EditFault> {
    Ok(parse(text)?.to_value())
}

pub(super) fn snippet(slot: &EntrySlot, entry: &Map<String, Value>) -> String {
    let (parent, block) = (slot.parent, block(slot, entry, STEP, STEP));
    format!("{parent}:\n{block}")
}

/// Adds an entry after the last one.
pub(super) fn insert(text: &str, slot: &EntrySlot, entry: &Map<String, Value>) -> Edits {
    let root = parse(text)?;
    let Some((key, parent)) = root.entry(slot.parent) else {
        let indent =
            root.entries().first().map_or("", |(key, _)| indentation(text, key.at.range().start));
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
    let indent = indentation(text, first.at.range().start);
    let lines = block(slot, entry, indent, step(text, first, model).unwrap_or(STEP));
    Ok(vec![below(text, next_line(text, end_of(text, &last.0, &last.1)), &lines)])
}

pub(super) fn replace(text: &str, slot: &EntrySlot, entry: &Map<String, Value>) -> Edits {
    let root = parse(text)?;
    let ((_, parent), (key, node)) = found(text, &root, slot)?;
    refuse_braces(text, parent)?;
    let Range { start: from, end } = lines_of(text, key, node);
    let unit = step(text, key, node).unwrap_or(STEP);
    let new = with_ends(text, &block(slot, entry, indentation(text, key.at.range().start), unit));
    let whole = text[from..end].ends_with('\n');
    let new = if whole { new } else { new.trim_end().to_owned() };
    Ok(vec![TextEdit { start: from, end, text: new }])
}

/// Removes an entry and, with `parent_too`, its parent key if that contains nothing else.
pub(super) fn remove(text: &str, slot: &EntrySlot, parent_too: bool) -> Edits {
    let root = parse(text)?;
    let ((parent_key, parent), (key, node)) = found(text, &root, slot)?;
    refuse_braces(text, parent)?;
    let lines = lines_of(text, key, node);
    if parent.entries().len() > 1 {
        return Ok(vec![without_lines(text, lines)]);
    }
    let below = next_line(text, parent_key.at.range().end);
    if parent_too && below == lines.start {
        let head = line_start(text, parent_key.at.range().start);
        return Ok(vec![without_lines(text, head..lines.end)]);
    }
    let value = after_colon(text, parent_key);
    Ok(vec![TextEdit::insert(value, " {}"), without_lines(text, lines)])
}

fn parse(text: &str) -> Result<SyntaxNode, EditFault> {
    untyped_tree::yaml(text).map_err(|fault| {
        let line = text.split_inclusive('\n').take(fault.line as usize - 1);
        let start: usize = line.map(str::len).sum();
        let column = text[start..].chars().take(fault.column as usize - 1);
        EditFault::new(start + column.map(char::len_utf8).sum::<usize>(), fault.message)
    })
}

type Entry<'n> = (&'n SyntaxKey, &'n SyntaxNode);

/// The map of entries and the entry in it, with their keys.
fn found<'n>(
    text: &str,
    root: &'n SyntaxNode,
    slot: &EntrySlot,
) -> Result<(Entry<'n>, Entry<'n>), EditFault> {
    let missing = || EditFault::new(0, format!("it has no `{}`", slot.name));
    let (parent_key, parent) = root.entry(slot.parent).ok_or_else(missing)?;
    let (key, node) = parent.entry(&slot.name).ok_or_else(missing)?;
    own_line(text, key)?;
    Ok(((parent_key, parent), (key, node)))
}

/// Adds an entry to a key without entries: null, or `{}`.
fn into_empty(
    text: &str,
    (key, parent): Entry<'_>,
    slot: &EntrySlot,
    entry: &Map<String, Value>,
) -> Edits {
    if !matches!(parent.kind, SyntaxKind::Null | SyntaxKind::Map(_)) {
        let message = format!("`{}` must be a map", slot.parent);
        return Err(EditFault::new(parent.at.range().start, message));
    }
    let indent = format!("{}{STEP}", indentation(text, key.at.range().start));
    let lines = block(slot, entry, &indent, STEP);
    let at = next_line(text, key.at.range().end);
    // Remove the value but keep a comment after it.
    let (from, to) = (after_colon(text, key), parent.at.range().end);
    let is_spelled = to > from && to <= at && parent.at.start < parent.at.end;
    let spelled = is_spelled.then(|| TextEdit::remove(from, to));
    Ok(spelled.into_iter().chain([below(text, at, &lines)]).collect())
}

/// Where the value of a key starts.
fn after_colon(text: &str, key: &SyntaxKey) -> usize {
    let end = key.at.range().end;
    end + text[end..].find(':').map_or(0, |colon| colon + 1)
}

fn refuse_braces(text: &str, node: &SyntaxNode) -> Result<(), EditFault> {
    match text[node.at.range().start..].starts_with(['{', '[']) && !node.entries().is_empty() {
        true => Err(EditFault::new(node.at.range().start, "a map in braces cannot be edited")),
        false => Ok(()),
    }
}

fn own_line(text: &str, key: &SyntaxKey) -> Result<(), EditFault> {
    if is_first_in_line(text, key.at.range().start) {
        return Ok(());
    }
    let message = format!("`{}` is not on a line of its own", key.name);
    Err(EditFault::new(key.at.range().start, message))
}

/// The indentation of the map under a key, relative to the key.
fn step<'t>(text: &'t str, key: &SyntaxKey, node: &SyntaxNode) -> Option<&'t str> {
    let (first, _) = node.entries().first()?;
    let inner = indentation(text, first.at.range().start)
        .strip_prefix(indentation(text, key.at.range().start))?;
    (!inner.is_empty() && is_first_in_line(text, first.at.range().start)).then_some(inner)
}

/// The lines of an entry.
fn lines_of(text: &str, key: &SyntaxKey, node: &SyntaxNode) -> Range<usize> {
    line_start(text, key.at.range().start)..next_line(text, end_of(text, key, node))
}

/// The end of an entry's text; aliases are not followed, because their content is elsewhere.
fn end_of(text: &str, key: &SyntaxKey, node: &SyntaxNode) -> usize {
    let here = &text[node.at.range().start..];
    let whole = here.starts_with(['*', '{', '[']);
    let last = match &node.kind {
        SyntaxKind::Map(entries) if !whole => {
            entries.last().map(|(key, node)| end_of(text, key, node))
        }
        SyntaxKind::List(items) if !whole => items.last().map(|item| end_of(text, key, item)),
        _ if node.at.start < node.at.end => Some(node.at.range().end),
        _ => None,
    };
    last.unwrap_or(0).max(key.at.range().end)
}

/// Inserts lines at an offset. A file that does not end with a line break stays that way.
fn below(text: &str, at: usize, lines: &str) -> TextEdit {
    let lines = with_ends(text, lines);
    let unended = at == text.len() && !text.is_empty() && !text.ends_with('\n');
    match unended {
        true => TextEdit::insert(at, format!("{}{}", newline(text), lines.trim_end())),
        false => TextEdit::insert(at, lines),
    }
}

/// Removes lines. If the last line has no line break, the preceding line break is removed instead.
fn without_lines(text: &str, lines: Range<usize>) -> TextEdit {
    let unended = lines.end == text.len() && !text.ends_with('\n');
    let before = text[..lines.start].strip_suffix('\n').filter(|_| unended);
    let start = before.map_or(lines.start, |text| text.strip_suffix('\r').unwrap_or(text).len());
    TextEdit::remove(start, lines.end)
}

fn with_ends(text: &str, lines: &str) -> String {
    lines.replace('\n', newline(text))
}

fn block(slot: &EntrySlot, entry: &Map<String, Value>, indent: &str, step: &str) -> String {
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

/// A string, unquoted if it cannot be mistaken for anything else.
fn scalar(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || " _./-".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let word = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "null" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    match begins && !word && text.chars().all(plain) && !text.ends_with(' ') {
        true => text.to_owned(),
        // A JSON string is valid YAML.
        false => Value::from(text).to_string(),
    }
}

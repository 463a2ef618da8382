//! Adds, replaces or removes one table in a TOML file, leaving every other byte unchanged.

use std::ops::Range;

use serde_json::{Map, Value};
use toml_edit::{Document, Item};

use super::edit::{EditFault, Edits, TextEdit, line_start, newline, next_line};
use super::slot::EntrySlot;

pub(super) fn value(text: &str) -> Result<Value, EditFault> {
    parse(text)?;
    // Cannot fail: both parsers accept the same files.
    Ok(::toml::from_str(text).unwrap_or_default())
}

pub(super) fn snippet(slot: &EntrySlot, entry: &Map<String, Value>) -> String {
    block(slot, entry, "\n")
}

/// Adds a table at the end, after an empty line.
pub(super) fn insert(text: &str, slot: &EntrySlot, entry: &Map<String, Value>) -> Edits {
    let document = parse(text)?;
    if let Some(item) = document.get(slot.parent)
        && !item.is_table()
    {
        let at = item.span().map_or(0, |span| span.start);
        return Err(EditFault::new(
            at,
            format!("`{}` is not a table that can be extended", slot.parent),
        ));
    }
    let newline = newline(text);
    let gap = match text {
        "" => String::new(),
        _ if text.ends_with("\n\n") || text.ends_with("\n\r\n") => String::new(),
        _ if text.ends_with('\n') => newline.to_owned(),
        _ => newline.repeat(2),
    };
    Ok(vec![TextEdit::insert(text.len(), format!("{gap}{}", block(slot, entry, newline)))])
}

pub(super) fn replace(text: &str, slot: &EntrySlot, entry: &Map<String, Value>) -> Edits {
    let document = parse(text)?;
    let (lines, inline) = lines(text, &document, slot)?;
    let newline = newline(text);
    let new = match inline {
        true => {
            let pairs: Vec<String> = pairs(entry).collect();
            format!("{} = {{ {} }}{newline}", slot.name, pairs.join(", "))
        }
        false => block(slot, entry, newline),
    };
    let new = if text[lines.clone()].ends_with('\n') { new } else { new.trim_end().to_owned() };
    Ok(vec![TextEdit { start: lines.start, end: lines.end, text: new }])
}

/// Removes a table and the empty line before it.
pub(super) fn remove(text: &str, slot: &EntrySlot) -> Edits {
    let document = parse(text)?;
    let (lines, inline) = lines(text, &document, slot)?;
    let before = line_start(text, lines.start.saturating_sub(1));
    let apart = !inline && text[before..lines.start].trim().is_empty();
    Ok(vec![TextEdit::remove(if apart { before } else { lines.start }, lines.end)])
}

fn parse(text: &str) -> Result<Document<&str>, EditFault> {
    Document::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        EditFault::new(at, error.message().lines().next().unwrap_or("it is not valid TOML"))
    })
}

/// The lines of the entry, and whether it is a value in a table rather than a separate table.
fn lines(
    text: &str,
    document: &Document<&str>,
    slot: &EntrySlot,
) -> Result<(Range<usize>, bool), EditFault> {
    let other =
        || EditFault::new(0, format!("`{}` is written in a way that cannot be edited", slot.name));
    let servers = document.get(slot.parent).and_then(Item::as_table_like).ok_or_else(other)?;
    let (key, item) = servers.get_key_value(&slot.name).ok_or_else(other)?;
    let (start, end, inline) = match item {
        Item::Table(table) => {
            let header = table.span().filter(|span| !span.is_empty()).ok_or_else(other)?;
            (header.start, end_of(item).max(header.end), false)
        }
        Item::Value(_) => (key.span().ok_or_else(other)?.start, end_of(item), true),
        Item::None | Item::ArrayOfTables(_) => return Err(other()),
    };
    Ok((line_start(text, start)..next_line(text, end), inline))
}

/// The end of the last value in an item.
fn end_of(item: &Item) -> usize {
    let own = item.span().map_or(0, |span| span.end);
    let inner = match item {
        Item::Table(table) => table.iter().map(|(_, item)| end_of(item)).max(),
        Item::ArrayOfTables(tables) => {
            let all = tables.iter().flat_map(|table| table.iter().map(|(_, item)| end_of(item)));
            all.max()
        }
        Item::None | Item::Value(_) => None,
    };
    own.max(inner.unwrap_or(0))
}

fn block(slot: &EntrySlot, entry: &Map<String, Value>, newline: &str) -> String {
    let mut block = format!("[{}.{}]{newline}", slot.parent, slot.name);
    for pair in pairs(entry) {
        block.push_str(&pair);
        block.push_str(newline);
    }
    block
}

fn pairs(entry: &Map<String, Value>) -> impl Iterator<Item = String> {
    entry.iter().map(|(key, value)| format!("{key} = {}", spelled(value)))
}

fn spelled(value: &Value) -> String {
    match value {
        Value::String(text) => toml_edit::Value::from(text.as_str()).to_string(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(spelled).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

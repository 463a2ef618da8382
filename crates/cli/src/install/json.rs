//! Adds, replaces or removes one entry in an object of a JSON file, leaving every other byte
//! unchanged.

use std::ops::Range;

use milepost_syntax::json::document::JsonNode;
use serde_json::{Map, Value};

use super::edit::{EditFault, Edits, TextEdit, indentation, is_first_in_line, newline};
use super::jsonc::{self, Member};
use super::slot::EntrySlot;

/// The layout of a new value.
#[derive(Debug, Clone)]
enum Layout {
    /// Each member on its own line.
    Lines { newline: &'static str, unit: String },
    /// Everything on one line, with or without spaces.
    Line { blank: &'static str },
}

/// The value of the whole file.
pub(super) fn value(text: &str) -> Result<Value, EditFault> {
    Ok(jsonc::parse(text)?.map_or(Value::Null, |document| document.root().to_value()))
}

/// The snippet to paste by hand.
pub(super) fn snippet(slot: &EntrySlot, entry: &Map<String, Value>) -> String {
    let layout = Layout::Lines { newline: "\n", unit: "  ".to_owned() };
    render(&slot.whole(entry), &layout, "")
}

/// Adds an entry that does not exist yet.
pub(super) fn insert(text: &str, slot: &EntrySlot, entry: &Map<String, Value>) -> Edits {
    let Some(file) = ConfigText::read(text, slot)? else {
        let (newline, unit) = (newline(text), "  ".to_owned());
        let document = render(&slot.whole(entry), &Layout::Lines { newline, unit }, "");
        let before = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
        return Ok(vec![TextEdit::insert(text.len(), format!("{before}{document}{newline}"))]);
    };
    let (object, key, value) = match &file.parent {
        None => {
            let inner = Map::from_iter([(slot.name.clone(), Value::Object(entry.clone()))]);
            (&file.root, slot.parent, Value::Object(inner))
        }
        Some(parent) => (parent, slot.name.as_str(), Value::Object(entry.clone())),
    };
    Ok(match object.members.last() {
        Some(last) => file.behind(object, last, key, &value),
        None => file.alone(object, key, &value),
    })
}

/// Replaces the value of an existing entry.
pub(super) fn replace(text: &str, slot: &EntrySlot, entry: &Map<String, Value>) -> Edits {
    let file = ConfigText::read(text, slot)?.ok_or_else(is_empty)?;
    let (parent, index) = file.entry(slot)?;
    let member = &parent.members[index];
    let layout = file.layout(parent, Some(member));
    let new = render(&Value::Object(entry.clone()), &layout, indentation(text, member.start));
    Ok(vec![TextEdit { start: member.value.start, end: member.value.end, text: new }])
}

/// Removes an entry and, with `parent_too`, the object around it if it contains nothing else.
pub(super) fn remove(text: &str, slot: &EntrySlot, parent_too: bool) -> Edits {
    let file = ConfigText::read(text, slot)?.ok_or_else(is_empty)?;
    let (parent, index) = file.entry(slot)?;
    let whole = file.root.sole(slot.parent)?.filter(|_| parent_too && parent.members.len() == 1);
    Ok(match whole {
        Some(index) => take_out(text, &file.root, index),
        None => take_out(text, parent, index),
    })
}

fn is_empty() -> EditFault {
    EditFault::new(0, "the file is empty")
}

/// An object and its position in the file.
struct JsoncObject {
    at: Range<usize>,
    members: Vec<Member>,
}

impl JsoncObject {
    fn read(text: &str, node: JsonNode<'_>) -> Result<JsoncObject, EditFault> {
        let at = node.range();
        match jsonc::members(text, node) {
            Some(members) => Ok(JsoncObject { at, members }),
            None => Err(EditFault::new(at.start, "expected an object")),
        }
    }

    /// The member with this name. A duplicate name is an error, because readers disagree on which
    /// one counts.
    fn sole(&self, key: &str) -> Result<Option<usize>, EditFault> {
        let mut named = (0..self.members.len()).filter(|index| self.members[*index].key == key);
        let first = named.next();
        match named.next().map(|second| self.members[second].start) {
            Some(second) => Err(EditFault::new(second, format!("duplicate key `{key}`"))),
            None => Ok(first),
        }
    }
}

/// The text of a file, its root object, and the object that contains the entries, if there is one.
struct ConfigText<'t> {
    text: &'t str,
    root: JsoncObject,
    parent: Option<JsoncObject>,
}

impl<'t> ConfigText<'t> {
    /// Parses the text of a file; `None` if it contains only whitespace and comments.
    fn read(text: &'t str, slot: &EntrySlot) -> Result<Option<ConfigText<'t>>, EditFault> {
        let Some(document) = jsonc::parse(text)? else { return Ok(None) };
        let root = JsoncObject::read(text, document.root())?;
        let parent = root.sole(slot.parent)?.and_then(|_| document.root().get(slot.parent));
        let parent = parent.map(|parent| JsoncObject::read(text, parent)).transpose()?;
        Ok(Some(ConfigText { text, root, parent }))
    }

    /// The object that contains the entry, and the index of the entry in it.
    fn entry(&self, slot: &EntrySlot) -> Result<(&JsoncObject, usize), EditFault> {
        let missing = || EditFault::new(self.root.at.start, format!("it has no `{}`", slot.name));
        let parent = self.parent.as_ref().ok_or_else(missing)?;
        Ok((parent, parent.sole(&slot.name)?.ok_or_else(missing)?))
    }

    /// Adds a member after the last one in an object.
    fn behind(
        &self,
        object: &JsoncObject,
        last: &Member,
        key: &str,
        value: &Value,
    ) -> Vec<TextEdit> {
        let layout = self.layout(object, Some(last));
        let indent = indentation(self.text, last.start);
        let member = member(key, value, &layout, indent);
        let line = match &layout {
            Layout::Lines { newline, .. } => format!("{newline}{indent}{member}"),
            Layout::Line { blank } => format!("{blank}{member}"),
        };
        // Inserting after comments requires a new line, because a line comment extends to the end
        // of its line.
        let place = |end: usize| match &layout {
            Layout::Lines { .. } => jsonc::behind_comments(self.text, end),
            Layout::Line { .. } => end,
        };
        if let Some(comma) = last.comma {
            // The object uses a trailing comma, so the new member gets one too.
            return vec![TextEdit::insert(place(comma + 1), format!("{line},"))];
        }
        let end = last.value.end;
        vec![TextEdit::insert(end, ","), TextEdit::insert(place(end), line)]
    }

    /// Adds a member to an empty object.
    fn alone(&self, object: &JsoncObject, key: &str, value: &Value) -> Vec<TextEdit> {
        let layout = self.layout(object, None);
        let (start, end) = (object.at.start + 1, object.at.end - 1);
        let inside = &self.text[start..end];
        let outer = indentation(self.text, object.at.start);
        let comments = inside.trim_end();
        let inner = match &layout {
            Layout::Lines { unit, .. } => format!("{outer}{unit}"),
            Layout::Line { .. } => String::new(),
        };
        let new = member(key, value, &layout, &inner);
        match &layout {
            Layout::Line { .. } if comments.is_empty() => vec![TextEdit { start, end, text: new }],
            Layout::Lines { newline, .. } if comments.is_empty() => {
                let text = format!("{newline}{inner}{new}{newline}{outer}");
                vec![TextEdit { start, end, text }]
            }
            // The object contains only comments. After a line comment, the member needs a new line.
            Layout::Lines { newline, .. } if inside[comments.len()..].contains('\n') => {
                vec![TextEdit::insert(start + comments.len(), format!("{newline}{inner}{new}"))]
            }
            Layout::Line { .. } | Layout::Lines { .. } => {
                let new = member(key, value, &Layout::Line { blank: " " }, "");
                vec![TextEdit::insert(start + comments.len(), format!(" {new}"))]
            }
        }
    }

    /// The layout of an object's members; an empty object follows the rest of the file.
    fn layout(&self, object: &JsoncObject, last: Option<&Member>) -> Layout {
        let text = self.text;
        let first = self.root.members.first();
        let in_one_line = match last {
            Some(last) => !is_first_in_line(text, last.start),
            None => !text[self.root.at.clone()].contains('\n') && first.is_some(),
        };
        if in_one_line {
            let model = last.or(first);
            let apart = model.is_some_and(|one| text[one.start..one.value.start].ends_with(' '));
            return Layout::Line { blank: if apart { " " } else { "" } };
        }
        let step = |holder: &JsoncObject, member: &Member| {
            let outer = indentation(text, holder.at.start);
            let inner = indentation(text, member.start).strip_prefix(outer)?;
            let own_line = is_first_in_line(text, member.start);
            (own_line && !inner.is_empty()).then(|| inner.to_owned())
        };
        let unit = last.and_then(|last| step(object, last));
        let unit = unit.or_else(|| first.and_then(|first| step(&self.root, first)));
        Layout::Lines { newline: newline(text), unit: unit.unwrap_or_else(|| "  ".to_owned()) }
    }
}

/// Removes a member with its comma and surrounding whitespace.
fn take_out(text: &str, JsoncObject { at, members }: &JsoncObject, index: usize) -> Vec<TextEdit> {
    let member = &members[index];
    let inside = at.start + 1;
    let blank = inside + before(&text[inside..member.start]).len();
    let end = member.comma.map_or(member.value.end, |comma| comma + 1);
    let is_blank = |start: usize, end: usize| text[start..end].trim().is_empty();
    if members.len() == 1 && is_blank(inside, member.start) && is_blank(end, at.end - 1) {
        return vec![TextEdit::remove(inside, at.end - 1)];
    }
    if let Some(next) = members.get(index + 1)
        && !text[blank..next.start].contains('\n')
        && is_blank(end, next.start)
    {
        return vec![TextEdit::remove(member.start, next.start)];
    }
    let mut edits = vec![TextEdit::remove(blank, end)];
    // The last member: remove the comma before it, unless the object has a trailing comma.
    if index + 1 == members.len()
        && member.comma.is_none()
        && let Some(comma) = index.checked_sub(1).and_then(|index| members[index].comma)
    {
        edits.insert(0, TextEdit::remove(comma, comma + 1));
    }
    edits
}

/// Strips the whitespace before a member: its indentation and the preceding line break.
fn before(text: &str) -> &str {
    let line = text.trim_end_matches([' ', '\t']);
    match line.strip_suffix('\n') {
        Some(line) => line.strip_suffix('\r').unwrap_or(line),
        None => line,
    }
}

fn member(key: &str, value: &Value, layout: &Layout, indent: &str) -> String {
    let blank = match layout {
        Layout::Lines { .. } => " ",
        Layout::Line { blank } => blank,
    };
    format!("{}:{blank}{}", Value::from(key), render(value, layout, indent))
}

/// Serializes a value: objects over several lines, lists on one.
fn render(value: &Value, layout: &Layout, indent: &str) -> String {
    match (value, layout) {
        (Value::Object(members), Layout::Lines { newline, unit }) if !members.is_empty() => {
            let inner = format!("{indent}{unit}");
            let line = |(key, value): (&String, &Value)| {
                format!("{inner}{}", member(key, value, layout, &inner))
            };
            let lines: Vec<String> = members.iter().map(line).collect();
            format!("{{{newline}{}{newline}{indent}}}", lines.join(&format!(",{newline}")))
        }
        (Value::Object(members), Layout::Line { blank }) => {
            let all = members.iter().map(|(key, value)| member(key, value, layout, ""));
            format!("{{{}}}", all.collect::<Vec<_>>().join(&format!(",{blank}")))
        }
        (Value::Array(items), _) => {
            let blank = if let Layout::Line { blank } = layout { blank } else { " " };
            let all = items.iter().map(|item| render(item, layout, indent));
            format!("[{}]", all.collect::<Vec<_>>().join(&format!(",{blank}")))
        }
        _ => value.to_string(),
    }
}

//! Turns a tree edit into a fix: a JSON Patch, and the same change as edits to the author's text.
//!
//! An edit touches as few bytes as possible, and nothing is reserialized, so formatting and
//! comments survive.

use std::cmp::Reverse;

use serde_json::{Value, json};

use crate::limits;
use crate::mend::{Mend, SourceLocation};
use crate::repair;
use crate::source::{Format, Source};
use crate::source_map;
use crate::span::Span;
use crate::tree::{SyntaxKind, SyntaxNode, escape_pointer};

/// A change that fixes one violation.
#[derive(Debug, Clone, PartialEq)]
pub struct Fix {
    /// The change as a JSON Patch (RFC 6902); empty if the document does not parse yet.
    pub patch: Vec<Value>,
    /// The same change as edits to the text, in text order.
    pub edits: Vec<Edit>,
}

/// A replacement for a range of bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    pub at: Span,
    /// The replacement.
    pub text: String,
}

impl Fix {
    /// The fix as JSON, in the form that every interface shows.
    pub fn to_value(&self) -> Value {
        let edit =
            |edit: &Edit| json!({"start": edit.at.start, "end": edit.at.end, "text": edit.text});
        let edits: Vec<Value> = self.edits.iter().map(edit).collect();
        json!({"patch": self.patch, "edits": edits})
    }
}

/// The span of a location in the text.
pub fn locate(source: &Source, root: Option<&SyntaxNode>, place: SourceLocation) -> Span {
    let Some(inner) = place.inner else { return place.at };
    exact(source, root, place.at, inner).unwrap_or(place.at)
}

fn exact(source: &Source, root: Option<&SyntaxNode>, at: Span, inner: Span) -> Option<Span> {
    let node = root?.node_at(at);
    let key = || root?.owner_of(at).map(|(map, index)| map.entries()[index].0.name.as_str());
    let value = node.and_then(SyntaxNode::text).or_else(key)?;
    let slice = source.slice(at);
    let start = source_map::offset(slice, value, inner.start as usize)?;
    let end = source_map::offset(slice, value, inner.end as usize)?;
    Some(Span { start: at.start + start as u32, end: at.start + end.max(start) as u32 })
}

/// Turns a tree edit into a fix; `None` if it cannot be expressed as edits to this source.
pub fn of(
    mend: &Mend,
    source: &Source,
    root: Option<&SyntaxNode>,
    aliases: &[Alias],
) -> Option<Fix> {
    let mut fix = Fix { patch: vec![], edits: vec![] };
    if let Some(edits) = raw(mend) {
        fix.edits = edits;
    } else {
        Maker { source, root: root? }.add(mend, &mut fix)?;
        repeat_for_aliases(aliases, &mut fix);
    }
    fix.edits.sort_by_key(|edit| edit.at);
    (is_applicable(&fix.edits) && !changes_nothing(&fix.edits, source)).then_some(fix)
}

/// Whether no two edits overlap, since overlapping edits cannot both be applied.
fn is_applicable(edits: &[Edit]) -> bool {
    edits.windows(2).all(|two| two[0].at.end <= two[1].at.start)
}

/// Whether the edits leave the text unchanged.
fn changes_nothing(edits: &[Edit], source: &Source) -> bool {
    edits.iter().all(|edit| source.slice(edit.at) == edit.text)
}

/// The raw edits, if `mend` consists of nothing else.
fn raw(mend: &Mend) -> Option<Vec<Edit>> {
    match mend {
        Mend::Edit { at, text } => Some(vec![Edit { at: *at, text: text.clone() }]),
        Mend::All(mends) => {
            mends.iter().map(raw).collect::<Option<Vec<_>>>().map(|edits| edits.concat())
        }
        _ => None,
    }
}

/// The pointers of an anchored collection and of an alias to it.
pub type Alias = (String, String);

/// The aliases of a document.
pub fn aliases(source: &Source, root: &SyntaxNode) -> Vec<Alias> {
    let mut found = Vec::new();
    if source.format() == Format::Yaml && source.text().contains('*') {
        collect_aliases((source, root), root, "", &mut found);
    }
    found
}

fn collect_aliases(
    (source, root): (&Source, &SyntaxNode),
    node: &SyntaxNode,
    path: &str,
    found: &mut Vec<Alias>,
) {
    let first = match &node.kind {
        SyntaxKind::Map(entries) => entries.first().map(|(key, _)| key.at),
        SyntaxKind::List(items) => items.first().map(|item| item.at),
        _ => None,
    };
    if let (true, Some(first)) = (source.slice(node.at).starts_with('*'), first) {
        let child = root.pointer(first);
        let anchor = child.rsplit_once('/').map_or("", |(anchor, _)| anchor);
        found.push((anchor.to_owned(), path.to_owned()));
        return;
    }
    let entries = node.entries().iter().map(|(key, value)| (key.name.clone(), value));
    let items = node.items().iter().enumerate().map(|(at, item)| (at.to_string(), item));
    for (segment, inner) in entries.chain(items) {
        collect_aliases((source, root), inner, &child(path, &segment), found);
    }
}

/// Repeats a patch under an anchor for every alias of that anchor.
fn repeat_for_aliases(aliases: &[Alias], fix: &mut Fix) {
    for index in 0..fix.patch.len() {
        for (anchor, alias) in aliases {
            let mut op = fix.patch[index].clone();
            let moved = ["path", "from"].iter().all(|key| {
                let Some(path) = op[key].as_str() else { return true };
                let rest = path.strip_prefix(anchor.as_str());
                let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/'))
                else {
                    return false;
                };
                op[key] = format!("{alias}{rest}").into();
                true
            });
            if moved {
                fix.patch.push(op);
            }
        }
    }
}

/// Applies every fix that does not touch the edits of an earlier one; the others have to wait until
/// the document has been read again.
pub fn apply<'f>(text: &str, fixes: impl IntoIterator<Item = &'f Fix>) -> String {
    let mut taken: Vec<&Edit> = Vec::new();
    for fix in fixes {
        let free = |edit: &Edit| taken.iter().all(|other| !touches(edit.at, other.at));
        if fix.edits.iter().all(free) {
            taken.extend(&fix.edits);
        }
    }
    let edits: Vec<_> = taken.iter().map(|edit| (edit.at, edit.text.as_str())).collect();
    repair::spliced(text, &edits).0
}

/// Whether two edits overlap or are adjacent. If they are adjacent, the result may depend on their
/// order.
fn touches(one: Span, other: Span) -> bool {
    one.start <= other.end && other.start <= one.end
}

struct Maker<'s> {
    source: &'s Source,
    root: &'s SyntaxNode,
}

impl Maker<'_> {
    fn add(&self, mend: &Mend, fix: &mut Fix) -> Option<()> {
        match mend {
            Mend::RenameKey { key, to } => self.rename(*key, to, fix),
            Mend::Replace { at, value } => {
                let path = self.root.pointer(*at);
                fix.patch.push(json!({"op": "replace", "path": path, "value": value}));
                fix.edits.push(self.replacement(*at, value));
                Some(())
            }
            Mend::ReplaceText { place, text } => self.words(*place, text, fix),
            Mend::Remove { key } => {
                let (map, index) = self.root.owner_of(*key)?;
                let name = &map.entries()[index].0.name;
                // The parsed data contains a duplicate key only once, so there the patch has
                // nothing to remove.
                if map.entries().iter().filter(|(key, _)| key.name == *name).count() == 1 {
                    fix.patch.push(json!({"op": "remove", "path": self.root.pointer(*key)}));
                }
                fix.edits.push(self.removal(*key)?);
                Some(())
            }
            Mend::Insert { map, key, value } => {
                let path = child(&self.root.pointer(*map), key);
                fix.patch.push(json!({"op": "add", "path": path, "value": value}));
                fix.edits.push(self.insertion(self.root.node_at(*map)?, key, value)?);
                Some(())
            }
            Mend::Move { key, into, under, name } => {
                self.relocate((*key, name), *into, under.as_deref(), fix)
            }
            Mend::RemoveItem { at } => {
                fix.patch.push(json!({"op": "remove", "path": self.root.pointer(*at)}));
                fix.edits.push(self.item_removal(*at)?);
                Some(())
            }
            Mend::MoveItem { item, before } => self.move_item(*item, *before, fix),
            Mend::Edit { at, text } => {
                fix.edits.push(Edit { at: *at, text: text.clone() });
                Some(())
            }
            Mend::All(mends) => {
                // Replace text back to front, so that earlier offsets in the same string stay
                // valid.
                let mut mends: Vec<&Mend> = mends.iter().collect();
                mends.sort_by_key(|mend| match mend {
                    Mend::ReplaceText { place, .. } => Some(Reverse((place.at, place.inner))),
                    _ => None,
                });
                mends.iter().try_for_each(|mend| self.add(mend, fix))
            }
        }
    }

    fn rename(&self, key: Span, to: &str, fix: &mut Fix) -> Option<()> {
        let (owner, index) = self.root.owner_of(key)?;
        let (name, _) = &owner.entries()[index];
        // A patch identifies an entry by its key alone, so with a duplicate key it might move the
        // wrong one.
        let twice = owner.entries().iter().filter(|(other, _)| other.name == name.name).count() > 1;
        if twice || owner.get(to).is_some() {
            return None;
        }
        let key = name.at;
        let from = self.root.pointer(key);
        let parent = from.rfind('/').map_or("", |slash| &from[..slash]);
        fix.patch.push(json!({"op": "move", "from": from, "path": child(parent, to)}));
        let quote = self.source.slice(key).get(..1).filter(|quote| ["\"", "'"].contains(quote));
        let quote = quote.unwrap_or_default();
        fix.edits.push(Edit { at: key, text: format!("{quote}{to}{quote}") });
        Some(())
    }

    /// Replaces a node with a value in a form that is valid in both JSON and YAML.
    fn replacement(&self, at: Span, value: &Value) -> Edit {
        let before = self.source.text()[..at.start as usize].chars().next_back();
        let glued = at.start == at.end && before.is_some_and(|c| c == ':' || c == '-');
        let space = if glued { " " } else { "" };
        Edit { at, text: format!("{space}{}", self.written(value)) }
    }

    /// The value as a plain YAML scalar if it is a simple word, otherwise as JSON.
    fn written(&self, value: &Value) -> String {
        let plain = value.as_str().filter(|text| {
            self.source.format() == Format::Yaml
                && text.starts_with(|c: char| c.is_ascii_lowercase())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
                && !matches!(*text, "true" | "false" | "null")
        });
        plain.map_or_else(|| value.to_string(), str::to_owned)
    }

    fn words(&self, place: SourceLocation, text: &str, fix: &mut Fix) -> Option<()> {
        let inner = place.inner?;
        let node = self.root.node_at(place.at)?;
        let value = node.text()?;
        // A patch repeats the whole string, which would be unreadable for a very long one.
        if value.len() > limits::FIX_BYTES {
            return None;
        }
        let (start, end) = (inner.start as usize, inner.end as usize);
        let path = self.root.pointer(place.at);
        let before = fix.patch.iter().position(|op| op["op"] == "replace" && op["path"] == path);
        let so_far = before.and_then(|index| fix.patch[index]["value"].as_str()).unwrap_or(value);
        let changed = format!("{}{text}{}", so_far.get(..start)?, so_far.get(end..)?);
        let at = exact(self.source, Some(self.root), place.at, inner);
        let verbatim = at.filter(|at| self.source.slice(*at) == &value[start..end]);
        let edit = if let (Some(at), Some(text)) = (verbatim, self.fitting(place.at, text)) {
            Edit { at, text }
        } else {
            fix.edits.retain(|edit| !place.at.holds(edit.at));
            self.replacement(place.at, &Value::from(changed.as_str()))
        };
        if fix.edits.iter().any(|other| touches(edit.at, other.at)) {
            return None;
        }
        fix.edits.push(edit);
        let op = json!({"op": "replace", "path": path, "value": changed});
        match before {
            Some(index) => fix.patch[index] = op,
            None => fix.patch.push(op),
        }
        Some(())
    }

    /// The text escaped for this scalar; `None` if the scalar would need different quotes.
    fn fitting(&self, scalar: Span, text: &str) -> Option<String> {
        match self.source.slice(scalar).bytes().next()? {
            b'"' => {
                let quoted = Value::from(text).to_string();
                Some(quoted[1..quoted.len() - 1].to_owned())
            }
            b'\'' => Some(text.replace('\'', "''")),
            b'|' | b'>' => Some(text.to_owned()),
            _ => (!text.contains([':', '#', '\n', '"', '\'', '{', '}', '[', ']', ','])
                || self.source.slice(scalar).contains("${{"))
            .then(|| text.to_owned())
            .filter(|text| !text.contains(": ") && !text.contains(" #")),
        }
    }

    fn removal(&self, key: Span) -> Option<Edit> {
        let (map, index) = self.root.owner_of(key)?;
        let entries = map.entries();
        let key = entries[index].0.at;
        let end = entries[index].1.at.end.max(key.end);
        if self.is_flow(map) {
            let at = match (index.checked_sub(1), entries.get(index + 1)) {
                (_, Some((next, _))) => Span { start: key.start, end: next.at.start },
                (Some(previous), None) => {
                    let (name, value) = &entries[previous];
                    Span { start: value.at.end.max(name.at.end), end }
                }
                (None, None) => Span { start: key.start, end },
            };
            return Some(Edit { at, text: String::new() });
        }
        if entries.len() == 1 {
            return Some(Edit { at: Span { start: key.start, end }, text: "{}".into() });
        }
        Some(Edit { at: self.entry_lines(map, index)?, text: String::new() })
    }

    /// The span to cut for an entry of a block map: its whole lines, or less if there is a comment
    /// that does not belong to it.
    fn entry_lines(&self, map: &SyntaxNode, index: usize) -> Option<Span> {
        let (key, value) = map.entries().get(index)?;
        let end = value.at.end.max(key.at.end);
        let bare = Span { start: key.at.start, end };
        let (line, _) = self.source.line_of(key.at.start);
        let own_line = self.source.slice(Span { start: line, end: key.at.start }).trim().is_empty();
        let (_, line_end) = self.source.line_of(end.max(1) - 1);
        let remark = !self.source.slice(Span { start: end, end: line_end }).trim().is_empty();
        if own_line {
            return Some(if remark { bare } else { Span { start: line, end: line_end } });
        }
        // The first entry of a list item follows the dash, so the next entry has to take its place.
        let (next, _) = map.entries().get(index + 1)?;
        let between = Span { start: end, end: next.at.start };
        let blank = self.source.slice(between).trim().is_empty();
        Some(if blank { Span { start: key.at.start, end: next.at.start } } else { bare })
    }

    fn item_removal(&self, item: Span) -> Option<Edit> {
        let (list, index) = self.root.list_of(item)?;
        let items = list.items();
        if items.len() == 1 {
            return Some(Edit { at: list.at, text: "[]".into() });
        }
        let at = match (self.source.slice(list.at).starts_with('['), items.get(index + 1)) {
            (true, Some(next)) => Span { start: item.start, end: next.at.start },
            (true, None) => Span { start: items[index - 1].at.end, end: item.end },
            (false, _) => self.lines_of(list, index)?,
        };
        Some(Edit { at, text: String::new() })
    }

    /// The whole lines of a block list item, including its dash.
    fn lines_of(&self, list: &SyntaxNode, index: usize) -> Option<Span> {
        let dash = |item: &SyntaxNode| {
            let before = &self.source.text()[..item.at.start as usize];
            before.rfind('-').map(|dash| self.source.line_of(dash as u32).0)
        };
        let start = dash(list.items().get(index)?)?;
        let end = match list.items().get(index + 1) {
            Some(next) => dash(next)?,
            None => self.source.line_of(list.at.end.max(1) - 1).1,
        };
        Some(Span { start, end })
    }

    fn move_item(&self, item: Span, before: Span, fix: &mut Fix) -> Option<()> {
        let (list, from) = self.root.list_of(item)?;
        let (_, to) = self.root.list_of(before)?;
        let (path, target) = (self.root.pointer(item), self.root.pointer(before));
        fix.patch.push(json!({"op": "move", "from": path, "path": target}));
        if self.source.slice(list.at).starts_with('[') {
            let text = format!("{}, ", self.source.slice(item));
            fix.edits.push(Edit { at: Span { start: before.start, end: before.start }, text });
            fix.edits.push(self.item_removal(item)?);
            return Some(());
        }
        let (lines, place) = (self.lines_of(list, from)?, self.lines_of(list, to)?);
        let mut text = self.source.slice(lines).to_owned();
        if !text.ends_with('\n') {
            text.push('\n');
        }
        fix.edits.push(Edit { at: Span { start: place.start, end: place.start }, text });
        fix.edits.push(Edit { at: lines, text: String::new() });
        Some(())
    }

    fn insertion(&self, map: &SyntaxNode, key: &str, value: &Value) -> Option<Edit> {
        let SyntaxKind::Map(entries) = &map.kind else { return None };
        let json = self.source.format() == Format::Json;
        let name = if json { Value::from(key).to_string() } else { key.to_owned() };
        let pair = format!("{name}: {}", self.written(value));
        let Some((first, first_value)) = entries.first() else {
            return Some(Edit { at: map.at, text: format!("{{{pair}}}") });
        };
        if self.is_flow(map) {
            let at = Span { start: first.at.start, end: first.at.start };
            return Some(Edit { at, text: format!("{pair}, ") });
        }
        let column = self.source.position(first.at.start).1 as usize - 1;
        let indent = " ".repeat(column);
        let newline = if self.source.text().contains("\r\n") { "\r\n" } else { "\n" };
        let scalar = !matches!(first_value.kind, SyntaxKind::List(_) | SyntaxKind::Map(_));
        let (line, line_end) = self.source.line_of(first.at.start);
        // Insert after the first entry, unless it is the last line of a file without a final
        // newline.
        let ended = self.source.slice(Span { start: line, end: line_end }).ends_with('\n');
        if ended && scalar && line <= first_value.at.start && first_value.at.end < line_end {
            let at = Span { start: line_end, end: line_end };
            return Some(Edit { at, text: format!("{indent}{pair}{newline}") });
        }
        let at = Span { start: first.at.start, end: first.at.start };
        Some(Edit { at, text: format!("{pair}{newline}{indent}") })
    }

    fn relocate(
        &self,
        (key, name): (Span, &str),
        into: Span,
        under: Option<&str>,
        fix: &mut Fix,
    ) -> Option<()> {
        let (owner, index) = self.root.owner_of(key)?;
        let value = owner.entries()[index].1.to_value();
        let map = self.root.node_at(into)?;
        let path = self.root.pointer(into);
        let from = self.root.pointer(key);
        let edit = if let Some(under) = under.filter(|under| map.get(under).is_none()) {
            let nested = json!({ name: value });
            fix.patch.push(json!({"op": "add", "path": child(&path, under), "value": nested}));
            fix.patch.push(json!({"op": "remove", "path": from}));
            self.insertion(map, under, &nested)?
        } else {
            let (map, path) = match under {
                Some(under) => (map.get(under)?, child(&path, under)),
                None => (map, path),
            };
            fix.patch.push(json!({"op": "move", "from": from, "path": child(&path, name)}));
            self.insertion(map, name, &value)?
        };
        let removal = self.removal(key)?;
        if touches(edit.at, removal.at) {
            // The new entry would go exactly where the old one is removed, so one edit does both.
            return self.swap(&edit, &removal, fix);
        }
        fix.edits.extend([edit, removal]);
        Some(())
    }

    fn swap(&self, insertion: &Edit, removal: &Edit, fix: &mut Fix) -> Option<()> {
        let mut both = [insertion, removal];
        both.sort_by_key(|edit| edit.at);
        let [first, second] = both;
        if first.at.end > second.at.start {
            return None;
        }
        let between = self.source.slice(Span { start: first.at.end, end: second.at.start });
        let at = Span { start: first.at.start, end: second.at.end };
        fix.edits.push(Edit { at, text: format!("{}{between}{}", first.text, second.text) });
        Some(())
    }

    fn is_flow(&self, map: &SyntaxNode) -> bool {
        self.source.slice(map.at).starts_with('{')
    }
}

fn child(parent: &str, key: &str) -> String {
    format!("{parent}/{}", escape_pointer(key))
}

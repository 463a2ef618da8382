//! Chooses the item field that supplies a parameter. A field that does not exist or has the wrong
//! type is never chosen.

use std::borrow::Cow;

use milepost_syntax::json::document::JsonNode;

use super::Confidence;
use super::name::{self, Asks, SplitName};
use super::shape::{ItemField, ItemList, Shapes, ValueKind};
use crate::finding::below;
use crate::text::WordList;

/// The value that a parameter needs.
#[derive(Debug)]
pub(super) struct WantedValue<'d> {
    pub(super) name: SplitName,
    pub(super) kind: ValueKind,
    pub(super) format: Option<Cow<'d, str>>,
    pub(super) description: Cow<'d, str>,
    example: Option<Cow<'d, str>>,
}

/// An item field, as a JSON pointer into an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChosenField {
    pub(super) pointer: String,
    pub(super) confidence: Confidence,
}

/// Fields that replace a missing `id`.
const IDS: &[&str] = &["uuid", "guid", "gid", "sid", "uid", "identifier"];
/// Fields that serve as a human-readable label.
const LABELS: WordList = WordList(
    "name displayname title fullname label login username summary friendlyname subject email \
     description",
);
/// Formats whose values never identify a resource.
const SPECIAL: &[&str] = &["date", "date-time", "time", "duration", "uri", "url", "uri-reference"];

impl<'d> WantedValue<'d> {
    /// The value that a parameter needs; `None` if it is not a choice among existing resources.
    pub(super) fn new(
        shapes: &Shapes<'d>,
        name: &str,
        parameter: Option<JsonNode<'d>>,
        schema: Option<JsonNode<'d>>,
    ) -> Option<WantedValue<'d>> {
        let name = SplitName::new(name);
        if name.is_never_a_choice() {
            return None;
        }
        let schema = schema.and_then(|schema| shapes.core(schema));
        let kind = schema.map_or(ValueKind::Unknown, |schema| shapes.kind(schema));
        let has = |key| schema.is_some_and(|schema| schema.get(key).is_some());
        let format = schema.and_then(|schema| schema.get("format")?.text());
        if matches!(kind, ValueKind::Bool | ValueKind::List | ValueKind::Map)
            || ["enum", "const", "items"].into_iter().any(has)
            || format.as_deref().is_some_and(|format| SPECIAL.contains(&format))
        {
            return None;
        }
        let said = parameter.and_then(|parameter| parameter.get("description")?.text());
        let example = parameter.and_then(|parameter| parameter.get("example")?.text());
        let example = example.or_else(|| schema.and_then(|schema| schema.get("example")?.text()));
        Some(WantedValue { name, kind, format, description: said.unwrap_or_default(), example })
    }

    /// Whether a field can be sent as the parameter. Unless `strict`, a number is also accepted as
    /// text.
    fn takes(&self, shapes: &Shapes<'d>, field: &ItemField<'d>, strict: bool) -> bool {
        let kind = shapes.kind_of(field);
        let fits = match (self.kind, kind) {
            (_, ValueKind::Bool | ValueKind::List | ValueKind::Map | ValueKind::Unknown) => false,
            (ValueKind::Unknown, _) => {
                !strict || kind == ValueKind::Text || kind == ValueKind::Whole
            }
            (ValueKind::Text, kind) => !strict || kind == ValueKind::Text,
            (_, kind) => kind != ValueKind::Text,
        };
        let wrong_format = || {
            let is_uuid = self.format.as_deref() == Some("uuid");
            let format = shapes.text_of(field, "format");
            format.is_some_and(|said| SPECIAL.contains(&&*said) || (is_uuid && said != "uuid"))
        };
        // If the examples differ only in case, as `Animation` and `animation` do, the field is a
        // display name.
        let shown = || {
            let both = self.example.as_ref().zip(shapes.text_of(field, "example"));
            both.is_some_and(|(ours, theirs)| *ours != theirs && ours.eq_ignore_ascii_case(&theirs))
        };
        fits && !wrong_format() && !shown()
    }
}

/// Searches a list's fields for a suitable value.
pub(super) struct FieldSearch<'s, 'd> {
    pub(super) shapes: &'s mut Shapes<'d>,
    pub(super) list: &'s ItemList<'d>,
    pub(super) wanted: &'s WantedValue<'d>,
}

impl<'d> FieldSearch<'_, 'd> {
    /// The field that supplies the parameter, given the names of the listed resource.
    pub(super) fn field(&mut self, things: &[SplitName]) -> Option<ChosenField> {
        let found = match self.wanted.name.asks(things) {
            Asks::Key(key) => self.key(&key, things),
            Asks::Field(rest) => self.rest(&rest, things),
            Asks::Thing => self.thing(),
            Asks::Other => None,
        };
        found.or_else(|| self.metadata(things))
    }

    /// The field with exactly the parameter's name, regardless of what the list contains.
    pub(super) fn namesake(&self) -> Option<ChosenField> {
        let field = self.find(&self.wanted.name.letters(), false)?;
        Some(made(field, Confidence::Likely))
    }

    /// The field that a link in the document names.
    pub(super) fn linked(&self, key: &str) -> Option<ChosenField> {
        let field = self.list.fields.iter().find(|field| field.name == key)?;
        let takes = self.wanted.takes(self.shapes, field, false);
        takes.then(|| made(field, Confidence::Stated))
    }

    fn find(&self, letters: &str, strict: bool) -> Option<&ItemField<'d>> {
        let mut same = self.list.fields.iter().filter(|field| name::same(&field.name, letters));
        same.find(|field| self.wanted.takes(self.shapes, field, strict))
    }

    /// Whether there is a field with this name and any type.
    fn has(&self, letters: &str) -> bool {
        self.list.fields.iter().any(|field| name::same(&field.name, letters))
    }

    fn key(&self, key: &str, things: &[SplitName]) -> Option<ChosenField> {
        let named = |field| made(field, Confidence::Named);
        if let Some(field) = self.find(key, false) {
            return Some(named(field));
        }
        if self.has(key) {
            return None;
        }
        self.own_key(key, things).map(named).or_else(|| self.instead(key))
    }

    fn rest(&mut self, rest: &str, things: &[SplitName]) -> Option<ChosenField> {
        let letters = self.wanted.name.letters();
        if let Some(field) = self.find(&letters, false) {
            // If a group has an `id`, then its `group_id` identifies the group that it belongs to.
            let own = self.find(rest, true).filter(|_| rest == "id");
            return Some(match own {
                Some(own) => made(own, Confidence::Likely),
                None => made(field, Confidence::Named),
            });
        }
        if self.has(&letters) {
            return None;
        }
        if let Some(within) = self.within(rest) {
            return Some(within);
        }
        if let Some(field) = self.find(rest, false) {
            return Some(made(field, Confidence::Named));
        }
        if self.has(rest) {
            return None;
        }
        let own = self.own_key(rest, things).map(|field| made(field, Confidence::Named));
        own.or_else(|| self.instead(rest)).or_else(|| {
            // `subscription_exposed_id` is still an id.
            let key = self.wanted.name.last_key().filter(|key| *key != rest)?;
            self.find(key, true).map(|field| made(field, Confidence::Likely))
        })
    }

    /// Looks for the resource nested inside the items, which have different ids of their own.
    fn within(&mut self, rest: &str) -> Option<ChosenField> {
        let (thing, _) = self.wanted.name.thing_and_key()?;
        let list = self.list;
        let first = thing.bytes().next()?;
        let holds = |field: &&ItemField<'d>| {
            // Comparing the first letter avoids splitting every name.
            let mut letters = field.name.bytes().filter(u8::is_ascii_alphanumeric);
            letters.next().is_some_and(|letter| letter.eq_ignore_ascii_case(&first))
                && SplitName::new(&field.name).stem() == thing
                && self.shapes.kind_of(field) == ValueKind::Map
        };
        let outer = list.fields.iter().find(holds)?;
        let fields = self.shapes.inside(outer);
        let mut same = fields.iter().filter(|field| name::same(&field.name, rest));
        let field = same.find(|field| self.wanted.takes(self.shapes, field, false))?;
        let pointer = below(&below("", &outer.name), &field.name);
        Some(ChosenField { pointer, confidence: Confidence::Likely })
    }

    /// A resource's key under a longer name, such as `orderId` for `id`.
    fn own_key(&self, key: &str, things: &[SplitName]) -> Option<&ItemField<'d>> {
        let is_own = |field: &&ItemField<'d>| {
            let end = field.name.len().checked_sub(key.len());
            let ends = end.and_then(|end| field.name.get(end..));
            ends.is_some_and(|ends| ends.eq_ignore_ascii_case(key))
                && SplitName::new(&field.name).thing_and_key().is_some_and(|(thing, own)| {
                    own == key && things.iter().any(|name| name.stem() == thing)
                })
        };
        let mut own = self.list.fields.iter().filter(is_own);
        own.find(|field| self.wanted.takes(self.shapes, field, false))
    }

    /// A field with a synonymous name.
    fn instead(&self, key: &str) -> Option<ChosenField> {
        let others: &[&str] = match key {
            "id" => IDS,
            "identifier" | "uuid" | "guid" => &["id", "uuid", "guid"],
            "username" => &["login"],
            _ => &[],
        };
        let found = others.iter().find_map(|other| self.find(other, true));
        found.map(|field| made(field, Confidence::Likely))
    }

    /// Handles a parameter that only names a resource: the description may mention the field;
    /// otherwise, the best identifying field is used.
    fn thing(&self) -> Option<ChosenField> {
        // If there is an id, then `comment` in a comment is its text.
        let letters = self.wanted.name.letters();
        let named = self.find(&letters, true).filter(|_| !self.has("id"));
        let mut keys = name::keys_in(&self.wanted.description).into_iter();
        if let Some(field) = named.or_else(|| keys.find_map(|key| self.find(key, true))) {
            return Some(made(field, Confidence::Named));
        }
        // `name` is excluded, because it may be a display name or a whole path.
        let mut keys = name::KEYS.iter().filter(|key| *key != "name");
        let there = keys.find_map(|key| self.find(key, true));
        there.map(|field| made(field, Confidence::Likely))
    }

    /// Some APIs keep a resource's name in its `metadata`.
    fn metadata(&mut self, things: &[SplitName]) -> Option<ChosenField> {
        let list = self.list;
        let metadata = list.fields.iter().find(|field| field.name == "metadata")?;
        let by_name = match self.wanted.name.asks(things) {
            Asks::Key(key) => key == "name",
            Asks::Field(rest) => rest == "name",
            Asks::Thing => true,
            Asks::Other => false,
        };
        let inside = self.shapes.inside(metadata);
        let field = inside.iter().find(|field| field.name == "name")?;
        let takes = by_name && self.wanted.takes(self.shapes, field, true);
        takes.then(|| ChosenField {
            pointer: "/metadata/name".to_owned(),
            confidence: Confidence::Named,
        })
    }
}

/// The field that labels an item for people, other than the value itself.
pub(super) fn label(shapes: &Shapes<'_>, list: &ItemList<'_>, value: &str) -> Option<String> {
    let mut fields = LABELS.iter().filter_map(|label| {
        let mut same = list.fields.iter().filter(|field| name::same(&field.name, label));
        same.find(|field| shapes.kind_of(field) == ValueKind::Text)
    });
    let field = fields.find(|field| below("", &field.name) != value)?;
    Some(below("", &field.name))
}

fn made(field: &ItemField<'_>, confidence: Confidence) -> ChosenField {
    ChosenField { pointer: below("", &field.name), confidence }
}

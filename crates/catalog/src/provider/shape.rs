//! Response shapes: where the list is and which fields its items have. Schemas are read in place in
//! the document; none is converted.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use milepost_syntax::json::document::JsonNode;

use super::name::{self, SplitName};
use crate::finding::below;
use crate::import::WRAPPERS;
use crate::openapi::Api;
use crate::{limits, refs};

/// Names of maps that only wrap the response.
const ENVELOPES: &[&str] = &["data", "response", "result", "results", "embedded", "payload", "d"];
/// Names of lists that accompany the main one.
const ASIDE: &[&str] = &["error", "errors", "warning", "warnings", "links", "messages"];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueKind {
    Text,
    Whole,
    Number,
    Bool,
    List,
    Map,
    Unknown,
}

#[derive(Debug, Clone)]
pub(super) struct ItemField<'d> {
    pub(super) name: Cow<'d, str>,
    node: JsonNode<'d>,
}

/// A list in a response.
#[derive(Debug)]
pub(super) struct ItemList<'d> {
    /// JSON pointer to the list in the response.
    pub(super) at: String,
    /// The fields of an item.
    pub(super) fields: Rc<Vec<ItemField<'d>>>,
    /// The name of the item schema.
    pub(super) item_name: Option<SplitName>,
}

/// Inspects schemas, caching the result for each.
#[derive(Debug)]
pub(super) struct Shapes<'d> {
    api: &'d Api,
    fields: HashMap<u32, Rc<Vec<ItemField<'d>>>>,
}

impl<'d> Shapes<'d> {
    pub(super) fn new(api: &'d Api) -> Shapes<'d> {
        Shapes { api, fields: HashMap::new() }
    }

    /// The list in a response with this schema; `things` is the resource that the path names.
    pub(super) fn list(&mut self, schema: JsonNode<'d>, things: &str) -> Option<ItemList<'d>> {
        let things = SplitName::new(things).stem();
        self.list_within(schema, &things, "", 0)
    }

    fn list_within(
        &mut self,
        schema: JsonNode<'d>,
        things: &str,
        at: &str,
        depth: usize,
    ) -> Option<ItemList<'d>> {
        let schema = self.core(schema)?;
        if self.kind(schema) == ValueKind::List {
            return self.list_of(schema, at);
        }
        let fields = self.fields(schema);
        let lists: Vec<&ItemField<'d>> =
            fields.iter().filter(|field| self.kind_of(field) == ValueKind::List).collect();
        let of_things = |field: &&&ItemField<'d>| SplitName::new(&field.name).stem() == things;
        let wraps =
            |field: &&&ItemField<'d>| WRAPPERS.iter().any(|word| name::same(&field.name, word));
        let named = lists.iter().find(of_things).or_else(|| lists.iter().find(wraps));
        // A response with its own `id` is a single resource, and the lists in it are parts of that
        // resource.
        let is_thing = fields.iter().any(|field| name::same(&field.name, "id"));
        let only = || {
            let main =
                |field: &&&ItemField<'d>| !ASIDE.iter().any(|word| name::same(&field.name, word));
            let mut main = lists.iter().filter(main);
            let first = main.next().filter(|_| main.next().is_none() && !is_thing)?;
            // `category_groups` is not a list of categories.
            (!SplitName::new(&first.name).begins_with(things)).then_some(first)
        };
        if let Some(field) = named.or_else(only) {
            return self.list_of(field.node, &below(at, &field.name));
        }
        if depth > 0 {
            return None;
        }
        let envelope = fields.iter().find(|field| {
            ENVELOPES.iter().any(|word| name::same(&field.name, word))
                && self.kind_of(field) == ValueKind::Map
        })?;
        self.list_within(envelope.node, things, &below(at, &envelope.name), depth + 1)
    }

    fn list_of(&mut self, schema: JsonNode<'d>, at: &str) -> Option<ItemList<'d>> {
        let items = self.core(schema)?.get("items")?;
        let item_name = refs::target(items)
            .and_then(|target| target.rsplit('/').next().map(SplitName::of_schema));
        let item = self.core(items)?;
        let fields = self.fields(item);
        let list = ItemList { at: at.to_owned(), fields, item_name };
        (!list.fields.is_empty()).then_some(list)
    }

    /// Follows references and compositions that leave only one alternative.
    pub(super) fn core(&self, schema: JsonNode<'d>) -> Option<JsonNode<'d>> {
        let mut here = self.api.resolve(schema).ok()?;
        for _ in 0..limits::SCHEMA_LAYERS {
            if here.get("properties").is_some() || here.get("items").is_some() {
                return Some(here);
            }
            let layers = ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| here.get(key));
            let mut inner = layers.filter_map(|parts| only_one(parts));
            let Some(part) = inner.next() else { return Some(here) };
            here = self.api.resolve(part).ok()?;
        }
        Some(here)
    }

    /// The fields of a map; for a union, the fields common to all alternatives.
    fn fields(&mut self, schema: JsonNode<'d>) -> Rc<Vec<ItemField<'d>>> {
        if let Some(fields) = self.fields.get(&schema.index()) {
            return Rc::clone(fields);
        }
        let mut budget = limits::ITEM_SCHEMAS;
        let fields = Rc::new(self.gathered(schema, &mut budget, 0));
        self.fields.insert(schema.index(), Rc::clone(&fields));
        fields
    }

    fn gathered(
        &self,
        schema: JsonNode<'d>,
        budget: &mut usize,
        depth: usize,
    ) -> Vec<ItemField<'d>> {
        let mut fields: Vec<ItemField<'d>> = Vec::new();
        if *budget == 0 || depth > limits::SCHEMA_LAYERS {
            return fields;
        }
        *budget -= 1;
        let Ok(schema) = self.api.resolve(schema) else { return fields };
        let own = schema.get("properties").into_iter().flat_map(JsonNode::entries);
        fields.extend(own.take(limits::ITEM_FIELDS).map(|(name, node)| ItemField { name, node }));
        for part in schema.get("allOf").into_iter().flat_map(JsonNode::items) {
            fields.extend(self.gathered(part, budget, depth + 1));
        }
        for key in ["anyOf", "oneOf"] {
            let mut common: Option<Vec<ItemField<'d>>> = None;
            let variants = schema.get(key).into_iter().flat_map(JsonNode::items);
            for variant in variants.filter(|variant| !is_null(*variant)) {
                let here = self.gathered(variant, budget, depth + 1);
                common = Some(match common {
                    None => here,
                    Some(mut before) => {
                        before.retain(|field| here.iter().any(|other| other.name == field.name));
                        before
                    }
                });
            }
            fields.extend(common.unwrap_or_default());
        }
        fields
    }

    /// The fields of a field's value.
    pub(super) fn inside(&mut self, field: &ItemField<'d>) -> Rc<Vec<ItemField<'d>>> {
        self.core(field.node).map(|node| self.fields(node)).unwrap_or_default()
    }

    /// The kind of value that a field holds.
    pub(super) fn kind_of(&self, field: &ItemField<'d>) -> ValueKind {
        self.core(field.node).map_or(ValueKind::Unknown, |node| self.kind(node))
    }

    /// The string under a key in a field's schema, such as `example` or `format`.
    pub(super) fn text_of(&self, field: &ItemField<'d>, key: &str) -> Option<Cow<'d, str>> {
        self.core(field.node)?.get(key)?.text()
    }

    /// The kind of value that a schema describes.
    pub(super) fn kind(&self, schema: JsonNode<'d>) -> ValueKind {
        let Some(schema) = self.core(schema) else { return ValueKind::Unknown };
        let said = schema.get("type");
        let word = match said {
            Some(said) if said.is_list() => {
                let mut words =
                    said.items().filter_map(JsonNode::text).filter(|word| word != "null");
                let first = words.next();
                first.filter(|_| words.next().is_none())
            }
            Some(said) => said.text(),
            None => None,
        };
        match word.as_deref() {
            Some("string") => ValueKind::Text,
            Some("integer") => ValueKind::Whole,
            Some("number") => ValueKind::Number,
            Some("boolean") => ValueKind::Bool,
            Some("array") => ValueKind::List,
            Some("object") => ValueKind::Map,
            _ if schema.get("items").is_some() => ValueKind::List,
            _ if ["properties", "allOf"].iter().any(|key| schema.get(key).is_some()) => {
                ValueKind::Map
            }
            _ => ValueKind::Unknown,
        }
    }
}

/// The only alternative, ignoring `null`.
fn only_one(parts: JsonNode<'_>) -> Option<JsonNode<'_>> {
    let mut parts = parts.items().filter(|part| !is_null(*part));
    let first = parts.next()?;
    parts.next().is_none().then_some(first)
}

fn is_null(schema: JsonNode<'_>) -> bool {
    schema.get("type").and_then(JsonNode::text).as_deref() == Some("null")
}

//! Values made from a schema: seeded, bounded, and checked before they leave. What the validator
//! says of one try decides how the next one is made.

use serde_json::{Map, Value};

use super::attempt::{Attempts, below};
use super::random::Random;
use super::resource::is_id_like;
use super::schema::Schema;
use super::shape::{Choice, Schemas, Shape, gather};
use super::types::Types;
use super::{number, words};
use crate::limits;

/// What a value is made for: the same recipe always yields the same value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipe<'r> {
    /// The seed of the mock.
    pub(super) seed: u64,
    /// What tells this value from others of the same schema.
    pub(super) salt: &'r str,
    /// Which examples may be taken.
    pub(super) examples: Examples,
}

/// Which examples of a schema are taken for values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Examples {
    /// Any.
    All,
    /// None that would give two resources the same id.
    NoIds,
    /// None: values must differ.
    None,
}

/// A value, and whether it is known to fit its schema.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Made {
    pub(super) value: Value,
    pub(super) verified: bool,
}

/// Makes a value of a schema.
pub(super) fn make(schema: &Schema, recipe: Recipe<'_>) -> Made {
    let mut attempts = Attempts::default();
    let mut best: Option<(usize, Value)> = None;
    for round in 0..limits::MOCK_TRIES {
        let mut maker = Maker {
            defs: &schema.defs,
            recipe,
            attempts: &attempts,
            nodes: 0,
            // Leaner from try to try: what is not there cannot be wrong.
            rich_depth: limits::MOCK_RICH_DEPTH.saturating_sub(round / 12),
        };
        let value = maker.value(&[&schema.value], "", "", 0).unwrap_or(Value::Null);
        let Some(validator) = &schema.validator else { return Made { value, verified: false } };
        if validator.is_valid(&value) {
            return Made { value, verified: true };
        }
        attempts.learn(validator.iter_errors(&value));
        let faults = validator.iter_errors(&value).take(limits::MOCK_TRY_FAULTS).count();
        if best.as_ref().is_none_or(|(least, _)| faults < *least) {
            best = Some((faults, value));
        }
    }
    let value = best.map(|(_, value)| value).unwrap_or_default();
    Made { value, verified: false }
}

struct Maker<'m, 's> {
    defs: &'s Map<String, Value>,
    recipe: Recipe<'m>,
    attempts: &'m Attempts,
    nodes: usize,
    rich_depth: usize,
}

/// A place of an answer and how deep it lies.
#[derive(Debug, Clone, Copy)]
struct Spot<'a> {
    at: &'a str,
    depth: usize,
}

/// How an object is filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fill {
    /// With all that is known.
    Rich,
    /// With what is required.
    Lean,
    /// As `Rich`, and with what the other branches of a choice refuse.
    Apart,
}

impl<'s> Maker<'_, 's> {
    /// A value for a place; nothing when there can be none.
    fn value(
        &mut self,
        schemas: &[&'s Value],
        at: &str,
        name: &str,
        depth: usize,
    ) -> Option<Value> {
        self.nodes += 1;
        if depth > limits::MOCK_DEPTH {
            return None;
        }
        let tries = self.attempts.at(at);
        let plain_first = depth > self.rich_depth || self.is_full();
        let number = (tries / 3) as usize;
        let shape = gather(schemas, self.defs, Choice { number, plain_first });
        if shape.impossible {
            return None;
        }
        if let Some(values) = &shape.values {
            return self.listed(&shape, values, at, tries);
        }
        if let Some(example) = self.example(&shape, at, name) {
            return Some(example);
        }
        let mut random = self.random(at, tries);
        let says_nothing = !shape.typed && shape.format.is_none() && shape.patterns.is_empty();
        Some(match shape.kind() {
            // A whole answer that nothing is said about is an empty object rather than a word.
            Types::STRING if depth == 0 && says_nothing => Value::Object(Map::new()),
            Types::OBJECT => {
                let fill = match tries % 3 {
                    _ if plain_first => Fill::Lean,
                    0 => Fill::Rich,
                    1 => Fill::Lean,
                    _ => Fill::Apart,
                };
                Value::Object(self.object(&shape, fill, at, depth)?)
            }
            Types::ARRAY => Value::Array(self.array(&shape, at, name, depth)?),
            Types::STRING => Value::String(words::text(&shape, name, tries, &mut random)),
            Types::NUMBER => number::number(&shape, name, &mut random),
            Types::INTEGER => number::integer(&shape, name, &mut random),
            Types::BOOLEAN => Value::Bool(random.below(2) == 0),
            _ => Value::Null,
        })
    }

    fn random(&self, at: &str, tries: u32) -> Random {
        Random::new(self.recipe.seed, &[self.recipe.salt, at, &tries.to_string()])
    }

    fn is_full(&self) -> bool {
        self.nodes > limits::MOCK_NODES
    }

    fn listed(&self, shape: &Shape<'s>, from: &[&'s Value], at: &str, tries: u32) -> Option<Value> {
        let fits = |value: &&&Value| shape.types.allow(value) && !shape.banned.contains(*value);
        let mut fitting: Vec<&Value> = from.iter().filter(fits).copied().collect();
        // A null among the values says that it may be missing; show what it looks like.
        if fitting.iter().any(|value| !value.is_null()) && tries % 4 != 3 {
            fitting.retain(|value| !value.is_null());
        }
        let index = self.random(at, tries).below(fitting.len());
        fitting.get(index).map(|value| (*value).clone())
    }

    /// An example that its authors gave, while nothing speaks against it.
    fn example(&self, shape: &Shape<'s>, at: &str, name: &str) -> Option<Value> {
        let no_ids = self.recipe.examples == Examples::NoIds;
        let barred = self.recipe.examples == Examples::None || (no_ids && is_id_like(name));
        if barred || !self.attempts.is_clean(at) {
            return None;
        }
        let fits = |example: &&&Value| {
            let may_hold_ids = no_ids && (example.is_object() || example.is_array());
            shape.types.allow(example) && !example.is_null() && !may_hold_ids
        };
        shape.examples.iter().find(fits).map(|example| (*example).clone())
    }

    fn object(
        &mut self,
        shape: &Shape<'s>,
        fill: Fill,
        at: &str,
        depth: usize,
    ) -> Option<Map<String, Value>> {
        let mut object = Map::new();
        let allowed = |name: &str| shape.closed.iter().all(|names| names.contains(&name));
        for (name, schemas) in &shape.properties {
            let required = shape.required.contains(name);
            let wanted = required || (fill != Fill::Lean && allowed(name) && !self.is_full());
            let place = below(at, name);
            let unwanted = shape.absent.contains(name) || self.attempts.is_left_out(&place);
            if !wanted || (unwanted && !required) {
                continue;
            }
            match self.property(name, schemas, shape, Spot { at: &place, depth }) {
                Some(value) => {
                    object.insert((*name).to_owned(), value);
                }
                None if required => return None,
                None => {}
            }
        }
        for name in &shape.required {
            if !object.contains_key(*name) {
                let schemas = unnamed(shape, name);
                let place = below(at, name);
                let value = self.property(name, &schemas, shape, Spot { at: &place, depth })?;
                object.insert((*name).to_owned(), value);
            }
        }
        self.complete(shape, fill, Spot { at, depth }, &mut object);
        Some(object)
    }

    fn property(
        &mut self,
        name: &str,
        schemas: &[&'s Value],
        shape: &Shape<'s>,
        Spot { at, depth }: Spot<'_>,
    ) -> Option<Value> {
        let value = self.value(schemas, at, name, depth + 1)?;
        match shape.tag {
            Some((property, tag)) if property == name && self.attempts.at(at) == 0 => {
                let listed = gather(schemas, self.defs, Choice { number: 0, plain_first: true });
                let tag = Value::from(tag);
                let fits = listed.values.is_none_or(|values| values.contains(&&tag));
                Some(if fits { tag } else { value })
            }
            _ => Some(value),
        }
    }

    /// Adds what the whole asks for: properties that others entail, enough of them, not too many.
    fn complete(
        &mut self,
        shape: &Shape<'s>,
        fill: Fill,
        spot: Spot<'_>,
        object: &mut Map<String, Value>,
    ) {
        let Spot { at, depth } = spot;
        for (name, entailed) in &shape.dependent {
            let missing: Vec<_> = entailed.iter().filter(|n| !object.contains_key(**n)).collect();
            if !object.contains_key(*name) {
                continue;
            }
            for name in missing {
                let known = shape.properties.iter().find(|(known, _)| known == name);
                let schemas = known.map_or_else(|| unnamed(shape, name), |(_, s)| s.clone());
                let value = self.value(&schemas, &below(at, name), name, depth + 1);
                object.extend(value.map(|value| ((*name).to_owned(), value)));
            }
        }
        if fill == Fill::Apart {
            self.set_apart(shape, object);
        }
        let open =
            shape.properties.is_empty() && !shape.additional.is_empty() && fill == Fill::Rich;
        let few = usize::from(open && depth < self.rich_depth && !self.attempts.lost_child(at)) * 2;
        let least = shape.min_properties.max(few).min(limits::MOCK_LIST_ITEMS);
        self.add_until(least, shape, spot, object);
        if object.len() > shape.max_properties {
            let optional: Vec<String> = object
                .keys()
                .filter(|name| !shape.required.contains(&name.as_str()))
                .rev()
                .take(object.len() - shape.max_properties)
                .cloned()
                .collect();
            optional.iter().for_each(|name| drop(object.shift_remove(name)));
        }
    }

    fn add_until(
        &mut self,
        least: usize,
        shape: &Shape<'s>,
        Spot { at, depth }: Spot<'_>,
        object: &mut Map<String, Value>,
    ) {
        for (name, schemas) in &shape.properties {
            if object.len() >= least {
                return;
            }
            if !object.contains_key(*name) && !shape.absent.contains(name) {
                let value = self.value(schemas, &below(at, name), name, depth + 1);
                object.extend(value.map(|value| ((*name).to_owned(), value)));
            }
        }
        for index in 0..least.saturating_mul(3) {
            if object.len() >= least
                || !shape.closed.is_empty() && shape.pattern_properties.is_empty()
            {
                return;
            }
            let Some(name) = self.new_name(shape, at, index) else { return };
            let schemas = unnamed(shape, &name);
            let value = self.value(&schemas, &below(at, &name), &name, depth + 1);
            object.extend(value.map(|value| (name, value)));
        }
    }

    /// A name for a property that the schema has no name for.
    fn new_name(&self, shape: &Shape<'s>, at: &str, index: usize) -> Option<String> {
        let mut random = self.random(&format!("{at}?{index}"), self.attempts.at(at));
        if !shape.names.is_empty() {
            let names = gather(&shape.names, self.defs, Choice { number: 0, plain_first: true });
            return match &names.values {
                Some(values) => {
                    values.get(index % values.len().max(1))?.as_str().map(str::to_owned)
                }
                None => Some(words::text(&names, "", 0, &mut random)),
            };
        }
        if let Some((pattern, _)) = shape.pattern_properties.first() {
            let lengths = super::pattern::Lengths { min: 1, max: 64 };
            return super::pattern::matching(&[pattern], lengths, &mut random);
        }
        let word = words::text(
            &gather(&[], self.defs, Choice { number: 0, plain_first: true }),
            "",
            1,
            &mut random,
        );
        Some(word)
    }

    /// Adds properties that branches refuse which must not hold as well.
    fn set_apart(&mut self, shape: &Shape<'s>, object: &mut Map<String, Value>) {
        if !shape.closed.is_empty() {
            return;
        }
        for other in &shape.others {
            let branch = gather(&[other], self.defs, Choice { number: 0, plain_first: false });
            let telling = branch.properties.iter().find(|(name, schemas)| {
                let of = gather(schemas, self.defs, Choice { number: 0, plain_first: false });
                !object.contains_key(*name)
                    && !shape.properties.iter().any(|(known, _)| known == name)
                    && (of.typed || of.values.is_some())
            });
            if let Some((name, schemas)) = telling {
                let of = gather(schemas, self.defs, Choice { number: 0, plain_first: false });
                let odd =
                    if of.types.has(Types::BOOLEAN) { Value::from(0) } else { Value::from(true) };
                object.insert((*name).to_owned(), odd);
            }
        }
    }

    fn array(
        &mut self,
        shape: &Shape<'s>,
        at: &str,
        name: &str,
        depth: usize,
    ) -> Option<Vec<Value>> {
        let usual = match depth {
            _ if self.is_full() || depth > self.rich_depth || self.attempts.lost_child(at) => 0,
            _ if self.attempts.at(at) % 3 == 1 => 0,
            0 => 3,
            1 | 2 => 2,
            _ => 1,
        };
        let needed = shape.contains.map_or(0, |(_, least)| least).max(shape.min_items);
        let fixed = if usual > 0 { shape.prefix.len() } else { 0 };
        let count = usual.max(needed).max(fixed).min(shape.max_items);
        let mut items: Vec<Value> = Vec::new();
        for index in 0..count.min(limits::MOCK_LIST_ITEMS) {
            let mut schemas: Schemas<'s> = match shape.prefix.get(index) {
                Some(schemas) => schemas.clone(),
                None => shape.items.clone(),
            };
            if let Some((contained, _)) = shape.contains.filter(|(_, least)| index < *least) {
                schemas.push(contained);
            }
            let place = below(at, &index.to_string());
            match self.item(&schemas, &place, (name, depth), shape.unique.then_some(&items[..])) {
                Some(item) => items.push(item),
                None if items.len() >= needed => break,
                None => return None,
            }
        }
        Some(items)
    }

    /// An item, one that differs from those before it when they must differ.
    fn item(
        &mut self,
        schemas: &[&'s Value],
        place: &str,
        (name, depth): (&str, usize),
        before: Option<&[Value]>,
    ) -> Option<Value> {
        let single = name.strip_suffix('s').unwrap_or(name);
        let first = self.value(schemas, place, single, depth + 1)?;
        let Some(before) = before else { return Some(first) };
        if !before.contains(&first) {
            return Some(first);
        }
        let shape = gather(schemas, self.defs, Choice { number: 0, plain_first: true });
        if let Some(values) = &shape.values {
            let other = values.iter().find(|value| !before.contains(value));
            return other.map(|value| (*value).clone());
        }
        let salt = self.recipe.salt;
        for round in 0..20 {
            let salted = format!("{salt}#{round}");
            let mut other = Maker {
                defs: self.defs,
                recipe: Recipe { salt: &salted, examples: Examples::None, ..self.recipe },
                attempts: self.attempts,
                nodes: self.nodes,
                rich_depth: self.rich_depth,
            };
            let value = other.value(schemas, place, single, depth + 1)?;
            if !before.contains(&value) {
                return Some(value);
            }
        }
        None
    }
}

/// The schemas of a property that the schema has no name for.
fn unnamed<'s>(shape: &Shape<'s>, name: &str) -> Schemas<'s> {
    let by_pattern = shape.pattern_properties.iter().filter(|(pattern, _)| {
        fancy_regex::Regex::new(pattern).is_ok_and(|regex| regex.is_match(name).unwrap_or(false))
    });
    let schemas: Schemas<'s> = by_pattern.map(|(_, schema)| *schema).collect();
    if schemas.is_empty() { shape.additional.clone() } else { schemas }
}

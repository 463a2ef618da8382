//! Generates values from a schema: seeded, bounded, and validated before they are returned. What
//! the validator reports about one attempt determines how the next value is generated.

use milepost_catalog::finding::below;
use milepost_catalog::schema::Definitions;
use serde_json::{Map, Value};

use crate::attempts::Attempts;
use crate::constraints::{Branches, Constraints, SchemaRefs};
use crate::json_types::JsonTypes;
use crate::limits;
use crate::pattern::matching;
use crate::random::Random;
use crate::resource::is_id_like;
use crate::schema::CompiledSchema;
use crate::{number, text};

/// The parameters for generating a value. The same recipe always yields the same value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe<'r> {
    /// The mock's seed.
    pub(crate) seed: u64,
    /// Distinguishes this value from others generated from the same schema.
    pub(crate) salt: &'r str,
    /// Which examples may be used.
    pub(crate) examples: Examples,
}

/// Which of a schema's examples may be used as values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Examples {
    All,
    /// Only examples that cannot give two resources the same id.
    NoIds,
    /// No examples, because values must differ.
    None,
}

/// A value, and whether it is known to fit its schema.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Generated {
    pub(crate) value: Value,
    pub(crate) verified: bool,
}

/// Generates a value for a schema.
pub(crate) fn generate(schema: &CompiledSchema, recipe: Recipe<'_>) -> Generated {
    let mut attempts = Attempts::default();
    let mut best: Option<(usize, Value)> = None;
    for round in 0..limits::TRIES {
        let mut generator = Generator {
            defs: &schema.defs,
            recipe,
            attempts: &attempts,
            nodes: 0,
            // Later rounds fill in fewer optional parts, because a missing value cannot be invalid.
            rich_depth: limits::RICH_DEPTH.saturating_sub(round / 12),
        };
        let value = generator.value(&[&schema.value], Spot::default()).unwrap_or(Value::Null);
        let Some(validator) = &schema.validator else {
            return Generated { value, verified: false };
        };
        if validator.is_valid(&value) {
            return Generated { value, verified: true };
        }
        attempts.learn(validator.iter_errors(&value));
        let faults = validator.iter_errors(&value).take(limits::TRY_FAULTS).count();
        if best.as_ref().is_none_or(|(least, _)| faults < *least) {
            best = Some((faults, value));
        }
    }
    let value = best.map(|(_, value)| value).unwrap_or_default();
    Generated { value, verified: false }
}

#[derive(Clone, Copy)]
struct Generator<'m, 's> {
    defs: &'s Definitions,
    recipe: Recipe<'m>,
    attempts: &'m Attempts,
    nodes: usize,
    rich_depth: usize,
}

/// A location in a response.
#[derive(Debug, Clone, Copy, Default)]
struct Spot<'a> {
    /// The JSON pointer to the location.
    at: &'a str,
    /// The name of the property here or, for a list item, of the property that holds the list.
    name: &'a str,
    depth: usize,
}

/// How to fill an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fill {
    /// Fill in all known properties.
    Rich,
    /// Fill in required properties only.
    Lean,
    /// Like `Rich`, plus properties that make the other branches of a choice fail.
    Apart,
}

impl<'s> Generator<'_, 's> {
    /// A value for a location; `None` if no value is possible.
    fn value(&mut self, schemas: &[&'s Value], spot: Spot<'_>) -> Option<Value> {
        let Spot { at, name, depth } = spot;
        self.nodes += 1;
        if depth > limits::DEPTH {
            return None;
        }
        let tries = self.attempts.at(at);
        let plain_first = depth > self.rich_depth || self.is_full();
        let number = (tries / 3) as usize;
        let branches = Branches { number, plain_first };
        let constraints = Constraints::gather(schemas, self.defs, branches);
        if constraints.impossible {
            return None;
        }
        if constraints.values.is_some() {
            return self.listed(&constraints, at, tries);
        }
        if let Some(example) = self.example(&constraints, at, name) {
            return Some(example);
        }
        let mut random = self.random(at, tries);
        let says_nothing =
            !constraints.typed && constraints.format.is_none() && constraints.patterns.is_empty();
        Some(match constraints.kind() {
            // A whole response without any constraints becomes an empty object rather than a
            // string.
            JsonTypes::STRING if depth == 0 && says_nothing => Value::Object(Map::new()),
            JsonTypes::OBJECT => {
                let fill = match tries % 3 {
                    _ if plain_first => Fill::Lean,
                    0 => Fill::Rich,
                    1 => Fill::Lean,
                    _ => Fill::Apart,
                };
                Value::Object(self.object(&constraints, fill, spot)?)
            }
            JsonTypes::ARRAY => Value::Array(self.array(&constraints, spot)?),
            JsonTypes::STRING => Value::String(text::text(&constraints, name, tries, &mut random)),
            JsonTypes::NUMBER => number::number(&constraints, name, &mut random),
            JsonTypes::INTEGER => number::integer(&constraints, name, &mut random),
            JsonTypes::BOOLEAN => Value::Bool(random.below(2) == 0),
            _ => Value::Null,
        })
    }

    fn random(&self, at: &str, tries: u32) -> Random {
        Random::new(self.recipe.seed, &[self.recipe.salt, at, &tries.to_string()])
    }

    /// The constraints on a location if the simplest branches are taken.
    fn plainest(&self, schemas: &[&'s Value]) -> Constraints<'s> {
        Constraints::gather(schemas, self.defs, Branches { number: 0, plain_first: true })
    }

    fn is_full(&self) -> bool {
        self.nodes > limits::NODES
    }

    fn listed(&self, constraints: &Constraints<'s>, at: &str, tries: u32) -> Option<Value> {
        let mut fitting: Vec<&Value> = constraints.values.iter().flatten().copied().collect();
        fitting.retain(|one| constraints.types.allow(one) && !constraints.banned.contains(one));
        // A null in an enum means that the value is optional; prefer the other values, because they
        // are more instructive.
        if fitting.iter().any(|value| !value.is_null()) && tries % 4 != 3 {
            fitting.retain(|value| !value.is_null());
        }
        let index = self.random(at, tries).below(fitting.len());
        fitting.get(index).map(|value| (*value).clone())
    }

    /// An example from the document, as long as nothing at this location has failed.
    fn example(&self, constraints: &Constraints<'s>, at: &str, name: &str) -> Option<Value> {
        let no_ids = self.recipe.examples == Examples::NoIds;
        let barred = self.recipe.examples == Examples::None || (no_ids && is_id_like(name));
        if barred || !self.attempts.is_clean(at) {
            return None;
        }
        let fits = |example: &&&Value| {
            let may_hold_ids = no_ids && (example.is_object() || example.is_array());
            constraints.types.allow(example) && !example.is_null() && !may_hold_ids
        };
        constraints.examples.iter().find(fits).map(|example| (*example).clone())
    }

    fn object(
        &mut self,
        constraints: &Constraints<'s>,
        fill: Fill,
        spot: Spot<'_>,
    ) -> Option<Map<String, Value>> {
        let mut object = Map::new();
        let allowed = |name: &str| constraints.closed.iter().all(|names| names.contains(&name));
        for (name, schemas) in &constraints.properties {
            let required = constraints.required.contains(name);
            let wanted = required || (fill != Fill::Lean && allowed(name) && !self.is_full());
            let left_out = self.attempts.is_left_out(&below(spot.at, name));
            let unwanted = constraints.absent.contains(name) || left_out;
            if !wanted || (unwanted && !required) {
                continue;
            }
            match self.property(name, schemas, constraints, spot) {
                Some(value) => drop(object.insert((*name).to_owned(), value)),
                None if required => return None,
                None => {}
            }
        }
        for name in &constraints.required {
            if !object.contains_key(*name) {
                let schemas = unnamed(constraints, name);
                let value = self.property(name, &schemas, constraints, spot)?;
                object.insert((*name).to_owned(), value);
            }
        }
        self.complete(constraints, fill, spot, &mut object);
        Some(object)
    }

    /// Generates a value for a member of the object or list at `above`.
    fn member(&mut self, schemas: &[&'s Value], above: Spot<'_>, name: &str) -> Option<Value> {
        self.value(schemas, Spot { at: &below(above.at, name), name, depth: above.depth + 1 })
    }

    fn property(
        &mut self,
        name: &str,
        schemas: &[&'s Value],
        constraints: &Constraints<'s>,
        above: Spot<'_>,
    ) -> Option<Value> {
        let value = self.member(schemas, above, name)?;
        let is_tag =
            |property: &str| property == name && self.attempts.at(&below(above.at, name)) == 0;
        let tag = constraints.tag.filter(|(property, _)| is_tag(property));
        let tag = tag.map(|(_, tag)| Value::from(tag));
        let fits =
            |tag: &Value| self.plainest(schemas).values.is_none_or(|values| values.contains(&tag));
        Some(tag.filter(fits).unwrap_or(value))
    }

    /// Adds what the object as a whole requires, such as dependent properties, and adds or removes
    /// properties to stay within the bounds.
    fn complete(
        &mut self,
        constraints: &Constraints<'s>,
        fill: Fill,
        spot: Spot<'_>,
        object: &mut Map<String, Value>,
    ) {
        for (name, entailed) in &constraints.dependent {
            for entailed in entailed {
                if !object.contains_key(*name) || object.contains_key(*entailed) {
                    continue;
                }
                let known = constraints.properties.iter().find(|(known, _)| known == entailed);
                let schemas =
                    known.map_or_else(|| unnamed(constraints, entailed), |(_, s)| s.clone());
                let value = self.member(&schemas, spot, entailed);
                object.extend(value.map(|value| ((*entailed).to_owned(), value)));
            }
        }
        if fill == Fill::Apart {
            self.set_apart(constraints, object);
        }
        let open = constraints.properties.is_empty()
            && !constraints.additional.is_empty()
            && fill == Fill::Rich;
        let few =
            usize::from(open && spot.depth < self.rich_depth && !self.attempts.lost_child(spot.at))
                * 2;
        let least = constraints.min_properties.max(few).min(limits::LIST_ITEMS);
        self.add_until(least, constraints, spot, object);
        let excess = object.len().saturating_sub(constraints.max_properties.unwrap_or(usize::MAX));
        let optional = object.keys().filter(|name| !constraints.required.contains(&name.as_str()));
        let optional: Vec<String> = optional.rev().take(excess).cloned().collect();
        optional.iter().for_each(|name| drop(object.shift_remove(name)));
    }

    fn add_until(
        &mut self,
        least: usize,
        constraints: &Constraints<'s>,
        spot: Spot<'_>,
        object: &mut Map<String, Value>,
    ) {
        for (name, schemas) in &constraints.properties {
            if object.len() >= least {
                return;
            }
            if !object.contains_key(*name) && !constraints.absent.contains(name) {
                let value = self.member(schemas, spot, name);
                object.extend(value.map(|value| ((*name).to_owned(), value)));
            }
        }
        for index in 0..least.saturating_mul(3) {
            if object.len() >= least
                || !constraints.closed.is_empty() && constraints.pattern_properties.is_empty()
            {
                return;
            }
            let Some(name) = self.new_name(constraints, spot.at, index) else { return };
            let value = self.member(&unnamed(constraints, &name), spot, &name);
            object.extend(value.map(|value| (name, value)));
        }
    }

    /// A name for a property that the schema does not declare.
    fn new_name(&self, constraints: &Constraints<'s>, at: &str, index: usize) -> Option<String> {
        let mut random = self.random(&format!("{at}?{index}"), self.attempts.at(at));
        if !constraints.names.is_empty() {
            let names = self.plainest(&constraints.names);
            let Some(values) = &names.values else {
                return Some(text::text(&names, "", 0, &mut random));
            };
            return values.get(index % values.len().max(1))?.as_str().map(str::to_owned);
        }
        if let Some((pattern, _)) = constraints.pattern_properties.first() {
            return matching(&[pattern], &(1..=64), &mut random);
        }
        Some(text::text(&self.plainest(&[]), "", 1, &mut random))
    }

    /// Adds properties that invalidate the other branches, which must not also match.
    fn set_apart(&self, constraints: &Constraints<'s>, object: &mut Map<String, Value>) {
        if !constraints.closed.is_empty() {
            return;
        }
        for other in &constraints.others {
            let branch = Constraints::of(&[other], self.defs);
            let telling = branch.properties.iter().find_map(|(name, schemas)| {
                let property = Constraints::of(schemas, self.defs);
                let is_new = !object.contains_key(*name)
                    && !constraints.properties.iter().any(|(known, _)| known == name);
                let is_typed = property.typed || property.values.is_some();
                (is_new && is_typed).then_some((name, property.types))
            });
            if let Some((name, types)) = telling {
                let takes_booleans = types.has(JsonTypes::BOOLEAN);
                let odd = if takes_booleans { Value::from(0) } else { Value::from(true) };
                object.insert((*name).to_owned(), odd);
            }
        }
    }

    fn array(&mut self, constraints: &Constraints<'s>, spot: Spot<'_>) -> Option<Vec<Value>> {
        let Spot { at, name, depth } = spot;
        let usual = match depth {
            _ if self.is_full() || depth > self.rich_depth || self.attempts.lost_child(at) => 0,
            _ if self.attempts.at(at) % 3 == 1 => 0,
            0 => 3,
            1 | 2 => 2,
            _ => 1,
        };
        let needed = constraints.contains.map_or(0, |(_, least)| least).max(constraints.min_items);
        let fixed = if usual > 0 { constraints.prefix.len() } else { 0 };
        let count = usual.max(needed).max(fixed).min(constraints.max_items.unwrap_or(usize::MAX));
        let mut items: Vec<Value> = Vec::new();
        for index in 0..count.min(limits::LIST_ITEMS) {
            let mut schemas = constraints.prefix.get(index).unwrap_or(&constraints.items).clone();
            if let Some((contained, _)) = constraints.contains.filter(|(_, least)| index < *least) {
                schemas.push(contained);
            }
            let name = name.strip_suffix('s').unwrap_or(name);
            let spot = Spot { at: &below(at, &index.to_string()), name, depth: depth + 1 };
            match self.item(&schemas, spot, constraints.unique.then_some(&items[..])) {
                Some(item) => items.push(item),
                None if items.len() >= needed => break,
                None => return None,
            }
        }
        Some(items)
    }

    /// An item; distinct from the earlier ones if items must be unique.
    fn item(
        &mut self,
        schemas: &[&'s Value],
        spot: Spot<'_>,
        before: Option<&[Value]>,
    ) -> Option<Value> {
        let first = self.value(schemas, spot)?;
        let Some(before) = before.filter(|before| before.contains(&first)) else {
            return Some(first);
        };
        if let Some(values) = &self.plainest(schemas).values {
            let other = values.iter().find(|value| !before.contains(value));
            return other.map(|value| (*value).clone());
        }
        for round in 0..20 {
            let salt = format!("{}#{round}", self.recipe.salt);
            let recipe = Recipe { salt: &salt, examples: Examples::None, ..self.recipe };
            let value = Generator { recipe, ..*self }.value(schemas, spot)?;
            if !before.contains(&value) {
                return Some(value);
            }
        }
        None
    }
}

/// The schemas for a property that is not declared by name.
fn unnamed<'s>(constraints: &Constraints<'s>, name: &str) -> SchemaRefs<'s> {
    let by_pattern = constraints.pattern_properties.iter().filter(|(pattern, _)| {
        fancy_regex::Regex::new(pattern).is_ok_and(|regex| regex.is_match(name).unwrap_or(false))
    });
    let schemas: SchemaRefs<'s> = by_pattern.map(|(_, schema)| *schema).collect();
    if schemas.is_empty() { constraints.additional.clone() } else { schemas }
}

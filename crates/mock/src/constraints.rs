//! Everything that applies to one location in a response, collected from schemas, their references,
//! their parts (`allOf`) and the chosen branches (`oneOf`, `anyOf`, `if`).

use milepost_catalog::schema::{Definitions, follow, resolve};
use serde_json::{Map, Value};

use crate::json_types::JsonTypes;
use crate::limits;

/// Schemas that all apply to one location.
pub(crate) type SchemaRefs<'s> = Vec<&'s Value>;

/// The constraints on one location.
#[derive(Debug, Default)]
pub(crate) struct Constraints<'s> {
    /// The allowed types.
    pub(crate) types: JsonTypes,
    /// Whether a schema sets `type`.
    pub(crate) typed: bool,
    /// The allowed values, if they are enumerated.
    pub(crate) values: Option<Vec<&'s Value>>,
    /// Disallowed values.
    pub(crate) banned: Vec<&'s Value>,
    /// Values given as examples or defaults.
    pub(crate) examples: Vec<&'s Value>,
    /// Properties with their schemas, in document order.
    pub(crate) properties: Vec<(&'s str, SchemaRefs<'s>)>,
    pub(crate) required: Vec<&'s str>,
    /// Properties that must be absent.
    pub(crate) absent: Vec<&'s str>,
    pub(crate) pattern_properties: Vec<(&'s str, &'s Value)>,
    /// Schemas for properties that are not declared by name.
    pub(crate) additional: SchemaRefs<'s>,
    /// The properties of each part that allows no others.
    pub(crate) closed: Vec<Vec<&'s str>>,
    pub(crate) names: SchemaRefs<'s>,
    pub(crate) dependent: Vec<(&'s str, Vec<&'s str>)>,
    pub(crate) min_properties: usize,
    pub(crate) max_properties: Option<usize>,
    pub(crate) items: SchemaRefs<'s>,
    pub(crate) prefix: Vec<SchemaRefs<'s>>,
    pub(crate) contains: Option<(&'s Value, usize)>,
    pub(crate) min_items: usize,
    pub(crate) max_items: Option<usize>,
    pub(crate) unique: bool,
    pub(crate) min_length: usize,
    pub(crate) max_length: Option<usize>,
    pub(crate) patterns: Vec<&'s str>,
    pub(crate) format: Option<&'s str>,
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) above: Option<f64>,
    pub(crate) under: Option<f64>,
    pub(crate) multiples: Vec<f64>,
    /// The discriminator property and its value for the chosen branch.
    pub(crate) tag: Option<(&'s str, &'s str)>,
    /// The branches of a `oneOf` that were not chosen and therefore must not match.
    pub(crate) others: SchemaRefs<'s>,
    /// Whether no value can satisfy the constraints.
    pub(crate) impossible: bool,
}

/// Which branches of `oneOf`, `anyOf` and `if` to take at a location.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Branches {
    /// The index of the combination.
    pub(crate) number: usize,
    /// Whether to prefer simple branches, so that generation terminates.
    pub(crate) plain_first: bool,
}

impl<'s> Constraints<'s> {
    /// The constraints on a location if the first branch is taken everywhere.
    pub(crate) fn of(schemas: &[&'s Value], defs: &'s Definitions) -> Constraints<'s> {
        Constraints::gather(schemas, defs, Branches::default())
    }

    /// The constraints on a location.
    pub(crate) fn gather(
        schemas: &[&'s Value],
        defs: &'s Definitions,
        branches: Branches,
    ) -> Constraints<'s> {
        let mut gathering = Gathering { found: Constraints::default(), defs, branches, stride: 1 };
        let mut seen: Vec<&'s Value> = Vec::new();
        let mut open: Vec<&'s Value> = schemas.iter().rev().copied().collect();
        while let Some(schema) = open.pop() {
            // A schema that refers to itself adds nothing the second time.
            if seen.iter().any(|seen| std::ptr::eq(*seen, schema)) {
                continue;
            }
            seen.push(schema);
            if seen.len() > limits::SCHEMA_PARTS {
                break;
            }
            match schema {
                Value::Object(map) => gathering.map(map, &mut open),
                Value::Bool(false) => gathering.found.impossible = true,
                _ => {}
            }
        }
        let mut found = gathering.found;
        found.impossible |= found.types.is_empty();
        found
    }
}

struct Gathering<'s> {
    found: Constraints<'s>,
    defs: &'s Definitions,
    branches: Branches,
    /// The number of combinations of the branches so far.
    stride: usize,
}

impl<'s> Gathering<'s> {
    fn map(&mut self, map: &'s Map<String, Value>, open: &mut Vec<&'s Value>) {
        let at = open.len();
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            open.extend(follow(target, self.defs));
        }
        open.extend(list(map.get("allOf")));
        for keyword in ["oneOf", "anyOf"] {
            if let Some(branches) = map.get(keyword).and_then(Value::as_array) {
                open.extend(self.choose(branches, map.get("discriminator"), keyword == "oneOf"));
            }
        }
        if let Some(condition) = map.get("if") {
            match self.pick(2) {
                0 => open.extend([condition].into_iter().chain(map.get("then"))),
                _ => open.extend(map.get("else")),
            }
        }
        // Reversed so that schemas are popped in document order.
        open[at..].reverse();
        self.found.values(map);
        self.found.object(map);
        self.found.array(map);
        self.found.text(map);
        self.found.number(map);
    }

    /// Picks one of several alternatives according to the combination's index.
    fn pick(&mut self, ways: usize) -> usize {
        let picked = (self.branches.number / self.stride) % ways.max(1);
        self.stride = self.stride.saturating_mul(ways.max(1));
        picked
    }

    fn choose(
        &mut self,
        branches: &'s [Value],
        discriminator: Option<&'s Value>,
        exactly_one: bool,
    ) -> Option<&'s Value> {
        let mut order: Vec<&'s Value> = branches.iter().collect();
        let plain = self.branches.plain_first;
        order.sort_by_key(|branch| cost(branch, self.defs, plain));
        let picked = self.pick(order.len());
        let chosen = order.get(picked).copied()?;
        self.found.tag = discriminator.and_then(|said| tag(said, chosen)).or(self.found.tag);
        if exactly_one {
            self.found.others.extend(order.iter().filter(|other| !std::ptr::eq(**other, chosen)));
        }
        Some(chosen)
    }
}

/// A sort key for branches: lower values are preferred. Null normally comes last, but first if the
/// output must stay small.
fn cost(branch: &Value, defs: &Definitions, plain_first: bool) -> u8 {
    let schema = resolve(branch, defs);
    if schema == &Value::Bool(false) {
        return 9;
    }
    let types = schema.get("type").map_or(JsonTypes::ALL, JsonTypes::of_keyword);
    let is_null = types == JsonTypes::NULL;
    if !plain_first {
        return u8::from(is_null);
    }
    match types {
        _ if is_null => 0,
        _ if schema.get("enum").is_some() || schema.get("const").is_some() => 0,
        _ if types.and(JsonTypes::OBJECT).is_empty() && types.and(JsonTypes::ARRAY).is_empty() => 1,
        _ if types.has(JsonTypes::ARRAY) => 2,
        _ => 3,
    }
}

/// The discriminator value for a branch.
fn tag<'s>(discriminator: &'s Value, branch: &'s Value) -> Option<(&'s str, &'s str)> {
    let property = discriminator.get("propertyName")?.as_str()?;
    let target = branch.get("$ref")?.as_str()?;
    let last = |reference: &'s str| reference.rsplit('/').next().unwrap_or(reference);
    let mapping = discriminator.get("mapping").and_then(Value::as_object);
    let mapped = mapping.into_iter().flatten().find_map(|(name, to)| {
        to.as_str().filter(|to| last(to) == last(target)).map(|_| name.as_str())
    });
    Some((property, mapped.unwrap_or(last(target))))
}

fn list(keyword: Option<&Value>) -> impl Iterator<Item = &Value> {
    keyword.and_then(Value::as_array).into_iter().flatten()
}

fn names(keyword: Option<&Value>) -> impl Iterator<Item = &str> {
    list(keyword).filter_map(Value::as_str)
}

fn members(keyword: Option<&Value>) -> impl Iterator<Item = (&str, &Value)> {
    let map = keyword.and_then(Value::as_object);
    map.into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

/// The smaller of two optional bounds.
fn least<T: PartialOrd>(one: Option<T>, other: Option<T>) -> Option<T> {
    let bounds = one.into_iter().chain(other);
    bounds.reduce(|one, other| if other < one { other } else { one })
}

/// The larger of two optional bounds.
fn most(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).reduce(f64::max)
}

fn count(keyword: Option<&Value>) -> Option<usize> {
    #[expect(clippy::cast_sign_loss, reason = "negative counts become 0")]
    let float = |value: &Value| value.as_f64().map(|number| number as usize);
    let value = keyword?;
    value.as_u64().and_then(|number| usize::try_from(number).ok()).or_else(|| float(value))
}

impl<'s> Constraints<'s> {
    fn values(&mut self, map: &'s Map<String, Value>) {
        if let Some(types) = map.get("type") {
            self.types = self.types.and(JsonTypes::of_keyword(types));
            self.typed = true;
        }
        let listed = map.get("const").map(|value| vec![value]);
        let listed = listed.or_else(|| Some(map.get("enum")?.as_array()?.iter().collect()));
        if let Some(listed) = listed {
            self.values = Some(match self.values.take() {
                Some(before) => before.into_iter().filter(|one| listed.contains(one)).collect(),
                None => listed,
            });
        }
        let examples = [map.get("example"), map.get("x-example")].into_iter().flatten();
        self.examples.extend(examples.chain(list(map.get("examples"))).chain(map.get("default")));
        if let Some(not) = map.get("not") {
            self.banned.extend(list(not.get("enum")).chain(not.get("const")));
            self.absent.extend(names(not.get("required")));
            for part in list(not.get("anyOf")) {
                self.absent.extend(names(part.get("required")));
            }
        }
    }

    fn object(&mut self, map: &'s Map<String, Value>) {
        for (name, schema) in members(map.get("properties")) {
            match self.properties.iter_mut().find(|(known, _)| *known == name) {
                Some((_, schemas)) => schemas.push(schema),
                None => self.properties.push((name, vec![schema])),
            }
        }
        for name in names(map.get("required")) {
            if !self.required.contains(&name) {
                self.required.push(name);
            }
        }
        self.pattern_properties.extend(members(map.get("patternProperties")));
        match map.get("additionalProperties").or_else(|| map.get("unevaluatedProperties")) {
            Some(Value::Bool(false)) if map.contains_key("additionalProperties") => {
                self.closed.push(members(map.get("properties")).map(|(name, _)| name).collect());
            }
            Some(schema @ Value::Object(_)) => self.additional.push(schema),
            _ => {}
        }
        self.names.extend(map.get("propertyNames"));
        let dependent = members(map.get("dependentRequired"));
        self.dependent.extend(dependent.map(|(name, list)| (name, names(Some(list)).collect())));
        let min_properties = count(map.get("minProperties")).unwrap_or_default();
        self.min_properties = self.min_properties.max(min_properties);
        self.max_properties = least(self.max_properties, count(map.get("maxProperties")));
    }

    fn array(&mut self, map: &'s Map<String, Value>) {
        self.items.extend(map.get("items").filter(|items| !items.is_array()));
        let prefix = list(map.get("prefixItems")).chain(list(map.get("items")));
        for (index, schema) in prefix.enumerate() {
            match self.prefix.get_mut(index) {
                Some(schemas) => schemas.push(schema),
                None => self.prefix.push(vec![schema]),
            }
        }
        if let Some(contains) = map.get("contains") {
            self.contains = Some((contains, count(map.get("minContains")).unwrap_or(1)));
        }
        self.min_items = self.min_items.max(count(map.get("minItems")).unwrap_or_default());
        self.max_items = least(self.max_items, count(map.get("maxItems")));
        self.unique |= map.get("uniqueItems") == Some(&Value::Bool(true));
    }

    fn text(&mut self, map: &'s Map<String, Value>) {
        self.min_length = self.min_length.max(count(map.get("minLength")).unwrap_or_default());
        self.max_length = least(self.max_length, count(map.get("maxLength")));
        self.patterns.extend(map.get("pattern").and_then(Value::as_str));
        self.format = map.get("format").and_then(Value::as_str).or(self.format);
    }

    fn number(&mut self, map: &'s Map<String, Value>) {
        let number = |name: &str| map.get(name).and_then(Value::as_f64);
        self.minimum = most(self.minimum, number("minimum"));
        self.above = most(self.above, number("exclusiveMinimum"));
        self.maximum = least(self.maximum, number("maximum"));
        self.under = least(self.under, number("exclusiveMaximum"));
        self.multiples.extend(number("multipleOf").filter(|step| *step > 0.0));
    }

    /// The type of value to generate: one that the keywords constrain, or else the first allowed
    /// one.
    pub(crate) fn kind(&self) -> JsonTypes {
        let lists = !self.items.is_empty() || !self.prefix.is_empty() || self.min_items > 0;
        let bounded = self.minimum.is_some() || self.maximum.is_some();
        let asked = [
            (JsonTypes::OBJECT, !self.properties.is_empty() || !self.required.is_empty()),
            (JsonTypes::OBJECT, !self.additional.is_empty()),
            (JsonTypes::ARRAY, lists),
            (JsonTypes::STRING, !self.patterns.is_empty() || self.format.is_some()),
            (JsonTypes::STRING, self.min_length > 0),
            (JsonTypes::NUMBER, bounded || !self.multiples.is_empty()),
            (JsonTypes::STRING, !self.typed),
        ];
        let asked = asked.into_iter().filter(|(_, asked)| *asked).map(|(kind, _)| kind);
        let mut kinds = asked.chain(JsonTypes::KINDS);
        kinds.find(|kind| self.types.has(*kind)).unwrap_or(JsonTypes::NULL)
    }
}

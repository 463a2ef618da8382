//! All that applies to one place of an answer, gathered from schemas, what they refer to, their
//! parts (`allOf`) and the choices made among their branches (`oneOf`, `anyOf`, `if`).

use serde_json::{Map, Value};

use super::types::Types;
use crate::limits;

/// Schemas that all apply to one place.
pub(super) type Schemas<'s> = Vec<&'s Value>;

/// What applies to one place.
#[derive(Debug)]
pub(super) struct Shape<'s> {
    /// The types it can have.
    pub(super) types: Types,
    /// Whether a schema said `type`.
    pub(super) typed: bool,
    /// The values it can have, when they are listed.
    pub(super) values: Option<Vec<&'s Value>>,
    /// Values it cannot have.
    pub(super) banned: Vec<&'s Value>,
    /// Values that people gave as examples or defaults.
    pub(super) examples: Vec<&'s Value>,
    /// Properties with their schemas, in the order of the document.
    pub(super) properties: Vec<(&'s str, Schemas<'s>)>,
    pub(super) required: Vec<&'s str>,
    /// Properties that must not be there.
    pub(super) absent: Vec<&'s str>,
    pub(super) pattern_properties: Vec<(&'s str, &'s Value)>,
    /// Schemas of properties without a name.
    pub(super) additional: Schemas<'s>,
    /// The properties of each part that allows no others.
    pub(super) closed: Vec<Vec<&'s str>>,
    pub(super) names: Schemas<'s>,
    pub(super) dependent: Vec<(&'s str, Vec<&'s str>)>,
    pub(super) min_properties: usize,
    pub(super) max_properties: usize,
    pub(super) items: Schemas<'s>,
    pub(super) prefix: Vec<Schemas<'s>>,
    pub(super) contains: Option<(&'s Value, usize)>,
    pub(super) min_items: usize,
    pub(super) max_items: usize,
    pub(super) unique: bool,
    pub(super) min_length: usize,
    pub(super) max_length: usize,
    pub(super) patterns: Vec<&'s str>,
    pub(super) format: Option<&'s str>,
    pub(super) minimum: Option<f64>,
    pub(super) maximum: Option<f64>,
    pub(super) above: Option<f64>,
    pub(super) under: Option<f64>,
    pub(super) multiples: Vec<f64>,
    /// The property that names the branch, and the name.
    pub(super) tag: Option<(&'s str, &'s str)>,
    /// Branches that were not chosen where exactly one may hold.
    pub(super) others: Schemas<'s>,
    /// Whether nothing fits.
    pub(super) impossible: bool,
}

/// How choices are made at a place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Choice {
    /// Which combination of branches.
    pub(super) number: usize,
    /// Whether plain branches go first, to come to an end.
    pub(super) plain_first: bool,
}

/// Gathers what applies to a place.
pub(super) fn gather<'s>(
    schemas: &[&'s Value],
    defs: &'s Map<String, Value>,
    choice: Choice,
) -> Shape<'s> {
    let mut gathering =
        Gathering { shape: Shape::anything(), defs, choice, stride: 1, seen: Vec::new() };
    let mut open: Vec<&'s Value> = schemas.iter().rev().copied().collect();
    while let Some(schema) = open.pop() {
        // Schemas that refer to themselves add nothing the second time.
        if gathering.seen.iter().any(|seen| std::ptr::eq(*seen, schema)) {
            continue;
        }
        gathering.seen.push(schema);
        if gathering.seen.len() > limits::MOCK_SCHEMA_PARTS {
            break;
        }
        match schema {
            Value::Object(map) => gathering.map(map, &mut open),
            Value::Bool(false) => gathering.shape.impossible = true,
            _ => {}
        }
    }
    let mut shape = gathering.shape;
    shape.impossible |= shape.types.is_empty();
    shape
}

struct Gathering<'s> {
    shape: Shape<'s>,
    defs: &'s Map<String, Value>,
    choice: Choice,
    /// How many combinations the choices so far have.
    stride: usize,
    seen: Vec<&'s Value>,
}

impl<'s> Gathering<'s> {
    fn map(&mut self, map: &'s Map<String, Value>, open: &mut Vec<&'s Value>) {
        let at = open.len();
        if let Some(target) = map.get("$ref").and_then(Value::as_str) {
            open.extend(resolve(target, self.defs));
        }
        open.extend(list(map.get("allOf")));
        for keyword in ["oneOf", "anyOf"] {
            if let Some(branches) = map.get(keyword).and_then(Value::as_array) {
                open.extend(self.choose(branches, map.get("discriminator"), keyword == "oneOf"));
            }
        }
        if let Some(condition) = map.get("if") {
            let (then, other) = (map.get("then"), map.get("else"));
            if self.pick(2) == 0 {
                open.extend([Some(condition), then].into_iter().flatten());
            } else {
                open.extend(other);
            }
        }
        // The document's order: what stands first is popped first.
        open[at..].reverse();
        self.shape.values(map);
        self.shape.object(map);
        self.shape.array(map);
        self.shape.text(map);
        self.shape.number(map);
    }

    /// Which of some ways is taken here.
    fn pick(&mut self, ways: usize) -> usize {
        let picked = (self.choice.number / self.stride) % ways.max(1);
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
        let plain = self.choice.plain_first;
        order.sort_by_key(|branch| cost(branch, self.defs, plain));
        let picked = self.pick(order.len());
        let chosen = order.get(picked).copied()?;
        self.shape.tag = discriminator.and_then(|said| tag(said, chosen)).or(self.shape.tag);
        if exactly_one {
            self.shape.others.extend(order.iter().filter(|other| !std::ptr::eq(**other, chosen)));
        }
        Some(chosen)
    }
}

/// How much a branch leads to: nulls last when there is room, first of all when there is not.
fn cost(branch: &Value, defs: &Map<String, Value>, plain_first: bool) -> u8 {
    let mut schema = branch;
    for _ in 0..8 {
        match schema.get("$ref").and_then(Value::as_str).and_then(|at| resolve(at, defs)) {
            Some(target) => schema = target,
            None => break,
        }
    }
    if schema == &Value::Bool(false) {
        return 9;
    }
    let types = schema.get("type").map_or(Types::ALL, Types::of_keyword);
    let is_null = types == Types::NULL;
    if !plain_first {
        return u8::from(is_null);
    }
    match types {
        _ if is_null => 0,
        _ if schema.get("enum").is_some() || schema.get("const").is_some() => 0,
        _ if types.and(Types::OBJECT).is_empty() && types.and(Types::ARRAY).is_empty() => 1,
        _ if types.has(Types::ARRAY) => 2,
        _ => 3,
    }
}

/// The name that a discriminator has for a branch.
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

/// The name of the definition that a reference inside of a command leads to.
pub(super) fn definition(reference: &str) -> Option<String> {
    let inside = reference.strip_prefix("#/$defs/")?;
    let name = inside.split('/').next().unwrap_or(inside);
    let name = percent_encoding::percent_decode_str(name).decode_utf8_lossy();
    Some(name.replace("~1", "/").replace("~0", "~"))
}

/// What a reference inside of a command means.
pub(super) fn resolve<'s>(reference: &str, defs: &'s Map<String, Value>) -> Option<&'s Value> {
    let target = defs.get(&definition(reference)?)?;
    let rest = reference.strip_prefix("#/$defs/")?.split_once('/').map(|(_, rest)| rest);
    match rest {
        None => Some(target),
        Some(rest) => {
            let rest = percent_encoding::percent_decode_str(rest).decode_utf8_lossy();
            target.pointer(&format!("/{rest}"))
        }
    }
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

fn count(keyword: Option<&Value>) -> Option<usize> {
    #[expect(clippy::cast_sign_loss, reason = "negative counts become 0")]
    let float = |value: &Value| value.as_f64().map(|number| number as usize);
    let value = keyword?;
    value.as_u64().and_then(|number| usize::try_from(number).ok()).or_else(|| float(value))
}

impl<'s> Shape<'s> {
    fn anything() -> Shape<'s> {
        Shape {
            types: Types::ALL,
            typed: false,
            values: None,
            banned: Vec::new(),
            examples: Vec::new(),
            properties: Vec::new(),
            required: Vec::new(),
            absent: Vec::new(),
            pattern_properties: Vec::new(),
            additional: Vec::new(),
            closed: Vec::new(),
            names: Vec::new(),
            dependent: Vec::new(),
            min_properties: 0,
            max_properties: usize::MAX,
            items: Vec::new(),
            prefix: Vec::new(),
            contains: None,
            min_items: 0,
            max_items: usize::MAX,
            unique: false,
            min_length: 0,
            max_length: usize::MAX,
            patterns: Vec::new(),
            format: None,
            minimum: None,
            maximum: None,
            above: None,
            under: None,
            multiples: Vec::new(),
            tag: None,
            others: Vec::new(),
            impossible: false,
        }
    }

    fn values(&mut self, map: &'s Map<String, Value>) {
        if let Some(types) = map.get("type") {
            self.types = self.types.and(Types::of_keyword(types));
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
        let least = count(map.get("minProperties")).unwrap_or_default();
        self.min_properties = self.min_properties.max(least);
        let most = count(map.get("maxProperties")).unwrap_or(usize::MAX);
        self.max_properties = self.max_properties.min(most);
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
        self.max_items = self.max_items.min(count(map.get("maxItems")).unwrap_or(usize::MAX));
        self.unique |= map.get("uniqueItems") == Some(&Value::Bool(true));
    }

    fn text(&mut self, map: &'s Map<String, Value>) {
        self.min_length = self.min_length.max(count(map.get("minLength")).unwrap_or_default());
        self.max_length = self.max_length.min(count(map.get("maxLength")).unwrap_or(usize::MAX));
        self.patterns.extend(map.get("pattern").and_then(Value::as_str));
        self.format = map.get("format").and_then(Value::as_str).or(self.format);
    }

    fn number(&mut self, map: &'s Map<String, Value>) {
        let number = |name: &str| map.get(name).and_then(Value::as_f64);
        let most = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.max(other)),
            (one, other) => one.or(other),
        };
        let least = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        self.minimum = most(self.minimum, number("minimum"));
        self.above = most(self.above, number("exclusiveMinimum"));
        self.maximum = least(self.maximum, number("maximum"));
        self.under = least(self.under, number("exclusiveMaximum"));
        self.multiples.extend(number("multipleOf").filter(|step| *step > 0.0));
    }

    /// The type a value is made in.
    pub(super) fn kind(&self) -> Types {
        let asked = [
            (Types::OBJECT, self.asks_object()),
            (Types::ARRAY, !self.items.is_empty() || !self.prefix.is_empty() || self.min_items > 0),
            (Types::STRING, self.asks_text()),
            (Types::NUMBER, self.asks_number()),
        ];
        let fits = |kind: &Types| self.types.has(*kind);
        let asked = asked.into_iter().filter(|(_, asked)| *asked).map(|(kind, _)| kind);
        let order = [
            Types::OBJECT,
            Types::ARRAY,
            Types::STRING,
            Types::NUMBER,
            Types::INTEGER,
            Types::BOOLEAN,
            Types::NULL,
        ];
        let any = if self.typed { None } else { Some(Types::STRING) };
        asked.chain(any).chain(order).find(fits).unwrap_or(Types::NULL)
    }

    fn asks_object(&self) -> bool {
        !self.properties.is_empty() || !self.required.is_empty() || !self.additional.is_empty()
    }

    fn asks_text(&self) -> bool {
        !self.patterns.is_empty() || self.format.is_some() || self.min_length > 0
    }

    fn asks_number(&self) -> bool {
        self.minimum.is_some() || self.maximum.is_some() || !self.multiples.is_empty()
    }
}

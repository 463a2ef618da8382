//! Parses values from the text they are sent as: parameters in their various styles, and forms.
//! Text has no type, so it is parsed as the first type that fits the schema.

use milepost_catalog::command::{ApiParameter, Location, Style};
use serde_json::{Map, Value};

use crate::constraints::{Branches, Constraints};
use crate::json_types::JsonTypes;
use crate::limits;
use crate::schema::CompiledSchema;
use crate::{Call, MockRequest};

/// A parameter's raw strings, before they are converted to its types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Texts {
    /// A single string, or one for each repetition of the name.
    Many(Vec<String>),
    /// Strings by name.
    Named(Vec<(String, Texts)>),
}

/// A parameter's value; `None` if it was not sent.
pub(crate) fn read(
    parameter: &ApiParameter,
    schema: &CompiledSchema,
    call: &Call<'_>,
) -> Option<Value> {
    if parameter.location == Location::QueryString {
        return Some(Value::Null).filter(|_| !call.request.query.is_empty());
    }
    let texts = sent(parameter, schema, call)?;
    if parameter.content.is_some() {
        let text = first(&texts)?;
        return Some(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)));
    }
    Some(typed(&texts, schema))
}

fn sent(parameter: &ApiParameter, schema: &CompiledSchema, call: &Call<'_>) -> Option<Texts> {
    let MockRequest { query, headers, .. } = call.request;
    let named = |pairs: &[(String, String)], is_it: &dyn Fn(&str) -> bool| -> Vec<String> {
        pairs.iter().filter(|(name, _)| is_it(name)).map(|(_, value)| value.clone()).collect()
    };
    let is_it = |name: &str| name == parameter.name;
    let texts = match parameter.location {
        Location::Path => named(&call.values, &is_it),
        Location::Header => named(headers, &|name| name.eq_ignore_ascii_case(&parameter.name)),
        Location::Cookie => named(&cookies(headers), &is_it),
        Location::Query | Location::QueryString => {
            if let Some(texts) = query_object(parameter, schema, query) {
                return Some(texts);
            }
            named(query, &is_it)
        }
    };
    (!texts.is_empty()).then(|| unstyled(parameter, schema, &texts))
}

/// Lists and objects in a query: `ids[]=1`, `filter[a]=1`, or each property under its own name.
fn query_object(
    parameter: &ApiParameter,
    schema: &CompiledSchema,
    query: &[(String, String)],
) -> Option<Texts> {
    let prefix = format!("{}[", parameter.name);
    if query.iter().any(|(name, _)| name.starts_with(&prefix)) {
        let own = query.iter().filter(|(name, _)| name.starts_with(&prefix));
        let Texts::Named(mut named) = tree(own.cloned()) else { return None };
        return Some(named.swap_remove(0).1);
    }
    if parameter.style != Style::Form || !parameter.explode {
        return None;
    }
    let constraints = Constraints::of(&[&schema.value], &schema.defs);
    let may_be = |kind| constraints.types.has(kind);
    if !constraints.typed || !may_be(JsonTypes::OBJECT) || may_be(JsonTypes::STRING) {
        return None;
    }
    let is_own = |name: &str| constraints.properties.iter().any(|(known, _)| *known == name);
    let own: Vec<_> = query.iter().filter(|(name, _)| is_own(name)).cloned().collect();
    (!own.is_empty()).then(|| tree(own.into_iter()))
}

/// Undoes the serialization of the parameter's style.
fn unstyled(parameter: &ApiParameter, schema: &CompiledSchema, texts: &[String]) -> Texts {
    let constraints = Constraints::of(&[&schema.value], &schema.defs);
    let wants_list = constraints.kind() == JsonTypes::ARRAY;
    let wants_object = constraints.kind() == JsonTypes::OBJECT && constraints.typed;
    if !wants_list && !wants_object || texts.len() > 1 {
        let strip = |text: &String| match parameter.style {
            Style::Label => text.strip_prefix('.').unwrap_or(text).to_owned(),
            Style::Matrix => text.split_once('=').map_or(&**text, |(_, value)| value).to_owned(),
            _ => text.clone(),
        };
        return Texts::Many(texts.iter().map(strip).collect());
    }
    let parts = parts(parameter, texts.first().map_or("", String::as_str));
    if wants_list {
        return Texts::Many(parts);
    }
    let is_paired = parts.iter().all(|part| part.contains('='));
    let split = |part: &String| {
        part.splitn(if is_paired { 2 } else { 1 }, '=').map(str::to_owned).collect::<Vec<_>>()
    };
    let halves: Vec<String> = parts.iter().flat_map(split).collect();
    let pair = |pair: &[String]| (pair[0].clone(), Texts::Many(vec![pair[1].clone()]));
    Texts::Named(halves.chunks_exact(2).map(pair).collect())
}

fn parts(parameter: &ApiParameter, text: &str) -> Vec<String> {
    let separator = match (parameter.style, parameter.explode) {
        (Style::Form, true) => return vec![text.to_owned()],
        (Style::Label, true) => '.',
        (Style::Matrix, true) => ';',
        (Style::SpaceDelimited, _) => ' ',
        (Style::PipeDelimited, _) => '|',
        (Style::TabDelimited, _) => '\t',
        _ => ',',
    };
    let text = match parameter.style {
        Style::Label => text.strip_prefix('.').unwrap_or(text).to_owned(),
        Style::Matrix => text.replace(&format!(";{}=", parameter.name), ";"),
        _ => text.to_owned(),
    };
    let text = if parameter.style == Style::Matrix { text.trim_start_matches(';') } else { &text };
    if text.is_empty() { Vec::new() } else { text.split(separator).map(str::to_owned).collect() }
}

fn cookies(headers: &[(String, String)]) -> Vec<(String, String)> {
    let lines = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
    let pairs = lines.flat_map(|(_, line)| line.split(';'));
    pairs
        .filter_map(|pair| pair.trim().split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Builds a tree from named strings: `a[b][c]=1`, `a[]=1`, `a=1&a=2`.
pub(crate) fn tree(pairs: impl Iterator<Item = (String, String)>) -> Texts {
    let mut root: Vec<(String, Texts)> = Vec::new();
    for (name, value) in pairs {
        let steps: Vec<&str> = name.split('[').map(|step| step.trim_end_matches(']')).collect();
        put(&mut root, &steps, value);
    }
    Texts::Named(root)
}

fn put(within: &mut Vec<(String, Texts)>, steps: &[&str], value: String) {
    let Some((first, rest)) = steps.split_first() else { return };
    let at = within.iter().position(|(name, _)| name == first).unwrap_or_else(|| {
        let empty = if rest.is_empty() || rest == [""] {
            Texts::Many(Vec::new())
        } else {
            Texts::Named(Vec::new())
        };
        within.push(((*first).to_owned(), empty));
        within.len() - 1
    });
    match &mut within[at].1 {
        Texts::Many(texts) => texts.push(value),
        Texts::Named(inner) => put(inner, rest, value),
    }
}

/// The value that the strings represent: the first interpretation that fits the schema, or else the
/// first one.
pub(crate) fn typed(texts: &Texts, schema: &CompiledSchema) -> Value {
    let by_branches = |number: usize| read_by(texts, &[&schema.value], schema, number);
    let as_text = first(texts).map(Value::from);
    let readings = (0..limits::READINGS).map(by_branches).chain(as_text);
    let mut readings = readings.chain(first(texts).map(guess));
    readings.find(|value| schema.fits(value)).unwrap_or_else(|| by_branches(0))
}

fn first(texts: &Texts) -> Option<&str> {
    match texts {
        Texts::Many(texts) => texts.first().map(String::as_str),
        Texts::Named(_) => None,
    }
}

/// The value guessed from a string alone, without a schema.
fn guess(text: &str) -> Value {
    if text.is_empty() {
        return Value::Null;
    }
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}

fn read_by<'s>(
    texts: &Texts,
    schemas: &[&'s Value],
    of: &'s CompiledSchema,
    number: usize,
) -> Value {
    let branches = Branches { number, plain_first: false };
    let constraints = Constraints::gather(schemas, &of.defs, branches);
    match texts {
        Texts::Many(many) if constraints.kind() == JsonTypes::ARRAY => {
            if let [one] = many.as_slice()
                && let Ok(list @ Value::Array(_)) = serde_json::from_str(one)
            {
                return list;
            }
            let item = |text: &String| {
                read_by(&Texts::Many(vec![text.clone()]), &constraints.items, of, number)
            };
            Value::Array(many.iter().map(item).collect())
        }
        Texts::Many(many) => scalar(many.first().map_or("", String::as_str), &constraints),
        Texts::Named(named) => {
            let is_list = constraints.kind() == JsonTypes::ARRAY
                || (!constraints.typed
                    && named.iter().all(|(name, _)| name.parse::<u32>().is_ok()));
            if is_list {
                let item =
                    |(_, item): &(String, Texts)| read_by(item, &constraints.items, of, number);
                return Value::Array(named.iter().map(item).collect());
            }
            let field = |(name, inner): &(String, Texts)| {
                let known = constraints.properties.iter().find(|(known, _)| known == name);
                let schemas = known.map_or(&constraints.additional, |(_, schemas)| schemas);
                (name.clone(), read_by(inner, schemas, of, number))
            };
            Value::Object(named.iter().map(field).collect::<Map<_, _>>())
        }
    }
}

fn scalar(text: &str, constraints: &Constraints<'_>) -> Value {
    let types = constraints.types;
    if types.has(JsonTypes::STRING) && constraints.kind() == JsonTypes::STRING {
        return Value::from(text);
    }
    let parsed = guess(text);
    let suits = match &parsed {
        Value::Number(_) => !types.and(JsonTypes::NUMBER).is_empty(),
        other => types.allow(other),
    };
    if suits { parsed } else { Value::from(text) }
}

//! Values read back from the texts they travel as: parameters in their styles, and forms. The texts
//! do not say what they are, so a schema is asked, and what fits it is what was meant.

use serde_json::{Map, Value};

use super::kinds::Types;
use super::schema::Schema;
use super::shape::{Choice, Shape, gather};
use crate::command::{Location, Parameter, Style};
use crate::limits;

/// What a parameter's texts can mean, as they travel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Texts {
    /// One text, or the same name several times.
    Many(Vec<String>),
    /// Named texts.
    Named(Vec<(String, Texts)>),
}

/// Where the texts of a request are found.
#[derive(Debug, Clone, Copy)]
pub(super) struct Places<'r> {
    pub(super) path: &'r [(String, String)],
    pub(super) query: &'r [(String, String)],
    pub(super) headers: &'r [(String, String)],
}

/// A parameter's value; nothing when it was not sent.
pub(super) fn read(parameter: &Parameter, schema: &Schema, places: Places<'_>) -> Option<Value> {
    if parameter.location == Location::QueryString {
        return Some(Value::Null).filter(|_| !places.query.is_empty());
    }
    let texts = sent(parameter, schema, places)?;
    if parameter.content.is_some() {
        let text = first(&texts)?;
        return Some(serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)));
    }
    Some(meaning(&texts, schema))
}

fn sent(parameter: &Parameter, schema: &Schema, places: Places<'_>) -> Option<Texts> {
    let named = |from: &[(String, String)], any_case: bool| -> Vec<String> {
        let is = |name: &str| {
            name == parameter.name || (any_case && name.eq_ignore_ascii_case(&parameter.name))
        };
        from.iter().filter(|(name, _)| is(name)).map(|(_, value)| value.clone()).collect()
    };
    let texts = match parameter.location {
        Location::Path => named(places.path, false),
        Location::Header => named(places.headers, true),
        Location::Cookie => named(&cookies(places.headers), false),
        Location::Query | Location::QueryString => {
            if let Some(texts) = query_object(parameter, schema, places.query) {
                return Some(texts);
            }
            let mut texts = named(places.query, false);
            // Many servers and clients write lists as `ids[]=1&ids[]=2`.
            let listed = format!("{}[]", parameter.name);
            texts.extend(places.query.iter().filter(|(n, _)| *n == listed).map(|(_, v)| v.clone()));
            texts
        }
    };
    if texts.is_empty() {
        return None;
    }
    Some(unstyled(parameter, schema, texts))
}

/// Objects in a query: `filter[a]=1`, or each property by its own name.
fn query_object(
    parameter: &Parameter,
    schema: &Schema,
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
    let shape = plain(schema);
    if !shape.types.has(Types::OBJECT) || !shape.typed || shape.types.has(Types::STRING) {
        return None;
    }
    let is_own = |name: &str| shape.properties.iter().any(|(known, _)| *known == name);
    let own: Vec<_> = query.iter().filter(|(name, _)| is_own(name)).cloned().collect();
    (!own.is_empty()).then(|| tree(own.into_iter()))
}

/// Takes a style off.
fn unstyled(parameter: &Parameter, schema: &Schema, texts: Vec<String>) -> Texts {
    let shape = plain(schema);
    let wants_list = shape.kind() == Types::ARRAY;
    let wants_object = shape.kind() == Types::OBJECT && shape.typed;
    if !wants_list && !wants_object || texts.len() > 1 {
        let strip = |text: String| match parameter.style {
            Style::Label => text.strip_prefix('.').map(str::to_owned).unwrap_or(text),
            Style::Matrix => text.split_once('=').map(|(_, v)| v.to_owned()).unwrap_or(text),
            _ => text,
        };
        return Texts::Many(texts.into_iter().map(strip).collect());
    }
    let text = texts.into_iter().next().unwrap_or_default();
    let parts = parts(parameter, &text);
    if wants_list {
        return Texts::Many(parts);
    }
    let pairs: Vec<(String, Texts)> = if parts.iter().all(|part| part.contains('=')) {
        let pair = |part: &String| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (name.to_owned(), Texts::Many(vec![value.to_owned()]))
        };
        parts.iter().map(pair).collect()
    } else {
        let pairs = parts.chunks_exact(2);
        pairs.map(|pair| (pair[0].clone(), Texts::Many(vec![pair[1].clone()]))).collect()
    };
    Texts::Named(pairs)
}

fn parts(parameter: &Parameter, text: &str) -> Vec<String> {
    let (text, separator) = match parameter.style {
        Style::Label => (
            text.strip_prefix('.').unwrap_or(text).to_owned(),
            if parameter.explode { '.' } else { ',' },
        ),
        Style::Matrix => {
            let name = format!(";{}=", parameter.name);
            if parameter.explode {
                (text.replace(&name, ";").trim_start_matches(';').to_owned(), ';')
            } else {
                (text.strip_prefix(&name).unwrap_or(text).to_owned(), ',')
            }
        }
        Style::SpaceDelimited => (text.to_owned(), ' '),
        Style::PipeDelimited => (text.to_owned(), '|'),
        Style::TabDelimited => (text.to_owned(), '\t'),
        Style::Form if parameter.explode => return vec![text.to_owned()],
        _ => (text.to_owned(), ','),
    };
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

/// Named texts as a tree: `a[b][c]=1`, `a[]=1`, `a=1&a=2`.
pub(super) fn tree(pairs: impl Iterator<Item = (String, String)>) -> Texts {
    let mut root: Vec<(String, Texts)> = Vec::new();
    for (name, value) in pairs {
        let (first, rest) = name.split_once('[').unwrap_or((&name, ""));
        let mut steps = vec![first];
        steps.extend(
            rest.split('[').map(|step| step.trim_end_matches(']')).filter(|_| !rest.is_empty()),
        );
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

/// What texts mean to a schema: the first reading that fits, else the first reading.
pub(super) fn meaning(texts: &Texts, schema: &Schema) -> Value {
    let typed = |number: usize| typed(texts, &[&schema.value], schema, number);
    let mut readings = (0..limits::MOCK_READINGS).map(typed).chain(first(texts).map(Value::from));
    let guess = first(texts).map(guess);
    let found = readings.by_ref().chain(guess).find(|value| schema.fits(value));
    found.unwrap_or_else(|| typed(0))
}

fn first(texts: &Texts) -> Option<&str> {
    match texts {
        Texts::Many(texts) => texts.first().map(String::as_str),
        Texts::Named(_) => None,
    }
}

fn plain(schema: &Schema) -> Shape<'_> {
    gather(&[&schema.value], &schema.defs, Choice { number: 0, plain_first: false })
}

/// What a text looks like by itself.
fn guess(text: &str) -> Value {
    match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "null" | "" => Value::Null,
        text => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
    }
}

fn typed<'s>(texts: &Texts, schemas: &[&'s Value], of: &'s Schema, number: usize) -> Value {
    let shape = gather(schemas, &of.defs, Choice { number, plain_first: false });
    match texts {
        Texts::Many(many) if shape.kind() == Types::ARRAY => {
            if let [one] = many.as_slice()
                && let Ok(list @ Value::Array(_)) = serde_json::from_str(one)
            {
                return list;
            }
            let one =
                |text: &String| typed(&Texts::Many(vec![text.clone()]), &shape.items, of, number);
            Value::Array(many.iter().map(one).collect())
        }
        Texts::Many(many) => scalar(many.first().map_or("", String::as_str), &shape),
        Texts::Named(named) => {
            let is_list = shape.kind() == Types::ARRAY
                || (!shape.typed && named.iter().all(|(name, _)| name.parse::<u32>().is_ok()));
            if is_list {
                let items = named.iter().map(|(_, item)| typed(item, &shape.items, of, number));
                return Value::Array(items.collect());
            }
            let mut object = Map::new();
            for (name, inner) in named {
                let known = shape.properties.iter().find(|(known, _)| known == name);
                let schemas = known.map_or(&shape.additional, |(_, schemas)| schemas);
                object.insert(name.clone(), typed(inner, schemas, of, number));
            }
            Value::Object(object)
        }
    }
}

fn scalar(text: &str, shape: &Shape<'_>) -> Value {
    let types = shape.types;
    if types.has(Types::STRING) && shape.kind() == Types::STRING {
        return Value::from(text);
    }
    let parsed = guess(text);
    let suits = match &parsed {
        Value::Number(_) => !types.and(Types::NUMBER).is_empty(),
        other => types.allow(other),
    };
    if suits { parsed } else { Value::from(text) }
}

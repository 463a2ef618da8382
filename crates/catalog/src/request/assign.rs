//! Resolves argument names to parameters and body properties.

use std::borrow::Cow;

use milepost_model::suggest;
use serde_json::Value;

use super::header;
use super::misuse::Misuse;
use crate::command::{ApiParameter, Location};

/// What a name in `with` refers to.
pub(crate) enum Meaning {
    Parameter(usize),
    Property,
}

/// A call's arguments, sorted by destination.
pub(crate) struct Assigned<'a> {
    /// The value of each parameter, indexed like the command's parameters, with the name under
    /// which it was given.
    pub(crate) values: Vec<Option<(&'a str, Cow<'a, Value>)>>,
    /// Body properties: the name as given, the property, the value.
    pub(crate) properties: Vec<(&'a str, &'a str, &'a Value)>,
}

/// Looks up argument names.
pub(crate) struct ArgumentNames<'n> {
    pub(crate) parameters: &'n [ApiParameter],
    /// The properties of the chosen body content.
    pub(crate) properties: &'n [String],
}

impl ArgumentNames<'_> {
    /// Sorts the arguments by destination.
    pub(crate) fn assign<'a>(
        &self,
        with: impl Iterator<Item = (&'a str, &'a Value)>,
        misuses: &mut Vec<Misuse>,
    ) -> Assigned<'a> {
        let mut assigned =
            Assigned { values: vec![None; self.parameters.len()], properties: Vec::new() };
        let twice = |first: &str, name: &str, what| Misuse::Twice {
            name: first.to_owned(),
            other: name.to_owned(),
            what,
        };
        for (name, value) in with {
            match self.meaning(name) {
                Ok((Meaning::Parameter(index), _)) => match &assigned.values[index] {
                    None => assigned.values[index] = Some((name, Cow::Borrowed(value))),
                    Some((first, _)) => misuses.push(twice(first, name, "parameter")),
                },
                Ok((Meaning::Property, property)) => {
                    let same = assigned.properties.iter().find(|(_, known, _)| *known == property);
                    match same {
                        None => assigned.properties.push((name, property, value)),
                        Some((first, ..)) => {
                            misuses.push(twice(first, name, "body property"));
                        }
                    }
                }
                Err(misuse) => misuses.push(misuse),
            }
        }
        assigned
    }

    /// What a name refers to. The name as a whole is tried first, because a parameter may be called
    /// `query.id`.
    pub(crate) fn meaning<'a>(&self, name: &'a str) -> Result<(Meaning, &'a str), Misuse> {
        let named: Vec<usize> = self.with_name(name).collect();
        match named.as_slice() {
            [one] => return self.usable(*one).map(|one| (Meaning::Parameter(one), name)),
            [] => {}
            several => {
                let spellings = several.iter().map(|index| self.qualified(*index)).collect();
                return Err(Misuse::Ambiguous { name: name.to_owned(), spellings });
            }
        }
        let is_property = |name: &str| self.properties.iter().any(|property| property == name);
        if is_property(name) {
            return Ok((Meaning::Property, name));
        }
        if let Some((location, bare)) = name.split_once('.') {
            let mut here = self.with_name(bare);
            let found = here.find(|index| self.parameters[*index].location.name() == location);
            if let Some(index) = found {
                return self.usable(index).map(|index| (Meaning::Parameter(index), bare));
            }
            if location == "body" && is_property(bare) {
                return Ok((Meaning::Property, bare));
            }
        }
        Err(self.unknown(name))
    }

    fn with_name<'s>(&'s self, name: &'s str) -> impl Iterator<Item = usize> + 's {
        let is_it = move |parameter: &ApiParameter| match parameter.location {
            Location::Header => parameter.name.eq_ignore_ascii_case(name),
            _ => parameter.name == name,
        };
        (0..self.parameters.len()).filter(move |index| is_it(&self.parameters[*index]))
    }

    fn usable(&self, index: usize) -> Result<usize, Misuse> {
        let parameter = &self.parameters[index];
        let own = parameter.location == Location::Header && header::is_own(&parameter.name);
        if own { Err(Misuse::OwnHeader { name: parameter.name.clone() }) } else { Ok(index) }
    }

    fn qualified(&self, index: usize) -> String {
        let parameter = &self.parameters[index];
        format!("{}.{}", parameter.location.name(), parameter.name)
    }

    fn unknown(&self, name: &str) -> Misuse {
        let parameters = self.parameters.iter().filter(|parameter| {
            parameter.location != Location::Header || !header::is_own(&parameter.name)
        });
        let names = parameters.map(|parameter| parameter.name.as_str());
        let names: Vec<&str> = names.chain(self.properties.iter().map(String::as_str)).collect();
        Misuse::Unknown {
            name: name.to_owned(),
            meant: suggest::closest(name, names.iter().copied()).map(str::to_owned),
            known: names.into_iter().map(str::to_owned).collect(),
        }
    }
}

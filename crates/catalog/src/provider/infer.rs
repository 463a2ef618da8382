//! Provider inference: finds, for each parameter, the list that its value is chosen from.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use milepost_syntax::json::document::JsonNode;

use super::link::{self, Links};
use super::name::{self, Asks, SplitName};
use super::route::{self, PathPart, PathRoute};
use super::shape::{ItemList, Shapes};
use super::value::{self, ChosenField, FieldSearch, WantedValue};
use super::{InferredProvider, ProviderBinding, ServedParameter};
use crate::command::{Location, Method};
use crate::openapi::{Api, ApiOperation, OpenApiVersion};
use crate::table::{Row, RowParameter};
use crate::{limits, text};

/// Infers all providers that are certain enough, in table order.
pub fn infer(api: &Api, rows: &[Row]) -> Vec<InferredProvider> {
    let mut inference = Inference::new(api, rows);
    for row in 0..rows.len() {
        inference.serve(row);
    }
    inference.into_providers()
}

/// Last path segments that denote a list but are not the collection's name.
const LISTINGS: &[&str] = &["list", "all", "json"];

/// Path segments that select a view of a collection rather than a different collection.
const ASPECTS: &[&str] = &["admin", "current", "me", "my", "test", "test_helpers", "watch"];
/// Free-text search parameters. The text of an earlier search must not be reused for another one.
const SOUGHT: &[&str] = &["q", "query", "search", "text", "term", "keyword", "filter"];

/// Why a list was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Why {
    /// A link in the document connects the list to the parameter.
    Link,
    /// The parameter's path extends the list's path.
    Above,
    /// The parameter is named after the listed resource.
    Named,
}

/// The properties that distinguish providers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    list: usize,
    value_field: String,
    binds: Vec<ProviderBinding>,
    confidence: super::Confidence,
    why: Why,
}

struct Inference<'d> {
    api: &'d Api,
    rows: &'d [Row],
    operations: Vec<Option<ApiOperation<'d>>>,
    routes: Vec<PathRoute<'d>>,
    /// Candidate list rows, by path key.
    by_path: HashMap<String, usize>,
    /// Candidate list rows, by the resource that their path names.
    by_thing: HashMap<String, Vec<usize>>,
    /// The list that each row returns, computed on first use.
    lists: HashMap<usize, Option<Rc<ItemList<'d>>>>,
    links: Links,
    shapes: Shapes<'d>,
    found: BTreeMap<Key, Vec<ServedParameter>>,
}

/// A parameter that needs a provider.
struct Parameter<'s, 'd> {
    row: usize,
    name: &'s str,
    location: Location,
    wanted: WantedValue<'d>,
}

impl<'d> Inference<'d> {
    fn new(api: &'d Api, rows: &'d [Row]) -> Inference<'d> {
        let operations: Vec<_> = rows.iter().map(|row| api.operation(row)).collect();
        let routes: Vec<PathRoute<'d>> = rows.iter().map(|row| PathRoute::new(&row.path)).collect();
        let mut by_path = HashMap::new();
        let mut by_thing: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, (row, route)) in rows.iter().zip(&routes).enumerate() {
            let needs_body = row.body.is_some_and(|body| body.required);
            if row.method != Method::Get || row.deprecated || needs_body || looks_up(row, route) {
                continue;
            }
            let count = route.parts.len();
            by_path.entry(route.key(count).to_owned()).or_insert(index);
            // A name like `customer.list` is an action, not a collection.
            if let Some(PathPart::Word(word)) = route.parts.last()
                && !word.contains('.')
            {
                let lists = by_thing.entry(SplitName::of_collection(word).stem()).or_default();
                if lists.len() < limits::LISTS_OF_ONE_NAME {
                    lists.push(index);
                }
            }
        }
        Inference {
            links: link::links(api, rows, &operations),
            lists: HashMap::new(),
            shapes: Shapes::new(api),
            found: BTreeMap::new(),
            api,
            rows,
            operations,
            routes,
            by_path,
            by_thing,
        }
    }

    /// Finds providers for one row's parameters.
    fn serve(&mut self, row: usize) {
        let rows = self.rows;
        let asked = rows[row].parameters.iter();
        let asked = asked.filter(|one| matches!(one.location, Location::Path | Location::Query));
        let asked: Vec<&RowParameter> = asked.filter(|one| self.is_promising(row, one)).collect();
        if asked.is_empty() {
            return;
        }
        let nodes = self.parameter_nodes(row);
        for RowParameter { name, location, .. } in asked {
            let says = |node: &JsonNode<'d>, key: &str, word: &str| {
                node.get(key).and_then(JsonNode::text).as_deref() == Some(word)
            };
            let mut named = nodes.iter().copied().filter(|node| says(node, "name", name));
            let node = named.find(|node| says(node, "in", location.name()));
            // In 2.0 a parameter is its own schema.
            let is_own = self.api.version() == OpenApiVersion::V2;
            let schema = if is_own { node } else { node.and_then(|node| node.get("schema")) };
            let Some(wanted) = WantedValue::new(&self.shapes, name, node, schema) else { continue };
            let parameter = Parameter { row, name, location: *location, wanted };
            if let Some(key) = self.provider_of(&parameter) {
                let command = rows[row].name.clone();
                let served =
                    ServedParameter { command, parameter: name.clone(), location: *location };
                self.found.entry(key).or_default().push(served);
            }
        }
    }

    /// Whether, judging by the table, a parameter may need a provider and is worth looking up in
    /// the document.
    fn is_promising(&self, row: usize, parameter: &RowParameter) -> bool {
        let is_linked =
            || !self.links.is_empty() && self.links.contains_key(&(row, parameter.name.clone()));
        if parameter.location == Location::Path || is_linked() {
            return true;
        }
        let name = SplitName::new(&parameter.name);
        let thing = name.thing_and_key().map_or_else(|| name.stem(), |(thing, _)| thing);
        self.by_thing.contains_key(&thing)
    }

    /// The document nodes of a row's parameters: those of the operation, then those of its path
    /// item.
    fn parameter_nodes(&self, row: usize) -> Vec<JsonNode<'d>> {
        let Some(operation) = &self.operations[row] else { return Vec::new() };
        let lists = [operation.get("parameters"), operation.item.get("parameters")];
        let nodes = lists.into_iter().flatten().flat_map(JsonNode::items).take(limits::PARAMETERS);
        nodes.filter_map(|node| self.api.resolve(node).ok()).collect()
    }

    fn provider_of(&mut self, parameter: &Parameter<'_, 'd>) -> Option<Key> {
        let above = self.above(parameter);
        let adds_to = above.filter(|(_, at)| self.adds(parameter, *at)).map(|(list, _)| list);
        let above = above.filter(|_| adds_to.is_none());
        self.by_link(parameter)
            .or_else(|| above.and_then(|(list, at)| self.continued(parameter, list, at)))
            .or_else(|| self.by_name(parameter).filter(|key| Some(key.list) != adds_to))
            .or_else(|| above.and_then(|(list, at)| self.namesake(parameter, list, at)))
    }

    /// Finds a list that links to the parameter.
    fn by_link(&mut self, parameter: &Parameter<'_, 'd>) -> Option<Key> {
        let linked = self.links.get(&(parameter.row, parameter.name.to_owned()))?.clone();
        linked.into_iter().find_map(|(source, key)| {
            let row = &self.rows[source];
            if row.method != Method::Get || row.deprecated {
                return None;
            }
            let list = self.list(source)?;
            let choice = self.search(&list, parameter).linked(&key)?;
            self.key(parameter, source, choice, Why::Link)
        })
    }

    /// The row whose path is the part before the parameter, and the parameter's index in the path.
    fn above(&self, parameter: &Parameter<'_, 'd>) -> Option<(usize, usize)> {
        if parameter.location != Location::Path {
            return None;
        }
        let route = &self.routes[parameter.row];
        let at = route.parts.iter().position(|part| *part == PathPart::Value(parameter.name))?;
        let key = route.key(at);
        let listed = || {
            let mut keys = LISTINGS.iter().map(|word| format!("{key}/{word}"));
            keys.find_map(|key| self.by_path.get(&key))
        };
        let list = self.by_path.get(key).or_else(listed)?;
        (at > 0 && *list != parameter.row).then_some((*list, at))
    }

    fn is_last(&self, parameter: &Parameter<'_, 'd>, at: usize) -> bool {
        at + 1 == self.routes[parameter.row].parts.len()
    }

    fn is_put(&self, parameter: &Parameter<'_, 'd>, at: usize) -> bool {
        self.is_last(parameter, at) && self.rows[parameter.row].method == Method::Put
    }

    /// Whether this value is all that a `PUT` or `POST` sends. Such a request adds the value, so it
    /// is not in the list yet.
    fn adds(&self, parameter: &Parameter<'_, 'd>, at: usize) -> bool {
        let row = &self.rows[parameter.row];
        let beside = row.parameters.iter().any(|other| other.location == Location::Query);
        let sends = matches!(row.method, Method::Put | Method::Post);
        sends && row.body.is_none() && !beside && self.is_last(parameter, at)
    }

    /// The list whose path the parameter extends, if its items have a suitable field.
    fn continued(&mut self, parameter: &Parameter<'_, 'd>, row: usize, at: usize) -> Option<Key> {
        let list = self.list(row)?;
        let route = &self.routes[parameter.row];
        let things = things_of(route.word(at), &list);
        let directly = matches!(route.parts[at - 1], PathPart::Word(_));
        let links = self.links.get(&(parameter.row, parameter.name.to_owned())).cloned();
        let search = self.search(&list, parameter);
        let linked = links.iter().flatten().find_map(|(_, key)| search.linked(key));
        let choice = linked.or_else(|| self.search(&list, parameter).field(&things))?;
        // The user being added is not in the list yet.
        let adds = self.is_put(parameter, at) && choice.pointer == "/login";
        // After another parameter, only the name shows whether this one belongs to the same
        // collection.
        let sure = directly || matches!(parameter.wanted.name.asks(&things), Asks::Field(_));
        if adds || !sure {
            return None;
        }
        self.key(parameter, row, choice, Why::Above)
    }

    /// Uses the list at the path before the parameter if its items have a field with the
    /// parameter's name, even though they are a different resource.
    fn namesake(&mut self, parameter: &Parameter<'_, 'd>, row: usize, at: usize) -> Option<Key> {
        if self.is_put(parameter, at) {
            return None;
        }
        let list = self.list(row)?;
        let choice = self.search(&list, parameter).namesake()?;
        self.key(parameter, row, choice, Why::Above)
    }

    /// The list of the resource that the parameter is named after, either at the top level or near
    /// the place where the parameter is used.
    fn by_name(&mut self, parameter: &Parameter<'_, 'd>) -> Option<Key> {
        let wanted = &parameter.wanted;
        let route = &self.routes[parameter.row];
        let place = route.parts.iter().position(|part| *part == PathPart::Value(parameter.name));
        let place = place.unwrap_or(route.parts.len());
        let thing = match wanted.name.thing_and_key() {
            Some((thing, key)) if parameter.location == Location::Path || is_id(key) => thing,
            Some(_) => return None,
            None => {
                let thing = wanted.name.stem();
                let word = route.word(place).map(|word| SplitName::of_collection(word).stem());
                let sure = match parameter.location {
                    Location::Path => word.is_some_and(|word| word == thing),
                    _ => name::keys_in(&wanted.description).first() == Some(&"id"),
                };
                Some(thing).filter(|_| sure)?
            }
        };
        let row = self.nearest(parameter.row, place, &thing)?;
        let creates = !matches!(self.rows[parameter.row].method, Method::Get | Method::Delete)
            && self.routes[row].key(self.routes[row].parts.len()) == route.key(route.parts.len());
        if creates {
            // The id of the resource being created is not in the list yet.
            return None;
        }
        let is_top = self.routes[row].is_top(self.routes[row].parts.len() - 1);
        if is_top && self.is_scoped(parameter, place, &thing) {
            return None;
        }
        let list = self.list(row)?;
        let word = self.routes[row].word(self.routes[row].parts.len())?;
        let things = things_of(Some(word), &list);
        let choice = self.search(&list, parameter).field(&things)?;
        self.key(parameter, row, choice, Why::Named)
    }

    /// Whether the parameter refers to a narrower collection than the top-level list:
    /// `/albums/comments/{id}` does not refer to the comments listed by `/comments`, and
    /// `/repos/{owner}/{repo}` only accepts that owner's repositories.
    fn is_scoped(&self, parameter: &Parameter<'_, 'd>, place: usize, thing: &str) -> bool {
        let parts = &self.routes[parameter.row].parts;
        if parameter.location != Location::Path || place < 2 {
            return false;
        }
        let is_thing = |word: &str| SplitName::of_collection(word).stem() == thing;
        match parts[place - 2..place] {
            [_, PathPart::Value(_)] => self.routes[parameter.row].word(place).is_some_and(is_thing),
            [PathPart::Word(scope), PathPart::Word(word)] => {
                is_thing(word) && !ASPECTS.contains(&scope) && !route::is_version(scope)
            }
            _ => false,
        }
    }

    /// Of all lists of a resource, the one nearest to a path; `None` if there is a tie.
    fn nearest(&self, row: usize, place: usize, thing: &str) -> Option<usize> {
        let route = &self.routes[row];
        let near = self.by_thing.get(thing)?.iter().filter_map(|list| {
            let other = &self.routes[*list];
            let parent = other.parts.len() - 1;
            let beside = parent <= place && other.key(parent) == route.key(parent);
            let near = if beside { parent + 1 } else { 0 };
            ((beside || other.is_top(parent)) && *list != row).then_some((near, *list))
        });
        let mut near: Vec<(usize, usize)> = near.collect();
        near.sort_by_key(|(near, _)| std::cmp::Reverse(*near));
        match near[..] {
            [(_, list)] => Some(list),
            [(first, list), (second, _), ..] if first > second => Some(list),
            _ => None,
        }
    }

    fn search<'s>(
        &'s mut self,
        list: &'s ItemList<'d>,
        parameter: &'s Parameter<'_, 'd>,
    ) -> FieldSearch<'s, 'd> {
        FieldSearch { shapes: &mut self.shapes, list, wanted: &parameter.wanted }
    }

    /// The list that a row returns.
    fn list(&mut self, row: usize) -> Option<Rc<ItemList<'d>>> {
        if let Some(list) = self.lists.get(&row) {
            return list.clone();
        }
        let route = &self.routes[row];
        let word = route.word(route.parts.len()).unwrap_or_default();
        let schema = self.operations[row].as_ref();
        let schema = schema.and_then(|operation| self.api.success_schema(operation));
        let list = schema.and_then(|schema| self.shapes.list(schema, word)).map(Rc::new);
        self.lists.insert(row, list.clone());
        list
    }

    /// The provider, if every required parameter of the list command can be bound.
    fn key(
        &self,
        parameter: &Parameter<'_, 'd>,
        list: usize,
        choice: ChosenField,
        why: Why,
    ) -> Option<Key> {
        let required = self.rows[list].parameters.iter().filter(|needed| needed.required);
        let binds: Option<Vec<ProviderBinding>> =
            required.map(|needed| self.bind(parameter, list, needed, why)).collect();
        let ChosenField { pointer: value_field, confidence } = choice;
        Some(Key { list, value_field, binds: binds?, confidence, why })
    }

    fn bind(
        &self,
        parameter: &Parameter<'_, 'd>,
        list: usize,
        needed: &RowParameter,
        why: Why,
    ) -> Option<ProviderBinding> {
        let bind = |from: &str| ProviderBinding {
            parameter: needed.name.clone(),
            from: from.to_owned(),
            location: needed.location,
        };
        if needed.location != Location::Path {
            if SOUGHT.iter().any(|word| needed.name.eq_ignore_ascii_case(word)) {
                return None;
            }
            let mut given = self.rows[parameter.row].parameters.iter();
            let given = given.find(|given| {
                given.required && given.name == needed.name && given.location == needed.location
            })?;
            return (given.name != parameter.name).then(|| bind(&given.name));
        }
        let (lister, served) = (&self.routes[list], &self.routes[parameter.row]);
        if why == Why::Link
            && needed.name != parameter.name
            && served.parts.contains(&PathPart::Value(&needed.name))
        {
            return Some(bind(&needed.name));
        }
        let at = lister.parts.iter().position(|part| *part == PathPart::Value(&needed.name))?;
        let same = served.parts.len() > at && served.key(at + 1) == lister.key(at + 1);
        match served.parts.get(at) {
            Some(PathPart::Value(from)) if same && *from != parameter.name => {
                // If one path takes a `username` and the other a `user_id`, the values are not
                // interchangeable.
                let (ours, theirs) = (SplitName::new(from), SplitName::new(&needed.name));
                (from == &needed.name || ours.may_stand_for(&theirs)).then(|| bind(from))
            }
            _ => None,
        }
    }

    fn into_providers(mut self) -> Vec<InferredProvider> {
        let found = std::mem::take(&mut self.found);
        let providers = found.into_iter().filter_map(|(key, serves)| {
            let list = self.list(key.list)?;
            let command = &self.rows[key.list].name;
            Some(InferredProvider {
                reason: reason(&key, command),
                command: command.clone(),
                list_at: list.at.clone(),
                label_field: value::label(&self.shapes, &list, &key.value_field),
                value_field: key.value_field,
                binds: key.binds,
                confidence: key.confidence,
                serves,
            })
        });
        providers.collect()
    }
}

/// The names of the listed resource: from the path and from the item schema.
fn things_of(word: Option<&str>, list: &ItemList<'_>) -> Vec<SplitName> {
    word.map(SplitName::of_collection).into_iter().chain(list.item_name.clone()).collect()
}

/// Whether the list only returns resources whose ids the caller passes in.
fn looks_up(row: &Row, route: &PathRoute<'_>) -> bool {
    let thing = route.word(route.parts.len()).map(|word| SplitName::of_collection(word).stem());
    let thing = thing.unwrap_or_default();
    let mut asked = row.parameters.iter().filter(|one| one.location == Location::Query);
    let by_ids = asked.clone().any(|one| {
        let name = &one.name;
        name.to_ascii_lowercase().ends_with("ids") && SplitName::new(name).takes_ids(&thing)
    });
    by_ids
        && (row.summary.split(|c: char| !c.is_alphanumeric()).any(|word| word == "IDs")
            || !asked.any(|one| SplitName::new(&one.name).pages()))
}

/// Whether a key identifies a resource and is never used as search text.
fn is_id(key: &str) -> bool {
    matches!(key, "id" | "uuid" | "guid" | "gid" | "sid" | "uid" | "key" | "slug")
}

fn reason(key: &Key, command: &str) -> String {
    let field = key.value_field.trim_start_matches('/');
    let field = text::line(field, limits::TAG_CHARS);
    match key.why {
        Why::Link => format!("the document links `{field}` from `{command}` to the parameter"),
        Why::Above => {
            format!("the parameter's path extends that of `{command}`, whose items have `{field}`")
        }
        Why::Named => {
            format!("the parameter is named after the items of `{command}`, which have `{field}`")
        }
    }
}

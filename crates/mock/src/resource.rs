//! Determines which paths are collections and which are items, and where ids and lists are located
//! in responses.

use std::collections::BTreeMap;

use milepost_catalog::command::Method;
use milepost_catalog::finding::below;
use milepost_catalog::pagination::names::LISTS;
use milepost_catalog::text::bare_word;
use serde_json::{Map, Value};

use crate::router::MockRoute;

/// Names of id properties, best first, used if nothing else identifies the id.
const IDS: &[&str] = &["id", "gid", "sid", "uuid", "guid", "uid", "key"];
/// Fallback names, used if no property has one of the names in [`IDS`].
const WEAK_IDS: &[&str] = &["name", "slug", "code", "number", "login"];
/// Suffixes that may follow the last path segment: `/Messages/{Sid}.json`.
const SUFFIXES: &[&str] = &[".json", ".xml"];

/// A collection: its path, and the operations on it and its items by route index.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Collection {
    /// The collection's path template.
    pub(crate) path: String,
    /// The parameter at the end of an item's path.
    pub(crate) parameter: Option<String>,
    /// The first route for each action.
    pub(crate) routes: BTreeMap<CollectionAction, usize>,
}

/// What an operation does to a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CollectionAction {
    List,
    Create,
    Clear,
    Read,
    /// Changes an item, or creates it if the method allows that.
    Update,
    Delete,
}

/// The collections that the routes belong to, and for each route what it does to which collection.
pub(crate) fn collections(
    routes: &[MockRoute],
) -> (Vec<Collection>, Vec<Option<(usize, CollectionAction)>>) {
    let mut found: Vec<Collection> = Vec::new();
    let known = |path: &str| routes.iter().any(|route| route.path == path);
    for route in routes {
        let Some((path, parameter)) = item_path(&route.path) else { continue };
        if known(&path) && !found.iter().any(|one| one.path == path) {
            found.push(Collection { path, parameter: Some(parameter), ..Collection::default() });
        }
    }
    for route in routes.iter().filter(|route| route.method == Method::Post) {
        let listed = routes.iter().any(|r| r.path == route.path && r.method == Method::Get);
        let is_item = item_path(&route.path).is_some() || route.path.ends_with('}');
        if listed && !is_item && !found.iter().any(|one| one.path == route.path) {
            found.push(Collection { path: route.path.clone(), ..Collection::default() });
        }
    }
    let mut actions = Vec::with_capacity(routes.len());
    for (index, route) in routes.iter().enumerate() {
        let action = action(route, &found);
        if let Some((collection, action)) = action {
            found[collection].routes.entry(action).or_insert(index);
        }
        actions.push(action);
    }
    (found, actions)
}

fn action(route: &MockRoute, found: &[Collection]) -> Option<(usize, CollectionAction)> {
    if let Some(at) = found.iter().position(|one| one.path == route.path) {
        let action = match route.method {
            Method::Get | Method::Query | Method::Head => CollectionAction::List,
            Method::Post | Method::Put => CollectionAction::Create,
            Method::Delete => CollectionAction::Clear,
            Method::Patch | Method::Options | Method::Trace => return None,
        };
        return Some((at, action));
    }
    let (path, parameter) = item_path(&route.path)?;
    let at = found
        .iter()
        .position(|one| one.path == path && one.parameter.as_ref() == Some(&parameter))?;
    let action = match route.method {
        Method::Get | Method::Head => CollectionAction::Read,
        Method::Put | Method::Patch | Method::Post => CollectionAction::Update,
        Method::Delete => CollectionAction::Delete,
        Method::Query | Method::Options | Method::Trace => return None,
    };
    Some((at, action))
}

/// The collection path for an item path, and the parameter at the end.
fn item_path(path: &str) -> Option<(String, String)> {
    let path = path.strip_suffix('/').unwrap_or(path);
    let suffix = SUFFIXES.iter().find(|suffix| path.ends_with(*suffix)).copied().unwrap_or("");
    let bare = path.strip_suffix(suffix).unwrap_or(path);
    let (above, last) = bare.rsplit_once('/')?;
    let name = last.strip_prefix('{')?.strip_suffix('}')?;
    if name.contains(['{', '}']) || above.is_empty() || above.ends_with('}') {
        return None;
    }
    Some((format!("{above}{suffix}"), name.to_owned()))
}

/// A template with its parameters filled in.
pub(crate) fn filled(template: &str, values: &[(String, String)]) -> String {
    let mut path = template.to_owned();
    for (name, value) in values {
        path = path.replace(&format!("{{{name}}}"), &value.replace('/', "%2F"));
    }
    path
}

/// Whether a property with this name identifies a resource.
pub(crate) fn is_id_like(name: &str) -> bool {
    let name = bare_word(name);
    IDS.iter().chain(WEAK_IDS).any(|id| name.ends_with(id))
}

/// JSON pointer to an object's id: one of its properties, or one in `metadata`.
pub(crate) fn id_pointer(object: &Value, parameter: Option<&str>) -> Option<String> {
    let object = object.as_object()?;
    strong_id(object, parameter).or_else(|| weak_id(object))
}

fn strong_id(object: &Map<String, Value>, parameter: Option<&str>) -> Option<String> {
    let wanted = parameter.map(bare_word).unwrap_or_default();
    if wanted == "name"
        && let Some(Value::Object(metadata)) = object.get("metadata")
    {
        return named(metadata, "name").map(|id| format!("/metadata{id}"));
    }
    let by_parameter = || {
        // `order_id` is the `id` of an order.
        let mut ending = IDS.iter().chain(WEAK_IDS).filter(|id| wanted.ends_with(*id));
        named(object, &wanted).or_else(|| ending.find_map(|id| named(object, id)))
    };
    let found = if wanted.is_empty() { None } else { by_parameter() };
    found.or_else(|| IDS.iter().find_map(|id| named(object, id)))
}

fn weak_id(object: &Map<String, Value>) -> Option<String> {
    WEAK_IDS.iter().find(|id| object.get(**id).is_some_and(is_scalar)).map(|id| below("", id))
}

/// Pointer to the scalar member with this name in any case style.
fn named(object: &Map<String, Value>, name: &str) -> Option<String> {
    let mut members = object.iter();
    let found = members.find(|(key, value)| is_scalar(value) && bare_word(key) == name);
    found.map(|(key, _)| below("", key))
}

fn is_scalar(value: &Value) -> bool {
    value.is_string() || value.is_number()
}

/// A value as text without quotes, for comparison with path segments.
pub(crate) fn plain_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Where the resource is in a response: the whole response, a member, or the first item of a list.
pub(crate) fn find_item(answer: &Value, parameter: Option<&str>) -> Option<String> {
    let has = |value: &Value| value.as_object().is_some_and(|o| strong_id(o, parameter).is_some());
    if has(answer) {
        return Some(String::new());
    }
    let members = answer.as_object()?;
    if let Some((name, _)) = members.iter().find(|(_, value)| has(value)) {
        return Some(below("", name));
    }
    if let Some((name, _)) = members.iter().find(|(_, value)| value.get(0).is_some_and(has)) {
        return Some(below("", name) + "/0");
    }
    weak_id(members).map(|_| String::new())
}

/// Where the list is in a response: the whole response, a member named like a list or like the
/// collection, or the only candidate.
pub(crate) fn find_list(answer: &Value, collection: &str) -> Option<String> {
    if answer.is_array() {
        return Some(String::new());
    }
    let members = answer.as_object()?;
    let last = collection.rsplit('/').find(|segment| !segment.starts_with('{'));
    let last = last.map(|segment| bare_word(segment.split('.').next().unwrap_or(segment)));
    let holds_objects =
        |value: &Value| value.as_array().is_some_and(|a| a.first().is_none_or(Value::is_object));
    let lists: Vec<&String> =
        members.iter().filter(|(_, value)| holds_objects(value)).map(|(name, _)| name).collect();
    let named = lists.iter().find(|name| Some(bare_word(name)) == last);
    let usual = || lists.iter().find(|name| LISTS.contains(&bare_word(name)));
    let only = || lists.first().filter(|_| lists.len() == 1);
    if let Some(name) = named.or_else(usual).or_else(only) {
        return Some(below("", name));
    }
    // For example `{data: {items: […]}}`.
    members.iter().find_map(|(name, value)| {
        let mut inner = value.as_object()?.iter();
        let (key, _) = inner.find(|(key, value)| {
            let word = bare_word(key);
            holds_objects(value) && (LISTS.contains(&word) || Some(word) == last)
        })?;
        Some(below(&below("", name), key))
    })
}

//! Which paths are collections and which are their items, and where ids and lists stand in answers.

use serde_json::{Map, Value};

use super::attempt::below;
use super::route::Route;
use crate::command::Method;

/// Names that ids go by when nothing else tells, best first.
const IDS: &[&str] = &["id", "gid", "sid", "uuid", "guid", "uid", "key"];
/// Names that are ids when there is none of those.
const WEAK_IDS: &[&str] = &["name", "slug", "code", "number", "login"];
/// Names that lists go by in an answer.
const LISTS: &[&str] =
    &["data", "items", "results", "result", "value", "values", "list", "entries", "records"];
/// What can stand behind the last segment of a path: `/Messages/{Sid}.json`.
const SUFFIXES: &[&str] = &[".json", ".xml"];

/// A collection: its path and the operations on it and on its items, by index of their route.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Collection {
    /// The template of the collection.
    pub(super) path: String,
    /// The parameter that an item's path ends with.
    pub(super) parameter: Option<String>,
    pub(super) list: Option<usize>,
    pub(super) create: Option<usize>,
    pub(super) read: Option<usize>,
    pub(super) update: Option<usize>,
}

/// What an operation does to a collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    List,
    Create,
    Clear,
    Read,
    /// Of an item; made when it is not there, for methods that can.
    Update,
    Delete,
}

/// The collections of some routes, and what each route does to which.
pub(super) fn collections(routes: &[Route]) -> (Vec<Collection>, Vec<Option<(usize, Action)>>) {
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
            let one = &mut found[collection];
            let place = match action {
                Action::List => &mut one.list,
                Action::Create => &mut one.create,
                Action::Read => &mut one.read,
                Action::Update => &mut one.update,
                Action::Clear | Action::Delete => &mut None,
            };
            place.get_or_insert(index);
        }
        actions.push(action);
    }
    (found, actions)
}

fn action(route: &Route, found: &[Collection]) -> Option<(usize, Action)> {
    if let Some(at) = found.iter().position(|one| one.path == route.path) {
        let action = match route.method {
            Method::Get | Method::Query | Method::Head => Action::List,
            Method::Post | Method::Put => Action::Create,
            Method::Delete => Action::Clear,
            Method::Patch | Method::Options | Method::Trace => return None,
        };
        return Some((at, action));
    }
    let (path, parameter) = item_path(&route.path)?;
    let at = found
        .iter()
        .position(|one| one.path == path && one.parameter.as_ref() == Some(&parameter))?;
    let action = match route.method {
        Method::Get | Method::Head => Action::Read,
        Method::Put | Method::Patch | Method::Post => Action::Update,
        Method::Delete => Action::Delete,
        Method::Query | Method::Options | Method::Trace => return None,
    };
    Some((at, action))
}

/// The collection of an item's path, and the parameter at its end.
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

/// A template with the values of its parameters.
pub(super) fn filled(template: &str, values: &[(String, String)]) -> String {
    let mut path = template.to_owned();
    for (name, value) in values {
        path = path.replace(&format!("{{{name}}}"), &value.replace('/', "%2F"));
    }
    path
}

/// Letters and digits of a name, small.
fn plain(name: &str) -> String {
    let kept = name.chars().filter(char::is_ascii_alphanumeric);
    kept.collect::<String>().to_ascii_lowercase()
}

/// Whether a property of that name tells resources apart.
pub(super) fn is_id_like(name: &str) -> bool {
    let name = plain(name);
    IDS.iter().chain(WEAK_IDS).any(|id| name.ends_with(id))
}

/// Where the id of an object stands: a property, or one of `metadata`.
pub(super) fn id_field(
    object: &Map<String, Value>,
    parameter: Option<&str>,
) -> Option<Vec<String>> {
    strong_id(object, parameter).or_else(|| weak_id(object))
}

fn strong_id(object: &Map<String, Value>, parameter: Option<&str>) -> Option<Vec<String>> {
    let wanted = parameter.map(plain).unwrap_or_default();
    let is_metadata = wanted == "name" && object.get("metadata").is_some_and(Value::is_object);
    let named = |name: &str, within: &Map<String, Value>| {
        let mut fields = within.iter();
        fields
            .find(|(key, value)| is_scalar(value) && plain(key) == name)
            .map(|(key, _)| key.clone())
    };
    if is_metadata {
        let metadata = object.get("metadata").and_then(Value::as_object)?;
        return named("name", metadata).map(|key| vec!["metadata".to_owned(), key]);
    }
    if !wanted.is_empty() {
        if let Some(key) = named(&wanted, object) {
            return Some(vec![key]);
        }
        // `order_id` is the `id` of an order.
        let mut ending = IDS.iter().chain(WEAK_IDS).filter(|id| wanted.ends_with(*id));
        if let Some(key) = ending.find_map(|id| named(id, object)) {
            return Some(vec![key]);
        }
    }
    IDS.iter().find_map(|id| named(id, object)).map(|key| vec![key])
}

fn weak_id(object: &Map<String, Value>) -> Option<Vec<String>> {
    let named = |id: &&&str| object.get(**id).is_some_and(is_scalar);
    WEAK_IDS.iter().find(named).map(|id| vec![(*id).to_owned()])
}

fn is_scalar(value: &Value) -> bool {
    value.is_string() || value.is_number()
}

/// An id as text, to compare it with what stands in a path.
pub(super) fn id_text(id: &Value) -> String {
    id.as_str().map_or_else(|| id.to_string(), str::to_owned)
}

/// Where the resource stands in an answer: the whole of it, a member, or the first of a list.
pub(super) fn find_item(answer: &Value, parameter: Option<&str>) -> Option<String> {
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

/// Where the list stands in an answer: the whole of it, or a member that goes by the name of a list
/// or of the collection, or the only one that can be.
pub(super) fn find_list(answer: &Value, collection: &str) -> Option<String> {
    if answer.is_array() {
        return Some(String::new());
    }
    let members = answer.as_object()?;
    let last = collection.rsplit('/').find(|segment| !segment.starts_with('{'));
    let last = last.map(|segment| plain(segment.split('.').next().unwrap_or(segment)));
    let holds_objects =
        |value: &Value| value.as_array().is_some_and(|a| a.first().is_none_or(Value::is_object));
    let lists: Vec<&String> =
        members.iter().filter(|(_, value)| holds_objects(value)).map(|(name, _)| name).collect();
    let named = lists.iter().find(|name| Some(plain(name)) == last);
    let usual = || lists.iter().find(|name| LISTS.contains(&plain(name).as_str()));
    let only = || lists.first().filter(|_| lists.len() == 1);
    if let Some(name) = named.or_else(usual).or_else(only) {
        return Some(below("", name));
    }
    // `{data: {items: […]}}` and the like.
    let nested = members.iter().filter(|(_, value)| value.is_object());
    nested.filter_map(|(name, value)| Some((name, value.as_object()?))).find_map(|(name, inner)| {
        let (key, _) = inner.iter().find(|(key, value)| {
            holds_objects(value)
                && (LISTS.contains(&plain(key).as_str()) || Some(plain(key)) == last)
        })?;
        Some(below(&below("", name), key))
    })
}

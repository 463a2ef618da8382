//! Command names, which consist of a resource path and a verb, such as `orders:refunds:create`. A
//! name is never reassigned, and no two commands share one.

use std::collections::{BTreeMap, BTreeSet};

use milepost_model::document::hex;
use sha2::{Digest, Sha256};

use crate::command::Method;
use crate::limits::NAME_CHARS;
use crate::table::Row;
use crate::text::{self, TemplatePiece, WordList, template_pieces};

/// Previously assigned names, by method and path.
pub type AssignedNames = BTreeMap<String, String>;

/// Words that mark the last segment of a path as an action rather than a resource.
const ACTIONS: WordList = WordList(
    "accept acknowledge activate add allocate apply approve archive assign attach authenticate \
        authorize autocomplete batch block bulk calculate cancel capture change check claim clear \
        clone close complete compute confirm connect convert copy count create deactivate decline \
        decrypt delete deny deploy describe detach disable disconnect dismiss download duplicate \
        edit enable encrypt estimate evaluate exchange execute expire export fetch finalize find \
        finish follow forward generate get import increment initiate inspect invalidate invite \
        invoke kill leave link list lock login logout lookup mark merge migrate modify move mute \
        notify open parse patch pause pin ping play preview process promote provision publish \
        pull purge push put query read rebuild recover redeem refresh refund register reject \
        release reload remove rename render renew reopen reorder replace replay reply report \
        rerun resend reserve reset resize resolve restart restore resume retry return revert \
        review revoke rotate run save schedule search send set share sign signup skip snooze \
        split start stop stream submit subscribe suggest suspend swap sync tag terminate test \
        toggle track transfer translate trigger unarchive unassign unblock undelete undo unfollow \
        unlink unlock unmute unpin unpublish unsubscribe update upgrade upload upsert validate \
        verify view void wait watch withdraw write",
);

/// Assigns a name to every row. Previous names come first, then plain names; ties are broken by the
/// `operationId` and then by a short hash. The result does not depend on document order.
pub fn assign(rows: &mut [Row], lists: &[bool], kept: &AssignedNames) {
    // The name of an operation that disappeared stays reserved, so that it never refers to another
    // one.
    let mut taken: BTreeSet<String> = kept.values().cloned().collect();
    let mut open: Vec<usize> = Vec::new();
    let mut given: BTreeSet<String> = BTreeSet::new();
    for (index, row) in rows.iter_mut().enumerate() {
        let name = kept.get(&row.key()).filter(|name| is_name(name));
        match name.filter(|name| given.insert((*name).clone())) {
            Some(name) => row.name.clone_from(name),
            None => open.push(index),
        }
    }
    let ids = ids(rows);
    // The command with the shortest path gets the plain name.
    open.sort_by_cached_key(|index| (rows[*index].path.len(), rows[*index].key()));
    for index in open {
        let name = free_name(&rows[index], lists[index], &ids, &taken);
        taken.insert(name.clone());
        rows[index].name = name;
    }
}

/// The operation ids as names, with the number of operations that use each.
fn ids(rows: &[Row]) -> BTreeMap<String, usize> {
    let mut ids = BTreeMap::new();
    for id in rows.iter().filter_map(|row| text::kebab(row.operation_id.as_deref()?)) {
        *ids.entry(id).or_insert(0) += 1;
    }
    ids
}

fn free_name(
    row: &Row,
    lists: bool,
    ids: &BTreeMap<String, usize>,
    taken: &BTreeSet<String>,
) -> String {
    let plain = plain_name(row, lists);
    let mut candidates = vec![plain.clone()];
    if row.method == Method::Put
        && let Some(resource) = plain.strip_suffix(":update")
    {
        candidates.push(format!("{resource}:replace"));
    }
    // An id shared by several operations is ambiguous.
    let id = row.operation_id.as_deref().and_then(text::kebab);
    candidates.extend(id.filter(|id| ids.get(id) == Some(&1)));
    candidates.retain(|name| name.len() <= NAME_CHARS);
    // The end of a long name is the most specific part; a hash makes it unique.
    candidates.extend((6..=40).map(|digits| hashed(&plain, row, digits)));
    candidates.into_iter().find(|name| !taken.contains(name)).unwrap_or_default()
}

/// Whether `text` is a valid command name.
pub fn is_name(text: &str) -> bool {
    (1..=NAME_CHARS).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b":-".contains(&b))
}

/// A path segment: its text, and whether it contains a parameter.
struct Part {
    word: Option<String>,
    value: bool,
}

fn plain_name(row: &Row, lists: bool) -> String {
    let (path, fragment) = row.path.split_once('#').unwrap_or((&row.path, ""));
    let mut parts = parts(path);
    if let Some(action) = fragment.rsplit(['=', '.']).next().and_then(text::kebab) {
        parts.push(Part { word: Some(action), value: false });
    }
    let ends_in_value = parts.last().is_some_and(|part| part.value);
    let mut words: Vec<&str> = Vec::new();
    for word in parts.iter().filter_map(|part| part.word.as_deref()) {
        if words.last() != Some(&word) {
            words.push(word);
        }
    }
    let Some(last) = words.last().copied() else {
        let id = row.operation_id.as_deref().and_then(text::kebab);
        let verb = || verb(row.method, ends_in_value, lists, false);
        return id.unwrap_or_else(|| format!("root:{}", verb()));
    };
    // The last segment is the action: `orders:cancel`.
    if !ends_in_value && is_action(row.method, last) {
        return words.join(":");
    }
    let verb = verb(row.method, ends_in_value, lists, is_plural(last));
    format!("{}:{verb}", words.join(":"))
}

fn verb(method: Method, item: bool, lists: bool, plural: bool) -> &'static str {
    match method {
        Method::Get if !item && lists => "list",
        Method::Get => "get",
        Method::Post if item => "update",
        Method::Post => "create",
        Method::Put if !item && plural => "replace",
        Method::Put | Method::Patch => "update",
        Method::Delete if !item && plural => "clear",
        Method::Delete => "delete",
        Method::Head => "head",
        Method::Options => "options",
        Method::Trace => "trace",
        Method::Query => "query",
    }
}

fn is_action(method: Method, word: &str) -> bool {
    let first = word.split('-').next().unwrap_or(word);
    matches!(method, Method::Get | Method::Post | Method::Put | Method::Patch)
        && ACTIONS.contains(first)
}

/// Whether a word is an action.
pub(crate) fn is_verb(word: &str) -> bool {
    ACTIONS.contains(word)
}

/// Whether a word is a plural.
pub(crate) fn is_plural(word: &str) -> bool {
    let last = word.rsplit('-').next().unwrap_or(word);
    let is_one = ["ss", "us", "is"].iter().any(|end| last.ends_with(end)) || last == "news";
    last.len() > 2 && last.ends_with('s') && !is_one
}

fn parts(path: &str) -> Vec<Part> {
    let path = path.split('?').next().unwrap_or(path);
    // Some APIs write `/orders/{id}:cancel` for `/orders/{id}/cancel`.
    let pieces: Vec<&str> = path.split(['/', ':']).filter(|piece| !piece.is_empty()).collect();
    let says_nothing = |at: usize, word: &str| {
        pieces.len() > 1 && (is_version(word) || at == 0 && matches!(word, "api" | "apis" | "rest"))
    };
    let parts = pieces.iter().map(|piece| part(piece)).enumerate();
    let parts =
        parts.filter(|(at, part)| part.word.as_deref().is_none_or(|word| !says_nothing(*at, word)));
    parts.map(|(_, part)| part).collect()
}

fn part(segment: &str) -> Part {
    let value = segment.contains('{');
    let literals = template_pieces(segment).into_iter().filter_map(|piece| match piece {
        TemplatePiece::Text(text) => Some(text),
        TemplatePiece::Name(_) => None,
    });
    let literal: String = literals.collect();
    let literal = match literal.rsplit_once('.') {
        Some((name, "json" | "xml" | "yaml" | "csv" | "html" | "txt" | "php" | "do")) => name,
        _ => &literal,
    };
    Part { word: text::kebab(literal), value }
}

/// `v1`, `v2beta1`, `2022-11-15`, `1.0`.
fn is_version(word: &str) -> bool {
    let are_digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    let is_dated = |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    let Some(rest) = word.strip_prefix('v') else { return is_dated(word) };
    let is_staged = |stage| {
        rest.split_once(stage).is_some_and(|(before, after)| {
            !before.is_empty() && are_digits(before) && are_digits(after)
        })
    };
    let is_numbered = rest.starts_with(|c: char| c.is_ascii_digit()) && is_dated(rest);
    is_numbered || is_staged("alpha") || is_staged("beta")
}

/// The end of a name, followed by a hash of the row's key.
fn hashed(name: &str, row: &Row, digits: usize) -> String {
    let mut hash = hex(&Sha256::digest(row.key().as_bytes()));
    hash.truncate(digits);
    let room = NAME_CHARS.saturating_sub(digits + 1);
    let from = name.len().saturating_sub(room);
    let tail = &name[from..];
    let tail =
        if from == 0 { tail } else { tail.split_once([':', '-']).map_or(tail, |(_, rest)| rest) };
    let tail = tail.trim_matches([':', '-']);
    if tail.is_empty() { hash } else { format!("{tail}-{hash}") }
}

#[cfg(test)]
mod tests {
    use super::{AssignedNames, assign, is_name};
    use crate::command::Method;
    use crate::table::Row;

    fn row(key: &str, operation_id: Option<&str>) -> Row {
        let (method, path) = key.split_once(' ').expect("a method and a path");
        Row {
            name: String::new(),
            method: Method::parse(method).expect("a method"),
            path: path.to_owned(),
            pointer: String::new(),
            operation_id: operation_id.map(str::to_owned),
            summary: String::new(),
            description: String::new(),
            tags: Vec::new(),
            parameters: Vec::new(),
            body: None,
            deprecated: false,
        }
    }

    fn names(keys: &[(&str, Option<&str>)], kept: &AssignedNames) -> Vec<String> {
        let mut rows: Vec<Row> = keys.iter().map(|(key, id)| row(key, *id)).collect();
        let lists: Vec<bool> = rows.iter().map(|row| super::is_plural(&row.path)).collect();
        assign(&mut rows, &lists, kept);
        rows.into_iter().map(|row| row.name).collect()
    }

    #[test]
    fn plain_names() {
        let cases = [
            ("GET /orders", "orders:list"),
            ("GET /orders/{id}", "orders:get"),
            ("POST /orders", "orders:create"),
            ("POST /orders/{id}", "orders:update"),
            ("PATCH /orders/{id}", "orders:update"),
            ("PUT /orders/{id}", "orders:update"),
            ("DELETE /orders/{id}", "orders:delete"),
            ("DELETE /orders", "orders:clear"),
            ("POST /orders/{id}/refunds", "orders:refunds:create"),
            ("POST /orders/{id}/cancel", "orders:cancel"),
            ("POST /orders/{id}:cancel", "orders:cancel"),
            ("GET /api/v1/namespaces/{ns}/pods", "namespaces:pods:list"),
            ("POST /sendMessage", "send-message"),
            ("GET /v2/user", "user:get"),
            ("GET /orders/{id}.json", "orders:get"),
            ("POST /#X-Amz-Target=SageMaker.AddAssociation", "add-association"),
            ("GET /", "root:get"),
            ("GET /v1", "v1:get"),
        ];
        for (key, expected) in cases {
            assert_eq!(names(&[(key, None)], &AssignedNames::new()), [expected], "{key}");
        }
    }

    #[test]
    fn ties_are_broken_and_names_kept() {
        let both = [("PUT /orders/{id}", None), ("PATCH /orders/{id}", None)];
        assert_eq!(names(&both, &AssignedNames::new()), ["orders:replace", "orders:update"]);
        let versions = [("GET /v2/orders", Some("listV2")), ("GET /v1/orders", Some("listV1"))];
        assert_eq!(names(&versions, &AssignedNames::new()), ["list-v2", "orders:list"]);
        let kept = AssignedNames::from([("GET /v2/orders".to_owned(), "orders:list".to_owned())]);
        assert_eq!(names(&versions, &kept), ["orders:list", "list-v1"]);
        let gone = [("GET /v1/orders", None)];
        let name = &names(&gone, &kept)[0];
        assert!(name.starts_with("orders:list-"), "the name of a removed command is not reused");
        assert!(is_name(name));
    }

    #[test]
    fn long_paths_are_cut_at_the_front() {
        let key = "GET /organizations/{o}/environments/{e}/deployment-branch-policies/settings/x";
        let name = &names(&[(key, None)], &AssignedNames::new())[0];
        assert!(name.len() <= 48 && is_name(name), "{name}");
        assert!(name.contains("settings:x:get-"), "{name}");
    }
}

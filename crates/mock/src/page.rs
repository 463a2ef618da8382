//! List pagination: which part of a list a request selects, and the response fields that describe
//! the other pages.

use milepost_catalog::command::{ApiCommand, Location};
use milepost_catalog::finding::below;
use milepost_catalog::pagination::names::{
    CURSORS, LAST_ITEMS, MORE, NEXT_CURSORS, NEXT_URLS, OFFSETS, PAGES, SIZES, TOTALS,
};
use milepost_catalog::text::{WordList, bare_word};
use serde_json::Value;

use crate::schema::CompiledSchema;
use crate::{Call, MockRequest, limits};

/// Fields that hold the URL of the previous page.
const PREVIOUS_URLS: &[&str] =
    &["previous", "prev", "previouspageuri", "prevurl", "previousurl", "prevpage"];

/// The part of a list that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) start: usize,
    pub(crate) end: usize,
    total: usize,
    /// The parameter that selects the next page, and its value.
    next: Option<(String, String)>,
    last_id: String,
}

/// A command's query parameter with one of the given names.
fn parameter(command: &ApiCommand, names: WordList) -> Option<&str> {
    let mut own = command.parameters.iter();
    let is = |name: &str| names.contains(&bare_word(name));
    own.find(|p| p.location == Location::Query && is(&p.name)).map(|p| p.name.as_str())
}

impl Page {
    /// The page that a request asks for, from a list of ids.
    pub(crate) fn requested(call: &Call<'_>, ids: &[&str]) -> Page {
        let given = |names: WordList| {
            let name = parameter(&call.command, names)?;
            let value = call.request.query.iter().find(|(key, _)| key == name);
            Some((name, value.map(|(_, value)| value.as_str())))
        };
        let number = |value: Option<&str>| value.and_then(|value| value.parse::<usize>().ok());
        let (total, most) = (ids.len(), limits::PAGE_ITEMS);
        let limit = given(SIZES).and_then(|(_, value)| number(value)).unwrap_or(most).min(most);
        let cursor = given(CURSORS).or_else(|| given(LAST_ITEMS));
        let (offset, page) = (given(OFFSETS), given(PAGES));
        let start = match (cursor, page, offset) {
            (Some((_, Some(""))), ..) => 0,
            // An unknown cursor ends the iteration; starting over would loop forever.
            (Some((_, Some(cursor))), ..) => {
                ids.iter().position(|id| *id == cursor).map_or(total, |at| at + 1)
            }
            (_, Some((_, value @ Some(_))), _) => {
                number(value).unwrap_or(1).saturating_sub(1).saturating_mul(limit)
            }
            (.., offset) => offset.and_then(|(_, value)| number(value)).unwrap_or(0),
        };
        let start = start.min(total);
        let end = start.saturating_add(limit).min(total);
        let last_id = ids[start..end].last().copied().unwrap_or_default().to_owned();
        let next = match (cursor, page, offset) {
            (Some((name, _)), ..) => Some((name, last_id.clone())),
            (_, Some((name, value)), _) => {
                Some((name, (number(value).unwrap_or(1) + 1).to_string()))
            }
            (.., Some((name, _))) => Some((name, end.to_string())),
            _ => None,
        };
        let more = end < total && end > start;
        let next = next.filter(|_| more).map(|(name, value)| (name.to_owned(), value));
        Page { start, end, total, next, last_id }
    }

    fn next_url(&self, request: &MockRequest<'_>) -> Option<String> {
        let (name, value) = self.next.as_ref()?;
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(request.query.iter().filter(|(key, _)| key != name));
        query.append_pair(name, value);
        let host = request.header("host").map(|host| format!("http://{host}")).unwrap_or_default();
        Some(format!("{host}{}?{}", request.path, query.finish()))
    }

    /// The `Link` header to the next page, for operations that document it.
    pub(crate) fn link(&self, call: &Call<'_>) -> Option<String> {
        let mut headers = call.command.responses.iter().flat_map(|response| &response.headers);
        let documented = headers.any(|name| name.eq_ignore_ascii_case("link"));
        let url = self.next_url(call.request).filter(|_| documented)?;
        Some(format!("<{url}>; rel=\"next\""))
    }

    /// Updates a response's pagination fields, if it has any and its schema allows it.
    pub(crate) fn describe(
        &self,
        body: &mut Value,
        schema: &CompiledSchema,
        request: &MockRequest<'_>,
    ) {
        let Some(members) = body.as_object() else { return };
        let inner = members.iter().filter(|(_, value)| value.is_object());
        let maps: Vec<String> =
            std::iter::once(String::new()).chain(inner.map(|(name, _)| below("", name))).collect();
        for at in maps {
            let Some(map) = body.pointer(&at).and_then(Value::as_object) else { continue };
            for (name, value) in map.clone() {
                for replacement in self.replacements(&bare_word(&name), &value, request) {
                    let mut changed = body.clone();
                    let map = changed.pointer_mut(&at).and_then(Value::as_object_mut);
                    let Some(map) = map else { break };
                    match replacement {
                        Some(value) => drop(map.insert(name.clone(), value)),
                        None => drop(map.shift_remove(&name)),
                    }
                    if schema.fits(&changed) {
                        *body = changed;
                        break;
                    }
                }
            }
        }
    }

    /// Candidate values for a member, best first; `None` removes it.
    fn replacements(
        &self,
        name: &str,
        value: &Value,
        request: &MockRequest<'_>,
    ) -> Vec<Option<Value>> {
        let nothing = || vec![Some(Value::Null), None, Some(Value::from(""))];
        if MORE.contains(name) && value.is_boolean() {
            vec![Some(Value::Bool(self.end < self.total))]
        } else if TOTALS.contains(name) && value.is_number() {
            vec![Some(Value::from(self.total))]
        } else if name == "count" && value.is_number() {
            vec![Some(Value::from(self.end - self.start))]
        } else if NEXT_URLS.contains(name) && value.is_string() {
            match self.next_url(request) {
                Some(url) => vec![Some(Value::from(url)), Some(Value::Null), None],
                None => nothing(),
            }
        } else if (NEXT_CURSORS.contains(name) || matches!(name, "continue" | "after"))
            && !value.is_object()
        {
            match self.next {
                Some(_) => vec![Some(Value::from(self.last_id.clone()))],
                None => nothing(),
            }
        } else if PREVIOUS_URLS.contains(&name) && value.is_string() {
            nothing()
        } else {
            Vec::new()
        }
    }
}

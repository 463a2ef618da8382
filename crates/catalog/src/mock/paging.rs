//! Pages of a list: which part a request asks for, and what an answer says about the rest.

use serde_json::{Map, Value};

use super::MockRequest;
use super::schema::Schema;
use crate::command::{Command, Location};
use crate::limits;

const LIMITS: &[&str] = &[
    "limit",
    "perpage",
    "pagesize",
    "maxresults",
    "size",
    "count",
    "top",
    "first",
    "maxitems",
    "pagelimit",
    "itemsperpage",
];
const PAGES: &[&str] = &["page", "pagenumber", "pageindex", "pageno"];
const OFFSETS: &[&str] = &["offset", "skip", "start", "startindex", "startat", "from"];
const CURSORS: &[&str] = &[
    "cursor",
    "pagetoken",
    "nexttoken",
    "startingafter",
    "after",
    "continue",
    "marker",
    "nextpagetoken",
    "continuationtoken",
    "paginationtoken",
    "pagecursor",
    "nextcursor",
];
const NEXT_CURSORS: &[&str] = &[
    "nextcursor",
    "nextpagetoken",
    "nexttoken",
    "continue",
    "endcursor",
    "nextmarker",
    "after",
    "continuationtoken",
    "pagetoken",
];
const NEXT_URLS: &[&str] =
    &["next", "nexturl", "nextlink", "nextpage", "nextpageuri", "nextpageurl", "odatanextlink"];
const MORE: &[&str] = &["hasmore", "hasnext", "hasnextpage", "istruncated", "more"];
const TOTALS: &[&str] = &["total", "totalcount", "totalresults", "totalitems", "totalsize"];
const BEFORE: &[&str] =
    &["previous", "prev", "previouspageuri", "prevurl", "previousurl", "prevpage"];

/// The part of a list that a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    pub(super) start: usize,
    pub(super) end: usize,
    total: usize,
    /// The parameter that leads to the next page, and its value there.
    next: Option<(String, String)>,
    last_id: String,
}

fn plain(name: &str) -> String {
    let kept = name.chars().filter(char::is_ascii_alphanumeric);
    kept.collect::<String>().to_ascii_lowercase()
}

/// The parameter of a command that goes by one of some names.
fn parameter<'c>(command: &'c Command, names: &[&str]) -> Option<&'c str> {
    let mut own = command.parameters.iter();
    let is = |name: &str| names.contains(&plain(name).as_str());
    own.find(|p| p.location == Location::Query && is(&p.name)).map(|p| p.name.as_str())
}

impl Page {
    /// The page that a request asks for, of a list of ids.
    pub(super) fn asked(command: &Command, request: &MockRequest<'_>, ids: &[&str]) -> Page {
        let given = |names: &[&str]| {
            let name = parameter(command, names)?;
            let value = request.query.iter().find(|(key, _)| key == name);
            Some((name, value.map(|(_, value)| value.as_str())))
        };
        let number = |value: Option<&str>| value.and_then(|value| value.parse::<usize>().ok());
        let (total, last) = (ids.len(), limits::MOCK_PAGE_ITEMS);
        let limit = given(LIMITS).and_then(|(_, value)| number(value)).unwrap_or(last).min(last);
        let (offset, page, cursor) = (given(OFFSETS), given(PAGES), given(CURSORS));
        let start = if let Some((_, Some(cursor))) = cursor {
            // A cursor that leads nowhere ends the walk; beginning again would never end.
            if cursor.is_empty() { 0 } else { position(ids, cursor).map_or(total, |at| at + 1) }
        } else if let Some((_, Some(value))) = page {
            number(Some(value)).unwrap_or(1).saturating_sub(1).saturating_mul(limit)
        } else {
            offset.and_then(|(_, value)| number(value)).unwrap_or(0)
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

    /// The URL of the next page.
    fn next_url(&self, request: &MockRequest<'_>) -> Option<String> {
        let (name, value) = self.next.as_ref()?;
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        for (key, value) in request.query.iter().filter(|(key, _)| key != name) {
            query.append_pair(key, value);
        }
        query.append_pair(name, value);
        let host = request.header("host").map(|host| format!("http://{host}")).unwrap_or_default();
        Some(format!("{host}{}?{}", request.path, query.finish()))
    }

    /// The `Link` header that leads on, for operations that document it.
    pub(super) fn link(&self, command: &Command, request: &MockRequest<'_>) -> Option<String> {
        let mut headers = command.responses.iter().flat_map(|response| &response.headers);
        let documented = headers.any(|name| name.eq_ignore_ascii_case("link"));
        let url = self.next_url(request).filter(|_| documented)?;
        Some(format!("<{url}>; rel=\"next\""))
    }

    /// Makes an answer speak of this page, as far as it has places for that and its schema lets it.
    pub(super) fn tell(&self, answer: &mut Value, schema: &Schema, request: &MockRequest<'_>) {
        let Some(members) = answer.as_object() else { return };
        let inner = |(name, value): (&String, &Value)| value.is_object().then(|| name.clone());
        let nested: Vec<String> = members.iter().filter_map(inner).collect();
        let places = std::iter::once(None).chain(nested.into_iter().map(Some));
        for place in places {
            let Some(within) = at(answer, place.as_deref()) else { continue };
            let names: Vec<String> = within.keys().cloned().collect();
            for name in names {
                let value = &within_value(answer, place.as_deref(), &name);
                let wanted = self.wanted(&plain(&name), value, request);
                for replacement in wanted {
                    let mut changed = answer.clone();
                    let Some(target) = at_mut(&mut changed, place.as_deref()) else { break };
                    match replacement {
                        Some(value) => drop(target.insert(name.clone(), value)),
                        None => drop(target.shift_remove(&name)),
                    }
                    if schema.fits(&changed) {
                        *answer = changed;
                        break;
                    }
                }
            }
        }
    }

    /// What a member should say, best first; nothing in a replacement takes it away.
    fn wanted(&self, name: &str, value: &Value, request: &MockRequest<'_>) -> Vec<Option<Value>> {
        let ends = || vec![Some(Value::Null), None, Some(Value::from(""))];
        let goes_on = self.next.is_some();
        if MORE.contains(&name) && value.is_boolean() {
            vec![Some(Value::Bool(self.end < self.total))]
        } else if TOTALS.contains(&name) && value.is_number() {
            vec![Some(Value::from(self.total))]
        } else if name == "count" && value.is_number() {
            vec![Some(Value::from(self.end - self.start))]
        } else if NEXT_CURSORS.contains(&name) && !value.is_object() {
            if goes_on { vec![Some(Value::from(self.last_id.clone()))] } else { ends() }
        } else if NEXT_URLS.contains(&name) && value.is_string() {
            match self.next_url(request) {
                Some(url) => vec![Some(Value::from(url)), Some(Value::Null), None],
                None => ends(),
            }
        } else if BEFORE.contains(&name) && value.is_string() {
            ends()
        } else {
            Vec::new()
        }
    }
}

fn at<'v>(answer: &'v Value, place: Option<&str>) -> Option<&'v Map<String, Value>> {
    place.map_or(Some(answer), |place| answer.get(place)).and_then(Value::as_object)
}

fn at_mut<'v>(answer: &'v mut Value, place: Option<&str>) -> Option<&'v mut Map<String, Value>> {
    match place {
        Some(place) => answer.get_mut(place)?.as_object_mut(),
        None => answer.as_object_mut(),
    }
}

fn within_value(answer: &Value, place: Option<&str>, name: &str) -> Value {
    at(answer, place).and_then(|within| within.get(name)).cloned().unwrap_or_default()
}

fn position(ids: &[&str], id: &str) -> Option<usize> {
    ids.iter().position(|known| *known == id)
}

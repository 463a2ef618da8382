//! Finds the operation for a request by matching its path against templates.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use milepost_catalog::command::Method;
use milepost_catalog::text::{TemplatePiece, template_pieces};
use percent_encoding::percent_decode_str;

use crate::MockRequest;
use crate::limits;

/// A mock's operations, by method and path.
#[derive(Debug)]
pub(crate) struct Router {
    pub(crate) routes: Vec<MockRoute>,
    /// The servers' base paths, longest first; always includes the empty one.
    bases: Vec<String>,
}

/// An operation.
#[derive(Debug)]
pub(crate) struct MockRoute {
    pub(crate) method: Method,
    /// The template as written in the document.
    pub(crate) path: String,
    segments: Vec<Segment>,
    /// Required query or header values, for templates that distinguish operations by them:
    /// `/act?do=stop`, `/#X-Target=Stop`.
    conditions: Vec<(String, String)>,
}

type Segment = Vec<Piece>;
type Piece = TemplatePiece<String>;

/// The result of routing a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Routed {
    /// An operation, with its decoded path parameters.
    Operation { route: usize, values: Vec<(String, String)> },
    /// The path exists, but only for other methods.
    OtherMethods(BTreeSet<Method>),
    /// Nothing matches; `near` holds similar paths.
    Nothing { near: Vec<String> },
}

impl Router {
    pub(crate) fn new<'r>(
        operations: impl Iterator<Item = (Method, &'r str)>,
        servers: impl Iterator<Item = &'r str>,
    ) -> Router {
        let mut bases: Vec<String> = servers.map(base_path).collect();
        bases.push(String::new());
        bases.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        bases.dedup();
        let routes =
            operations.map(|(method, path)| MockRoute::new(method, path.to_owned())).collect();
        Router { routes, bases }
    }

    /// Finds the operation for a request as if it had the given method.
    pub(crate) fn find(&self, method: Method, request: &MockRequest<'_>) -> Routed {
        let path = request.path;
        let mut others = BTreeSet::new();
        for base in &self.bases {
            let rest = path.strip_prefix(base.as_str());
            let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) else {
                continue;
            };
            let asked: Vec<String> = split(rest).map(decode).collect();
            let found = self.routes.iter().enumerate();
            let found = found.filter_map(|(at, route)| Some((at, route.matches(&asked, request)?)));
            let (same, other): (Vec<_>, Vec<_>) =
                found.partition(|(at, _)| self.routes[*at].method == method);
            let best = same.into_iter().min_by_key(|(at, _)| self.routes[*at].rank());
            if let Some((route, values)) = best {
                return Routed::Operation { route, values };
            }
            others.extend(other.into_iter().map(|(at, _)| self.routes[at].method));
        }
        if others.is_empty() {
            return Routed::Nothing { near: self.near(path) };
        }
        Routed::OtherMethods(others)
    }

    /// Templates that resemble a path.
    fn near(&self, path: &str) -> Vec<String> {
        let asked: Vec<String> = split(path).map(decode).collect();
        let score = |route: &MockRoute| {
            let begun = route.segments.iter().zip(&asked);
            let shared = begun.take_while(|(segment, text)| fill(segment, text).is_some()).count();
            shared + 2 * asked.iter().filter(|text| route.says(text)).count()
        };
        let scored = self.routes.iter().map(|route| (Reverse(score(route)), &route.path));
        let near: BTreeSet<_> = scored.filter(|(score, _)| score.0 > 0).collect();
        near.into_iter().take(limits::NEAR_PATHS).map(|(_, path)| path.clone()).collect()
    }
}

impl MockRoute {
    fn new(method: Method, path: String) -> MockRoute {
        let (plain, rest) = path.split_once(['?', '#']).unwrap_or((&path, ""));
        // `?id={id}` is an ordinary parameter, not a condition.
        let named = rest.split('&').filter(|part| part.contains('=') && !part.contains('{'));
        let conditions = named.map(pair).collect();
        let segments = split(plain).map(pieces).collect();
        MockRoute { method, path, segments, conditions }
    }

    fn matches(
        &self,
        asked: &[String],
        request: &MockRequest<'_>,
    ) -> Option<Vec<(String, String)>> {
        let holds = |(name, value): &(String, String)| {
            let mut query = request.query.iter();
            query.any(|(key, given)| key == name && given == value)
                || request.header(name) == Some(value.as_str())
        };
        if asked.len() != self.segments.len() || !self.conditions.iter().all(holds) {
            return None;
        }
        let values: Option<Vec<_>> =
            self.segments.iter().zip(asked).map(|(segment, text)| fill(segment, text)).collect();
        values.map(|values| values.concat())
    }

    /// Lower ranks are more specific: literal segments before mixed ones before parameters.
    fn rank(&self) -> Vec<u8> {
        let rank = |segment: &Segment| match segment.as_slice() {
            [Piece::Name(_)] => 2,
            pieces if pieces.iter().any(|piece| matches!(piece, Piece::Name(_))) => 1,
            _ => 0,
        };
        let more = u8::from(self.conditions.is_empty());
        self.segments.iter().map(rank).chain([more]).collect()
    }

    fn says(&self, text: &str) -> bool {
        self.segments.iter().any(|segment| match segment.as_slice() {
            [Piece::Text(literal)] => literal.eq_ignore_ascii_case(text),
            _ => false,
        })
    }
}

/// The path in a server's URL, without a trailing slash.
fn base_path(server: &str) -> String {
    let path = match server.split_once("://") {
        Some((_, rest)) => rest.find('/').map_or("", |at| &rest[at..]),
        None => server,
    };
    let path = path.split(['?', '#']).next().unwrap_or_default().trim_matches('/');
    if path.is_empty() || path == "." { String::new() } else { format!("/{path}") }
}

/// The segments of a path; a trailing slash makes no difference.
fn split(path: &str) -> impl Iterator<Item = &str> {
    let inner = path.strip_prefix('/').unwrap_or(path);
    inner.strip_suffix('/').unwrap_or(inner).split('/')
}

fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

fn pair(text: &str) -> (String, String) {
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    (decode(name), decode(value))
}

fn pieces(segment: &str) -> Segment {
    template_pieces(segment).into_iter().map(|piece| piece.owned(decode)).collect()
}

/// The parameter values in a segment; `None` if the text does not match. A parameter matches as
/// little as possible, but at least one character.
fn fill(pieces: &[Piece], text: &str) -> Option<Vec<(String, String)>> {
    match pieces {
        [] => text.is_empty().then(Vec::new),
        [Piece::Text(literal), rest @ ..] => fill(rest, text.strip_prefix(literal.as_str())?),
        [Piece::Name(name)] => (!text.is_empty()).then(|| vec![(name.clone(), text.to_owned())]),
        [Piece::Name(name), rest @ ..] => {
            let ends = text.char_indices().map(|(at, _)| at).skip(1).chain([text.len()]);
            ends.filter(|end| *end > 0).find_map(|end| {
                let mut values = fill(rest, &text[end..])?;
                values.insert(0, (name.clone(), text[..end].to_owned()));
                Some(values)
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn router() -> Router {
        let paths = [
            "/orders",
            "/orders/{id}",
            "/orders/latest",
            "/orders/{id}:cancel",
            "/files/{name}.{kind}",
            "/act?do=stop",
            "/act?do=go",
            "/aws#X-Target=Go",
            "/aws#X-Target=Stop",
            "/v1/ping",
            "/",
        ];
        let operations = paths.iter().map(|path| (Method::Get, *path));
        Router::new(operations, ["https://api.example.com/v2/", "/"].into_iter())
    }

    fn check(path: &str, expected: &str) {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let query: Vec<_> = query.split('&').filter(|q| !q.is_empty()).map(pair).collect();
        let router = router();
        let headers = vec![("x-target".to_owned(), "Stop".to_owned())];
        let request = MockRequest { method: Method::Get, path, query, headers, body: b"" };
        let found = match router.find(Method::Get, &request) {
            Routed::Operation { route: index, values } => {
                let values: Vec<String> = values.iter().map(|(n, v)| format!("{n}={v}")).collect();
                format!("{} {}", router.routes[index].path, values.join(" "))
            }
            other => format!("{other:?}"),
        };
        assert_eq!(found.trim_end(), expected);
    }

    #[test]
    fn literal_segments_win_over_parameters() {
        check("/orders/latest", "/orders/latest");
        check("/orders/7", "/orders/{id} id=7");
        check("/orders/7:cancel", "/orders/{id}:cancel id=7");
        check("/files/a.b.txt", "/files/{name}.{kind} name=a kind=b.txt");
    }

    #[test]
    fn paths_are_decoded_and_slashes_at_the_end_ignored() {
        check("/orders/a%2Fb%20c", "/orders/{id} id=a/b c");
        check("/orders/", "/orders");
        check("/", "/");
        check("/orders//", r#"Nothing { near: ["/orders", "/orders/latest", "/orders/{id}"] }"#);
    }

    #[test]
    fn the_path_of_a_server_is_taken_off() {
        check("/v2/orders/7", "/orders/{id} id=7");
        check("/v2", "/");
        check("/v1/ping", "/v1/ping");
    }

    #[test]
    fn templates_may_ask_for_a_query() {
        check("/act?do=go", "/act?do=go");
        check("/act?do=stop", "/act?do=stop");
        check("/aws", "/aws#X-Target=Stop");
    }

    #[test]
    fn other_methods_are_told() {
        let (path, method) = ("/orders", Method::Post);
        let request = MockRequest { method, path, query: vec![], headers: vec![], body: b"" };
        let found = router().find(method, &request);
        assert_eq!(found, Routed::OtherMethods(BTreeSet::from([Method::Get])));
    }
}

//! Links to the next page: the `Link` header from RFC 8288, and URLs in bodies. A link is followed
//! only within the request's origin, because credentials are sent with it.

use milepost_model::suggest::excerpt;
use url::Url;

use super::{PageResponse, PagingError};

/// Whether a response has pagination links.
pub(super) fn is_there(answer: &PageResponse<'_>) -> bool {
    const PAGES: &[&str] = &["next", "prev", "previous", "first", "last"];
    headers(answer).any(|header| PAGES.iter().any(|relation| target(header, relation).is_some()))
}

/// The next page according to the `Link` headers.
pub(super) fn next(answer: &PageResponse<'_>) -> Result<Option<Url>, PagingError> {
    let target = headers(answer).find_map(|header| target(header, "next"));
    target.map(|target| resolve(answer.url, target)).transpose()
}

fn headers<'a>(answer: &PageResponse<'a>) -> impl Iterator<Item = &'a str> {
    let links = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("link"));
    links.map(|(_, value)| value.as_str())
}

/// The URL with this relation in a header such as `<url>; rel="next", <url>; rel="last"`. A URL may
/// contain commas, so it ends at the closing bracket.
fn target<'h>(header: &'h str, relation: &str) -> Option<&'h str> {
    let mut rest = header;
    while let Some((_, from)) = rest.split_once('<') {
        let (target, after) = from.split_once('>')?;
        let parameters = &after[..end_of_parameters(after)];
        if has_relation(parameters, relation) {
            return Some(target.trim());
        }
        rest = &after[parameters.len()..];
    }
    None
}

/// The end of a link's parameters: the first comma outside quotes.
fn end_of_parameters(text: &str) -> usize {
    let mut quoted = false;
    let end = text.bytes().position(|byte| {
        quoted ^= byte == b'"';
        byte == b',' && !quoted
    });
    end.unwrap_or(text.len())
}

fn has_relation(parameters: &str, wanted: &str) -> bool {
    parameters.split(';').any(|parameter| {
        let Some((name, value)) = parameter.split_once('=') else { return false };
        let mut relations = value.trim().trim_matches('"').split_whitespace();
        name.trim().eq_ignore_ascii_case("rel")
            && relations.any(|relation| relation.eq_ignore_ascii_case(wanted))
    })
}

/// Resolves a link against the request URL and checks that it stays on the same server.
pub(super) fn resolve(request: &Url, text: &str) -> Result<Url, PagingError> {
    let no_url = || PagingError::NoUrl { text: excerpt(text) };
    let mut url = request.join(text).map_err(|_| no_url())?;
    url.set_fragment(None);
    // A server behind a proxy may not know that it is reached over HTTPS.
    let downgraded = request.scheme() == "https" && url.scheme() == "http";
    if downgraded
        && url.host() == request.host()
        && url.port().is_none()
        && request.port().is_none()
    {
        url.set_scheme("https").map_err(|()| no_url())?;
    }
    let same_user = url.username() == request.username() && url.password() == request.password();
    let plain = url.username().is_empty() && url.password().is_none();
    if url.origin() == request.origin() && url.host().is_some() && (same_user || plain) {
        Ok(url)
    } else {
        let shown = format!("{}{}", url.origin().ascii_serialization(), url.path());
        Err(PagingError::Elsewhere { url: excerpt(&shown) })
    }
}

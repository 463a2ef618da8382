//! A request as plain parts, without credentials, which are added just before it is sent.

use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;
use milepost_catalog::command::Location;
use milepost_model::secret::{Mask, Secret};
use url::{Origin, Url};

/// A request to send.
#[derive(Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// The method, in uppercase as sent.
    pub method: String,
    pub url: Url,
    pub headers: Vec<(String, String)>,
    /// The body; empty if there is none.
    pub body: Bytes,
}

impl Outgoing {
    /// A `GET` without headers.
    pub fn get(url: Url) -> Outgoing {
        Outgoing { method: "GET".to_owned(), url, headers: Vec::new(), body: Bytes::new() }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Outgoing {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// Shows the names of query parameters and headers but no values, any of which may be a secret.
impl fmt::Debug for Outgoing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let query: Vec<_> = self.url.query_pairs().map(|(name, _)| name.into_owned()).collect();
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Outgoing")
            .field("method", &self.method)
            .field("origin", &self.url.origin().ascii_serialization())
            .field("query", &query)
            .field("headers", &headers)
            .field("body_bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// A copy of the request that is safe to show.
pub fn masked(request: &Outgoing, mask: &Mask) -> Outgoing {
    Outgoing {
        method: mask.text(&request.method).into_owned(),
        url: masked_url(&request.url, mask),
        headers: mask.headers(&request.headers),
        body: Bytes::copy_from_slice(&mask.bytes(&request.body)),
    }
}

/// A URL that is safe to show.
pub fn masked_url(url: &Url, mask: &Mask) -> Url {
    let shown = mask.text(url.as_str());
    Url::parse(&shown).unwrap_or_else(|_| {
        // The masked URL does not parse, usually because the host or port contains a secret. Show
        // the part before the path if it contains no secret, and a placeholder otherwise.
        let mut bare = url.clone();
        bare.set_path("");
        bare.set_query(None);
        bare.set_fragment(None);
        let hidden = !mask.finds(bare.as_str());
        Url::parse(if hidden { bare.as_str() } else { "masked:url" }).unwrap_or(bare)
    })
}

/// A header, a query parameter or a cookie, and its name.
pub(crate) type CredentialPlace = (Location, String);

/// Credentials that are ready to be sent. They are bound to one origin: a request or redirect to
/// any other origin is sent without them.
#[derive(Debug, Clone)]
pub struct Credentials {
    pub(crate) origin: Origin,
    pub(crate) placed: Vec<(CredentialPlace, Secret)>,
    /// A mask for the values of these credentials.
    pub(crate) mask: Mask,
}

impl Credentials {
    /// Adds the credentials to a request, if it goes to their origin.
    pub(crate) fn placed_on<'r>(&self, request: &'r Outgoing) -> Cow<'r, Outgoing> {
        if self.placed.is_empty() || request.url.origin() != self.origin {
            return Cow::Borrowed(request);
        }
        let mut request = request.clone();
        for (place, value) in &self.placed {
            put(&mut request, place, value.reveal());
        }
        Cow::Owned(request)
    }
}

/// Writes a credential into a request, replacing any value under the same name.
pub(crate) fn put(request: &mut Outgoing, (location, name): &CredentialPlace, value: &str) {
    match location {
        Location::Query | Location::QueryString => {
            put_query(&mut request.url, name, &encoded(value));
        }
        Location::Cookie => put_cookie(&mut request.headers, name, value),
        Location::Header | Location::Path => {
            request.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
            request.headers.push((name.clone(), value.to_owned()));
        }
    }
}

/// Like [`put`], but with a placeholder that is shown and never sent.
pub(crate) fn put_shown(request: &mut Outgoing, place: &CredentialPlace, text: &str) {
    match place {
        (Location::Query, name) => put_query(&mut request.url, name, text),
        _ => put(request, place, text),
    }
}

/// Sets one query parameter; the bytes of all others stay as written.
fn put_query(url: &mut Url, name: &str, value: &str) {
    let is_name = |pair: &str| {
        url::form_urlencoded::parse(pair.as_bytes()).next().is_some_and(|(found, _)| found == name)
    };
    let old = url.query().unwrap_or_default();
    let kept: Vec<_> = old.split('&').filter(|pair| !pair.is_empty() && !is_name(pair)).collect();
    let added = format!("{}={value}", encoded(name));
    let query = kept.into_iter().chain([added.as_str()]).collect::<Vec<_>>().join("&");
    url.set_query(Some(&query));
}

fn encoded(text: &str) -> String {
    // `+` means a space only in forms; `%20` means a space everywhere.
    let form: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    form.replace('+', "%20")
}

fn put_cookie(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    let is_cookie = |(name, _): &&mut (String, String)| name.eq_ignore_ascii_case("cookie");
    let pair = format!("{name}={value}");
    match headers.iter_mut().find(is_cookie) {
        Some((_, cookies)) => {
            let is_name = |pair: &&str| pair.split('=').next().is_some_and(|n| n.trim() == name);
            let kept = cookies.split(';').filter(|pair| !is_name(pair)).map(str::trim);
            let kept: Vec<_> = kept.filter(|pair| !pair.is_empty()).chain([&*pair]).collect();
            *cookies = kept.join("; ");
        }
        None => headers.push(("Cookie".to_owned(), pair)),
    }
}

//! Who may ask: the one decision before every route and method, streams included.
//!
//! A page in a browser can reach this machine, under a name of its own that leads here, so the
//! `Host` must be one of ours and the `Origin`, where there is one, as well. Any local process can
//! open a connection, so a token is needed even there.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use milepost_model::secret::Secret;
use serde_json::json;
use subtle::ConstantTimeEq;

use crate::fault::{Fault, SERVER_ERROR};

/// What a client has to show.
#[derive(Debug, Clone)]
pub enum Access {
    /// Nothing: for tests of the protocol alone.
    Anybody,
    /// This token.
    Token(Secret),
}

/// A text that names no host or origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    /// It is no host.
    #[error("`{0}` is no host: write `name`, `name:port`, an address or `[ipv6]:port`")]
    Host(String),
    /// It is no origin.
    #[error("`{0}` is no origin: write it as browsers do, for example `https://example.com`")]
    Origin(String),
}

/// Who may ask, and from where.
#[derive(Debug, Clone)]
pub struct Guard {
    access: Access,
    hosts: Vec<Place>,
    origins: Vec<Origin>,
    /// Whether a request may name any address instead of a name: a name that leads to us may be
    /// anybody's, an address cannot be made to.
    any_address: bool,
}

/// A host, with its port where that matters.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    host: String,
    port: Option<u16>,
}

/// Where a page comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    scheme: String,
    host: String,
    port: u16,
}

/// Why a request is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Host,
    Origin,
    NoToken,
    WrongToken,
}

impl Guard {
    /// Of a server at this address: requests name it, or this machine where it is of it.
    pub fn new(address: SocketAddr, access: Access) -> Guard {
        let ip = address.ip();
        let mut hosts = Vec::new();
        if ip.is_loopback() || ip.is_unspecified() {
            hosts.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
        }
        if !ip.is_unspecified() {
            hosts.push(ip.to_string());
        }
        let origins = hosts.iter().map(|host| Origin {
            scheme: "http".to_owned(),
            host: host.clone(),
            port: address.port(),
        });
        Guard {
            access,
            origins: origins.collect(),
            // At any port: somebody may have led another one here, and a name tells who asks.
            hosts: hosts.into_iter().map(|host| Place { host, port: None }).collect(),
            any_address: ip.is_unspecified(),
        }
    }

    /// Admits requests that name this host, with a port or any.
    pub fn allow_host(&mut self, host: &str) -> Result<(), NoPlace> {
        let place = Place::parse(host).ok_or_else(|| NoPlace::Host(host.to_owned()))?;
        self.hosts.push(place);
        Ok(())
    }

    /// Admits pages of this origin.
    pub fn allow_origin(&mut self, origin: &str) -> Result<(), NoPlace> {
        let place = Origin::parse(origin).ok_or_else(|| NoPlace::Origin(origin.to_owned()))?;
        self.origins.push(place);
        Ok(())
    }

    /// Whether a request may go on.
    pub(super) fn admit(&self, request: &Request) -> Result<(), Refusal> {
        self.judge(request.uri(), request.headers())
    }

    fn judge(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        if !self.is_ours(uri, headers) {
            return Err(Refusal::Host);
        }
        if !headers.get_all(ORIGIN).iter().all(|origin| self.is_allowed(origin)) {
            return Err(Refusal::Origin);
        }
        match &self.access {
            Access::Anybody => Ok(()),
            Access::Token(token) => is_token(token, headers),
        }
    }

    /// Whether a request names us, in each of the ways in which it names anybody.
    fn is_ours(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut named = headers.get_all(HOST).iter();
        let (Some(host), None) = (named.next(), named.next()) else { return false };
        let host = host.to_str().ok().and_then(Place::parse);
        let asked = uri.authority().map(|authority| Place::parse(authority.as_str()));
        host.is_some_and(|host| self.is_known(&host))
            && asked.is_none_or(|asked| asked.is_some_and(|asked| self.is_known(&asked)))
    }

    fn is_known(&self, place: &Place) -> bool {
        let is_address = IpAddr::from_str(&place.host).is_ok();
        (self.any_address && is_address)
            || self.hosts.iter().any(|known| {
                known.host == place.host && known.port.is_none_or(|port| place.has_port(port))
            })
    }

    fn is_allowed(&self, origin: &HeaderValue) -> bool {
        let origin = origin.to_str().ok().and_then(Origin::parse);
        origin.is_some_and(|origin| self.origins.contains(&origin))
    }
}

impl Place {
    fn parse(text: &str) -> Option<Place> {
        // An address of the newer kind is written in brackets, or alone.
        if let Ok(address) = IpAddr::from_str(text) {
            return Some(Place { host: address.to_string(), port: None });
        }
        let authority = Authority::from_str(text).ok().filter(|_| !text.contains('@'))?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']');
        let host = match IpAddr::from_str(host) {
            Ok(address) => address.to_string(),
            Err(_) => host.trim_end_matches('.').to_ascii_lowercase(),
        };
        let is_whole = authority.port().is_some() || !text.ends_with(':');
        (is_whole && !host.is_empty()).then(|| Place { host, port: authority.port_u16() })
    }

    /// Whether it is at a port; a request that names none means that of its scheme.
    fn has_port(&self, port: u16) -> bool {
        self.port.map_or(matches!(port, 80 | 443), |own| own == port)
    }
}

impl Origin {
    fn parse(text: &str) -> Option<Origin> {
        let (scheme, rest) = text.split_once("://")?;
        let place = Place::parse(rest)?;
        let scheme = scheme.to_ascii_lowercase();
        let usual = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        Some(Origin { scheme, host: place.host, port: place.port.unwrap_or(usual) })
    }
}

fn is_token(token: &Secret, headers: &HeaderMap) -> Result<(), Refusal> {
    let given = bearer(headers)?;
    // In a time that says nothing about how much of it was right.
    match bool::from(given.as_bytes().ct_eq(token.reveal().as_bytes())) {
        true => Ok(()),
        false => Err(Refusal::WrongToken),
    }
}

/// The one token of a request.
fn bearer(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let (Some(given), None) = (given.next(), given.next()) else { return Err(Refusal::NoToken) };
    let given = given.to_str().map_err(|_| Refusal::WrongToken)?;
    match given.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        _ => Err(Refusal::NoToken),
    }
}

impl Refusal {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Refusal::Host | Refusal::Origin => StatusCode::FORBIDDEN,
            Refusal::NoToken | Refusal::WrongToken => StatusCode::UNAUTHORIZED,
        }
    }

    pub(super) fn fault(self) -> Fault {
        let (message, details) = match self {
            Refusal::Host => ("Forbidden", "the Host header names no host of this server"),
            Refusal::Origin => ("Forbidden", "pages of this origin may not ask"),
            Refusal::NoToken => ("Unauthorized", "send the token: `Authorization: Bearer …`"),
            Refusal::WrongToken => ("Unauthorized", "this is not the token of this server"),
        };
        Fault::new(SERVER_ERROR, message, json!({ "details": details }))
    }

    /// What a client is told to show.
    pub(super) fn challenge(self) -> Option<HeaderValue> {
        match self {
            Refusal::Host | Refusal::Origin => None,
            Refusal::NoToken => Some(HeaderValue::from_static("Bearer realm=\"milepost\"")),
            Refusal::WrongToken => {
                Some(HeaderValue::from_static("Bearer realm=\"milepost\", error=\"invalid_token\""))
            }
        }
    }
}

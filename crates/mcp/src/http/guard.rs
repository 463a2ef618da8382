//! Decides who may send requests. This is the only check, and it precedes every route and method,
//! including streams.
//!
//! A web page can come from a host name that resolves to this machine, so the `Host` must be one of
//! ours, and so must the `Origin` if there is one. Any local process can open a connection, so a
//! token is required even for local connections.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use milepost_model::problem::Code;
use milepost_model::secret::Secret;
use serde_json::json;
use subtle::ConstantTimeEq;

use super::jwt::TokenFault;
use super::oauth::{METADATA, OAuthError, ResourceServer};
use super::probe::HEALTH;
use crate::rpc_error::{RpcError, SERVER_ERROR};

/// What a client must present.
#[derive(Clone)]
pub enum HttpAccess {
    /// Nothing; only for tests of the protocol.
    Anybody,
    Token(Secret),
    /// A token that an authorization server issued for this server.
    OAuth(Arc<ResourceServer>),
}

/// The user that a token names, if it names one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Principal(Option<String>);

impl Principal {
    /// The name in the token.
    pub(crate) fn name(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

/// A string that is not a host or an origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AllowListError {
    /// Not a host.
    #[error("`{0}` is not a valid host: write `name`, `name:port`, an address or `[ipv6]:port`")]
    Host(String),
    /// Not an origin.
    #[error(
        "`{0}` is not a valid origin: write it as browsers do, for example `https://example.com`"
    )]
    Origin(String),
}

/// Who may send requests, and from where.
#[derive(Clone)]
pub struct Guard {
    pub(super) access: HttpAccess,
    hosts: Vec<HostPort>,
    origins: Vec<Origin>,
    /// Whether a request may name any IP address as its host. Any host name can be made to resolve
    /// to us, but an address cannot.
    any_address: bool,
}

/// A host, with its port if it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HostPort {
    host: String,
    port: Option<u16>,
}

/// The origin of a page: its scheme, and its host with the port.
type Origin = (String, HostPort);

/// Why a request is not admitted.
#[derive(Debug, thiserror::Error)]
pub(super) enum AccessRefusal {
    #[error("the Host header does not name this server")]
    Host,
    #[error("requests from this origin are not allowed")]
    Origin,
    #[error("the request has no token")]
    NoToken,
    #[error("the token is not valid for this server")]
    WrongToken,
    /// A token from the authorization server was rejected for this reason.
    #[error(transparent)]
    Token(#[from] TokenFault),
    /// The token cannot be checked because the keys are unavailable.
    #[error(transparent)]
    Unknown(#[from] OAuthError),
}

impl Guard {
    /// Guards a server at this address: requests must name the address or, if it is local, this
    /// machine.
    pub fn new(address: SocketAddr, access: HttpAccess) -> Guard {
        let ip = address.ip();
        let mut hosts = Vec::new();
        if ip.is_loopback() || ip.is_unspecified() {
            hosts.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
        }
        if !ip.is_unspecified() {
            hosts.push(ip.to_string());
        }
        let port = Some(address.port());
        let origins = hosts.iter().map(|host| HostPort { host: host.clone(), port });
        let origins = origins.map(|place| ("http".to_owned(), place));
        Guard {
            access,
            origins: origins.collect(),
            // Any port is accepted, because another port may be forwarded here, and the name is
            // what identifies the server.
            hosts: hosts.into_iter().map(|host| HostPort { host, port: None }).collect(),
            any_address: ip.is_unspecified(),
        }
    }

    /// Admits requests that name this host, on the given port, or on any port if none is given.
    pub fn allow_host(&mut self, host: &str) -> Result<(), AllowListError> {
        let place = HostPort::parse(host).ok_or_else(|| AllowListError::Host(host.to_owned()))?;
        self.hosts.push(place);
        Ok(())
    }

    /// Admits requests from pages with this origin.
    pub fn allow_origin(&mut self, origin: &str) -> Result<(), AllowListError> {
        let place =
            parse_origin(origin).ok_or_else(|| AllowListError::Origin(origin.to_owned()))?;
        self.origins.push(place);
        Ok(())
    }

    /// Checks whether a request is admitted, and returns who sent it; `None` if nobody has to say.
    pub(super) async fn admit(&self, head: &Parts) -> Result<Option<Principal>, AccessRefusal> {
        self.comes_from(&head.uri, &head.headers)?;
        // Health checks need no token, and reveal only whether the server is healthy.
        if matches!(head.method, Method::GET | Method::HEAD) && head.uri.path() == HEALTH {
            return Ok(None);
        }
        match &self.access {
            HttpAccess::Anybody => Ok(Some(Principal::default())),
            HttpAccess::Token(token) => is_token(token, &head.headers).map(Some),
            // The metadata tells clients without a token how to get one.
            HttpAccess::OAuth(_) if head.method == Method::GET && is_metadata(head.uri.path()) => {
                Ok(None)
            }
            HttpAccess::OAuth(server) => {
                let subject = server.subject(bearer(&head.headers)?).await?;
                Ok(Some(Principal(Some(subject))))
            }
        }
    }

    fn comes_from(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), AccessRefusal> {
        if !self.is_ours(uri, headers) {
            return Err(AccessRefusal::Host);
        }
        match headers.get_all(ORIGIN).iter().all(|origin| self.is_allowed(origin)) {
            true => Ok(()),
            false => Err(AccessRefusal::Origin),
        }
    }

    /// The `WWW-Authenticate` header for a refused request.
    pub(super) fn challenge(&self, refusal: &AccessRefusal) -> Option<HeaderValue> {
        let error = match refusal {
            AccessRefusal::Host | AccessRefusal::Origin | AccessRefusal::Unknown(_) => return None,
            AccessRefusal::NoToken => "",
            AccessRefusal::WrongToken | AccessRefusal::Token(_) => ", error=\"invalid_token\"",
        };
        let metadata = match &self.access {
            HttpAccess::OAuth(server) => {
                format!(", resource_metadata=\"{}\"", server.metadata_url())
            }
            HttpAccess::Anybody | HttpAccess::Token(_) => String::new(),
        };
        HeaderValue::from_str(&format!("Bearer realm=\"milepost\"{error}{metadata}")).ok()
    }

    /// Whether a request names us both in its `Host` header and, if there is one, in the authority
    /// of its URI.
    fn is_ours(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut named = headers.get_all(HOST).iter();
        let (Some(host), None) = (named.next(), named.next()) else { return false };
        let host = host.to_str().ok().and_then(HostPort::parse);
        let asked = uri.authority().map(|authority| HostPort::parse(authority.as_str()));
        host.is_some_and(|host| self.is_known(&host))
            && asked.is_none_or(|asked| asked.is_some_and(|asked| self.is_known(&asked)))
    }

    fn is_known(&self, place: &HostPort) -> bool {
        let is_address = IpAddr::from_str(&place.host).is_ok();
        (self.any_address && is_address)
            || self.hosts.iter().any(|known| {
                known.host == place.host && known.port.is_none_or(|port| place.has_port(port))
            })
    }

    fn is_allowed(&self, origin: &HeaderValue) -> bool {
        let origin = origin.to_str().ok().and_then(parse_origin);
        origin.is_some_and(|origin| self.origins.contains(&origin))
    }
}

impl HostPort {
    /// Parses a host with an optional numeric port, and nothing else, because an unknown part may
    /// belong to another host's name.
    fn parse(text: &str) -> Option<HostPort> {
        // An IPv6 address is written in brackets, or bare.
        if let Ok(address) = IpAddr::from_str(text) {
            return Some(HostPort { host: address.to_string(), port: None });
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, rest) = rest.split_once(']')?;
                let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
                (Ipv6Addr::from_str(address).ok()?.to_string(), port)
            }
            None => match text.split_once(':') {
                Some((name, port)) => (host(name)?, Some(port)),
                None => (host(text)?, None),
            },
        };
        let port = port.map(|port| number(port).ok_or(())).transpose().ok()?;
        Some(HostPort { host, port })
    }

    /// Whether this is the host's port; a request without a port means its scheme's default.
    fn has_port(&self, port: u16) -> bool {
        self.port.map_or(matches!(port, 80 | 443), |own| own == port)
    }
}

/// Normalizes a host name or an IPv4 address for comparison.
fn host(text: &str) -> Option<String> {
    if let Ok(address) = Ipv4Addr::from_str(text) {
        return Some(address.to_string());
    }
    let name = text.strip_suffix('.').unwrap_or(text);
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let is_name = name.split('.').all(|label| !label.is_empty() && label.chars().all(fits));
    is_name.then(|| name.to_ascii_lowercase())
}

/// Parses a port. Only digits are accepted, not the sign that `parse` would allow.
fn number(text: &str) -> Option<u16> {
    text.chars().all(|c| c.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

fn parse_origin(text: &str) -> Option<Origin> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let usual = match scheme.as_str() {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let HostPort { host, port } = HostPort::parse(rest)?;
    Some((scheme, HostPort { host, port: port.or(Some(usual)) }))
}

fn is_metadata(path: &str) -> bool {
    path == METADATA || path.strip_prefix(METADATA) == Some(super::PATH)
}

fn is_token(token: &Secret, headers: &HeaderMap) -> Result<Principal, AccessRefusal> {
    let given = bearer(headers)?;
    // Compared in constant time, so that timing does not reveal how much of the token is correct.
    match bool::from(given.as_bytes().ct_eq(token.reveal().as_bytes())) {
        true => Ok(Principal::default()),
        false => Err(AccessRefusal::WrongToken),
    }
}

/// The token in a request, which must have exactly one `Authorization` header.
fn bearer(headers: &HeaderMap) -> Result<&str, AccessRefusal> {
    let mut given = headers.get_all(AUTHORIZATION).iter();
    let (Some(given), None) = (given.next(), given.next()) else {
        return Err(AccessRefusal::NoToken);
    };
    let given = given.to_str().map_err(|_| AccessRefusal::WrongToken)?;
    match given.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim()),
        _ => Err(AccessRefusal::NoToken),
    }
}

impl AccessRefusal {
    pub(super) fn status(&self) -> StatusCode {
        match self {
            AccessRefusal::Host | AccessRefusal::Origin => StatusCode::FORBIDDEN,
            AccessRefusal::NoToken | AccessRefusal::WrongToken | AccessRefusal::Token(_) => {
                StatusCode::UNAUTHORIZED
            }
            AccessRefusal::Unknown(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    pub(super) fn fault(&self) -> RpcError {
        let action = match self {
            AccessRefusal::Host => "use the server's own host name, or start it with --allow-host",
            AccessRefusal::Origin => "start the server with --allow-origin if the page is yours",
            AccessRefusal::NoToken | AccessRefusal::WrongToken => {
                "send `Authorization: Bearer` with the server's token"
            }
            AccessRefusal::Token(_) => "get a token from the issuer for this resource",
            AccessRefusal::Unknown(_) => "try again; the server cannot reach the token's issuer",
        };
        let code = Code::AccessDenied;
        let data = json!({
            "error_code": code.name(),
            "category": code.category().name(),
            "message": self.to_string(),
            "retryable": matches!(self, AccessRefusal::Unknown(_)),
            "suggested_action": action,
        });
        let message = match self.status() {
            StatusCode::FORBIDDEN => "Forbidden",
            StatusCode::UNAUTHORIZED => "Unauthorized",
            _ => "Unavailable",
        };
        RpcError::new(SERVER_ERROR, message, data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(address: &str) -> Guard {
        Guard::new(address.parse().expect("an address"), HttpAccess::Anybody)
    }

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in all {
            headers.append(*name, HeaderValue::from_str(value).expect("a value"));
        }
        headers
    }

    /// Whether a request that names this host is admitted.
    fn admits(guard: &Guard, host: &str) -> bool {
        guard.comes_from(&Uri::from_static("/mcp"), &headers(&[("host", host)])).is_ok()
    }

    #[test]
    fn only_names_of_ours_lead_here() {
        let here = guard("127.0.0.1:6453");
        for ours in ["localhost", "LocalHost.:1", "127.0.0.1:6453", "[::1]", "[0:0:0:0:0:0:0:1]:9"]
        {
            assert!(admits(&here, ours), "{ours}");
        }
        for other in
            ["evil.example", "127.0.0.2", "127.0.0.1.evil.example", "", ":80", "localhost:", "a b"]
        {
            assert!(!admits(&here, other), "{other}");
        }
        // Only a port may follow a host.
        for other in [
            "127.0.0.1:6453.evil.example",
            "localhost:evil.example",
            "localhost:80:80",
            "localhost:+80",
            "localhost:99999",
            "localhost/evil.example",
            "localhost..",
            "localhost,evil.example",
            "[::1].evil.example",
            "[::1]6453",
            "[::1]:",
            "[::1]:6453.evil.example",
            "[127.0.0.1]",
            "[localhost]",
            "[::1",
        ] {
            assert!(!admits(&here, other), "{other}");
        }
        let there = guard("192.0.2.1:80");
        assert!(admits(&there, "192.0.2.1"));
        assert!(!admits(&there, "localhost"));
        let everywhere = guard("[::]:80");
        assert!(admits(&everywhere, "192.0.2.7") && admits(&everywhere, "localhost"));
        assert!(!admits(&everywhere, "evil.example"));
    }

    #[test]
    fn a_host_is_allowed_at_its_port_or_at_any() {
        let mut guard = guard("192.0.2.1:80");
        guard.allow_host("a.example:8443").expect("is one");
        guard.allow_host("b.example").expect("is one");
        assert!(admits(&guard, "a.example:8443") && admits(&guard, "b.example:1"));
        assert!(!admits(&guard, "a.example") && !admits(&guard, "a.example:1"));
        assert!(guard.allow_host("a b").is_err() && guard.allow_origin("a.example").is_err());
    }

    #[test]
    fn a_target_that_names_a_host_names_ours() {
        let here = guard("127.0.0.1:6453");
        let asked = |uri: &'static str| {
            here.comes_from(&Uri::from_static(uri), &headers(&[("host", "localhost")])).is_ok()
        };
        assert!(asked("http://localhost/mcp"));
        assert!(!asked("http://evil.example/mcp"));
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let mut guard = guard("127.0.0.1:6453");
        guard.allow_origin("https://app.example").expect("is one");
        let from = |origin: &str| {
            let headers = headers(&[("host", "localhost"), ("origin", origin)]);
            guard.comes_from(&Uri::from_static("/mcp"), &headers).is_ok()
        };
        assert!(from("http://localhost:6453") && from("https://app.example:443"));
        for other in ["https://localhost:6453", "http://localhost", "null", "", "file://"] {
            assert!(!from(other), "{other}");
        }
    }

    #[test]
    fn a_token_is_the_whole_of_one_header() {
        let token = Secret::new("0123456789");
        let with = |all: &[(&'static str, &str)]| is_token(&token, &headers(all));
        assert!(with(&[("authorization", "Bearer 0123456789")]).is_ok());
        assert!(with(&[("authorization", "bearer  0123456789")]).is_ok());
        for wrong in ["Bearer 012345678", "Bearer 01234567890", "Bearer", "0123456789", "Bearer "] {
            assert!(with(&[("authorization", wrong)]).is_err(), "{wrong}");
        }
        let twice = ("authorization", "Bearer 0123456789");
        assert!(with(&[twice, twice]).is_err() && with(&[]).is_err());
    }
}

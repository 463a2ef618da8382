//! Decides where requests may go, without doing any I/O. The client consults it for a URL before
//! sending, for every address that a name resolves to, and for every redirect.

use std::collections::BTreeSet;
use std::net::IpAddr;

use url::{Host, Url};

use crate::address::{AddressRange, not_public, not_public_answer};

/// Where a client's requests may go.
///
/// Nothing is read from the environment. Proxies are not used, because a proxy resolves names
/// itself and would bypass every check made here.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    private: BTreeSet<Allowed>,
}

/// A host that may be reached at any address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Allowed {
    host: String,
    /// `None` allows any port.
    port: Option<u16>,
}

/// A string that is not a valid host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid host: write `name`, `name:port`, an address, or `[ipv6]:port`")]
pub struct InvalidHost {
    pub text: String,
}

impl Policy {
    /// A policy that only allows public addresses.
    pub fn public() -> Policy {
        Policy::default()
    }

    /// Allows a host that the user named, as `host` or `host:port`, even if its address is private.
    pub fn allow_private(&mut self, text: &str) -> Result<(), InvalidHost> {
        let no_host = || InvalidHost { text: text.to_owned() };
        let (host, port) = split_port(text).ok_or_else(no_host)?;
        let host = Host::parse(host).map_err(|_| no_host())?;
        self.private.insert(Allowed { host: plain_name(&host.to_string()), port });
        Ok(())
    }

    /// Allows the host and port of a URL that the user typed. Must not be called with a URL from a
    /// document.
    pub fn allow_url(&mut self, url: &Url) {
        if let Some(host) = url.host_str() {
            let port = url.port_or_known_default();
            self.private.insert(Allowed { host: plain_name(host), port });
        }
    }

    /// Whether a request may be sent to a URL, and which addresses it may use.
    pub fn check(&self, url: &Url) -> Result<Reach, GuardRefusal> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(GuardRefusal::Scheme { scheme: url.scheme().to_owned() });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(GuardRefusal::UserInfo);
        }
        let text = url.host_str().filter(|host| !host.is_empty()).ok_or(GuardRefusal::NoHost)?;
        if self.allows(text, url.port_or_known_default()) {
            return Ok(Reach::Anywhere);
        }
        let address = match url.host().ok_or(GuardRefusal::NoHost)? {
            Host::Ipv4(address) => IpAddr::V4(address),
            Host::Ipv6(address) => IpAddr::V6(address),
            Host::Domain(name) if is_localhost(name) => {
                return Err(GuardRefusal::Name { name: name.to_owned() });
            }
            Host::Domain(_) => return Ok(Reach::Public),
        };
        match not_public(address) {
            Some(range) => Err(GuardRefusal::Address { address, range, name: None }),
            None => Ok(Reach::Public),
        }
    }

    fn allows(&self, host: &str, port: Option<u16>) -> bool {
        let host = plain_name(host);
        let matches = |allowed: &Allowed| {
            allowed.host == *host && (allowed.port.is_none() || allowed.port == port)
        };
        self.private.iter().any(matches)
    }
}

/// Which addresses a request may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Only public addresses.
    Public,
    /// All addresses, because the user named this host.
    Anywhere,
}

impl Reach {
    /// Whether a name may resolve to these addresses. A single non-public address is enough to
    /// refuse them all, because a mixed answer is an attack that relies on the wrong address being
    /// picked.
    pub fn check(self, name: &str, addresses: &[IpAddr]) -> Result<(), GuardRefusal> {
        if self == Reach::Anywhere {
            return Ok(());
        }
        let judge = |address: &IpAddr| Some((*address, not_public_answer(*address)?));
        addresses.iter().find_map(judge).map_or(Ok(()), |(address, range)| {
            Err(GuardRefusal::Address { address, range, name: Some(name.to_owned()) })
        })
    }
}

/// Why a request may not be sent to a target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GuardRefusal {
    #[error("`{scheme}` is neither http nor https")]
    Scheme { scheme: String },
    /// User name or password in the URL, which can disguise where it leads.
    #[error("a URL must not contain a user name or password: use named secrets")]
    UserInfo,
    #[error("the URL has no host")]
    NoHost,
    #[error("`{name}` is this machine; allow the host in the configuration if this is intended")]
    Name { name: String },
    /// An address that is not public.
    #[error(
        "{}; allow the host in the configuration if this is intended",
        described(*address, *range, name.as_deref())
    )]
    Address {
        address: IpAddr,
        range: AddressRange,
        /// The name that resolved to the address, if there was one.
        name: Option<String>,
    },
}

impl GuardRefusal {
    /// The name of the violated rule.
    pub fn rule(&self) -> &'static str {
        match self {
            GuardRefusal::Scheme { .. } => "scheme",
            GuardRefusal::UserInfo => "userinfo",
            GuardRefusal::NoHost => "no-host",
            GuardRefusal::Name { .. } => "localhost",
            GuardRefusal::Address { .. } => "address",
        }
    }
}

fn described(address: IpAddr, range: AddressRange, name: Option<&str>) -> String {
    let stands_for = name.map(|name| format!("`{name}` resolves to ")).unwrap_or_default();
    format!("{stands_for}`{address}`, which is not a public address ({})", range.name())
}

/// Splits `host:port`; an IPv6 host is written in brackets.
fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let bare_v6 = text.parse::<std::net::Ipv6Addr>().is_ok();
    match text.rsplit_once(':') {
        Some((host, port)) if !bare_v6 && !port.ends_with(']') => {
            Some((host, Some(port.parse().ok()?)))
        }
        _ if bare_v6 => None,
        _ => Some((text, None)),
    }
}

/// Normalizes a host name: a single trailing dot is insignificant.
fn plain_name(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

fn is_localhost(name: &str) -> bool {
    let name = plain_name(name);
    name == "localhost" || name.ends_with(".localhost") || name == "localhost.localdomain"
}

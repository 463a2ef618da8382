//! Private hosts that may be called, as written in the configuration.

use std::fmt;

use serde::{Serialize, Serializer};
use url::Host;

/// A host on a private network, with one port or any port.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrivateHost {
    host: Host<String>,
    port: Option<u16>,
}

impl PrivateHost {
    /// The expected form, for messages.
    pub const EXPECTED: &'static str = "a host such as `localhost`, `10.0.0.7:8080` or `[::1]:80`";

    /// Parses `host` or `host:port`. All notations of an address yield the same host.
    pub fn parse(text: &str) -> Option<PrivateHost> {
        let behind_bracket = text.rfind(']').map_or(0, |bracket| bracket + 1);
        let (host, port) = match text[behind_bracket..].find(':') {
            Some(colon) => {
                let (host, port) = text.split_at(behind_bracket + colon);
                // Only digits: parsing as `u16` would also accept a plus sign.
                let digits = port[1..].bytes().all(|byte| byte.is_ascii_digit());
                (host, Some(port[1..].parse().ok().filter(|_| digits)?))
            }
            None => (text, None),
        };
        let host = Host::parse(host.strip_suffix('.').unwrap_or(host)).ok()?;
        // URL parsing also accepts invalid host names, such as `*`, which would match nothing.
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let named = !matches!(&host, Host::Domain(name) if !name.bytes().all(letters));
        named.then_some(PrivateHost { host, port })
    }

    pub fn host(&self) -> &Host<String> {
        &self.host
    }

    /// The port, or `None` if every port is allowed.
    pub fn port(&self) -> Option<u16> {
        self.port
    }
}

impl fmt::Display for PrivateHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.host),
            None => write!(f, "{}", self.host),
        }
    }
}

impl Serialize for PrivateHost {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::PrivateHost;

    fn check(text: &str, expected: Option<&str>) {
        let found = PrivateHost::parse(text).map(|host| host.to_string());
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn hosts_with_and_without_a_port() {
        check("localhost", Some("localhost"));
        check("LOCALHOST.:8080", Some("localhost:8080"));
        check("0x7f.1:80", Some("127.0.0.1:80"));
        check("[::1]", Some("[::1]"));
        check("[0:0::1]:443", Some("[::1]:443"));
        check("api.intern", Some("api.intern"));
    }

    #[test]
    fn what_is_no_host() {
        let wrong = ["", ":80", "a:", "a:b", "a:+1", "a:70000", "http://a", "a/b", "a@b", "::1"];
        for text in wrong.into_iter().chain(["[::1", "a b", "*", "[::1]x", "a:1:2", "."]) {
            check(text, None);
        }
    }
}

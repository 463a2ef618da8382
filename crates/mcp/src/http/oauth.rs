//! The server as an OAuth 2.1 resource: checks tokens from an authorization server against its
//! keys.
//!
//! The keys come from a file, from a URL, or from the URL in the issuer's metadata (RFC 8414 or
//! `OpenID` Connect). They are fetched through the client in `outbound`. A URL that a person typed
//! may point to a private address; one that a document names may do so only if it belongs to the
//! issuer itself.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use milepost_outbound::{Client, Outgoing, Policy, SendError, SendOptions};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::{Host, Url};

use super::guard::AccessRefusal;
use super::jwt::{self, ExpectedClaims, Keys, TokenFault};
use crate::limits;

/// Where clients look up how to get a token (RFC 9728).
pub(super) const METADATA: &str = "/.well-known/oauth-protected-resource";

/// Where the issuer's keys come from.
#[derive(Debug, Clone)]
pub enum KeySource {
    /// From the URL that the issuer's metadata names.
    Issuer,
    /// From this URL, which a person typed.
    Url(Url),
    /// From this key set, as JSON.
    Given(Vec<u8>),
}

/// Why a server cannot check tokens.
#[derive(Debug, thiserror::Error)]
pub enum OAuthError {
    /// The issuer's URL cannot be trusted.
    #[error(
        "`{0}` is not a valid issuer: use an https URL without a query or fragment, or http on \
         this machine"
    )]
    Issuer(String),
    /// Clients could not request a token for this resource.
    #[error(
        "`{0}` is not a valid resource: use the URL of this server as clients know it, without a \
         fragment"
    )]
    Resource(String),
    /// The keys cannot be fetched.
    #[error("cannot fetch the issuer's keys")]
    Fetch(#[source] Box<SendError>),
    /// A document that was fetched or supplied is invalid.
    #[error("{0}")]
    Document(&'static str),
}

/// A resource that accepts tokens from one issuer.
pub struct ResourceServer {
    issuer: String,
    issuer_url: Url,
    resource: Url,
    /// The name of the resource in tokens and metadata.
    audience: String,
    source: KeySource,
    /// Sends no credentials.
    client: Client,
    kept: Mutex<CachedKeys>,
}

#[derive(Debug, Default)]
struct CachedKeys {
    keys: Option<Arc<Keys>>,
    /// When the keys were fetched, or when refreshing them last failed.
    asked: Option<Instant>,
}

impl ResourceServer {
    /// Creates a resource from the issuer of its tokens and the URL by which clients know it.
    pub fn new(
        issuer: &str,
        resource: &str,
        source: KeySource,
    ) -> Result<ResourceServer, OAuthError> {
        let issuer_url = Url::parse(issuer).ok().filter(is_issuer);
        let issuer_url = issuer_url.ok_or_else(|| OAuthError::Issuer(issuer.to_owned()))?;
        let parsed = Url::parse(resource).ok();
        let parsed = parsed
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.fragment().is_none());
        let parsed = parsed.ok_or_else(|| OAuthError::Resource(resource.to_owned()))?;
        let mut policy = Policy::public();
        policy.allow_url(&issuer_url);
        let mut kept = CachedKeys::default();
        match &source {
            KeySource::Issuer => {}
            KeySource::Url(url) => policy.allow_url(url),
            KeySource::Given(text) => kept.keys = Some(Arc::new(key_set(text)?)),
        }
        Ok(ResourceServer {
            issuer: issuer.to_owned(),
            issuer_url,
            audience: resource.to_owned(),
            resource: parsed,
            source,
            client: Client::new(policy),
            kept: Mutex::new(kept),
        })
    }

    /// Checks that tokens can be verified now, fetching the keys if necessary.
    pub async fn ready(&self) -> Result<(), OAuthError> {
        self.keys(limits::KEYS_LAST).await.map(|_| ())
    }

    /// The URL of this resource's metadata.
    pub(super) fn metadata_url(&self) -> String {
        let path = self.resource.path().trim_end_matches('/');
        let mut url = self.resource.clone();
        url.set_query(None);
        url.set_path(&format!("{METADATA}{path}"));
        url.into()
    }

    /// The metadata that tells a client how to get a token.
    pub(super) fn metadata(&self) -> Value {
        json!({
            "resource": self.audience,
            "authorization_servers": [self.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "Milepost",
        })
    }

    /// Verifies a token and returns its subject.
    pub(super) async fn subject(&self, token: &str) -> Result<String, AccessRefusal> {
        let verified = self.verified(token, &*self.keys(limits::KEYS_LAST).await?);
        if verified != Err(TokenFault::UnknownKey) {
            return Ok(verified?);
        }
        Ok(self.verified(token, &*self.keys(limits::KEYS_REST).await?)?)
    }

    fn verified(&self, token: &str, keys: &Keys) -> Result<String, TokenFault> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let expected =
            ExpectedClaims { issuer: &self.issuer, audience: &self.audience, now_s: now.as_secs() };
        jwt::verify(token, keys, expected)
    }

    /// Returns the keys, fetching them again if they are older than this.
    async fn keys(&self, age_max: Duration) -> Result<Arc<Keys>, OAuthError> {
        let mut kept = self.kept.lock().await;
        let is_recent = matches!(self.source, KeySource::Given(_))
            || kept.asked.is_some_and(|asked| asked.elapsed() < age_max);
        if let Some(keys) = &kept.keys
            && is_recent
        {
            return Ok(Arc::clone(keys));
        }
        let fetched = self.fetched().await.map(Arc::new);
        kept.asked = Some(Instant::now());
        // Tokens stay valid while their issuer is unreachable.
        let keys = fetched.or_else(|error| kept.keys.clone().ok_or(error))?;
        kept.keys = Some(Arc::clone(&keys));
        Ok(keys)
    }

    async fn fetched(&self) -> Result<Keys, OAuthError> {
        let url = match &self.source {
            KeySource::Given(text) => return key_set(text),
            KeySource::Url(url) => url.clone(),
            KeySource::Issuer => self.keys_url().await?,
        };
        key_set(&self.document(url).await?)
    }

    /// The URL of the keys, from the issuer's metadata.
    async fn keys_url(&self) -> Result<Url, OAuthError> {
        let path = self.issuer_url.path().trim_end_matches('/');
        let mut metadata = Err(OAuthError::Document("the issuer has no metadata"));
        for path in [
            format!("/.well-known/oauth-authorization-server{path}"),
            format!("{path}/.well-known/openid-configuration"),
        ] {
            let mut url = self.issuer_url.clone();
            url.set_path(&path);
            metadata = self.document(url).await;
            if metadata.is_ok() {
                break;
            }
        }
        let metadata: Value = serde_json::from_slice(&metadata?)
            .map_err(|_| OAuthError::Document("the issuer's metadata is not valid JSON"))?;
        if metadata["issuer"] != self.issuer.as_str() {
            return Err(OAuthError::Document("the issuer's metadata names a different issuer"));
        }
        let url = metadata["jwks_uri"].as_str().and_then(|text| Url::parse(text).ok());
        url.ok_or(OAuthError::Document("the issuer's metadata has no `jwks_uri`"))
    }

    async fn document(&self, url: Url) -> Result<Vec<u8>, OAuthError> {
        let sending = SendOptions {
            timeout: limits::KEYS_TIMEOUT,
            body_bytes: limits::KEYS_BYTES,
            ..SendOptions::default()
        };
        let request = Outgoing::get(url).header("accept", "application/json");
        let answer = self.client.send(&request, &sending).await;
        let answer = answer.map_err(|error| OAuthError::Fetch(Box::new(error)))?;
        match answer.status {
            200 => Ok(answer.body.to_vec()),
            _ => Err(OAuthError::Document("the issuer returned an error")),
        }
    }
}

fn key_set(text: &[u8]) -> Result<Keys, OAuthError> {
    let keys = Keys::parse(text).ok_or(OAuthError::Document("this is not a JSON Web Key Set"))?;
    match keys.is_empty() {
        true => Err(OAuthError::Document("the key set has no RS256 or ES256 key")),
        false => Ok(keys),
    }
}

fn is_issuer(url: &Url) -> bool {
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_here);
    is_safe && url.query().is_none() && url.fragment().is_none()
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    fn server(issuer: &str, resource: &str) -> Result<ResourceServer, OAuthError> {
        ResourceServer::new(issuer, resource, KeySource::Issuer)
    }

    #[test]
    fn an_issuer_is_known_for_certain() {
        let here = "https://milepost.example/mcp";
        for right in ["https://a.example", "https://a.example/realm", "http://127.0.0.1:8080"] {
            assert!(server(right, here).is_ok(), "{right}");
        }
        for wrong in ["http://a.example", "a", "https://a.example?b", "ftp://a.example", ""] {
            assert!(matches!(server(wrong, here), Err(OAuthError::Issuer(_))), "{wrong}");
        }
        for wrong in ["mcp", "https://a.example#b", "mailto:a@b.example"] {
            assert!(matches!(server("https://a.example", wrong), Err(OAuthError::Resource(_))));
        }
    }

    #[test]
    fn the_metadata_stands_between_host_and_path() {
        let url =
            |resource: &str| server("https://a.example", resource).map(|one| one.metadata_url());
        let at = |resource: &str| url(resource).expect("is a resource");
        let host = "https://milepost.example";
        assert_eq!(at(&format!("{host}/mcp")), format!("{host}{METADATA}/mcp"));
        assert_eq!(at(&format!("{host}/a/mcp?b=c")), format!("{host}{METADATA}/a/mcp"));
        assert_eq!(at(host), format!("{host}{METADATA}"));
    }

    /// Serves each of these key sets to one request, then stops.
    fn publishing(sets: [&'static str; 2]) -> Url {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/keys", listener.local_addr().expect("an address"));
        std::thread::spawn(move || {
            for set in sets {
                let (mut stream, _) = listener.accept().expect("somebody asks");
                let mut request = [0; 1024];
                assert_ne!(stream.read(&mut request).expect("reads"), 0);
                let head = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length:";
                write!(stream, "{head} {}\r\n\r\n{set}", set.len()).expect("writes");
            }
        });
        Url::parse(&url).expect("is one")
    }

    #[tokio::test]
    async fn keys_are_followed_when_they_change_and_kept_when_they_are_gone() {
        const OLD: &str = r#"{"keys": [{"kty": "RSA", "kid": "old", "n": "AQAB", "e": "AQAB"}]}"#;
        const NEW: &str = r#"{"keys": [{"kty": "RSA", "kid": "new", "n": "AQAB", "e": "AQAB"}]}"#;
        let source = KeySource::Url(publishing([OLD, NEW]));
        let here = "https://milepost.example/mcp";
        let server = ResourceServer::new("https://a.example", here, source).expect("is one");
        let named = |keys: Arc<Keys>| format!("{keys:?}");
        let old = named(server.keys(limits::KEYS_LAST).await.expect("are there"));
        assert!(old.contains("\"old\""), "{old}");
        // Keys younger than the limit are reused; older ones are fetched again.
        assert_eq!(named(server.keys(limits::KEYS_REST).await.expect("are there")), old);
        let new = named(server.keys(Duration::ZERO).await.expect("are there"));
        assert!(new.contains("\"new\""), "{new}");
        assert_eq!(named(server.keys(Duration::ZERO).await.expect("are kept")), new);
    }
}

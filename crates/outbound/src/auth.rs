//! Authentication: chooses one of an API's schemes and adds its credentials to a request.
//!
//! Credentials refer to secrets by *name*. A secret is read just before it is sent, and is sent
//! only to the catalog's own origin or to a token server that the user named.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milepost_catalog::command::{Location, SecurityRequirement, SecurityScheme};
use milepost_model::id::CatalogId;
use milepost_model::secret::{Mask, Secret, known_secrets, mark};
use url::Url;

use crate::client::Client;
use crate::fault::{SendError, colon};
use crate::oauth::{TokenCache, TokenGrant, TokenId};
use crate::outgoing::{self, CredentialPlace, Credentials, Outgoing};
use crate::secrets::{SecretSource, SecretSourceError};

/// What the user configured for a scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    Key {
        secret: String,
    },
    /// User name and password.
    Basic {
        /// The user name; some APIs expect their key here.
        user: CredentialValue,
        /// The name of the secret that holds the password; `None` for an empty password.
        password: Option<String>,
    },
    /// A client of a token server.
    Client(ClientCredential),
}

/// The credentials that a client uses with a token server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCredential {
    pub id: CredentialValue,
    /// The name of the secret that holds the client secret.
    pub secret: String,
    pub style: ClientStyle,
    /// The scopes to request; by default, those that the command needs.
    pub scopes: Option<Vec<String>>,
    /// The intended recipient of the token, for servers that require it.
    pub audience: Option<String>,
    /// The token server that the user trusts: its token URL or its discovery URL. Without it, a
    /// document cannot cause the client secret to be sent to any origin other than the catalog's.
    pub authority: Option<Url>,
}

/// How a client authenticates to a token server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientStyle {
    /// `client_secret_basic`: in the `Authorization` header.
    #[default]
    Basic,
    /// `client_secret_post`: in the body.
    Post,
}

/// A value that may be a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialValue {
    /// The value itself.
    Plain(String),
    /// The name of the secret.
    Secret(String),
}

/// Whether a scheme requires more than a static token, such as digests or request signatures.
fn is_beyond(scheme: &SecurityScheme) -> bool {
    matches!(scheme, SecurityScheme::Other { kind } if kind.starts_with("http "))
}

impl CredentialValue {
    fn secret_name(&self) -> Option<&String> {
        match self {
            CredentialValue::Plain(_) => None,
            CredentialValue::Secret(name) => Some(name),
        }
    }
}

/// Why a request cannot be authenticated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthError {
    #[error("no credentials for {}", ticked(schemes))]
    NoCredentials {
        catalog: CatalogId,
        /// The alternatives; schemes that are needed together are joined by ` + `.
        schemes: Vec<String>,
        scheme: String,
        takes: &'static [&'static str],
    },
    /// The credentials are of a kind that the scheme does not accept.
    #[error("the scheme `{scheme}` expects {wants}")]
    WrongKind { catalog: CatalogId, scheme: String, wants: &'static str },
    #[error(transparent)]
    Secret(#[from] SecretSourceError),
    /// The request goes to an origin other than the one that the credentials belong to.
    #[error(
        "the credentials for `{catalog}` belong to `{bound}` and are not sent to `{asked}`: \
         set the catalog's base URL if this is intended"
    )]
    OtherOrigin { catalog: CatalogId, bound: String, asked: String },
    /// The token server is named only by the document, not by the user.
    #[error("the client secret is not sent to `{url}`: only the document names this server")]
    UntrustedAuthority { catalog: CatalogId, url: String },
    /// The token server does not use TLS and is not a host that the user allowed.
    #[error("the client secret is not sent to `{url}` without TLS")]
    ClearText { url: String },
    /// The token server or its discovery document cannot be reached.
    #[error("no token for `{scheme}`: {source}")]
    Unreachable { scheme: String, source: Box<SendError> },
    #[error("no token for `{scheme}`: `{url}` responded with {status}{}", colon(reason))]
    NoToken {
        scheme: String,
        url: String,
        status: u16,
        /// The server's message, sanitized and truncated, or what is missing from its response.
        reason: String,
    },
    /// The token server in the document is not a URL.
    #[error("the document's token server for `{scheme}` is not a URL")]
    BadUrl { scheme: String },
}

/// The credentials for one catalog.
pub struct Authenticator {
    pub(crate) catalog: CatalogId,
    pub(crate) base: Url,
    schemes: BTreeMap<String, SecurityScheme>,
    credentials: BTreeMap<String, Credential>,
    secrets: Arc<dyn SecretSource>,
    tokens: TokenCache,
}

/// Credentials, and the ids of the tokens among them, so that rejected tokens can be replaced.
pub(crate) struct ReadyCredentials {
    pub(crate) credentials: Credentials,
    pub(crate) tokens: Vec<TokenId>,
}

impl Authenticator {
    /// Creates an authenticator for a catalog whose requests go to this base URL.
    pub fn new(
        catalog: CatalogId,
        base: Url,
        schemes: BTreeMap<String, SecurityScheme>,
        credentials: BTreeMap<String, Credential>,
        secrets: Arc<dyn SecretSource>,
    ) -> Authenticator {
        Authenticator {
            catalog,
            base,
            schemes,
            credentials,
            secrets,
            tokens: TokenCache::default(),
        }
    }

    /// Chooses the first requirement with credentials for all of its schemes; the choice is empty
    /// if none are needed.
    pub fn choose(&self, ways: &[SecurityRequirement]) -> Result<SecurityRequirement, AuthError> {
        let has = |(name, _): &(String, Vec<String>)| {
            let known = self.schemes.get(name).filter(|scheme| !is_beyond(scheme));
            known.is_some() && self.credentials.contains_key(name)
        };
        let usable =
            |way: &&SecurityRequirement| !way.schemes.is_empty() && way.schemes.iter().all(has);
        if let Some(way) = ways.iter().find(usable) {
            return Ok(way.clone());
        }
        if ways.is_empty() || ways.iter().any(|way| way.schemes.is_empty()) {
            return Ok(SecurityRequirement::default());
        }
        let names = |way: &SecurityRequirement| -> String {
            let names: Vec<_> = way.schemes.iter().map(|(name, _)| name.as_str()).collect();
            names.join(" + ")
        };
        let schemes = ways.iter().map(names).collect();
        let first = ways.first().and_then(|way| way.schemes.iter().find(|one| !has(one)));
        let scheme = first.map(|(name, _)| (*name).clone()).unwrap_or_default();
        Err(self.no_credentials(schemes, scheme))
    }

    /// The error for a scheme without credentials, including the parts that its credentials consist
    /// of.
    fn no_credentials(&self, schemes: Vec<String>, scheme: String) -> AuthError {
        let takes: &[&str] = match self.schemes.get(&scheme) {
            Some(SecurityScheme::ApiKey { .. }) => &["key"],
            Some(SecurityScheme::Basic) => &["username", "password"],
            Some(
                SecurityScheme::ClientCredentials { .. } | SecurityScheme::OpenIdConnect { .. },
            ) => &["client_id", "client_secret"],
            Some(SecurityScheme::Bearer | SecurityScheme::Other { .. }) | None => &["token"],
        };
        AuthError::NoCredentials { catalog: self.catalog.clone(), schemes, scheme, takes }
    }

    /// The names of the secrets that a choice needs.
    pub fn secrets_of(&self, choice: &SecurityRequirement) -> Vec<String> {
        let credentials = choice.schemes.iter().filter_map(|(name, _)| self.credentials.get(name));
        let names = credentials.flat_map(|credential| match credential {
            Credential::Key { secret } => [Some(secret), None],
            Credential::Basic { user, password } => [user.secret_name(), password.as_ref()],
            Credential::Client(client) => [client.id.secret_name(), Some(&client.secret)],
        });
        names.flatten().cloned().collect()
    }

    /// The names of the secrets that a choice needs, each with where it is written, such as `header
    /// X-Api-Key`.
    pub fn places_of(&self, choice: &SecurityRequirement) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for (name, scopes) in &choice.schemes {
            let Ok((scheme, _)) = self.both(name) else { continue };
            let Ok((location, key)) = self.key_place(name, scheme) else { continue };
            let word = match location {
                Location::Header => "header",
                Location::Query | Location::QueryString => "query",
                Location::Cookie => "cookie",
                Location::Path => "path",
            };
            let own = SecurityRequirement { schemes: vec![(name.clone(), scopes.clone())] };
            let names = self.secrets_of(&own).into_iter();
            all.extend(names.map(|secret| (secret, format!("{word} {key}"))));
        }
        all
    }

    /// The request as it would be sent, with the names of secrets instead of their values. Nothing
    /// is read or sent.
    pub fn preview(
        &self,
        request: &Outgoing,
        choice: &SecurityRequirement,
    ) -> Result<Outgoing, AuthError> {
        self.check_origin(request, choice)?;
        let mut shown = request.clone();
        for (name, _) in &choice.schemes {
            let (scheme, credential) = self.both(name)?;
            let secret = match credential {
                Credential::Key { secret } => mark(secret),
                Credential::Basic { user, password } => mark(basic_name(user, password.as_deref())),
                Credential::Client(_) => mark(&token_name(name)),
            };
            let text = written(scheme, credential, &secret);
            outgoing::put_shown(&mut shown, &self.key_place(name, scheme)?, &text);
        }
        Ok(shown)
    }

    /// Reads the secrets, fetches tokens and builds the credentials for a request.
    pub(crate) async fn ready(
        &self,
        client: &Client,
        request: &Outgoing,
        choice: &SecurityRequirement,
        timeout: Duration,
    ) -> Result<ReadyCredentials, AuthError> {
        self.check_origin(request, choice)?;
        let origin = self.base.origin();
        let credentials = Credentials { origin, placed: Vec::new(), mask: Mask::guard() };
        let mut ready = ReadyCredentials { credentials, tokens: Vec::new() };
        for scheme in &choice.schemes {
            self.add(client, scheme, timeout, &mut ready).await?;
        }
        Ok(ready)
    }

    async fn add(
        &self,
        client: &Client,
        (name, scopes): &(String, Vec<String>),
        timeout: Duration,
        ready: &mut ReadyCredentials,
    ) -> Result<(), AuthError> {
        let (scheme, credential) = self.both(name)?;
        let Credentials { placed, mask, .. } = &mut ready.credentials;
        let value = match credential {
            Credential::Key { secret } => self.secret(secret, mask)?,
            Credential::Basic { user, password } => self.basic(user, password.as_deref(), mask)?,
            Credential::Client(credential) => {
                let scopes = credential.scopes.as_ref().unwrap_or(scopes);
                let grant = TokenGrant { scheme_name: name, scheme, credential, scopes, timeout };
                let token = self.tokens.token(self, client, &grant, mask).await?;
                let value = token.token.clone();
                mask.add(&token_name(name), &value);
                known_secrets::register(&token_name(name), &value);
                ready.tokens.push(token);
                value
            }
        };
        let value = Secret::new(written(scheme, credential, value.reveal()));
        placed.push((self.key_place(name, scheme)?, value));
        Ok(())
    }

    /// Reads a secret, strips the line break that files often end with, and adds the secret to the
    /// mask.
    pub(crate) fn secret(&self, name: &str, mask: &mut Mask) -> Result<Secret, SecretSourceError> {
        let secret = self.secrets.secret(name)?;
        let secret = Secret::new(secret.reveal().trim_end_matches(['\r', '\n']));
        mask.add(name, &secret);
        Ok(secret)
    }

    /// A user name or a client id, which is no secret, wherever it is stored.
    pub(crate) fn named(&self, named: &CredentialValue) -> Result<String, SecretSourceError> {
        Ok(match named {
            CredentialValue::Plain(value) => value.clone(),
            CredentialValue::Secret(name) => {
                self.secrets.identifier(name)?.trim_end_matches(['\r', '\n']).to_owned()
            }
        })
    }

    fn basic(
        &self,
        user: &CredentialValue,
        password: Option<&str>,
        mask: &mut Mask,
    ) -> Result<Secret, AuthError> {
        let shown = basic_name(user, password);
        let user = match (user, password) {
            // Without a password, the user name is the key.
            (CredentialValue::Secret(name), None) => self.secret(name, mask)?.reveal().to_owned(),
            (user, _) => self.named(user)?,
        };
        let password = password.map(|name| self.secret(name, mask)).transpose()?;
        let password = password.as_ref().map_or("", Secret::reveal);
        let value = Secret::new(STANDARD.encode(format!("{user}:{password}")));
        // Also mask the whole value: the parts would be found in base64, but one mark is easier to
        // read than three.
        mask.add(shown, &value);
        Ok(value)
    }

    /// A scheme and its credential, if they match.
    fn both(&self, name: &str) -> Result<(&SecurityScheme, &Credential), AuthError> {
        let pair = self.schemes.get(name).zip(self.credentials.get(name));
        let (scheme, credential) =
            pair.ok_or_else(|| self.no_credentials(vec![name.to_owned()], name.to_owned()))?;
        let by_token_server = matches!(
            scheme,
            SecurityScheme::ClientCredentials { .. } | SecurityScheme::OpenIdConnect { .. }
        );
        let wants = match credential {
            Credential::Basic { .. } if *scheme == SecurityScheme::Basic => None,
            _ if *scheme == SecurityScheme::Basic => Some("a user name and password"),
            Credential::Key { .. } => None,
            Credential::Client(_) if by_token_server => None,
            Credential::Basic { .. } if by_token_server => Some("client credentials or a token"),
            Credential::Basic { .. } | Credential::Client(_) => Some("a key or token"),
        };
        wants.map_or(Ok((scheme, credential)), |wants| Err(self.wrong_kind(name, wants)))
    }

    /// Where a key is written. Other credentials go into the `Authorization` header.
    fn key_place(&self, name: &str, scheme: &SecurityScheme) -> Result<CredentialPlace, AuthError> {
        match scheme {
            SecurityScheme::ApiKey { location: Location::Path | Location::QueryString, .. } => {
                Err(self.wrong_kind(name, "a header, query or cookie location"))
            }
            SecurityScheme::ApiKey { name: key, location } => Ok((*location, key.clone())),
            _ => Ok(authorization()),
        }
    }

    fn wrong_kind(&self, scheme: &str, wants: &'static str) -> AuthError {
        let catalog = self.catalog.clone();
        AuthError::WrongKind { catalog, scheme: scheme.to_owned(), wants }
    }

    fn check_origin(
        &self,
        request: &Outgoing,
        choice: &SecurityRequirement,
    ) -> Result<(), AuthError> {
        let (bound, asked) = (self.base.origin(), request.url.origin());
        if choice.schemes.is_empty() || bound == asked {
            return Ok(());
        }
        Err(AuthError::OtherOrigin {
            catalog: self.catalog.clone(),
            bound: bound.ascii_serialization(),
            asked: asked.ascii_serialization(),
        })
    }
}

pub(crate) fn authorization() -> CredentialPlace {
    (Location::Header, "Authorization".to_owned())
}

/// The value of the header, query parameter or cookie that contains a credential.
fn written(scheme: &SecurityScheme, credential: &Credential, value: &str) -> String {
    match (scheme, credential) {
        (SecurityScheme::ApiKey { .. }, _) => value.to_owned(),
        (_, Credential::Basic { .. }) => format!("Basic {value}"),
        _ => format!("Bearer {value}"),
    }
}

fn token_name(scheme: &str) -> String {
    format!("token for {scheme}")
}

fn basic_name<'n>(user: &'n CredentialValue, password: Option<&'n str>) -> &'n str {
    let (CredentialValue::Secret(name) | CredentialValue::Plain(name)) = user;
    password.unwrap_or(name)
}

fn ticked(names: &[String]) -> String {
    let ticked: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    ticked.join(" or ")
}

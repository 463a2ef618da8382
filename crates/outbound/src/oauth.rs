//! Tokens from token servers: OAuth 2 client credentials, from a server that the scheme names or
//! that `OpenID` Connect discovery returns. A token is kept until shortly before it expires;
//! concurrent callers share one request.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use milepost_catalog::command::SecurityScheme;
use milepost_catalog::text::hidden;
use milepost_model::secret::{Mask, Secret};
use serde_json::Value;
use tokio::time::Instant;
use url::Url;
use url::form_urlencoded::{Serializer, byte_serialize};

use crate::auth::{AuthError, Authenticator, ClientCredential, ClientStyle, authorization};
use crate::client::{Client, Response, SendOptions};
use crate::guard::Reach;
use crate::limits;
use crate::outgoing::{Credentials, Outgoing, masked_url};
use crate::retry::{CallRetry, HttpAttempts};

/// The parameters of a token request.
pub(crate) struct TokenGrant<'a> {
    pub(crate) scheme_name: &'a str,
    pub(crate) scheme: &'a SecurityScheme,
    pub(crate) credential: &'a ClientCredential,
    pub(crate) scopes: &'a [String],
    /// Time limit for one request to the token server.
    pub(crate) timeout: Duration,
}

/// Identifies a token that was used.
pub(crate) struct TokenId {
    slot: Arc<TokenSlot>,
    pub(crate) token: Secret,
}

impl TokenId {
    /// Discards a rejected token, unless it was already replaced.
    pub(crate) async fn forget(&self) {
        let mut state = self.slot.state.lock().await;
        if state.token.as_ref().is_some_and(|token| token.value == self.token) {
            state.token = None;
        }
    }
}

/// A scheme and a set of scopes.
type Key = (String, Vec<String>);

/// A catalog's tokens, one for each scheme and set of scopes.
#[derive(Default)]
pub(crate) struct TokenCache {
    slots: Mutex<BTreeMap<Key, Arc<TokenSlot>>>,
}

#[derive(Default)]
struct TokenSlot {
    /// The number of completed token requests, successful or not.
    rounds: AtomicU64,
    /// Locked while a token is being fetched, so that other callers wait for it.
    state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
struct State {
    token: Option<Token>,
    failure: Option<AuthError>,
}

struct Token {
    value: Secret,
    renew_at: Instant,
}

impl TokenCache {
    /// Returns a token that stays valid for a while, fetching one if necessary.
    pub(crate) async fn token(
        &self,
        auth: &Authenticator,
        client: &Client,
        grant: &TokenGrant<'_>,
        mask: &mut Mask,
    ) -> Result<TokenId, AuthError> {
        let slot = self.slot(grant);
        let before = slot.rounds.load(Ordering::Acquire);
        let mut state = slot.state.lock().await;
        let found = |token: &Token| TokenId { slot: Arc::clone(&slot), token: token.value.clone() };
        if let Some(token) = state.token.as_ref().filter(|token| token.renew_at > Instant::now()) {
            return Ok(found(token));
        }
        // A caller that waited for a failed request shares its failure instead of repeating it.
        let waited = slot.rounds.load(Ordering::Acquire) != before;
        if let Some(failure) = state.failure.as_ref().filter(|_| waited) {
            return Err(failure.clone());
        }
        let result = fetch(auth, client, grant, mask).await;
        slot.rounds.fetch_add(1, Ordering::Release);
        state.failure = result.as_ref().err().cloned();
        let answer = result.as_ref().map(found).map_err(Clone::clone);
        state.token = result.ok();
        answer
    }

    fn slot(&self, grant: &TokenGrant<'_>) -> Arc<TokenSlot> {
        let mut scopes = grant.scopes.to_vec();
        scopes.sort_unstable();
        scopes.dedup();
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (grant.scheme_name.to_owned(), scopes);
        if slots.len() >= limits::TOKENS && !slots.contains_key(&key) {
            // Callers that are using a slot keep it alive; all others will fetch a new token.
            slots.clear();
        }
        Arc::clone(slots.entry(key).or_default())
    }
}

async fn fetch(
    auth: &Authenticator,
    client: &Client,
    grant: &TokenGrant<'_>,
    mask: &mut Mask,
) -> Result<Token, AuthError> {
    let url = token_url(auth, client, grant).await?;
    check_secure(client, &url)?;
    let id = auth.named(&grant.credential.id)?;
    let secret = auth.secret(&grant.credential.secret, mask)?;
    let (request, credentials) = token_request(grant, url, &id, &secret, mask);
    let response = ask(client, grant, &request, credentials, mask).await?;
    read_token(grant, &request.url, &response, mask)
}

/// The token URL. The client secret only goes to the catalog's own origin or to the server that the
/// user named, because a document must not be able to send it anywhere else.
async fn token_url(
    auth: &Authenticator,
    client: &Client,
    grant: &TokenGrant<'_>,
) -> Result<Url, AuthError> {
    let bad_url = || AuthError::BadUrl { scheme: grant.scheme_name.to_owned() };
    let (url, described) = match grant.scheme {
        SecurityScheme::OpenIdConnect { url } => (url, true),
        SecurityScheme::ClientCredentials { token_url, .. } => (token_url, false),
        _ => return Err(bad_url()),
    };
    let authority = grant.credential.authority.clone();
    let url = authority.map_or_else(|| auth.base.join(url), Ok).map_err(|_| bad_url())?;
    check_trust(auth, grant, &url)?;
    if !described {
        return Ok(url);
    }
    check_secure(client, &url)?;
    discover(client, grant, url).await
}

fn check_trust(auth: &Authenticator, grant: &TokenGrant<'_>, url: &Url) -> Result<(), AuthError> {
    let origin = url.origin();
    let named = grant.credential.authority.as_ref().is_some_and(|named| named.origin() == origin);
    if named || auth.base.origin() == origin {
        return Ok(());
    }
    let url = masked_url(url, &Mask::new()).to_string();
    Err(AuthError::UntrustedAuthority { catalog: auth.catalog.clone(), url })
}

fn check_secure(client: &Client, url: &Url) -> Result<(), AuthError> {
    let named_by_user = || client.policy().check(url) == Ok(Reach::Anywhere);
    if url.scheme() == "https" || named_by_user() {
        return Ok(());
    }
    Err(AuthError::ClearText { url: url.to_string() })
}

/// Looks up the token endpoint in an `OpenID` Connect discovery document.
async fn discover(client: &Client, grant: &TokenGrant<'_>, mut url: Url) -> Result<Url, AuthError> {
    if !url.path().contains("/.well-known/") {
        let path = format!("{}/.well-known/openid-configuration", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    let request = Outgoing::get(url).header("Accept", "application/json");
    let response = ask(client, grant, &request, None, &Mask::new()).await?;
    let described: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let endpoint = described["token_endpoint"].as_str();
    let endpoint = endpoint.and_then(|endpoint| request.url.join(endpoint).ok());
    endpoint.ok_or_else(|| {
        no_token(grant, &request.url, &response, "its metadata has no `token_endpoint`")
    })
}

async fn ask(
    client: &Client,
    grant: &TokenGrant<'_>,
    request: &Outgoing,
    credentials: Option<Credentials>,
    mask: &Mask,
) -> Result<Response, AuthError> {
    let sending = SendOptions {
        timeout: grant.timeout,
        body_bytes: limits::TOKEN_BYTES,
        credentials,
        mask: mask.clone(),
        ..SendOptions::default()
    };
    // Requesting a token twice yields two tokens and does no harm.
    let retry = CallRetry::of(true);
    let mut attempts = HttpAttempts::new(&retry);
    loop {
        let result = client.send(request, &sending).await;
        if !attempts.again(&result).await {
            return result.map_err(|source| AuthError::Unreachable {
                scheme: grant.scheme_name.to_owned(),
                source: Box::new(source),
            });
        }
    }
}

fn token_request(
    grant: &TokenGrant<'_>,
    url: Url,
    id: &str,
    secret: &Secret,
    mask: &mut Mask,
) -> (Outgoing, Option<Credentials>) {
    let mut form = Serializer::new(String::new());
    form.append_pair("grant_type", "client_credentials");
    if !grant.scopes.is_empty() {
        form.append_pair("scope", &grant.scopes.join(" "));
    }
    if let Some(audience) = &grant.credential.audience {
        form.append_pair("audience", audience);
    }
    let mut credentials = None;
    match grant.credential.style {
        ClientStyle::Post => {
            form.append_pair("client_id", id).append_pair("client_secret", secret.reveal());
        }
        ClientStyle::Basic => {
            let encode = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
            let pair = format!("{}:{}", encode(id), encode(secret.reveal()));
            let value = STANDARD.encode(pair);
            mask.add(&grant.credential.secret, &Secret::new(value.as_str()));
            let placed = vec![(authorization(), Secret::new(format!("Basic {value}")))];
            credentials = Some(Credentials { origin: url.origin(), placed, mask: mask.clone() });
        }
    }
    let body = Bytes::from(form.finish());
    let request = Outgoing { method: "POST".to_owned(), url, headers: Vec::new(), body }
        .header("Accept", "application/json")
        .header("Content-Type", "application/x-www-form-urlencoded");
    (request, credentials)
}

fn read_token(
    grant: &TokenGrant<'_>,
    url: &Url,
    response: &Response,
    mask: &Mask,
) -> Result<Token, AuthError> {
    let answer: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let fail = |reason: &str| Err(no_token(grant, url, response, reason));
    if response.status != 200 {
        return fail(&reason(&answer, mask));
    }
    let kind = answer["token_type"].as_str().unwrap_or("bearer");
    if !kind.eq_ignore_ascii_case("bearer") {
        return fail("its token is not of type `bearer`");
    }
    let Some(token) = answer["access_token"].as_str().filter(|token| is_token(token)) else {
        return fail("its response has no `access_token`");
    };
    let renew_at = Instant::now() + kept_for(&answer["expires_in"]);
    Ok(Token { value: Secret::new(token), renew_at })
}

/// Whether a string can be sent in a header.
fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// How long a token is used. A token without an expiry is used for the maximum time.
fn kept_for(expires_in: &Value) -> Duration {
    let seconds = match expires_in {
        Value::Number(number) => number.as_f64(),
        // Some servers send the number as a string.
        Value::String(text) => text.parse().ok(),
        _ => None,
    };
    let seconds = seconds.filter(|seconds| seconds.is_finite()).unwrap_or(f64::MAX);
    let life = seconds.clamp(0.0, limits::TOKEN_LIFE_MAX.as_secs_f64());
    let life = Duration::from_secs_f64(life);
    life.saturating_sub(limits::TOKEN_MARGIN.min(life / 10))
}

/// A token server's error message, made safe to quote.
fn reason(answer: &Value, mask: &Mask) -> String {
    let parts = ["error", "error_description"].map(|name| answer[name].as_str());
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    let words = parts.join(": ");
    let words = mask.text(&words);
    words.chars().filter(|c| !hidden(*c)).take(limits::DETAIL_CHARS).collect()
}

fn no_token(grant: &TokenGrant<'_>, url: &Url, response: &Response, reason: &str) -> AuthError {
    AuthError::NoToken {
        scheme: grant.scheme_name.to_owned(),
        url: url.to_string(),
        status: response.status,
        reason: reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tokens_are_replaced_before_they_end() {
        let kept = |value: Value| kept_for(&value).as_secs();
        assert_eq!(kept(json!(3600)), 3570);
        assert_eq!(kept(json!("3600")), 3570);
        assert_eq!(kept(json!(100)), 90);
        assert_eq!(kept(json!(0)), 0);
        assert_eq!(kept(json!(-5)), 0);
        let longest = limits::TOKEN_LIFE_MAX.as_secs() - 30;
        for unbounded in [json!(null), json!("soon"), json!(1e300), json!(1_000_000)] {
            assert_eq!(kept(unbounded.clone()), longest, "{unbounded}");
        }
    }

    #[test]
    fn reasons_are_cleaned_masked_and_capped() {
        let mut mask = Mask::guard();
        mask.add("k", &Secret::new("s3cret"));
        let answer =
            json!({"error": "invalid\u{1b}[31m", "error_description": "no s3cret\u{202e}"});
        assert_eq!(reason(&answer, &mask), "invalid[31m: no [secret:k]");
        let long = json!({"error": "x".repeat(1000)});
        assert_eq!(reason(&long, &mask).len(), limits::DETAIL_CHARS);
        assert_eq!(reason(&json!("text"), &mask), "");
    }
}

//! Tokens from a local token server: both ways of client authentication, expiry, and refusal.

use std::collections::BTreeMap;
use std::sync::Arc;

use milepost_catalog::command::{SecurityRequirement, SecurityScheme};
use milepost_model::id::CatalogId;
use milepost_outbound::{
    ApiCall, ApiClient, ApiResponse, AuthError, Authenticator, CallError, Client, ClientCredential,
};
use milepost_outbound::{
    CallRetry, ClientStyle, Credential, CredentialValue, Outgoing, SendOptions,
};
use serde_json::{Value, json as value};
use url::Url;

use crate::server::{Reply, Server, answer, json, ok, redirect};
use crate::{Kept, Names, client, policy, text};

/// A token server whose nth token is `token-n`.
async fn tokens(expires_in: Value) -> Server {
    Server::start(move |number, _| {
        let token = format!("token-{number}");
        json(&value!({"access_token": token, "token_type": "Bearer", "expires_in": expires_in}))
    })
    .await
}

/// An API that accepts only these tokens.
async fn taking(good: &'static [&'static str]) -> Server {
    Server::start(move |_, received| {
        let given = received.headers("authorization");
        let given = given.first().and_then(|value| value.strip_prefix("Bearer "));
        match given.filter(|token| good.contains(token)) {
            Some(token) => ok(token),
            None => answer(401, &[], b"who are you?"),
        }
    })
    .await
}

struct Setup<'a> {
    api: &'a Server,
    tokens: &'a Server,
    scheme: SecurityScheme,
    credential: ClientCredential,
}

fn setup<'a>(api: &'a Server, tokens: &'a Server) -> Setup<'a> {
    let token_url = tokens.url("/oauth/token").to_string();
    let credential = ClientCredential {
        id: CredentialValue::Plain("my client".to_owned()),
        secret: "client-secret".to_owned(),
        style: ClientStyle::Basic,
        scopes: None,
        audience: None,
        authority: Some(tokens.url("/oauth/token")),
    };
    let scheme = SecurityScheme::ClientCredentials { token_url, scopes: Vec::new() };
    Setup { api, tokens, scheme, credential }
}

impl Setup<'_> {
    fn build(self) -> ApiClient {
        let client = client(&[self.api, self.tokens]);
        self.build_with(client)
    }

    fn build_with(self, client: Client) -> ApiClient {
        let schemes = BTreeMap::from([("login".to_owned(), self.scheme)]);
        let credential = Credential::Client(self.credential);
        let credentials = BTreeMap::from([("login".to_owned(), credential)]);
        let secrets = Kept::of(&[("client-secret", "p@ss: wörd")]);
        let catalog = CatalogId::parse("shop").expect("an id");
        let auth = Authenticator::new(catalog, self.api.url("/"), schemes, credentials, secrets);
        ApiClient { client, auth }
    }
}

async fn call(api: &ApiClient, server: &Server) -> Result<ApiResponse, CallError> {
    scoped(api, server, &["read", "write"]).await
}

async fn scoped(
    api: &ApiClient,
    server: &Server,
    scopes: &[&str],
) -> Result<ApiResponse, CallError> {
    let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
    let security = [SecurityRequirement { schemes: vec![("login".to_owned(), scopes)] }];
    let request = Outgoing { method: "POST".to_owned(), ..Outgoing::get(server.url("/orders")) };
    let (retry, sending) = (CallRetry::of(true), SendOptions::default());
    let call = ApiCall { request: &request, security: &security, retry: &retry, sending };
    api.call(call).await
}

fn body(result: Result<ApiResponse, CallError>) -> (u16, String) {
    let called = result.expect("answers");
    (called.response.status, text(&called.response))
}

#[tokio::test]
async fn the_secret_goes_in_the_header_or_in_the_body() {
    let (api, tokens) = (taking(&["token-0"]).await, tokens(value!(3600)).await);
    let caller = setup(&api, &tokens).build();
    assert_eq!(body(call(&caller, &api).await), (200, "token-0".to_owned()));
    let asked = &tokens.received()[0];
    assert_eq!(asked.line(), "POST /oauth/token HTTP/1.1");
    assert_eq!(asked.headers("content-type"), ["application/x-www-form-urlencoded"]);
    // `my+client:p%40ss%3A+w%C3%B6rd`, encoded as specified in RFC 6749 §2.3.1.
    let basic = "Basic bXkrY2xpZW50OnAlNDBzcyUzQSt3JUMzJUI2cmQ=";
    assert_eq!(asked.headers("authorization"), [basic]);
    assert_eq!(asked.body(), "grant_type=client_credentials&scope=read+write");

    let tokens = self::tokens(value!(3600)).await;
    let mut post = setup(&api, &tokens);
    post.credential.style = ClientStyle::Post;
    post.credential.audience = Some("https://shop.test/".to_owned());
    post.credential.scopes = Some(vec!["all".to_owned()]);
    assert_eq!(body(call(&post.build(), &api).await).0, 200);
    let asked = &tokens.received()[0];
    assert_eq!(asked.headers("authorization"), Vec::<String>::new());
    assert_eq!(
        asked.body(),
        "grant_type=client_credentials&scope=all&audience=https%3A%2F%2Fshop.test%2F\
         &client_id=my+client&client_secret=p%40ss%3A+w%C3%B6rd"
    );
}

#[tokio::test]
async fn a_token_is_used_until_it_ends() {
    let api = taking(&["token-0", "token-1", "token-2"]).await;
    let long = tokens(value!(3600)).await;
    let caller = setup(&api, &long).build();
    for _ in 0..3 {
        assert_eq!(body(call(&caller, &api).await).1, "token-0");
    }
    assert_eq!(long.received().len(), 1);
    let ended = tokens(value!(0)).await;
    let caller = setup(&api, &ended).build();
    for token in ["token-0", "token-1", "token-2"] {
        assert_eq!(body(call(&caller, &api).await).1, token);
    }
    let without = tokens(Value::Null).await;
    let caller = setup(&api, &without).build();
    body(call(&caller, &api).await);
    body(call(&caller, &api).await);
    assert_eq!(without.received().len(), 1);
}

#[tokio::test]
async fn each_set_of_scopes_has_its_token() {
    let (api, tokens) = (taking(&["token-0", "token-1"]).await, tokens(value!(3600)).await);
    let caller = setup(&api, &tokens).build();
    assert_eq!(body(scoped(&caller, &api, &["a", "b"]).await).1, "token-0");
    assert_eq!(body(scoped(&caller, &api, &["b", "a"]).await).1, "token-0");
    assert_eq!(body(scoped(&caller, &api, &[]).await).1, "token-1");
    assert_eq!(tokens.received()[1].body(), "grant_type=client_credentials");
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let (api, tokens) = (taking(&["token-1"]).await, tokens(value!(3600)).await);
    let caller = setup(&api, &tokens).build();
    let answer = call(&caller, &api).await.expect("answers");
    assert_eq!((answer.attempts, text(&answer.response).as_str()), (1, "token-1"));
    assert_eq!((api.received().len(), tokens.received().len()), (2, 2));
    assert_eq!(body(call(&caller, &api).await).1, "token-1");
    assert_eq!((api.received().len(), tokens.received().len()), (3, 2));
}

/// Whether a write is sent again is up to those who count its attempts.
#[tokio::test]
async fn a_write_whose_token_is_refused_is_sent_once() {
    let (api, tokens) = (taking(&["token-1"]).await, tokens(value!(3600)).await);
    let client = setup(&api, &tokens).build();
    let schemes = vec![("login".to_owned(), Vec::new())];
    let security = [SecurityRequirement { schemes }];
    let request = Outgoing { method: "POST".to_owned(), ..Outgoing::get(api.url("/orders")) };
    for (status, sent) in [(401, 1), (200, 2)] {
        let (retry, sending) = (CallRetry::never(), SendOptions::default());
        let call = ApiCall { request: &request, security: &security, retry: &retry, sending };
        let called = client.call(call).await.expect("answers");
        assert_eq!((called.response.status, api.received().len()), (status, sent));
        assert_eq!(called.token_refused, status == 401);
    }
    assert_eq!(tokens.received().len(), 2, "the refused token was discarded");
}

#[tokio::test]
async fn a_second_refusal_is_the_answer() {
    let (api, tokens) = (taking(&[]).await, tokens(value!(3600)).await);
    let caller = setup(&api, &tokens).build();
    assert_eq!(body(call(&caller, &api).await), (401, "who are you?".to_owned()));
    assert_eq!((api.received().len(), tokens.received().len()), (2, 2));
}

#[tokio::test]
async fn callers_at_the_same_moment_share_one_request() {
    let (api, tokens) = (taking(&["token-0"]).await, tokens(value!(3600)).await);
    let caller = Arc::new(setup(&api, &tokens).build());
    let (api, tokens) = (Arc::new(api), tokens);
    let calls: Vec<_> = (0..20)
        .map(|_| {
            let (caller, api) = (Arc::clone(&caller), Arc::clone(&api));
            tokio::spawn(async move { body(call(&caller, &api).await).0 })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.expect("ends"), 200);
    }
    assert_eq!(tokens.received().len(), 1);
}

#[tokio::test]
async fn callers_at_the_same_moment_share_a_failure() {
    let tokens = Server::replies(vec![answer(400, &[], br#"{"error":"invalid_client"}"#)]).await;
    let api = taking(&[]).await;
    let caller = setup(&api, &tokens).build();
    let (one, two, three) =
        tokio::join!(call(&caller, &api), call(&caller, &api), call(&caller, &api));
    for result in [one, two, three] {
        result.expect_err("no token");
    }
    assert_eq!(tokens.received().len(), 1);
    // The next call requests a token again, because the problem may have been fixed.
    call(&caller, &api).await.expect_err("no token");
    assert_eq!(tokens.received().len(), 2);
}

async fn no_token(reply: Reply) -> (u16, String) {
    let (api, tokens) = (taking(&[]).await, Server::replies(vec![reply]).await);
    let error = call(&setup(&api, &tokens).build(), &api).await.expect_err("no token");
    assert!(error.certainly_not_sent());
    assert_eq!(api.connections(), 0);
    match error {
        CallError::Auth(AuthError::NoToken { status, reason, .. }) => (status, reason),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_server_that_gives_no_token_says_why() {
    let refusal = br#"{"error":"invalid_client","error_description":"bad p@ss: w\u00f6rd"}"#;
    let (status, reason) = no_token(answer(401, &[], refusal)).await;
    assert_eq!((status, reason.as_str()), (401, "invalid_client: bad [secret:client-secret]"));
    assert_eq!(no_token(answer(500, &[], b"<html>")).await, (500, String::new()));
    for nonsense in [value!({}), value!([1]), value!({"access_token": ""})] {
        let (status, reason) = no_token(json(&nonsense)).await;
        assert_eq!((status, reason.as_str()), (200, "its response has no `access_token`"));
    }
    let smuggled = value!({"access_token": "a\r\nX-Evil: 1"});
    assert_eq!(no_token(json(&smuggled)).await.1, "its response has no `access_token`");
    let mac = value!({"access_token": "a", "token_type": "mac"});
    assert_eq!(no_token(json(&mac)).await.1, "its token is not of type `bearer`");
}

#[tokio::test]
async fn a_document_cannot_choose_who_gets_the_secret() {
    let (api, thief) = (taking(&[]).await, tokens(value!(3600)).await);
    let mut caught = setup(&api, &thief);
    caught.credential.authority = None;
    let error = call(&caught.build(), &api).await.expect_err("is not trusted");
    assert!(matches!(error, CallError::Auth(AuthError::UntrustedAuthority { .. })), "{error}");
    let mut caught = setup(&api, &thief);
    caught.credential.authority = None;
    caught.scheme = SecurityScheme::OpenIdConnect { url: thief.url("/").to_string() };
    let error = call(&caught.build(), &api).await.expect_err("is not trusted");
    assert!(matches!(error, CallError::Auth(AuthError::UntrustedAuthority { .. })), "{error}");
    assert_eq!(thief.connections(), 0);
}

#[tokio::test]
async fn a_token_server_of_the_same_origin_needs_no_word() {
    let server = Server::start(|_, received| match received.target().as_str() {
        "/token" => json(&value!({"access_token": "t"})),
        _ => ok("in"),
    })
    .await;
    let mut own = setup(&server, &server);
    own.credential.authority = None;
    own.scheme =
        SecurityScheme::ClientCredentials { token_url: "/token".to_owned(), scopes: vec![] };
    assert_eq!(body(call(&own.build(), &server).await).1, "in");
}

#[tokio::test]
async fn the_token_server_is_guarded_like_any_other() {
    let (api, tokens) = (taking(&[]).await, tokens(value!(3600)).await);
    let guarded = Client::with_lookup(policy(&[&api]), Arc::new(Names::default()));
    let error = call(&setup(&api, &tokens).build_with(guarded), &api).await.expect_err("private");
    assert!(matches!(error, CallError::Auth(AuthError::ClearText { .. })), "{error}");
    let mut over_tls = setup(&api, &tokens);
    let https = Url::parse(&format!("https://{}/token", tokens.host())).expect("a URL");
    over_tls.credential.authority = Some(https);
    let guarded = Client::with_lookup(policy(&[&api]), Arc::new(Names::default()));
    let error = call(&over_tls.build_with(guarded), &api).await.expect_err("private");
    assert!(matches!(error, CallError::Auth(AuthError::Unreachable { .. })), "{error}");
    assert_eq!(tokens.connections(), 0);
}

#[tokio::test]
async fn a_token_server_cannot_pass_the_secret_on() {
    let other = tokens(value!(3600)).await;
    for style in [ClientStyle::Basic, ClientStyle::Post] {
        let url = other.url("/").to_string();
        let tokens = Server::start(move |_, _| redirect(307, &url)).await;
        let api = taking(&["token-0"]).await;
        let mut moved = setup(&api, &tokens);
        moved.credential.style = style;
        let both = client(&[&api, &tokens, &other]);
        call(&moved.build_with(both), &api).await.expect_err("a redirect is no token");
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test]
async fn open_id_connect_says_where_tokens_are() {
    let issuer = Server::start(|_, received| match received.target().as_str() {
        "/realm/.well-known/openid-configuration" => {
            json(&value!({"token_endpoint": "/realm/token"}))
        }
        "/realm/token" => json(&value!({"access_token": "token-0"})),
        _ => answer(404, &[], b""),
    })
    .await;
    let api = taking(&["token-0"]).await;
    for described in ["/realm", "/realm/.well-known/openid-configuration"] {
        let mut login = setup(&api, &issuer);
        login.scheme = SecurityScheme::OpenIdConnect { url: issuer.url(described).to_string() };
        login.credential.authority = Some(issuer.url(described));
        assert_eq!(body(call(&login.build(), &api).await).0, 200, "{described}");
    }
    let mut login = setup(&api, &issuer);
    login.scheme = SecurityScheme::OpenIdConnect { url: issuer.url("/nothing").to_string() };
    login.credential.authority = Some(issuer.url("/nothing"));
    let error = call(&login.build(), &api).await.expect_err("is not described");
    assert!(error.to_string().contains("`token_endpoint`"), "{error}");
}

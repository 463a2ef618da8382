//! Credentials: how they are chosen, where they are sent, and where they never go.

use std::collections::BTreeMap;

use milepost_catalog::command::{Location, SecurityRequirement, SecurityScheme};
use milepost_model::id::CatalogId;
use milepost_outbound::masked;
use milepost_outbound::{
    ApiCall, ApiClient, ApiResponse, AuthError, Authenticator, CallError, ClientCredential,
};
use milepost_outbound::{
    CallRetry, ClientStyle, Credential, CredentialValue, Outgoing, SecretSourceError, SendOptions,
};

use crate::server::{Server, ok};
use crate::{Kept, client};

fn shop() -> CatalogId {
    CatalogId::parse("shop").expect("an id")
}

fn key(secret: &str) -> Credential {
    Credential::Key { secret: secret.to_owned() }
}

fn basic(user: CredentialValue, password: Option<&str>) -> Credential {
    Credential::Basic { user, password: password.map(str::to_owned) }
}

fn schemes() -> BTreeMap<String, SecurityScheme> {
    let api_key = |name: &str, location| SecurityScheme::ApiKey { name: name.to_owned(), location };
    [
        ("header", api_key("X-Api-Key", Location::Header)),
        ("query", api_key("api key", Location::Query)),
        ("cookie", api_key("sid", Location::Cookie)),
        ("path", api_key("id", Location::Path)),
        ("basic", SecurityScheme::Basic),
        ("bearer", SecurityScheme::Bearer),
        ("code", SecurityScheme::Other { kind: "authorizationCode".to_owned() }),
        (
            "client",
            SecurityScheme::ClientCredentials { token_url: "/token".to_owned(), scopes: vec![] },
        ),
    ]
    .map(|(name, scheme)| (name.to_owned(), scheme))
    .into()
}

fn way(schemes: &[&str]) -> SecurityRequirement {
    SecurityRequirement {
        schemes: schemes.iter().map(|name| ((*name).to_owned(), Vec::new())).collect(),
    }
}

fn auth(server: &Server, credentials: &[(&str, Credential)]) -> Authenticator {
    let own = |(name, credential): &(&str, Credential)| ((*name).to_owned(), credential.clone());
    let credentials = credentials.iter().map(own).collect();
    let secrets = Kept::of(&[("k", "s3 cr&t=ü"), ("pw", "pass:word"), ("file", "token-1\r\n")]);
    Authenticator::new(shop(), server.url("/v1"), schemes(), credentials, secrets)
}

async fn call(
    server: &Server,
    credentials: &[(&str, Credential)],
    ways: &[SecurityRequirement],
    request: &Outgoing,
) -> Result<ApiResponse, CallError> {
    let api = ApiClient { client: client(&[server]), auth: auth(server, credentials) };
    let call = ApiCall {
        request,
        security: ways,
        retry: &CallRetry::never(),
        sending: SendOptions::default(),
    };
    api.call(call).await
}

/// The target and this header as they arrive when a scheme is used.
async fn arrives(scheme: &str, credential: Credential, header: &str) -> (String, Vec<String>) {
    let server = Server::replies(vec![ok("")]).await;
    let request = Outgoing::get(server.url("/x?a=1&api%20key=old&b=[2]"))
        .header("Cookie", "sid=old; theme=dark")
        .header("authorization", "old");
    let called = call(&server, &[(scheme, credential)], &[way(&[scheme])], &request).await;
    called.expect("answers");
    let received = &server.received()[0];
    (received.target(), received.headers(header))
}

#[tokio::test]
async fn keys_are_written_where_the_scheme_says() {
    let unchanged = "/x?a=1&api%20key=old&b=[2]";
    let (target, header) = arrives("header", key("k"), "x-api-key").await;
    assert_eq!((target.as_str(), header), (unchanged, vec!["s3 cr&t=ü".to_owned()]));
    let (target, _) = arrives("query", key("k"), "x").await;
    assert_eq!(target, "/x?a=1&b=[2]&api%20key=s3%20cr%26t%3D%C3%BC");
    let (_, cookies) = arrives("cookie", key("file"), "cookie").await;
    assert_eq!(cookies, ["theme=dark; sid=token-1"]);
}

#[tokio::test]
async fn authorization_is_written_once() {
    let authorization =
        async |scheme, credential| arrives(scheme, credential, "authorization").await.1;
    assert_eq!(authorization("bearer", key("file")).await, ["Bearer token-1"]);
    assert_eq!(authorization("code", key("file")).await, ["Bearer token-1"]);
    assert_eq!(authorization("client", key("file")).await, ["Bearer token-1"]);
    // The decoded values are `me:pass:word` and `token-1:`.
    let me = CredentialValue::Plain("me".to_owned());
    assert_eq!(authorization("basic", basic(me, Some("pw"))).await, ["Basic bWU6cGFzczp3b3Jk"]);
    let token = CredentialValue::Secret("file".to_owned());
    assert_eq!(authorization("basic", basic(token, None)).await, ["Basic dG9rZW4tMTo="]);
}

#[tokio::test]
async fn schemes_that_are_needed_together_are_used_together() {
    let server = Server::replies(vec![ok("")]).await;
    let credentials = [("header", key("k")), ("bearer", key("file"))];
    let request = Outgoing::get(server.url("/"));
    let ways = [way(&["header", "cookie"]), way(&["header", "bearer"])];
    call(&server, &credentials, &ways, &request).await.expect("answers");
    let received = &server.received()[0];
    assert_eq!(received.headers("x-api-key").len(), 1);
    assert_eq!(received.headers("authorization"), ["Bearer token-1"]);
}

#[tokio::test]
async fn the_first_way_with_credentials_is_chosen() {
    let server = Server::replies(vec![ok("")]).await;
    let auth = auth(&server, &[("header", key("k")), ("bearer", key("file"))]);
    let chosen = |ways: &[SecurityRequirement]| auth.choose(ways);
    let only = |name| chosen(&[way(&[name])]).expect("has credentials");
    assert_eq!(chosen(&[way(&["basic"]), way(&["bearer"]), way(&["header"])]), Ok(only("bearer")));
    // Credentials are used if available, even where they are optional.
    assert_eq!(chosen(&[way(&[]), way(&["header"])]), Ok(only("header")));
    assert_eq!(chosen(&[way(&["basic"]), way(&[])]), chosen(&[]));
    assert_eq!(chosen(&[way(&["unknown"]), way(&[])]), chosen(&[]));
    let error = chosen(&[way(&["basic"]), way(&["header", "cookie"])]).expect_err("none");
    let schemes = vec!["basic".to_owned(), "header + cookie".to_owned()];
    let (scheme, takes) = ("basic".to_owned(), ["username", "password"].as_slice());
    assert_eq!(error, AuthError::NoCredentials { catalog: shop(), schemes, scheme, takes });
    assert_eq!(error.to_string(), "no credentials for `basic` or `header + cookie`");
}

#[tokio::test]
async fn nothing_is_sent_without_what_is_needed() {
    let server = Server::replies(vec![ok("")]).await;
    let request = Outgoing::get(server.url("/"));
    let client_credential = Credential::Client(ClientCredential {
        id: CredentialValue::Plain("id".to_owned()),
        secret: "k".to_owned(),
        style: ClientStyle::Basic,
        scopes: None,
        audience: None,
        authority: None,
    });
    let me = || CredentialValue::Plain("me".to_owned());
    for (scheme, credential) in [
        ("basic", key("k")),
        ("bearer", basic(me(), None)),
        ("header", client_credential),
        ("path", key("k")),
        ("client", basic(me(), None)),
    ] {
        let called = call(&server, &[(scheme, credential)], &[way(&[scheme])], &request).await;
        let error = called.expect_err("does not fit");
        let CallError::Auth(AuthError::WrongKind { scheme: found, .. }) = &error else {
            panic!("{error}")
        };
        assert_eq!(found, scheme);
        assert!(error.certainly_not_sent());
    }
    let missing = call(&server, &[("bearer", key("lost"))], &[way(&["bearer"])], &request).await;
    let name = "lost".to_owned();
    let expected = CallError::Auth(AuthError::Secret(SecretSourceError::Missing { name }));
    assert_eq!(missing.expect_err("is missing"), expected);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn credentials_are_bound_to_the_origin_of_the_base_url() {
    let (home, other) = (Server::replies(vec![ok("")]).await, Server::replies(vec![ok("")]).await);
    let api =
        ApiClient { client: client(&[&home, &other]), auth: auth(&home, &[("bearer", key("k"))]) };
    let go = async |request: &Outgoing, ways: &[SecurityRequirement]| {
        let (retry, sending) = (CallRetry::never(), SendOptions::default());
        api.call(ApiCall { request, security: ways, retry: &retry, sending }).await
    };
    let request = Outgoing::get(other.url("/"));
    let error = go(&request, &[way(&["bearer"])]).await.expect_err("another origin");
    assert!(matches!(error, CallError::Auth(AuthError::OtherOrigin { .. })), "{error}");
    assert_eq!(other.connections(), 0);
    go(&request, &[]).await.expect("needs none");
    assert_eq!(other.received()[0].headers("authorization"), Vec::<String>::new());
}

#[tokio::test]
async fn a_preview_shows_names_and_reads_no_secret() {
    let server = Server::replies(vec![ok("")]).await;
    let me = CredentialValue::Plain("me".to_owned());
    let credentials =
        [("query", key("not-there")), ("cookie", key("c")), ("basic", basic(me, Some("pw")))];
    let auth = auth(&server, &credentials);
    let choice = auth.choose(&[way(&["query", "cookie", "basic"])]).expect("has credentials");
    let request = Outgoing::get(server.url("/x?a=1"));
    let shown = auth.preview(&request, &choice).expect("can be shown");
    assert_eq!(shown.url, server.url("/x?a=1&api%20key=[secret:not-there]"));
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let headers = [pair("Cookie", "sid=[secret:c]"), pair("Authorization", "Basic [secret:pw]")];
    assert_eq!(shown.headers, headers);
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn what_was_sent_can_be_masked_wherever_it_comes_back() {
    let server = Server::start(|_, received| ok(&received.head())).await;
    let me = CredentialValue::Plain("me".to_owned());
    let credentials = [("query", key("k")), ("header", key("k")), ("basic", basic(me, Some("pw")))];
    let ways = [way(&["query", "header", "basic"])];
    let request = Outgoing::get(server.url("/x?a=1"));
    let called = call(&server, &credentials, &ways, &request).await.expect("answers");
    let echo = crate::text(&called.response);
    assert!(echo.contains("s3 cr&t=ü") && echo.contains("s3%20cr%26t%3D%C3%BC"));
    let shown = called.mask.text(&echo);
    let lines: Vec<_> = shown.lines().filter(|line| line.contains("[secret:")).collect();
    assert_eq!(
        lines,
        [
            "GET /x?a=1&api%20key=[secret:k] HTTP/1.1",
            "x-api-key: [secret:k]",
            "authorization: Basic [secret:pw]",
        ]
    );
    let written = request.header("X", "s3 cr&t=ü");
    assert_eq!(masked(&written, &called.mask).headers[0].1, "[secret:k]");
}

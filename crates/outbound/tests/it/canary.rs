//! Searches everything the client prints for a known secret, for every possible fault.

use std::collections::BTreeMap;
use std::time::Duration;

use milepost_catalog::command::{Location, SecurityRequirement, SecurityScheme};
use milepost_model::id::CatalogId;
use milepost_model::secret::{Mask, Secret};
use milepost_outbound::{
    ApiCall, ApiClient, Authenticator, ClientCredential, ClientStyle, Credential, CredentialValue,
};
use milepost_outbound::{CallRetry, Outgoing, SendOptions, masked};
use url::Url;

use crate::server::{Received, Reply, Server, answer, gzipped_zeros, ok, redirect};
use crate::{Kept, client};

const CANARY: &str = "c4n4ry/b1rd+öf";
/// Fragments of the secret in every encoding it could appear in.
const TRACES: [&str; 6] = ["c4n4ry", "b1rd", "YzRuNHJ5", "M0bjRye", "NG40cn", "%c3%b6f"];

#[track_caller]
fn check(what: &str, text: &str) {
    for trace in TRACES {
        assert!(!text.contains(trace), "{what} shows `{trace}`: {text}");
    }
}

fn key(location: Location) -> SecurityScheme {
    SecurityScheme::ApiKey { name: "key".to_owned(), location }
}

/// Every scheme that can carry the canary.
fn schemes(server: &Server) -> Vec<(SecurityScheme, Credential)> {
    let secret = || "canary".to_owned();
    let client = |style| {
        let credential = ClientCredential {
            id: CredentialValue::Secret(secret()),
            secret: secret(),
            style,
            scopes: None,
            audience: None,
            authority: Some(server.url("/token")),
        };
        let token_url = server.url("/token").to_string();
        let scheme = SecurityScheme::ClientCredentials { token_url, scopes: vec![] };
        (scheme, Credential::Client(credential))
    };
    let basic =
        Credential::Basic { user: CredentialValue::Secret(secret()), password: Some(secret()) };
    let given = || Credential::Key { secret: secret() };
    vec![
        (key(Location::Header), given()),
        (key(Location::Query), given()),
        (key(Location::Cookie), given()),
        (SecurityScheme::Bearer, given()),
        (SecurityScheme::Basic, basic),
        client(ClientStyle::Basic),
        client(ClientStyle::Post),
    ]
}

/// A server that echoes its input, in a different faulty way for each case.
fn echo(case: usize, received: &Received) -> Reply {
    let said = String::from_utf8_lossy(&received.raw).replace(['\r', '\n'], " ");
    let target = received.target();
    match case {
        0 => ok(&said),
        1 => Reply::ThenClose(said.into_bytes()),
        2 => Reply::Reset,
        3 => redirect(302, &format!("http://10.0.0.1{target}&again={CANARY}")),
        4 => redirect(307, &format!("http://elsewhere.test/{CANARY}")),
        5 => redirect(302, &format!("ftp://{CANARY}.test/{CANARY}")),
        6 => redirect(308, &target),
        7 => answer(200, &[("content-encoding", "gzip")], said.as_bytes()),
        8 => answer(200, &[("content-encoding", "gzip")], &gzipped_zeros(1 << 20)),
        9 => answer(401, &[], format!(r#"{{"error":"{CANARY}"}}"#).as_bytes()),
        10 => Reply::ThenHang(Vec::new()),
        _ => redirect(302, &format!("http://[{CANARY}")),
    }
}

#[tokio::test]
async fn no_error_and_no_debug_text_shows_a_secret() {
    for case in 0..12 {
        let server = Server::start(move |_, received| echo(case, received)).await;
        for (scheme, credential) in schemes(&server) {
            let what = format!("{scheme:?}, case {case}");
            one(&server, scheme, credential, &what).await;
        }
    }
}

async fn one(server: &Server, scheme: SecurityScheme, credential: Credential, what: &str) {
    let schemes = BTreeMap::from([("s".to_owned(), scheme)]);
    let credentials = BTreeMap::from([("s".to_owned(), credential)]);
    let catalog = CatalogId::parse("shop").expect("an id");
    let secrets = Kept::of(&[("canary", CANARY)]);
    let auth = Authenticator::new(catalog, server.url("/"), schemes, credentials, secrets);
    let api = ApiClient { client: client(&[server]), auth };
    // The user's own request also contains the secret, and is masked.
    let mut mask = Mask::guard();
    mask.add("canary", &Secret::new(CANARY));
    let mut url = server.url(&format!("/p/{CANARY}"));
    url.query_pairs_mut().append_pair("mine", CANARY);
    let request = Outgoing::get(url).header("X-Mine", CANARY);
    check(what, &format!("{request:?}"));
    let shown = masked(&request, &mask);
    check(what, &format!("{} {:?}", shown.url, shown.headers));
    let timeout = Duration::from_millis(250);
    let sending = SendOptions { timeout, mask, body_bytes: 1 << 18, ..SendOptions::default() };
    check(what, &format!("{sending:?}"));
    let call = ApiCall {
        request: &request,
        security: &[SecurityRequirement { schemes: vec![("s".to_owned(), vec![])] }],
        retry: &CallRetry::never(),
        sending,
    };
    match api.call(call).await {
        Ok(called) => {
            check(what, &format!("{called:?}"));
            check(what, &called.mask.text(&crate::text(&called.response)));
            check(what, &called.mask.text(called.response.url.as_str()));
        }
        Err(error) => check(what, &chain(&error)),
    }
}

/// Everything that can be printed about an error.
fn chain(error: &dyn std::error::Error) -> String {
    let rest = error.source().map(chain).unwrap_or_default();
    format!("{error} {error:?} {rest}")
}

#[tokio::test]
async fn a_secret_in_a_host_or_scheme_is_not_shown_either() {
    let mut mask = Mask::guard();
    mask.add("name", &Secret::new("c4n4ry-b1rd"));
    let client = milepost_outbound::Client::with_lookup(
        milepost_outbound::Policy::public(),
        std::sync::Arc::new(crate::Names::default()),
    );
    for url in ["http://c4n4ry-b1rd.test/", "c4n4ry-b1rd://x/", "http://c4n4ry-b1rd.localhost/"] {
        let request = Outgoing::get(Url::parse(url).expect("a URL"));
        let sending = SendOptions { mask: mask.clone(), ..SendOptions::default() };
        let error = client.send(&request, &sending).await.expect_err("fails");
        check(url, &chain(&error));
    }
}

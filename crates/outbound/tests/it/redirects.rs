//! Redirects: how far they are followed, and what is forwarded.

use std::collections::BTreeMap;

use bytes::Bytes;
use milepost_catalog::command::{Location, SecurityRequirement, SecurityScheme};
use milepost_model::id::CatalogId;
use milepost_outbound::{
    ApiCall, ApiClient, Authenticator, Credential, Delivery, Outgoing, RedirectRefusal, SendFault,
};
use milepost_outbound::{ApiResponse, CallError, CallRetry, SendOptions, limits};

use crate::server::{Server, answer, ok, redirect};
use crate::{Kept, client, send, text};

#[tokio::test]
async fn three_redirects_are_followed_and_no_more() {
    let hops = |last: usize| {
        Server::start(move |number, _| {
            if number < last { redirect(302, &format!("/{number}")) } else { ok("there") }
        })
    };
    let server = hops(limits::REDIRECTS).await;
    let response = send(&server, &Outgoing::get(server.url("/"))).await.expect("answers");
    assert_eq!((response.redirects, text(&response).as_str()), (3, "there"));
    assert_eq!(response.url, server.url("/2"));
    let server = hops(limits::REDIRECTS + 1).await;
    let error = send(&server, &Outgoing::get(server.url("/"))).await.expect_err("too many");
    assert_eq!(error.fault, SendFault::TooManyRedirects { limit: limits::REDIRECTS });
    assert_eq!((error.delivery, server.received().len()), (Delivery::Answered, 4));
}

#[tokio::test]
async fn an_answer_that_leads_nowhere_is_the_answer() {
    for reply in
        [answer(302, &[], b"x"), answer(304, &[("location", "/y")], b""), redirect(300, "/")]
    {
        let server = Server::replies(vec![reply]).await;
        let response = send(&server, &Outgoing::get(server.url("/"))).await.expect("answers");
        assert_eq!(response.redirects, 0);
    }
}

#[tokio::test]
async fn a_write_follows_no_redirect() {
    let other = Server::replies(vec![ok("other")]).await;
    for method in ["POST", "PUT", "PATCH", "DELETE"] {
        for status in [301, 302, 303, 307, 308] {
            for target in ["/next".to_owned(), other.url("/landing").to_string()] {
                let server = Server::replies(vec![redirect(status, &target), ok("")]).await;
                let request = Outgoing {
                    method: method.to_owned(),
                    body: Bytes::from_static(b"amount=994"),
                    ..Outgoing::get(server.url("/pay"))
                };
                let (client, options) = (client(&[&server, &other]), SendOptions::default());
                let answer = client.send(&request, &options).await;
                let answer = answer.expect("the redirect is the answer");
                assert_eq!((answer.status, answer.redirects), (status, 0), "{method} {target}");
                assert_eq!(answer.header("location"), Some(target.as_str()));
                assert_eq!(server.received().len(), 1, "{method} {status} {target}");
            }
        }
    }
    assert_eq!(other.connections(), 0);
}

fn key(location: Location) -> SecurityScheme {
    SecurityScheme::ApiKey { name: "X-Key".to_owned(), location }
}

async fn call(api: &ApiClient, server: &Server) -> Result<ApiResponse, CallError> {
    let request = Outgoing::get(server.url("/start?q=1"))
        .header("Authorization", "Bearer typed-by-hand")
        .header("X-Trace", "t")
        .header("Accept", "text/plain");
    let security = [SecurityRequirement { schemes: vec![("s".to_owned(), Vec::new())] }];
    let call = ApiCall {
        request: &request,
        security: &security,
        retry: &CallRetry::never(),
        sending: SendOptions::default(),
    };
    api.call(call).await
}

fn api(home: &Server, other: &Server, scheme: SecurityScheme) -> ApiClient {
    let schemes = BTreeMap::from([("s".to_owned(), scheme)]);
    let secret = "api-key".to_owned();
    let credentials = BTreeMap::from([("s".to_owned(), Credential::Key { secret })]);
    let secrets = Kept::of(&[("api-key", "k3y-0f-the-h0use")]);
    let catalog = CatalogId::parse("shop").expect("an id");
    let auth = Authenticator::new(catalog, home.url("/"), schemes, credentials, secrets);
    ApiClient { client: client(&[home, other]), auth }
}

#[tokio::test]
async fn credentials_stay_at_their_origin() {
    let schemes = [
        key(Location::Header),
        key(Location::Query),
        key(Location::Cookie),
        SecurityScheme::Bearer,
    ];
    for scheme in schemes {
        let other = Server::replies(vec![ok("other")]).await;
        let url = other.url("/landing?q=1").to_string();
        let home = Server::start(move |_, _| redirect(307, &url)).await;
        let api = api(&home, &other, scheme.clone());
        assert_eq!(text(&call(&api, &home).await.expect("answers").response), "other");
        assert!(home.received()[0].head().contains("k3y-0f-the-h0use"), "{scheme:?}");
        let landed = &other.received()[0];
        assert_eq!(landed.target(), "/landing?q=1");
        assert_eq!(landed.headers("accept"), ["text/plain"]);
        for gone in ["authorization", "cookie", "x-key", "x-trace", "referer"] {
            assert_eq!(landed.headers(gone), Vec::<String>::new(), "{scheme:?} {gone}");
        }
    }
}

#[tokio::test]
async fn credentials_go_along_within_their_origin() {
    for scheme in [key(Location::Header), key(Location::Query), key(Location::Cookie)] {
        let home = Server::replies(vec![redirect(302, "/next?a=b"), ok("home")]).await;
        let api = api(&home, &home, scheme.clone());
        assert_eq!(text(&call(&api, &home).await.expect("answers").response), "home");
        assert!(home.received()[1].head().contains("k3y-0f-the-h0use"), "{scheme:?}");
    }
}

#[tokio::test]
async fn a_server_cannot_send_a_secret_elsewhere() {
    let other = Server::replies(vec![ok("other")]).await;
    let base = other.url("/");
    let home = Server::start(move |_, received| {
        redirect(302, &format!("{base}?stolen={}", received.target().replace('?', "&")))
    })
    .await;
    let api = api(&home, &other, key(Location::Query));
    let CallError::Send(error) = call(&api, &home).await.expect_err("is refused") else {
        panic!("another error")
    };
    let why = RedirectRefusal::CarriesSecret;
    let target = other.url("/").to_string();
    assert_eq!(error.fault, SendFault::RedirectRefused { target, why });
    assert_eq!(other.connections(), 0);
}

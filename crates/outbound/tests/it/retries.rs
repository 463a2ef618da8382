//! Retries over a real connection; the rules and the delays have their own tests.

use std::collections::BTreeMap;
use std::time::Duration;

use milepost_model::id::CatalogId;
use milepost_outbound::{
    ApiCall, ApiClient, ApiResponse, Authenticator, CallError, CallRetry, Outgoing, SendOptions,
};

use crate::server::{Reply, Server, answer, ok};
use crate::{Kept, client, text};

fn quick(may_repeat: bool) -> CallRetry {
    CallRetry { first: Duration::from_millis(1), ..CallRetry::of(may_repeat) }
}

async fn call(server: &Server, retry: &CallRetry) -> Result<ApiResponse, CallError> {
    let catalog = CatalogId::parse("shop").expect("an id");
    let (schemes, credentials) = (BTreeMap::new(), BTreeMap::new());
    let auth = Authenticator::new(catalog, server.url("/"), schemes, credentials, Kept::of(&[]));
    let api = ApiClient { client: client(&[server]), auth };
    let call = ApiCall {
        request: &Outgoing::get(server.url("/")),
        security: &[],
        retry,
        sending: SendOptions::default(),
    };
    api.call(call).await
}

#[tokio::test]
async fn a_passing_fault_passes() {
    let server = Server::replies(vec![
        Reply::Reset,
        answer(503, &[("retry-after", "0")], b"busy"),
        ok("yes"),
    ])
    .await;
    let called = call(&server, &quick(true)).await.expect("answers");
    assert_eq!((called.attempts, text(&called.response).as_str()), (3, "yes"));
    assert_eq!(server.received().len(), 3);
}

#[tokio::test]
async fn the_last_answer_is_the_answer() {
    let server = Server::replies(vec![answer(503, &[], b"busy")]).await;
    let called = call(&server, &quick(true)).await.expect("answers");
    assert_eq!((called.response.status, text(&called.response).as_str()), (503, "busy"));
    assert_eq!((called.attempts, server.received().len()), (3, 3));
}

#[tokio::test]
async fn what_may_not_be_repeated_is_not() {
    for reply in [Reply::Reset, answer(503, &[], b"")] {
        let server = Server::replies(vec![reply, ok("")]).await;
        let attempts = call(&server, &quick(false)).await.map_or(1, |called| called.attempts);
        assert_eq!((attempts, server.received().len()), (1, 1));
    }
}

#[tokio::test]
async fn a_server_that_asks_for_too_much_patience_is_not_asked_again() {
    let server = Server::replies(vec![answer(429, &[("retry-after", "3600")], b""), ok("")]).await;
    let called = call(&server, &quick(true)).await.expect("answers");
    assert_eq!((called.response.status, called.attempts), (429, 1));
}

//! Retries over a real connection; the rules and the delays have their own tests.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use milepost_model::id::CatalogId;
use milepost_outbound::{
    ApiCall, ApiClient, ApiResponse, Authenticator, CallError, HttpAttempt, HttpAttemptOutcome,
    Outgoing, Retry,
};
use milepost_outbound::{SendFault, SendOptions};

use crate::server::{Reply, Server, answer, ok};
use crate::{Kept, client, text};

fn quick(may_repeat: bool) -> Retry {
    Retry { first: Duration::from_millis(1), ..Retry::of(may_repeat) }
}

async fn call(
    server: &Server,
    retry: &Retry,
) -> (Result<ApiResponse, CallError>, Vec<HttpAttempt>) {
    let catalog = CatalogId::parse("shop").expect("an id");
    let (schemes, credentials) = (BTreeMap::new(), BTreeMap::new());
    let auth = Authenticator::new(catalog, server.url("/"), schemes, credentials, Kept::of(&[]));
    let api = ApiClient { client: client(&[server]), auth };
    let attempts = Mutex::new(Vec::new());
    let call = ApiCall {
        request: &Outgoing::get(server.url("/")),
        security: &[],
        retry,
        sending: SendOptions::default(),
        watch: &|attempt| attempts.lock().expect("is whole").push(attempt.clone()),
    };
    let result = api.call(call).await;
    (result, attempts.into_inner().expect("is whole"))
}

#[tokio::test]
async fn a_passing_fault_passes() {
    let server = Server::replies(vec![
        Reply::Reset,
        answer(503, &[("retry-after", "0")], b"busy"),
        ok("yes"),
    ])
    .await;
    let (result, attempts) = call(&server, &quick(true)).await;
    let called = result.expect("answers");
    assert_eq!((called.attempts, text(&called.response).as_str()), (3, "yes"));
    let pauses: Vec<_> = attempts.iter().map(|attempt| attempt.next_in).collect();
    assert!(pauses[0].is_some_and(|pause| pause <= Duration::from_millis(1)), "{pauses:?}");
    assert_eq!(pauses[1..], [Some(Duration::ZERO), None]);
    assert!(matches!(
        &attempts[0].outcome,
        HttpAttemptOutcome::Failed { fault: SendFault::Lost { .. }, .. }
    ));
    assert!(matches!(&attempts[1].outcome, HttpAttemptOutcome::Answered { status: 503, .. }));
}

#[tokio::test]
async fn the_last_answer_is_the_answer() {
    let server = Server::replies(vec![answer(503, &[], b"busy")]).await;
    let (result, attempts) = call(&server, &quick(true)).await;
    let called = result.expect("answers");
    assert_eq!((called.response.status, text(&called.response).as_str()), (503, "busy"));
    assert_eq!((attempts.len(), server.received().len()), (3, 3));
}

#[tokio::test]
async fn what_may_not_be_repeated_is_not() {
    for reply in [Reply::Reset, answer(503, &[], b"")] {
        let server = Server::replies(vec![reply, ok("")]).await;
        let (_, attempts) = call(&server, &quick(false)).await;
        assert_eq!((attempts.len(), server.received().len()), (1, 1));
    }
}

#[tokio::test]
async fn a_server_that_asks_for_too_much_patience_is_not_asked_again() {
    let server = Server::replies(vec![answer(429, &[("retry-after", "3600")], b""), ok("")]).await;
    let (result, attempts) = call(&server, &quick(true)).await;
    assert_eq!((result.expect("answers").response.status, attempts.len()), (429, 1));
}

//! Several messages in one body, as 2025-03-26 has it. `rmcp` takes them one at a time.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::future::join_all;
use futures_util::{StreamExt, stream};
use rmcp::handler::server::ServerHandler;

use super::endpoint::Endpoint;
use super::reply;
use crate::message::{Id, RpcMessage};
use crate::rpc_error::RpcError;
use crate::version::Revision;

impl<S: ServerHandler> Endpoint<S> {
    /// One stream with the answer to every request of a batch.
    pub(super) async fn batch(&self, head: Parts, messages: &[RpcMessage<'_>]) -> Response {
        let session = match self.session(&head) {
            Ok(session) => session,
            Err(refused) => return refused.response(Id::NULL),
        };
        let revision = session.map(|session| session.revision());
        if !revision.is_some_and(Revision::has_batches) {
            let fault = RpcError::invalid_request("this protocol version has no batches");
            return reply::fault(StatusCode::BAD_REQUEST, Id::NULL, &fault);
        }
        let members = messages.iter().map(|message| self.member(head.clone(), message));
        let answers: Vec<Response> = join_all(members).await.into_iter().flatten().collect();
        if answers.is_empty() {
            return reply::accepted();
        }
        let events = stream::select_all(answers.into_iter().map(|answer| {
            let whole = !reply::is_events(&answer);
            let chunks = answer.into_body().into_data_stream();
            // What is no event yet becomes one; it came in one piece.
            Box::pin(chunks.map(move |chunk| match chunk {
                Ok(chunk) if whole => Ok([b"data: ", &*chunk, b"\n\n"].concat().into()),
                chunk => chunk,
            }))
        }));
        let mut response = Response::new(Body::from_stream(events));
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(reply::EVENTS));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }

    /// The answer to one message, if it wants one.
    async fn member(&self, head: Parts, message: &RpcMessage<'_>) -> Option<Response> {
        match message {
            RpcMessage::Notification(note) => {
                self.told(head, note.text).await;
                None
            }
            RpcMessage::Response(text) => {
                self.told(head, text).await;
                None
            }
            RpcMessage::Bad { id, fault } => Some(reply::fault(StatusCode::OK, *id, fault)),
            RpcMessage::Request(asked) if asked.method == "initialize" => {
                let fault = RpcError::invalid_request("initialize must not be in a batch");
                Some(reply::fault(StatusCode::OK, asked.id, &fault))
            }
            RpcMessage::Request(asked) => {
                let answered = self.request(head, asked).await;
                Some(answered.unwrap_or_else(|refused| refused.response(asked.id)))
            }
        }
    }
}

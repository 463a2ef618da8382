//! The endpoint's answers, and those from `rmcp` in the same form.

use axum::body::{Body, Bytes};
use axum::http::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, WWW_AUTHENTICATE,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use milepost_model::secret::known_secrets;
use serde_json::{Value, json};

use super::connections::Shutdown;
use super::endpoint::HttpError;
use super::guard::{AccessRefusal, Guard};
use super::sessions::OpenStream;
use crate::answer;
use crate::limits;
use crate::message::Id;
use crate::rpc_error::{INTERNAL_ERROR, RpcError, SERVER_ERROR};

/// An answer to one client must not be cached and served to another by a proxy.
const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(super) const EVENTS: &str = "text/event-stream";

/// An error as the whole answer.
pub(super) fn fault(status: StatusCode, id: Id<'_>, fault: &RpcError) -> Response {
    let mut text = Vec::new();
    answer::fault(&mut text, id, fault);
    json(status, text)
}

pub(super) fn json(status: StatusCode, text: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(known_secrets::shown_owned(text)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
    response
}

pub(super) fn accepted() -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

pub(super) fn no_route() -> Response {
    let told =
        RpcError::invalid_request(format!("there is nothing here; MCP is at {}", super::PATH));
    fault(StatusCode::NOT_FOUND, Id::NULL, &told)
}

/// The answer to a caller who has too many requests in flight, on too many connections.
pub(super) fn too_busy() -> Response {
    let told = RpcError::over_limit("too many connections are in use", limits::CONNECTIONS);
    fault(StatusCode::SERVICE_UNAVAILABLE, Id::NULL, &told)
}

pub(super) fn refusal(refusal: &AccessRefusal, guard: &Guard) -> Response {
    let mut response = fault(refusal.status(), Id::NULL, &refusal.fault());
    if let Some(challenge) = guard.challenge(refusal) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    response
}

/// Reads the body of a request, or returns the error to answer with.
pub(super) async fn body(body: Body, limit: usize) -> Result<Bytes, HttpError> {
    let read = tokio::time::timeout(limits::BODY_TIMEOUT, collected(body, limit));
    read.await.unwrap_or_else(|_| {
        let fault = RpcError::invalid_request("the body did not arrive in time");
        Err(HttpError { status: StatusCode::REQUEST_TIMEOUT, fault })
    })
}

async fn collected(body: Body, limit: usize) -> Result<Bytes, HttpError> {
    let mut chunks = body.into_data_stream();
    let (mut bytes, mut count) = (Vec::new(), 0);
    while let Some(chunk) = chunks.next().await {
        let Ok(chunk) = chunk else {
            let fault = RpcError::invalid_request("the body ended early");
            return Err(HttpError::malformed(fault));
        };
        count += chunk.len();
        if count > limit + limits::DISCARDED_BYTES {
            break;
        }
        if count <= limit {
            bytes.extend_from_slice(&chunk);
        }
    }
    if count > limit {
        let fault = RpcError::over_limit("the body exceeds the maximum message size", limit);
        return Err(HttpError { status: StatusCode::PAYLOAD_TOO_LARGE, fault });
    }
    Ok(bytes.into())
}

/// The answer from `rmcp` with secrets masked. Each message arrives in one piece: as a whole body,
/// or as the line of an event.
pub(super) fn masked(response: Response) -> Response {
    let is_stream = of_type(&response, EVENTS);
    if !is_stream && known_secrets::mask().is_none() {
        return response;
    }
    let (mut head, body) = response.into_parts();
    head.headers.remove(CONTENT_LENGTH);
    let chunks = body.into_data_stream().map(move |chunk| {
        chunk.map(|chunk| if is_stream { masked_event(chunk) } else { shown(chunk) })
    });
    Response::from_parts(head, Body::from_stream(chunks))
}

fn shown(text: Bytes) -> Bytes {
    known_secrets::shown_owned(text.into()).into()
}

/// The lines of an event with the JSON after `data:` masked.
fn masked_event(event: Bytes) -> Bytes {
    const DATA: &[u8] = b"data:";
    let Some(mask) = known_secrets::mask().filter(|mask| mask.finds_bytes(&event)) else {
        return event;
    };
    let mut masked = Vec::with_capacity(event.len());
    for line in event.split_inclusive(|byte| *byte == b'\n') {
        match line.strip_prefix(DATA) {
            Some(json) => {
                masked.extend_from_slice(DATA);
                masked.extend_from_slice(&known_secrets::shown_bytes(json));
            }
            None => masked.extend_from_slice(&mask.bytes(line)),
        }
    }
    masked.into()
}

/// The answer from `rmcp`, with plain-text errors turned into JSON-RPC errors.
pub(super) async fn worded(mut response: Response, id: Id<'_>) -> Response {
    let status = response.status();
    if of_type(&response, "application/json") {
        response.headers_mut().insert(CACHE_CONTROL, NO_STORE);
        return response;
    }
    if status.is_success() {
        return response;
    }
    let allow = response.headers().get(ALLOW).cloned();
    let text =
        axum::body::to_bytes(response.into_body(), limits::REASON_BYTES).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let told = match status.is_server_error() {
        true => RpcError::new(INTERNAL_ERROR, "Internal error", Value::Null),
        false => RpcError::invalid_request(text),
    };
    let mut response = fault(status, id, &told);
    if let Some(allow) = allow {
        response.headers_mut().insert(ALLOW, allow);
    }
    response
}

/// Whether a client prefers an event stream to plain JSON: it gives the stream a higher weight, or
/// names it first. Every client must accept both, and a client that has a preference lists the
/// preferred type first.
pub(super) fn wants_events(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let place = |name: &str| accept.split(',').position(|range| kind(range) == name);
    let weight = |place: usize| accept.split(',').nth(place).map_or(0.0, weight);
    match (place(EVENTS), place("application/json")) {
        (Some(events), Some(json)) => {
            let (of_events, of_json) = (weight(events), weight(json));
            of_events > of_json || (of_events.total_cmp(&of_json).is_eq() && events < json)
        }
        _ => false,
    }
}

fn kind(range: &str) -> &str {
    range.split(';').next().unwrap_or_default().trim()
}

fn weight(range: &str) -> f32 {
    let said = range.split(';').skip(1).find_map(|part| part.trim().strip_prefix("q="));
    said.and_then(|said| said.parse().ok()).unwrap_or(1.0)
}

/// Turns a JSON answer into a stream of one event.
pub(super) fn as_event(mut response: Response) -> Response {
    if response.status() != StatusCode::OK || !of_type(&response, "application/json") {
        return response;
    }
    response.headers_mut().remove(CONTENT_LENGTH);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    let part =
        |text: &'static str| stream::once(async move { Ok(Bytes::from_static(text.as_bytes())) });
    response.map(|body| {
        // The JSON is on one line, so no line break ends the event early.
        Body::from_stream(part("data: ").chain(body.into_data_stream()).chain(part("\n\n")))
    })
}

/// The answers to several requests, as events in one stream.
pub(super) fn together(answers: Vec<Response>) -> Response {
    let events = stream::select_all(answers.into_iter().map(|answer| {
        let whole = !of_type(&answer, EVENTS);
        let chunks = answer.into_body().into_data_stream();
        // An answer that is not an event stream becomes one event; it arrives in one piece.
        Box::pin(chunks.map(move |chunk| match chunk {
            Ok(chunk) if whole => Ok([b"data: ", &*chunk, b"\n\n"].concat().into()),
            chunk => chunk,
        }))
    }));
    let mut response = Response::new(Body::from_stream(events));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

fn of_type(response: &Response, name: &str) -> bool {
    let of_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    of_type.is_some_and(|of_type| of_type.starts_with(name))
}

/// The error for requests that are cut off by the shutdown.
pub(super) fn ending() -> RpcError {
    let details = "the server is shutting down; runs in progress will continue when it is back";
    RpcError::new(SERVER_ERROR, "Server is shutting down", json!({ "details": details }))
}

/// The stream for one request, which is answered even if the shutdown cuts the stream off.
pub(super) fn until_cut(response: Response, id: Id<'_>, shutdown: &Shutdown) -> Response {
    if !of_type(&response, EVENTS) {
        return response;
    }
    let mut last = b"data: ".to_vec();
    answer::fault(&mut last, id, &ending());
    last.extend_from_slice(b"\n\n");
    let shutdown = shutdown.clone();
    response.map(|body| Body::from_stream(or_else(body, last.into(), shutdown)))
}

/// The chunks of a body; if the shutdown cuts it off, these last bytes replace the rest.
fn or_else(
    body: Body,
    last: Bytes,
    shutdown: Shutdown,
) -> impl Stream<Item = Result<Bytes, axum::Error>> + Send {
    let begun = (body.into_data_stream(), last, shutdown, false);
    stream::unfold(begun, |(mut chunks, last, shutdown, is_cut)| async move {
        if is_cut {
            return None;
        }
        tokio::select! {
            biased;
            chunk = chunks.next() => Some((chunk?, (chunks, last, shutdown, false))),
            () = shutdown.is_cut() => Some((Ok(last.clone()), (chunks, last, shutdown, true))),
        }
    })
}

/// A stream that is not the answer to a request; it ends as soon as the shutdown starts.
pub(super) fn until_closing(response: Response, open: OpenStream, shutdown: &Shutdown) -> Response {
    if !of_type(&response, EVENTS) {
        return response;
    }
    let shutdown = shutdown.clone();
    response.map(|body| {
        let ends = Box::pin(async move { shutdown.closing().await });
        // The stream counts as open for as long as its body exists.
        let chunks = body.into_data_stream().take_until(ends).map(move |chunk| {
            let _ = &open;
            chunk
        });
        Body::from_stream(chunks)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wants(accept: &'static str) -> bool {
        wants_events(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]))
    }

    #[test]
    fn a_stream_is_for_those_that_would_rather_have_it() {
        assert!(wants("text/event-stream, application/json"));
        assert!(wants("application/json;q=0.5, text/event-stream"));
        assert!(!wants("application/json, text/event-stream"));
        assert!(!wants("text/event-stream;q=0.1, application/json"));
        assert!(!wants("application/json"));
        assert!(!wants("*/*"));
        assert!(!wants_events(&HeaderMap::new()));
    }
}

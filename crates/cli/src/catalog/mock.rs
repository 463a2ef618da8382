//! `milepost catalog mock`: serves made-up responses for a catalog on this machine.

use std::io;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use futures_util::stream;
use milepost_catalog::command::Method;
use milepost_catalog::limits::DOCUMENT_BYTES;
use milepost_mock::{Mock, MockFaults, MockRequest, MockResponse, MockSettings};
use milepost_model::problem::{Code, Problem};
use milepost_ops::catalog::mock::{self as ops, MockedApi};
use serde_json::json;
use tokio::net::TcpListener;

use super::args::MockArgs;
use crate::exit::Exit;
use crate::failure::CliResult;
use crate::server::http::stopped;
use crate::session::CliSession;
use crate::terminal::{Terminal, count, safe};

pub(super) fn run(args: &MockArgs, terminal: &mut Terminal) -> CliResult {
    let session = CliSession::open_server(terminal)?;
    let settings = MockSettings {
        seed: args.seed,
        faults: MockFaults {
            latency_ms: args.latency_ms,
            error_rate: args.error_rate,
            ..MockFaults::default()
        },
        strict_auth: args.strict_auth,
        // Avoids status codes that the document does not declare, because response checkers would
        // reject them.
        lenient_ids: true,
        ..MockSettings::default()
    };
    let reader = session.operations.reader();
    let opened = ops::open(reader, &session.user, &args.target, settings);
    let MockedApi { title, operation_count, mock } = session.wait(opened)?;
    let listener = session.wait(TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)));
    let listener = listener.map_err(|error| cannot_listen(args.port, &error))?;
    let address = listener.local_addr()?;
    let url = format!("http://{address}");
    // Signal handlers are installed before the address is printed, so that anyone who knows the
    // address can stop the server cleanly.
    let stop = session.wait(async { stopped() })?;
    let response = json!({"url": url, "title": title, "operation_count": operation_count});
    terminal.answer(&response, |terminal| {
        terminal.line(&url);
        let operations = count(operation_count, "operation");
        terminal.remark(format!("serving {operations} of {}; press Ctrl-C to stop", safe(&title)));
    })?;
    terminal.check_output()?;
    session.wait(async {
        tokio::select! {
            () = answer_all(listener, mock) => {}
            () = stop => {}
        }
    });
    Ok(Exit::DONE)
}

fn cannot_listen(port: u16, error: &io::Error) -> Problem {
    let message = format!("cannot listen on port {port}: {error}");
    Problem::new(Code::StorageFailed, message, "choose another port, or 0 for a free one")
}

/// Serves requests forever.
pub(crate) async fn answer_all(listener: TcpListener, mock: Mock) {
    let mock = Arc::new(Mutex::new(mock));
    let app = Router::new().fallback(answer).with_state(mock);
    // `serve` continues after every error.
    drop(axum::serve(listener, app).await);
}

async fn answer(State(mock): State<Arc<Mutex<Mock>>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let Some(method) = Method::parse(head.method.as_str()) else {
        return plain(StatusCode::NOT_IMPLEMENTED);
    };
    let Ok(body) = to_bytes(body, DOCUMENT_BYTES).await else {
        return plain(StatusCode::PAYLOAD_TOO_LARGE);
    };
    let query = head.uri.query().unwrap_or_default();
    let answer = {
        let request = MockRequest {
            method,
            path: head.uri.path(),
            query: url::form_urlencoded::parse(query.as_bytes()).into_owned().collect(),
            headers: headers(&head.headers),
            body: &body,
        };
        mock.lock().unwrap_or_else(PoisonError::into_inner).answer(&request)
    };
    tokio::time::sleep(Duration::from_millis(answer.delay_ms)).await;
    response(answer)
}

/// Header values are bytes; each byte becomes one character.
fn headers(map: &HeaderMap) -> Vec<(String, String)> {
    let chars = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect();
    map.iter().map(|(name, value)| (name.as_str().to_owned(), chars(value.as_bytes()))).collect()
}

fn response(answer: MockResponse) -> Response {
    if answer.drop {
        // If a body fails before its first byte, the connection is dropped.
        let broken = io::Error::from(io::ErrorKind::ConnectionAborted);
        let broken = stream::iter([Err::<Vec<u8>, io::Error>(broken)]);
        return Response::new(Body::from_stream(broken));
    }
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(name, value);
    }
    let made = response.body(Body::from(answer.body));
    made.unwrap_or_else(|_| plain(StatusCode::INTERNAL_SERVER_ERROR))
}

fn plain(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

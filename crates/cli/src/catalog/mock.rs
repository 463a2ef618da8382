//! `milepost catalog mock`: a catalog that answers by itself, on this machine.

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
use milepost_catalog::mock::{Faults, Mock, MockRequest, MockResponse, Settings};
use milepost_model::problem::{Code, Problem};
use milepost_ops::catalog::mock::{self as ops, Played};
use serde_json::json;
use tokio::net::TcpListener;

use super::args::Mock as Arguments;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::person::Person;
use crate::serve::stopped;
use crate::session::Session;
use crate::terminal::{Terminal, count, safe};

pub(crate) fn run(arguments: &Arguments, terminal: &mut Terminal) -> Result<Exit, Failure> {
    let json = arguments.json.json;
    let session = Session::open_server(Person::new(false, json))?;
    let settings = Settings {
        seed: arguments.seed,
        faults: Faults {
            latency_ms: arguments.latency_ms,
            error_rate: arguments.error_rate,
            ..Faults::default()
        },
        strict_auth: arguments.strict_auth,
        // Checkers hold answers against the document: a status it does not speak of is avoided.
        lenient_ids: true,
        ..Settings::default()
    };
    let reader = session.operations.reader();
    let opened = ops::open(reader, &session.person, &arguments.target, settings);
    let Played { title, operation_count, mock } = session.wait(opened)?;
    let listener = session.wait(TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)));
    let listener = listener.map_err(|error| unheard(arguments.port, &error))?;
    let address = listener.local_addr()?;
    let url = format!("http://{address}");
    // Whoever knows the address may end it, and it ends in order.
    let stop = session.wait(async { stopped() })?;
    if json {
        let told = json!({"url": url, "title": title, "operation_count": operation_count});
        terminal.line(&told.to_string())?;
    } else {
        terminal.line(&url)?;
        let operations = count(operation_count, "operation");
        terminal.remark(&format!("{} answers with {operations}; Ctrl-C ends it", safe(&title)));
    }
    session.wait(serve(listener, mock, stop));
    Ok(Exit::Done)
}

fn unheard(port: u16, error: &io::Error) -> Problem {
    let message = format!("cannot listen on port {port}: {error}");
    Problem::new(Code::StorageFailed, message, "name another one, or 0 for any that is free")
}

/// Answers until somebody ends it.
async fn serve(listener: TcpListener, mock: Mock, stop: impl Future<Output = ()>) {
    tokio::select! {
        () = answer_all(listener, mock) => {}
        () = stop => {}
    }
}

/// Answers for as long as it is let.
pub(crate) async fn answer_all(listener: TcpListener, mock: Mock) {
    let mock = Arc::new(Mutex::new(mock));
    let app = Router::new().fallback(answer).with_state(mock);
    // It goes on after every error.
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

/// Header values are bytes; each is one letter here.
fn headers(map: &HeaderMap) -> Vec<(String, String)> {
    let letters = |bytes: &[u8]| bytes.iter().map(|byte| char::from(*byte)).collect();
    map.iter().map(|(name, value)| (name.as_str().to_owned(), letters(value.as_bytes()))).collect()
}

fn response(answer: MockResponse) -> Response {
    if answer.drop {
        // A body that breaks before its first byte takes the connection with it.
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

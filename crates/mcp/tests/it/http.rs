//! The HTTP stack with an empty handler: its limits, and that it can serve any handler.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use milepost_mcp::SessionOptions;
use milepost_mcp::http::{self, Guard, HttpAccess, HttpLimits, HttpSettings};
use rmcp::handler::server::ServerHandler;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// A handler without any capabilities.
#[derive(Clone)]
struct Nothing;

impl ServerHandler for Nothing {}

/// How long to wait before concluding that nothing arrives. No test measures time with it.
const SHORT: Duration = Duration::from_millis(200);
const LONG: Duration = Duration::from_mins(1);

const HELLO: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#,
);

/// Serves with these limits while `work` runs.
fn serve(limits: HttpLimits, work: impl FnOnce(SocketAddr)) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.expect("starts");
    let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).expect("is free");
    let address = listener.local_addr().expect("is known");
    let guard = Guard::new(address, HttpAccess::Anybody);
    let options = SessionOptions::default();
    let settings = HttpSettings { guard, options, server: None, limits };
    let (stop, stopped) = oneshot::channel::<()>();
    let served = runtime.spawn(http::serve(listener, settings, || Nothing, async {
        drop(stopped.await);
    }));
    work(address);
    drop(stop);
    runtime.block_on(served).expect("ends");
}

fn post(address: SocketAddr, body: &str) -> TcpStream {
    post_for(address, "application/json, text/event-stream", body)
}

fn post_for(address: SocketAddr, accept: &str, body: &str) -> TcpStream {
    let stream = connect(address);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n\
         Content-Type: application/json\r\nAccept: {accept}\r\n\r\n",
        body.len()
    );
    (&stream).write_all(head.as_bytes()).expect("writes");
    (&stream).write_all(body.as_bytes()).expect("writes");
    stream
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connects");
    stream.set_read_timeout(Some(LONG)).expect("is set");
    stream
}

fn rest(mut stream: &TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("reads");
    text
}

#[test]
fn any_handler_is_served() {
    serve(HttpLimits::default(), |address| {
        let answer = rest(&post(address, HELLO));
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        // The handler does not support the older tasks, so they are not advertised.
        assert!(answer.contains("\"protocolVersion\":\"2025-11-25\""), "{answer}");
        assert!(!answer.contains("\"tasks\""), "{answer}");
    });
}

#[test]
fn a_client_that_would_rather_read_a_stream_gets_one() {
    const ALONE: &str = concat!(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"#,
        r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
        r#""io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"#,
        r#""io.modelcontextprotocol/clientCapabilities":{}}}}"#,
    );
    let headers = "\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list";
    serve(HttpLimits::default(), |address| {
        let asked = |accept: &str| rest(&post_for(address, &format!("{accept}{headers}"), ALONE));
        let plain = asked("application/json, text/event-stream");
        let (head, json) = plain.split_once("\r\n\r\n").expect("has a body");
        assert!(head.contains("content-type: application/json"), "{plain}");
        let streamed = asked("text/event-stream, application/json");
        assert!(streamed.contains("content-type: text/event-stream"), "{streamed}");
        assert!(!streamed.contains("content-length"), "{streamed}");
        assert!(streamed.contains("data: ") && streamed.contains(json), "{streamed}");
        // A refusal is not sent as a stream, because its status says more than an event could.
        let bad = rest(&post_for(address, "text/event-stream, application/json", "{"));
        assert!(bad.starts_with("HTTP/1.1 400") && bad.contains("application/json"), "{bad}");
    });
}

fn session(answer: &str) -> String {
    let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
    id.unwrap_or_else(|| panic!("{answer}")).trim().to_owned()
}

fn in_session(address: SocketAddr, session: &str, method: &str, more: &str) -> TcpStream {
    let stream = connect(address);
    let head = format!(
        "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
         Mcp-Session-Id: {session}\r\n{more}"
    );
    (&stream).write_all(head.as_bytes()).expect("writes");
    stream
}

#[test]
fn the_oldest_idle_session_gives_way_to_a_new_one() {
    serve(HttpLimits { sessions: 2, ..HttpLimits::default() }, |address| {
        let first = session(&rest(&post(address, HELLO)));
        // Whoever listens is not idle.
        let listens = in_session(address, &first, "GET", "\r\n");
        let mut byte = [0];
        (&listens).read_exact(&mut byte).expect("is answered");
        let second = session(&rest(&post(address, HELLO)));
        let third = session(&rest(&post(address, HELLO)));
        let ping = r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#;
        let body = format!("Content-Length: {}\r\n\r\n{ping}", ping.len());
        for (session, status) in [(&first, 200), (&second, 404), (&third, 200)] {
            let answer = rest(&in_session(address, session, "POST", &body));
            assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        }
        // A session that works does not give way.
        let also = in_session(address, &third, "GET", "\r\n");
        (&also).read_exact(&mut byte).expect("is answered");
        let refused = rest(&post(address, HELLO));
        assert!(refused.starts_with("HTTP/1.1 503"), "{refused}");
        assert!(refused.contains("\"limit\":2"), "{refused}");
    });
}

#[test]
fn a_body_may_be_as_long_as_the_limit_and_no_longer() {
    let limits = HttpLimits { body_bytes: HELLO.len(), ..HttpLimits::default() };
    serve(limits, |address| {
        assert!(rest(&post(address, HELLO)).starts_with("HTTP/1.1 200"));
        let long = rest(&post(address, &format!("{HELLO} ")));
        assert!(long.starts_with("HTTP/1.1 413") && long.contains("-32600"), "{long}");
    });
}

#[test]
fn a_connection_too_many_takes_the_place_of_an_idle_one_or_waits() {
    serve(HttpLimits { connections: 1, ..HttpLimits::default() }, |address| {
        let idle = connect(address);
        (&idle).write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("writes");
        let mut byte = [0];
        (&idle).read_exact(&mut byte).expect("is answered");
        let answer = rest(&post(address, HELLO));
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        rest(&idle);
        // A stream is not idle.
        let listens = in_session(address, &session(&answer), "GET", "\r\n");
        (&listens).read_exact(&mut byte).expect("is answered");
        let waits = post(address, HELLO);
        waits.set_read_timeout(Some(SHORT)).expect("is set");
        assert!((&waits).read(&mut byte).is_err(), "nothing comes");
        drop(listens);
        waits.set_read_timeout(Some(LONG)).expect("is set");
        assert!(rest(&waits).starts_with("HTTP/1.1 200"));
    });
}

/// Clients that pipeline requests and never read an answer do not keep others out.
#[test]
fn a_client_that_reads_nothing_gives_way() {
    serve(HttpLimits { connections: 8, ..HttpLimits::default() }, |address| {
        let many = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(20_000);
        let rude: Vec<TcpStream> = (0..8).map(|_| connect(address)).collect();
        let pushing: Vec<_> = rude
            .iter()
            .map(|stream| {
                let (stream, many) = (stream.try_clone().expect("is cloned"), many.clone());
                stream.set_write_timeout(Some(SHORT)).expect("is set");
                // Fails when the server stops reading.
                std::thread::spawn(move || drop((&stream).write_all(many.as_bytes())))
            })
            .collect();
        pushing.into_iter().for_each(|thread| thread.join().expect("ends"));
        for _ in 0..20 {
            let began = std::time::Instant::now();
            assert!(rest(&post(address, HELLO)).starts_with("HTTP/1.1 200"));
            assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
        }
    });
}

#[test]
fn a_client_that_says_nothing_is_not_waited_for() {
    serve(HttpLimits { head_timeout: SHORT, ..HttpLimits::default() }, |address| {
        let (silent, slow) = (connect(address), connect(address));
        (&slow).write_all(b"POST /mcp HTTP/1.1\r\nHost: local").expect("writes");
        for stream in [silent, slow] {
            // Reading ends because the server closes the connection.
            rest(&stream);
        }
    });
}

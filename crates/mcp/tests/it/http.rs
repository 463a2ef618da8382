//! The HTTP stack with an empty handler: its limits, and that it can serve any handler.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use milepost_mcp::SessionOptions;
use milepost_mcp::http::{self, Guard, HttpAccess, HttpLimits, HttpSettings};
use milepost_model::secret::Secret;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{ListToolsResult, PaginatedRequestParams, Tool};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
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

/// A handler with one tool, so that the answers to `ping` and `tools/list` differ.
#[derive(Clone)]
struct OneTool;

impl ServerHandler for OneTool {
    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, rmcp::ErrorData> {
        let tool = Tool::new("one", "The only one", serde_json::Map::new());
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }
}

/// Serves with these limits while `work` runs.
fn serve(limits: HttpLimits, work: impl FnOnce(SocketAddr)) {
    serve_with(limits, HttpAccess::Anybody, || Nothing, work);
}

/// Serves a handler to clients with this access while `work` runs.
fn serve_with<H: ServerHandler>(
    limits: HttpLimits,
    access: HttpAccess,
    handler: impl Fn() -> H + Send + Sync + 'static,
    work: impl FnOnce(SocketAddr),
) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.expect("starts");
    let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).expect("is free");
    let address = listener.local_addr().expect("is known");
    let guard = Guard::new(address, access);
    let options = SessionOptions::default();
    let settings = HttpSettings { guard, options, server: None, limits };
    let (stop, stopped) = oneshot::channel::<()>();
    let served = runtime.spawn(http::serve(listener, settings, handler, async {
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

/// How many cases to try; the long form asks for many more.
fn cases(usual: usize) -> usize {
    std::env::var("MILEPOST_SOAK").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// One connection on which requests follow each other.
struct Talk {
    stream: std::io::BufReader<TcpStream>,
    head: String,
}

impl Talk {
    fn open(address: SocketAddr, headers: &str) -> Talk {
        let stream = connect(address);
        stream.set_nodelay(true).expect("is set");
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}"
        );
        Talk { stream: std::io::BufReader::new(stream), head }
    }

    /// Sends a request and reads its answer: the status, and the message if there is one.
    fn ask(&mut self, body: &str) -> (u16, Value) {
        let Talk { stream, head } = self;
        let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
        stream.get_mut().write_all(request.as_bytes()).expect("writes");
        let (status, headers) = read_head(stream);
        let body = if headers.contains("transfer-encoding: chunked") {
            read_chunks(stream)
        } else {
            let length = headers.lines().find_map(|line| line.strip_prefix("content-length: "));
            let length = length.and_then(|text| text.trim().parse().ok()).unwrap_or_default();
            let mut body = vec![0; length];
            stream.read_exact(&mut body).expect("a body");
            body
        };
        let text = String::from_utf8(body).expect("is text");
        let mut data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let json = data.find(|data| !data.is_empty()).unwrap_or(&text);
        (status, serde_json::from_str(json).unwrap_or_else(|_| json!({"no JSON": text})))
    }
}

fn read_head(stream: &mut impl std::io::BufRead) -> (u16, String) {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert_ne!(stream.read_line(&mut head).expect("reads in time"), 0, "closed: {head}");
    }
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.expect("a status"), head.to_lowercase())
}

fn read_chunks(stream: &mut impl std::io::BufRead) -> Vec<u8> {
    let mut body = Vec::new();
    loop {
        let mut size = String::new();
        stream.read_line(&mut size).expect("a size");
        let size = usize::from_str_radix(size.trim(), 16).expect("a size");
        let mut chunk = vec![0; size + 2];
        stream.read_exact(&mut chunk).expect("a chunk");
        if size == 0 {
            return body;
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

/// Several connections of one session use the same ids for different requests. Each is answered,
/// with its own answer or with the refusal of an id that is in use.
#[test]
fn soak_colliding_ids_neither_hang_nor_swap_answers() {
    const CONNECTIONS: usize = 6;
    let each = cases(6_000).div_ceil(CONNECTIONS);
    serve_with(
        HttpLimits::default(),
        HttpAccess::Anybody,
        || OneTool,
        |address| {
            let session = session(&rest(&post(address, HELLO)));
            let header = format!("Mcp-Session-Id: {session}\r\n");
            let ready = r#"{"jsonrpc": "2.0", "method": "notifications/initialized"}"#;
            assert_eq!(Talk::open(address, &header).ask(ready).0, 202);
            let answered: usize = std::thread::scope(|scope| {
                let all: Vec<_> = (0..CONNECTIONS)
                    .map(|number| {
                        let mut talk = Talk::open(address, &header);
                        scope.spawn(move || {
                            (0..each).filter(|n| is_own(&mut talk, number, *n)).count()
                        })
                    })
                    .collect();
                all.into_iter()
                    .map(|one| one.join().expect("no answer is missing or swapped"))
                    .sum()
            });
            // Most are answered and not refused.
            assert!(answered > CONNECTIONS * each / 10, "{answered} of {}", CONNECTIONS * each);
        },
    );
}

/// How many ids the requests of one session share.
const IDS: usize = 3;

/// Whether the request was answered; it may have been refused.
fn is_own(talk: &mut Talk, number: usize, n: usize) -> bool {
    let id = (n / 2 + number) % IDS;
    let is_ping = (number + n).is_multiple_of(2);
    let method = if is_ping { "ping" } else { "tools/list" };
    let asked = json!({"jsonrpc": "2.0", "id": id, "method": method});
    let (status, answer) = talk.ask(&asked.to_string());
    assert_eq!(answer["id"], id, "{status} {answer}");
    if status == 400 {
        assert_eq!(answer["error"]["code"], -32600, "{answer}");
        return false;
    }
    assert_eq!(status, 200, "{answer}");
    let is_list = answer["result"]["tools"].is_array();
    assert_eq!(is_list, !is_ping, "{method} got the answer of another: {answer}");
    true
}

/// How clients that never read an answer behave otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rude {
    /// They send requests until nobody takes any more.
    Pipelines,
    /// They send one request.
    AsksOnce,
    /// They open a session, and a stream in it.
    Listens,
    /// They say nothing.
    Silent,
}

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

impl Rude {
    fn begin(self, address: SocketAddr, credentials: &str) -> TcpStream {
        let ping = r#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#;
        let text = match self {
            Rude::Silent => String::new(),
            Rude::Pipelines | Rude::AsksOnce if credentials.is_empty() => {
                "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n".to_owned()
            }
            Rude::Pipelines | Rude::AsksOnce => format!(
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\n{credentials}Content-Length: {}\r\n\
                 Content-Type: application/json\r\n\r\n{ping}",
                ping.len()
            ),
            Rude::Listens => {
                let hello = Talk::open(address, credentials).hello();
                format!(
                    "GET /mcp HTTP/1.1\r\nHost: localhost\r\n{credentials}\
                     Accept: text/event-stream\r\nMcp-Session-Id: {hello}\r\n\r\n"
                )
            }
        };
        let stream = connect(address);
        let many = if self == Rude::Pipelines { text.repeat(20_000) } else { text };
        stream.set_write_timeout(Some(SHORT)).expect("is set");
        let pushing = stream.try_clone().expect("is cloned");
        // Fails when the server stops reading, or when it closes the connection.
        std::thread::spawn(move || drop((&pushing).write_all(many.as_bytes())));
        stream
    }
}

impl Talk {
    /// Opens a session and returns its id.
    fn hello(&mut self) -> String {
        let request = format!("{}Content-Length: {}\r\n\r\n{HELLO}", self.head, HELLO.len());
        self.stream.get_mut().write_all(request.as_bytes()).expect("writes");
        let (status, headers) = read_head(&mut self.stream);
        assert_eq!(status, 200, "{headers}");
        session(&headers)
    }
}

/// Clients that take every place and never read do not keep others waiting for more than a second,
/// whether they have a token or not.
#[test]
fn soak_clients_that_never_read_keep_nobody_out() {
    let rounds = cases(1_000) / 1_000;
    let credentials = format!("Authorization: Bearer {TOKEN}\r\n");
    for rude in [Rude::Pipelines, Rude::AsksOnce, Rude::Listens, Rude::Silent] {
        for theirs in [&*credentials, ""] {
            if theirs.is_empty() && rude == Rude::Listens {
                continue;
            }
            let access = HttpAccess::Token(Secret::new(TOKEN));
            serve_with(
                HttpLimits::default(),
                access,
                || Nothing,
                |address| {
                    let _open: Vec<TcpStream> =
                        (0..64).map(|_| rude.begin(address, theirs)).collect();
                    std::thread::sleep(SHORT);
                    for _ in 0..5 * rounds {
                        let began = std::time::Instant::now();
                        Talk::open(address, &credentials).hello();
                        let took = began.elapsed();
                        assert!(took < Duration::from_secs(1), "{rude:?} {theirs:?}: {took:?}");
                    }
                },
            );
        }
    }
}

/// Sessions that one token opens one after another, or all at once, leave room for others. A client
/// that hangs up before the answer has opened a session as well.
#[test]
fn soak_a_thousand_handshakes_shut_nobody_out() {
    let many = cases(300).min(2_000);
    serve(HttpLimits::default(), |address| {
        std::thread::scope(|scope| {
            for part in 0..4 {
                scope.spawn(move || {
                    for n in 0..many / 4 {
                        if (n + part) % 4 == 0 {
                            // Hangs up before the answer.
                            drop(post(address, HELLO));
                        } else {
                            Talk::open(address, "").hello();
                        }
                    }
                });
            }
        });
        let began = std::time::Instant::now();
        Talk::open(address, "").hello();
        assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    });
}

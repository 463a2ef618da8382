//! A scripted server on loopback that records requests byte for byte.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

/// The server's reaction to one request.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    /// Sends these bytes and waits for the next request.
    Bytes(Vec<u8>),
    /// Sends these bytes and closes the connection.
    ThenClose(Vec<u8>),
    /// Sends these bytes and then hangs.
    ThenHang(Vec<u8>),
    /// Sends these bytes one by one, with a pause before each.
    Drip(Vec<u8>, Duration),
    /// Resets the connection, so that the client gets an error.
    Reset,
}

/// A request as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Received {
    /// The complete bytes of the request.
    pub(crate) raw: Vec<u8>,
    /// The offset of the body.
    body_at: usize,
}

impl Received {
    /// The first line.
    pub(crate) fn line(&self) -> String {
        self.head().lines().next().unwrap_or_default().to_owned()
    }

    /// The path and query.
    pub(crate) fn target(&self) -> String {
        self.line().split(' ').nth(1).unwrap_or_default().to_owned()
    }

    /// Everything before the body, decoded as ISO 8859-1.
    pub(crate) fn head(&self) -> String {
        self.raw[..self.body_at].iter().map(|byte| char::from(*byte)).collect()
    }

    /// The values of a header, in order.
    pub(crate) fn headers(&self, name: &str) -> Vec<String> {
        let head = self.head();
        let pairs = head.lines().skip(1).filter_map(|line| line.split_once(": "));
        let wanted = pairs.filter(|(found, _)| found.eq_ignore_ascii_case(name));
        wanted.map(|(_, value)| value.to_owned()).collect()
    }

    /// The body as text.
    pub(crate) fn body(&self) -> String {
        String::from_utf8_lossy(&self.raw[self.body_at..]).into_owned()
    }
}

type Script = Arc<dyn Fn(usize, &Received) -> Reply + Send + Sync>;

/// A server that stops when it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    script: Script,
    received: Mutex<Vec<Received>>,
    connections: AtomicUsize,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Starts a server that calls the script for each request, numbered from 0.
    pub(crate) async fn start(
        script: impl Fn(usize, &Received) -> Reply + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
        let address = listener.local_addr().expect("has an address");
        let shared = Arc::new(Shared {
            script: Arc::new(script),
            received: Mutex::default(),
            connections: AtomicUsize::new(0),
        });
        let task = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Server { address, shared, task }
    }

    /// Starts a server that gives these replies in turn; the last one repeats.
    pub(crate) async fn replies(replies: Vec<Reply>) -> Server {
        Server::start(move |number, _| replies[number.min(replies.len() - 1)].clone()).await
    }

    /// `127.0.0.1:port`.
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn url(&self, target: &str) -> Url {
        Url::parse(&format!("http://{}{target}", self.address)).expect("a URL")
    }

    /// All requests so far.
    pub(crate) fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::SeqCst);
        stream.set_nodelay(true).expect("sets an option");
        tokio::spawn(serve(stream, Arc::clone(&shared)));
    }
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    while let Some(request) = read(&mut stream, &mut buffer).await {
        let number = {
            let mut received = shared.received.lock().unwrap_or_else(PoisonError::into_inner);
            received.push(request.clone());
            received.len() - 1
        };
        match (shared.script)(number, &request) {
            Reply::Bytes(bytes) => {
                if stream.write_all(&bytes).await.is_err() {
                    return;
                }
            }
            Reply::ThenClose(bytes) => {
                // The client may have disconnected, which is fine.
                drop(stream.write_all(&bytes).await);
                drop(stream.shutdown().await);
                return;
            }
            Reply::ThenHang(bytes) => {
                drop(stream.write_all(&bytes).await);
                std::future::pending::<()>().await;
            }
            Reply::Drip(bytes, pause) => {
                for byte in bytes {
                    tokio::time::sleep(pause).await;
                    if stream.write_all(&[byte]).await.is_err() {
                        return;
                    }
                }
            }
            Reply::Reset => {
                stream.set_zero_linger().expect("sets an option");
                return;
            }
        }
    }
}

async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Received> {
    loop {
        if let Some(body_at) = find(buffer, b"\r\n\r\n").map(|at| at + 4) {
            let probe = Received { raw: buffer.clone(), body_at };
            let length = probe
                .headers("content-length")
                .first()
                .map_or(0, |length| length.parse::<usize>().expect("a length"));
            if buffer.len() >= body_at + length {
                let rest = buffer.split_off(body_at + length);
                let raw = std::mem::replace(buffer, rest);
                return Some(Received { raw, body_at });
            }
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// A response with a body.
pub(crate) fn answer(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Reply {
    let mut bytes = format!("HTTP/1.1 {status} Word\r\n").into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(format!("content-length: {}\r\n\r\n", body.len()).as_bytes());
    bytes.extend_from_slice(body);
    Reply::Bytes(bytes)
}

/// A `200` response with text.
pub(crate) fn ok(body: &str) -> Reply {
    answer(200, &[("content-type", "text/plain")], body.as_bytes())
}

/// A `200` response with JSON.
pub(crate) fn json(value: &serde_json::Value) -> Reply {
    answer(200, &[("content-type", "application/json")], value.to_string().as_bytes())
}

pub(crate) fn redirect(status: u16, location: &str) -> Reply {
    answer(status, &[("location", location)], b"elsewhere")
}

/// A chunked response.
pub(crate) fn chunked(chunks: &[&str]) -> Reply {
    let mut text = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_owned();
    for chunk in chunks {
        text.extend([&*format!("{:x}\r\n", chunk.len()), chunk, "\r\n"]);
    }
    text.push_str("0\r\n\r\n");
    Reply::Bytes(text.into_bytes())
}

/// Zeros compressed with deflate: every 13 bits encode 258 of them.
pub(crate) fn deflated_zeros(bytes: usize) -> Vec<u8> {
    let mut bits = Bits::default();
    // The last block, with fixed codes, and one zero to repeat.
    bits.push(&[1, 1, 0, 0, 0, 1, 1, 0, 0, 0, 0]);
    for _ in 0..bytes / 258 {
        bits.push(&[1, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0]);
    }
    bits.push(&[0; 7]);
    bits.bytes
}

/// The same zeros as gzip. The checksum is wrong, which a reader only notices at the end.
pub(crate) fn gzipped_zeros(bytes: usize) -> Vec<u8> {
    let mut gzip = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    gzip.extend(deflated_zeros(bytes));
    gzip.extend([0; 8]);
    gzip
}

#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    used: usize,
}

impl Bits {
    fn push(&mut self, bits: &[u8]) {
        for bit in bits {
            if self.used == 0 {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= bit << self.used;
            }
            self.used = (self.used + 1) % 8;
        }
    }
}

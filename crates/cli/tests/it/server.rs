//! A server on loopback whose answers are chosen by the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// Path and query, as they arrived.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

/// How to respond to a request.
pub(crate) enum Reply {
    /// Status, headers and body.
    Answer(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// No answer, and the connection stays open.
    Silence,
    /// No answer, and the connection is closed.
    HangUp,
}

pub(crate) fn json(status: u16, body: &serde_json::Value) -> Reply {
    let kind = vec![("content-type", "application/json".to_owned())];
    Reply::Answer(status, kind, body.to_string().into_bytes())
}

/// A server that lives as long as the test process.
pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Closes every connection after one answer.
    pub(crate) fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
        Server::of(answer, "close")
    }

    /// Keeps connections open for as long as the client does.
    pub(crate) fn lasting(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Server {
        Server::of(answer, "keep-alive")
    }

    fn of(
        answer: impl Fn(&Request) -> Reply + Send + Sync + 'static,
        connection: &'static str,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (kept, answer) = (Arc::clone(&seen), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                std::thread::spawn(move || {
                    while let Some(request) = read(&stream) {
                        kept.lock().expect("nobody panics").push(request.clone());
                        write(&stream, answer(&request), connection);
                        if connection == "close" {
                            return;
                        }
                    }
                });
            }
        });
        Server { url, seen }
    }

    /// Every request so far.
    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().expect("nobody panics").clone()
    }

    pub(crate) fn last(&self) -> Request {
        self.seen().pop().expect("something was asked")
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8_lossy(&body).into_owned();
    Some(Request { method, target, headers, body })
}

fn write(mut stream: &TcpStream, reply: Reply, connection: &str) {
    match reply {
        Reply::HangUp => {}
        Reply::Silence => {
            // Until the client gives up and closes.
            drop(stream.set_read_timeout(Some(Duration::from_mins(1))));
            drop(stream.read(&mut [0]));
        }
        Reply::Answer(status, headers, body) => {
            let connection = format!("connection: {connection}");
            let mut head = vec![format!("HTTP/1.1 {status} Said"), connection];
            head.extend(headers.into_iter().map(|(name, value)| format!("{name}: {value}")));
            head.extend((status != 204).then(|| format!("content-length: {}", body.len())));
            drop(stream.write_all(format!("{}\r\n\r\n", head.join("\r\n")).as_bytes()));
            drop(stream.write_all(&body));
        }
    }
}

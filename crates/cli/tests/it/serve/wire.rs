//! HTTP without a library: sends exactly the given bytes, and reads exactly what arrives. Each
//! request has its own connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

/// How long to wait for an answer before it counts as lost.
const PATIENCE: Duration = Duration::from_mins(2);

#[derive(Clone)]
pub(super) struct Ask {
    address: String,
    method: &'static str,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Ask {
    pub(super) fn new(address: &str, method: &'static str, target: &str) -> Ask {
        Ask {
            address: address.to_owned(),
            method,
            target: target.to_owned(),
            headers: vec![("Host".to_owned(), address.to_owned())],
            body: Vec::new(),
        }
    }

    /// Sets a header, replacing any of the same name.
    pub(super) fn header(mut self, name: &str, value: &str) -> Ask {
        self = self.without(name);
        self.also(name, value)
    }

    /// Adds a header, even if the name is already present.
    pub(super) fn also(mut self, name: &str, value: &str) -> Ask {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Ask {
        self.headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        self
    }

    pub(super) fn target(mut self, target: &str) -> Ask {
        target.clone_into(&mut self.target);
        self
    }

    pub(super) fn body(mut self, body: impl Into<Vec<u8>>) -> Ask {
        self.body = body.into();
        self
    }

    /// Sends the request and reads the complete answer.
    pub(super) fn send(self) -> Answer {
        self.open().rest()
    }

    /// Sends the request repeatedly until its id is not in use by another.
    pub(super) fn insist(self) -> Answer {
        loop {
            let answer = self.clone().send();
            if answer.status != 400 {
                return answer;
            }
        }
    }

    /// Sends the request and disconnects.
    pub(super) fn hang_up(self) {
        drop(self.written());
    }

    /// Sends the request; returns once the server handles it, and reads the answer elsewhere.
    pub(super) fn begin(self) -> JoinHandle<Answer> {
        let mut stream = TcpStream::connect(&self.address).expect("connects");
        stream.set_read_timeout(Some(PATIENCE)).expect("is set");
        let head = self.clone().header("Expect", "100-continue").head();
        stream.write_all(head.as_bytes()).expect("writes");
        // The server sends this when it starts to read the body.
        let mut goes_on = *b"HTTP/1.1 100 Continue\r\n\r\n";
        stream.read_exact(&mut goes_on).expect("is told to continue");
        assert!(goes_on.starts_with(b"HTTP/1.1 100"));
        stream.write_all(&self.body).expect("writes");
        thread::spawn(move || self.read_from(stream).rest())
    }

    /// Sends the request and reads the head of the answer.
    pub(super) fn open(self) -> Opened {
        let stream = self.written();
        self.read_from(stream)
    }

    fn read_from(&self, stream: TcpStream) -> Opened {
        let mut reader = BufReader::new(stream);
        let status = line(&mut reader);
        let status = status.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut headers = Vec::new();
        loop {
            let line = line(&mut reader);
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let status = status.expect("a status");
        Opened { status, headers, reader, is_head: self.method == "HEAD" }
    }

    fn head(&self) -> String {
        let mut head = format!("{} {} HTTP/1.1\r\nConnection: close\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            head.extend([name, ": ", value, "\r\n"]);
        }
        head.extend(["Content-Length: ", &self.body.len().to_string(), "\r\n\r\n"]);
        head
    }

    fn written(&self) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("connects");
        stream.set_read_timeout(Some(PATIENCE)).expect("is set");
        let head = self.head();
        // A server may answer before the whole request is written.
        drop(stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&self.body)));
        stream
    }
}

fn line(reader: &mut impl BufRead) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).expect("reads");
    line.trim_end().to_owned()
}

/// The next chunk of a body, or `None` at its end.
fn chunk(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let size = line(reader);
    let size = usize::from_str_radix(&size, 16).expect("the size of a chunk");
    let mut chunk = vec![0; size + 2];
    reader.read_exact(&mut chunk).expect("a chunk");
    chunk.truncate(size);
    (size > 0).then_some(chunk)
}

/// An answer whose body has not been read yet.
pub(super) struct Opened {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    reader: BufReader<TcpStream>,
    is_head: bool,
}

impl Opened {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        found(&self.headers, name)
    }

    /// The next message of a stream, as soon as it arrives, or `None` at the end.
    pub(super) fn event(&mut self) -> Option<Value> {
        loop {
            let chunk = chunk(&mut self.reader)?;
            let text = String::from_utf8(chunk).expect("is text");
            let data = text.lines().find_map(|line| line.strip_prefix("data: "));
            if let Some(data) = data.filter(|data| !data.is_empty()) {
                return Some(serde_json::from_str(data).expect("is JSON"));
            }
        }
    }

    pub(super) fn rest(mut self) -> Answer {
        let mut body = Vec::new();
        if self.is_head {
            self.reader.read_to_end(&mut body).expect("reads");
            assert_eq!(body, b"");
        } else if self.header("transfer-encoding") == Some("chunked") {
            while let Some(chunk) = chunk(&mut self.reader) {
                body.extend_from_slice(&chunk);
            }
        } else {
            let length = self.header("content-length").and_then(|length| length.parse().ok());
            body.resize(length.unwrap_or_default(), 0);
            self.reader.read_exact(&mut body).expect("a body");
        }
        let body = String::from_utf8(body).expect("is text");
        Answer { status: self.status, headers: self.headers, body }
    }
}

/// A complete answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        found(&self.headers, name)
    }

    /// Every message in the answer, in order.
    pub(super) fn messages(&self) -> Vec<Value> {
        let parsed = |text: &str| serde_json::from_str::<Value>(text).expect("is JSON");
        match self.header("content-type") {
            Some("application/json") => vec![parsed(&self.body)],
            Some("text/event-stream") => {
                let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
                data.filter(|data| !data.is_empty()).map(parsed).collect()
            }
            _ => panic!("no messages: {self:?}"),
        }
    }

    /// The only message in the answer.
    pub(super) fn message(&self) -> Value {
        let mut messages = self.messages();
        assert_eq!(messages.len(), 1, "{self:?}");
        messages.remove(0)
    }

    /// The error code in the answer.
    pub(super) fn code(&self) -> i64 {
        let message = self.message();
        message["error"]["code"].as_i64().unwrap_or_else(|| panic!("no error: {message}"))
    }
}

fn found<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
}

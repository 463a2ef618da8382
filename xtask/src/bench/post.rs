//! A minimal Streamable HTTP client: one connection, one session, one request at a time.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

/// How long a server may be silent before it counts as hung.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Post {
    stream: BufReader<TcpStream>,
    /// The constant part of every request head.
    head: String,
    asked: u64,
}

impl Post {
    /// Connects and performs the handshake.
    pub(crate) fn connect(address: &str, token: &str) -> Result<Post> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n\
             accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n"
        );
        let mut client = Post { stream: BufReader::new(stream), head, asked: 0 };
        let params = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        });
        client.ask("initialize", &params)?;
        client.head.push_str("mcp-protocol-version: 2025-06-18\r\n");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        let (status, _) = client.receive()?;
        ensure!(status == 202, "a notification was answered with {status}");
        Ok(client)
    }

    /// Sends a request and checks that it was answered.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<()> {
        self.asked += 1;
        self.send(&json!({
            "jsonrpc": "2.0",
            "id": self.asked,
            "method": method,
            "params": params,
        }))?;
        let (status, body) = self.receive()?;
        let answered = memchr::memmem::find(&body, b"\"result\"").is_some();
        ensure!(
            status == 200 && answered,
            "{method}: {status}: {}",
            String::from_utf8_lossy(&body)
        );
        Ok(())
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let body = message.to_string();
        let text = format!("{}content-length: {}\r\n\r\n{body}", self.head, body.len());
        Ok(self.stream.get_mut().write_all(text.as_bytes())?)
    }

    /// The status and body of an answer; remembers the session that it opens.
    fn receive(&mut self) -> Result<(u16, Vec<u8>)> {
        let status = self.line()?;
        let status = status.split(' ').nth(1).and_then(|word| word.parse().ok());
        let status = status.context("no status")?;
        let (mut length, mut chunked) = (0, false);
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse()?,
                "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
                "mcp-session-id" if !self.head.contains("mcp-session-id") => {
                    let _ = write!(self.head, "mcp-session-id: {value}\r\n");
                }
                _ => {}
            }
        }
        let mut body = Vec::new();
        if !chunked {
            self.take(length, &mut body)?;
            return Ok((status, body));
        }
        loop {
            let size = usize::from_str_radix(self.line()?.trim(), 16)?;
            self.take(size, &mut body)?;
            self.line()?;
            if size == 0 {
                return Ok((status, body));
            }
        }
    }

    fn take(&mut self, length: usize, body: &mut Vec<u8>) -> Result<()> {
        let before = body.len();
        body.resize(before + length, 0);
        Ok(self.stream.read_exact(&mut body[before..])?)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            bail!("the server closed the connection");
        }
        line.truncate(line.trim_end().len());
        Ok(line)
    }
}

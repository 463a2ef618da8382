//! A mock of a document on loopback, over plain sockets: what outside checkers are pointed at.
//! `mock_server <document> [port] [seed]`; port 0 takes any, and the address is printed.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use milepost_catalog::command::Method;
use milepost_catalog::document::Document;
use milepost_catalog::import::Inspection;
use milepost_catalog::limits::DOCUMENT_BYTES;
use milepost_catalog::mock::{Documented, Mock, MockRequest, MockResponse, Settings};
use milepost_catalog::naming::Kept;
use milepost_catalog::openapi::Api;
use milepost_model::id::CatalogId;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("usage: mock_server <document> [port] [seed]")?;
    let port: u16 = arguments.next().as_deref().unwrap_or("0").parse()?;
    let seed = arguments.next().as_deref().unwrap_or("1").parse()?;
    let api = Arc::new(Api::new(Document::read(&std::fs::read(path)?)?)?);
    let rows = Inspection::of(&api).into_rows(&Kept::new());
    let catalog = CatalogId::parse("mock").map_err(|_| "`mock` names a catalog")?;
    // Checkers hold answers against the document, so statuses it does not speak of are avoided.
    let settings = Settings { seed, lenient_ids: true, ..Settings::default() };
    let mut mock = Mock::new(Box::new(Documented { api, rows, catalog }), settings);
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    writeln!(std::io::stdout(), "http://{}", listener.local_addr()?)?;
    for stream in listener.incoming() {
        // A client that goes away must not take the server with it.
        if let Err(error) = serve(&mut mock, &stream?) {
            writeln!(std::io::stderr(), "{error}")?;
        }
    }
    Ok(())
}

/// Answers one request and closes the connection.
fn serve(mock: &mut Mock, stream: &TcpStream) -> Result<(), Box<dyn Error>> {
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or("/"));
    let mut headers = Vec::new();
    loop {
        let mut bytes = Vec::new();
        reader.read_until(b'\n', &mut bytes)?;
        let line: String = bytes.iter().map(|byte| char::from(*byte)).collect();
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let body = body(&mut reader, &headers)?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let answer = match Method::parse(method) {
        Some(method) => {
            let query = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
            mock.answer(&MockRequest { method, path, query, headers, body: &body })
        }
        None => {
            MockResponse { status: 501, headers: vec![], body: vec![], delay_ms: 0, drop: false }
        }
    };
    write(stream, &answer)
}

fn body(
    reader: &mut impl BufRead,
    headers: &[(String, String)],
) -> Result<Vec<u8>, Box<dyn Error>> {
    let header = |name: &str| headers.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let mut body = Vec::new();
    if header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let size = u64::from_str_radix(line.trim().split(';').next().unwrap_or("0"), 16)?;
            if size == 0 || body.len() + size as usize > DOCUMENT_BYTES {
                return Ok(body);
            }
            reader.take(size).read_to_end(&mut body)?;
            reader.read_line(&mut String::new())?;
        }
    }
    let length: u64 = header("content-length").map_or(Ok(0), |value| value.parse())?;
    reader.take(length.min(DOCUMENT_BYTES as u64)).read_to_end(&mut body)?;
    Ok(body)
}

fn write(mut stream: &TcpStream, answer: &MockResponse) -> Result<(), Box<dyn Error>> {
    if answer.drop {
        return Ok(());
    }
    std::thread::sleep(Duration::from_millis(answer.delay_ms));
    let mut head = format!("HTTP/1.1 {} Mock\r\nconnection: close\r\n", answer.status);
    for (name, value) in &answer.headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    if !matches!(answer.status, 204 | 304) {
        head.extend(["content-length: ", &answer.body.len().to_string(), "\r\n"]);
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    stream.write_all(&answer.body)?;
    Ok(())
}

//! The edge from the outside: bytes in, bytes out, with a small contract behind it.

mod agent;
mod bytes;
mod client;
mod conversation;
mod flow;
mod http;
mod place;
mod properties;
#[path = "../../../cli/tests/it/server.rs"]
#[expect(dead_code, reason = "the tests of the binary ask more of it")]
mod server;
#[cfg(unix)]
mod signals;
mod tool_client;
mod transcripts;

use std::io::{self, Read};

use milepost_mcp::{Contract, Contracts, RpcError, SessionOptions, serve_stdio};
use milepost_ops::Response;
use serde_json::{Map, Value, json};

/// The request that opens a session.
const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"method":"initialize","#,
    r#""params":{"protocolVersion":"2024-11-05","capabilities":{}}}"#,
);

/// The size of the result of the tool `large`.
const LARGE_BYTES: usize = 1 << 20;

/// Tools whose behaviour the edge must be able to handle.
struct Tools;

impl Contract for Tools {
    fn tools(&self) -> &'static str {
        "[{\"name\":\"echo\"},\n {\"name\":\"fail\"}]"
    }

    fn names(&self) -> &[&str] {
        &["echo", "fail", "stumble", "refuse", "burst", "pretty", "large"]
    }

    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        _log: &mut String,
    ) -> Result<Response, RpcError> {
        match tool {
            "echo" => Ok(json!({ "echo": arguments }).to_string().into()),
            "fail" => {
                Err(RpcError::new(-32001, "Workflow not found", json!({ "workflowId": "x\n" })))
            }
            "stumble" => {
                Err(RpcError::new(-32603, "Internal error", json!({ "details": "a\nseam" })))
            }
            "refuse" => Err(RpcError::invalid_params("workflowId is required")),
            "burst" => panic!("a seam\ngave way"),
            "large" => Ok(json!({ "large": "x".repeat(LARGE_BYTES) }).to_string().into()),
            _ => Ok("{\n  \"lines\": \"a\\nb\"\n}".to_owned().into()),
        }
    }
}

/// The output and the log of a server that reads these bytes.
fn served(options: SessionOptions, input: impl Read) -> (String, String) {
    let (mut answers, mut log) = (Vec::new(), Vec::new());
    serve_stdio(&Contracts::guides(&Tools), options, input, &mut answers, &mut log)
        .expect("nothing breaks");
    (text(answers), text(log))
}

/// The answer to a line without a readable id.
fn refused(code: i32, message: &str, data: &str) -> String {
    let error = format!(r#"{{"code":{code},"message":"{message}","data":{{{data}}}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":null,"error":{error}}}"#)
}

/// The answer to a line that is not JSON.
fn parse_error(details: &str) -> String {
    refused(-32700, "Parse error", &format!(r#""details":"{details}""#))
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("is UTF-8")
}

/// An input that returns one of these pieces per read.
struct Pieces<'a>(Vec<&'a [u8]>);

impl<'a> Pieces<'a> {
    fn new(pieces: impl IntoIterator<Item = &'a [u8]>) -> Pieces<'a> {
        let mut pieces: Vec<_> = pieces.into_iter().filter(|piece| !piece.is_empty()).collect();
        pieces.reverse();
        Pieces(pieces)
    }
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(piece) = self.0.pop() else { return Ok(0) };
        let count = piece.len().min(buffer.len());
        buffer[..count].copy_from_slice(&piece[..count]);
        if count < piece.len() {
            self.0.push(&piece[count..]);
        }
        Ok(count)
    }
}

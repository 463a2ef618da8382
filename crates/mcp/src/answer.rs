//! Answers as bytes, appended to a buffer. No answer holds a line end.

use milepost_ops::Response;
use milepost_syntax::escape;

use crate::message::Id;
use crate::rpc_error::RpcError;

/// What a request is answered with when it is not a fault.
pub(crate) enum RpcResult<'c> {
    /// JSON text that does not change.
    Fixed(&'static str),
    /// JSON text that was made for this answer.
    Made(String),
    /// The contract's tools.
    Tools(&'c str),
    /// What a tool gave.
    Plain(Response),
    /// What a tool gave, in the wrapping of `tools/call`.
    Gave(Response),
    /// Why a tool gave nothing, for the model to read.
    Failed(RpcError),
}

pub(crate) fn reply(out: &mut Vec<u8>, id: Id<'_>, reply: &RpcResult<'_>) {
    begin(out, id);
    out.extend_from_slice(b",\"result\":");
    match reply {
        RpcResult::Fixed(result) => out.extend_from_slice(result.as_bytes()),
        RpcResult::Made(result) => json(out, result),
        RpcResult::Plain(result) => json(out, result.json()),
        RpcResult::Tools(tools) => {
            out.extend_from_slice(b"{\"tools\":");
            json(out, tools);
            out.push(b'}');
        }
        RpcResult::Gave(result) => {
            content(out, result);
            out.push(b'}');
        }
        RpcResult::Failed(fault) => {
            content(out, &fault.to_value().to_string().into());
            out.extend_from_slice(b",\"isError\":true}");
        }
    }
    out.push(b'}');
}

pub(crate) fn fault(out: &mut Vec<u8>, id: Id<'_>, fault: &RpcError) {
    begin(out, id);
    out.extend_from_slice(b",\"error\":");
    out.extend_from_slice(fault.to_value().to_string().as_bytes());
    out.push(b'}');
}

fn begin(out: &mut Vec<u8>, id: Id<'_>) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_json().as_bytes());
}

/// A tool's result, once as text and once as it is: older clients know only the text.
fn content(out: &mut Vec<u8>, result: &Response) {
    let text = result.json();
    out.reserve(2 * text.len() + text.len() / 4 + 128);
    out.extend_from_slice(b"{\"content\":[{\"type\":\"text\",\"text\":\"");
    let mut done = 0;
    for part in result.fixed() {
        escape(out, &text[done..part.at.start]);
        out.extend_from_slice(part.escaped().as_bytes());
        done = part.at.end;
    }
    escape(out, &text[done..]);
    out.extend_from_slice(b"\"}],\"structuredContent\":");
    json(out, text);
}

/// JSON text of somebody else. A line end in it can only be white space, and would end our line.
fn json(out: &mut Vec<u8>, text: &str) {
    let start = out.len();
    out.extend_from_slice(text.as_bytes());
    let mut rest = &mut out[start..];
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        rest[at] = b' ';
        rest = &mut rest[at + 1..];
    }
}

/// A text as the inside of a JSON string.
fn escape(out: &mut Vec<u8>, text: &str) {
    escape::escape(text, |part| out.extend_from_slice(part.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_json_loses_its_line_ends() {
        let mut out = Vec::new();
        json(&mut out, "{\r\n  \"a\": 1\n}");
        assert_eq!(out, b"{    \"a\": 1 }");
    }
}

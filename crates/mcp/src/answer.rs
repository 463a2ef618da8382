//! Answers as bytes, appended to a buffer. An answer never contains a line break.

use std::borrow::Cow;

use milepost_ops::Response;
use milepost_syntax::escape;

use crate::message::Id;
use crate::rpc_error::RpcError;

/// The result of a request that succeeded, or that failed inside a tool.
pub(crate) enum RpcResult {
    /// JSON text.
    Json(Cow<'static, str>),
    /// A tool's result, sent as is.
    Plain(Response),
    /// A tool's result, wrapped as a `tools/call` result.
    Gave(Response),
    /// Why a tool failed, as a result that the model can read.
    Failed(RpcError),
}

pub(crate) fn reply(out: &mut Vec<u8>, id: Id<'_>, reply: &RpcResult) {
    begin(out, id);
    out.extend_from_slice(b",\"result\":");
    match reply {
        RpcResult::Json(result) => json(out, result),
        RpcResult::Plain(result) => json(out, result.json()),
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

/// Writes a tool's result twice, as text and as structured content, because older clients read only
/// the text.
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

/// Appends existing JSON text. Line breaks in it can only be whitespace, but would end our line, so
/// they are replaced by spaces.
fn json(out: &mut Vec<u8>, text: &str) {
    let start = out.len();
    out.extend_from_slice(text.as_bytes());
    let mut rest = &mut out[start..];
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        rest[at] = b' ';
        rest = &mut rest[at + 1..];
    }
}

/// Appends text escaped for use inside a JSON string.
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

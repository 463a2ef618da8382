//! Parses a line into messages: the envelope as JSON-RPC 2.0 and MCP define it, but none of its
//! content.
//!
//! Nothing is allocated unless it has to be: an id and `params` stay slices of the received line.

use std::borrow::Cow;
use std::str;

use milepost_ops::Strict;
use milepost_syntax::json::scan::{self, Dialect, ScanError, ScanErrorKind, Scanner};
use serde_json::{Map, Value};

use crate::limits;
use crate::rpc_error::RpcError;

/// The content of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming<'a> {
    /// Only whitespace.
    Nothing,
    /// One message.
    One(RpcMessage<'a>),
    /// A non-empty array of messages.
    Batch(Vec<RpcMessage<'a>>),
    /// Not a message at all.
    Unreadable(RpcError),
}

/// One message from the client.
#[derive(Debug, Clone, PartialEq)]
pub enum RpcMessage<'a> {
    /// Expects an answer.
    Request(Request<'a>),
    /// Expects no answer, even if it is invalid. Contains the whole message.
    Notification(&'a str),
    /// A response to one of our requests. Contains the whole message.
    Response(&'a str),
    /// Not a valid message; the answer contains the reason.
    Bad {
        /// The id, if it could be read.
        id: Id<'a>,
        fault: RpcError,
    },
}

/// A message that expects an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Request<'a> {
    /// The id that the answer repeats.
    pub id: Id<'a>,
    pub method: Cow<'a, str>,
    pub params: Params<'a>,
}

impl Request<'_> {
    /// The length of the parameters.
    pub(crate) fn bytes(&self) -> usize {
        match self.params {
            Params::None => 0,
            Params::Object(text) | Params::Array(text) => text.len(),
        }
    }
}

/// An id exactly as it was written: `1.0`, `"\u0061"` and integers of any length come back
/// unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Id<'a>(&'a str);

impl<'a> Id<'a> {
    /// The id of an answer to a message whose id could not be read.
    pub const NULL: Id<'static> = Id("null");

    /// The JSON text of the id.
    pub fn as_json(self) -> &'a str {
        self.0
    }
}

/// The parameters as they were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Params<'a> {
    /// Absent, null or an empty array.
    None,
    /// The JSON text of an object.
    Object(&'a str),
    /// The JSON text of a non-empty array.
    Array(&'a str),
}

impl Params<'_> {
    /// The parameters by name, rejecting duplicate keys; absent parameters give an empty map. The
    /// JSON was scanned as part of its line, so it is valid JSON and not nested too deeply for
    /// recursion.
    pub(crate) fn object(self) -> Result<Map<String, Value>, RpcError> {
        let text = match self {
            Params::None => return Ok(Map::new()),
            Params::Array(_) => return Err(RpcError::not_an_object("params")),
            Params::Object(text) => text,
        };
        match serde_json::from_str(text) {
            Ok(Strict(Value::Object(map))) => Ok(map),
            Ok(_) => Err(RpcError::not_an_object("params")),
            Err(error) => {
                // The position is removed because it is relative to the start of `params` and would
                // only mislead.
                let place = format!(" at line {} column {}", error.line(), error.column());
                let details = error.to_string();
                Err(RpcError::invalid_params(details.strip_suffix(&place).unwrap_or(&details)))
            }
        }
    }
}

/// Parses one line.
pub fn read(line: &[u8]) -> Incoming<'_> {
    match str::from_utf8(line) {
        Ok(text) if text.starts_with('\u{feff}') => {
            unreadable("", "Unexpected token in JSON: a byte order mark")
        }
        Ok(text) => read_text(text)
            .unwrap_or_else(|error| unreadable(&text[..error.at], &description(error))),
        Err(error) => {
            let (valid, _) = line.split_at(error.valid_up_to());
            let before = str::from_utf8(valid).unwrap_or_default();
            unreadable(before, "Unexpected token in JSON: bytes that are not UTF-8")
        }
    }
}

fn description(error: ScanError) -> String {
    let token = "Unexpected token in JSON";
    match error.kind {
        ScanErrorKind::TooDeep => format!("{token}: more than {} levels deep", limits::DEPTH),
        ScanErrorKind::LoneSurrogate => format!("{token}: half a surrogate pair"),
        ScanErrorKind::NumberTooLarge => format!("{token}: a number out of range"),
        _ if error.is_end => "Unexpected end of JSON input".to_owned(),
        _ => token.to_owned(),
    }
}

fn unreadable(before: &str, description: &str) -> Incoming<'static> {
    // Only messages received over HTTP can span several lines.
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    let details = format!("{description} at line {line}, column {column}");
    Incoming::Unreadable(RpcError::parse_error(&details))
}

fn message_scanner(text: &str) -> Scanner<'_> {
    Scanner::new(text, Dialect::Json, limits::DEPTH)
}

fn read_text(text: &str) -> Result<Incoming<'_>, ScanError> {
    if text.trim_ascii().is_empty() {
        return Ok(Incoming::Nothing);
    }
    let mut scanner = message_scanner(text);
    let incoming = match scanner.peek()? {
        b'{' => Incoming::One(Envelope::scan(&mut scanner)?.message(text)),
        b'[' => batch(&mut scanner)?,
        _ => {
            scanner.value()?;
            Incoming::One(no_object())
        }
    };
    scanner.end()?;
    Ok(incoming)
}

fn no_object() -> RpcMessage<'static> {
    RpcMessage::Bad {
        id: Id::NULL,
        fault: RpcError::invalid_request("a message must be an object"),
    }
}

fn batch<'a>(scanner: &mut Scanner<'a>) -> Result<Incoming<'a>, ScanError> {
    let mut members = Vec::new();
    let mut count = 0;
    scanner.list(|member| {
        count += 1;
        if count <= limits::BATCH_MESSAGES {
            members.push(member);
        }
    })?;
    if count == 0 {
        let fault = RpcError::invalid_request("a batch must contain at least one message");
        return Ok(Incoming::Unreadable(fault));
    }
    if count > limits::BATCH_MESSAGES {
        let details = "the batch contains too many messages";
        return Ok(Incoming::Unreadable(RpcError::over_limit(details, limits::BATCH_MESSAGES)));
    }
    let messages = members.into_iter().map(|member| {
        if !member.starts_with('{') {
            return Ok(no_object());
        }
        Ok(Envelope::scan(&mut message_scanner(member))?.message(member))
    });
    messages.collect::<Result<_, _>>().map(Incoming::Batch)
}

/// The members of a message as they were written.
#[derive(Default)]
struct Envelope<'a> {
    jsonrpc: Option<&'a str>,
    id: Option<&'a str>,
    method: Option<&'a str>,
    params: Option<&'a str>,
    /// Whether the message has a `result` or an `error`.
    answers: bool,
    /// A member that occurs twice, so it is unclear which one is meant.
    twice: Option<&'static str>,
}

impl<'a> Envelope<'a> {
    fn scan(scanner: &mut Scanner<'a>) -> Result<Envelope<'a>, ScanError> {
        let mut envelope = Envelope::default();
        scanner.entries(|scanner, key| {
            let value = scanner.value()?;
            envelope.put(key, value);
            Ok(())
        })?;
        Ok(envelope)
    }

    fn put(&mut self, key: &'a str, value: &'a str) {
        let Some(key) = scan::decode(key) else { return };
        let (name, slot) = match key.as_ref() {
            "jsonrpc" => ("jsonrpc", &mut self.jsonrpc),
            "id" => ("id", &mut self.id),
            "method" => ("method", &mut self.method),
            "params" => ("params", &mut self.params),
            "result" | "error" => {
                self.answers = true;
                return;
            }
            // Members added by newer revisions are ignored.
            _ => return,
        };
        // If several members are duplicated, report the id, because the answer must not repeat
        // either of the two ids.
        if slot.replace(value).is_some() && (name == "id" || self.twice.is_none()) {
            self.twice = Some(name);
        }
    }

    fn message(self, text: &'a str) -> RpcMessage<'a> {
        if self.method.is_none() && self.answers {
            return RpcMessage::Response(text);
        }
        let method = self.method.and_then(scan::decode);
        if self.id.is_none() && method.is_some() {
            return RpcMessage::Notification(text);
        }
        let id = self.id();
        match self.request(method) {
            Ok((method, params)) => RpcMessage::Request(Request { id, method, params }),
            Err(fault) => RpcMessage::Bad { id, fault },
        }
    }

    fn id(&self) -> Id<'a> {
        match self.id {
            Some(id) if is_id(id) && self.twice != Some("id") => Id(id),
            _ => Id::NULL,
        }
    }

    fn request(
        &self,
        method: Option<Cow<'a, str>>,
    ) -> Result<(Cow<'a, str>, Params<'a>), RpcError> {
        if let Some(name) = self.twice {
            return Err(RpcError::invalid_request(format!("`{name}` occurs twice")));
        }
        if self.id.is_some_and(|id| !is_id(id)) {
            return Err(RpcError::invalid_request("id must be a string or a number"));
        }
        if self.jsonrpc.and_then(scan::decode).as_deref() != Some("2.0") {
            return Err(RpcError::invalid_request("jsonrpc must be \"2.0\""));
        }
        let Some(method) = method else {
            let details = match self.method {
                None => "method is required",
                Some(_) => "method must be a string",
            };
            return Err(RpcError::invalid_request(details));
        };
        Ok((method, self.params()?))
    }

    fn params(&self) -> Result<Params<'a>, RpcError> {
        match self.params {
            None | Some("null") => Ok(Params::None),
            Some(text) if text.starts_with('{') => Ok(Params::Object(text)),
            Some(text) if text.starts_with('[') => {
                let is_empty = text[1..].trim_ascii_start() == "]";
                Ok(if is_empty { Params::None } else { Params::Array(text) })
            }
            Some(_) => Err(RpcError::invalid_request("params must be an object or an array")),
        }
    }
}

fn is_id(written: &str) -> bool {
    written.starts_with(|first: char| matches!(first, '"' | '-' | '0'..='9'))
}

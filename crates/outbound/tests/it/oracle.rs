//! Sends every case of the request table over a real socket: the raw bytes must match the
//! specifications.

use bytes::Bytes;
use milepost_catalog::request::{Payload, Piece, Request, header_bytes};
use milepost_outbound::{Outgoing, SendOptions};

use crate::cases::{self, Case, Expected, build};
use crate::client;
use crate::server::{Received, Server, ok};

/// Headers that every request has and the table does not mention.
const OWN: &[&str] =
    &["host", "user-agent", "accept", "accept-encoding", "content-length", "content-type"];

#[tokio::test]
async fn every_request_of_the_table_is_on_the_wire_what_it_must_be() {
    let server = Server::replies(vec![ok("")]).await;
    let client = client(&[&server]);
    let mut faults = Vec::new();
    let mut sent = 0;
    for case in cases::load() {
        let (target, headers, body) = match &case.expected {
            Expected::Sent { target, headers, body } => (target, headers, body),
            Expected::Refused(kind) => {
                let base = server.url("/");
                let built = build(&case.command, &base, &case.arguments);
                assert!(built.is_err(), "{}: {kind}", case.name);
                continue;
            }
        };
        let base = server.url(&case.base[url::Position::BeforePath..url::Position::AfterQuery]);
        let request = build(&case.command, &base, &case.arguments).expect("can be built");
        client.send(&outgoing(&request), &SendOptions::default()).await.expect("is answered");
        let received = server.received().pop().expect("was received");
        let wanted =
            Wanted { case: &case, target, headers, body: body.as_ref(), request: &request };
        faults.extend(wanted.fault(&received));
        sent += 1;
    }
    assert!(sent >= 200, "only {sent} requests were sent");
    assert!(faults.is_empty(), "{} of {sent}:\n{}", faults.len(), faults.join("\n"));
}

struct Wanted<'w> {
    case: &'w Case,
    target: &'w str,
    headers: &'w [(String, String)],
    body: Option<&'w (String, String)>,
    request: &'w Request,
}

impl Wanted<'_> {
    fn fault(&self, received: &Received) -> Option<String> {
        let boundary = match &self.request.body {
            Some(Payload::Multipart { boundary, .. }) => boundary.as_str(),
            _ => "",
        };
        let line = format!("{} {} HTTP/1.1", self.case.command.method.name(), self.target);
        let (content, body) = match self.body {
            Some((content, body)) => (Some(content.as_str()), body.as_str()),
            None => (None, ""),
        };
        let mut headers: Vec<(String, Vec<u8>)> = self
            .headers
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase(), header_bytes(value)))
            .collect();
        let content = content.map(|content| content.replace("{boundary}", boundary));
        headers.extend(content.map(|content| ("content-type".to_owned(), content.into_bytes())));
        headers.sort();
        let wanted = (line, headers, body.replace("{boundary}", boundary).into_bytes());
        let found = found(received, self.body.is_some());
        let name = &self.case.name;
        (found != wanted).then(|| format!("{name}\n  wanted {wanted:?}\n  found  {found:?}"))
    }
}

type Parts = (String, Vec<(String, Vec<u8>)>, Vec<u8>);

/// The parts of a request as received, bytes untouched.
fn found(received: &Received, has_body: bool) -> Parts {
    let end = received.raw.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let mut headers = Vec::new();
    for line in received.raw[..end].split(|byte| *byte == b'\n').skip(1) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let colon = line.iter().position(|byte| *byte == b':').expect("a header");
        let name = String::from_utf8_lossy(&line[..colon]).to_ascii_lowercase();
        let told = name == "content-type" && has_body;
        if told || !OWN.contains(&name.as_str()) {
            headers.push((name, line[colon + 1..].trim_ascii().to_vec()));
        }
    }
    headers.sort();
    (received.line(), headers, received.raw[end + 4..].to_vec())
}

fn outgoing(request: &Request) -> Outgoing {
    let mut body = Vec::new();
    for piece in request.body.iter().flat_map(Payload::pieces) {
        match piece {
            Piece::Bytes(bytes) => body.extend_from_slice(&bytes),
            Piece::File(path) => body.extend_from_slice(path.as_bytes()),
        }
    }
    let headers = request.all_headers();
    Outgoing {
        method: request.method.name().to_owned(),
        url: request.url.clone(),
        headers: headers.map(|(name, value)| (name.to_owned(), value.into_owned())).collect(),
        body: Bytes::from(body),
    }
}

//! Requests on the wire, byte for byte.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

use bytes::Bytes;
use milepost_outbound::{
    Delivery, InvalidRequest, Outgoing, RequestPermit, SendFault, SendOptions,
};

use crate::server::{Server, ok};
use crate::{client, send};

fn request(server: &Server, method: &str, target: &str, body: &'static str) -> Outgoing {
    let body = Bytes::from_static(body.as_bytes());
    Outgoing { method: method.to_owned(), url: server.url(target), headers: Vec::new(), body }
}

#[tokio::test]
async fn a_request_is_sent_as_it_is_given() {
    let server = Server::replies(vec![ok("")]).await;
    let request = request(&server, "POST", "/a%2Fb/ü?q=a+b&r=%20&s=[x]", "body")
        .header("Content-Type", "text/plain; charset=utf-8")
        .header("X-Twice", "1")
        .header("X-Twice", "2")
        .header("X-Empty", "")
        .header("X-Unicode", "grün");
    send(&server, &request).await.expect("answers");
    let received = &server.received()[0];
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        "POST /a%2Fb/%C3%BC?q=a+b&r=%20&s=[x] HTTP/1.1\r\n\
         content-type: text/plain; charset=utf-8\r\n\
         x-twice: 1\r\nx-twice: 2\r\nx-empty: \r\nx-unicode: gr\u{fffd}n\r\n\
         user-agent: milepost/{version}\r\naccept: */*\r\naccept-encoding: gzip,deflate,br\r\n\
         host: {}\r\ncontent-length: 4\r\n\r\nbody",
        server.host(),
    );
    assert_eq!(sorted(&String::from_utf8_lossy(&received.raw)), sorted(&expected));
}

/// The sorted lines, because the order of different headers does not matter.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.split("\r\n").collect();
    lines[1..].sort_unstable();
    lines
}

#[tokio::test]
async fn every_method_goes_out_with_and_without_a_body() {
    let server = Server::replies(vec![ok("")]).await;
    let client = client(&[&server]);
    let methods = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "PATCH", "TRACE", "QUERY"];
    for method in methods {
        for body in ["", "x"] {
            let request = request(&server, method, "/", body);
            client.send(&request, &SendOptions::default()).await.expect("answers");
            let received = server.received().pop().expect("arrived");
            assert_eq!(received.line(), format!("{method} / HTTP/1.1"));
            assert_eq!(received.body(), body, "{method}");
        }
    }
    // All requests used one connection.
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn headers_of_the_connection_cannot_be_given() {
    let server = Server::replies(vec![ok("")]).await;
    let client = client(&[&server]);
    for (name, value) in [
        ("Host", "evil.test"),
        ("Transfer-Encoding", "chunked"),
        ("Content-Length", "99"),
        ("Connection", "close, x-secret"),
        ("Upgrade", "h2c"),
        ("Proxy-Authorization", "x"),
        ("Expect", "100-continue"),
    ] {
        let request = request(&server, "POST", "/", "body").header(name, value);
        let error = client.send(&request, &SendOptions::default()).await.expect_err("is refused");
        assert_eq!(
            error.fault,
            SendFault::Invalid(InvalidRequest::Reserved { name: name.to_owned() })
        );
        assert!(error.certainly_not_sent());
    }
    // A correct length is redundant and accepted.
    let right = request(&server, "POST", "/", "body").header("content-length", "4");
    client.send(&right, &SendOptions::default()).await.expect("answers");
    assert_eq!(server.received().len(), 1);
    assert_eq!(server.received()[0].headers("content-length"), ["4"]);
}

#[tokio::test]
async fn nothing_can_be_smuggled_into_a_header_or_method() {
    let server = Server::replies(vec![ok("")]).await;
    for (name, value) in
        [("X-A", "1\r\nX-B: 2"), ("X-A", "1\nX-B: 2"), ("X A", "1"), ("", "1"), ("X:A", "1")]
    {
        let request = request(&server, "GET", "/", "").header(name, value);
        let error = send(&server, &request).await.expect_err("is refused");
        assert_eq!(
            error.fault,
            SendFault::Invalid(InvalidRequest::Header { name: name.to_owned() })
        );
    }
    for method in ["GET / HTTP/1.1\r\nX: y", "", "G T", "CONNECT"] {
        let error =
            send(&server, &request(&server, method, "/", "")).await.expect_err("is refused");
        assert!(
            matches!(error.fault, SendFault::Invalid(InvalidRequest::Method { .. })),
            "{method}"
        );
    }
    assert_eq!(server.connections(), 0);
}

/// A process that was stopped checks its permit again at the last moment: when the body is about to
/// be sent, after the connection was made.
#[tokio::test]
async fn nothing_leaves_once_the_permit_is_gone() {
    let server = Server::replies(vec![ok("once")]).await;
    for (asked, holds) in [(0, false), (1, false), (2, true)] {
        let left = Arc::new(AtomicUsize::new(asked));
        let begins = move || left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok();
        let permit = Some(RequestPermit::new(begins, || true));
        let sending = SendOptions { permit, ..SendOptions::default() };
        let sent = client(&[&server]).send(&request(&server, "POST", "/", "pay"), &sending).await;
        assert_eq!(sent.is_ok(), holds, "asked {asked} times: {sent:?}");
        if let Err(error) = sent {
            assert_eq!((error.fault, error.delivery), (SendFault::Lapsed, Delivery::NotSent));
        }
    }
    let bodies: Vec<_> =
        server.received().iter().map(|one| one.headers("content-length")).collect();
    assert_eq!(bodies, [["3"]], "one request, with its length and not in chunks");
}

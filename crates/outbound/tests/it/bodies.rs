//! Response bodies: complete, compressed, truncated, and far too large.

use milepost_outbound::{AnswerPart, Delivery, Outgoing, Oversize, SendFault, SendOptions, limits};

use crate::server::{Reply, Server, answer, chunked, deflated_zeros, gzipped_zeros, ok};
use crate::{client, send, text};

/// 16 MiB of zeros, compressed.
const BROTLI_ZEROS: &[u8] = b"\xcb\xff\xff\x3f\xf8\x27\x00\xe2\xb1\x40\x20\xf7\xfe\x2f\
    \xff\xff\xff\xf0\x4f\x00\xc4\x61\x11\x80\xee\xfd\x1f";
const BROTLI_HELLO: &[u8] = b"\x8b\x05\x80hello brotli\x03";
const GZIP_HELLO: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\x57\x48\xaf\xca\x2c\
    \0\0\x19\x6a\xd2\xdf\x0a\0\0\0";
const ZLIB_HELLO: &[u8] = b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x57\x48\x49\x4d\xcb\x49\x2c\x49\x05\0\x23\
    \x0c\x05\x0a";

fn packed(encoding: &str, body: &[u8]) -> Reply {
    answer(200, &[("content-encoding", encoding)], body)
}

async fn result(
    reply: Reply,
    body_bytes: usize,
    oversize: Oversize,
) -> Result<(usize, bool), SendFault> {
    let server = Server::replies(vec![reply]).await;
    let sending = SendOptions { body_bytes, oversize, ..SendOptions::default() };
    let sent = client(&[&server]).send(&Outgoing::get(server.url("/")), &sending).await;
    sent.map(|response| (response.body.len(), response.truncated)).map_err(|error| {
        assert_eq!(error.delivery, Delivery::Answered);
        error.fault
    })
}

#[tokio::test]
async fn packed_bodies_are_unpacked() {
    for (encoding, body, expected) in [
        ("gzip", GZIP_HELLO, "hello gzip"),
        ("deflate", ZLIB_HELLO, "hello deflate"),
        ("br", BROTLI_HELLO, "hello brotli"),
        ("identity", b"plain", "plain"),
    ] {
        let server = Server::replies(vec![packed(encoding, body)]).await;
        let response = send(&server, &Outgoing::get(server.url("/"))).await.expect("answers");
        assert_eq!(text(&response), expected, "{encoding}");
    }
}

#[tokio::test]
async fn chunks_are_put_together() {
    let server = Server::replies(vec![chunked(&["one ", "two ", "three"])]).await;
    let response = send(&server, &Outgoing::get(server.url("/"))).await.expect("answers");
    assert_eq!(text(&response), "one two three");
}

#[tokio::test]
async fn the_limit_itself_is_allowed() {
    let body = "x".repeat(1000);
    let too_large = |limit| Err(SendFault::TooLarge { part: AnswerPart::Body, limit });
    for (limit, expected) in [(999, too_large(999)), (1000, Ok((1000, false)))] {
        assert_eq!(result(ok(&body), limit, Oversize::Fail).await, expected);
        assert_eq!(result(chunked(&[&body]), limit, Oversize::Fail).await, expected);
    }
    assert_eq!(result(ok(&body), 1001, Oversize::Fail).await, Ok((1000, false)));
    assert_eq!(result(ok(&body), 999, Oversize::Cut).await, Ok((999, true)));
    assert_eq!(result(ok(&body), 1000, Oversize::Cut).await, Ok((1000, false)));
    assert_eq!(result(ok(&body), 0, Oversize::Cut).await, Ok((0, true)));
    assert_eq!(result(ok(""), 0, Oversize::Fail).await, Ok((0, false)));
}

/// 64 MiB in 400 KB, and 16 MiB in 27 bytes: the decompressed size counts.
#[tokio::test]
async fn bombs_do_not_go_off() {
    let zlib = [&[0x78, 0x9c], deflated_zeros(64 << 20).as_slice()].concat();
    let limit = limits::BODY_BYTES;
    for (encoding, body) in
        [("gzip", gzipped_zeros(64 << 20)), ("deflate", zlib), ("br", BROTLI_ZEROS.to_vec())]
    {
        let failed = result(packed(encoding, &body), limit, Oversize::Fail).await;
        assert_eq!(
            failed,
            Err(SendFault::TooLarge { part: AnswerPart::Body, limit }),
            "{encoding}"
        );
        let cut = result(packed(encoding, &body), limit, Oversize::Cut).await;
        assert_eq!(cut, Ok((limit, true)), "{encoding}");
    }
}

#[tokio::test]
async fn what_is_not_packed_as_it_says_is_an_error() {
    for encoding in ["gzip", "deflate", "br"] {
        let failed = result(packed(encoding, b"this is no such thing"), 1000, Oversize::Fail).await;
        assert!(matches!(failed, Err(SendFault::Unpack { .. })), "{encoding}: {failed:?}");
    }
    let half = &GZIP_HELLO[..20];
    let failed = result(packed("gzip", half), 1000, Oversize::Fail).await;
    assert!(matches!(failed, Err(SendFault::Unpack { .. })), "{failed:?}");
}

#[tokio::test]
async fn headers_have_a_limit() {
    let long = "x".repeat(limits::HEADER_BYTES);
    let failed = result(answer(200, &[("x-long", &long)], b""), 10, Oversize::Fail).await;
    let limit = limits::HEADER_BYTES;
    assert_eq!(failed, Err(SendFault::TooLarge { part: AnswerPart::Headers, limit }));
    let shorter = "x".repeat(limits::HEADER_BYTES - 100);
    let fine = result(answer(200, &[("x-long", &shorter)], b""), 10, Oversize::Fail).await;
    assert_eq!(fine, Ok((0, false)));
}

#[tokio::test]
async fn an_error_keeps_its_body_and_headers_in_any_encoding() {
    let reply = "HTTP/1.1 422 No\r\nx-utf: gr\u{fc}n\r\ncontent-length: 3\r\n\r\nbad";
    let mut bytes = reply.as_bytes().to_vec();
    let latin = b"x-latin: gr\xfcn\r\n";
    let at = reply.find("content-length").expect("is there");
    bytes.splice(at..at, latin.iter().copied());
    let server = Server::replies(vec![Reply::Bytes(bytes)]).await;
    let response = send(&server, &Outgoing::get(server.url("/"))).await.expect("answers");
    assert_eq!((response.status, text(&response).as_str()), (422, "bad"));
    assert_eq!(response.header("X-UTF"), Some("grün"));
    assert_eq!(response.header("x-latin"), Some("grün"));
}

/// Some servers state the encoding of a body that they do not send.
#[tokio::test]
async fn an_answer_without_a_body_need_not_be_unpacked() {
    let head = "content-encoding: gzip\r\ncontent-length: 20\r\n\r\n";
    for (method, reply) in [
        ("HEAD", format!("HTTP/1.1 200 OK\r\n{head}")),
        ("GET", format!("HTTP/1.1 304 Same\r\n{head}")),
        ("GET", "HTTP/1.1 204 No\r\ncontent-encoding: gzip\r\n\r\n".to_owned()),
        ("GET", "HTTP/1.1 200 OK\r\ncontent-encoding: br\r\ncontent-length: 0\r\n\r\n".to_owned()),
    ] {
        let server = Server::replies(vec![Reply::Bytes(reply.clone().into_bytes())]).await;
        let request = Outgoing { method: method.to_owned(), ..Outgoing::get(server.url("/")) };
        let response = send(&server, &request).await.expect(&reply);
        assert_eq!(response.body.len(), 0, "{reply}");
    }
}

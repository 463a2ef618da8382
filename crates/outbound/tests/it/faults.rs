//! Servers that hang, drip, disconnect or send garbage, and whether the request may have arrived.

use std::time::Duration;

use milepost_outbound::{Client, Delivery, Outgoing, Policy, SendFault, SendOptions};
use tokio::net::TcpListener;
use url::Url;

use crate::server::{Reply, Server};
use crate::{client, fault, policy};

/// The timeout for servers that never finish.
const SHORT: Duration = Duration::from_millis(600);
/// The timeout for all others, generous enough for a slow machine.
const LONG: Duration = Duration::from_secs(30);
const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n";

#[tokio::test]
async fn a_server_that_hangs_is_left() {
    let server = Server::replies(vec![Reply::ThenHang(Vec::new())]).await;
    let after = SHORT;
    assert_eq!(fault(&server, SHORT).await, (SendFault::Timeout { after }, Delivery::Unknown));
    let server = Server::replies(vec![Reply::ThenHang(HEAD.to_vec())]).await;
    assert_eq!(fault(&server, SHORT).await, (SendFault::Timeout { after }, Delivery::Answered));
}

/// Every byte arrives in time, but all of them together take too long.
#[tokio::test]
async fn a_server_that_drips_is_left() {
    let bytes = [HEAD, &[b'x'; 1000]].concat();
    let server = Server::replies(vec![Reply::Drip(bytes, Duration::from_millis(5))]).await;
    let (fault, _) = fault(&server, SHORT).await;
    assert!(matches!(fault, SendFault::Timeout { .. }), "{fault}");
}

#[tokio::test]
async fn a_connection_that_ends_early_is_lost() {
    let half = [HEAD, b"half"].concat();
    for (reply, delivery) in [
        (Reply::Reset, Delivery::Unknown),
        (Reply::ThenClose(Vec::new()), Delivery::Unknown),
        (Reply::ThenClose(b"HTTP/1.1 200 OK\r\nconte".to_vec()), Delivery::Unknown),
        (Reply::ThenClose(half), Delivery::Answered),
    ] {
        let server = Server::replies(vec![reply.clone()]).await;
        let (fault, found) = fault(&server, LONG).await;
        assert!(matches!(fault, SendFault::Lost { .. }), "{reply:?}: {fault}");
        assert_eq!(found, delivery, "{reply:?}");
        assert!(fault.is_passing());
    }
}

#[tokio::test]
async fn nonsense_is_no_answer() {
    for garbage in
        ["SSH-2.0-OpenSSH_9.6\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "\0\0\0\0\0\0\0\0\n\n"]
    {
        let server = Server::replies(vec![Reply::ThenClose(garbage.into())]).await;
        let (fault, delivery) = fault(&server, LONG).await;
        assert!(matches!(fault, SendFault::Protocol { .. }), "{garbage:?}: {fault}");
        assert_eq!(delivery, Delivery::Unknown);
        assert!(!fault.is_passing());
    }
    let twice = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxy";
    let server = Server::replies(vec![Reply::ThenClose(twice.into())]).await;
    assert!(matches!(fault(&server, LONG).await.0, SendFault::Protocol { .. }));
}

#[tokio::test]
async fn endless_headers_end() {
    let line = "x-more: and more\r\n".repeat(100_000);
    let server =
        Server::replies(vec![Reply::ThenClose(format!("HTTP/1.1 200 OK\r\n{line}").into())]);
    let (fault, _) = fault(&server.await, LONG).await;
    assert!(matches!(fault, SendFault::Protocol { .. }), "{fault}");
}

#[tokio::test]
async fn a_refused_connection_was_certainly_not_sent() {
    // A port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let address = listener.local_addr().expect("has an address");
    drop(listener);
    let mut policy = Policy::public();
    policy.allow_private(&address.to_string()).expect("a host");
    let url = Url::parse(&format!("http://{address}/")).expect("a URL");
    let sent = Client::new(policy).send(&Outgoing::get(url), &SendOptions::default()).await;
    let error = sent.expect_err("nobody is there");
    assert!(error.certainly_not_sent());
    let refused = std::io::ErrorKind::ConnectionRefused;
    assert!(matches!(error.fault, SendFault::Connect { kind, .. } if kind == refused), "{error}");
}

#[tokio::test]
async fn a_server_without_tls_was_certainly_not_sent_anything() {
    let server = Server::replies(vec![Reply::ThenClose(b"HTTP/1.1 400 No\r\n\r\n".to_vec())]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("binds");
    let address = listener.local_addr().expect("has an address");
    // The test server reads until a blank line, which a TLS handshake does not contain, so this one
    // answers at once.
    let plain = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("accepts");
        let answer = b"HTTP/1.1 400 Bad Request\r\n\r\n";
        tokio::io::AsyncWriteExt::write_all(&mut stream, answer).await.expect("writes");
        stream
    });
    let mut policy = policy(&[&server]);
    policy.allow_private(&address.to_string()).expect("a host");
    let url = Url::parse(&format!("https://{address}/")).expect("a URL");
    let sent = Client::new(policy).send(&Outgoing::get(url), &SendOptions::default()).await;
    let error = sent.expect_err("no TLS");
    assert!(matches!(error.fault, SendFault::Tls { .. }), "{error}");
    assert!(error.certainly_not_sent() && !error.fault.is_passing());
    drop(plain.await);
}

#[tokio::test]
async fn after_any_of_this_the_next_request_works() {
    let server = Server::replies(vec![
        Reply::Reset,
        Reply::ThenClose(b"garbage\r\n\r\n".to_vec()),
        Reply::ThenHang(Vec::new()),
        crate::server::ok("fine"),
    ])
    .await;
    let client = client(&[&server]);
    let within = |timeout| SendOptions { timeout, ..SendOptions::default() };
    let request = Outgoing::get(server.url("/"));
    for timeout in [LONG, LONG, SHORT] {
        client.send(&request, &within(timeout)).await.expect_err("fails");
    }
    assert_eq!(client.send(&request, &within(LONG)).await.expect("answers").status, 200);
}

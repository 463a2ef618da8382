//! Access control: the same on every route and for every method.

use serde_json::json;

use super::wire::Ask;
use super::{Server, initialize};
use crate::Place;

const METHODS: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"];
const TARGETS: [&str; 9] = [
    "/mcp",
    "/metrics",
    "/metrics/",
    "/healthz/",
    "/mcp/",
    "/",
    "/nothing/here?a=1",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
];

/// Every invalid variation of a request, with its expected status.
fn wrong(ask: &Ask, token: &str) -> Vec<(&'static str, Ask, u16)> {
    let bearer = |token: &str| ask.clone().header("Authorization", &format!("Bearer {token}"));
    let last = if token.ends_with('0') { '1' } else { '0' };
    vec![
        ("no token", ask.clone().without("Authorization"), 401),
        ("another token", bearer(&"a".repeat(64)), 401),
        ("almost the token", bearer(&format!("{}{last}", &token[..token.len() - 1])), 401),
        ("the beginning of it", bearer(&token[..token.len() - 1]), 401),
        ("more than it", bearer(&format!("{token}0")), 401),
        ("no word", bearer(""), 401),
        ("another scheme", ask.clone().header("Authorization", &format!("Basic {token}")), 401),
        ("two tokens", ask.clone().also("Authorization", &format!("Bearer {token}")), 401),
        ("another host", ask.clone().header("Host", "evil.example"), 403),
        ("a host like ours", ask.clone().header("Host", "localhost.evil.example"), 403),
        ("a port like a host", ask.clone().header("Host", "127.0.0.1:6611.evil.example"), 403),
        ("a port that is no number", ask.clone().header("Host", "localhost:http"), 403),
        ("more than a port", ask.clone().header("Host", "localhost:80/evil.example"), 403),
        ("more than an address", ask.clone().header("Host", "[::1].evil.example"), 403),
        ("no host", ask.clone().without("Host"), 403),
        ("two hosts", ask.clone().also("Host", "localhost"), 403),
        ("no name", ask.clone().header("Host", "a@localhost"), 403),
        ("another origin", ask.clone().header("Origin", "http://evil.example"), 403),
        ("no origin", ask.clone().header("Origin", "null"), 403),
        (
            "an origin whose port is a host",
            ask.clone().header("Origin", "http://localhost:1.evil.example"),
            403,
        ),
        ("our name at another port", ask.clone().header("Origin", "http://localhost:1"), 403),
        (
            "another host and no token",
            ask.clone().without("Authorization").header("Host", "a"),
            403,
        ),
    ]
}

#[test]
fn the_guard_covers_every_route_and_method() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    for target in TARGETS {
        for method in METHODS {
            let right = server.ask(method).target(target);
            for (what, ask, status) in wrong(&right, &server.token) {
                let answer = ask.send();
                assert_eq!(answer.status, status, "{method} {target}, {what}: {answer:?}");
                let challenge = answer.header("www-authenticate");
                assert_eq!(challenge.is_some(), status == 401, "{what}: {challenge:?}");
                if method != "HEAD" {
                    let message = answer.message();
                    let data = &message["error"]["data"];
                    assert_eq!(data["error_code"], "ACCESS_DENIED", "{what}: {message}");
                    assert!(data["suggested_action"].is_string());
                }
            }
            let answer = right.send();
            assert!(!matches!(answer.status, 401 | 403), "{method} {target}: {answer:?}");
        }
    }
    let far = format!("http://evil.example{}", TARGETS[0]);
    assert_eq!(server.ask("POST").target(&far).send().status, 403);
}

#[test]
fn only_the_health_check_needs_no_token() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    for method in METHODS {
        let right = server.ask(method).target("/healthz");
        let open = matches!(method, "GET" | "HEAD");
        for (what, ask, status) in wrong(&right, &server.token) {
            let status = if open && status == 401 { 200 } else { status };
            assert_eq!(ask.send().status, status, "{method}, {what}");
        }
        let status = if open { 200 } else { 405 };
        assert_eq!(right.send().status, status, "{method}");
    }
}

#[test]
fn a_stream_is_guarded_like_everything_else() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let session = server.connect("2025-06-18");
    let right = session.ask("GET");
    for (what, ask, status) in wrong(&right, &server.token) {
        assert_eq!(ask.send().status, status, "{what}");
    }
    let opened = right.open();
    assert_eq!(opened.status, 200);
    assert_eq!(opened.header("content-type"), Some("text/event-stream"));
}

#[test]
fn names_of_this_machine_and_those_that_were_allowed_are_ours() {
    let place = Place::new();
    let arguments = ["--allow-host", "box.example", "--allow-origin", "https://app.example"];
    let server = Server::start(&place, &arguments);
    let hello = initialize("2025-06-18", &json!({})).to_string();
    let port = server.address.rsplit(':').next().expect("a port").to_owned();
    for host in [
        "localhost",
        &format!("LOCALHOST:{port}"),
        "127.0.0.1:1",
        &format!("[::1]:{port}"),
        "box.example",
        "box.example:443",
    ] {
        let answer = server.ask("POST").header("Host", host).body(hello.clone()).send();
        assert_eq!(answer.status, 200, "{host}: {answer:?}");
    }
    for (origin, status) in [
        ("https://app.example", 200),
        ("https://app.example:443", 200),
        (&*format!("http://localhost:{port}"), 200),
        ("http://app.example", 403),
        ("https://app.example:8443", 403),
        ("https://app.example.evil.example", 403),
    ] {
        let answer = server.ask("POST").header("Origin", origin).body(hello.clone()).send();
        assert_eq!(answer.status, status, "{origin}: {answer:?}");
    }
}

#[cfg(unix)]
#[test]
fn the_token_is_shown_once_and_kept_for_its_owner() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let token = server.token.clone();
    assert!(token.len() >= 32, "{token}");
    let exit = server.stop();
    assert!(exit.errors.contains(&token), "{}", exit.errors);
    let again = Server::start(&place, &[]);
    assert_eq!(again.token, token);
    assert_eq!(again.connect("2025-06-18").call("ping", &json!({})), json!({}));
    assert!(!again.stop().errors.contains(&token), "is shown once");
}

#[test]
fn a_token_may_be_given() {
    let given = "given-".repeat(6);
    let place = Place::with(&[("token", &format!("{given}\n")), ("short", "secret")]);
    let mut server = Server::start(&place, &["--token-file", "token"]);
    server.token.clone_from(&given);
    server.connect("2025-06-18");
    let mut command = place.command();
    command.args(["serve", "--port", "0"]).env("MILEPOST_TOKEN", given.to_uppercase());
    let mut server = Server::of(&place, &mut command);
    assert_eq!(server.token, "", "nothing is made that is not needed");
    server.token = given.to_uppercase();
    server.connect("2025-06-18");
    let refused = place.run(["serve", "--port", "0", "--token-file", "short"]).ends(2);
    assert!(refused.err.contains("22 characters"), "{}", refused.err);
    place.run(["serve", "--port", "0", "--token-file", "none"]).ends(6);
}

#[test]
fn remote_access_has_to_be_allowed() {
    let place = Place::new();
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1"] {
        let refused = place.run(["serve", "--listen", address]).ends(2);
        assert!(refused.err.contains("--allow-remote"), "{}", refused.err);
    }
    for wrong in ["here", "localhost:1", "127.0.0.1:99999"] {
        place.run(["serve", "--listen", wrong]).ends(2);
    }
    for wrong in [["--allow-host", "a b"], ["--allow-origin", "app.example"]] {
        place.run([&["serve", "--port", "0"], &wrong[..]].concat()).ends(2);
    }
    let mut command = place.command();
    command.args(["serve", "--listen", "0.0.0.0:0", "--allow-remote"]);
    let mut server = Server::of(&place, &mut command);
    server.address = server.address.replace("0.0.0.0", "127.0.0.1");
    // DNS can make any name resolve to this machine, but an IP address cannot be spoofed that way.
    let hello = initialize("2025-06-18", &json!({})).to_string();
    for (host, status) in [("192.0.2.7:80", 200), ("127.0.0.1", 200), ("evil.example", 403)] {
        let answer = server.ask("POST").header("Host", host).body(hello.clone()).send();
        assert_eq!(answer.status, status, "{host}: {answer:?}");
    }
    assert_eq!(server.ask("POST").without("Authorization").body(hello).send().status, 401);
    #[cfg(unix)]
    assert!(server.stop().errors.contains("not encrypted"));
}

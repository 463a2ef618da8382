//! `milepost catalog mock` with the real binary.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::Place;
use crate::catalog::SHOP;

/// The API of the examples. Its lists are paginated and its ids have a pattern.
const EXAMPLE: &str = include_str!("../../../../examples/shop.yaml");

struct Mock {
    child: Child,
    address: String,
}

impl Mock {
    fn start(place: &Place, arguments: &str) -> Mock {
        let mut command = place.command();
        command.args(["catalog", "mock"]).args(arguments.split(' '));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("is piped");
        BufReader::new(out).read_line(&mut line).expect("says where");
        let address = line.trim_end().strip_prefix("http://").expect("a URL").to_owned();
        Mock { child, address }
    }

    /// The raw response to a request.
    fn raw(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("listens");
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: mock\r\nconnection: close\r\n{headers}\
             content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(head.as_bytes()).expect("is open");
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let kind = if body.is_empty() { "" } else { "content-type: application/json\r\n" };
        let answer = self.raw(method, path, kind, body);
        let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
        let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        (status.expect("a status"), serde_json::from_str(body).unwrap_or_default())
    }

    fn stop(mut self, signal: &str) -> Option<i32> {
        let pid = self.child.id().to_string();
        let killed = Command::new("kill").args([signal, &pid]).status().expect("runs");
        assert!(killed.success());
        self.child.wait().expect("ends").code()
    }
}

#[test]
fn a_catalog_answers_and_remembers() {
    let place = Place::shop();
    let mock = Mock::start(&place, "shop --seed 7");
    assert!(mock.address.starts_with("127.0.0.1:"));
    let (status, made) = mock.ask("POST", "/orders", r#"{"item": "kite", "count": 2}"#);
    assert_eq!((status, &made["item"]), (201, &Value::from("kite")));
    let id = made["id"].as_str().expect("an id").to_owned();
    let (status, got) = mock.ask("GET", &format!("/orders/{id}"), "");
    assert_eq!((status, got), (200, made.clone()));
    let (_, listed) = mock.ask("GET", "/v1/orders", "");
    assert!(listed.as_array().expect("a list").contains(&made), "{listed}");
    assert_eq!(mock.ask("DELETE", &format!("/orders/{id}"), "").0, 204);
    assert_eq!(mock.ask("GET", &format!("/orders/{id}"), "").0, 404);
    assert_eq!(mock.ask("GET", "/nowhere", "").0, 404);
    assert_eq!(mock.ask("POST", "/orders", "{}").0, 400);
    assert_eq!(mock.ask("BREW", "/orders", "").0, 501);
    let dropped = mock.raw("GET", "/orders", "x-milepost-mock-drop: 1\r\n", "");
    assert_eq!(dropped, "", "the connection breaks without a word");
    assert_eq!(mock.stop("-TERM"), Some(0));
}

#[test]
fn an_example_order_exists_until_it_is_deleted() {
    let place = Place::with(&[("shop.yaml", EXAMPLE)]);
    let mock = Mock::start(&place, "shop.yaml");
    let order = r#"{"customer": "7", "items": [{"sku": "MUG-0001", "quantity": 2}]}"#;
    let (status, made) = mock.ask("POST", "/api/v1/orders", order);
    assert_eq!((status, &made["customer"]), (201, &Value::from("7")));
    let path = format!("/api/v1/orders/{}", made["id"].as_str().expect("an id"));
    assert_eq!(mock.ask("GET", &path, ""), (200, made.clone()));
    let listed = || {
        let (status, page) = mock.ask("GET", "/api/v1/orders", "");
        assert_eq!(status, 200, "{page}");
        page["items"].as_array().expect("a list").clone()
    };
    assert!(listed().contains(&made), "{:?}", listed());
    assert_eq!(mock.ask("DELETE", &path, ""), (204, Value::Null));
    assert_eq!(mock.ask("GET", &path, "").0, 404);
    assert!(listed().iter().all(|order| order["id"] != made["id"]));
    assert_eq!(mock.stop("-TERM"), Some(0));
}

#[test]
fn a_document_answers_before_it_is_imported() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    let mock = Mock::start(&place, "shop.yaml --strict-auth");
    assert_eq!(mock.ask("GET", "/orders", "").0, 401);
    let answer = mock.raw("GET", "/orders", "authorization: Bearer anything\r\n", "");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(mock.stop("-INT"), Some(0));
    let mock = Mock::start(&place, "shop.yaml --error-rate 1 --latency-ms 1");
    assert_eq!(mock.ask("GET", "/orders", "").0, 503);
    assert_eq!(mock.stop("-TERM"), Some(0));
}

#[test]
fn the_same_seed_gives_the_same_answers() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    let said = |seed: u64| {
        let mock = Mock::start(&place, &format!("shop.yaml --seed {seed}"));
        let said = mock.ask("GET", "/orders", "");
        assert_eq!(mock.stop("-TERM"), Some(0));
        said
    };
    let first = said(3);
    assert_eq!(first.0, 200);
    assert_eq!(first, said(3));
    assert_ne!(first, said(4));
}

#[test]
fn commands_call_a_mock() {
    let place = Place::with(&[("shop.yaml", SHOP)]);
    let mock = Mock::start(&place, "shop.yaml");
    let base = format!("http://{}", mock.address);
    place.say(&format!("catalog import shop.yaml --base-url {base}")).ends(0);
    place.say("catalog auth shop --token TOKEN").ends(0);
    let mut command = place.command();
    command.env("MILEPOST_SECRET_TOKEN", "anything-goes");
    let ran = crate::finish(command.args(["command", "run", "listOrders", "--json"]), "");
    let told = ran.ends(0).json();
    assert_eq!(told["status"], 200);
    assert_eq!(mock.stop("-TERM"), Some(0));
}

#[test]
fn a_mock_that_cannot_start_says_why() {
    let place = Place::with(&[("shop.yaml", SHOP), ("bad.yaml", "openapi: 3.0.3\n")]);
    let ran = place.say("catalog mock nowhere").ends(6);
    assert!(ran.err.contains("error[CATALOG_NOT_FOUND]"), "{}", ran.err);
    place.say("catalog mock nowhere.yaml").ends(6);
    place.say("catalog mock bad.yaml").ends(2);
    place.say("catalog mock shop.yaml --error-rate 2").ends(2);
    let mock = Mock::start(&place, "shop.yaml");
    let port = mock.address.rsplit(':').next().expect("a port").to_owned();
    let ran = place.say(&format!("catalog mock shop.yaml --port {port}")).ends(75);
    assert!(ran.err.contains("cannot listen on port"), "{}", ran.err);
    assert_eq!(mock.stop("-TERM"), Some(0));
}

//! Helpers that check the HTTP examples in the documentation.

use serde_json::{Value, json};

use super::Server;
use crate::Place;

/// A server's answer to a request that a page shows in full; `<token>` stands for the token.
pub(crate) fn answered(place: &Place, request: &str) -> Value {
    let server = Server::start(place, &[]);
    let (head, body) = request.split_once("\n\n").expect("head and body");
    let mut lines = head.lines();
    assert_eq!(lines.next(), Some("POST /mcp HTTP/1.1"));
    let mut ask = super::wire::Ask::new(&server.address, "POST", "/mcp");
    for line in lines {
        let (name, value) = line.split_once(": ").expect("a header");
        ask = ask.header(name, &value.replace("<token>", &server.token));
    }
    let answer = ask.body(body).send();
    assert_eq!(answer.status, 200, "{request}: {answer:?}");
    answer.message()
}

/// The server's answer to a request without a token.
pub(crate) fn turned_away(place: &Place) -> Value {
    let server = Server::start(place, &[]);
    server.ask("POST").without("Authorization").body("{}").send().message()
}

#[test]
fn the_flags_of_the_pipe_are_those_of_the_server() {
    let place = Place::new();
    let listed = |arguments: &[&str]| -> Vec<String> {
        let server = Server::start(&place, arguments);
        let tools = server.connect("2025-06-18").call("tools/list", &json!({}))["tools"].take();
        let names = tools.as_array().expect("a list").iter();
        names.map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    };
    let work = ["workflow_list", "workflow_run", "workflow_status", "workflow_submit"];
    let names = listed(&["--tools", "work"]);
    assert!(work.iter().all(|name| names.iter().any(|other| other == name)), "{names:?}");
    assert_eq!(names.len(), 5);
    let dotted = listed(&["--tool-names", "dotted"]);
    assert!(dotted.iter().any(|name| name == "workflow.save"), "{dotted:?}");
    let lookup = listed(&["--surface", "workflowlookup"]);
    assert_eq!(lookup.len(), 5, "{lookup:?}");
    assert!(lookup.iter().any(|name| name == "workflow_next"), "{lookup:?}");
    let all = listed(&["--surface", "all"]);
    assert!(all.len() > lookup.len() + work.len(), "{all:?}");
    let server = Server::start(&place, &["--errors", "jsonrpc"]);
    let call = json!({"name": "workflow_get", "arguments": {"workflow_id": "absent"}});
    let fault = server.connect("2025-06-18").fault("tools/call", &call);
    assert_eq!(fault["code"], -32002, "{fault}");
    place.run(["serve", "--port", "0", "--protocol", "1999-01-01"]).ends(2);
}

#[test]
fn where_the_server_is_can_be_read_by_programs() {
    let place = Place::new();
    let mut command = place.command();
    command.args(["serve", "--port", "0", "--json"]);
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    let mut child = command.spawn().expect("starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("is piped");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("reads");
    let told: Value = serde_json::from_str(&line).expect("is JSON");
    assert!(told["url"].as_str().is_some_and(|url| url.ends_with("/mcp")), "{told}");
    let file = told["token_file"].as_str().expect("a file");
    assert!(std::fs::read_to_string(file).is_ok_and(|token| token.trim().len() == 64));
    child.kill().expect("ends");
    child.wait().expect("ends");
}

//! The end of a server: what was asked before it is answered, whatever it takes.
#![cfg(unix)]

use std::thread;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{QUICK, SLEEPS, Server, alone};
use crate::Place;

/// A call that takes as long as it may: nothing happens in a run that sleeps.
fn wait(run: &Value, seconds: u64) -> Value {
    json!({"name": "workflow_status", "arguments": {"run_id": run, "wait_s": seconds}})
}

/// Waits until a request with this id is under way.
fn under_way(session: &super::Session<'_>, id: u64) {
    let ping = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    while session.post(&ping).status != 400 {}
}

#[test]
fn what_is_under_way_is_answered_and_streams_end() {
    let place = Place::new();
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::start(&place, &[]);
        let session = server.connect("2025-06-18");
        let run = session.tool("workflow_run", &json!({"manifest": SLEEPS}))["run_id"].clone();
        let body = json!({"jsonrpc": "2.0", "id": 70, "method": "tools/call",
            "params": wait(&run, 2)});
        let stream = session.ask("GET").open();
        let ask = session.ask("POST").body(body.to_string());
        let waiting = thread::spawn(move || ask.insist());
        under_way(&session, 70);
        server.signal(signal);
        let answer = waiting.join().expect("is answered");
        assert_eq!(answer.message()["result"]["structuredContent"]["run_id"], run, "{answer:?}");
        assert_eq!(stream.rest().messages(), Vec::<Value>::new());
        assert_eq!(server.ended().code, Some(0));
    }
}

#[test]
fn what_takes_too_long_is_answered_with_a_fault() {
    let place = Place::new();
    let mut server = Server::start(&place, &[]);
    let session = server.connect("2025-06-18");
    let run = session.tool("workflow_run", &json!({"manifest": SLEEPS}))["run_id"].clone();
    let body =
        json!({"jsonrpc": "2.0", "id": 70, "method": "tools/call", "params": wait(&run, 25)});
    let ask = session.ask("POST").body(body.to_string());
    let in_session = thread::spawn(move || ask.insist());
    let mut body = body.clone();
    body["params"] = alone(body["params"].take(), &json!({}));
    let ask = server.ask_alone("tools/call", &body);
    let by_itself = thread::spawn(move || ask.send());
    under_way(&session, 70);
    server.signal(Signal::TERM);
    for (waiting, status) in [(in_session, 200), (by_itself, 503)] {
        let answer = waiting.join().expect("is answered");
        assert_eq!((answer.status, answer.code()), (status, -32000), "{answer:?}");
        assert_eq!(answer.message()["id"], 70);
    }
    assert_eq!(server.ended().code, Some(0));
}

#[test]
fn what_was_started_goes_on_in_the_next_server() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let session = server.connect("2025-06-18");
    let run = session.tool("workflow_run", &json!({"manifest": QUICK}))["run_id"].clone();
    assert_eq!(server.stop().code, Some(0));
    let server = Server::start(&place, &[]);
    let session = server.connect("2025-06-18");
    let mut status = session.tool("workflow_status", &json!({"run_id": run, "wait_s": 20}));
    while status["status"] == "running" || status["status"] == "pending" {
        status = session.tool("workflow_status", &json!({"run_id": run, "wait_s": 20}));
    }
    assert_eq!(status["status"], "succeeded", "{status}");
}

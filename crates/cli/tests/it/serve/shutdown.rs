//! Shutting a server down: earlier requests are still answered.
#![cfg(unix)]

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{QUICK, Server, alone};
use crate::Place;

#[test]
fn requests_in_flight_are_answered_and_streams_end() {
    let place = Place::new();
    for signal in [Signal::TERM, Signal::INT] {
        let mut server = Server::start(&place, &[]);
        let session = server.connect("2025-06-18");
        let run = session.asleep();
        let stream = session.ask("GET").open();
        let waiting = session.waiting(70, &run, 2);
        server.signal(signal);
        let answer = waiting.join().expect("is answered");
        assert_eq!(answer.message()["result"]["structuredContent"]["run_id"], run, "{answer:?}");
        assert_eq!(stream.rest().messages(), Vec::<Value>::new());
        assert_eq!(server.ended().code, Some(0));
    }
}

#[test]
fn a_slow_request_is_answered_with_an_error() {
    let place = Place::new();
    let mut server = Server::start(&place, &[]);
    let session = server.connect("2025-06-18");
    let run = session.asleep();
    let call = json!({"name": "workflow_status", "arguments": {"run_id": run, "wait_s": 25}});
    let body = json!({"jsonrpc": "2.0", "id": 70, "method": "tools/call",
        "params": alone(call, &json!({}))});
    let by_itself = server.ask_alone("tools/call", &body).begin();
    let in_session = session.waiting(70, &run, 25);
    server.signal(Signal::TERM);
    for (waiting, status) in [(in_session, 200), (by_itself, 503)] {
        let answer = waiting.join().expect("is answered");
        assert_eq!((answer.status, answer.code()), (status, -32000), "{answer:?}");
        assert_eq!(answer.message()["id"], 70);
    }
    assert_eq!(server.ended().code, Some(0));
}

#[test]
fn started_runs_continue_in_the_next_server() {
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

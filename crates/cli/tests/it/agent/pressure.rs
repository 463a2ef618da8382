//! A client that writes without reading: the server stops reading from it, buffers no more than its
//! limit, and answers everything once the client reads again.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Place;

/// The number of calls written before anything is read. A server that buffered their answers would
/// use twice the memory it may.
const CALLS: usize = 20_000;
/// How often a server is polled, and how many times in a row it must look the same to count as
/// stopped.
const LOOK: Duration = Duration::from_millis(200);
const LOOKS: usize = 10;
/// How much additional memory the server may use for them, in kilobytes. Its outbox and the calls
/// in flight are a small part of this; the rest is normal working memory.
const MORE_KB: u64 = 48 << 10;

/// A server after the handshake, and its pipes.
fn connect(place: &Place) -> (Child, std::process::ChildStdin, impl BufRead) {
    let mut command = place.command();
    command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("starts");
    let mut input = child.stdin.take().expect("is piped");
    let mut output = BufReader::new(child.stdout.take().expect("is piped"));
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    input.write_all(format!("{hello}\n{ready}\n").as_bytes()).expect("writes");
    output.read_line(&mut String::new()).expect("is greeted");
    (child, input, output)
}

/// The resident memory of a process, in kilobytes.
fn resident_kb(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("is told");
    let line = status.lines().find(|line| line.starts_with("VmRSS")).expect("has a size");
    line.split_whitespace().nth(1).and_then(|size| size.parse().ok()).expect("is a number")
}

fn call(id: usize) -> String {
    // Every third call is answered by the framing layer itself.
    let method = if id.is_multiple_of(3) { "ping" } else { "tools/call" };
    let params = match method {
        "ping" => json!({}),
        _ => json!({"name": "workflow_list", "arguments": {}}),
    };
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

#[cfg(target_os = "linux")]
#[test]
fn the_server_stops_reading_from_a_client_that_does_not_read() {
    let place = Place::new();
    let (mut child, mut input, mut output) = connect(&place);
    std::thread::scope(|scope| {
        let before = resident_kb(child.id());
        let writer = scope.spawn(move || {
            for id in 1..=CALLS {
                input.write_all(call(id).as_bytes()).expect("is there");
            }
            input
        });
        // Waits until the server has stopped reading.
        let until = Instant::now() + Duration::from_mins(2);
        let (mut most, mut last, mut same) = (0, 0, 0);
        while same < LOOKS && Instant::now() < until {
            std::thread::sleep(LOOK);
            let now = resident_kb(child.id());
            same = if now.abs_diff(last) < 64 { same + 1 } else { 0 };
            (most, last) = (most.max(now), now);
        }
        assert!(!writer.is_finished(), "all of it was read");
        assert!(most < before + MORE_KB, "{before} kB grew to {most} kB");
        let mut answered = vec![false; CALLS + 1];
        for _ in 0..CALLS {
            let mut line = String::new();
            output.read_line(&mut line).expect("reads");
            let answer: Value = serde_json::from_str(&line).expect("is JSON");
            assert!(answer.get("error").is_none(), "{answer}");
            let id = answer["id"].as_u64().and_then(|id| usize::try_from(id).ok());
            let seen = &mut answered[id.expect("an id")];
            assert!(!std::mem::replace(seen, true), "twice: {answer}");
        }
        let after = resident_kb(child.id());
        assert!(after < before + MORE_KB, "{before} kB grew to {after} kB");
        drop(writer.join().expect("wrote all"));
    });
    assert!(child.wait().expect("ends").success());
}

#[cfg(unix)]
#[test]
fn a_server_with_an_unread_outbox_ends_on_a_signal() {
    let place = Place::new();
    let (mut child, mut input, output) = connect(&place);
    let written = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&written);
    let writer = std::thread::spawn(move || {
        let flood = (1..).try_for_each(|id| {
            count.store(id, Ordering::Relaxed);
            input.write_all(call(id).as_bytes())
        });
        assert!(flood.is_err(), "it ends with the server");
    });
    // Waits until the server has stopped reading.
    let (mut last, mut same) = (0, 0);
    while same < LOOKS {
        std::thread::sleep(LOOK);
        let now = written.load(Ordering::Relaxed);
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).expect("fits"));
    let pid = pid.expect("is a process");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("is told");
    let until = Instant::now() + Duration::from_secs(30);
    while child.try_wait().expect("is a child").is_none() {
        assert!(Instant::now() < until, "it hangs");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(output);
    writer.join().expect("ends");
}

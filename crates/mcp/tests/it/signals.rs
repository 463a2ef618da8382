//! A server that receives a signal answers first and then exits; with a real process where that
//! matters.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{self, Child, Command, Stdio};
use std::time::Duration;
use std::{env, thread};

use milepost_mcp::{
    Contracts, SessionOptions, UntilStopped, limits, serve_stdio, stdin_until_signal,
};
use rustix::process::{Pid, Signal, kill_process};

use super::{Tools, text};

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";
const PONG: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";

/// Set in the child process of a test, which is this test binary running a single test.
const CHILD: &str = "MILEPOST_TEST_SERVES";

#[test]
fn what_was_sent_before_the_stop_is_read_after_it() {
    let (input, mut client) = io::pipe().expect("makes a pipe");
    let (stop, stopper) = io::pipe().expect("makes a pipe");
    let pings = PING.repeat(1_000);
    client.write_all(pings.as_bytes()).expect("fits the pipe");
    drop(stopper);
    let mut answers = Vec::new();
    let input = UntilStopped::new(input, stop, limits::LAST_INPUT);
    serve_stdio(
        &Contracts::guides(&Tools),
        SessionOptions::default(),
        input,
        &mut answers,
        io::sink(),
    )
    .expect("ends well");
    assert_eq!(text(answers), PONG.repeat(1_000));
    drop(client);
}

#[test]
fn an_input_that_is_not_stopped_ends_by_itself() {
    let (input, client) = io::pipe().expect("makes a pipe");
    let (stop, _stopper) = io::pipe().expect("makes a pipe");
    let writer = thread::spawn(move || (&client).write_all(PING.repeat(5_000).as_bytes()));
    let mut read = String::new();
    UntilStopped::new(input, stop, limits::LAST_INPUT).read_to_string(&mut read).expect("reads");
    assert_eq!(read, PING.repeat(5_000));
    writer.join().expect("no panic").expect("writes");
}

#[test]
fn a_stop_wakes_an_input_that_waits() {
    let (input, _client) = io::pipe().expect("makes a pipe");
    let (stop, stopper) = io::pipe().expect("makes a pipe");
    let reader =
        thread::spawn(move || UntilStopped::new(input, stop, limits::LAST_INPUT).read(&mut [0]));
    drop(stopper);
    assert_eq!(reader.join().expect("no panic").expect("reads"), 0);
}

#[test]
fn an_input_that_never_falls_quiet_ends_all_the_same() {
    let zeros = File::open("/dev/zero").expect("is there");
    let (stop, stopper) = io::pipe().expect("makes a pipe");
    let mut input = UntilStopped::new(zeros, stop, Duration::ZERO);
    assert_eq!(input.read(&mut [1; 10]).expect("reads"), 10);
    drop(stopper);
    assert_eq!(input.read(&mut [1; 10]).expect("reads"), 0);
}

/// Not a test in itself: the child processes below run it.
#[test]
fn serve_in_a_process_of_its_own() {
    if env::var_os(CHILD).is_none() {
        return;
    }
    let stdin = stdin_until_signal().expect("signals can be had");
    let served = serve_stdio(
        &Contracts::guides(&Tools),
        SessionOptions::default(),
        stdin,
        io::stdout(),
        io::stderr(),
    );
    process::exit(if served.is_ok() { 0 } else { 3 });
}

fn start() -> Child {
    Command::new(env::current_exe().expect("is a program"))
        .args(["--exact", "signals::serve_in_a_process_of_its_own", "--nocapture", "--quiet"])
        .env(CHILD, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts")
}

/// The next answer, skipping output of the test harness.
fn answer(stdout: &mut impl BufRead) -> String {
    loop {
        let mut line = String::new();
        let count = stdout.read_line(&mut line).expect("reads");
        if count == 0 || line.starts_with('{') {
            return line;
        }
    }
}

#[test]
fn a_signal_ends_the_process_well_after_the_last_answer() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let mut child = start();
        let mut stdin = child.stdin.take().expect("is piped");
        let mut stdout = BufReader::new(child.stdout.take().expect("is piped"));
        stdin.write_all(PING.as_bytes()).expect("writes");
        assert_eq!(answer(&mut stdout), PONG, "it serves, so it listens for signals");

        stdin.write_all(PING.repeat(500).as_bytes()).expect("writes");
        let id = Pid::from_child(&child);
        kill_process(id, signal).expect("is there");
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).expect("reads");
        assert_eq!(rest, PONG.repeat(500), "{signal:?}");
        assert_eq!(child.wait().expect("ends").code(), Some(0), "{signal:?}");
        drop(stdin);
    }
}

#[test]
fn a_closed_input_ends_the_process_well_and_a_closed_output_does_not() {
    let mut child = start();
    let mut stdout = BufReader::new(child.stdout.take().expect("is piped"));
    let mut stdin = child.stdin.take().expect("is piped");
    stdin.write_all(PING.trim_end().as_bytes()).expect("writes");
    drop(stdin);
    assert_eq!(answer(&mut stdout), PONG);
    assert_eq!(child.wait().expect("ends").code(), Some(0));

    let mut child = start();
    let mut stdin = child.stdin.take().expect("is piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("is piped"));
    stdin.write_all(PING.as_bytes()).expect("writes");
    assert_eq!(answer(&mut stdout), PONG);
    drop(stdout);
    stdin.write_all(PING.as_bytes()).expect("writes");
    assert_eq!(child.wait().expect("ends").code(), Some(3));
}

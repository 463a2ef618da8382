//! A process with writes in flight is stopped and wakes up, while other processes look for undriven
//! runs. A live process keeps its runs, regardless of the clocks.

use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::runs::depot;
use crate::server::{Server, json as answer};
use crate::{Place, finish};

/// The timeout for something that must happen. No test measures time with it.
const PATIENCE: Duration = Duration::from_mins(1);

fn workflow(writes: u64) -> String {
    let each: Vec<u64> = (0..writes).collect();
    format!(
        "workflow: many\nconcurrency: {writes}\nsteps:\n  \
         - {{id: w, for_each: \"${{{{ {each:?} }}}}\", as: n, concurrency: {writes}, \
         run: depot parts:create, body: {{name: \"${{{{ string(n) }}}}\"}}}}\n  \
         - {{id: last, run: depot parts:create, body: {{name: last}}, depends_on: [w]}}\n"
    )
}

/// Counts writes by their key; the server answers each after a delay.
struct Ledger {
    writes: Arc<Mutex<BTreeMap<String, usize>>>,
    server: Server,
}

impl Ledger {
    fn new(after: Duration) -> Ledger {
        let writes: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
        let kept = Arc::clone(&writes);
        let server = Server::start(move |request| {
            let key = request.header("idempotency-key").unwrap_or_default().to_owned();
            *kept.lock().expect("nobody panics").entry(key).or_insert(0) += 1;
            std::thread::sleep(after);
            answer(201, &json!({"id": "p1"}))
        });
        Ledger { writes, server }
    }

    fn writes(&self) -> BTreeMap<String, usize> {
        self.writes.lock().expect("nobody panics").clone()
    }

    fn until(&self, writes: u64) {
        let began = Instant::now();
        while (self.writes().len() as u64) < writes {
            assert!(began.elapsed() < PATIENCE, "only {:?}", self.writes());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Long-lived processes that resume undriven runs, each with its own clock.
struct Beside(Vec<Child>);

impl Beside {
    fn start(place: &Place, lease_ms: Option<u64>) -> Beside {
        let clocks = ["0", "10000", "3600000"].into_iter();
        let children = clocks.map(|clock| {
            let mut command = place.command();
            command.arg("mcp").env("MILEPOST_CLOCK", clock);
            lease_ms.map(|ms| command.env("MILEPOST_LEASE_MS", ms.to_string()));
            command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().expect("starts")
        });
        Beside(children.collect())
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        for child in &mut self.0 {
            drop(child.kill());
            drop(child.wait());
        }
    }
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("fits")).expect("is one");
    kill_process(pid, signal).expect("is there");
}

fn count(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

/// The events of the only run in a folder.
fn events(place: &Place) -> Vec<Value> {
    let runs = place.run(["runs", "--json"]).ends(0).json();
    let run = runs["runs"][0]["run_id"].as_str().expect("a run").to_owned();
    let logs = place.run(["logs", &run, "--json"]).ends(0);
    logs.out.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect()
}

/// A process is stopped for longer than a heartbeat is valid, with all responses waiting in its
/// sockets: they are recorded, nobody is asked about them, and nothing is sent twice.
#[test]
fn a_process_that_was_stopped_keeps_its_run() {
    let (rounds, writes) = (count("MILEPOST_STOPS", 1), count("MILEPOST_STOP_WRITES", 8));
    let stop = Duration::from_millis(count("MILEPOST_STOP_MS", 1_500));
    // Nine real seconds, as when a laptop lid is closed.
    let lease_ms = (stop < Duration::from_secs(6)).then_some(600);
    for round in 0..rounds {
        let ledger = Ledger::new(Duration::from_millis(300));
        let place = depot(&ledger.server);
        place.put("many.yaml", &workflow(writes));
        let mut command = place.command();
        lease_ms.map(|ms| command.env("MILEPOST_LEASE_MS", ms.to_string()));
        command.args(["run", "many.yaml", "--json"]);
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = piped.spawn().expect("starts");
        let _beside = Beside::start(&place, lease_ms);
        ledger.until(writes);
        signal(&child, Signal::STOP);
        std::thread::sleep(stop);
        signal(&child, Signal::CONT);
        let output = child.wait_with_output().expect("ends");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "round {round}: {:?}\n{told}", output.status);
        let took = ledger.writes();
        assert_eq!(took.len() as u64, writes + 1, "round {round}: {took:?}");
        assert!(took.values().all(|times| *times == 1), "round {round}: {took:?}");
        let unknown = events(&place).iter().any(|event| event["event"] == "attempt_unknown");
        assert!(!unknown, "round {round}: somebody was asked");
    }
}

/// Whether a process is stopped; `None` once it has exited.
#[cfg(target_os = "linux")]
fn is_stopped(child: &Child) -> Option<bool> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).ok()?;
    let state = stat.rsplit_once(") ")?.1.chars().next()?;
    (state != 'Z').then_some(state == 'T')
}

/// The run, once another process has taken it over and asks about a write. `None` if there is no
/// run or no question.
#[cfg(target_os = "linux")]
fn taken_over(place: &Place) -> Option<String> {
    let began = Instant::now();
    loop {
        let runs = place.run(["runs", "--json"]).ends(0).json();
        let run = runs["runs"][0]["run_id"].as_str()?.to_owned();
        let view = place.run(["show", &run, "--json"]).ends(0).json();
        if view["waiting"][0]["kind"] == "decision" {
            return Some(run);
        }
        if view["status"] == "succeeded" {
            return None;
        }
        assert!(began.elapsed() < PATIENCE, "nobody takes it over: {view}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Answers as a person that the write in question did not happen.
#[cfg(target_os = "linux")]
fn say_that_it_did_not_happen(place: &Place, run: &str) {
    let binary = env!("CARGO_BIN_EXE_milepost");
    let line = format!("exec {binary} decide {run} --outcome did-not-happen");
    let mut command = crate::program("script");
    command.args(["-qec", &line, "/dev/null"]).current_dir(place.path(""));
    command.env("HOME", place.root.path().join("home")).env("NO_COLOR", "1");
    command.env("MILEPOST_ARRIVES_MS", "0").env("MILEPOST_LEASE_MS", "400");
    let said = finish(&mut command, "y\n");
    assert_eq!(said.code, 0, "{}", said.out);
}

/// A process is stopped between deciding on a write and sending it. Another one takes over, a
/// person says that the write did not happen, and it is sent. The first process wakes and sends
/// nothing.
#[test]
#[cfg(target_os = "linux")]
fn a_process_that_wakes_late_sends_no_old_request() {
    let asked: usize = std::thread::scope(|scope| {
        let rounds: Vec<_> =
            (1..=5).map(|number| scope.spawn(move || usize::from(wakes_late(number)))).collect();
        rounds.into_iter().map(|round| round.join().expect("holds")).sum()
    });
    assert!(asked > 1, "only {asked} were asked about a write");
}

/// Runs that scenario with a process that stops after its commit with this number; returns whether
/// a person was asked.
#[cfg(target_os = "linux")]
fn wakes_late(number: usize) -> bool {
    let ledger = Ledger::new(Duration::ZERO);
    let place = depot(&ledger.server);
    place.put("many.yaml", &workflow(1));
    let mut command = place.command();
    command.env("MILEPOST_LEASE_MS", "400");
    command.env("MILEPOST_FAIL", format!("stops-after@commit:{number}"));
    command.args(["run", "many.yaml", "--json"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().expect("starts");
    let began = Instant::now();
    while is_stopped(&child) == Some(false) {
        assert!(began.elapsed() < PATIENCE, "commit {number}: it goes on and on");
        std::thread::sleep(Duration::from_millis(2));
    }
    let before = ledger.writes().len() as u64;
    let beside = Beside::start(&place, Some(400));
    let run = taken_over(&place);
    if let Some(run) = &run {
        say_that_it_did_not_happen(&place, run);
        ledger.until(before + 1);
    }
    drop(beside);
    signal(&child, Signal::CONT);
    let output = child.wait_with_output().expect("ends");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let took = ledger.writes();
    assert!(took.values().all(|times| *times == 1), "commit {number}: {took:?}\n{told}");
    run.is_some()
}

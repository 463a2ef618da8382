//! Runs that wait for a point in time cost one row each, and every one of them wakes on time.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::Place;
use crate::agent::Agent;
use crate::server::{Reply, Server};

const NAP: &str = "workflow: nap\ninputs: {at: {type: string}}\n\
    steps:\n  - {id: sleep, wait: \"${{ inputs.at }}\"}\n  - {id: wake, set: {awake: true}}\n";

/// Sets the number of runs that sleep at the same time.
const SLEEPERS: &str = "MILEPOST_SLEEPERS";
/// Sets the period over which their wake-ups are spread.
const SPREAD: &str = "MILEPOST_SLEEPERS_MS";
/// The maximum time to start one run.
const STARTING_MS: u64 = 15;
/// How long the test idles while the runs sleep.
const IDLE: Duration = Duration::from_secs(4);
/// How late a run may wake.
const LATE_MS: u64 = 1_000;
/// The maximum memory for all of them together.
const MEMORY_KIB: u64 = 15 * 1024;

fn count(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    u64::try_from(since.as_millis()).expect("fits")
}

/// The private memory of a process.
fn memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("reads");
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).expect("a line");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

/// CPU time of a process, in hundredths of a second.
fn computed(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("reads");
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    let ticks = |index: usize| fields[index].parse::<u64>().expect("a number");
    ticks(11) + ticks(12)
}

/// All runs of a folder, newest first.
fn all(place: &Place) -> Vec<Value> {
    let (mut all, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut words = vec!["runs", "--json", "--limit", "100"];
        words.extend(cursor.iter().flat_map(|cursor| ["--cursor", cursor.as_str()]));
        let mut page = place.run(words).ends(0).json();
        all.append(page["runs"].as_array_mut().expect("a list"));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => return all,
        }
    }
}

/// Prints a measurement for manual inspection.
fn told(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// Starts a run that sleeps until a time.
fn nap(agent: &mut Agent, at_ms: u64) -> String {
    let inputs = json!({"at": milepost_ops::rfc3339(at_ms)});
    let arguments = json!({"workflow_id": "nap", "inputs": inputs, "wait_s": 0});
    agent.call("workflow_run", &arguments)["run_id"].as_str().expect("an id").to_owned()
}

#[test]
fn runs_that_sleep_cost_a_row_and_wake_in_time() {
    let (sleepers, spread_ms) = (count(SLEEPERS, 100), count(SPREAD, 2_000));
    let place = Place::with(&[("nap.yaml", NAP)]);
    place.run(["workflow", "save", "nap.yaml"]).ends(0);
    let mut agent = Agent::connect(&place, &[]);
    // Memory for the first runs does not count towards the cost of each further run.
    for _ in 0..50 {
        nap(&mut agent, now_ms());
    }
    let far = nap(&mut agent, now_ms() + 3_600_000);
    let idle_ms = u64::try_from(IDLE.as_millis()).expect("fits");
    let first_ms = now_ms() + sleepers * STARTING_MS + idle_ms + 1_500;
    let pid = agent.client.pid();
    let before_kib = memory_kib(pid);
    let mut planned = BTreeMap::new();
    for number in 0..sleepers {
        let at_ms = first_ms + number * spread_ms / sleepers;
        planned.insert(nap(&mut agent, at_ms), at_ms);
    }
    assert!(now_ms() + idle_ms < first_ms, "starting them took too long");
    std::thread::sleep(Duration::from_millis(first_ms - idle_ms - now_ms()));
    let (computed_before, during_kib) = (computed(pid), memory_kib(pid));
    std::thread::sleep(IDLE.saturating_sub(Duration::from_millis(500)));
    let computed = computed(pid) - computed_before;
    let more_kib = during_kib.saturating_sub(before_kib);
    told(&format!("{sleepers} sleep: {more_kib} KiB more, {computed} ticks in {IDLE:?}"));
    assert!(more_kib <= MEMORY_KIB, "{sleepers} runs that sleep take {more_kib} KiB");
    // The process polls the journal every two seconds, and does nothing per run.
    assert!(computed <= 4, "{computed} hundredths of a second of computing while all sleep");
    let until_ms = first_ms + spread_ms + LATE_MS + 1_000;
    std::thread::sleep(Duration::from_millis(until_ms.saturating_sub(now_ms())));
    let mut latest = 0;
    for run in all(&place) {
        let id = run["run_id"].as_str().expect("an id");
        if id == far {
            assert_eq!(run["status"], "running", "{run}");
        }
        let Some(at_ms) = planned.remove(id) else { continue };
        assert_eq!(run["status"], "succeeded", "{run}");
        let woke_ms = run["updated_ms"].as_u64().expect("a time");
        assert!(woke_ms >= at_ms, "{run} wakes too early: {at_ms}");
        latest = latest.max(woke_ms - at_ms);
    }
    told(&format!("the latest of {sleepers} woke {latest} ms late"));
    assert!(planned.is_empty() && latest <= LATE_MS, "{latest} ms late; missing: {planned:?}");
}

fn spawned(place: &Place, words: &[&str], fault: &str) -> Child {
    let mut command = place.command();
    command.args(words).env("MILEPOST_FAIL", fault);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("starts")
}

/// A journal that is busy while a run falls asleep or wakes does not delay the wake-up, and the run
/// is not reported as undriven.
#[test]
fn a_run_wakes_while_another_process_keeps_the_journal_busy() {
    const NAPS: &str =
        "workflow: naps\nsteps:\n  - {id: a, wait: 1800ms}\n  - {id: b, wait: 1800ms}\n";
    std::thread::scope(|scope| {
        for delay in [0, 15, 30, 60, 1_800, 1_850] {
            scope.spawn(move || {
                let place = Place::with(&[("naps.yaml", NAPS), ("nap.yaml", NAP)]);
                place.run(["run", "nap.yaml", "-i", "at=2020-01-01T00:00:00Z"]).ends(0);
                let run = spawned(&place, &["run", "naps.yaml"], "");
                std::thread::sleep(Duration::from_millis(delay));
                let words = ["run", "nap.yaml", "-i", "at=2020-01-01T00:00:00Z"];
                let mut busy = spawned(&place, &words, "stops-after@begin:2");
                std::thread::sleep(Duration::from_secs(3));
                crate::stopped::signal(&busy, Signal::CONT);
                let ended = run.wait_with_output().expect("ends");
                let told = String::from_utf8_lossy(&ended.stderr).into_owned();
                assert!(ended.status.success(), "after {delay} ms: {:?} {told}", ended.status);
                drop(busy.wait());
            });
        }
    });
}

/// A run interrupted while waiting for a retry sleeps: nothing resumes it early, and nobody is
/// asked to.
#[test]
fn a_run_interrupted_before_a_retry_sleeps() {
    let server = Server::start(|_| {
        std::thread::sleep(Duration::from_millis(800));
        let headers = vec![("retry-after", "60".to_owned())];
        Reply::Answer(429, headers, Vec::new())
    });
    let place = crate::runs::depot(&server);
    let text = "workflow: again\nsteps:\n  \
        - {id: a, run: depot parts:create, body: {name: x}, retry: {max_attempts: 3}}\n";
    place.put("again.yaml", text);
    let run = spawned(&place, &["run", "again.yaml", "--json"], "");
    while server.seen().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    crate::stopped::signal(&run, Signal::INT);
    drop(run.wait_with_output().expect("ends"));
    let listed = &place.run(["runs", "--json"]).ends(0).json()["runs"][0];
    let id = listed["run_id"].as_str().expect("an id");
    let show = || place.run(["show", id, "--json"]).ends(0).json();
    assert_eq!(show()["waiting"][0]["kind"], "adrift", "nobody is there to wake it");
    let _tends = Agent::connect(&place, &[]);
    let until = Instant::now() + Duration::from_secs(20);
    while show()["status"] != "running" {
        assert!(Instant::now() < until, "{}", show());
        std::thread::sleep(Duration::from_millis(50));
    }
    // By then, the search for undriven runs has taken place and has left the run alone.
    let until = Instant::now() + Duration::from_millis(2_500);
    while Instant::now() < until {
        assert_eq!(show()["status"], "running", "{}", show());
    }
    assert_eq!(server.seen().len(), 1);
}

/// A command that sends a message to a sleeping run need not stay until the run wakes, as long as
/// the process that will wake it is alive.
#[test]
fn sending_to_a_sleeping_run_does_not_wait_for_it() {
    const BOTH: &str = "workflow: both\nconcurrency: 2\nsteps:\n  - {id: nap, wait: 30s}\n  \
        - {id: look, prompt: Look, depends_on: []}\n";
    let place = Place::with(&[("both.yaml", BOTH), ("done.txt", "done")]);
    let mut run = spawned(&place, &["run", "both.yaml", "--json"], "");
    let id = loop {
        let listed = place.run(["runs", "--json"]).ends(0).json();
        if let Some(id) = listed["runs"][0]["run_id"].as_str() {
            break id.to_owned();
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    // The run has fallen asleep by then.
    std::thread::sleep(Duration::from_millis(500));
    let began = Instant::now();
    let told = place.run(["submit", &id, "look", "done.txt", "--json"]);
    assert!(told.out.contains("\"accepted\":true"), "{} {}", told.out, told.err);
    assert!(began.elapsed() < Duration::from_secs(10), "it took {:?}", began.elapsed());
    drop(run.kill());
    drop(run.wait());
}

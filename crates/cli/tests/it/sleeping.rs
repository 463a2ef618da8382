//! Runs that wait for a time: they cost a row each, and every one of them wakes in time.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use crate::Place;
use crate::agent::Agent;

const NAP: &str = "workflow: nap\ninputs: {at: {type: string}}\n\
    steps:\n  - {id: sleep, wait: \"${{ inputs.at }}\"}\n  - {id: wake, set: {awake: true}}\n";

/// Runs that sleep at the same time.
const SLEEPERS: &str = "MILEPOST_SLEEPERS";
/// Over how long their wake-ups are spread.
const SPREAD: &str = "MILEPOST_SLEEPERS_MS";
/// What it takes to start one, at most.
const STARTING_MS: u64 = 15;
/// How long nothing happens while they sleep.
const IDLE: Duration = Duration::from_secs(4);
/// How late one may wake.
const LATE_MS: u64 = 1_000;
/// What all of them together may take.
const MEMORY_KIB: u64 = 15 * 1024;

fn count(variable: &str, usual: u64) -> u64 {
    std::env::var(variable).ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    u64::try_from(since.as_millis()).expect("fits")
}

/// The memory that a process has for itself.
fn memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("reads");
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).expect("a line");
    line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
}

/// Hundredths of a second that a process has computed for.
fn computed(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("reads");
    let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
    let ticks = |index: usize| fields[index].parse::<u64>().expect("a number");
    ticks(11) + ticks(12)
}

/// All runs of a place, newest first.
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

/// Tells a figure to whoever asked for it.
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
    // What a process needs for the first runs is not what the next ones cost.
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
    // A look at the journal every two seconds, and nothing for each of them.
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

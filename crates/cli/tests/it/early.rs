//! Requests that are sent before their cause is on disk. Only a read that follows a read in a
//! relaxed run may be sent early; a write, or anything after a write, never is.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::Place;
use crate::crash::{THINGS, whole_lines};
use crate::server::{Server, json as answer};

const STEPS: &str = "
steps:
  - {id: a, run: things things:get, with: {id: a}}
  - {id: b, run: things things:get, with: {id: b}}
  - {id: c, run: things things:create, body: {}}
  - {id: d, run: things things:get, with: {id: d}}
  - {id: e, run: things things:get, with: {id: e}}
";

/// The requests that a process sent before it died at a commit, and the part of them that is on
/// disk.
struct Death {
    sent: Vec<String>,
    journal: Vec<(String, String)>,
}

impl Death {
    fn wrote(&self, name: &str, step: &str) -> bool {
        self.journal.iter().any(|(event, key)| event == name && key == step)
    }

    /// Steps whose request was sent before anything about them was on disk.
    fn early(&self) -> Vec<&str> {
        let sent = self.sent.iter().map(String::as_str);
        sent.filter(|step| !self.wrote("attempt_started", step)).collect()
    }
}

/// Kills a process right before each of its commits.
fn deaths(head: &str, durability: &str) -> Vec<Death> {
    let sent: Arc<Mutex<Vec<String>>> = Arc::default();
    let own = Arc::clone(&sent);
    // Opens the connection beforehand, because a request would otherwise wait for one.
    let server = Server::lasting(move |request| {
        let step = match request.method.as_str() {
            "GET" => request.target.rsplit('/').next().unwrap_or_default().to_owned(),
            _ => "c".to_owned(),
        };
        own.lock().expect("nobody panics").push(step);
        answer(200, &json!({"id": "t1"}))
    });
    let place = Place::with(&[("things.yaml", THINGS)]);
    place.put("main.yaml", &format!("workflow: main\n{head}{STEPS}"));
    place.run(["catalog", "import", "things.yaml", "--base-url", &server.url]).ends(0);
    let mut deaths = Vec::new();
    for number in 1..40 {
        sent.lock().expect("nobody panics").clear();
        let mut command = place.command();
        command.env("MILEPOST_FAIL", format!("dies@commit:{number}"));
        let ended = command.args(["run", "main.yaml", "--durability", durability]).output();
        if ended.expect("starts").status.success() {
            assert!(deaths.len() > 5, "it dies once for every step at least");
            return deaths;
        }
        let listed = place.run(["runs", "--json"]).ends(0).json();
        let Some(run) = listed["runs"][0]["run_id"].as_str().map(str::to_owned) else { continue };
        let logs = place.run(["logs", &run, "--json"]).ends(0);
        let text = |event: &Value, name: &str| event[name].as_str().unwrap_or_default().to_owned();
        let events = whole_lines(logs.out.as_bytes()).into_iter();
        let journal = events.map(|event| (text(&event, "event"), text(&event, "key"))).collect();
        let sent = sent.lock().expect("nobody panics").clone();
        place.run(["cancel", &run, "--yes"]);
        deaths.push(Death { sent, journal });
    }
    unreachable!("it never comes to its end")
}

#[test]
fn a_durable_run_sends_nothing_early() {
    for death in deaths("", "full") {
        assert_eq!(death.early(), [""; 0], "{:?}", death.journal);
    }
}

#[test]
fn a_relaxed_run_sends_reads_after_reads_early() {
    let deaths = deaths("", "relaxed");
    let mut early: Vec<&str> = deaths.iter().flat_map(Death::early).collect();
    early.sort_unstable();
    assert_eq!(early, ["b", "e"], "after a write, or to write, it waits");
    for death in &deaths {
        let done = death.wrote("attempt_succeeded", "c");
        assert!(done || !death.sent.contains(&"d".to_owned()), "{:?}", death.journal);
    }
}

#[test]
fn a_relaxed_run_with_a_budget_counts_before_it_sends() {
    for death in deaths("budget: {http_calls: 9}", "relaxed") {
        assert_eq!(death.early(), [""; 0], "{:?}", death.journal);
    }
}

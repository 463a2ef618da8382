//! Kills real processes at random moments, several at a time. Nothing that was acknowledged may be
//! lost, and nothing unrepeatable may be repeated.
//!
//! Players bring runs to their end, and a hunter chases each of their processes. The output of each
//! process before its death is recorded, and when a run ends, all of it must be in the journal.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::Place;
use crate::crash::whole_lines;
use crate::runs::depot;
use crate::server::{Server, json as answer};

/// The number of concurrent players, besides the one that saves workflows.
const PLAYERS: usize = 3;
/// How many live processes of each kind must be killed.
const WANTED: [(&str, usize); 6] =
    [("run", 40), ("submit", 45), ("approve", 45), ("resume", 45), ("save", 70), ("mcp", 60)];
/// The time after which the hunt is given up. No test measures time with it.
const PATIENCE: Duration = Duration::from_mins(4);

/// Waits for everything that a run can wait for, with unrepeatable writes in between.
const PLAYED: &str = r#"
workflow: played
concurrency: 2
steps:
  - {id: a, run: depot parts:list}
  - {id: b, run: depot parts:create, body: {name: b}, depends_on: [a]}
  - {id: again, run: depot parts:create, body: {name: c}, idempotent: true, depends_on: [a]}
  - {id: p, prompt: Look, depends_on: [b, again]}
  - {id: d, run: depot parts:create, body: {of: "${{ steps.p.output }}"}}
  - {id: ok, approve: "Send ${{ steps.p.output }}?", depends_on: [d]}
  - {id: e, run: depot parts:create, body: {name: e}, depends_on: [ok]}
  - {id: q, prompt: Look again, depends_on: [e]}
  - {id: sure, approve: "And ${{ steps.q.output }}?", depends_on: [q]}
  - {id: f, run: depot parts:create, body: {of: "${{ steps.q.output }}"}, depends_on: [sure]}
final_output: {p: "${{ steps.p.output }}", q: "${{ steps.q.output }}"}
"#;

/// A pseudo-random generator, good enough to choose moments.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % below.max(1)
    }
}

/// State shared by all players.
struct Hunt {
    place: Place,
    /// Requests, counted by their idempotency key.
    ledger: Arc<Mutex<BTreeMap<String, usize>>>,
    /// Processes killed while alive, by kind.
    hits: Mutex<BTreeMap<&'static str, usize>>,
    began: Instant,
    _server: Server,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody panics")
}

struct Ended {
    killed: bool,
    code: Option<i32>,
    /// The complete lines that the process printed.
    lines: Vec<Value>,
}

impl Hunt {
    fn new() -> Hunt {
        let ledger: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
        let kept = Arc::clone(&ledger);
        let server = Server::start(move |request| {
            if request.method == "POST" {
                let key = request.header("idempotency-key").unwrap_or_default().to_owned();
                *lock(&kept).entry(key).or_insert(0) += 1;
            }
            answer(200, &json!({"id": "p1", "items": [1, 2, 3]}))
        });
        let place = depot(&server);
        place.put("played.yaml", PLAYED);
        let hits = Mutex::new(BTreeMap::new());
        Hunt { place, ledger, hits, began: Instant::now(), _server: server }
    }

    /// Whether enough processes have been killed.
    fn is_over(&self) -> bool {
        assert!(self.began.elapsed() < PATIENCE, "only {:?} were killed", lock(&self.hits));
        WANTED.iter().all(|(kind, _)| self.has_enough(kind))
    }

    fn has_enough(&self, kind: &str) -> bool {
        let hits = lock(&self.hits).get(kind).copied().unwrap_or(0);
        WANTED.iter().any(|(of, wanted)| *of == kind && hits >= *wanted)
    }

    fn hit(&self, kind: &'static str) {
        *lock(&self.hits).entry(kind).or_default() += 1;
    }

    fn show(&self, run: &str) -> Value {
        self.place.run(["show", run, "--json"]).ends(0).json()
    }

    /// The events of a run on disk.
    fn logs(&self, run: &str) -> Vec<Value> {
        whole_lines(self.place.run(["logs", run, "--json"]).ends(0).out.as_bytes())
    }
}

/// Kills processes, and learns how long processes of each kind live.
struct Hunter<'h> {
    hunt: &'h Hunt,
    dice: Dice,
    /// The time window in milliseconds in which a process of each kind is killed.
    spans: BTreeMap<&'static str, u64>,
}

impl Hunter<'_> {
    fn moment(&mut self, kind: &'static str) -> Duration {
        let span = *self.spans.entry(kind).or_insert(120);
        Duration::from_micros(self.dice.next(span * 1_000))
    }

    /// Kills a process at a random time.
    fn hunt(&mut self, kind: &'static str, words: &[&str], typed: Option<&str>) -> Ended {
        let moment = self.moment(kind);
        let mut child = self.spawn(words, typed);
        std::thread::sleep(moment);
        match typed {
            // Kills the process inside the terminal, not the terminal.
            Some(_) => kill_inner(&child),
            None => drop(child.kill()),
        }
        let mut out = Vec::new();
        child.stdout.take().expect("is piped").read_to_end(&mut out).expect("reads");
        let status = child.wait().expect("ends");
        let killed = status.signal() == Some(9) || status.code() == Some(137);
        let span = self.spans.entry(kind).or_insert(120);
        *span = if killed { (*span * 21 / 20 + 1).min(1_500) } else { (*span * 9 / 10).max(10) };
        if killed {
            self.hunt.hit(kind);
        }
        Ended { killed, code: status.code(), lines: whole_lines(&out) }
    }

    fn spawn(&self, words: &[&str], typed: Option<&str>) -> Child {
        let place = &self.hunt.place;
        let mut command = place.command();
        if typed.is_some() {
            let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
            let line = format!("exec {} {}", env!("CARGO_BIN_EXE_milepost"), words.join(" "));
            command = crate::program("script");
            command.env("MILEPOST_ARRIVES_MS", "0");
            command.args(["-qec", &line, "/dev/null"]).current_dir(place.path(""));
            command.env("HOME", place.root.path().join("home")).env("NO_COLOR", "1");
        } else {
            command.args(words);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("starts");
        let mut stdin = child.stdin.take().expect("is piped");
        // A dead process does not read its input, so a failed write is fine.
        drop(stdin.write_all(typed.unwrap_or_default().as_bytes()));
        child
    }

    /// Calls a tool of a server and kills the server some time after the call. Returns the answer
    /// if one arrived in time.
    fn call(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        let moment = self.moment("mcp");
        let mut command = self.hunt.place.command();
        command.arg("mcp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("starts");
        let mut stdin = child.stdin.take().expect("is piped");
        let mut stdout = BufReader::new(child.stdout.take().expect("is piped"));
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(stdin, "{hello}").expect("is read");
        let mut line = String::new();
        stdout.read_line(&mut line).expect("answers");
        let params = json!({"name": tool, "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
        writeln!(stdin, "{ready}\n{call}").expect("is read");
        std::thread::sleep(moment);
        assert!(child.try_wait().expect("is a child").is_none(), "it lives as long as its client");
        child.kill().expect("is killed");
        let mut out = Vec::new();
        stdout.read_to_end(&mut out).expect("reads");
        assert_eq!(child.wait().expect("ends").signal(), Some(9));
        drop(stdin);
        self.hunt.hit("mcp");
        let mut lines = whole_lines(&out).into_iter();
        let mut answer = lines.find(|line| line["id"] == 2)?;
        // An earlier submission whose answer was never read may have been accepted by this server.
        if answer["result"]["structuredContent"]["error_code"] == "STEP_NOT_DUE" {
            return None;
        }
        assert_ne!(answer["result"]["isError"], true, "{tool} {arguments}: {answer}");
        Some(answer["result"]["structuredContent"].take())
    }
}

/// Kills the program behind a terminal, once the terminal has started it.
fn kill_inner(terminal: &Child) {
    let ours = Path::new(env!("CARGO_BIN_EXE_milepost"));
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until {
        let id = terminal.id();
        let children = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let Ok(children) = children else { return };
        let Some(child) = children.split_whitespace().next() else {
            if fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| stat.contains(") Z"))
            {
                return;
            }
            std::thread::yield_now();
            continue;
        };
        if fs::read_link(format!("/proc/{child}/exe")).is_ok_and(|exe| exe == ours) {
            let child = child.parse().ok().and_then(Pid::from_raw).expect("is a process");
            // The process may have just exited by itself.
            let _ = kill_process(child, Signal::KILL);
            return;
        }
        std::thread::yield_now();
    }
}

/// The acknowledgements and submissions of one run.
#[derive(Default)]
struct Record {
    run: String,
    /// Events that were printed.
    printed: Vec<Value>,
    /// Every text that was submitted for a step, latest last, and the text that was accepted.
    handed_in: BTreeMap<String, (Vec<String>, Option<String>)>,
    approved: Vec<String>,
    decided: Vec<String>,
    /// Requests that the person declared not to have happened.
    absolved: BTreeMap<String, usize>,
}

/// Brings one run after another to its end.
struct Player<'h> {
    hunter: Hunter<'h>,
    number: usize,
    texts: usize,
}

impl Player<'_> {
    fn play(&mut self) {
        while !self.hunter.hunt.is_over() {
            let mut record = self.begin();
            self.finish(&mut record);
        }
    }

    /// Starts runs until one is acknowledged.
    fn begin(&mut self) -> Record {
        loop {
            let mut record = Record::default();
            if self.hunter.dice.next(3) == 0 {
                let arguments = json!({"manifest": PLAYED, "wait_s": 5});
                let Some(run) = self.hunter.call("workflow_run", &arguments) else { continue };
                run["run_id"].as_str().expect("an id").clone_into(&mut record.run);
                return record;
            }
            let ended = self.hunter.hunt("run", &["run", "played.yaml", "--json"], None);
            let Some(first) = ended.lines.first() else { continue };
            first["run"].as_str().expect("an id").clone_into(&mut record.run);
            record.note(&ended);
            return record;
        }
    }

    fn finish(&mut self, record: &mut Record) {
        let until = Instant::now() + PATIENCE;
        while Instant::now() < until {
            let view = self.hunter.hunt.show(&record.run);
            match view["status"].as_str().expect("a status") {
                "succeeded" => return record.check(self.hunter.hunt, &view),
                // A server that is still alive may be driving the run.
                "running" => std::thread::yield_now(),
                "waiting" => self.answer(record, &view["waiting"][0]),
                other => unreachable!("{other}: {view}"),
            }
        }
        unreachable!("{} does not end: {}", record.run, self.hunter.hunt.show(&record.run));
    }

    fn answer(&mut self, record: &mut Record, waiting: &Value) {
        let run = record.run.clone();
        let step = waiting["step"].as_str().unwrap_or_default().to_owned();
        match waiting["kind"].as_str().expect("a kind") {
            "adrift" => {
                let ended = self.hunter.hunt("resume", &["resume", &run, "--json"], None);
                record.note(&ended);
            }
            "agent" => self.submit(record, &step),
            "approval" => {
                assert!(!record.approved.contains(&step), "{run}: `{step}` is asked for again");
                let ended = self.hunter.hunt("approve", &["approve", &run, "--json"], Some("y\n"));
                let told = ended.lines.iter().any(|line| line["run_id"] == run);
                if told || !ended.killed && matches!(ended.code, Some(0 | 4 | 5)) {
                    record.approved.push(step);
                }
            }
            "decision" => self.decide(record, &step),
            other => unreachable!("{other}: {waiting}"),
        }
    }

    fn submit(&mut self, record: &mut Record, step: &str) {
        let run = record.run.clone();
        self.texts += 1;
        let text = format!("text {} of player {}", self.texts, self.number);
        let (all, accepted) = record.handed_in.entry(step.to_owned()).or_default();
        assert_eq!(*accepted, None, "{run}: `{step}` is asked for again");
        all.push(text.clone());
        let told = if self.hunter.dice.next(3) == 0 {
            let arguments = json!({"run_id": run, "step_id": step, "output": text});
            self.hunter.call("workflow_submit", &arguments)
        } else {
            let file = format!("{}.txt", self.number);
            self.hunter.hunt.place.put(&file, &text);
            let words = ["submit", &run, step, &file, "--json"];
            self.hunter.hunt("submit", &words, None).lines.into_iter().next()
        };
        if let Some(told) = told {
            // An earlier process may have submitted the step and died before reading the answer;
            // then this submission is too late.
            if told["accepted"] == true {
                *accepted = Some(text);
            }
        }
    }

    /// Settles a request according to what the server knows about it.
    fn decide(&mut self, record: &mut Record, step: &str) {
        let run = record.run.clone();
        assert!(!record.decided.contains(&step.to_owned()), "{run}: `{step}` is asked for again");
        let key = format!("{run}/{step}");
        let sent = lock(&self.hunter.hunt.ledger).contains_key(&key);
        let outcome = if sent { "happened" } else { "did-not-happen" };
        let mut words = vec!["decide", &run, "--step", step, "--outcome", outcome, "--json"];
        if sent {
            words.extend(["--output", r#"{"id": "p1"}"#]);
        } else {
            *record.absolved.entry(key).or_default() += 1;
        }
        let ended = self.hunter.hunt("decide", &words, Some("y\n"));
        if sent && !ended.killed && matches!(ended.code, Some(0 | 4 | 5)) {
            record.decided.push(step.to_owned());
        }
    }
}

impl Record {
    fn note(&mut self, ended: &Ended) {
        self.printed.extend(ended.lines.iter().filter(|line| line["event"].is_string()).cloned());
    }

    /// Asserts that everything acknowledged is present, and that no request was sent more often
    /// than allowed.
    fn check(&self, hunt: &Hunt, view: &Value) {
        let logs = hunt.logs(&self.run);
        for event in &self.printed {
            assert!(logs.contains(event), "{}: {event} was told and is gone", self.run);
        }
        let of = |name: &str, key: &str| -> Vec<&Value> {
            logs.iter().filter(|event| event["event"] == name && event["key"] == key).collect()
        };
        for (step, (all, accepted)) in &self.handed_in {
            let kept = of("submission_accepted", step);
            assert_eq!(kept.len(), 1, "{}: {step}", self.run);
            let kept = kept[0]["output"].as_str().expect("a text").to_owned();
            assert!(all.contains(&kept), "{}: nobody handed in {kept}", self.run);
            let lost = accepted.as_ref().filter(|accepted| **accepted != kept);
            assert_eq!(lost, None, "{}: was accepted, but {kept} is there", self.run);
            let name = view["final_output"][step.as_str()].as_str();
            assert_eq!(name, Some(kept.as_str()), "{}", self.run);
        }
        for step in ["ok", "sure"] {
            assert_eq!(of("approval_requested", step).len(), 1, "{}: {step}", self.run);
            assert_eq!(of("approved", step).len(), 1, "{}: {step}", self.run);
        }
        for step in &self.decided {
            assert!(!of("outcome_decided", step).is_empty(), "{}: {step}", self.run);
        }
        let ledger = lock(&hunt.ledger);
        for step in ["b", "d", "e", "f"] {
            let key = format!("{}/{step}", self.run);
            let (sent, absolved) =
                (ledger.get(&key).copied(), self.absolved.get(&key).copied().unwrap_or(0));
            let right = sent.is_some_and(|sent| (1..=1 + absolved).contains(&sent));
            assert!(right, "{key}: sent {sent:?} times, {absolved} by a person's word");
        }
    }
}

/// Saves the same workflow over and over.
fn save(hunter: &mut Hunter<'_>) {
    let hunt = hunter.hunt;
    let text = |number: usize| {
        let more = "# more\n".repeat(number % 40);
        format!("workflow: saved  # {number}\nsteps: [{{id: a, prompt: Look}}]\n{more}")
    };
    let path = hunt.place.root.path().join("home/.config/milepost/workflows/saved.yaml");
    let mut acknowledged = Vec::new();
    let (mut number, mut last) = (0, 0);
    while !hunt.has_enough("save") {
        number += 1;
        hunt.place.put("saved.yaml", &text(number));
        let words = ["workflow", "save", "saved.yaml", "--overwrite", "--json"];
        let ended = hunter.hunt("save", &words, None);
        let there = fs::read_to_string(&path).unwrap_or_default();
        // The file is complete, no matter which process wrote it, and never older than the last
        // acknowledged version.
        let mark = there.lines().next().and_then(|line| line.rsplit(' ').next()?.parse().ok());
        let found: usize = mark.unwrap_or(0);
        assert!(found == 0 && there.is_empty() || there == text(found), "{there}");
        if let Some(told) = ended.lines.first() {
            last = number;
            acknowledged.push(told["version"].as_str().expect("a version").to_owned());
        }
        assert!((last..=number).contains(&found), "{last} was acknowledged, {found} is there");
    }
    let words = ["workflow", "versions", "saved", "--limit", "1000", "--json"];
    let versions = hunt.place.run(words).ends(0).json();
    let all = versions["versions"].as_array().expect("a list").iter();
    let all: Vec<&str> = all.filter_map(|one| one["version"].as_str()).collect();
    assert!(acknowledged.len() > 5, "only {} were acknowledged", acknowledged.len());
    for version in &acknowledged {
        assert!(all.contains(&version.as_str()), "{version} was acknowledged and is lost");
    }
}

#[test]
fn killed_at_any_moment_nothing_acknowledged_is_lost() {
    let hunt = Hunt::new();
    std::thread::scope(|scope| {
        for number in 0..PLAYERS {
            let hunt = &hunt;
            scope.spawn(move || {
                let dice = Dice(7 + number as u64);
                let hunter = Hunter { hunt, dice, spans: BTreeMap::new() };
                Player { hunter, number, texts: 0 }.play();
            });
        }
        let hunt = &hunt;
        scope.spawn(move || {
            save(&mut Hunter { hunt, dice: Dice(99), spans: BTreeMap::new() });
        });
    });
    let hits = lock(&hunt.hits);
    let all: usize = hits.values().sum();
    assert!(all >= 300, "{hits:?}");
    for (key, sent) in lock(&hunt.ledger).iter() {
        // Runs that were never acknowledged have no player, but their requests are not repeated
        // either.
        assert!(key.contains('/') && *sent >= 1, "{key}");
    }
}

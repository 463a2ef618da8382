//! `workflow.save` by many callers that have seen the same version: one wins, and the others get a
//! conflict.
//!
//! Two processes, each with its own operations and many threads, as with two servers and many
//! clients.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Barrier, Mutex};
use std::thread;

use milepost_ops::{Code, Operations, Reader, SilentCaller, Writer};
use milepost_store::secrets::Environment;
use milepost_store::workflows::WorkflowHistory;
use milepost_store::{Digest, Locations};
use serde_json::{Value, json};

const THREADS: usize = 64;
/// The number of rounds in a full test run, and in a normal one.
const ROUNDS: (usize, usize) = (1_000, 60);
/// The number of rounds between two external edits.
const EDIT_EVERY: usize = 20;
/// Set in full test runs: see `cargo xtask test`.
const FULL: &str = "MILEPOST_TEST_FULL";
/// Tells the other process its role and its directory.
const DIRECTORY: &str = "MILEPOST_TEST_RACE_DIRECTORY";

/// A source with unusual formatting that any rewrite would change.
fn text(who: &str) -> String {
    format!(
        "\u{feff}# of {who}\r\nworkflow:   race   # mine\r\nsteps:\n  \
         - {{id: a,   prompt: \"Look, {who}\"}}\t \n\n\n# the end, without a line of its own"
    )
}

fn locations(root: &Path) -> Locations {
    let below = |name: &str| root.join(name).display().to_string();
    let (home, run) = (below("home"), below("run"));
    let variable = |name: &str| match name {
        "HOME" => Some(home.clone()),
        "REGISTRY_WORKFLOWS_PATH" => Some(run.clone()),
        _ => None,
    };
    Locations::resolve(&variable, root)
}

fn digest(bytes: &[u8]) -> String {
    Digest::of(bytes).to_string()
}

/// The outcome of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    /// The call was first; contains the current version.
    Won(String),
    /// Another call was first; contains the current version.
    Lost(String),
}

/// The threads of one process, which all call at once.
struct Crowd<'c> {
    operations: &'c Operations,
    /// Synchronizes the start and the end of each round.
    gate: &'c Barrier,
    /// The expected version and the name of the caller for this round. `None` ends all threads.
    round: &'c Mutex<Option<(String, String)>>,
    told: &'c Mutex<Vec<Told>>,
}

impl Crowd<'_> {
    fn join(&self, number: usize) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        loop {
            self.gate.wait();
            let round = self.round.lock().expect("is whole").clone();
            let Some((expected, who)) = round else { return };
            let content = text(&format!("{who} {number}"));
            let arguments = json!({"content": content, "expected_version": expected});
            let answer = self.operations.call_and_wait("workflow.save", &SilentCaller, arguments);
            let told = match runtime.block_on(answer) {
                Ok(answer) => {
                    let saved: Value = serde_json::from_str(answer.json()).expect("is JSON");
                    assert_eq!(saved["previous_version"], expected);
                    assert_eq!(saved["version"], digest(content.as_bytes()));
                    Told::Won(digest(content.as_bytes()))
                }
                Err(problem) => {
                    assert_eq!(problem.code, Code::WorkflowVersionConflict, "{problem:?}");
                    assert_eq!(problem.context["expected"], expected);
                    Told::Lost(problem.context["found"].as_str().expect("a version").to_owned())
                }
            };
            self.told.lock().expect("is whole").push(told);
            self.gate.wait();
        }
    }
}

/// Plays rounds with all threads of this process. The callback takes the expected version and
/// returns all outcomes.
fn crowd<T>(root: &Path, play: impl FnOnce(&mut dyn FnMut(&str, &str) -> Vec<Told>) -> T) -> T {
    let writer = Writer::open(Reader::open(locations(root)), Environment::default());
    let operations = Operations::new(writer);
    let (gate, round, told) = (Barrier::new(THREADS + 1), Mutex::default(), Mutex::default());
    let crowd = Crowd { operations: &operations, gate: &gate, round: &round, told: &told };
    thread::scope(|scope| {
        for number in 0..THREADS {
            let crowd = &crowd;
            scope.spawn(move || crowd.join(number));
        }
        let ended = play(&mut |expected, who| {
            *round.lock().expect("is whole") = Some((expected.to_owned(), who.to_owned()));
            gate.wait();
            gate.wait();
            std::mem::take(&mut *told.lock().expect("is whole"))
        });
        *round.lock().expect("is whole") = None;
        gate.wait();
        ended
    })
}

/// The version of the winner, if there is one; all losers must report the same version.
fn winner(told: &[Told]) -> Option<String> {
    assert_eq!(told.len(), THREADS, "each is answered");
    let won = told.iter().filter_map(|one| match one {
        Told::Won(version) => Some(version.clone()),
        Told::Lost(_) => None,
    });
    let won: Vec<String> = won.collect();
    assert!(won.len() <= 1, "{won:?}");
    won.into_iter().next()
}

/// Asserts that every loser was told this version.
fn lost_to(told: &[Told], version: &str) {
    let right = |one: &Told| matches!(one, Told::Lost(found) if found == version);
    let wrong = told.iter().filter(|one| matches!(one, Told::Lost(_)) && !right(one)).count();
    assert_eq!(wrong, 0, "{told:?} against {version}");
}

/// The other process: reads one expected version per line, and prints one outcome per line.
fn follow(root: &Path) {
    crowd(root, |play| {
        for (round, line) in io::stdin().lock().lines().enumerate() {
            let told = play(&line.expect("reads"), &format!("second {round}"));
            let won = winner(&told);
            let seen = told.iter().find_map(|one| match one {
                Told::Lost(found) => Some(found.clone()),
                Told::Won(_) => None,
            });
            let seen = seen.expect("at least one loses");
            lost_to(&told, &seen);
            let won = won.unwrap_or_else(|| "-".to_owned());
            writeln!(io::stdout(), "race: {won} {seen}").expect("somebody reads");
        }
    });
}

struct Follower {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Follower {
    fn start(root: &Path) -> Follower {
        let mut child = Command::new(env::current_exe().expect("has a path"))
            .args(["--exact", "race::of_many_who_save_over_one_version_one_is_first"])
            .arg("--nocapture")
            .env(DIRECTORY, root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let input = child.stdin.take().expect("is piped");
        let output = BufReader::new(child.stdout.take().expect("is piped"));
        Follower { child, input, output }
    }

    fn go(&mut self, expected: &str) {
        writeln!(self.input, "{expected}").expect("is read");
    }

    /// The version the other process won with, if any, and the version reported to its losers.
    fn told(&mut self) -> (Option<String>, String) {
        let mut line = String::new();
        while !line.starts_with("race: ") {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).expect("reads"), 0, "it has ended");
        }
        let mut words = line.split_whitespace().skip(1).map(str::to_owned);
        let (won, seen) = (words.next().expect("a word"), words.next().expect("a word"));
        ((won != "-").then_some(won), seen)
    }
}

/// The state of the race.
struct Race<'r> {
    file: PathBuf,
    follower: Follower,
    play: &'r mut dyn FnMut(&str, &str) -> Vec<Told>,
    /// The number of rounds won by each process.
    won: [usize; 2],
}

impl Race<'_> {
    /// All threads save over the current version, and exactly one wins.
    fn round(&mut self, number: usize, expected: &str) -> String {
        self.follower.go(expected);
        let told = (self.play)(expected, &format!("first {number}"));
        let (ours, (theirs, seen)) = (winner(&told), self.follower.told());
        let (first, won) = match (ours, theirs) {
            (Some(ours), None) => (0, ours),
            (None, Some(theirs)) => (1, theirs),
            won => panic!("round {number}: {won:?}"),
        };
        self.won[first] += 1;
        lost_to(&told, &won);
        assert_eq!(seen, won, "round {number}");
        // The file contains the bytes of exactly one caller.
        let bytes = fs::read(&self.file).expect("reads");
        assert_eq!(digest(&bytes), won, "round {number}");
        won
    }

    /// After an external edit, nobody who has not seen it wins.
    fn edited(&mut self, number: usize, expected: &str) -> String {
        let edit = text(&format!("an editor {number}"));
        fs::write(&self.file, &edit).expect("an editor writes");
        let there = digest(edit.as_bytes());
        self.follower.go(expected);
        let told = (self.play)(expected, &format!("late {number}"));
        let (theirs, seen) = self.follower.told();
        assert_eq!((winner(&told), theirs), (None, None), "edit {number}");
        lost_to(&told, &there);
        assert_eq!(seen, there, "edit {number}");
        assert_eq!(fs::read(&self.file).expect("reads"), edit.as_bytes(), "edit {number}");
        there
    }
}

#[test]
fn of_many_who_save_over_one_version_one_is_first() {
    if let Some(directory) = env::var_os(DIRECTORY) {
        return follow(Path::new(&directory));
    }
    let rounds = if env::var_os(FULL).is_some() { ROUNDS.0 } else { ROUNDS.1 };
    // Uses memory if possible: the test is about who wins, not about the disk.
    let memory = Path::new("/dev/shm");
    let root = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    let root = root.expect("makes a directory");
    let writer = Writer::open(Reader::open(locations(root.path())), Environment::default());
    let first = text("the first");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let operations = Operations::new(writer);
    let saved = operations.call_and_wait("workflow.save", &SilentCaller, json!({"content": first}));
    runtime.block_on(saved).expect("saves");
    let (won, edits) = crowd(root.path(), |play| {
        let follower = Follower::start(root.path());
        let file = root.path().join("run/race.yaml");
        let mut race = Race { file, follower, play, won: [0, 0] };
        let (mut version, mut edits) = (digest(first.as_bytes()), 0);
        for number in 0..rounds {
            version = race.round(number, &version);
            if number % EDIT_EVERY == EDIT_EVERY - 1 {
                version = race.edited(number, &version);
                edits += 1;
            }
        }
        drop(race.follower.input);
        assert!(race.follower.child.wait().expect("ends").success());
        (race.won, edits)
    });
    assert_eq!(won[0] + won[1], rounds);
    assert!(won.iter().all(|won| *won > 0), "both processes take part: {won:?}");
    let history = WorkflowHistory::open(&locations(root.path()));
    let id = milepost_model::id::WorkflowId::parse("race").expect("is an id");
    let bytes = fs::read(root.path().join("run/race.yaml")).expect("reads");
    let current = Some((Digest::of(&bytes), milepost_syntax::source::Format::Yaml));
    let versions = history.versions(&id, current).expect("reads");
    let kept = versions.items.len();
    assert!(
        kept == rounds + edits + 1 || versions.cut,
        "each winner is kept, and no other: {kept}"
    );
}

//! Of many callers that have seen the same version, exactly one wins.

use std::env;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Barrier;
use std::thread;

use super::*;

const THREADS: usize = 64;
/// The number of rounds, kept small because each takes a while with only the lock to coordinate.
/// The save operation has its own race with many more.
const ROUNDS: usize = 50;
const DIRECTORY: &str = "MILEPOST_TEST_RACE_DIRECTORY";

/// Saves over the same version from all threads at once, and returns the source of the winner.
fn contend(workflows: &[WorkflowStore], expected: Digest, who: &str) -> Option<String> {
    let start = Barrier::new(THREADS);
    let won: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|number| {
                let (start, workflows) = (&start, &workflows[number % workflows.len()]);
                let text = manifest("a", &format!("{who} {number}"));
                scope.spawn(move || {
                    start.wait();
                    let draft =
                        WorkflowDraft { bytes: text.as_bytes(), format: Format::Yaml, id: None };
                    let change = at(1, ExpectedVersion::Version(expected));
                    match workflows.save(&id("a"), draft, change) {
                        Ok(saved) => {
                            assert_eq!(saved.previous, Some(expected));
                            Some(text)
                        }
                        Err(WorkflowError::Conflict { found, .. }) => {
                            assert!(found.is_some_and(|found| found != expected));
                            None
                        }
                        Err(error) => panic!("{error:?}"),
                    }
                })
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().expect("does not panic")).collect()
    });
    assert!(won.len() <= 1, "{won:?}");
    won.into_iter().next()
}

/// The other process: reads a version per line, and prints per line whether it won.
fn follow(directory: &Path) {
    // Each thread has its own store, so that only the directory lock coordinates them.
    let own = |_| WorkflowStore::open(&places(directory));
    let workflows: Vec<WorkflowStore> = (0..THREADS).map(own).collect();
    for (round, line) in io::stdin().lock().lines().enumerate() {
        let expected = Digest::parse(&line.expect("reads")).expect("is a version");
        let won = contend(&workflows, expected, &format!("second {round}"));
        let won = won.map_or("-".to_owned(), |text| Digest::of(text.as_bytes()).to_string());
        writeln!(io::stdout(), "race: {won}").expect("somebody reads");
    }
}

struct Follower {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Follower {
    fn start(directory: &Path) -> Follower {
        let mut child = Command::new(env::current_exe().expect("has a path"))
            .args(["--exact", "workflows::race::one_of_many_is_first", "--nocapture"])
            .env(DIRECTORY, directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starts");
        let input = child.stdin.take().expect("is piped");
        let output = BufReader::new(child.stdout.take().expect("is piped"));
        Follower { child, input, output }
    }

    fn go(&mut self, expected: Digest) {
        writeln!(self.input, "{expected}").expect("is read");
    }

    /// The version that the process won with.
    fn won(&mut self) -> Option<Digest> {
        let mut line = String::new();
        while !line.starts_with("race: ") {
            line.clear();
            assert_ne!(self.output.read_line(&mut line).expect("reads"), 0, "it has ended");
        }
        Digest::parse(line.trim_start_matches("race: ").trim())
    }
}

#[test]
fn one_of_many_is_first() {
    if let Some(directory) = env::var_os(DIRECTORY) {
        return follow(Path::new(&directory));
    }
    // The test is about who wins, not about the disk.
    let root = crate::in_memory();
    let workflows = [WorkflowStore::open(&places(root.path()))];
    let first = manifest("a", "First");
    let draft = WorkflowDraft { bytes: first.as_bytes(), format: Format::Yaml, id: None };
    let saved = workflows[0].save(&id("a"), draft, at(1, ExpectedVersion::Absent)).expect("writes");
    let mut version = saved.version;
    let mut follower = Follower::start(root.path());
    let mut both = [0, 0];
    for round in 0..ROUNDS {
        follower.go(version);
        let ours = contend(&workflows, version, &format!("first {round}"));
        let ours = ours.map(|text| Digest::of(text.as_bytes()));
        version = match (ours, follower.won()) {
            (Some(ours), None) => {
                both[0] += 1;
                ours
            }
            (None, Some(theirs)) => {
                both[1] += 1;
                theirs
            }
            won => panic!("round {round}: {won:?}"),
        };
        let text = fs::read(root.path().join("run/a.yaml")).expect("reads");
        assert_eq!(Digest::of(&text), version, "round {round}");
    }
    drop(follower.input);
    assert!(follower.child.wait().expect("ends").success());
    let history = WorkflowHistory::open(&places(root.path()));
    let versions = history.versions(&id("a"), None).expect("reads");
    assert_eq!(versions.items.len(), ROUNDS + 1, "each winner is kept, and no other: {both:?}");
}

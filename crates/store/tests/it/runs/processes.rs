//! Several processes on one directory, some of which are killed: what was acknowledged is kept.
//!
//! A process is this test binary, told by a variable to run a single test that works until it is
//! killed. It prints one line for each acknowledgement, after the fact.

use std::collections::HashMap;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::slice;

use milepost_engine::ports::JournalError;
use milepost_model::id::RunId;
use milepost_store::runs::{
    AppendRows, HeartbeatRow, InboxRow, MessageId, NewEvent, Runs, RunsError,
};

use super::{Now, append, begun, event, events, fresh, holder, open};

const DIRECTORY: &str = "MILEPOST_TEST_RUNS";
const PART: &str = "MILEPOST_TEST_PART";

/// Starts a process with a role in a directory.
fn play(root: &Path, part: &str) -> Child {
    Command::new(env::current_exe().expect("is this one"))
        .args(["--exact", "runs::processes::a_process_of_its_own", "--nocapture"])
        .env(DIRECTORY, root)
        .env(PART, part)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("starts")
}

/// Everything a process printed: at least this many lines, and everything that followed before it
/// was killed.
fn killed_after(mut child: Child, lines: usize) -> Vec<String> {
    let output = child.stdout.take().expect("is piped");
    let mut said = Vec::new();
    let mut reader = BufReader::new(output).lines().map_while(Result::ok);
    while said.len() < lines {
        let Some(line) = reader.next() else { break };
        said.extend(line.strip_prefix("ack ").map(str::to_owned));
    }
    child.kill().expect("is killed");
    said.extend(reader.filter_map(|line| line.strip_prefix("ack ").map(str::to_owned)));
    child.wait().expect("ends");
    said
}

/// Prints a line in one write: a truncated line does not count.
fn say(text: &str) {
    let line = format!("ack {text}\n");
    let mut output = std::io::stdout();
    // The reader may be gone, and this process may be killed at any time.
    drop(output.write_all(line.as_bytes()).and_then(|()| output.flush()));
}

/// Not a test in itself: the processes of the other tests run it.
#[test]
fn a_process_of_its_own() {
    let (Ok(directory), Ok(part)) = (env::var(DIRECTORY), env::var(PART)) else { return };
    let runs = open(Path::new(&directory));
    match part.split_once(' ') {
        Some(("send", run)) => send_for_ever(&runs, &RunId::parse(run).expect("is one")),
        Some(("write", size)) => write_for_ever(&runs, size.parse().expect("is a number")),
        _ => unreachable!("{part}"),
    }
}

fn send_for_ever(runs: &Runs, run: &RunId) {
    let me = holder();
    for number in 0.. {
        let id = MessageId::parse(&format!("{me}/{number}")).expect("is one");
        let message = InboxRow { id, run: run.clone(), at_ms: 1, data: b"hello".to_vec() };
        runs.send_now(message).expect("sends");
        say(&format!("{me}/{number}"));
    }
}

fn write_for_ever(runs: &Runs, size: usize) {
    let lease = begun(runs);
    say(&format!("{} 1", lease.run));
    for known in 1.. {
        let data = format!("{known}:").into_bytes();
        let data = data.into_iter().chain(vec![b'x'; size]).collect();
        let what = AppendRows {
            events: vec![NewEvent { data, ..event("") }],
            ..append(&lease, known, &[])
        };
        match runs.append_now(what) {
            Ok(appended) => say(&format!("{} {}", lease.run, appended.last_seq)),
            // Another process presumed this one dead.
            Err(RunsError::Journal(JournalError::Fenced { .. })) => return,
            Err(error) => unreachable!("{error:?}"),
        }
    }
}

/// The last acknowledged event of each run.
fn acknowledged(said: &[String]) -> HashMap<RunId, u64> {
    let parts = said.iter().filter_map(|line| line.split_once(' '));
    let known = parts
        .map(|(run, seq)| (RunId::parse(run).expect("is one"), seq.parse().expect("is a number")));
    known.fold(HashMap::new(), |mut all, (run, seq)| {
        all.insert(run, seq);
        all
    })
}

#[test]
fn what_a_killed_process_acknowledged_is_there() {
    const ROUNDS: usize = 24;
    let root = tempfile::tempdir().expect("makes a directory");
    let mut all = HashMap::new();
    for round in 0..ROUNDS {
        // Includes large events, so that some processes are killed during a checkpoint.
        let size = if round % 2 == 0 { 10 } else { 150_000 };
        let child = play(root.path(), &format!("write {size}"));
        let said = killed_after(child, 1 + round * 5);
        let known = acknowledged(&said);
        assert_eq!(known.len(), 1, "round {round}");
        all.extend(known);
        let mark = fs::read_to_string(root.path().join("runs.use")).expect("reads");
        assert_eq!(mark, "open\n", "it did not end in order");
        let runs = open(root.path());
        for (run, seq) in &all {
            let there = events(&runs, run).len() as u64;
            assert!(there == *seq || there == seq + 1, "{there} of {seq} in round {round}");
        }
    }
    assert_eq!(all.len(), ROUNDS);
    let report = open(root.path()).check().expect("checks");
    assert!(report.is_sound(), "{report:?}");
}

#[test]
fn four_processes_share_a_directory_and_lose_nothing() {
    let (root, runs) = fresh();
    let lease = begun(&runs);
    let parts = [format!("send {}", lease.run), format!("send {}", lease.run)];
    let parts = parts.into_iter().chain(["write 10".to_owned(), "write 3000".to_owned()]);
    let children: Vec<Child> = parts.map(|part| play(root.path(), &part)).collect();
    let said: Vec<Vec<String>> = std::thread::scope(|scope| {
        let readers: Vec<_> =
            children.into_iter().map(|child| scope.spawn(|| killed_after(child, 150))).collect();
        // Meanwhile, this process handles the messages.
        let mut known = 1;
        while known < 100 {
            let pending = runs.pending(&lease.run).expect("reads");
            assert_eq!(pending.forged, 0);
            let Some(message) = pending.messages.first() else { continue };
            let answers = vec![(message.id.clone(), message.id.as_str().into())];
            let what = AppendRows { answers, ..append(&lease, known, &[message.id.as_str()]) };
            known = runs.append_now(what).expect("appends").last_seq;
        }
        readers.into_iter().map(|reader| reader.join().expect("does not panic")).collect()
    });
    let taken = super::texts(&runs, &lease.run);
    assert_eq!(taken.len(), 100);
    let mut sent = said[0].iter().chain(&said[1]);
    assert!(sent.clone().count() >= 300, "each said what it was to say");
    let mut answered = 0;
    assert!(sent.all(|id| {
        let answer = runs.answer(&MessageId::parse(id).expect("is one")).expect("reads");
        answered += usize::from(answer.is_some_and(|answer| answer == id.as_bytes()));
        true
    }));
    // The last message of each sender may have been handled without being acknowledged.
    assert!((97..=99).contains(&answered), "{answered} answered");
    for known in [&said[2], &said[3]].map(|said| acknowledged(said)) {
        for (run, seq) in known {
            let there = events(&runs, &run).len() as u64;
            assert!(there == seq || there == seq + 1, "{there} of {seq}");
        }
    }
    let report = runs.check().expect("checks");
    assert!(report.is_sound(), "{report:?}");
    let pending = pending_of(&root.path().join("runs.db"));
    let sent = said[0].len() + said[1].len();
    assert!((sent..=sent + 2).contains(&(pending + 99)), "{pending} of {sent}");
}

/// The number of all unanswered messages.
fn pending_of(path: &Path) -> usize {
    let db = rusqlite::Connection::open(path).expect("opens");
    let sql = "SELECT count(*) FROM inbox WHERE answer IS NULL";
    db.query_row(sql, [], |row| row.get(0)).expect("counts")
}

#[test]
fn a_run_of_a_killed_process_is_taken_over() {
    let (root, runs) = fresh();
    let child = play(root.path(), "write 10");
    let said = killed_after(child, 5);
    let (run, seq) = acknowledged(&said).into_iter().next().expect("is one");
    // The process never sent a heartbeat, so the run is adrift at once.
    assert_eq!(runs.adrift(1, None, 10, super::glance()).expect("asks"), slice::from_ref(&run));
    let me = holder();
    runs.beat_now(HeartbeatRow { holder: me.clone(), pid: 1, now_ms: 1, ttl_ms: 100 })
        .expect("beats");
    let lease =
        runs.take_now(run.clone(), me, super::glance()).expect("asks").expect("nobody is alive");
    assert_eq!(lease.epoch, 2);
    assert!(runs.adrift(1, None, 10, super::glance()).expect("asks").is_empty());
    let there = events(&runs, &run).len() as u64;
    assert!(there >= seq);
    runs.append_now(append(&lease, there, &["on"])).expect("appends");
}

/// A file size limit makes real disk writes fail, and not in order.
#[cfg(unix)]
#[test]
fn a_process_whose_disk_really_fails_acknowledges_nothing_more() {
    let root = tempfile::tempdir().expect("makes a directory");
    drop(open(root.path()));
    let exe = env::current_exe().expect("is this one");
    let script = "trap '' XFSZ; ulimit -f 2000; exec \"$0\" \"$@\"";
    let child = Command::new("sh")
        .args(["-c", script])
        .arg(exe)
        .args(["--exact", "runs::processes::a_process_of_its_own", "--nocapture"])
        .env(DIRECTORY, root.path())
        .env(PART, "write 3000")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let output = child.wait_with_output().expect("ends");
    let said = String::from_utf8_lossy(&output.stdout);
    let said: Vec<String> =
        said.lines().filter_map(|line| line.strip_prefix("ack ")).map(str::to_owned).collect();
    let why = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(why.contains("Failed"), "{why}");
    let (run, seq) = acknowledged(&said).into_iter().next().expect("is one");
    let runs = open(root.path());
    let there = events(&runs, &run).len() as u64;
    assert!(there == seq || there == seq + 1, "{there} of {seq}");
    assert!(seq > 10, "it wrote for a while: {seq}");
    assert!(runs.check().expect("checks").is_sound());
}

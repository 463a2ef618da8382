//! Kills real processes at random times, several at once: nothing that was acknowledged is lost,
//! and nothing unrepeatable is repeated.
//!
//! A process is this test binary, told by a variable to run a single test that works until it is
//! killed. It prints one line for each acknowledgement, after the fact. The servers are a file that
//! every process appends to.
//!
//! `MILEPOST_KILLS=<n>` sets how many are killed.

use std::collections::BTreeSet;
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use milepost_driver::{RunService, new_run_id};
use milepost_engine::ports::{MessageId, RunFilter};
use milepost_engine::signal::{Reply, Signal};
use milepost_model::id::RunId;
use serde_json::{Value, json};

use crate::chance::{Chance, count};
use crate::place::{Here, OnDisk, Place};
use crate::player::{Heard, Player, tell, willing};
use crate::rendering;
use crate::world::{Servers, Start};

const DIRECTORY: &str = "MILEPOST_TEST_RUNS";
/// The number of concurrent processes.
const TOGETHER: u64 = 3;
/// The number of processes to kill.
const KILLS: u64 = 60;
/// The number of runs that are open at the same time.
const OPEN: usize = 4;

/// Waits for everything a run can wait for, with unrepeatable writes in between.
const PLAYED: &str = "
workflow: played
concurrency: 3
steps:
  - {id: a, run: api a:get}
  - {id: b, run: api b:create, depends_on: [a]}
  - {id: c, run: api c:create, idempotent: true, depends_on: [a]}
  - {id: l, for_each: [1, 2], concurrency: 2, run: workflow inner, with: {x: '${{ item }}'}}
  - {id: p, prompt: Look, depends_on: [b, c]}
  - {id: d, run: api d:create, body: {of: '${{ steps.p.output }}'}, depends_on: [p]}
  - {id: ok, approve: 'Send ${{ steps.d.output.n }}?', depends_on: [d]}
  - {id: e, run: api e:create, depends_on: [ok, l]}
final_output: '${{ steps.e.output.n }}'
";

const INNER: &str = "
workflow: inner
inputs: {x: {type: integer}}
steps:
  - {id: i, run: api i:create}
  - {id: q, prompt: Think, depends_on: [i]}
  - {id: j, run: api j:create, depends_on: [q]}
final_output: '${{ inputs.x }}'
";

/// The number of unrepeatable requests of one run, including its child runs.
const WRITES: usize = 7;

fn place(root: &Path) -> Place {
    let servers = Servers::new(&[("inner", INNER)]).in_file(root.join("effects"));
    Place::new(Box::new(OnDisk::at(root)), servers).today()
}

/// Prints a line in one write: a truncated line does not count.
fn say(what: &Value) {
    let line = format!("ack {what}\n");
    let mut output = std::io::stdout();
    // The reader may be gone, and this process may be killed at any time.
    drop(output.write_all(line.as_bytes()).and_then(|()| output.flush()));
}

async fn open(runs: &dyn RunService) -> Vec<RunId> {
    let filter = RunFilter { open_only: true, ..RunFilter::default() };
    let page = runs.list(&filter, 100).await.expect("lists");
    page.runs.into_iter().map(|record| record.id).collect()
}

/// Not a test in itself: the processes of the other test run it.
#[test]
fn a_process_of_its_own() {
    let Ok(root) = env::var(DIRECTORY) else { return };
    place(Path::new(&root)).live_for_real(async |here| {
        here.tend();
        let mut player = Player::new(willing);
        loop {
            let runs = open(here.runs()).await;
            if runs.len() < OPEN {
                let run = here.start(Start::of(new_run_id().expect("random"), PLAYED)).await;
                say(&json!({"run": run.as_str()}));
            }
            for run in &runs {
                answer(&here, &mut player, run).await;
            }
        }
    });
}

/// Answers what one run is waiting for now, and prints the acknowledgement.
async fn answer(here: &Here<'_>, player: &mut Player, run: &RunId) {
    let snapshot = here.runs().snapshot(run).await.expect("looks");
    let Some((of, signal)) = player.asked(here, &snapshot).await else { return };
    if player.tell(here.runs(), &of, signal).await.is_none() {
        return;
    }
    if let Some(Heard { run, id, signal, reply }) = player.heard.pop() {
        let (run, id) = (run.as_str(), id.as_str());
        say(&json!({"run": run, "id": id, "signal": signal, "reply": reply}));
    }
}

fn spawn(root: &Path) -> Child {
    Command::new(env::current_exe().expect("is this one"))
        .args(["--exact", "kills::a_process_of_its_own", "--nocapture"])
        .env(DIRECTORY, root)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts")
}

/// Starts a process, kills it a random time after a random number of lines, and returns what it
/// printed.
fn killed(root: &Path, chance: &mut Chance) -> Vec<Value> {
    let mut child = spawn(root);
    let mut output = BufReader::new(child.stdout.take().expect("is piped"));
    // Some are killed before they have opened anything, others in the middle of something.
    let lines = chance.below(12);
    let (mut said, mut line) = (Vec::new(), String::new());
    while said.len() < lines && output.read_line(&mut line).expect("reads") > 0 {
        said.extend(read(&line));
        line.clear();
    }
    let moment = if lines == 0 { 200_000 } else { 6_000 };
    std::thread::sleep(Duration::from_micros(chance.below(moment) as u64));
    let ended = child.try_wait().expect("is a child");
    child.kill().expect("is killed");
    let (mut rest, mut errors) = (String::new(), String::new());
    output.read_to_string(&mut rest).expect("reads");
    child.stderr.take().expect("is piped").read_to_string(&mut errors).expect("reads");
    child.wait().expect("ends");
    assert!(ended.is_none(), "it ended by itself: {errors}\n{rest}");
    // The last line may be truncated and then does not count.
    let whole = rest.rsplit_once('\n').map_or("", |(whole, _)| whole);
    said.extend(whole.lines().filter_map(read));
    said
}

fn read(line: &str) -> Option<Value> {
    serde_json::from_str(line.trim_end().strip_prefix("ack ")?).ok()
}

/// The acknowledgement in a printed line.
fn heard(line: &Value) -> Option<Heard> {
    let signal: Signal = serde_json::from_value(line.get("signal")?.clone()).expect("is one");
    let reply: Reply = serde_json::from_value(line["reply"].clone()).expect("is one");
    let id = MessageId::parse(line["id"].as_str()?).expect("is one");
    Some(Heard { run: run_of(line), id, signal, reply })
}

fn run_of(line: &Value) -> RunId {
    RunId::parse(line["run"].as_str().unwrap_or_default()).expect("is one")
}

/// Brings everything to its end, and checks that nothing is missing.
async fn check(here: &Here<'_>, said: &[Value]) {
    let (runs, mut player) = (here.runs(), Player::new(willing));
    here.tend();
    for run in open(runs).await {
        player.play(here, &run).await;
    }
    let acknowledged: BTreeSet<RunId> = said.iter().map(run_of).collect();
    for run in &acknowledged {
        let snapshot = runs.snapshot(run).await.expect("is there");
        assert!(
            rendering::end(&snapshot.state).starts_with("succeeded"),
            "{:?}",
            snapshot.state.end
        );
    }
    for heard in said.iter().filter_map(heard) {
        let entries = runs.events(&heard.run, 0).await.expect("reads").entries;
        let kept = rendering::is_kept(&entries, &heard.signal, &heard.reply);
        assert!(kept, "{heard:?} is gone:\n{}", rendering::events(&entries));
        let again = tell(heard.signal.clone(), Some(heard.id.clone()));
        let again = runs.send(&heard.run, again).await.expect("is sent");
        assert_eq!(again.as_ref(), Some(&heard.reply), "an answer stays what it was");
    }
    let records = rendering::records(runs).await;
    let outer = records.iter().filter(|record| record.parent.is_none()).count();
    let sent = here.servers().sent();
    let writes = sent.iter().filter(|sent| !sent.repeatable).count();
    assert_eq!(writes, outer * WRITES, "each took effect once");
    assert_eq!(records.len(), outer * 3, "every inner run was started once");
}

#[test]
fn killed_processes_lose_nothing_and_repeat_nothing() {
    let root = tempfile::tempdir().expect("makes a directory");
    let (kills, begun) = (count("MILEPOST_KILLS", KILLS), AtomicU64::new(0));
    let said: Vec<Value> = std::thread::scope(|scope| {
        let (root, begun) = (root.path(), &begun);
        let hunt = move |seed: u64| {
            let (mut chance, mut said) = (Chance(seed), Vec::new());
            while begun.fetch_add(1, Ordering::Relaxed) < kills {
                said.extend(killed(root, &mut chance));
            }
            said
        };
        let hunters: Vec<_> = (0..TOGETHER).map(|seed| scope.spawn(move || hunt(seed))).collect();
        hunters.into_iter().flat_map(|hunter| hunter.join().expect("does not panic")).collect()
    });
    assert!(said.len() as u64 > kills, "they did something before they died: {}", said.len());
    let place = place(root.path());
    place.visit(async |here| check(&here, &said).await);
    place.servers.check_once("killed");
}

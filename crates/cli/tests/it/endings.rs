//! A process that is told to exit leaves no unrepeatable write half done: it waits for the request
//! in flight and starts no other, and the next process continues from there.
#![cfg(unix)]

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::client::Client;
use crate::crash::THINGS;
use crate::rogue::terminal;
use crate::runs::in_terminal;
use crate::server::{Server, json as answer};
use crate::{Place, Ran};

/// How long a write takes: longer than an exiting process needs to notice the signal.
const SLOW: Duration = Duration::from_millis(900);

/// The exit code of a command whose run is waiting for a person.
const PERSON: i32 = 4;

const TWO: &str = "
workflow: two
steps:
  - {id: a, run: things things:create, body: {name: first}}
  - {id: b, run: things things:create, body: {name: second}, depends_on: [a]}
";
const ASKING: &str = "
workflow: asking
steps: [{id: ok, approve: Go on?}]
";
const ABOVE: &str = "
workflow: above
steps:
  - {id: a, run: workflow asking}
  - {id: b, run: things things:create, body: {name: first}, depends_on: [a]}
  - {id: c, run: things things:create, body: {name: second}, depends_on: [b]}
";

fn things() -> (Server, Place) {
    let server = Server::start(|_| {
        thread::sleep(SLOW);
        answer(200, &json!({"id": "t1"}))
    });
    let place = Place::with(&[("things.yaml", THINGS), ("two.yaml", TWO), ("above.yaml", ABOVE)]);
    place.run(["catalog", "import", "things.yaml", "--base-url", &server.url]).ends(0);
    place.put("asking.yaml", ASKING);
    place.run(["workflow", "save", "asking.yaml"]).ends(0);
    (server, place)
}

/// Waits until the server has seen this many requests.
fn until_seen(server: &Server, count: usize) {
    let until = Instant::now() + Duration::from_secs(20);
    while server.seen().len() < count {
        assert!(Instant::now() < until, "no request came");
        thread::sleep(Duration::from_millis(5));
    }
}

fn signal(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
    kill_process(pid, signal).expect("is told");
}

fn begun(place: &Place, words: &[&str]) -> Child {
    let mut command: Command = place.command();
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("starts")
}

fn ended(child: Child) -> Ran {
    let ended = child.wait_with_output().expect("ends");
    Ran {
        code: ended.status.code().expect("is not killed"),
        out: String::from_utf8(ended.stdout).expect("is text"),
        err: String::from_utf8(ended.stderr).expect("is text"),
    }
}

/// The only run that is not a child of another run.
fn only(place: &Place) -> Value {
    let listed = place.run(["runs", "--json"]).ends(0).json();
    let runs = listed["runs"].as_array().expect("a list");
    let run = runs.iter().find(|run| run.get("parent").is_none()).expect("a run");
    let id = run["run_id"].as_str().expect("an id");
    place.run(["show", id, "--json"]).ends(0).json()
}

fn statuses(run: &Value) -> Vec<&str> {
    let steps = run["steps"].as_array().expect("a list").iter();
    steps.map(|step| step["status"].as_str().expect("a status")).collect()
}

/// Asserts that the first write is known to have happened, that the second was not started, and
/// that the process resuming the run sends only the second.
fn is_left_between_two_writes(server: &Server, place: &Place) {
    let run = only(place);
    assert_eq!(statuses(&run), ["succeeded", "pending"], "{run}");
    assert_eq!(run["waiting"][0]["kind"], "adrift", "{run}");
    let id = run["run_id"].as_str().expect("an id");
    place.run(["resume", id]).ends(0);
    let sent = server.seen();
    assert_eq!(sent.len(), 2, "each was sent once");
    assert_ne!(sent[0].header("idempotency-key"), sent[1].header("idempotency-key"));
}

/// Kills a run while its first write is in flight, which leaves it undriven.
fn killed(place: &Place, server: &Server) -> String {
    let mut child = begun(place, &["run", "two.yaml"]);
    until_seen(server, 1);
    child.kill().expect("is killed");
    child.wait().expect("ends");
    only(place)["run_id"].as_str().expect("an id").to_owned()
}

#[test]
fn the_plan_of_an_interrupted_run_is_what_resuming_does() {
    let (server, place) = things();
    let run = killed(&place, &server);
    let planned = place.run(["resume", &run, "--plan"]).ends(0);
    assert!(planned.out.contains("will ask a person"), "{}", planned.out);
    assert!(planned.out.contains("will run"), "{}", planned.out);
    let told =
        format!("interrupted: no process is driving this run\nnext: milepost resume {run}\n");
    assert_eq!(planned.err, told);
    let json = place.run(["resume", &run, "--plan", "--json"]).ends(0).json();
    let verdicts: Vec<&str> = json["plan"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|step| step["verdict"].as_str())
        .collect();
    assert_eq!(verdicts, ["will ask a person", "will run"], "{json}");
    assert_eq!(json["forecast"]["writes"], json!({"least": 1, "most": 2}));
    // The plan changed nothing, and resuming does what the plan predicted.
    assert_eq!(only(&place)["waiting"][0]["kind"], "adrift");
    place.run(["resume", &run]).ends(4);
    let view = only(&place);
    assert_eq!(view["waiting"][0]["kind"], "decision", "{view}");
}

#[test]
fn an_interrupted_run_is_not_shown_as_running() {
    let (server, place) = things();
    let run = killed(&place, &server);
    let refused = place.run(["resume", &run, "--from", "start", "--plan"]).ends(7);
    assert!(refused.err.contains("no process is driving this run"), "{}", refused.err);
    assert!(refused.err.contains(&format!("`milepost resume {run}`")), "{}", refused.err);
}

#[test]
fn an_interrupt_waits_for_the_write_in_flight() {
    let (server, place) = things();
    let child = begun(&place, &["run", "two.yaml"]);
    until_seen(&server, 1);
    signal(&child, Signal::INT);
    let ran = ended(child).ends(130);
    assert!(ran.err.contains("waiting for the request in flight"), "{}", ran.err);
    assert!(ran.err.contains("continue with: milepost resume"), "{}", ran.err);
    is_left_between_two_writes(&server, &place);
}

#[test]
fn a_second_interrupt_ends_at_once_and_asks_later() {
    let (server, place) = things();
    let child = begun(&place, &["run", "two.yaml"]);
    until_seen(&server, 1);
    let began = Instant::now();
    signal(&child, Signal::INT);
    thread::sleep(Duration::from_millis(400));
    signal(&child, Signal::INT);
    ended(child).ends(130);
    assert!(began.elapsed() < SLOW, "it waited for the request");
    let run = only(&place);
    let id = run["run_id"].as_str().expect("an id");
    place.run(["resume", id]).ends(PERSON);
    assert_eq!(only(&place)["waiting"][0]["kind"], "decision");
    assert_eq!(server.seen().len(), 1, "nothing is sent again by itself");
}

fn client(place: &Place, arguments: &[&str]) -> Client {
    let mut command = place.command();
    command.arg("mcp").args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut client = Client::of(&mut command);
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    client.ask("initialize", &params);
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client
}

/// Covers a server over a pipe for each of the two contracts.
#[test]
fn a_server_whose_client_leaves_waits_for_a_write() {
    for arguments in [&["--surface", "workflows"][..], &["--surface", "workflowlookup"]] {
        let (server, place) = things();
        // A text that no person has reviewed would ask before its first write.
        place.workflow("save two.yaml").ends(0);
        let reviewed = terminal(&place, "workflow review two", &["y"]);
        assert_eq!(reviewed.code, 0, "{}", reviewed.out);
        let mut client = client(&place, arguments);
        let saved = json!({"workflow_id": "two", "wait_s": 0});
        let start = json!({"name": "workflow.run", "arguments": saved});
        let started = client.call("tools/call", &start);
        assert_ne!(started["isError"], true, "{started}");
        until_seen(&server, 1);
        assert_eq!(client.close().code, Some(0));
        is_left_between_two_writes(&server, &place);
    }
}

/// Leaves a run whose process died, and which sends a request soon after it is resumed.
fn left(place: &Place) {
    place.put("later.yaml", &TWO.replace("steps:", "steps:\n  - {id: z, wait: 300ms}"));
    let child = begun(place, &["run", "later.yaml"]);
    let until = Instant::now() + Duration::from_secs(20);
    while place.run(["runs", "--json"]).ends(0).json()["runs"][0].is_null() {
        assert!(Instant::now() < until, "no run began");
    }
    signal(&child, Signal::KILL);
    drop(child.wait_with_output());
}

fn is_left_after_the_first_write(place: &Place) {
    let run = only(place);
    assert_eq!(statuses(&run), ["succeeded", "succeeded", "pending"], "{run}");
}

#[test]
fn a_server_that_tends_runs_waits_for_their_writes() {
    let (server, place) = things();
    left(&place);
    let mut client = client(&place, &["--surface", "workflowlookup"]);
    until_seen(&server, 1);
    assert_eq!(client.close().code, Some(0));
    is_left_after_the_first_write(&place);
}

#[test]
fn a_server_that_is_stopped_waits_for_a_write() {
    let (server, place) = things();
    left(&place);
    let doors = begun(&place, &["serve", "--port", "0"]);
    until_seen(&server, 1);
    signal(&doors, Signal::TERM);
    ended(doors).ends(0);
    is_left_after_the_first_write(&place);
}

/// A command that lets a child run continue also reports the parent, and stays until the parent
/// stops as well.
#[test]
fn a_parent_continues_when_its_child_does() {
    let (server, place) = things();
    place.run(["run", "above.yaml"]).ends(PERSON);
    let above = only(&place);
    let child = above["waiting"][0]["run_id"].as_str().expect("an id").to_owned();
    let ran = in_terminal(&place, &format!("approve {child}"), "y\n").ends(0);
    let id = above["run_id"].as_str().expect("an id");
    assert!(ran.out.contains(&format!("{id}  above  continues")), "{}", ran.out);
    let run = only(&place);
    assert_eq!((&run["status"], server.seen().len()), (&json!("succeeded"), 2), "{run}");
    // With `--json`, only the named run is reported.
    place.run(["run", "above.yaml", "--json"]).ends(PERSON);
    let above = only(&place);
    let child = above["waiting"][0]["run_id"].as_str().expect("an id");
    in_terminal(&place, &format!("approve {child} --json"), "y\n").ends(0);
    assert_eq!((&only(&place)["status"], server.seen().len()), (&json!("succeeded"), 4));
}

/// A command following a run notices when the driving process dies, and does not wait forever.
#[test]
fn a_follower_is_told_when_the_driver_dies() {
    let (server, place) = things();
    let driver = begun(&place, &["run", "two.yaml"]);
    until_seen(&server, 1);
    let id = only(&place)["run_id"].as_str().expect("an id").to_owned();
    let follower = begun(&place, &["resume", &id]);
    thread::sleep(Duration::from_millis(300));
    signal(&driver, Signal::KILL);
    drop(driver.wait_with_output());
    let ran = ended(follower);
    assert!(ran.err.contains("milepost "), "{}", ran.err);
    assert_eq!(only(&place)["status"], "waiting", "{}", ran.err);
}

/// Pausing a run waits for the request in flight in the driving process.
#[test]
fn a_run_that_is_paused_waits_for_its_write() {
    let (server, place) = things();
    let child = begun(&place, &["run", "two.yaml"]);
    until_seen(&server, 1);
    let id = only(&place)["run_id"].as_str().expect("an id").to_owned();
    place.run(["pause", &id]);
    ended(child).ends(PERSON);
    assert_eq!(statuses(&only(&place)), ["succeeded", "pending"]);
    place.run(["resume", &id]).ends(0);
    assert_eq!(server.seen().len(), 2, "each was sent once");
}

/// A closed terminal or a shutdown must not leave a write half done.
#[test]
fn a_termination_signal_waits_for_the_write_in_flight() {
    for told in [Signal::TERM, Signal::HUP] {
        let (server, place) = things();
        let child = begun(&place, &["run", "two.yaml", "--json"]);
        until_seen(&server, 1);
        signal(&child, told);
        let ran = ended(child).ends(130);
        let last: Value = serde_json::from_str(ran.out.lines().last().expect("is told"))
            .expect("one object a line");
        assert_eq!(statuses(&last), ["succeeded", "pending"], "{last}");
        is_left_between_two_writes(&server, &place);
    }
}

/// Pausing a run also pauses its child runs: nothing new starts in them.
#[test]
fn a_pause_reaches_the_run_of_a_step() {
    let (server, place) = things();
    place.workflow("save two.yaml").ends(0);
    place.put("over.yaml", "workflow: over\nsteps: [{id: a, run: workflow two}]\n");
    let child = begun(&place, &["run", "over.yaml"]);
    until_seen(&server, 1);
    let id = only(&place)["run_id"].as_str().expect("an id").to_owned();
    place.run(["pause", &id]);
    drop(ended(child));
    thread::sleep(SLOW);
    assert_eq!(server.seen().len(), 1, "the second write was not begun");
}

/// A finished command leaves no files that other processes would have to check.
#[test]
fn a_finished_process_leaves_no_files() {
    let place = Place::with(&[("set.yaml", "workflow: set\nsteps: [{id: a, set: {x: 1}}]\n")]);
    place.run(["run", "set.yaml"]).ends(0);
    place.put("asking.yaml", ASKING);
    place.run(["run", "asking.yaml"]).ends(PERSON);
    let data = place.root.path().join("home/.local/share/milepost");
    let left = std::fs::read_dir(data.join("wake")).expect("there is a folder");
    assert_eq!(left.count(), 0);
    let mark = std::fs::read_to_string(data.join("runs.use")).expect("there is a mark");
    assert!(mark.starts_with("done\n"), "{mark}");
}

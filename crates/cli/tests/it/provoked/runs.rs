//! Runs that do not start, do not continue, or end badly.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::Told;
use crate::runs::{depot, in_terminal, last};
use crate::server::{Reply, Server, json as answer};
use crate::{Place, SOUND, finish};

/// The timeout for something that must arrive. No test measures time with it.
const PATIENCE: Duration = Duration::from_mins(2);

/// Runs a workflow that consists of these lines.
fn ran(lines: &str) -> Told {
    super::say(&[("w.yaml", &format!("workflow: w\n{lines}\n"))], "run w.yaml")
}

/// Runs the workflow until it waits or ends, and returns the folder and the id of the run.
fn begun(place: Place, lines: &str) -> (Place, String) {
    place.put("w.yaml", &format!("workflow: w\n{lines}\n"));
    let run = last(&place.run(["run", "w.yaml", "--json"]));
    let id = run["run_id"].as_str().expect("an id").to_owned();
    (place, id)
}

pub(super) fn no_input() -> Told {
    ran("inputs: {name: {type: string}}\nsteps: [{id: a, fail: \"${{ inputs.name }}\"}]")
}

pub(super) fn no_first_item() -> Told {
    ran("steps: [{id: a, set: {b: []}}, {id: c, fail: \"${{ steps.a.output.b[0] }}\"}]")
}

pub(super) fn an_author_who_fails_it() -> Told {
    ran("steps: [{id: a, fail: no luck}]")
}

pub(super) fn less_than_promised() -> Told {
    let contract = "output_contract: {fields: [{name: y, type: string}]}";
    ran(&format!("steps: [{{id: a, set: {{x: 1}}, {contract}}}]"))
}

pub(super) fn too_slow() -> Told {
    ran("timeout: 1s\nsteps: [{id: a, wait: 1h}]")
}

pub(super) fn a_refusal() -> Told {
    let server = Server::start(|_| answer(422, &json!({"message": "out of stock"})));
    let (place, id) = begun(depot(&server), "steps: [{id: a, run: depot parts:list}]");
    Told::Words(place.run(["show", &id]))
}

pub(super) fn a_folder_that_is_gone() -> Told {
    let place = Place::with(&[("gone/w.yaml", "workflow: w\nsteps: [{id: a, prompt: Look}]\n")]);
    let folder = place.path("gone");
    let mut command = place.command();
    let ran = finish(command.current_dir(&folder).args(["run", "w.yaml", "--json"]), "");
    let id = last(&ran)["run_id"].as_str().expect("an id").to_owned();
    std::fs::remove_dir_all(folder).expect("is removed");
    Told::Words(place.run(["show", &id]))
}

pub(super) fn never_ready() -> Told {
    let server = Server::start(|_| answer(200, &json!({"items": []})));
    let repeat = "repeat: {until: size(output.items) > 0, every: 1ms, max_attempts: 2}";
    let step = format!("steps: [{{id: a, run: depot parts:list, {repeat}}}]");
    let (place, id) = begun(depot(&server), &step);
    Told::Words(place.run(["show", &id]))
}

pub(super) fn a_disk_that_fails() -> Told {
    let place = Place::with(&[("sound.yaml", SOUND)]);
    let mut command = place.command();
    command.env("MILEPOST_FAIL", "io@commit:1+").args(["run", "sound.yaml"]);
    Told::Words(finish(&mut command, ""))
}

pub(super) fn nothing_to_resume() -> Told {
    let (place, id) = begun(Place::new(), "steps: [{id: a, set: {x: 1}}]");
    Told::Words(place.run(["resume", &id]))
}

pub(super) fn nothing_to_decide() -> Told {
    let (place, id) = begun(Place::new(), "steps: [{id: a, set: {x: 1}}]");
    Told::Words(place.run(["decide", &id, "--outcome", "happened"]))
}

/// A run with two agent steps.
fn two() -> (Place, String) {
    let place = Place::with(&[("o.txt", "done")]);
    begun(place, "steps: [{id: a, prompt: One}, {id: b, prompt: Two, depends_on: [a]}]")
}

pub(super) fn ahead_of_its_time() -> Told {
    let (place, id) = two();
    Told::Words(place.run(["submit", &id, "b", "o.txt"]))
}

pub(super) fn a_step_that_is_not_there() -> Told {
    let (place, id) = two();
    Told::Words(place.run(["submit", &id, "c", "o.txt"]))
}

/// A claim that the API contradicts, with no second attempt.
fn refuted() -> (Place, String) {
    let server = Server::start(|_| answer(200, &json!({"items": []})));
    let verify = "{run: depot parts:list, check: size(output.items) > 0, message: None is there}";
    let step = format!("steps: [{{id: a, prompt: Do, max_attempts: 1, verify: [{verify}]}}]");
    let (place, id) = begun(depot(&server), &step);
    place.put("o.txt", "done");
    place.run(["submit", &id, "a", "o.txt"]).ends(1);
    (place, id)
}

pub(super) fn a_false_claim() -> Told {
    let (place, id) = refuted();
    Told::Event(place.run(["logs", &id, "--json"]))
}

pub(super) fn no_tries_left() -> Told {
    let (place, id) = refuted();
    Told::Words(in_terminal(&place, &format!("decide {id} --outcome give-up"), "y\n"))
}

const ASKS: &str = "steps: [{id: ok, approve: Go on?}]";

pub(super) fn a_no() -> Told {
    let (place, id) = begun(Place::new(), ASKS);
    Told::Words(in_terminal(&place, &format!("reject {id}"), "y\n"))
}

/// Runs without a controlling terminal.
pub(super) fn nobody_there() -> Told {
    let (place, id) = begun(Place::new(), ASKS);
    let mut command = crate::program("setsid");
    command.args([env!("CARGO_BIN_EXE_milepost"), "approve", &id]).current_dir(place.path(""));
    command.env("HOME", place.root.path().join("home"));
    Told::Words(finish(&mut command, "y\n"))
}

/// Starts a command in the background.
fn spawned(place: &Place, words: &[&str]) -> Child {
    let mut command = place.command();
    command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("starts")
}

/// Waits until a condition holds.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what} does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The id of the workflow's run, once it is in this state.
fn listed(place: &Place, workflow: &str, status: &str) -> Option<String> {
    let runs = place.run(["runs", "--json"]).ends(0).json();
    let mut runs = runs["runs"].as_array().expect("a list").iter();
    let run = runs.find(|run| run["workflow"] == workflow && run["status"] == status)?;
    run["run_id"].as_str().map(str::to_owned)
}

pub(super) fn killed_while_it_wrote() -> Told {
    let server = Server::start(|_| Reply::Silence);
    let place = depot(&server);
    let step = "workflow: w\nsteps: [{id: a, run: depot parts:create, body: {name: x}}]\n";
    place.put("w.yaml", step);
    let mut child = spawned(&place, &["run", "w.yaml"]);
    until("the request", || server.seen().pop());
    child.kill().expect("is killed");
    child.wait().expect("ends");
    let id = until("the run", || listed(&place, "w", "waiting"));
    place.run(["resume", &id]).ends(4);
    Told::Words(in_terminal(&place, &format!("decide {id} --outcome give-up"), "y\n"))
}

pub(super) fn a_child_that_is_canceled() -> Told {
    let place = Place::with(&[
        ("inner.yaml", "workflow: inner\nsteps: [{id: a, prompt: Look}]\n"),
        ("outer.yaml", "workflow: outer\nsteps: [{id: a, run: workflow inner}]\n"),
    ]);
    place.workflow("save inner.yaml").ends(0);
    place.run(["run", "outer.yaml"]).ends(5);
    let inner = until("the run inside", || listed(&place, "inner", "waiting"));
    place.run(["cancel", &inner, "--yes"]);
    let outer = until("the run around it", || {
        let failed = listed(&place, "outer", "failed");
        if let Some(left) = listed(&place, "outer", "waiting").filter(|_| failed.is_none()) {
            place.run(["resume", &left]);
        }
        failed
    });
    Told::Words(place.run(["show", &outer]))
}

//! `milepost` without a command, with the real binary.

use std::path::Path;

use serde_json::{Value, json};

use crate::{Place, finish};

const ASKS: &str = "workflow: asks\nsteps:\n  - {id: ok, approve: Shall we?}\n";
const THINKS: &str = "workflow: thinks\nsteps: [{id: look, prompt: Look closely}]\n";
const FAILS: &str = "workflow: fails\nsteps: [{id: stop, fail: It is over}]\n";

/// Every file and folder under a folder.
fn walk(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("reads").flatten();
    let below = entries.flat_map(|entry| {
        let path = entry.path();
        let inner = if path.is_dir() { walk(&path) } else { Vec::new() };
        std::iter::once(path.display().to_string()).chain(inner)
    });
    let mut all: Vec<String> = below.collect();
    all.sort();
    all
}

#[test]
fn a_new_user_sees_the_demo_and_nothing_is_created() {
    let place = Place::new();
    let before = walk(place.root.path());
    let ran = place.run([""; 0]).ends(0).quiet();
    assert_eq!(ran.out, "no open runs\nnext: milepost demo\n");
    let told = place.run(["--json"]).ends(0).quiet().json();
    let nothing = json!({
        "open": [], "more": false, "waits_on_you": [], "waits_on_agent": [],
        "next": "milepost demo",
    });
    assert_eq!(told, nothing);
    assert_eq!(walk(place.root.path()), before);
    place.run(["--help"]).ends(0).quiet();
}

#[test]
fn waiting_runs_are_shown_with_who_has_to_act() {
    let place = Place::with(&[("asks.yaml", ASKS), ("thinks.yaml", THINKS)]);
    place.say("run thinks.yaml").ends(5);
    let told = place.run(["--json"]).ends(0).quiet().json();
    let run = told["open"][0]["run_id"].as_str().expect("an id").to_owned();
    assert_eq!(told["waits_on_you"], json!([]));
    let agent = &told["waits_on_agent"][0];
    assert_eq!((&agent["kind"], &agent["step"]), (&json!("agent"), &json!("look")));
    assert_eq!(told["next"], format!("milepost submit {run} look <file>"));

    place.say("run asks.yaml").ends(4);
    let told = place.run(["--json"]).ends(0).quiet().json();
    assert_eq!(told["open"].as_array().map(Vec::len), Some(2));
    let asked = &told["waits_on_you"][0];
    let id = asked["run_id"].as_str().expect("an id");
    let expected = json!({
        "run_id": id, "workflow": "asks", "kind": "approval", "step": "ok",
        "message": "Shall we?", "next": format!("milepost approve {id}"),
    });
    assert_eq!(asked, &expected);
    assert_eq!(told["next"], format!("milepost approve {id}"));
    let shown = place.run([""; 0]).ends(0).quiet().out;
    for line in ["OPEN RUN", "waiting for you:", "approval ok: Shall we?", "waiting for an agent:"]
    {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(shown.ends_with(&format!("next: milepost approve {id}\n")), "{shown}");
    // The output is the same in another folder, because the user is the same.
    let mut elsewhere = place.command();
    elsewhere.current_dir(place.root.path());
    assert_eq!(finish(elsewhere.arg("--json"), "").ends(0).json()["next"], told["next"]);
}

#[test]
fn an_ended_run_suggests_the_next_step() {
    let place = Place::with(&[("fails.yaml", FAILS), ("thinks.yaml", THINKS)]);
    place.say("run fails.yaml").ends(1);
    let next = || place.run(["--json"]).ends(0).json()["next"].clone();
    let failed = place.run(["runs", "--json"]).ends(0).json()["runs"][0]["run_id"].clone();
    let failed = failed.as_str().expect("an id");
    assert_eq!(next(), format!("milepost resume {failed} --plan"));
    place.say("run thinks.yaml").ends(5);
    let run = place.run(["--json"]).json()["open"][0]["run_id"].clone();
    let run = run.as_str().expect("an id");
    let submitted = format!("submit {run} look -");
    finish(place.command().args(submitted.split(' ')), "\"done\"").ends(0);
    assert_eq!(next(), Value::from("milepost workflow list"));
    assert_eq!(place.run([""; 0]).ends(0).out, "no open runs\nnext: milepost workflow list\n");
}

#[test]
fn looking_at_runs_creates_no_directory() {
    let place = Place::with(&[("thinks.yaml", THINKS)]);
    place.say("run thinks.yaml").ends(5);
    // Reading the journal leaves its write-ahead log behind.
    let walk = || {
        let all = walk(place.root.path());
        let of_log = |path: &String| path.ends_with("-wal") || path.ends_with("-shm");
        all.into_iter().filter(|path| !of_log(path)).collect::<Vec<_>>()
    };
    let before = walk();
    place.run([""; 0]).ends(0).quiet();
    assert_eq!(walk(), before);
}

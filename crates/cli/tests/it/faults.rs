//! A failing or full disk, a jumping clock and concurrent processes, through the real binary. No
//! run is lost, the message names the next action, and other runs continue.

use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::crash::THINGS;
use crate::server::{Reply, Server, json as answer};
use crate::{Place, Ran, finish};

const TWO: &str = "
workflow: two
steps:
  - {id: a, run: things things:get, with: {id: a}}
  - {id: b, run: things things:create, body: {of: '${{ steps.a.output.id }}'}}
  - {id: c, wait: 30ms}
  - {id: d, run: things things:create, body: {}}
final_output: {id: '${{ steps.d.output.id }}'}
";

fn things() -> (Server, Place) {
    let server = Server::start(|_| answer(200, &json!({"id": "t1"})));
    let place = Place::with(&[("things.yaml", THINGS), ("two.yaml", TWO)]);
    place.run(["catalog", "import", "things.yaml", "--base-url", &server.url]).ends(0);
    (server, place)
}

fn with(place: &Place, variable: (&str, &str), words: &[&str]) -> Ran {
    let mut command = place.command();
    finish(command.env(variable.0, variable.1).args(words), "")
}

fn newest(place: &Place) -> Option<Value> {
    let listed = place.run(["runs", "--json"]).ends(0).json();
    listed["runs"].as_array().expect("a list").first().cloned()
}

/// Brings a run to its end and returns its final view.
fn settled(place: &Place, run: &str) -> Value {
    for _ in 0..10 {
        let view = place.run(["show", run, "--json"]).ends(0).json();
        let step = view["waiting"][0]["step"].as_str().unwrap_or_default().to_owned();
        match (view["status"].as_str(), view["waiting"][0]["kind"].as_str()) {
            (Some("waiting"), Some("adrift")) => drop(place.run(["resume", run])),
            (Some("waiting"), Some("decision")) => {
                let told = r#"--output '{"id": "t1"}'"#;
                let line = format!("decide {run} --step {step} --outcome happened {told}");
                crate::runs::in_terminal(place, &line, "y\n");
            }
            _ => return view,
        }
    }
    unreachable!("{}", place.run(["show", run]).err);
}

/// Asserts that the failure is reported with its exit code and a hint.
fn told(ran: &Ran, told: &str) {
    assert_eq!(ran.code, 75, "{told}: {} {}", ran.out, ran.err);
    assert!(ran.err.contains("error[STORAGE_FAILED]"), "{told}: {}", ran.err);
    assert!(ran.err.contains("hint: "), "{told}: {}", ran.err);
}

/// A disk failure at any point ends the process immediately. Only what was recorded counts: if the
/// run exists, it can be finished.
#[test]
fn a_disk_that_fails_loses_no_run() {
    let (_server, place) = things();
    let faults = [("io@commit", 1), ("late@commit", 1), ("io@begin", 2), ("io@statement", 11)];
    for (fault, each) in faults.into_iter().chain([("late@statement", 17)]) {
        for (tried, number) in (1..).step_by(each).enumerate() {
            let before = newest(&place);
            let wanted = format!("{fault}:{number}");
            let ran = with(&place, ("MILEPOST_FAIL", &wanted), &["run", "two.yaml"]);
            if ran.code == 0 {
                assert!(tried > 2, "{wanted} goes off");
                break;
            }
            told(&ran, &wanted);
            let after = newest(&place).filter(|after| before.as_ref() != Some(after));
            if let Some(run) = after {
                let end = settled(&place, run["run_id"].as_str().expect("an id"));
                assert_eq!(end["status"], "succeeded", "{wanted}: {end}");
                assert_eq!(end["final_output"], json!({"id": "t1"}), "{wanted}");
            }
        }
    }
}

/// A log that cannot be moved into the database stays where it is, complete.
#[test]
fn a_log_that_cannot_be_moved_costs_no_run() {
    let (_server, place) = things();
    for fault in ["io@checkpoint:1", "full@checkpoint:1+", "dies@checkpoint:1"] {
        let before = newest(&place);
        let mut command = place.command();
        command.env("MILEPOST_FAIL", fault).args(["run", "two.yaml"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let ended = command.status().expect("starts");
        assert!(matches!(ended.code(), None | Some(0 | 75)), "{fault}: {ended:?}");
        let after = newest(&place).filter(|after| before.as_ref() != Some(after));
        let run = after.unwrap_or_else(|| panic!("{fault}: no run"));
        let end = settled(&place, run["run_id"].as_str().expect("an id"));
        assert_eq!(end["status"], "succeeded", "{fault}: {end}");
    }
}

/// On a full disk nothing is started or sent; the run waits for space and then continues.
#[test]
fn a_full_disk_stops_before_the_next_side_effect() {
    let (server, place) = things();
    for number in 1.. {
        let (before, sent) = (newest(&place), server.seen().len());
        let wanted = format!("full@commit:{number}+");
        let ran = with(&place, ("MILEPOST_FAIL", &wanted), &["run", "two.yaml"]);
        if ran.code == 0 {
            assert!(number > 5, "{wanted} goes off");
            break;
        }
        told(&ran, &wanted);
        assert!(ran.err.contains("free some disk space"), "{wanted}: {}", ran.err);
        let after = newest(&place).filter(|after| before.as_ref() != Some(after));
        let Some(run) = after else {
            assert_eq!(server.seen().len(), sent, "{wanted}: nothing is sent for no run");
            continue;
        };
        let id = run["run_id"].as_str().expect("an id");
        assert!(ran.err.contains(&format!("milepost resume {id}")), "{wanted}: {}", ran.err);
        let end = settled(&place, id);
        assert_eq!(end["status"], "succeeded", "{wanted}: {end}");
    }
}

/// A file that cannot grow any further counts as a full disk, regardless of the reason.
#[test]
fn a_file_that_may_not_grow_harms_no_other_run() {
    let (_server, place) = things();
    place.run(["run", "two.yaml"]).ends(0);
    let first = newest(&place).expect("a run");
    let binary = env!("CARGO_BIN_EXE_milepost");
    for kib in [16, 32, 64, 100, 140] {
        // `ulimit -f` counts in blocks of 512 bytes.
        let line = format!("ulimit -f {}; trap '' XFSZ; exec {binary} run two.yaml", kib * 2);
        let mut command = crate::program("sh");
        command.args(["-c", &line]).current_dir(place.path(""));
        command.env("HOME", place.root.path().join("home")).env("NO_COLOR", "1");
        let ran = finish(&mut command, "");
        assert!(matches!(ran.code, 0 | 75), "{kib}: {} {}", ran.code, ran.err);
        if ran.code == 75 {
            told(&ran, "a limit");
        }
        let run = newest(&place).expect("a run");
        let id = run["run_id"].as_str().expect("an id");
        assert_eq!(settled(&place, id)["status"], "succeeded", "{kib}");
    }
    let shown = place.run(["show", first["run_id"].as_str().expect("an id"), "--json"]);
    assert_eq!(shown.ends(0).json()["status"], "succeeded");
    place.run(["run", "two.yaml"]).ends(0);
}

/// A clock that is set back, or that was a day off, must not make a run wait until that time comes
/// around again.
#[test]
fn a_clock_that_jumps_stops_no_run() {
    const DAY: i64 = 86_400_000;
    let (_server, place) = things();
    place.put("waits.yaml", "workflow: waits\ntimeout: 7d\nsteps: [{id: a, wait: 200ms}]\n");
    for (first, second) in [(DAY, 0), (0, DAY), (0, -DAY), (-DAY, 0)] {
        let before = newest(&place);
        // The process dies once the run is on disk with the time of that clock. The first commit is
        // a heartbeat; if the run does not exist after the second, the next process tries again.
        let died = (0..20).find_map(|_| {
            let mut command = place.command();
            command.env("MILEPOST_CLOCK", first.to_string());
            command.env("MILEPOST_FAIL", "dies-after@commit:2").args(["run", "waits.yaml"]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let died = command.status().expect("starts");
            assert_eq!(died.code(), None, "{first}: {died:?}");
            newest(&place).filter(|after| before.as_ref() != Some(after))
        });
        let run = died.expect("a run");
        let id = run["run_id"].as_str().expect("an id");
        let began = Instant::now();
        let ran = with(&place, ("MILEPOST_CLOCK", &second.to_string()), &["resume", id]);
        assert_eq!(ran.code, 0, "{first} {second}: {}", ran.err);
        assert!(began.elapsed() < Duration::from_secs(20), "{first} {second}");
    }
}

/// Four processes at once, one of them with a failing disk: its run can be resumed later, and the
/// other processes are unaffected.
#[test]
fn four_processes_and_one_that_fails() {
    let (_server, place) = things();
    let spawn = |fault: Option<&str>| {
        let mut command = place.command();
        command.env("MILEPOST_FAIL", fault.unwrap_or_default()).args(["run", "two.yaml"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().expect("starts")
    };
    for number in 2..7 {
        let fault = format!("io@commit:{number}");
        let children: Vec<_> =
            [None, Some(fault.as_str()), None, None].into_iter().map(spawn).collect();
        let codes = children.into_iter().map(|mut child| child.wait().expect("ends").code());
        let codes: Vec<Option<i32>> = codes.collect();
        let sound: Vec<_> = [0, 2, 3].into_iter().map(|index| codes[index]).collect();
        assert_eq!(sound, [Some(0); 3], "{fault}: {codes:?}");
        assert!(matches!(codes[1], Some(0 | 75)), "{fault}: {codes:?}");
    }
    let listed = place.run(["runs", "--json"]).ends(0).json();
    for run in listed["runs"].as_array().expect("a list") {
        let id = run["run_id"].as_str().expect("an id");
        assert_eq!(settled(&place, id)["status"], "succeeded", "{run}");
    }
}

/// An interrupted command releases its run, which is shown as undriven at once; the next process
/// need not wait for a lease.
#[test]
fn an_interrupted_command_leaves_its_run_to_the_next() {
    let server = Server::start(|request| match request.path() {
        "/things/slow" => Reply::Silence,
        _ => answer(200, &json!({"id": "t1"})),
    });
    let place = Place::with(&[("things.yaml", THINGS)]);
    place.run(["catalog", "import", "things.yaml", "--base-url", &server.url]).ends(0);
    place.put(
        "slow.yaml",
        "workflow: slow\nsteps: [{id: a, run: things things:get, with: {id: slow}, timeout: 1s, \
         retry: {max_attempts: 1}}]\n",
    );
    let mut command = place.command();
    command.args(["run", "slow.yaml"]).stdin(Stdio::null());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let until = Instant::now() + Duration::from_secs(20);
    while server.seen().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process");
    let run = newest(&place).expect("a run");
    assert_eq!(run["status"], "running", "somebody drives it");
    kill_process(pid, Signal::INT).expect("is interrupted");
    let ended = child.wait_with_output().expect("ends");
    let err = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{err}");
    let id = run["run_id"].as_str().expect("an id");
    assert!(err.contains(&format!("milepost resume {id}")), "{err}");
    let run = newest(&place).expect("a run");
    assert_eq!((&run["status"], &run["waiting"]), (&json!("waiting"), &json!("adrift")));
    let view = place.run(["show", id, "--json"]).ends(0).json();
    assert_eq!(
        (&view["status"], &view["waiting"][0]["kind"]),
        (&json!("waiting"), &json!("adrift"))
    );
    assert_eq!(view["next"], format!("milepost resume {id}"));
    let began = Instant::now();
    // The response never comes, so the step times out.
    let resumed = place.run(["resume", id]).ends(1);
    assert!(resumed.err.contains("UPSTREAM_TIMEOUT"), "{}", resumed.err);
    assert!(began.elapsed() < Duration::from_secs(5), "it waits for nobody's lease");
}

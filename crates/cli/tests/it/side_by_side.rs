//! Four processes at a time start runs, submit and decide in one directory. The processes of one of
//! the four users die or have a failing disk; the other users are unaffected.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::Place;
use crate::crash::{THINGS, whole_lines};
use crate::server::{Server, json as answer};

const ASKS: &str = "
workflow: asks
steps:
  - {id: a, run: things things:create, body: {n: 1}}
  - {id: p, prompt: Look, depends_on: [a]}
  - {id: ok, approve: 'Send ${{ steps.p.output }}?'}
  - {id: b, run: things things:create, body: {of: '${{ steps.p.output }}'}, depends_on: [ok]}
final_output: '${{ steps.p.output }}'
";

type Ledger = Arc<Mutex<BTreeMap<String, usize>>>;

struct Ended {
    code: Option<i32>,
    told: Vec<Value>,
}

/// Starts a process, in a terminal if something has to be typed, and with an optional injected
/// fault.
fn start(place: &Place, words: &[&str], typed: bool, fault: &str) -> Ended {
    let mut command = place.command();
    if typed {
        let line = format!("exec {} {}", env!("CARGO_BIN_EXE_milepost"), words.join(" "));
        command = crate::program("script");
        command.env("MILEPOST_ARRIVES_MS", "0");
        command.args(["-qec", &line, "/dev/null"]).current_dir(place.path(""));
        command.env("HOME", place.root.path().join("home")).env("NO_COLOR", "1");
    } else {
        command.args(words);
    }
    command.env("MILEPOST_FAIL", fault);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("starts");
    let mut stdin = child.stdin.take().expect("is piped");
    if typed {
        // A dead process no longer reads its input, so a failed write is fine.
        drop(std::io::Write::write_all(&mut stdin, b"y\n"));
    }
    drop(stdin);
    let ended = child.wait_with_output().expect("ends");
    // A terminal reports a signal as an exit code of 128 or more.
    let code = ended.status.code().filter(|code| *code < 128);
    Ended { code, told: whole_lines(&ended.stdout) }
}

/// A user with healthy processes: everything works as if no one else were there.
fn sound(place: &Place, name: &str) -> String {
    let ran = start(place, &["run", "asks.yaml", "--json"], false, "");
    assert_eq!(ran.code, Some(5), "{name}: {:?}", ran.told);
    let run = ran.told[0]["run"].as_str().expect("an id").to_owned();
    place.put(&format!("{name}.txt"), &run);
    let file = format!("{name}.txt");
    let submitted = start(place, &["submit", &run, "p", &file, "--json"], false, "");
    assert_eq!(submitted.code, Some(4), "{name}: {:?}", submitted.told);
    let approved = start(place, &["approve", &run, "--json"], true, "");
    assert_eq!(approved.code, Some(0), "{name}: {:?}", approved.told);
    run
}

/// A user with failing processes: what was acknowledged holds, and the run reaches its end.
fn unlucky(place: &Place, ledger: &Ledger, number: usize) -> Option<String> {
    let kinds = ["dies", "dies-after", "io", "late"];
    let fault = format!("{}@commit:{}", kinds[number % 4], 1 + number / 4 % 7);
    let ran = start(place, &["run", "asks.yaml", "--json"], false, &fault);
    let run = ran.told.first()?["run"].as_str().expect("an id").to_owned();
    place.put("unlucky.txt", &run);
    let mut acknowledged: Vec<String> = Vec::new();
    for look in 0..30 {
        let view = place.run(["show", &run, "--json"]).ends(0).json();
        let waiting = &view["waiting"][0];
        if view["status"] == "succeeded" {
            return Some(run);
        }
        let kind = waiting["kind"].as_str().unwrap_or_default().to_owned();
        assert!(!acknowledged.contains(&kind), "{fault}: {kind} is asked for again: {view}");
        // The disk eventually works again.
        let fault = if look < 6 { fault.as_str() } else { "" };
        let ended = match kind.as_str() {
            "adrift" => {
                start(place, &["resume", &run], false, "");
                continue;
            }
            "agent" => start(place, &["submit", &run, "p", "unlucky.txt", "--json"], false, fault),
            "approval" => start(place, &["approve", &run, "--json"], true, fault),
            "decision" => {
                decide(place, ledger, &run, waiting["step"].as_str().expect("a step"));
                continue;
            }
            _ => continue,
        };
        if ended.told.iter().any(|told| told["run_id"] == run || told["accepted"] == true) {
            acknowledged.push(kind);
        }
    }
    unreachable!("{fault}: {}", place.run(["show", &run]).err);
}

fn decide(place: &Place, ledger: &Ledger, run: &str, step: &str) {
    let sent = ledger.lock().expect("is whole").contains_key(&format!("{run}/{step}"));
    let outcome = if sent { "happened" } else { "did-not-happen" };
    let mut words = vec!["decide", run, "--step", step, "--outcome", outcome];
    words.extend(sent.then_some(["--output", "'{\"id\":\"t1\"}'"]).into_iter().flatten());
    start(place, &words, true, "");
}

#[test]
fn three_of_four_do_not_notice_that_the_fourth_dies() {
    let ledger: Ledger = Arc::default();
    let kept = Arc::clone(&ledger);
    let server = Server::start(move |request| {
        let key = request.header("idempotency-key").unwrap_or_default().to_owned();
        *kept.lock().expect("is whole").entry(key).or_default() += 1;
        answer(200, &json!({"id": "t1"}))
    });
    let place = Place::with(&[("things.yaml", THINGS), ("asks.yaml", ASKS)]);
    place.run(["catalog", "import", "things.yaml", "--base-url", &server.url]).ends(0);
    let over = AtomicBool::new(false);
    let runs: Vec<String> = std::thread::scope(|scope| {
        let (place, over, ledger) = (&place, &over, &ledger);
        let others = ["one", "two", "three"].map(|name| {
            scope.spawn(move || {
                let mut runs = vec![sound(place, name)];
                while !over.load(Ordering::SeqCst) {
                    runs.push(sound(place, name));
                }
                runs
            })
        });
        let unlucky: Vec<String> =
            (0..28).filter_map(|number| unlucky(place, ledger, number)).collect();
        over.store(true, Ordering::SeqCst);
        assert!(unlucky.len() > 10, "only {} were told of", unlucky.len());
        let others = others.into_iter().flat_map(|one| one.join().expect("is unharmed"));
        others.chain(unlucky).collect()
    });
    for run in &runs {
        let view = place.run(["show", run, "--json"]).ends(0).json();
        assert_eq!((&view["status"], &view["final_output"]), (&json!("succeeded"), &json!(run)));
        for step in ["a", "b"] {
            let sent = ledger.lock().expect("is whole").get(&format!("{run}/{step}")).copied();
            assert_eq!(sent, Some(1), "{run}/{step}");
        }
    }
}

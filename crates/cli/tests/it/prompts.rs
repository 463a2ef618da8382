//! Leaving a prompt with Ctrl-C reports that nothing was decided and how to come back, and restores
//! the terminal.
#![cfg(target_os = "linux")]

use crate::rogue::typed;
use crate::runs::last;
use crate::{Place, Ran};

const ASKS: &str = "workflow: asks\nsteps: [{id: ok, approve: Go on?}]\n";
const STRICT: &str = "workflow: strict\nsteps:\n  - id: look\n    prompt: Look at it\n    \
     max_attempts: 1\n    output_schema: {type: object, required: [seen]}\n";
const PIN: &str = "tr0mbone-7";
const INTERRUPT: &str = "\u{3}";

/// Types keys at the prompts of a command; afterwards the shell prints the terminal's settings.
fn at_terminal(place: &Place, line: &str, keys: &[&str]) -> Ran {
    let binary = env!("CARGO_BIN_EXE_milepost");
    let line = format!("{binary} {line}; code=$?; echo; stty -a; exit $code");
    let mut command = crate::program("script");
    command.env("MILEPOST_ARRIVES_MS", "0");
    command
        .args(["-qec", &line, "/dev/null"])
        .current_dir(place.path(""))
        .env("HOME", place.root.path().join("home"))
        .env("NO_COLOR", "1")
        .env("COLUMNS", "120");
    typed(&mut command, keys)
}

/// Leaves the last prompt of a command with Ctrl-C.
fn left(place: &Place, line: &str, keys: &[&str], told: &str) {
    let ran = at_terminal(place, line, &[keys, &[INTERRUPT]].concat());
    assert_eq!(ran.code, 130, "{line}: {}", ran.out);
    let is_last = |line: &&str| line.contains("interrupted") || line.starts_with("next: ");
    let lines: Vec<&str> = ran.out.lines().filter(is_last).collect();
    assert_eq!(lines.join("\n"), told, "{line}: {}", ran.out);
    let has = |word: &str| ran.out.split([' ', ';', '\r', '\n']).any(|one| one == word);
    assert!(has("echo") && has("icanon") && has("isig"), "{line}: {}", ran.out);
    assert!(ran.out.contains("intr = ^C") && !has("-echo"), "{line}: {}", ran.out);
}

fn start(place: &Place, file: &str, code: i32) -> String {
    let run = last(&place.run(["run", file, "--json"]).ends(code));
    run["run_id"].as_str().expect("an id").to_owned()
}

#[test]
fn leaving_a_question_decides_nothing() {
    let place = Place::with(&[("asks.yaml", ASKS), ("strict.yaml", STRICT)]);
    let run = start(&place, "asks.yaml", 4);
    for word in ["approve", "reject"] {
        let told = format!("interrupted: nothing was decided\nnext: milepost {word} {run}");
        left(&place, &format!("{word} {run}"), &[], &told);
    }
    let view = place.run(["show", &run, "--json"]).ends(0).json();
    assert_eq!(view["waiting"][0]["kind"], "approval", "{view}");
    let strict = start(&place, "strict.yaml", 5);
    place.run(["submit", &strict, "look", "asks.yaml"]);
    let told = format!("interrupted: nothing was decided\nnext: milepost decide {strict}");
    left(&place, &format!("decide {strict}"), &[], &told);
}

#[test]
fn leaving_the_pin_prompt_decides_nothing() {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    let changed = "interrupted: nothing was changed; run the same command to be asked again";
    left(&place, "person set-pin", &[PIN], changed);
    at_terminal(&place, "person set-pin", &[PIN, PIN]).ends(0);
    let run = start(&place, "asks.yaml", 4);
    let told = format!("interrupted: nothing was decided\nnext: milepost approve {run}");
    left(&place, &format!("approve {run}"), &[], &told);
    let view = place.run(["show", &run, "--json"]).ends(0).json();
    assert_eq!(view["waiting"][0]["kind"], "approval", "{view}");
}

#[test]
fn leaving_a_confirmation_changes_nothing() {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    let run = start(&place, "asks.yaml", 4);
    let changed = "interrupted: nothing was changed; run the same command to be asked again";
    left(&place, &format!("cancel {run}"), &[], changed);
    let view = place.run(["show", &run, "--json"]).ends(0).json();
    assert_eq!(view["status"], "waiting", "{view}");
}

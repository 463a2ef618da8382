//! The tour, and each of its demos.

use std::path::Path;

use crate::Place;

/// The page with the recorded tour.
const PAGE: &str = "../../docs/demo.md";
const OPEN: &str = "```text\n";

/// Replaces text that differs from one tour to the next, keeping lengths where columns matter.
fn settled(place: &Place, text: &str) -> String {
    let home = place.root.path().join("home");
    let text = text.replace(&*home.to_string_lossy(), "~");
    let mut runs: Vec<String> = Vec::new();
    let mut out = String::new();
    for line in text.lines() {
        let mut line = line.to_owned();
        let words: Vec<String> = line.split([' ', '`']).map(str::to_owned).collect();
        for word in words {
            if word.starts_with("run_") && word.len() == 30 {
                let known = runs.iter().position(|run| *run == word);
                let number = known.unwrap_or_else(|| {
                    runs.push(word.clone());
                    runs.len() - 1
                });
                line = line.replace(&word, &format!("run_{:0>26}", number + 1));
            } else if let Some((_, rest)) = word.split_once("127.0.0.1:") {
                let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
                line = line.replace(&format!("127.0.0.1:{port}"), "127.0.0.1:40000");
            } else if is_digits(&word, "0000-00-00") {
                line = line.replace(&word, "2026-01-01");
            } else if is_digits(&word, "00:00") {
                line = line.replace(&word, "00:00");
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Whether two words differ only in their digits.
fn is_digits(word: &str, like: &str) -> bool {
    let plain = |c: char| if c.is_ascii_digit() { '0' } else { c };
    word.chars().map(plain).eq(like.chars())
}

#[test]
fn the_tour_matches_its_recording() {
    let place = Place::new();
    let ran = place.run(["demo", "--yes"]).ends(0).quiet();
    let told = settled(&place, &ran.out);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&path).expect("the page is there");
    let (before, rest) = page.split_once(OPEN).expect("a recorded session");
    let (recorded, after) = rest.split_once("```\n").expect("it ends");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::write(&path, format!("{before}{OPEN}{told}```\n{after}")).expect("writes");
        return;
    }
    assert_eq!(recorded, told, "to record it anew: UPDATE_EXPECT=1");
}

#[test]
fn the_three_runs_are_there_afterwards() {
    let place = Place::new();
    place.run(["demo", "--yes"]).ends(0);
    let runs = place.run(["demo", "--", "runs", "--json"]).ends(0).json();
    let runs = runs["runs"].as_array().expect("runs");
    let told: Vec<_> = runs.iter().map(|run| (&run["workflow"], &run["status"])).collect();
    let all = ["flaky-sync", "refund-with-approval", "order-health"];
    let expected: Vec<_> = all.iter().map(|name| (name.to_string(), "succeeded")).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    for ((workflow, status), (name, ended)) in told.into_iter().zip(&expected) {
        assert_eq!((workflow, status), (&name.as_str().into(), &(*ended).into()));
    }
    // The demo leaves the user's own runs alone.
    assert!(place.run(["runs"]).ends(0).out.lines().count() <= 1);
}

/// With `--json`, nothing but JSON is printed.
#[test]
fn json_output_is_one_object() {
    let names =
        ["", "order-health", "refund-with-approval", "flaky-sync", "triage-bug", "rogue-agent"];
    let place = Place::new();
    for name in names {
        let line = format!("demo {name} --yes --json");
        let told = place.run(line.split_whitespace()).ends(0).quiet().json();
        // Runs of earlier demos are not reported again.
        let runs = told["runs"].as_array().expect("runs");
        assert_eq!(runs.len(), if name.is_empty() { 3 } else { 1 }, "{name}: {told}");
        assert!(runs.iter().all(|run| run["status"] == "succeeded"), "{name}: {told}");
    }
}

/// A waiting run is still waiting after the next demo, and the printed command finds it.
#[test]
fn the_next_demo_leaves_a_run_that_waits() {
    let place = Place::new();
    let mut command = crate::program("setsid");
    command.arg(env!("CARGO_BIN_EXE_milepost")).args(["demo", "refund-with-approval"]);
    command.current_dir(place.path("")).env("HOME", place.root.path().join("home"));
    crate::finish(&mut command, "").ends(0);
    place.run(["demo", "order-health"]).ends(0);
    let waits = place.run(["demo", "--", "inbox"]).ends(0);
    let next = waits.err.lines().find(|line| line.starts_with("next: ")).expect("a next line");
    assert!(next.starts_with("next: milepost demo -- approve run_"), "{next}");
    let none = place.run(["demo", "--", "show", "run_nope"]).ends(6);
    assert!(none.err.contains("`milepost demo -- runs`"), "{}", none.err);
}

#[test]
fn without_a_terminal_nothing_is_approved() {
    let place = Place::new();
    // Runs without a controlling terminal.
    let mut command = crate::program("setsid");
    command.arg(env!("CARGO_BIN_EXE_milepost")).args(["demo", "refund-with-approval"]);
    command.current_dir(place.path("")).env("HOME", place.root.path().join("home"));
    let ran = crate::finish(&mut command, "").ends(0);
    assert!(ran.out.contains("error[PRESENCE_REQUIRED]"), "{}", ran.out);
    assert!(ran.out.contains("nothing is refunded"), "{}", ran.out);
    assert!(ran.out.contains("waiting: approval"), "{}", ran.out);
}

#[test]
fn the_rogue_agent_is_refused() {
    let place = Place::new();
    let out = place.run(["demo", "rogue-agent"]).ends(0).quiet().out;
    let after = |what: &str| out.split_once(what).unwrap_or_else(|| panic!("{what}: {out}")).1;
    assert!(after("It skips").contains("STEP_NOT_DUE"), "{out}");
    assert!(after("in prose").contains("issue:"), "{out}");
    assert!(after("makes up a total").contains("not what the shop says"), "{out}");
    assert!(after("It looks").contains("rogue-agent  succeeded  3 of 3 steps"), "{out}");
    // A later step is not shown before it is due.
    let before = out.split_once("It looks").expect("it looks").0;
    assert!(!before.contains("one sentence for the customer"), "{before}");
}

#[test]
fn steps_of_an_agent_come_one_at_a_time() {
    let place = Place::new();
    let out = place.run(["demo", "triage-bug"]).ends(0).quiet().out;
    let (before, after) = out.split_once("submit").expect("hands in");
    assert!(!before.contains("how bad it is"), "{before}");
    assert!(after.contains("how bad it is"), "{after}");
    assert!(after.contains("triage-bug  succeeded  2 of 2 steps"), "{after}");
}

#[test]
fn runs_of_a_demo_can_be_inspected() {
    let place = Place::new();
    let none = place.run(["demo", "--", "runs"]).ends(6);
    assert!(none.err.contains("milepost demo"), "{}", none.err);
    place.run(["demo", "order-health"]).ends(0);
    assert!(place.run(["demo", "--", "runs"]).ends(0).out.contains("order-health"));
    place.run(["demo", "--", "show", "run_nope"]).ends(6);
    let nothing = place.run(["demo", "--"]).ends(2);
    assert!(nothing.err.contains("`milepost demo -- runs`"), "{}", nothing.err);
    assert_eq!(nothing.out, "", "no tour");
    let wrong = place.run(["demo", "order-helth"]).ends(2);
    assert!(wrong.err.contains("order-health"), "{}", wrong.err);
}

/// The command printed as the next step works even after the demo is over.
#[cfg(target_os = "linux")]
#[test]
fn a_rejected_demo_can_be_repeated() {
    let place = Place::new();
    let typed = |line: &str, answer: &str| {
        let mut script = crate::program("script");
        let line = format!("{} {line}", env!("CARGO_BIN_EXE_milepost"));
        script.args(["-qec", &line, "/dev/null"]).current_dir(place.path(""));
        script.env("HOME", place.root.path().join("home")).env("NO_COLOR", "1");
        crate::rogue::typed(&mut script, &[answer])
    };
    let no = typed("demo refund-with-approval", "n").ends(0).out;
    assert!(no.contains("You said no, so nothing was refunded."), "{no}");
    let next = no.lines().find_map(|line| line.trim_end().strip_prefix("next: milepost "));
    let next = next.unwrap_or_else(|| panic!("{no}")).to_owned();
    assert!(next.starts_with("demo -- approve run_"), "{next}");
    let yes = typed(&next, "y").ends(0).out;
    assert!(yes.contains("refund-with-approval  succeeded  4 of 4 steps"), "{yes}");
}

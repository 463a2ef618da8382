//! A question that expired while nobody drove its run is shown as expired, not as one that can
//! still be answered.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Place;
use crate::runs::last;

const ASKS: &str = "workflow: asks\nsteps:\n  - {id: draft, set: {x: 1}}\n  \
     - id: ok\n    depends_on: [draft]\n    \
     approve: {message: Go on?, expires: 1s, on_reject: {to: draft}}\n";

/// A run with an expired question, and the run's id.
fn lapsed() -> (Place, String) {
    let place = Place::with(&[("asks.yaml", ASKS)]);
    let run = last(&place.run(["run", "asks.yaml", "--json"]).ends(4));
    let expires = run["waiting"][0]["expires_ms"].as_u64().expect("a time");
    let until = Instant::now() + Duration::from_secs(20);
    let now = || std::time::UNIX_EPOCH.elapsed().expect("a time").as_millis();
    while now() <= u128::from(expires) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(20));
    }
    (place, run["run_id"].as_str().expect("an id").to_owned())
}

#[test]
fn a_question_whose_time_has_passed_is_shown_as_lapsed() {
    let (place, run) = lapsed();
    let next = format!("milepost resume {run}");
    let view = place.run(["show", &run, "--json"]).ends(0).json();
    let waiting = &view["waiting"][0];
    assert_eq!((&view["status"], &waiting["kind"]), (&"waiting".into(), &"lapsed".into()));
    assert_eq!((&waiting["step"], &view["next"]), (&"ok".into(), &Value::from(&*next)));
    assert_eq!(waiting["message"], "nobody answered in time: Go on?");
    assert!(waiting.get("digest").is_none(), "there is nothing to agree to: {waiting}");
    let shown = place.run(["show", &run]).ends(0);
    let told = "it is too late to answer:\n│ nobody answered in time: Go on?\n";
    assert!(shown.err.contains("\nlapsed ok of asks\n"), "{}", shown.err);
    assert!(shown.err.contains(told), "{}", shown.err);
    let listed = place.run(["runs", "--json"]).ends(0).json();
    assert_eq!(listed["runs"][0]["waiting"], "lapsed ok");
    let inbox = place.run(["inbox"]).ends(0);
    assert!(inbox.err.ends_with(&format!("{told}next: {next}\n")), "{}", inbox.err);
    let status = place.run(["--json"]).ends(0).json();
    assert_eq!(
        (&status["waits_on_you"][0]["kind"], &status["next"]),
        (&"lapsed".into(), &next.into())
    );
}

#[test]
fn it_is_too_late_to_answer_and_the_run_goes_on_without() {
    let (place, run) = lapsed();
    for word in ["approve", "reject"] {
        let late = place.run([word, &run]).ends(7);
        assert!(late.err.contains("the question `ok` expired at 20"), "{}", late.err);
        assert!(late.err.contains(&format!("`milepost resume {run}`")), "{}", late.err);
        let late = place.run([word, &run, "--step", "ok"]).ends(7);
        assert!(late.err.contains("expired"), "{}", late.err);
    }
    let planned = place.run(["resume", &run, "--plan", "--json"]).ends(0).json();
    assert_eq!(planned["plan"][1]["verdict"], "will fail", "{planned}");
    assert_eq!(planned["plan"][1]["why"], "nobody answered `ok` in time", "{planned}");
    // An expired question fails the step; unlike a rejection, it does not go back.
    let ran = place.run(["resume", &run]).ends(1);
    assert!(ran.err.contains("nobody answered `ok` in time"), "{}", ran.err);
    let logs = place.run(["logs", &run, "--json"]).ends(0).out;
    assert!(logs.contains("\"run_failed\"") && !logs.contains("\"went_back\""), "{logs}");
}

/// The timeout of a run does not pass while the run waits for nobody but a person.
#[test]
fn a_question_outlives_the_timeout_of_its_run() {
    let text = "workflow: short\ntimeout: 1s\nsteps:\n  - {id: ok, approve: Go on?}\n";
    let place = Place::with(&[("short.yaml", text)]);
    let run = last(&place.run(["run", "short.yaml", "--json"]).ends(4));
    let run = run["run_id"].as_str().expect("an id").to_owned();
    std::thread::sleep(Duration::from_millis(1_100));
    let view = place.run(["show", &run, "--json"]).ends(0).json();
    assert_eq!(view["waiting"][0]["kind"], "approval", "{view}");
    let listed = place.run(["runs", "--json"]).ends(0).json();
    assert_eq!(listed["runs"][0]["waiting"], "approval ok");
}

/// The deadline of a run also ends its questions to agents.
#[test]
fn a_run_whose_time_is_up_asks_nothing() {
    const PROMPTS: &str = "workflow: short\ntimeout: 1s\nsteps:\n  - {id: ok, prompt: Look}\n";
    let place = Place::with(&[("short.yaml", PROMPTS), ("done.txt", "done")]);
    let run = last(&place.run(["run", "short.yaml", "--json"]).ends(5));
    let run = run["run_id"].as_str().expect("an id").to_owned();
    std::thread::sleep(Duration::from_millis(1_100));
    let view = place.run(["show", &run, "--json"]).ends(0).json();
    let (waiting, next) = (&view["waiting"][0], format!("milepost resume {run}"));
    assert_eq!((&waiting["kind"], &waiting["step"]), (&"lapsed".into(), &"ok".into()));
    assert_eq!(view["next"], Value::from(&*next), "{view}");
    assert!(view.get("due").is_none(), "nothing is due any more: {view}");
    let message = waiting["message"].as_str().expect("a message");
    assert!(message.starts_with("this run's deadline has passed: "), "{message}");
    let listed = place.run(["runs", "--json"]).ends(0).json();
    assert_eq!(listed["runs"][0]["waiting"], "lapsed ok");
    place.run(["submit", &run, "ok", "done.txt"]).ends(7);
    let view = place.run(["show", &run, "--json"]).json();
    assert_eq!(view["problem"]["code"], "RUN_TIMEOUT", "{view}");
}

//! A question whose time passed while nobody drove its run: it is shown as that, and not as one
//! that can still be answered.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::Place;
use crate::runs::last;

const ASKS: &str = "workflow: asks\nsteps:\n  - {id: draft, set: {x: 1}}\n  \
     - id: ok\n    depends_on: [draft]\n    \
     approve: {message: Go on?, expires: 1s, on_reject: {to: draft}}\n";

/// A run whose question lapsed, and its id.
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
    assert!(shown.err.contains("lapsed ok: nobody answered in time: Go on?\n"), "{}", shown.err);
    let listed = place.run(["runs", "--json"]).ends(0).json();
    assert_eq!(listed["runs"][0]["waiting"], "lapsed ok");
    let inbox = place.run(["inbox"]).ends(0);
    let told = "lapsed ok: nobody answered in time: Go on?\n";
    assert_eq!(inbox.err, format!("{told}next: {next}\n"));
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
        assert!(late.err.contains("the question `ok` lapsed at 20"), "{}", late.err);
        assert!(late.err.contains(&format!("`milepost resume {run}`")), "{}", late.err);
        let late = place.run([word, &run, "--step", "ok"]).ends(7);
        assert!(late.err.contains("lapsed"), "{}", late.err);
    }
    let planned = place.run(["resume", &run, "--plan", "--json"]).ends(0).json();
    assert_eq!(planned["plan"][1]["verdict"], "will fail", "{planned}");
    assert_eq!(planned["plan"][1]["why"], "nobody answered `ok` in time", "{planned}");
    // A lapse fails the step: it is not a no, which would go back.
    let ran = place.run(["resume", &run]).ends(1);
    assert!(ran.err.contains("nobody answered `ok` in time"), "{}", ran.err);
    let logs = place.run(["logs", &run, "--json"]).ends(0).out;
    assert!(logs.contains("\"run_failed\"") && !logs.contains("\"went_back\""), "{logs}");
}

//! Compares the prediction of `resume --plan` with the requests that a server counts afterwards.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::Place;
use crate::crash::THINGS;
use crate::runs::{in_terminal, last};
use crate::server::{Server, json as answer};

/// Workflows whose `bad` requests are rejected for as long as the test chooses.
const SCENARIOS: [(&str, &str); 7] = [
    (
        "sequence",
        "
  - {id: a, run: things things:get, with: {id: a}}
  - {id: b, run: things things:update, with: {id: b}, body: {}, depends_on: [a]}
  - {id: bad, run: things things:create, body: {name: bad}, depends_on: [b]}
  - {id: d, run: things things:get, with: {id: '${{ steps.bad.output.id }}'}}",
    ),
    (
        "parallel",
        "
  - {id: a, run: things things:get, with: {id: a}}
  - {id: b, run: things things:create, body: {}}
  - {id: bad, run: things things:get, with: {id: bad}, depends_on: [a]}
  - {id: d, run: things things:create, body: {}, depends_on: [bad]}
  - {id: e, run: things things:get, with: {id: e}, depends_on: [a, b]}",
    ),
    (
        "list",
        "
  - {id: a, run: things things:create, body: {}}
  - id: bad
    for_each: [x, bad, z]
    run: things things:create
    body: {name: '${{ item }}'}
    depends_on: [a]
  - id: d
    for_each: [p, q]
    run: things things:get
    with: {id: '${{ item }}'}
    depends_on: [bad]",
    ),
    (
        "retried",
        "
  - {id: a, run: things things:get, with: {id: a}}
  - id: bad
    run: things things:update
    with: {id: bad}
    body: {}
    retry: {max_attempts: 2, initial: 1ms, on: [422]}
    depends_on: [a]
  - {id: d, run: things things:create, body: {}, depends_on: [bad]}",
    ),
    (
        "approval",
        "
  - {id: a, run: things things:get, with: {id: a}}
  - {id: ok, approve: 'Go on with ${{ steps.a.output.id }}?'}
  - {id: bad, run: things things:create, body: {name: bad}, depends_on: [ok]}
  - {id: d, run: things things:create, body: {}, depends_on: [bad]}",
    ),
    (
        "verified",
        "
  - id: a
    prompt: Do it
    verify: [{run: things things:get, with: {id: v}, check: output.id == 't1'}]
  - {id: bad, run: things things:create, body: {name: bad}, depends_on: [a]}
  - {id: d, prompt: Do that, depends_on: [bad]}",
    ),
    (
        "timer",
        "
  - {id: a, run: things things:create, body: {}}
  - {id: w, wait: 5ms, depends_on: [a]}
  - {id: bad, run: things things:get, with: {id: bad}, depends_on: [w]}
  - {id: d, set: {n: '${{ steps.bad.output.id }}'}}",
    ),
];

/// Ways to resume.
const WAYS: [&[&str]; 9] = [
    &[],
    &["--from", "failed"],
    &["--from", "bad"],
    &["--from", "bad", "--only"],
    &["--from", "bad", "--downstream"],
    &["--from", "start"],
    &["--redo", "a"],
    &["--latest"],
    &["--from", "start", "--latest"],
];

/// A server that counts requests.
struct Counter {
    server: Server,
    refuses: Arc<AtomicBool>,
}

impl Counter {
    fn start() -> Counter {
        let refuses = Arc::new(AtomicBool::new(true));
        let own = Arc::clone(&refuses);
        let server = Server::start(move |request| {
            let about = format!("{} {}", request.target, request.body);
            if about.contains("bad") && own.load(Ordering::SeqCst) {
                return answer(422, &json!({"why": "not yet"}));
            }
            answer(200, &json!({"id": "t1"}))
        });
        Counter { server, refuses }
    }

    /// The number of requests so far, and how many of them were writes.
    fn paid(&self) -> [u64; 2] {
        let seen = self.server.seen();
        let writes = seen.iter().filter(|request| request.method != "GET").count();
        [seen.len() as u64, writes as u64]
    }
}

/// Supplies everything that the run is waiting for until it is waiting for nothing, and returns the
/// number of agent submissions.
fn attend(place: &Place, run: &str) -> u64 {
    let handed_in = AtomicU64::new(0);
    for _ in 0..20 {
        let view = place.run(["show", run, "--json"]).ends(0).json();
        let Some(waiting) = view["waiting"].as_array().and_then(|all| all.first()) else {
            return handed_in.into_inner();
        };
        match waiting["kind"].as_str().expect("a kind") {
            "approval" => drop(in_terminal(place, &format!("approve {run}"), "y\n")),
            "agent" => {
                let step = waiting["step"].as_str().expect("a step");
                let told = place.run(["submit", run, step, "done.txt", "--json"]).json();
                assert_eq!(told["accepted"], true, "{told}");
                handed_in.fetch_add(1, Ordering::SeqCst);
            }
            other => unreachable!("{other}: {view}"),
        }
    }
    unreachable!("{run} does not end")
}

fn check(name: &str, steps: &str) {
    let counter = Counter::start();
    let text = format!("workflow: {name}\nconcurrency: 2\nsteps:{steps}\n");
    let place = Place::with(&[("things.yaml", THINGS), ("main.yaml", &text), ("done.txt", "ok")]);
    place.run(["catalog", "import", "things.yaml", "--base-url", &counter.server.url]).ends(0);
    place.run(["workflow", "save", "main.yaml"]).ends(0);
    for way in WAYS {
        counter.refuses.store(true, Ordering::SeqCst);
        let run = last(&place.run(["run", name, "--json"]));
        let run = run["run_id"].as_str().expect("an id").to_owned();
        attend(&place, &run);
        let view = place.run(["show", &run, "--json"]).ends(0).json();
        assert_eq!(view["status"], "failed", "{name}: {view}");
        let words = |more: &[&'static str]| [&["resume", &run as &str], way, more].concat();
        let before = counter.paid();
        let plan = place.run(words(&["--plan", "--json"])).ends(0).json();
        assert_eq!(counter.paid(), before, "{name} {way:?}: to look costs nothing");
        counter.refuses.store(false, Ordering::SeqCst);
        place.run(words(&["--yes"]));
        let agents = attend(&place, &run);
        let after = counter.paid();
        let paid = [after[0] - before[0], after[1] - before[1], agents];
        let forecast = ["calls", "writes", "agent_steps"].map(|of| plan["forecast"][of].clone());
        let exactly = |paid: u64| json!({"least": paid, "most": paid});
        let found: [Value; 3] = paid.map(exactly);
        assert_eq!(forecast, found, "{name} {way:?}: {plan}");
        let end = place.run(["show", &run, "--json"]).ends(0).json();
        let whole = end["status"] == "succeeded";
        assert!(whole || way.contains(&"--only"), "{name} {way:?}: {end}");
    }
}

/// One test per scenario, so that they run in parallel.
macro_rules! scenarios {
    ($($index:literal $name:ident)*) => {
        $(#[test] fn $name() { check(SCENARIOS[$index].0, SCENARIOS[$index].1); })*
    };
}

scenarios! { 0 sequence 1 parallel 2 list 3 retried 4 approval 5 verified 6 timer }

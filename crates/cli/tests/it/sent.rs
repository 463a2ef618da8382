//! Each attempt keeps the request it sent, and shows it to the person who has to settle its
//! outcome.

use serde_json::{Value, json};

use crate::Place;
use crate::rogue::{bare, terminal};
use crate::server::{Reply, Server, json as answer};

const DEPOT: &str = "openapi: 3.1.0\ninfo: {title: Depot, version: 1.0.0}\n\
     servers: [{url: 'https://depot.example'}]\npaths:\n  /parts/{shelf}:\n    post:\n      \
     operationId: createPart\n      tags: [parts]\n      parameters:\n        \
     - {name: shelf, in: path, required: true, schema: {type: string}}\n        \
     - {name: token, in: query, schema: {type: string}}\n      \
     requestBody: {content: {application/json: {schema: {type: object}}}}\n      \
     responses: {'201': {description: ok}}\n";
/// Three writes that start at the same time.
const WRITES: &str = r"
workflow: writes
concurrency: 4
inputs: {pass: {type: string, secret: true}, text: {type: string}}
steps:
  - {id: a, run: depot parts:update, with: {shelf: top, token: '${{ inputs.pass }}'},
     headers: {X-Said: 'it is ${{ inputs.pass }}'}, body: {count: 1}, depends_on: []}
  - {id: b, run: depot parts:update, with: {shelf: mid}, body: {count: 2, by: '${{ inputs.pass }}'},
     depends_on: []}
  - {id: c, run: depot parts:update, with: {shelf: low}, body: {count: 3}, depends_on: []}
  - {id: long, run: depot parts:update, with: {shelf: cut},
     body: {text: '${{ inputs.text }}'}, depends_on: [a, b, c]}
";
const PASS: &str = "pa55-9f3c1d";

/// Runs that workflow and returns its view.
fn started(place: &Place, code: i32) -> Value {
    let (pass, text) = (format!("pass={PASS}"), format!("text={}", "long ".repeat(1_000)));
    let ran = place.run(["run", "writes.yaml", "--json", "-i", &pass, "-i", &text]).ends(code);
    serde_json::from_str(ran.out.lines().last().expect("a line")).expect("JSON")
}

fn place(server: &Server) -> Place {
    let place = Place::with(&[("depot.yaml", DEPOT), ("writes.yaml", WRITES)]);
    place.run(["catalog", "import", "depot.yaml", "--base-url", &server.url]).ends(0);
    place
}

#[test]
fn a_question_about_an_unknown_outcome_shows_what_was_sent() {
    let server = Server::start(|_| Reply::HangUp);
    let place = place(&server);
    let run = started(&place, 4);
    let id = run["run_id"].as_str().expect("an id");
    let shown = place.run(["show", id, "--json"]).ends(0).json();
    assert!(!shown.to_string().contains(PASS), "{shown}");
    let asked = |step: &str| {
        let all = shown["waiting"].as_array().expect("a list");
        all.iter().find(|one| one["step"] == step).expect("it waits")["sent"].clone()
    };
    let a = asked("a");
    let url = format!("POST {}/parts/top?token=[secret:input:pass]", server.url);
    assert_eq!(a["request"], url);
    assert_eq!(a["headers"]["X-Said"], "it is [secret:input:pass]");
    assert_eq!(a["body"], r#"{"count":1}"#);
    let seen = server.seen();
    let of = |path: &str| seen.iter().find(|one| one.path() == path).expect("it was sent");
    let key = of("/parts/top").header("idempotency-key").expect("a key");
    assert_eq!(a["idempotency_key"], key);
    assert_eq!(a["headers"]["Idempotency-Key"], key);
    assert!(
        a["sent_ms"].as_u64().is_some_and(|at| at >= shown["started_ms"].as_u64().unwrap_or(0))
    );
    assert_eq!(asked("b")["body"], r#"{"count":2,"by":"[secret:input:pass]"}"#);
    // People see the same in words, wherever they are asked.
    for line in [["show", id].as_slice(), &["inbox"]] {
        let told = place.run(line).ends(0);
        for part in ["/parts/mid", "\"count\":3", key] {
            assert!(told.err.contains(part), "{part}: {}", told.err);
        }
    }
}

#[test]
fn several_unknown_outcomes_are_decided_one_after_the_other() {
    let server = Server::start(|_| Reply::HangUp);
    let place = place(&server);
    let run = started(&place, 4);
    let id = run["run_id"].as_str().expect("an id");
    // Without a terminal nothing is asked, and the output shows how to type each step.
    for line in [["decide", id].as_slice(), &["decide", id, "--outcome", "give-up"]] {
        let told = bare(&place, line, "").ends(2);
        for step in ["a", "b", "c"] {
            let line = format!("milepost decide {id} --step {step}");
            assert!(told.err.contains(&line), "{line}: {}", told.err);
        }
        assert!(!told.err.contains("step_id"), "{}", told.err);
    }
    let answers = ["h", "1", "y", "h", "2", "y", "g", "y"];
    let said = terminal(&place, &format!("decide {id}"), &answers);
    assert_eq!(said.code, 1, "{}", said.out);
    let (first, last) = (said.out.find("/parts/top"), said.out.find("/parts/low"));
    assert!(first.is_some() && first < last, "{}", said.out);
    let shown = place.run(["show", id, "--json"]).ends(0).json();
    assert_eq!(shown["steps"][0]["output"], 1, "{shown}");
    assert_eq!(shown["steps"][1]["output"], 2);
    assert_eq!(shown["steps"][2]["status"], "failed");
}

#[test]
fn a_succeeded_step_shows_what_was_sent() {
    let server = Server::start(|_| answer(201, &json!({"id": 7})));
    let place = place(&server);
    let run = started(&place, 0);
    let id = run["run_id"].as_str().expect("an id");
    let told = place.run(["show", id, "b"]).ends(0).out;
    for part in ["b  attempt 1", "/parts/mid", "[secret:input:pass]", "Idempotency-Key: "] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains("/parts/top"), "{told}");
    // A long body is truncated and marked as such.
    let long = place.run(["show", id, "long", "--json"]).ends(0).json();
    let sent = &long["steps"][0]["sent"][0];
    assert_eq!(sent["body"].as_str().map(str::len), Some(4096), "{long}");
    let body = server.seen().into_iter().find(|one| one.path() == "/parts/cut");
    assert_eq!(sent["body_bytes"], json!(body.map(|one| one.body.len())));
    let unknown = place.run(["show", id, "nobody"]).ends(6);
    assert!(unknown.err.contains(&format!("milepost show {id}")), "{}", unknown.err);
    let plain = place.run(["show", id, "--json"]).ends(0).json();
    assert_eq!(plain["steps"][0]["sent"], Value::Null);
}

const QUESTIONS: &str = "workflow: writes\nconcurrency: 4\nsteps:\n  \
     - {id: one, approve: First?}\n  - {id: two, approve: Second?, depends_on: []}\n  \
     - {id: end, set: {x: 1}, depends_on: [one, two]}\n";

#[test]
fn several_questions_are_approved_one_after_the_other() {
    let place = Place::with(&[("writes.yaml", QUESTIONS)]);
    let ran = place.run(["run", "writes.yaml", "--json"]).ends(4);
    let run: Value = serde_json::from_str(ran.out.lines().last().expect("a line")).expect("JSON");
    let id = run["run_id"].as_str().expect("an id");
    let told = bare(&place, &["approve", id], "").ends(2);
    for step in ["one", "two"] {
        assert!(told.err.contains(&format!("approve {id} --step {step}")), "{}", told.err);
    }
    let said = terminal(&place, &format!("approve {id}"), &["y", "y"]);
    assert_eq!(said.code, 0, "{}", said.out);
}

//! Runs through the real binary: starting, failing, resuming, submitting, deciding and killing
//! them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::server::{Reply, Request, Server, json as answer};
use crate::{Place, Ran, finish};

pub(crate) const DEPOT: &str = r"
openapi: 3.1.0
info: {title: Depot, version: 1.0.0}
servers: [{url: 'https://depot.example'}]
paths:
  /parts:
    get:
      operationId: listParts
      tags: [parts]
      responses:
        '200':
          description: ok
          content:
            application/json:
              schema: {type: object, properties: {items: {type: array, items: {type: integer}}}}
    post:
      operationId: createPart
      tags: [parts]
      requestBody:
        content: {application/json: {schema: {type: object, properties: {name: {type: string}}}}}
      responses: {'201': {description: ok, content: {application/json: {schema: {type: object}}}}}
  /parts/{id}:
    get:
      operationId: getPart
      tags: [parts]
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object}}}}}
";

/// A folder whose catalog `depot` points to a test server.
pub(crate) fn depot(server: &Server) -> Place {
    let place = Place::with(&[("depot.yaml", DEPOT)]);
    place.run(["catalog", "import", "depot.yaml", "--base-url", &server.url]).ends(0);
    place
}

/// Answers every request, and counts writes by their idempotency key.
fn counting() -> (Server, Arc<Mutex<BTreeMap<String, usize>>>) {
    let ledger: Arc<Mutex<BTreeMap<String, usize>>> = Arc::default();
    let kept = Arc::clone(&ledger);
    let server = Server::start(move |request| {
        if request.method == "POST" {
            let key = request.header("idempotency-key").unwrap_or_default().to_owned();
            *kept.lock().expect("nobody panics").entry(key).or_insert(0) += 1;
            return answer(201, &json!({"id": "p1"}));
        }
        answer(200, &json!({"id": "p1", "items": [1, 2, 3]}))
    });
    (server, ledger)
}

const THREE: &str = r#"
workflow: three
inputs: {name: {type: string}}
steps:
  - {id: look, run: depot parts:list}
  - {id: make, run: depot parts:create, body: {name: "${{ inputs.name }}"}, depends_on: [look]}
  - {id: check, run: depot parts:get, with: {id: "${{ steps.make.output.id }}"}}
final_output: {made: "${{ steps.check.output.id }}", seen: "${{ size(steps.look.output.items) }}"}
"#;

/// The last line of NDJSON.
pub(crate) fn last(ran: &Ran) -> Value {
    let line = ran.out.lines().last().expect("has lines");
    serde_json::from_str(line).expect("is JSON")
}

#[test]
fn a_run_ends_with_one_object() {
    let (server, ledger) = counting();
    let place = depot(&server);
    place.put("three.yaml", THREE);
    let ran = place.run(["run", "three.yaml", "-i", "name=bolt", "--json"]).ends(0).quiet();
    let run = last(&ran);
    assert_eq!(run["status"], "succeeded");
    assert_eq!(run["workflow"], "three");
    assert_eq!(run["final_output"], json!({"made": "p1", "seen": 3}));
    let steps: Vec<&str> =
        run["steps"].as_array().expect("a list").iter().filter_map(|s| s["id"].as_str()).collect();
    assert_eq!(steps, ["look", "make", "check"]);
    assert!(run["steps"][1]["attempts"] == 1 && run["steps"][1]["duration_ms"].is_u64());
    let id = run["run_id"].as_str().expect("an id");
    let keys: Vec<String> = ledger.lock().expect("nobody panics").keys().cloned().collect();
    assert_eq!(keys, [format!("{id}/make")]);
    // Every other line is an event of the journal.
    let first: Value = serde_json::from_str(ran.out.lines().next().expect("a line")).expect("JSON");
    assert_eq!((first["event"].as_str(), first["seq"].as_u64()), (Some("run_created"), Some(1)));
    assert!(!ran.out.contains("\"seal\""));
    let listed = place.run(["runs", "--json"]).ends(0).json();
    assert_eq!(listed["runs"][0]["run_id"], id);
    let shown = place.run(["show", &id[..8], "--json"]).ends(0).json();
    assert_eq!(shown["final_output"], run["final_output"]);
    place.run(["logs", id]).ends(0).quiet();
}

#[test]
fn looking_creates_nothing() {
    let place = Place::new();
    let files = || walk(place.root.path());
    let before = files();
    let listed = place.run(["runs", "--json"]).ends(0).json();
    assert_eq!(listed["runs"], json!([]));
    place.run(["show", "run_nothing"]).ends(6);
    place.run(["logs", "run_nothing"]).ends(6);
    assert_eq!(files(), before);
}

fn walk(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("reads").flatten();
    let below = entries.flat_map(|entry| {
        let path = entry.path();
        let inner = if path.is_dir() { walk(&path) } else { Vec::new() };
        std::iter::once(path).chain(inner)
    });
    let mut all: Vec<_> = below.collect();
    all.sort();
    all
}

#[test]
fn missing_inputs_start_nothing() {
    let (server, _) = counting();
    let place = depot(&server);
    place.put("three.yaml", THREE);
    let ran = place.run(["run", "three.yaml"]).ends(2);
    assert!(ran.err.contains("name"), "{}", ran.err);
    assert_eq!(server.seen().len(), 0);
    assert!(
        place.run(["runs", "--json"]).ends(0).json()["runs"].as_array().expect("list").is_empty()
    );
    place.run(["show", "run_nothing"]).ends(6);
}

#[test]
fn a_failed_run_is_resumed_without_repeating_writes() {
    let broken = Arc::new(AtomicUsize::new(1));
    let breaks = Arc::clone(&broken);
    let server = Server::start(move |request: &Request| match request.path() {
        "/parts/p1" if breaks.load(Ordering::SeqCst) == 1 => {
            answer(422, &json!({"why": "not yet"}))
        }
        _ => answer(200, &json!({"id": "p1", "items": []})),
    });
    let place = depot(&server);
    place.put("three.yaml", THREE);
    let ran = place.run(["run", "three.yaml", "-i", "name=bolt", "--json"]).ends(1);
    let run = last(&ran);
    assert_eq!(run["problem"]["code"], "UPSTREAM_REJECTED");
    assert_eq!(run["problem"]["context"]["status"], 422);
    let id = run["run_id"].as_str().expect("an id").to_owned();
    let before = server.seen().len();
    let plan = place.run(["resume", &id, "--plan", "--json"]).ends(0).json();
    let verdicts: Vec<&str> = plan["plan"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|step| step["verdict"].as_str())
        .collect();
    assert_eq!(verdicts, ["kept", "kept", "will run"]);
    assert_eq!(plan["forecast"]["calls"]["least"], 1);
    assert_eq!(server.seen().len(), before);
    broken.store(0, Ordering::SeqCst);
    let resumed = last(&place.run(["resume", &id, "--json"]).ends(0));
    assert_eq!(resumed["status"], "succeeded");
    assert_eq!(server.seen().len(), before + 1);
}

const AGENT: &str = r#"
workflow: agent
steps:
  - id: first
    prompt: Write down the word harbour
    output_schema: {type: object, required: [word], properties: {word: {type: string}}}
    verify: [{run: depot parts:list, check: "size(output.items) == 3", message: Three are needed}]
  - {id: second, prompt: "A lighthouse follows ${{ steps.first.output.word }}"}
"#;

#[test]
fn an_agent_cannot_skip_or_fake_a_step() {
    let (server, _) = counting();
    let place = depot(&server);
    place.put("agent.yaml", AGENT);
    let ran = place.run(["run", "agent.yaml", "--json"]).ends(5);
    let run = last(&ran);
    assert_eq!(run["due"][0]["step_id"], "first");
    let id = run["run_id"].as_str().expect("an id").to_owned();
    place.put("wrong.json", "no JSON at all");
    let wrong = place.run(["submit", &id, "first", "wrong.json", "--json"]).ends(1);
    let issues = wrong.json();
    assert_eq!(
        (issues["accepted"].as_bool(), issues["attempts_left"].as_u64()),
        (Some(false), Some(4))
    );
    let skipped = place.run(["submit", &id, "second", "wrong.json"]).ends(7);
    assert!(skipped.err.contains("STEP_NOT_DUE"), "{}", skipped.err);
    place.run(["submit", &id, "third", "wrong.json"]).ends(6);
    for told in [&ran, &wrong, &skipped] {
        assert!(!told.out.contains("lighthouse") && !told.err.contains("lighthouse"));
    }
    place.put("right.json", r#"{"word": "harbour"}"#);
    let right = place.run(["submit", &id, "first", "right.json", "--json"]).ends(5);
    assert_eq!(right.json()["accepted"], true);
    assert!(right.out.contains("A lighthouse follows harbour"));
    // Repeating a submission gets the same answer.
    let again = place.run(["submit", &id, "first", "right.json", "--json"]).ends(5);
    assert_eq!(again.json()["accepted"], true);
    place.put("done.txt", "done");
    place.run(["submit", &id, "second", "done.txt"]).ends(0);
    assert_eq!(place.run(["show", &id, "--json"]).ends(0).json()["status"], "succeeded");
    place.put("late.txt", "something else");
    place.run(["submit", &id, "second", "late.txt"]).ends(7);
}

const ASKED: &str = r#"
workflow: asked
inputs: {name: {type: string}}
steps:
  - {id: ok, approve: "Make ${{ inputs.name }}?"}
  - {id: make, run: depot parts:create, depends_on: [ok], body: {name: "${{ inputs.name }}"}}
"#;

/// Runs a command in its own terminal, and types into it.
pub(crate) fn in_terminal(place: &Place, line: &str, typed: &str) -> Ran {
    let mut command = crate::program("script");
    command.env("MILEPOST_ARRIVES_MS", "0");
    let binary = env!("CARGO_BIN_EXE_milepost");
    command
        .args(["-qec", &format!("{binary} {line}"), "/dev/null"])
        .current_dir(place.path(""))
        .env("HOME", place.root.path().join("home"))
        .env("NO_COLOR", "1");
    finish(&mut command, typed)
}

const ASKING: &str = "workflow: asking\nsteps: [{id: ok, approve: Go on?}]\n";
const WORKING: &str = "workflow: working\nsteps: [{id: look, prompt: Look}]\n";
const PARENT: &str = "workflow: parent\nsteps: [{id: a, run: workflow CHILD}]\n";

/// A command following a run is notified when a child run is waiting.
#[test]
fn a_run_waits_with_the_run_of_its_step() {
    for (child, text, code, kind) in
        [("asking", ASKING, 4, "approval"), ("working", WORKING, 5, "agent")]
    {
        let place = Place::with(&[("child.yaml", text), ("done.txt", "done")]);
        place.put("parent.yaml", &PARENT.replace("CHILD", child));
        place.workflow("save child.yaml").ends(0);
        let ran = last(&place.run(["run", "parent.yaml", "--json"]).ends(code));
        let (run, inner) = (ran["run_id"].as_str(), ran["waiting"][0]["run_id"].as_str());
        let (run, inner) = (run.expect("an id").to_owned(), inner.expect("an id").to_owned());
        assert_eq!((&ran["status"], &ran["waiting"][0]["kind"]), (&json!("waiting"), &json!(kind)));
        assert!(ran["next"].as_str().expect("a command").contains(&inner), "{ran}");
        let listed = place.run(["runs", "--json"]).ends(0).json();
        let rows = listed["runs"].as_array().expect("a list").iter();
        let standing: Vec<&str> = rows.filter_map(|row| row["status"].as_str()).collect();
        assert_eq!(standing, ["waiting", "waiting"], "{listed}");
        for (status, count) in [("waiting", 2), ("running", 0), ("succeeded", 0)] {
            let listed = place.run(["runs", "--json", "--status", status]).ends(0).json();
            assert_eq!(listed["runs"].as_array().map(Vec::len), Some(count), "{status}: {listed}");
        }
        let first = place.run(["runs", "--json", "--status", "waiting", "--limit", "1"]).ends(0);
        let cursor = first.json()["next_cursor"].as_str().expect("there is more").to_owned();
        let words = ["runs", "--json", "--status", "waiting", "--limit", "1", "--cursor", &cursor];
        let second = place.run(words).ends(0).json();
        assert_ne!(second["runs"][0]["run_id"], first.json()["runs"][0]["run_id"]);
        match child {
            // The question can also be answered under the id of the waiting child run.
            "asking" => {
                let said = in_terminal(&place, &format!("approve {run}"), "y\n").ends(0).out;
                assert!(
                    said.contains(&format!("{run}  is waiting for {inner}, which asks:")),
                    "{said}"
                );
            }
            _ => drop(place.run(["submit", &inner, "look", "done.txt"]).ends(0)),
        }
        let shown = place.run(["show", &run, "--json"]).ends(0).json();
        assert_eq!(shown["status"], "succeeded", "{shown}");
    }
}

/// If several runs ask, the person selects one.
#[test]
fn several_questions_are_told_apart() {
    let place = Place::with(&[("child.yaml", ASKING)]);
    place.workflow("save child.yaml").ends(0);
    let text = "workflow: parent\nconcurrency: 2\nsteps:\n  - {id: a, run: workflow asking}\n  \
                - {id: b, run: workflow asking}\n";
    place.put("parent.yaml", text);
    let ran = last(&place.run(["run", "parent.yaml", "--json"]).ends(4));
    let run = ran["run_id"].as_str().expect("an id");
    let told = place.run(["reject", run]).ends(2).err;
    for waiting in ran["waiting"].as_array().expect("a list") {
        let child = waiting["run_id"].as_str().expect("an id");
        assert!(told.contains(&format!("`milepost reject {child}`")), "{told}");
    }
}

/// Canceling a run that has ended does nothing and asks for no confirmation.
#[test]
fn a_run_that_has_ended_is_not_canceled() {
    let place = Place::with(&[("sums.yaml", "workflow: sums\nsteps: [{id: a, set: {b: 1}}]\n")]);
    let ran = last(&place.run(["run", "sums.yaml", "--json"]).ends(0));
    let run = ran["run_id"].as_str().expect("an id");
    let told = place.run(["cancel", run]).ends(0).err;
    assert!(told.contains("has already ended (succeeded): nothing to cancel"), "{told}");
}

#[test]
fn only_a_person_at_a_terminal_decides() {
    let (server, ledger) = counting();
    let place = depot(&server);
    place.put("asked.yaml", ASKED);
    let run = last(&place.run(["run", "asked.yaml", "-i", "name=bolt", "--json"]).ends(4));
    assert_eq!(run["waiting"][0]["message"], "Make bolt?");
    assert_eq!(run["waiting"][0]["shown"][0]["request"], "POST /parts");
    let id = run["run_id"].as_str().expect("an id").to_owned();
    // Without a terminal, neither standard input nor a flag decides.
    let mut piped = crate::program("setsid");
    piped
        .args([env!("CARGO_BIN_EXE_milepost"), "approve", &id])
        .current_dir(place.path(""))
        .env("HOME", place.root.path().join("home"));
    let refused = finish(&mut piped, "y\ny\n").ends(8);
    assert!(refused.err.contains("PRESENCE_REQUIRED"), "{}", refused.err);
    place.run(["approve", &id, "--yes"]).ends(2);
    assert!(ledger.lock().expect("nobody panics").is_empty());
    let inbox = place.run(["inbox", "--json"]).ends(0).json();
    assert_eq!(inbox["inbox"][0]["run_id"], id);
    let said = in_terminal(&place, &format!("approve {id}"), "y\n");
    assert_eq!(said.code, 0, "{} {}", said.out, said.err);
    assert_eq!(ledger.lock().expect("nobody panics").len(), 1);
    assert_eq!(place.run(["show", &id, "--json"]).ends(0).json()["status"], "succeeded");
}

/// A request to another server voids the approval, and both requests are shown.
#[test]
fn a_request_to_another_server_is_asked_about_again() {
    let (first, _) = counting();
    let (second, elsewhere) = counting();
    let place = depot(&first);
    place.put("asked.yaml", ASKED);
    let run = last(&place.run(["run", "asked.yaml", "-i", "name=bolt", "--json"]).ends(4));
    let id = run["run_id"].as_str().expect("an id").to_owned();
    let target = |url: &str| format!("POST {url}/parts");
    assert_eq!(run["waiting"][0]["shown"][0]["target"], target(&first.url));
    let words = ["catalog", "import", "depot.yaml", "--overwrite", "--base-url", &second.url];
    place.run(words).ends(0);
    place.run(["pause", &id]).ends(0);
    place.run(["resume", &id, "--latest-catalogs", "--yes"]).ends(4);
    let said = in_terminal(&place, &format!("approve {id}"), "y\n").ends(4);
    assert!(said.out.contains(&target(&first.url)), "{}", said.out);
    let shown = place.run(["show", &id, "--json"]).ends(0).json();
    let change = &shown["waiting"][0]["changes"][0];
    assert!(change["before"].get(target(&first.url)).is_some(), "{change}");
    assert!(change["after"].get(target(&second.url)).is_some(), "{change}");
    assert!(elsewhere.lock().expect("nobody panics").is_empty());
}

const FORM: &str = "workflow: form\nsteps:\n  - id: ok\n    approve:\n      \
     message: How many?\n      by: [BY]\n      form:\n        type: object\n        \
     required: [n]\n        properties: {n: {type: integer}, why: {type: string}}\n\
     final_output: '${{ steps.ok.output }}'\n";

/// Every form field is asked for, and the user's name comes from the system rather than a variable.
#[test]
fn a_question_says_what_it_asks_and_whom() {
    let own = milepost_store::user();
    let place = Place::with(&[("form.yaml", &FORM.replace("BY", &own))]);
    place.put("answer.json", r#"{"n": 2}"#);
    let begun = || last(&place.run(["run", "form.yaml", "--json"]).ends(4));
    let run = begun();
    let id = run["run_id"].as_str().expect("an id").to_owned();
    assert_eq!(run["waiting"][0]["by"], json!([own]));
    assert_eq!(run["waiting"][0]["form"]["required"], json!(["n"]));
    let said = in_terminal(&place, &format!("approve {id}"), "many\n\ny\n");
    assert_ne!(said.code, 0, "no number: {}", said.out);
    assert!(said.out.contains("`n` (integer)") && said.out.contains(&own), "{}", said.out);
    in_terminal(&place, &format!("approve {id}"), "3\nall of them\ny\n").ends(0);
    let shown = place.run(["show", &id, "--json"]).ends(0).json();
    assert_eq!(shown["final_output"]["answer"], json!({"n": 3, "why": "all of them"}));
    let run = begun();
    let id = run["run_id"].as_str().expect("an id");
    in_terminal(&place, &format!("approve {id} --answer answer.json"), "y\n").ends(0);
    // Pretending to be someone else does not answer a question meant for them.
    place.put("form.yaml", &FORM.replace("BY", "somebody-else"));
    let run = begun();
    let id = run["run_id"].as_str().expect("an id");
    let line = format!("{} approve {id} --answer answer.json", env!("CARGO_BIN_EXE_milepost"));
    let mut command = crate::program("script");
    command.env("MILEPOST_ARRIVES_MS", "0");
    command.args(["-qec", &line, "/dev/null"]).current_dir(place.path(""));
    command.env("HOME", place.root.path().join("home")).env("USER", "somebody-else");
    let said = finish(&mut command, "y\n").ends(8);
    assert!(said.out.contains("somebody-else"), "{}", said.out);
}

#[test]
fn wrong_arguments_are_reported_as_such() {
    let text = "workflow: x\ninputs:\n  tags: {type: array, mode: multiple}\n  \
         pat: {type: string, validate: {pattern: '^a', max_length: 2}, optional: true}\n\
         steps: [{id: a, set: {tags: '${{ inputs.tags }}'}}]\n\
         final_output: '${{ inputs.tags }}'\n";
    let place = Place::with(&[("x.yaml", text)]);
    for limit in ["0", "99999"] {
        let ran = place.run(["runs", "--limit", limit]).ends(2);
        assert!(ran.err.contains("between 1 and 1000"), "{}", ran.err);
    }
    let ran = place.run(["run", "x.yaml", "--inputs", "[1]"]).ends(2);
    assert!(ran.err.contains("error[INPUT_INVALID]"), "{}", ran.err);
    let ran = place.run(["run", "x.yaml", "-i", "tags=a", "-i", "tags=2", "--json"]).ends(0);
    assert_eq!(last(&ran)["final_output"], json!(["a", 2]));
    let ran = place.run(["run", "x.yaml", "-i", "tags=a", "-i", "pat=bcd"]).ends(2);
    let (length, pattern) = ("a length of at most 2", "a value that matches `^a`");
    assert!(ran.err.contains(length) && ran.err.contains(pattern), "{}", ran.err);
    assert!(ran.err.contains("found \"bcd\""), "{}", ran.err);
}

/// The configuration of runs: who approves, with what proof, and how much may be spent.
#[test]
fn the_configuration_approves_and_limits() {
    let (server, ledger) = counting();
    let place = depot(&server);
    place.put("asked.yaml", ASKED);
    place.put("three.yaml", THREE);
    let configured = |text: &str| {
        let folder = place.root.path().join("home/.config/milepost");
        std::fs::create_dir_all(&folder).expect("made");
        std::fs::write(folder.join("config.toml"), text).expect("written");
    };
    configured("[approvals]\npresence = \"pin\"\n");
    let ran = place.run(["run", "asked.yaml", "-i", "name=bolt"]).ends(8);
    assert!(ran.err.contains("milepost person set-pin"), "{}", ran.err);
    place.run(["run", "three.yaml", "-i", "name=bolt"]).ends(0);
    configured("");
    place.run(["workflow", "save", "asked.yaml"]).ends(0);
    let said = crate::rogue::terminal(&place, "workflow review --alone asked", &["y"]);
    assert_eq!(said.code, 0, "{}", said.out);
    let ran = place.run(["run", "asked", "-i", "name=bolt", "--json"]).ends(0);
    assert!(ran.out.contains("\"presence\":\"policy\""), "{}", ran.out);
    assert_eq!(ledger.lock().expect("nobody panics").len(), 2);
    configured("[budget]\nhttp_calls = 2\n");
    let ran = place.run(["run", "three.yaml", "-i", "name=bolt", "--json"]).ends(4);
    assert_eq!(last(&ran)["waiting"][0]["kind"], "budget");
    // The workflow takes precedence over the configuration.
    place.put("more.yaml", &THREE.replace("steps:", "budget: {http_calls: 9}\nsteps:"));
    place.run(["run", "more.yaml", "-i", "name=bolt"]).ends(0);
}

/// Running an invalid file shows the command to type next.
#[test]
fn an_invalid_file_leads_to_validate() {
    let place = Place::with(&[("slip.yaml", crate::SLIP), ("sound.yaml", crate::SOUND)]);
    let ran = place.run(["run", "slip.yaml"]).ends(3);
    assert!(ran.err.contains("`milepost workflow validate slip.yaml`"), "{}", ran.err);
    let run = last(&place.run(["run", "sound.yaml", "--json"]).ends(5));
    let id = run["run_id"].as_str().expect("an id");
    place.run(["cancel", id, "--yes"]);
    let ran = place.run(["resume", id, "--from", "nowhere"]).ends(6);
    assert!(ran.err.contains("hint: name one of its steps: `a`"), "{}", ran.err);
}

/// The journal stores a cause; readers see what happened and the command to type.
#[test]
fn a_failure_is_described_with_commands() {
    let naps = "workflow: naps\ninputs: {until: {type: string}}\nsteps:\n  \
        - {id: nap, wait: \"${{ inputs.until }}\"}\n";
    let place = Place::with(&[("naps.yaml", naps)]);
    let run = last(&place.run(["run", "naps.yaml", "-i", "until=soon", "--json"]).ends(1));
    let failure = json!({
        "code": "EXPRESSION_FAILED",
        "message": "`wait` must yield a duration or a timestamp: it yields `soon`",
        "hint": "correct the expression, then resume with `--latest`",
        "context": {"place": "wait"},
    });
    assert_eq!(run["problem"], failure);
    let logs = place.run(["logs", run["run_id"].as_str().expect("an id"), "--json"]).ends(0);
    assert_eq!(last(&logs)["failure"], failure);
    let ran = place.run(["show", run["run_id"].as_str().expect("an id")]).ends(0);
    assert!(ran.err.contains("then resume with `--latest`"), "{}", ran.err);
}

#[test]
fn the_last_used_value_is_the_default_of_the_next_run() {
    let (server, _) = counting();
    let place = depot(&server);
    place.put(
        "again.yaml",
        "workflow: again\ninputs: {name: {type: string, default: {from: history}}}\n\
         steps: [{id: a, set: {said: \"${{ inputs.name }}\"}}]\n\
         final_output: {said: \"${{ steps.a.output.said }}\"}\n",
    );
    place.put(
        "other.yaml",
        "workflow: other\ninputs:\n  last:\n    type: object\n    \
         default: {from: workflow_output, value: again}\n\
         steps: [{id: a, set: {said: \"${{ inputs.last.said }}\"}}]\n\
         final_output: {said: \"${{ steps.a.output.said }}\"}\n",
    );
    place.run(["run", "again.yaml"]).ends(2);
    place.run(["run", "again.yaml", "-i", "name=bolt"]).ends(0);
    let said = json!({"said": "bolt"});
    assert_eq!(last(&place.run(["run", "again.yaml", "--json"]).ends(0))["final_output"], said);
    assert_eq!(last(&place.run(["run", "other.yaml", "--json"]).ends(0))["final_output"], said);
    place.run(["inputs", "forget", "--workflow", "again", "--yes"]).ends(0);
    place.run(["run", "again.yaml"]).ends(2);
}

/// A header set by the workflow replaces the default header, as the preview shows.
#[test]
fn a_header_of_the_workflow_is_sent_once_unless_it_belongs_to_the_connection() {
    let (server, _) = counting();
    let place = depot(&server);
    let step = |header: &str| {
        format!("workflow: h\nsteps: [{{id: a, run: depot parts:list, headers: {{{header}}}}}]\n")
    };
    place.put("h.yaml", &step("Accept: text/plain"));
    place.run(["run", "h.yaml"]).ends(0);
    let accepts = server.last().headers.into_iter().filter(|(name, _)| name == "accept");
    let accepts: Vec<String> = accepts.map(|(_, value)| value).collect();
    assert_eq!(accepts, ["text/plain"]);
    let sent = server.seen().len();
    place.put("h.yaml", &step("Host: evil.test"));
    place.run(["run", "h.yaml"]);
    assert_eq!(server.seen().len(), sent);
}

/// The example from the README.
#[test]
fn the_example_runs_on_the_mock() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let example = |name: &str| root.join("examples").join(name).display().to_string();
    let place = Place::new();
    place.run(["catalog", "import", &example("shop.yaml")]).ends(0);
    let ran = place.run(["run", &example("order-report.yaml"), "--mock", "--json"]).ends(0);
    let run = last(&ran);
    assert_eq!(run["final_output"], json!({"orders": 3}));
    assert_eq!(run["mock"], true);
    let dry = place.run(["run", &example("order-report.yaml"), "--dry-run"]).ends(0);
    assert!(dry.out.contains("GET /"), "{}", dry.out);
    let saved = place.run(["backup", "copy", "--json"]).ends(0).json();
    assert_eq!(saved["path"], "copy");
    place.run(["runs", "purge", "--yes"]).ends(0);
    assert!(place.run(["runs"]).ends(0).err.contains("no runs yet"));
    place.run(["inputs", "forget", "--yes"]).ends(0);
}

#[test]
fn a_secret_is_in_no_row_and_no_output() {
    const CANARY: &str = "c4n4ry-s3cret-input";
    let server = Server::start(|request: &Request| {
        // An API that echoes its input.
        Reply::Answer(
            201,
            vec![("content-type", "text/plain".to_owned())],
            request.body.clone().into(),
        )
    });
    let place = depot(&server);
    place.put(
        "secret.yaml",
        "workflow: secret\ninputs: {token: {type: string, secret: true}}\nsteps:\n  \
         - {id: make, run: depot parts:create, body: {name: \"key ${{ inputs.token }}\"}}\n\
         final_output: {said: \"${{ steps.make.output }}\"}\n",
    );
    let ran = place.run(["run", "secret.yaml", "-i", &format!("token={CANARY}"), "--json"]).ends(0);
    assert!(server.last().body.contains(CANARY), "the API got it");
    assert!(!ran.out.contains(CANARY) && !ran.err.contains(CANARY), "{}", ran.out);
    let id = last(&ran)["run_id"].as_str().expect("an id").to_owned();
    for words in [vec!["show", &id], vec!["logs", &id, "--json"], vec!["runs"]] {
        let shown = place.run(words).ends(0);
        assert!(!shown.out.contains(CANARY) && !shown.err.contains(CANARY));
    }
    let mut open = vec![place.root.path().to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(
                std::fs::read_dir(&path).expect("reads").map(|entry| entry.expect("is").path()),
            );
        } else if let Ok(bytes) = std::fs::read(&path) {
            let found = bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
            assert!(!found, "{}", path.display());
        }
    }
}

/// Waits until a background run is in this state.
fn until(place: &Place, id: &str, status: &str) -> Value {
    for _ in 0..600 {
        let view = place.run(["show", id, "--json"]).ends(0).json();
        if view["status"] == status {
            return view;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    unreachable!("{id} is never {status}")
}

#[test]
fn a_detached_run_continues_by_itself() {
    let text = "workflow: later\nsteps:\n  - {id: rest, wait: 2s}\n  - {id: done, set: {x: 1}, \
                depends_on: [rest]}\n";
    let place = Place::with(&[("later.yaml", text), ("slip.yaml", crate::SLIP)]);
    let started = place.run(["run", "later.yaml", "--detach", "--json"]).ends(0).quiet().json();
    let id = started["run_id"].as_str().expect("an id").to_owned();
    assert_eq!(started["status"], "running", "{started}");
    // The run finishes by itself, and nothing is lost.
    until(&place, &id, "succeeded");
    let said = place.run(["run", "later.yaml", "--detach"]).ends(0);
    assert!(said.err.contains("later  running  0 of 2 steps"), "{}", said.err);
    assert!(said.err.contains("next: milepost show run_"), "{}", said.err);
    // A run that cannot start is reported in the same way as without `--detach`.
    let (plain, detached) = ("run slip.yaml", "run slip.yaml --detach");
    assert_eq!(place.say(plain).ends(3).err, place.say(detached).ends(3).err);
    place.say("run nobody --detach --json").ends(6);
    let running = place.run(["runs", "--json"]).ends(0).json();
    let last = running["runs"][0]["run_id"].as_str().expect("an id").to_owned();
    until(&place, &last, "succeeded");
}

#[cfg(target_os = "linux")]
#[test]
fn end_of_input_decides_nothing() {
    let text = "workflow: asks\nsteps:\n  - {id: ok, approve: Go on?}\n";
    let place = Place::with(&[("asks.yaml", text)]);
    let run = last(&place.run(["run", "asks.yaml", "--json"]).ends(4));
    let id = run["run_id"].as_str().expect("an id");
    let mut script = crate::program("script");
    script.env("MILEPOST_ARRIVES_MS", "0");
    let line = format!("{} approve {id}", env!("CARGO_BIN_EXE_milepost"));
    script.args(["-qec", &line, "/dev/null"]).current_dir(place.path(""));
    script.env("HOME", place.root.path().join("home"));
    let ended = crate::rogue::typed(&mut script, &["\u{4}"]).ends(7);
    assert!(ended.out.contains("nothing was decided"), "{}", ended.out);
    assert_eq!(place.run(["show", id, "--json"]).ends(0).json()["status"], "waiting");
}

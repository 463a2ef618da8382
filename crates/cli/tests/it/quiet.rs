//! `--quiet` with all kinds of commands prints results, questions and errors, and nothing else.

use serde_json::{Value, json};

use crate::server::{Server, json as answer};
use crate::{Place, Ran, SLIP, SOUND};

const API: &str = r"
openapi: 3.1.0
info: {title: Depot, version: 1.0.0}
servers: [{url: 'https://depot.example'}]
paths:
  /parts:
    get:
      operationId: listParts
      tags: [parts]
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object}}}}}
";
const LOOKS: &str = "workflow: looks\nsteps: [{id: look, run: 'depot parts:get'}]\n\
                     final_output: '${{ steps.look.output }}'\n";

/// Prepares a folder for a command.
type Prepare<'p> = &'p dyn Fn(&Place);

/// Runs a command with and without `--quiet`, each time in a fresh folder: the results are the
/// same, and `--quiet` prints nothing else.
fn check(prepare: impl Fn(&Place), arguments: &str) -> (Ran, Ran) {
    let run = |more: &[&str]| {
        let place = Place::new();
        prepare(&place);
        let mut ran = place.run(arguments.split(' ').chain(more.iter().copied()));
        let root = place.root.path().to_string_lossy().into_owned();
        ran.out = ran.out.replace(&root, "~");
        ran.err = ran.err.replace(&root, "~");
        ran
    };
    let (loud, quiet) = (run(&[]), run(&["-q"]));
    assert_eq!(loud.code, quiet.code, "{arguments}: {}", quiet.err);
    assert_eq!(loud.out, quiet.out, "{arguments}");
    (loud, quiet)
}

#[test]
fn remarks_are_suppressed() {
    let with = |name: &'static str, text: &'static str| move |place: &Place| place.put(name, text);
    let saved = |place: &Place| {
        place.put("sound.yaml", SOUND);
        place.workflow("save sound.yaml").ends(0);
        place.put("sound.yaml", &format!("{SOUND}# more\n"));
    };
    let imported = |place: &Place| {
        place.put("depot.yaml", API);
        place.say("catalog import depot.yaml").ends(0);
    };
    let checks: [(Prepare<'_>, &str); 9] = [
        (&|_| {}, "init"),
        (&|_| {}, "runs"),
        (&|_| {}, "inbox"),
        (&|_| {}, "docs"),
        (&|_| {}, "workflow new tidy-inbox"),
        (&saved, "workflow save sound.yaml --overwrite"),
        (&with("depot.yaml", API), "catalog import depot.yaml"),
        (&with("depot.yaml", API), "catalog preview depot.yaml"),
        (&imported, "command search parts"),
    ];
    for (prepare, arguments) in checks {
        let (loud, quiet) = check(prepare, arguments);
        assert_eq!(loud.code, 0, "{arguments}: {}", loud.err);
        assert!(!loud.err.is_empty(), "{arguments} says nothing anyway");
        assert_eq!(quiet.err, "", "{arguments}");
    }
}

/// For `inbox`, the questions are the result.
#[test]
fn questions_are_still_shown() {
    let place = Place::new();
    place.put("asking.yaml", "workflow: asking\nsteps: [{id: ok, approve: Go on?}]\n");
    place.say("run asking.yaml").ends(4);
    let quiet = place.say("inbox -q").ends(0);
    assert!(quiet.err.contains("Go on?\nnext: milepost approve run_"), "{}", quiet.err);
}

#[test]
fn errors_are_still_shown() {
    for (text, arguments, word) in [
        ("", "run nowhere", "error[WORKFLOW_NOT_FOUND]"),
        ("", "resume run_1", "error[RUN_NOT_FOUND]"),
        ("", "catalog import nowhere.yaml", "error["),
        (SLIP, "workflow save file.yaml", "error[WORKFLOW_INVALID]"),
        (SLIP, "workflow plan file.yaml", "promt"),
        ("", "workflow new tidy-inbox -o nowhere/at/all.yaml", "error["),
    ] {
        let (loud, quiet) = check(|place| place.put("file.yaml", text), arguments);
        assert_ne!(quiet.code, 0, "{arguments}");
        assert_eq!(loud.err, quiet.err, "{arguments}");
        assert!(quiet.err.contains(word), "{arguments}: {}", quiet.err);
    }
}

/// A folder with a catalog that points to this server.
fn depot(server: &Server) -> Place {
    let place = Place::with(&[("depot.yaml", API), ("looks.yaml", LOOKS)]);
    place.run(["catalog", "import", "depot.yaml", "--base-url", &server.url, "-q"]).ends(0).quiet();
    place
}

#[test]
fn a_run_prints_its_output_or_the_reason_of_its_failure() {
    let server = Server::start(|_| answer(200, &json!({"parts": 3})));
    let place = depot(&server);
    let ran = place.say("run looks.yaml -q").ends(0).quiet();
    assert_eq!(serde_json::from_str::<Value>(&ran.out).expect("JSON"), json!({"parts": 3}));
    let events = |more: &str| -> Vec<Value> {
        let ran = place.say(&format!("run looks.yaml --json{more}")).ends(0).quiet();
        let lines = ran.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines.map(|line| line["event"].clone()).collect()
    };
    assert_eq!(events(""), events(" --quiet"));
}

#[test]
fn a_failed_run_says_why_and_resumes_silently() {
    let down = std::sync::atomic::AtomicBool::new(true);
    let server =
        Server::start(move |_| match down.swap(false, std::sync::atomic::Ordering::Relaxed) {
            true => answer(404, &json!({"say": "no"})),
            false => answer(200, &json!({"parts": 3})),
        });
    let place = depot(&server);
    let ran = place.say("-q run looks.yaml").ends(1);
    assert_eq!(ran.out, "");
    assert!(ran.err.starts_with("error[UPSTREAM_REJECTED]: "), "{}", ran.err);
    assert!(!ran.err.contains("next:") && !ran.err.contains('→'), "{}", ran.err);
    let runs = place.say("runs --json").ends(0).json();
    let run = runs["runs"][0]["run_id"].as_str().expect("an id").to_owned();
    // Both the plan and the output are results.
    let ran = place.run(["resume", &run, "-q"]).ends(0).quiet();
    assert!(ran.out.contains("look") && ran.out.ends_with("{\n  \"parts\": 3\n}\n"), "{}", ran.out);
}

#[test]
fn a_run_that_waits_for_a_person_asks_and_one_that_waits_for_an_agent_is_silent() {
    let place = Place::with(&[("sound.yaml", SOUND)]);
    let ran = place.say("run sound.yaml -q").ends(5).quiet();
    assert_eq!(ran.out, "");
    let asks = "workflow: asks\nsteps: [{id: ok, approve: Go on?}]\n";
    place.put("asks.yaml", asks);
    let ran = place.say("run asks.yaml -q").ends(4);
    assert!(ran.err.starts_with("approval ok of asks\nrun run_"), "{}", ran.err);
    assert!(ran.err.contains("\n│ Go on?\nnext: milepost approve run_"), "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 7, "and nothing else: {}", ran.err);
    let runs = place.say("runs --json -q").ends(0).quiet().json();
    let run = runs["runs"][0]["run_id"].as_str().expect("an id").to_owned();
    // Without a terminal, the question itself must still be shown.
    let ran = place.run(["approve", &run, "-q"]);
    assert!(ran.code != 0 && ran.err.contains("│ Go on?"), "{}", ran.err);
}

#[test]
fn the_tour_ignores_quiet() {
    let place = Place::new();
    let ran = place.run(["demo", "--yes", "-q"]).ends(0).quiet();
    for word in ["## 3. ", "next: milepost", "succeeded", "Start your own:"] {
        assert!(ran.out.contains(word), "{word}: {}", ran.out);
    }
}

#[test]
fn json_is_accepted_before_and_after_the_command() {
    let place = Place::new();
    place.say("--json runs").ends(0).quiet().json();
    let ran = place.say("mcp --json").ends(2);
    assert!(ran.err.contains("it speaks MCP"), "{}", ran.err);
    place.say("--json").ends(0).quiet();
    place.say("-q --json").ends(0).quiet();
}

//! What a person is shown before they answer, and that their answer covers everything that is
//! then sent.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use milepost_model::untrusted::{GUTTER, is_hidden};
use serde_json::{Value, json};

use crate::rogue::{bare, terminal};
use crate::server::{Server, json as answer};
use crate::{Place, Ran};
use hostile::{BENIGN, texts};

#[path = "../../../ops/testdata/hostile.rs"]
mod hostile;

const SHOP: &str = r"
openapi: 3.1.0
info: {title: Shop, version: 1.0.0}
components:
  securitySchemes: {key: {type: apiKey, in: header, name: X-Shop-Token}}
paths:
  /names:
    get:
      operationId: listNames
      tags: [names]
      responses: {'200': {description: ok, content: {application/json: {schema: {}}}}}
  /pay/{id}:
    post:
      operationId: pay
      tags: [pay]
      security: [{key: []}]
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: note, in: query, schema: {type: string}}
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: {'200': {description: ok, content: {application/json: {schema: {}}}}}
    put:
      operationId: putPay
      tags: [pay]
      security: [{key: []}]
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: note, in: query, schema: {type: string}}
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: {'200': {description: ok, content: {application/json: {schema: {}}}}}
  /files:
    post:
      operationId: addFile
      tags: [files]
      requestBody: {content: {application/octet-stream: {schema: {}}}}
      responses: {'200': {description: ok, content: {application/json: {schema: {}}}}}
";
const TOKEN: &str = "key-of-the-shop-4711";

fn shop(server: &Server, files: &[(&str, &str)]) -> Place {
    let place = Place::with(files);
    place.put("shop.yaml", SHOP);
    place.run(["catalog", "import", "shop.yaml", "--base-url", &server.url]).ends(0);
    secret(&place, TOKEN);
    place.run(["catalog", "auth", "shop", "--key", "SHOP_TOKEN"]).ends(0);
    place
}

fn secret(place: &Place, value: &str) {
    let mut command = place.command();
    crate::finish(command.args(["secret", "set", "SHOP_TOKEN"]), value).ends(0);
}

/// Starts a workflow, which then waits for a person, and returns its id.
fn started(place: &Place, workflow: &str) -> String {
    let ran = place.run(["run", workflow, "--json"]).ends(4);
    let run: Value = serde_json::from_str(ran.out.lines().last().expect("a line")).expect("JSON");
    run["run_id"].as_str().expect("an id").to_owned()
}

fn shown(place: &Place, run: &str) -> Value {
    place.run(["show", run, "--json"]).ends(0).json()
}

fn writes(server: &Server) -> usize {
    server.seen().iter().filter(|request| request.method != "GET").count()
}

/// The first request fails, so that there is something to change after the decision.
const PAY: &str = r#"
workflow: pay
title: Pay somebody
steps:
  - {id: ok, approve: Pay now?}
  - {id: first, depends_on: [ok], run: shop files:create, body: ping}
  - id: pay
    depends_on: [first]
    for_each: '${{ ["a7", "b8"] }}'
    as: id
    run: shop pay:update
    with: {id: '${{ id }}', note: hello}
    headers: {X-Why: because}
    body: {amount: 12}
  - {id: file, depends_on: [pay], run: shop files:create, body: {$file: report.txt}}
  - {id: sub, depends_on: [file], run: workflow inner, with: {n: 1}}
"#;
const INNER: &str = "workflow: inner\ninputs: {n: {type: integer}}\nsteps:\n  \
    - {id: p, run: shop pay:update, with: {id: inner}, body: {n: '${{ inputs.n }}'}}\n";

fn paying(server: &Server) -> Place {
    let place = shop(server, &[("report.txt", "first"), ("pay.yaml", PAY), ("inner.yaml", INNER)]);
    place.run(["workflow", "save", "inner.yaml"]).ends(0);
    place.run(["workflow", "save", "pay.yaml"]).ends(0);
    place
}

#[test]
fn a_question_shows_everything_that_is_sent() {
    let server = Server::start(|_| answer(200, &json!({})));
    let place = paying(&server);
    let run = started(&place, "pay");
    let host = server.url.trim_start_matches("http://");
    let sha = "a7937b64b8caa58f03721bb6bacf5c78cb235febe0e70b1b84cd99541461a08e";
    let parts = [
        format!("run {run}"),
        "│ Pay somebody".to_owned(),
        "│ Pay now?".to_owned(),
        format!("│ {}/pay/a7?note=hello", server.url),
        "│ X-Why: because".to_owned(),
        "│ body {\"amount\":12}".to_owned(),
        "with the secret SHOP_TOKEN, profile default, in:".to_owned(),
        "│ header X-Shop-Token".to_owned(),
        format!("with a file of 5 bytes, sha256 {sha}:"),
        "│ report.txt".to_owned(),
        format!("│ may send POST {}/pay/{{id}}", server.url),
        format!("sends POST to {host} without TLS, 4 times"),
    ];
    let folder = format!("│ {}", fs::canonicalize(place.path("")).expect("a path").display());
    for line in [&["inbox"][..], &["show", &run], &["approve", &run]] {
        let mut command = place.command();
        let told = crate::finish(command.args(line).env("COLUMNS", "200"), "").err;
        for part in parts.iter().chain([&folder]) {
            assert!(told.lines().any(|line| line.starts_with(part.as_str())), "{part}:\n{told}");
        }
        assert!(!told.contains(TOKEN), "{told}");
    }
    let view = shown(&place, &run);
    assert!(!view.to_string().contains(TOKEN), "{view}");
    let asked = &view["waiting"][0];
    assert_eq!(asked["source"]["title"], "Pay somebody");
    assert_eq!(asked["shown"][1]["secrets"][0]["name"], "SHOP_TOKEN");
    let file = asked["shown"].as_array().expect("a list").iter().find(|one| one["step"] == "file");
    assert_eq!(file.expect("is shown")["files"][0]["sha256"], sha);
}

/// A server that refuses the first write.
fn refusing() -> Server {
    let refused = AtomicBool::new(false);
    Server::start(move |_| match refused.swap(true, Ordering::Relaxed) {
        true => answer(200, &json!({})),
        false => answer(422, &json!({})),
    })
}

fn edit(place: &Place, file: &str, old: &str, new: &str) {
    let text = place.text(file);
    assert!(text.contains(old), "{old}");
    place.put(file, &text.replacen(old, new, 1));
}

fn edit_workflow(place: &Place, file: &str, old: &str, new: &str) {
    edit(place, file, old, new);
    place.run(["workflow", "save", file, "--overwrite"]).ends(0);
}

fn edit_catalog(place: &Place, old: &str, new: &str) {
    edit(place, "shop.yaml", old, new);
    place.run(["catalog", "import", "shop.yaml", "--overwrite"]).ends(0);
}

type Change = (&'static str, fn(&Place));

/// Every part of a request, and how to change it.
const CHANGES: [Change; 13] = [
    ("method", |place| edit_workflow(place, "pay.yaml", "pay:update", "pay:replace")),
    ("path", |place| {
        let found = place.run(["catalog", "show", "shop"]).ends(0).out;
        let base = found.lines().find_map(|line| line.strip_prefix("address   "));
        let base = base.expect("an address").to_owned();
        let line = ["catalog", "import", "shop.yaml", "--overwrite", "--base-url"];
        place.run(line.into_iter().chain([&*format!("{base}/v2")])).ends(0);
    }),
    ("host", |place| {
        let line = ["catalog", "import", "shop.yaml", "--overwrite", "--base-url"];
        place.run(line.into_iter().chain(["http://127.0.0.1:9"])).ends(0);
    }),
    ("query", |place| edit_workflow(place, "pay.yaml", "note: hello", "note: other")),
    ("header", |place| edit_workflow(place, "pay.yaml", "because", "for fun")),
    ("body", |place| edit_workflow(place, "pay.yaml", "amount: 12", "amount: 13")),
    ("list items", |place| edit_workflow(place, "pay.yaml", "b8", "b9")),
    ("one item more", |place| edit_workflow(place, "pay.yaml", "\"b8\"", "\"b8\", \"c9\"")),
    ("sub-workflow", |place| edit_workflow(place, "inner.yaml", "{n: '", "{m: 1, n: '")),
    ("place of the credential", |place| edit_catalog(place, "X-Shop-Token", "X-Other-Token")),
    ("name of the credential", |place| {
        let mut command = place.command();
        crate::finish(command.args(["secret", "set", "OTHER"]), TOKEN).ends(0);
        place.run(["catalog", "auth", "shop", "--key", "OTHER"]).ends(0);
    }),
    ("value of the credential", |place| secret(place, "another-key-of-the-shop")),
    ("contents of a file", |place| place.put("report.txt", "other")),
];

/// Whatever part of what was approved is another one afterwards: the person is asked again, and
/// until they answer, nothing is sent.
#[test]
fn an_approval_covers_every_part_of_what_is_sent() {
    std::thread::scope(|scope| {
        for (what, change) in CHANGES {
            scope.spawn(move || {
                let server = refusing();
                let place = paying(&server);
                let run = started(&place, "pay");
                let said = terminal(&place, &format!("approve {run}"), &["y"]);
                assert_eq!((said.code, writes(&server)), (1, 1), "{what}: {}", said.out);
                change(&place);
                let resumed = place.run(["resume", &run, "--latest", "--yes"]);
                assert_eq!((resumed.code, writes(&server)), (4, 1), "{what}: {}", resumed.err);
                let view = shown(&place, &run);
                assert!(!view["waiting"][0]["changes"].is_null(), "{what}: {view}");
                assert!(!view.to_string().contains("another-key"), "{what}: {view}");
            });
        }
    });
}

/// What is read only when it is sent may change between the question and the answer.
#[test]
fn what_changes_before_the_answer_is_asked_for_again() {
    for (what, change) in CHANGES.into_iter().rev().take(2) {
        let server = refusing();
        let place = paying(&server);
        let run = started(&place, "pay");
        change(&place);
        let said = terminal(&place, &format!("approve {run}"), &["y"]);
        assert_eq!((said.code, writes(&server)), (4, 0), "{what}: {}", said.out);
        assert!(said.out.contains("changed since the last answer"), "{what}: {}", said.out);
        // Approving what it is now is enough.
        let said = terminal(&place, &format!("approve {run}"), &["y"]);
        assert_eq!((said.code, writes(&server)), (1, 1), "{what}: {}", said.out);
    }
}

#[test]
fn what_is_unchanged_is_not_asked_for_again() {
    let server = refusing();
    let place = paying(&server);
    let run = started(&place, "pay");
    let said = terminal(&place, &format!("approve {run}"), &["y"]);
    assert_eq!((said.code, writes(&server)), (1, 1), "{}", said.out);
    // Written again, but with the same contents.
    place.put("report.txt", "first");
    secret(&place, TOKEN);
    place.run(["catalog", "import", "shop.yaml", "--overwrite"]).ends(0);
    let resumed = place.run(["resume", &run, "--latest", "--yes"]).ends(0);
    assert_eq!(writes(&server), 6, "{}", resumed.err);
    let bodies: BTreeSet<String> = server.seen().into_iter().map(|one| one.body).collect();
    assert!(bodies.contains("first"), "{bodies:?}");
}

const LETTER: &str = "workflow: letter\nsteps:\n  - id: draft\n    prompt: Write it\n    \
    require_confirmation: true\n    output_schema: {type: object, required: [text]}\n    \
    max_attempts: 2\n  - id: done\n    set: {said: '${{ steps.draft.output.text }}'}\n    \
    depends_on: [draft]\n";

fn submitted(place: &Place, run: &str, output: &str, code: i32) -> Ran {
    let mut command = place.command();
    crate::finish(command.args(["submit", run, "draft", "-"]), output).ends(code)
}

/// A person who confirms an agent's output has seen it.
#[test]
fn what_was_handed_in_is_part_of_the_question() {
    let place = Place::with(&[("letter.yaml", LETTER)]);
    let ran = place.run(["run", "letter.yaml", "--json"]);
    let run: Value = serde_json::from_str(ran.out.lines().last().expect("a line")).expect("JSON");
    let run = run["run_id"].as_str().expect("an id");
    let told = submitted(&place, run, r#"{"text": "We will pay you 9999 euros"}"#, 4);
    let sentence = "│   \"text\": \"We will pay you 9999 euros\"";
    assert!(told.err.contains(sentence), "{}", told.err);
    for line in [&["inbox"][..], &["show", run], &["approve", run]] {
        let told = place.run(line).err;
        assert!(told.contains("what was handed in:\n│ {\n"), "{told}");
        assert!(told.contains(sentence), "{told}");
    }
    let view = shown(&place, run);
    assert_eq!(view["waiting"][0]["submitted"]["text"], "We will pay you 9999 euros");
    let said = terminal(&place, &format!("approve {run}"), &["y"]);
    assert_eq!(said.code, 0, "{}", said.out);
    assert!(said.out.contains("9999"), "{}", said.out);
}

/// A run whose agent has no attempts left.
fn exhausted(place: &Place) -> String {
    let ran = place.run(["run", "letter.yaml", "--json"]);
    let run: Value = serde_json::from_str(ran.out.lines().last().expect("a line")).expect("JSON");
    let run = run["run_id"].as_str().expect("an id").to_owned();
    submitted(place, &run, r#"{"no": "text"}"#, 1);
    submitted(place, &run, r#"{"txt": "the last one"}"#, 1);
    run
}

/// When the attempts are used up, the question is about the last submission, not about a request.
#[test]
fn used_up_attempts_are_decided_in_their_own_words() {
    let text = LETTER.replace("require_confirmation: true\n    ", "");
    let text = text.replace("steps.draft.output.text", "json(steps.draft.output)");
    let place = Place::with(&[("letter.yaml", &text)]);
    let run = exhausted(&place);
    for line in [&["inbox"][..], &["show", &run]] {
        let told = place.run(line).ends(0).err;
        for part in [
            "the last submission:",
            "│   \"txt\": \"the last one\"",
            "what is wrong with it:",
            "you can say: accept it, more tries, give up",
        ] {
            assert!(told.contains(part), "{part}: {told}");
        }
    }
    let without = bare(&place, &["decide", &run], "").ends(2);
    let hint = format!("`milepost decide {run} --outcome accept`");
    assert!(without.err.contains(&hint), "{}", without.err);
    assert!(!without.err.contains("happened"), "{}", without.err);
    // More tries: the agent is offered the step again.
    let said = terminal(&place, &format!("decide {run}"), &["m", "y"]);
    assert!(!said.out.contains("[h]appened"), "{}", said.out);
    assert!(said.out.contains("[a]ccept it, [m]ore tries, [g]ive up"), "{}", said.out);
    let view = shown(&place, &run);
    assert_eq!(view["due"][0]["attempts_left"], 2, "{view}");
    submitted(&place, &run, r#"{"again": 1}"#, 1);
    submitted(&place, &run, r#"{"final": "word"}"#, 1);
    // Accept: the last submission is the output.
    let said = terminal(&place, &format!("decide {run}"), &["a", "y"]);
    assert_eq!(said.code, 0, "{}", said.out);
    let view = shown(&place, &run);
    assert_eq!(view["steps"][0]["output"], json!({"final": "word"}), "{view}");
    // Give up: the step fails.
    let run = exhausted(&place);
    let said = terminal(&place, &format!("decide {run}"), &["g", "y"]);
    assert_eq!(said.code, 1, "{}", said.out);
    // Words for a request do not apply, and neither does an output that is no longer the last one.
    let run = exhausted(&place);
    let said = terminal(&place, &format!("decide {run}"), &["h"]);
    assert_eq!(said.code, 2, "{}", said.out);
    let stale = ["decide", &run, "--outcome", "accept", "--output", r#"{"no": "text"}"#];
    assert!(place.run(stale).ends(7).err.contains("no longer the one that was shown"));
    assert_eq!(shown(&place, &run)["status"], "waiting");
}

const TOLD: &str = "
workflow: told
title: TITLE
steps:
  - {id: names, run: shop names:get}
  - {id: ok, approve: 'Pay ${{ steps.names.output[0] }}', depends_on: [names]}
  - id: pay
    depends_on: [ok]
    for_each: '${{ steps.names.output }}'
    as: name
    run: shop pay:update
    with: {id: x, note: '${{ name }}'}
    body: {amount: 5, name: '${{ name }}'}
";

/// The lines that do not quote anything, without what differs between two runs.
fn own_lines(text: &str, run: &str) -> Vec<String> {
    let own = text.lines().filter(|line| !line.starts_with(GUTTER));
    // A row of the table of steps begins with the step.
    let own = own.filter(|line| {
        !["STEP ", "names ", "ok ", "pay "].iter().any(|step| line.starts_with(step))
    });
    own.map(|line| line.replace(run, "run_x")).collect()
}

/// The title, the question, the arguments and the answer of an API cannot pose as lines of the
/// program, whatever they contain.
#[test]
fn no_command_prints_a_line_that_others_wrote() {
    let mut texts = texts();
    // Servers send at most so much.
    texts.retain(|text| text.len() < 100_000);
    let chunks: Vec<Vec<String>> = texts.chunks(18).map(<[String]>::to_vec).collect();
    let told = |texts: &[String]| -> Vec<(String, Vec<String>)> {
        let names = json!(texts);
        let server = Server::start(move |_| answer(200, &names));
        let title = json!(texts[0]).to_string();
        let place = shop(&server, &[("told.yaml", &TOLD.replace("TITLE", &title))]);
        let started = place.run(["run", "told.yaml"]).ends(4);
        let all = place.run(["runs", "--json"]).ends(0);
        assert!(!all.out.contains(is_hidden_in_line), "{:?}", all.out);
        let run = all.json()["runs"][0]["run_id"].as_str().expect("an id").to_owned();
        let mut told = vec![("run".to_owned(), own_lines(&started.err, &run))];
        for line in [&["inbox"][..], &["show", &run], &["approve", &run], &["logs", &run], &[]] {
            let ran = place.run(line);
            for text in [&ran.out, &ran.err] {
                assert!(!text.contains(is_hidden_in_line), "{line:?}: {text:?}");
            }
            let text = format!("{}{}", ran.out, ran.err);
            told.push((line.join(" "), own_lines(&text, &run)));
        }
        for line in [&["inbox", "--json"][..], &["show", &run, "--json"]] {
            let ran = place.run(line).ends(0);
            assert!(!ran.out.contains(is_hidden_in_line), "{line:?}: {:?}", ran.out);
            assert_eq!(ran.out.lines().count(), 1, "{line:?}");
        }
        told
    };
    std::thread::scope(|scope| {
        for chunk in &chunks {
            scope.spawn(move || {
                let benign: Vec<String> = (0..chunk.len()).map(|_| BENIGN.to_owned()).collect();
                for (hostile, benign) in told(chunk).iter().zip(told(&benign)) {
                    let lines = |told: &(String, Vec<String>)| {
                        told.1.iter().map(|line| masked(line)).collect::<Vec<_>>()
                    };
                    assert_eq!(lines(hostile), lines(&benign), "{}", benign.0);
                }
            });
        }
    });
}

/// Lines end, and that is all that a line break does.
fn is_hidden_in_line(c: char) -> bool {
    c != '\n' && is_hidden(c)
}

/// A line without numbers and without a question that stands in the middle of it.
fn masked(line: &str) -> String {
    let line: String = line.chars().filter(|c| !c.is_ascii_digit()).collect();
    match line.split_once("approval ok: Pay") {
        Some((before, _)) => format!("{before}approval ok: Pay"),
        None => line.trim_end().to_owned(),
    }
}

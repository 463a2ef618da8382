//! Passes a canary secret through whole runs, and searches everything they leave behind.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::canary::look;
use crate::secret::files;
use crate::server::{Reply, Request, Server, json as answer};
use crate::{Place, Ran, finish};

const CANARY: &str = crate::canary::CANARY;

const API: &str = r"
openapi: 3.1.0
info: {title: Api, version: 1.0.0}
servers: [{url: 'https://api.canary.test'}]
security: [{key: []}]
paths:
  /things:
    post:
      operationId: createThing
      tags: [things]
      parameters: [{name: said, in: query, schema: {type: string}}]
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: {'201': {description: ok, content: {application/json: {schema: {type: object}}}}}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Api-Key}
";

/// Puts the secret into every part of a request; the first attempt of the last step fails
/// permanently.
const MAIN: &str = r#"
workflow: main
inputs:
  s: {type: string, secret: true, default: {from: env, value: MYENV}}
steps:
  - id: a
    run: api things:create
    with: {said: '${{ inputs.s }}'}
    headers: {X-Said: 'is ${{ coalesce(env.MYENV, "none") }}'}
    body: {said: ['${{ inputs.s }}'], at: '${{ env.PLAIN }}'}
    retry: {max_attempts: 3, initial: 10ms, on: [503]}
  - {id: inner, run: workflow inner, with: {handed: '${{ inputs.s }}'}, depends_on: [a]}
  - {id: ok, approve: Send it?, depends_on: [inner]}
  - {id: b, run: api things:create, body: {said: '${{ inputs.s }} bad'}, depends_on: [ok]}
"#;
const INNER: &str = r"
workflow: inner
inputs: {handed: {type: string, secret: true}}
steps: [{id: c, run: api things:create, body: {said: '${{ inputs.handed }}'}}]
";
/// Uses no environment variable.
const OTHER: &str = "workflow: other\nsteps: [{id: a, set: {x: 1}}]\n";

/// Echoes its input. The first request fails temporarily, and the first `bad` one permanently.
fn serve() -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    let seen = std::sync::Mutex::new((0, 0));
    move |request| {
        let mut seen = seen.lock().expect("nobody panics");
        seen.0 += 1;
        let bad = request.body.contains(" bad");
        seen.1 += usize::from(bad);
        let all = json!({"target": request.target, "headers": request.headers,
            "body": request.body});
        match (seen.0, bad, seen.1) {
            (1, ..) => answer(503, &all),
            (_, true, 1) => answer(422, &all),
            _ => answer(201, &all),
        }
    }
}

struct Stage {
    place: Place,
    server: Server,
    with_env: bool,
}

impl Stage {
    fn ready(&self, command: &mut Command, words: &[&str], typed: &str) -> Ran {
        command.env("RUST_LOG", "trace").env("PLAIN", "plain");
        command.env("MILEPOST_LOG_FILE", self.place.path("trace.log"));
        if self.with_env {
            command.env("MYENV", CANARY);
        }
        let ran = finish(command, typed);
        assert!(!ran.err.contains("panicked"), "{}", ran.err);
        look(&format!("standard output of {words:?}"), ran.out.as_bytes());
        look(&format!("standard error of {words:?}"), ran.err.as_bytes());
        ran
    }

    fn run(&self, words: &[&str]) -> Ran {
        let mut command = self.place.command();
        command.args(words);
        self.ready(&mut command, words, "")
    }

    fn typed(&self, words: &[&str], typed: &str) -> Ran {
        let line = format!("{} {}", env!("CARGO_BIN_EXE_milepost"), words.join(" "));
        let mut command = crate::program("script");
        command.args(["-qec", &line, "/dev/null"]).current_dir(self.place.path(""));
        command.env("HOME", self.place.root.path().join("home"));
        self.ready(&mut command, words, typed)
    }
}

/// Takes a run from start to end through a retry, a failure and a resume, then shows it in every
/// way.
fn walk(given: &[&str], with_env: bool, days: &str) {
    let server = Server::start(serve());
    let place = Place::with(&[("api.yaml", API), ("main.yaml", MAIN), ("inner.yaml", INNER)]);
    place.put("other.yaml", OTHER);
    place.put("given.json", &json!({"s": CANARY}).to_string());
    let stage = Stage { place, server, with_env };
    let url = stage.server.url.clone();
    finish(stage.place.command().args(["secret", "set", "KEY"]), CANARY).ends(0);
    stage.run(&["config", "set", "env_allow", "MYENV,PLAIN"]).ends(0);
    stage.run(&["config", "set", "secrets.inputs_days", days]).ends(0);
    stage.run(&["catalog", "import", "api.yaml", "--base-url", &url]).ends(0);
    stage.run(&["catalog", "auth", "api", "--scheme", "key", "--key", "KEY"]).ends(0);
    stage.run(&["workflow", "save", "inner.yaml"]).ends(0);
    stage.run(&["run", "main.yaml", "--dry-run"]);
    let words: Vec<&str> = ["run", "main.yaml", "--json"].iter().chain(given).copied().collect();
    let ran = stage.run(&words).ends(4);
    let view: Value = serde_json::from_str(ran.out.lines().last().expect("lines")).expect("JSON");
    let run = view["run_id"].as_str().expect("an id").to_owned();
    let hidden = ran.out.lines().next().expect("lines").contains("PLAIN");
    assert!(hidden, "what is read and no secret is in the journal: {}", ran.out);
    // Another process has the environment and the sealed inputs, and waits for any secret it was
    // never given.
    stage.typed(&["approve", &run], "y\n");
    if !with_env && days == "0" {
        let shown = stage.run(&["show", &run, "--json"]).ends(0).json();
        assert_eq!(shown["status"], "paused", "{shown}");
        let next = shown["next"].as_str().expect("a command");
        assert_eq!(next, format!("milepost resume {run} -i s=…"));
        stage.run(&["resume", &run, "--inputs", "given.json"]).ends(1);
    }
    let shown = stage.run(&["show", &run, "--json"]).ends(0).json();
    assert_eq!(shown["status"], "failed", "{shown}");
    let mut again = vec!["resume", run.as_str(), "--yes"];
    if !with_env {
        again.extend(["--inputs", "given.json"]);
    }
    stage.run(&again).ends(0);
    stage.run(&["show", &run]).ends(0);
    stage.run(&["show", &run, "--json"]).ends(0);
    stage.run(&["show", &run, "a"]).ends(0);
    stage.run(&["logs", &run, "--json"]).ends(0);
    stage.run(&["runs", "--json"]).ends(0);
    let other = stage.run(&["run", "other.yaml", "--json"]).ends(0);
    assert!(!other.out.contains("MYENV"), "what is not read is not kept: {}", other.out);
    stage.run(&["backup", "saved"]).ends(0);
    let seen = stage.server.seen();
    let sent = seen.iter().filter(|one| one.body.contains(CANARY)).count();
    assert!(sent >= 4, "a test that sends no secret proves nothing: {sent} of {}", seen.len());
    let said = if with_env { CANARY } else { "none" };
    assert_eq!(seen[0].header("x-said"), Some(&*format!("is {said}")), "{:?}", seen[0]);
    for file in files(stage.place.root.path()) {
        // Skips the socket that wakes other processes: it is not a regular file.
        if file.ends_with("given.json") || !file.is_file() {
            continue;
        }
        look(&file.display().to_string(), &fs::read(&file).expect("reads"));
    }
}

#[test]
fn a_default_from_the_environment_is_in_no_journal() {
    walk(&[], true, "0");
}

#[test]
fn a_typed_input_is_in_no_journal() {
    walk(&["-i", &format!("s={CANARY}")], false, "7");
}

#[test]
fn an_input_from_a_file_is_in_no_journal() {
    walk(&["--inputs", "given.json"], false, "0");
}

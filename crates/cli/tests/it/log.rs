//! The log of the real binary: its contents, its destination, and values that must never be in it.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::client::Client;
use crate::server::{Reply, Server, json as answer};
use crate::{Place, finish};

/// Put everywhere a value can appear, with characters that need escaping there.
const CANARY: &str = "Kanarien/vogel+0042=&q!";
/// The canary as encoded in a path or a query.
const ESCAPED: &str = "Kanarien%2Fvogel%2B0042";
/// A value that is not secret but must not be logged either.
const GIVEN: &str = "wert-0815";

const API: &str = r"
openapi: 3.1.0
info: {title: Depot, version: 1.0.0}
servers: [{url: 'https://depot.example'}]
security: [{key: []}]
paths:
  /parts/{id}:
    post:
      operationId: movePart
      tags: [parts]
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
        - {name: to, in: query, schema: {type: string}}
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object}}}}}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
";

const MOVES: &str = r#"
workflow: moves
inputs:
  pass: {type: string, secret: true}
  part: {type: string}
steps:
  - id: move
    run: depot parts:update
    with: {id: "${{ inputs.pass }}", to: "${{ inputs.part }}"}
    headers: {X-Pass: "${{ inputs.pass }}"}
    body: {pass: "${{ inputs.pass }}", part: "${{ inputs.part }}"}
"#;

/// A folder with a catalog whose server echoes everything.
fn depot() -> (Server, Place) {
    let server = Server::start(|request| {
        let said = json!({"target": request.target, "headers": request.headers,
            "body": request.body});
        match request.target.contains("fails") {
            true => answer(500, &said),
            false => answer(200, &said),
        }
    });
    let place = Place::with(&[("depot.yaml", API), ("moves.yaml", MOVES)]);
    place.run(["catalog", "import", "depot.yaml", "--base-url", &server.url]).ends(0);
    place.say("catalog auth depot --scheme key --key CANARY").ends(0);
    finish(place.command().args(["secret", "set", "CANARY"]), CANARY).ends(0);
    (server, place)
}

fn pass() -> String {
    format!("pass={CANARY}")
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("there is a log");
    let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
    text.lines().map(parse).collect()
}

fn with<'l>(lines: &'l [Value], message: &str) -> Vec<&'l Value> {
    lines.iter().filter(|line| line["message"] == message).collect()
}

#[test]
fn nothing_is_logged_by_default() {
    let (_server, place) = depot();
    let run = ["run", "moves.yaml", "-i", &pass(), "-i", "part=p1", "--json"];
    let plain = place.run(run).ends(0).quiet();
    let logged = place.run(run.into_iter().chain(["--log", "trace"])).ends(0);
    assert!(logged.err.contains(" INFO ") && logged.err.contains("milepost::call"));
    // Logging does not change the result.
    let kinds = |out: &str| -> Vec<Value> {
        let events = out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        events.map(|event| event["event"].clone()).collect()
    };
    assert_eq!(kinds(&plain.out), kinds(&logged.out));
    let mut off = place.command();
    finish(off.env("MILEPOST_LOG", "off").args(run), "").ends(0).quiet();
}

#[test]
fn a_run_is_logged_line_by_line() {
    let (server, place) = depot();
    let log = place.path("log.json");
    let run = ["run", "moves.yaml", "-i", &pass(), "-i", "part=p1"];
    let to = ["--log", "trace", "--log-format", "json", "--log-file", "log.json"];
    place.run(to.into_iter().chain(run)).ends(0);
    let lines = lines(&log);
    let started = with(&lines, "run started");
    let [started] = started[..] else { panic!("{started:?}") };
    let id = started["run_id"].as_str().expect("an id");
    assert_eq!(started["workflow_id"], "moves");
    let done = with(&lines, "operation done");
    let start = done.iter().find(|line| line["operation"] == "workflow.run").expect("it is told");
    assert_eq!(start["outcome"], "ok");
    assert!(start["duration_ms"].is_u64() && start["correlation_id"].is_string());
    // The operation and the run share the correlation id.
    assert_eq!(started["spans"][0]["correlation_id"], start["correlation_id"]);
    assert_eq!(start["spans"][0]["run_id"], id);
    let sent = with(&lines, "request sent");
    let [sent] = sent[..] else { panic!("{sent:?}") };
    assert_eq!((&sent["method"], &sent["path"]), (&json!("POST"), &json!("/parts/{id}")));
    assert_eq!((&sent["origin"], &sent["status"]), (&json!(server.url), &json!(200)));
    assert_eq!((&sent["attempt"], &sent["outcome"]), (&json!(1), &json!("2xx")));
    assert_eq!(sent["spans"][0]["run_id"], id);
    assert_eq!(sent["spans"][1]["step_id"], "move");
    let stands: Vec<&Value> =
        with(&lines, "run status").iter().map(|line| &line["status"]).collect();
    assert_eq!(stands, ["running", "succeeded"]);
    assert!(with(&lines, "committed").iter().all(|line| line["level"] == "TRACE"));
    assert!(!with(&lines, "committed").is_empty());
    let happened: Vec<&str> =
        with(&lines, "event").iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!(happened.first(), Some(&"run_created"));
    assert_eq!(happened.last(), Some(&"run_succeeded"));
}

#[cfg(unix)]
#[test]
fn the_log_file_is_private_and_appended_to() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let log = |name: &str| place.run(["workflow", "list", "--log-file", name]);
    log("log.txt").ends(0).quiet();
    let first = place.text("log.txt");
    assert!(first.contains("operation=\"workflow.list\""), "{first}");
    log("log.txt").ends(0);
    let both = place.text("log.txt");
    assert!(both.starts_with(&first) && both.len() > first.len());
    let mode = fs::metadata(place.path("log.txt")).expect("is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // Log lines never follow a link or go to a pipe that nobody reads.
    std::os::unix::fs::symlink("log.txt", place.path("link")).expect("links");
    std::os::unix::fs::symlink("nowhere", place.path("away")).expect("links");
    rustix::fs::mkfifoat(rustix::fs::CWD, place.path("pipe"), rustix::fs::Mode::RUSR)
        .expect("makes a pipe");
    for wrong in ["link", "away", "pipe", "."] {
        let ran = log(wrong);
        assert!(ran.code != 0 && ran.err.contains("is not a regular file"), "{wrong}: {}", ran.err);
    }
    assert_eq!(place.text("log.txt"), both);
    assert!(!place.path("nowhere").exists());
}

#[test]
fn an_invalid_filter_is_refused_unless_it_is_rust_log() {
    let place = Place::new();
    let ran = place.run(["workflow", "list", "--log", "loud"]).ends(2);
    assert!(
        ran.err.contains("`loud` is not a valid log filter") && ran.out.is_empty(),
        "{}",
        ran.err
    );
    // A filter for unknown targets is refused with a clear message.
    let ran = place.run(["workflow", "list", "--log", "trace,hyper=trace"]).ends(2);
    assert!(ran.err.contains("only these targets are logged"), "{}", ran.err);
    // A misspelt target would log nothing.
    let ran = place.run(["workflow", "list", "--log", "milepost::cal=info"]).ends(2);
    assert!(ran.err.contains("milepost::call"), "{}", ran.err);
    let list = |name: &str, value: &str| {
        finish(place.command().args(["workflow", "list"]).env(name, value), "")
    };
    list("MILEPOST_LOG", "loud").ends(2);
    list("MILEPOST_LOG_FORMAT", "xml").ends(2);
    list("RUST_LOG", "[span{field=1}]=info,loud=loud").ends(0).quiet();
    list("RUST_LOG", "hyper=trace,reqwest=trace").ends(0).quiet();
    assert!(list("RUST_LOG", "info").ends(0).err.contains("operation done"));
    let mut both = place.command();
    both.args(["workflow", "list"]).env("RUST_LOG", "trace").env("MILEPOST_LOG", "error");
    finish(&mut both, "").ends(0).quiet();
    let mut all = place.command();
    all.args(["--log", "info", "workflow", "list"]).env("MILEPOST_LOG", "error");
    assert!(finish(&mut all, "").ends(0).err.contains("operation done"));
}

/// Asserts that neither the canary, in any encoding, nor any other value appears.
fn silent(what: &str, text: &str) {
    let encoded = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, CANARY);
    for spelling in [CANARY, ESCAPED, &ESCAPED.to_lowercase(), &encoded, GIVEN] {
        assert!(!text.contains(spelling), "{what} gives `{spelling}` away: {text}");
    }
}

/// Filters that request more than is available.
const GREEDY: &str = "trace,hyper=trace,hyper_util=trace,reqwest=trace,rmcp=trace,rustls=trace,\
                      h2=trace,tokio=trace,milepost=trace";

#[test]
fn a_secret_is_in_no_log_at_any_level() {
    let (server, place) = depot();
    let given = format!("part={GIVEN}");
    let failing = format!("part={GIVEN}-fails");
    for (format, given, code) in
        [("json", &given, 0), ("human", &given, 0), ("json", &failing, 1), ("human", &failing, 1)]
    {
        let run = ["run", "moves.yaml", "-i", &pass(), "-i", given, "--log-format", format];
        let logged = |more: &[&str]| {
            let mut command = place.command();
            finish(command.env("RUST_LOG", GREEDY).args(run).args(more), "").ends(code)
        };
        let ran = logged(&["-q", "--json"]);
        silent(&format!("standard error, {format}"), &ran.err);
        logged(&["--log-file", "log"]);
    }
    let call = format!("id={CANARY}");
    let command = ["command", "run", "depot", "parts:update", "-p", &call, "--yes"];
    let to = ["--log", "trace", "--log-file", "log"];
    place.run(command.into_iter().chain(["--body", "{}"]).chain(to)).ends(0);
    // The canary must have been sent: a test that sends nothing proves nothing.
    let seen = server.seen();
    assert!(seen.iter().any(|one| one.target.contains(ESCAPED)), "{seen:?}");
    assert!(seen.iter().all(|one| one.header("x-key") == Some(CANARY)), "{seen:?}");
    let log = place.text("log");
    assert!(log.contains("milepost::call") && log.contains("/parts/{id}"), "{log}");
    silent("the log", &log);
}

/// Connects a client to a `milepost mcp` that logs everything.
fn agent(place: &Place) -> Client {
    let mut command = place.command();
    command.args(["mcp", "--surface", "workflows", "--log-format", "json"]);
    command.env("RUST_LOG", GREEDY);
    command.args(["--log-file", "log.json"]);
    let piped = std::process::Stdio::piped;
    command.stdin(piped()).stdout(piped()).stderr(piped());
    let mut client = Client::of(&mut command);
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    client.call("initialize", &params);
    client.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client
}

#[test]
fn a_failure_has_the_same_correlation_id_for_the_client_and_the_log() {
    let (_server, place) = depot();
    let mut client = agent(&place);
    let mut refused = |tool: &str, arguments: Value| {
        let result = client.call("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert_eq!(result["isError"], true, "{result}");
        let payload = &result["structuredContent"];
        let text = |name: &str| payload[name].as_str().expect("is told").to_owned();
        (text("correlation_id"), text("error_code"))
    };
    let failures = [
        refused("workflow_get", json!({"workflow_id": "nowhere"})),
        refused("workflow_get", json!({"nothing": GIVEN})),
        refused("command_run", json!({"command": "depot parts:update", "with": {"to": GIVEN}})),
        refused("workflow_submit", json!({"run_id": "run_1", "step_id": "a", "output": GIVEN})),
    ];
    let params = json!({"uri": "milepost://workflow/manifest/nowhere"});
    let answer = client.ask("resources/read", &params);
    let data = &answer["error"]["data"];
    let resource = data["correlation_id"].as_str().expect("a number").to_owned();
    let text = format!("{MOVES}# {GIVEN}");
    let run = json!({"manifest": text, "inputs": {"pass": CANARY, "part": GIVEN}, "wait_s": 20});
    client.call("tools/call", &json!({"name": "workflow_run", "arguments": run}));
    let exit = client.close();
    let log = place.text("log.json");
    let lines = lines(&place.path("log.json"));
    for (number, code) in failures {
        let failed = with(&lines, "request failed");
        let told = failed.iter().find(|line| line["correlation_id"] == number);
        assert!(told.is_some_and(|line| line["error_code"] == code), "{number} {code}: {log}");
        // The same correlation id belongs to the whole request.
        let answered = with(&lines, "request answered");
        let request = answered.iter().find(|line| line["spans"][0]["correlation_id"] == number);
        assert!(request.is_some_and(|line| line["outcome"] == "failed"), "{number}: {log}");
    }
    let failed = with(&lines, "request failed");
    assert!(failed.iter().any(|line| line["correlation_id"] == resource), "{log}");
    assert_eq!(exit.code, Some(0));
    silent("the log", &log);
    for line in &lines {
        let target = line["target"].as_str().expect("a target");
        assert!(target.starts_with("milepost::"), "{line}");
    }
}

#[test]
fn logging_to_standard_error_leaves_the_protocol_alone() {
    let place = Place::new();
    for surface in ["auto", "workflows"] {
        let mut command = place.command();
        command.args(["mcp", "--surface", surface, "--log", "trace"]);
        let piped = std::process::Stdio::piped;
        command.stdin(piped()).stdout(piped()).stderr(piped());
        let mut client = Client::of(&mut command);
        let params = json!({"protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        client.call("initialize", &params);
        client.ping();
        client.call("tools/list", &json!({}));
        let exit = client.close();
        assert_eq!(exit.code, Some(0));
        assert!(exit.errors.contains("method=\"ping\""), "{}", exit.errors);
    }
}

#[test]
fn a_refused_connection_is_logged_with_its_reason() {
    let server = Server::start(|_| Reply::HangUp);
    let place = Place::with(&[("depot.yaml", API)]);
    place.run(["catalog", "import", "depot.yaml", "--base-url", &server.url]).ends(0);
    place.say("catalog auth depot --scheme key --key CANARY").ends(0);
    finish(place.command().args(["secret", "set", "CANARY"]), CANARY).ends(0);
    let call = ["command", "run", "depot", "parts:update", "-p", "id=1", "--body", "{}", "--yes"];
    let to = ["--log-format", "json", "--log-file", "log"];
    place.run(call.into_iter().chain(to)).ends(9);
    let lines = lines(&place.path("log"));
    let sent = with(&lines, "request sent");
    assert_eq!(sent[0]["outcome"], "unanswered", "{sent:?}");
    assert_eq!(sent[0].get("status"), None);
    let failed = with(&lines, "operation failed");
    assert_eq!(failed[0]["error_code"], "UPSTREAM_FAILED", "{failed:?}");
}

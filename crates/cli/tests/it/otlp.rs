//! Spans sent to an OpenTelemetry collector, here a test server on loopback. Run with `cargo
//! nextest run --workspace --features milepost-cli/otlp -E 'test(otlp)'`.

use serde_json::json;

use crate::server::{Reply, Request, Server, json as answer};
use crate::{Place, finish};

const CANARY: &str = "Kanarien/vogel+0042=&q!";

const API: &str = r"
openapi: 3.1.0
info: {title: Depot, version: 1.0.0}
servers: [{url: 'https://depot.example'}]
security: [{key: []}]
paths:
  /parts/{id}:
    get:
      operationId: getPart
      tags: [parts]
      parameters: [{name: id, in: path, required: true, schema: {type: string}}]
      responses: {'200': {description: ok, content: {application/json: {schema: {type: object}}}}}
components:
  securitySchemes:
    key: {type: apiKey, in: header, name: X-Key}
";
const LOOKS: &str = r#"
workflow: looks
inputs: {pass: {type: string, secret: true}}
steps: [{id: look, run: depot parts:get, with: {id: "${{ inputs.pass }}"}}]
"#;

fn collector() -> Server {
    Server::start(|_| Reply::Answer(200, Vec::new(), Vec::new()))
}

/// Everything that was sent to the collector.
fn spans(seen: &[Request]) -> String {
    for request in seen {
        assert_eq!((request.method.as_str(), request.path()), ("POST", "/v1/traces"));
        assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
        assert_eq!(request.header("x-collector"), Some("ours"));
    }
    seen.iter().map(|request| request.body.as_str()).collect()
}

#[test]
fn a_run_is_sent_as_spans_before_the_command_ends() {
    let (api, collector) = (Server::start(|_| answer(200, &json!({"parts": 3}))), collector());
    let place = Place::with(&[("depot.yaml", API), ("looks.yaml", LOOKS)]);
    place.run(["catalog", "import", "depot.yaml", "--base-url", &api.url]).ends(0);
    place.say("catalog auth depot --scheme key --key CANARY").ends(0);
    finish(place.command().args(["secret", "set", "CANARY"]), CANARY).ends(0);
    let pass = format!("pass={CANARY}");
    let mut command = place.command();
    command.args(["run", "looks.yaml", "-i", &pass, "-q"]);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url);
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "x-collector=ours");
    command.env("RUST_LOG", "trace");
    command.args(["--log-file", "log.txt"]);
    finish(&mut command, "").ends(0).quiet();
    let sent = spans(&collector.seen());
    for word in [
        "service.name",
        "milepost",
        "workflow.run",
        "correlation_id",
        "run_",
        "look",
        "/parts/{id}",
        "request sent",
        "run status",
    ] {
        assert!(sent.contains(word), "{word}: {sent}");
    }
    assert_eq!(api.last().header("x-key"), Some(CANARY));
    for secret in [CANARY, "Kanarien%2Fvogel", "Kanarienvogel"] {
        assert!(!sent.contains(secret), "{secret}: {sent}");
    }
    // The exporter's own requests are not logged.
    assert!(!place.text("log.txt").contains(&collector.url));
}

#[test]
fn without_a_collector_nothing_changes() {
    let place = Place::new();
    let list = |value: &str| {
        let mut command = place.command();
        command.args(["workflow", "list"]).env("OTEL_EXPORTER_OTLP_ENDPOINT", value);
        finish(&mut command, "")
    };
    // An unreachable collector neither fails nor delays the command.
    list("http://127.0.0.1:1").ends(0).quiet();
    list("").ends(0).quiet();
    let ran = list("no url").ends(2);
    assert!(
        ran.err.contains("`OTEL_EXPORTER_OTLP_ENDPOINT` is not set to a valid collector address"),
        "{}",
        ran.err
    );
}

//! Faults that the mock injects on request.

use milepost_mock::{Mock, MockFaults, MockSettings};
use serde_json::json;

use crate::support::{json as body, mock_with, send, send_with};

const PING: &str = r#"
openapi: 3.0.3
info: {title: T, version: "1"}
paths:
  /ping:
    get:
      operationId: ping
      responses:
        "200": {description: fine}
        "503":
          description: busy
          content: {application/json: {schema: {type: object, required: [error],
              properties: {error: {const: busy}}}}}
  /pong: {get: {responses: {"200": {description: fine}}}}
"#;

fn mock(faults: MockFaults) -> Mock {
    mock_with(PING, MockSettings { seed: 3, faults, ..MockSettings::default() })
}

#[test]
fn headers_ask_for_a_status_a_delay_or_a_break() {
    let mut mock = mock(MockFaults::default());
    let mut ask =
        |name: &str, value: &str| send_with(&mut mock, "GET /ping", None, &[(name, value)]);
    let busy = ask("x-milepost-mock-status", "503");
    assert_eq!((busy.status, busy.header("retry-after")), (503, Some("1")));
    assert_eq!(body(&busy), json!({"error": "busy"}), "as documented");
    assert_eq!(ask("x-milepost-mock-status", "418").status, 418);
    assert_eq!(ask("x-milepost-mock-status", "7").status, 200);
    assert_eq!(ask("x-milepost-mock-delay", "200").delay_ms, 200);
    assert_eq!(ask("x-milepost-mock-delay", "99999999").delay_ms, 60_000);
    assert!(ask("x-milepost-mock-drop", "1").drop);
    assert!(!ask("x-milepost-mock-drop", "0").drop);
}

#[test]
fn an_ordered_failure_happens_once() {
    let orders = vec![("ping".to_owned(), 500), ("GET /pong".to_owned(), 429)];
    let mut mock = mock(MockFaults { fail_next: orders, ..MockFaults::default() });
    let pong = send(&mut mock, "GET /pong", None);
    assert_eq!((pong.status, pong.header("retry-after")), (429, Some("1")));
    assert_eq!(send(&mut mock, "GET /pong", None).status, 200);
    assert_eq!(send(&mut mock, "GET /ping", None).status, 500);
    assert_eq!(send(&mut mock, "GET /ping", None).status, 200);
}

#[test]
fn the_seed_decides_which_requests_fail() {
    let run = || {
        let mut mock = mock(MockFaults { error_rate: 0.3, latency_ms: 5, ..MockFaults::default() });
        (0..200).map(|_| send(&mut mock, "GET /ping", None)).collect::<Vec<_>>()
    };
    let answers = run();
    let failed = answers.iter().filter(|answer| answer.status == 503).count();
    assert!((35..=85).contains(&failed), "{failed} of 200");
    assert!(answers.iter().all(|answer| answer.delay_ms == 5));
    assert_eq!(answers, run());
}

//! Monitoring endpoints: `/healthz` and `/metrics`.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use serde_json::json;

use super::wire::Answer;
use super::{ASKS, Server};
use crate::Place;

/// A metric family: its type, and its samples by labels.
#[derive(Debug, Default)]
struct Family {
    kind: String,
    samples: BTreeMap<(String, Vec<(String, String)>), f64>,
}

/// Parses the text format 0.0.4 strictly.
fn parse(text: &str) -> HashMap<String, Family> {
    assert!(text.ends_with('\n'), "the last line has an end");
    let mut families: HashMap<String, Family> = HashMap::new();
    let (mut helped, mut current) = (String::new(), String::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("a help");
            assert!(is_name(name) && !help.is_empty(), "{line}");
            name.clone_into(&mut helped);
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').expect("a type");
            assert_eq!(name, helped, "{line}");
            assert!(matches!(kind, "counter" | "gauge" | "histogram"), "{line}");
            let family = Family { kind: kind.to_owned(), ..Family::default() };
            assert!(families.insert(name.to_owned(), family).is_none(), "{line}: twice");
            name.clone_into(&mut current);
        } else {
            let (name, labels, value) = sample(line);
            let family = families.get_mut(&current).expect("a sample of a family");
            let suffix = name.strip_prefix(&current).unwrap_or_else(|| panic!("{line}"));
            match family.kind.as_str() {
                "histogram" => assert!(["_bucket", "_sum", "_count"].contains(&suffix), "{line}"),
                "counter" => assert!(suffix.is_empty() && name.ends_with("_total"), "{line}"),
                _ => assert!(suffix.is_empty(), "{line}"),
            }
            assert!(family.samples.insert((name, labels), value).is_none(), "{line}: twice");
        }
    }
    families
}

fn is_name(name: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_' || c == ':';
    name.starts_with(first) && name.chars().all(|c| first(c) || c.is_ascii_digit())
}

fn sample(line: &str) -> (String, Vec<(String, String)>, f64) {
    let (head, value) = line.rsplit_once(' ').expect("a value");
    let value = value.parse().unwrap_or_else(|_| panic!("{line}"));
    let Some((name, labels)) = head.split_once('{') else {
        assert!(is_name(head), "{line}");
        return (head.to_owned(), Vec::new(), value);
    };
    assert!(is_name(name), "{line}");
    let mut rest = labels.strip_suffix('}').unwrap_or_else(|| panic!("{line}"));
    let mut read = Vec::new();
    while !rest.is_empty() {
        let (label, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
        assert!(is_name(label) && !label.contains(':'), "{line}");
        let mut word = String::new();
        let mut chars = after.char_indices();
        let end = loop {
            match chars.next().unwrap_or_else(|| panic!("{line}: no end")) {
                (at, '"') => break at,
                (_, '\\') => match chars.next() {
                    Some((_, 'n')) => word.push('\n'),
                    Some((_, c @ ('\\' | '"'))) => word.push(c),
                    other => panic!("{line}: {other:?}"),
                },
                (_, c) => word.push(c),
            }
        };
        read.push((label.to_owned(), word));
        rest = after[end + 1..].strip_prefix(',').unwrap_or(&after[end + 1..]);
    }
    (name.to_owned(), read, value)
}

impl Family {
    /// The only sample with these labels.
    fn get(&self, labels: &[(&str, &str)]) -> Option<f64> {
        let own = |(label, word): &(&str, &str)| ((*label).to_owned(), (*word).to_owned());
        let labels: Vec<_> = labels.iter().map(own).collect();
        self.samples.iter().find(|((_, found), _)| *found == labels).map(|(_, value)| *value)
    }
}

/// Asserts that buckets are cumulative, and that the last one counts everything.
fn is_whole(family: &Family) {
    let buckets = family.samples.iter().filter(|((name, _), _)| name.ends_with("_bucket"));
    let mut buckets: Vec<(f64, f64)> = buckets
        .map(|((_, labels), value)| {
            let [(label, end)] = &labels[..] else { panic!("{labels:?}") };
            assert_eq!(label, "le");
            (if end == "+Inf" { f64::INFINITY } else { end.parse().expect("an end") }, *value)
        })
        .collect();
    buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
    assert!(buckets.len() > 2 && buckets.is_sorted_by(|one, other| one.1 <= other.1));
    let last = buckets.last().expect("there is one");
    assert!(last.0.is_infinite());
    let of = |end: &str| {
        let found = family.samples.iter().find(|((name, _), _)| name.ends_with(end));
        *found.expect("is told").1
    };
    assert!((of("_count") - last.1).abs() < 0.5, "{family:?}");
    assert!(of("_sum") >= 0.0);
}

fn metrics(server: &Server) -> HashMap<String, Family> {
    let answer: Answer = server.ask("GET").target("/metrics").send();
    assert_eq!(answer.status, 200, "{answer:?}");
    let kind = answer.header("content-type");
    assert_eq!(kind, Some("text/plain; version=0.0.4; charset=utf-8"));
    let families = parse(&answer.body);
    families.values().filter(|family| family.kind == "histogram").for_each(is_whole);
    families
}

#[test]
fn metrics_need_the_token() {
    let api = crate::server::Server::start(|_| crate::server::json(200, &json!({"parts": 3})));
    let place = Place::with(&[("depot.yaml", DEPOT)]);
    place.run(["catalog", "import", "depot.yaml", "--base-url", &api.url]).ends(0);
    let server = Server::start(&place, &[]);
    let before = metrics(&server);
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    assert_eq!(before["milepost_build_info"].get(&version), Some(1.0));
    assert_eq!(before["milepost_runs_started_total"].get(&[]), Some(0.0));
    assert_eq!(before["milepost_runs"].get(&[("status", "succeeded")]), Some(0.0));
    let session = server.connect("2025-06-18");
    let looks = "workflow: looks\nsteps: [{id: look, run: 'depot parts:get'}]\n";
    session.tool("workflow_run", &json!({"manifest": looks, "wait_s": 20}));
    session.tool("workflow_run", &json!({"manifest": ASKS, "wait_s": 20}));
    let nowhere = json!({"name": "workflow_get", "arguments": {"workflow_id": "nowhere"}});
    session.call("tools/call", &nowhere);
    session.fault("nonsense/made-up", &json!({}));
    server.ask("POST").target("/run_0123456789").send();
    server.ask("GET").target("/metrics").without("Authorization").send();
    let after = metrics(&server);
    let of = |name: &str, labels: &[(&str, &str)]| after[name].get(labels).unwrap_or_default();
    assert!((of("milepost_runs_started_total", &[]) - 2.0).abs() < 0.5);
    for (name, labels, least) in [
        ("milepost_runs", &[("status", "succeeded")][..], 1.0),
        ("milepost_runs", &[("status", "waiting")], 1.0),
        ("milepost_runs_waiting", &[("for", "agent")], 1.0),
        ("milepost_runs_ended_total", &[("outcome", "succeeded")], 1.0),
        ("milepost_steps_total", &[("outcome", "succeeded")], 1.0),
        ("milepost_calls_total", &[("outcome", "2xx")], 1.0),
        ("milepost_sessions", &[], 1.0),
        ("milepost_journal_up", &[], 1.0),
        ("milepost_journal_commits_total", &[], 2.0),
        ("milepost_journal_events_total", &[], 6.0),
        ("milepost_mcp_requests_total", &[("method", "initialize"), ("outcome", "ok")], 1.0),
        ("milepost_mcp_requests_total", &[("method", "tools/call"), ("outcome", "ok")], 2.0),
        ("milepost_mcp_requests_total", &[("method", "tools/call"), ("outcome", "failed")], 1.0),
        ("milepost_mcp_requests_total", &[("method", "other"), ("outcome", "fault")], 1.0),
        ("milepost_http_requests_total", &[("route", "/mcp"), ("status", "200")], 4.0),
        ("milepost_http_requests_total", &[("route", "/metrics"), ("status", "200")], 1.0),
        ("milepost_http_requests_total", &[("route", "/metrics"), ("status", "401")], 1.0),
        ("milepost_http_requests_total", &[("route", "other"), ("status", "404")], 1.0),
    ] {
        assert!(of(name, labels) >= least, "{name} {labels:?}: {:?}", after[name]);
    }
    let text = server.ask("GET").target("/metrics").send().body;
    for own in ["run_", "nowhere", "made-up", "looks", "depot", &server.token] {
        assert!(!text.contains(own), "{own} is nobody's to count: {text}");
    }
}

const DEPOT: &str = r"
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

#[test]
fn health_is_public_and_reveals_nothing_else() {
    let place = Place::new();
    let server = Server::start(&place, &[]);
    let ask = || server.ask("GET").target("/healthz").without("Authorization");
    let answer = ask().send();
    assert_eq!((answer.status, answer.body.as_str()), (200, r#"{"status":"ok"}"#));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(ask().header("Host", "evil.example").send().status, 403);
    assert_eq!(ask().header("Origin", "http://evil.example").send().status, 403);
    // A wrong token does not affect the answer.
    assert_eq!(ask().header("Authorization", "Bearer wrong").send().status, 200);
    let session = server.connect("2025-06-18");
    session.tool("workflow_run", &json!({"manifest": ASKS, "wait_s": 20}));
    assert_eq!(ask().send().status, 200);
}

#[test]
fn a_journal_that_does_not_answer_is_unhealthy() {
    let place = Place::new();
    let data = place.root.path().join("home/.local/share/milepost");
    fs::create_dir_all(&data).expect("makes it");
    fs::write(data.join("runs.db"), "this is no database, and long enough to be taken for one\n")
        .expect("writes");
    let server = Server::start(&place, &[]);
    let answer = server.ask("GET").target("/healthz").without("Authorization").send();
    assert_eq!((answer.status, answer.body.as_str()), (503, r#"{"status":"unavailable"}"#));
    // Known values are still reported; the number of runs is not known.
    let families = metrics(&server);
    assert_eq!(families["milepost_journal_up"].get(&[]), Some(0.0));
    assert!(!families.contains_key("milepost_runs"));
}

#[cfg(unix)]
#[test]
fn a_failed_request_is_logged_with_the_client_s_correlation_id() {
    let place = Place::new();
    let to = ["--log", "trace", "--log-format", "json", "--log-file", "log.json"];
    let server = Server::start(&place, &to);
    let token = server.token.clone();
    let session = server.connect("2025-06-18");
    let get = json!({"name": "workflow_get", "arguments": {"workflow_id": "nowhere"}});
    let shaken = session.call("tools/call", &get);
    let alone = server.alone("tools/call", get, &json!({})).message();
    server.ask("GET").target("/mcp?token=Kanarienvogel").without("Authorization").send();
    drop(session);
    server.stop();
    let log = place.text("log.json");
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for result in [&shaken, &alone["result"]] {
        let number = &result["structuredContent"]["correlation_id"];
        assert!(number.is_string(), "{result}");
        let mut failed = lines.iter().filter(|line| line["message"] == "request failed");
        let told = failed.find(|line| line["correlation_id"] == *number).expect("it is told");
        assert_eq!(told["error_code"], "WORKFLOW_NOT_FOUND");
        assert_eq!(told["operation"], "workflow.get");
    }
    let http: Vec<_> = lines.iter().filter(|line| line["message"] == "http request").collect();
    let refused = http.iter().find(|line| line["status"] == 401).expect("it is told");
    assert_eq!((&refused["method"], &refused["route"]), (&json!("GET"), &json!("/mcp")));
    assert!(http.iter().any(|line| line["status"] == 200 && line["duration_ms"].is_u64()));
    assert!(!log.contains(&token) && !log.contains("Kanarienvogel"), "{log}");
}

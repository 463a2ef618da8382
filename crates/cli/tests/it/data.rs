//! Data keeps its value. What a run reads from an API is compared and sent as it came, even if it
//! contains a secret, a user name or a mask, while no output and no file shows the secret.

use std::collections::BTreeSet;
use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::Place;
use crate::agent::Agent;
use crate::finish;
use crate::rogue::terminal;
use crate::secret::files;
use crate::server::{Reply, Request, Server, json as answer};

pub(crate) const SECRET: &str = "Gr\u{fc}n/Specht+0042 \"7\" \\9";
const USER: &str = "woodpecker-4711";
const MASK: &str = "[secret:PASSWORD]";

const API: &str = r"
openapi: 3.1.0
info: {title: Records, version: 1.0.0}
security: [{login: []}]
paths:
  /records:
    get:
      operationId: getRecords
      tags: [records]
      responses: {'200': {description: ok, content: {application/json: {schema: {}}}}}
  /records/{n}:
    put:
      operationId: updateRecord
      tags: [records]
      security: []
      parameters: [{name: n, in: path, required: true, schema: {type: integer}}]
      requestBody: {content: {application/json: {schema: {type: object}}}}
      responses: {'200': {description: ok, content: {application/json: {schema: {}}}}}
  /text:
    get:
      operationId: getText
      tags: [text]
      responses: {'200': {description: ok, content: {text/plain: {schema: {type: string}}}}}
  /broken:
    get:
      operationId: getBroken
      tags: [broken]
      responses: {'200': {description: ok}}
components:
  securitySchemes:
    login: {type: http, scheme: basic}
";

const COPY: &str = r#"
workflow: copy
budget: {writes: 1000}
steps:
  - {id: read, run: records records:get}
  - {id: again, run: records records:get, depends_on: [read]}
  - {id: text, run: records text:get, depends_on: [again]}
  - {id: broken, run: records broken:get, on_error: continue, depends_on: [text]}
  - {id: ok, approve: Copy them?, depends_on: [broken]}
  - id: write
    depends_on: [ok]
    for_each: "${{ steps.read.output.records }}"
    as: record
    run: records records:update
    with: {n: "${{ index }}"}
    body:
      record: "${{ record }}"
      text: "${{ steps.text.output }}"
      is_same: "${{ record == steps.again.output.records[index] && record.text == record.twin }}"
      inside: "${{ record.texts.all(one, record.text.contains(one)) }}"
      etag: "${{ steps.read.headers.etag }}"
      why: "${{ steps.broken.error }}"
"#;

/// Numbers that look random and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn one<'t>(&mut self, all: &'t [String]) -> &'t str {
        let index = usize::try_from(self.next()).expect("fits") % all.len();
        &all[index]
    }
}

/// Every spelling in which a secret is recognized.
fn spellings() -> Vec<String> {
    let bytes = SECRET.as_bytes();
    let each = |bytes: &[u8], write: fn(&u8) -> String| -> String {
        bytes.iter().map(write).collect::<Vec<_>>().concat()
    };
    let strict = each(bytes, |byte| format!("%{byte:02X}"));
    let form = each(bytes, |byte| match byte {
        b' ' => "+".to_owned(),
        byte if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    let hex = each(bytes, |byte| format!("{byte:02x}"));
    let inner = json!(SECRET).to_string().trim_matches('"').to_owned();
    let unicode: Vec<String> = SECRET.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    let mut all = vec![
        SECRET.to_owned(),
        SECRET.to_lowercase(),
        SECRET.to_uppercase(),
        form.to_lowercase(),
        strict.replace('%', "%25"),
        strict,
        form,
        hex.to_uppercase(),
        hex,
        json!(inner).to_string().trim_matches('"').to_owned(),
        inner,
        unicode.concat(),
    ];
    for before in ["", "u", "us", "use"] {
        let text = format!("{before}{SECRET}.");
        // The characters that encode the end also encode what comes after it.
        all.push(STANDARD.encode(&text));
        all.push(URL_SAFE_NO_PAD.encode(&text));
    }
    all
}

/// Texts that must survive: secrets, and everything that could be mistaken for something else.
fn parts() -> Vec<String> {
    let others = [
        USER,
        MASK,
        "[secret:NOT_KNOWN]",
        "[secret:",
        "milepost-secret(x:PASSWORD)",
        "${{ secret('PASSWORD') }}",
        "\u{1}\u{2}abc\u{3}",
        "\u{2}\u{3}",
        "\\u0002YWJj\\u0003",
        "{\"a\": \"b\\\"c\"}",
        "\n\t\u{8}\u{c}\u{7f}",
        "\u{202e}\u{feff}\u{fffd} \u{e4}\u{1f511}",
        "%25%32%35",
        "\\\\\\\"",
        "",
        " ",
        "0042",
        &SECRET[..10],
    ];
    spellings().into_iter().chain(others.map(str::to_owned)).collect()
}

fn records(numbers: &mut Numbers, count: usize) -> Value {
    let parts = parts();
    let record = |_| {
        let texts: Vec<&str> = (0..8).map(|_| numbers.one(&parts)).collect();
        let text = texts.concat();
        let key = numbers.one(&parts).to_owned();
        json!({"text": text, "twin": text, "texts": texts, "n": [1.5, 42, -7, true, null],
            "deep": {key: [{"at": numbers.one(&parts)}]}})
    };
    json!({ "records": (0..count).map(record).collect::<Vec<_>>() })
}

fn etag() -> String {
    format!("\"{} {MASK}\"", spellings()[6])
}

fn text() -> String {
    format!("{SECRET} {USER} {MASK}\r\n{}", STANDARD.encode(SECRET))
}

fn serve(records: Value) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    move |request| match request.path() {
        "/records" => {
            let kind = ("content-type", "application/json".to_owned());
            Reply::Answer(200, vec![kind, ("etag", etag())], records.to_string().into_bytes())
        }
        "/text" => {
            let kind = vec![("content-type", "text/plain".to_owned())];
            Reply::Answer(200, kind, text().into_bytes())
        }
        // The body is cut in the middle of a secret.
        "/broken" => {
            answer(422, &json!({"why": SECRET, "x": format!("{}{SECRET}", "y".repeat(980))}))
        }
        _ => answer(200, &json!({"echo": request.body})),
    }
}

/// A run that has read its data and waits for a person.
pub(crate) struct Waiting {
    pub(crate) place: Place,
    pub(crate) run: String,
    server: Server,
    records: Value,
}

pub(crate) fn waiting(seed: u64, count: usize) -> Waiting {
    let records = records(&mut Numbers(seed), count);
    let server = Server::start(serve(records.clone()));
    let place = Place::with(&[("records.yaml", API), ("copy.yaml", COPY)]);
    finish(place.command().args(["secret", "set", "PASSWORD"]), SECRET).ends(0);
    finish(place.command().args(["secret", "set", "LOGIN"]), USER).ends(0);
    place.run(["catalog", "import", "records.yaml", "--base-url", &server.url]).ends(0);
    let auth = ["--scheme", "login", "--username", "LOGIN", "--password", "PASSWORD"];
    place.run([&["catalog", "auth", "records"], &auth[..]].concat()).ends(0);
    let ran = place.run(["run", "copy.yaml", "--json"]).ends(4);
    look("the run", ran.out.as_bytes());
    let last: Value = serde_json::from_str(ran.out.lines().last().expect("lines")).expect("JSON");
    let run = last["run_id"].as_str().expect("an id").to_owned();
    Waiting { place, run, server, records }
}

/// Asserts that no spelling of the secret is in some bytes.
#[track_caller]
pub(crate) fn look(what: &str, bytes: &[u8]) {
    let mut seen: BTreeSet<String> = spellings().into_iter().collect();
    seen.insert(SECRET[..12].to_owned());
    for spelling in seen {
        // As it is, and as it is written in JSON.
        for spelling in [json!(spelling).to_string().trim_matches('"').to_owned(), spelling] {
            let is_here = bytes.windows(spelling.len()).any(|part| part == spelling.as_bytes());
            assert!(
                !is_here,
                "{what} shows `{spelling}`: {:.2000}",
                String::from_utf8_lossy(bytes)
            );
        }
    }
}

impl Waiting {
    fn shows(&self, words: &[&str]) -> String {
        let ran = self.place.run(words);
        look(&format!("standard output of {words:?}"), ran.out.as_bytes());
        look(&format!("standard error of {words:?}"), ran.err.as_bytes());
        if words.contains(&"--json") {
            let lines = ran.out.lines().map(serde_json::from_str::<Value>);
            lines.for_each(|line| drop(line.expect("each line is JSON")));
        }
        ran.out
    }

    /// Asserts that no file but the encrypted store could show the secret.
    fn look_at_files(&self) {
        for file in files(self.place.root.path()).into_iter().filter(|file| file.is_file()) {
            look(&file.display().to_string(), &fs::read(&file).expect("reads"));
        }
    }
}

#[test]
fn soak_data_survives_reading_comparing_and_writing_byte_for_byte() {
    let cases = std::env::var("MILEPOST_SOAK").ok().and_then(|count| count.parse().ok());
    let (rounds, count) = (cases.unwrap_or(20_usize).div_ceil(20), 20);
    for round in 0..rounds {
        let waiting = waiting(round as u64 + 1, count);
        waiting.look_at_files();
        // The secrets are gone: the process that writes has nothing but the journal.
        let data = waiting.place.root.path().join("home/.local/share/milepost");
        fs::remove_file(data.join("secrets.age")).expect("is removed");
        let said = terminal(&waiting.place, &format!("approve {}", waiting.run), &["y"]);
        assert_eq!(said.code, 0, "{}", said.out);
        look("the approval", said.out.as_bytes());
        let shown = waiting.shows(&["show", &waiting.run, "--json"]);
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        assert_eq!(shown["status"], "succeeded", "{shown}");
        let mut written: Vec<Request> = waiting.server.seen();
        written.retain(|request| request.method == "PUT");
        assert_eq!(written.len(), count);
        for request in written {
            let n: usize =
                request.path().trim_start_matches("/records/").parse().expect("a number");
            let body: Value = serde_json::from_str(&request.body).expect("JSON");
            let record = &waiting.records["records"][n];
            let why = &body["why"];
            let expected = json!({"record": record, "text": text(), "is_same": true,
                "inside": true, "etag": etag(), "why": why});
            assert_eq!(request.body, expected.to_string(), "record {n}");
            assert!(!why.to_string().contains(MASK), "{why}");
        }
    }
}

#[test]
fn no_output_shows_a_secret_that_a_run_has_read() {
    let waiting = waiting(77, 20);
    let run = waiting.run.as_str();
    let shown = waiting.shows(&["show", run, "read", "--json"]);
    assert!(shown.contains(USER), "a user name is no secret: {shown}");
    assert!(shown.contains(MASK));
    for words in [
        &["show", run][..],
        &["show", run, "--json"],
        &["show", run, "read"],
        &["show", run, "text"],
        &["show", run, "broken", "--json"],
        &["logs", run],
        &["logs", run, "--json"],
        &["runs", "--json"],
        &["inbox"],
        &["inbox", "--json"],
        &["resume", run, "--plan"],
        &["command", "run", "records", "records:get"],
        &["command", "run", "records", "records:get", "--json"],
        &["command", "run", "records", "text:get"],
        &["command", "run", "records", "broken:get", "--json"],
        &["command", "run", "records", "text:get", "--output", "text.txt"],
        &["command", "run", "records", "records:get", "--output", "records.json"],
    ] {
        waiting.shows(words);
    }
    let mut logged = waiting.place.command();
    logged.args(["--log", "trace", "--log-file", "trace.log", "show", run]);
    finish(&mut logged, "").ends(0);
    // A masked document is still a document.
    let records = waiting.place.text("records.json");
    let records: Value = serde_json::from_str(&records).expect("JSON");
    assert_eq!(records["records"][3]["n"], waiting.records["records"][3]["n"]);
    waiting.place.run(["backup", "saved"]).ends(0);
    waiting.look_at_files();
}

#[test]
fn no_tool_shows_a_secret_and_none_accepts_its_mask() {
    let waiting = waiting(78, 5);
    let mut agent = Agent::connect(&waiting.place, &[]);
    let run = waiting.run.as_str();
    let whole = json!({"run_id": run, "inline_max": 200_000});
    for (tool, arguments) in [
        ("workflow_status", json!({"run_id": run})),
        ("workflow_status", whole),
        ("command_run", json!({"command": "records records:get"})),
        ("command_run", json!({"command": "records text:get"})),
        ("command_run", json!({"command": "records broken:get"})),
    ] {
        let told = agent.call(tool, &arguments);
        look(tool, told.to_string().as_bytes());
        assert!(told.to_string().contains("[secret:PASSWORD]"), "{tool}: {told}");
    }
    let uri = format!("milepost://run/{run}/step/read/output");
    let read = agent.client.call("resources/read", &json!({"uri": uri}));
    look("a resource", read.to_string().as_bytes());
    assert!(read.to_string().contains(MASK), "{read}");
    let manifest = format!("workflow: w\nsteps: [{{id: a, set: {{x: '{MASK}'}}}}]\n");
    let command = "records records:update";
    for (tool, arguments) in [
        ("command_run", json!({"command": command, "with": {"n": 1}, "body": {"a": [MASK]}})),
        ("command_run", json!({"command": command, "with": {"n": MASK}})),
        ("command_run", json!({"command": command, "body": {"a": "x [secret:OTHER] y"}})),
        ("workflow_save", json!({"content": manifest})),
        ("workflow_run", json!({"manifest": manifest})),
        ("workflow_run", json!({"workflow_id": "copy", "inputs": {"a": MASK}})),
        ("workflow_submit", json!({"run_id": run, "output": {"a": MASK}})),
        ("workflow_submit", json!({"run_id": run, "output": 1, "context": {"a": MASK}})),
        ("workflow_resume", json!({"run_id": run, "overrides": {"read": {"a": MASK}}})),
    ] {
        let refused = agent.refused(tool, &arguments);
        assert_eq!(refused["error_code"], "MASKED_VALUE", "{tool} {arguments}: {refused}");
    }
    assert!(waiting.server.seen().iter().all(|request| request.method != "PUT"));
}

#[test]
fn the_command_line_accepts_no_mask_either() {
    let place = Place::new();
    place.put(
        "ask.yaml",
        "workflow: ask\ninputs: {x: {optional: true}}\nsteps: [{id: a, prompt: Say it.}]\n",
    );
    place.put("mask.yaml", "workflow: mask\nsteps: [{id: a, set: {x: '[secret:K]'}}]\n");
    let run = place.run(["run", "ask.yaml", "--json"]).ends(5);
    let run: Value = serde_json::from_str(run.out.lines().last().expect("lines")).expect("JSON");
    let run = run["run_id"].as_str().expect("an id").to_owned();
    for (words, typed) in [
        (vec!["submit", &run, "a", "-"], "the key is [secret:K]"),
        (vec!["run", "ask.yaml", "-i", "x=[secret:K]"], ""),
        (vec!["workflow", "save", "mask.yaml"], ""),
        (vec!["run", "mask.yaml"], ""),
        (vec!["secret", "set", "OTHER"], "[secret:K]"),
    ] {
        let ran = finish(place.command().args(&words), typed);
        assert!(ran.err.contains("`[secret:K]`"), "{words:?}: {} {}", ran.out, ran.err);
        assert_ne!(ran.code, 0, "{words:?}");
    }
    finish(place.command().args(["submit", &run, "a", "-"]), "nothing secret").ends(0);
}

//! Secret inputs that one process receives and that the next process driving the run uses.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::Place;
use crate::rogue::terminal;
use crate::server::{Server, json as answer};

const CANARY: &str = "c4n4ry-g1v3n-once";
const DEPOT: &str = "openapi: 3.1.0\ninfo: {title: Depot, version: 1.0.0}\n\
     servers: [{url: 'https://depot.example'}]\npaths:\n  /parts:\n    post:\n      \
     operationId: createPart\n      tags: [parts]\n      \
     requestBody: {content: {application/json: {schema: {type: object}}}}\n      \
     responses: {'201': {description: ok}}\n";
const ASKED: &str = "workflow: asked\ninputs: {pass: {type: string, secret: true}}\nsteps:\n  \
     - {id: ok, approve: Make it?}\n  \
     - {id: make, run: depot parts:create, body: {key: '${{ inputs.pass }}'}, depends_on: [ok]}\n";

/// A run that is waiting for an approval and whose process has exited.
fn waiting(server: &Server) -> (Place, String) {
    let place = Place::with(&[("depot.yaml", DEPOT), ("asked.yaml", ASKED)]);
    place.run(["catalog", "import", "depot.yaml", "--base-url", &server.url]).ends(0);
    let run = started(&place);
    (place, run)
}

fn started(place: &Place) -> String {
    let pass = format!("pass={CANARY}");
    let ran = place.run(["run", "asked.yaml", "--json", "-i", &pass]).ends(4);
    let run: Value = serde_json::from_str(ran.out.lines().last().expect("a line")).expect("JSON");
    run["run_id"].as_str().expect("an id").to_owned()
}

fn server() -> Server {
    Server::start(|_| answer(201, &json!({})))
}

/// All files under a folder; asserts that none of them contains the value.
fn files(below: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![below.to_owned()];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).expect("reads").map(|entry| entry.expect("is").path()));
            continue;
        }
        let bytes = fs::read(&path).unwrap_or_default();
        let holds = bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes());
        assert!(!holds, "{}", path.display());
        found.push(path.display().to_string());
    }
    found
}

fn sealed(place: &Place) -> usize {
    files(place.root.path()).iter().filter(|path| path.contains("/sealed-inputs/")).count()
}

#[test]
fn an_approval_from_another_process_finds_the_secret() {
    let server = server();
    let (place, run) = waiting(&server);
    assert_eq!(sealed(&place), 1);
    let copy = place.root.path().join("copy");
    place.run(["backup", &copy.display().to_string()]).ends(0);
    assert!(files(&copy).iter().all(|path| !path.contains("sealed-inputs")));
    let said = terminal(&place, &format!("approve {run}"), &["y"]);
    assert_eq!(said.code, 0, "{}", said.out);
    assert_eq!(server.last().body, json!({"key": CANARY}).to_string());
    // The sealed input is deleted when the run ends.
    assert_eq!(sealed(&place), 0);
    // A file left by a process that was killed while ending the run is purged with the run.
    let folder = place.root.path().join("home/.local/share/milepost/sealed-inputs");
    fs::write(folder.join(&run), [0xFF; 64]).expect("writes");
    place.run(["runs", "purge", "--yes"]).ends(0);
    assert_eq!(sealed(&place), 0);
}

#[test]
fn an_expired_secret_is_asked_for_again() {
    let server = server();
    let (place, run) = waiting(&server);
    let home = place.root.path().join("home/.local/share/milepost/sealed-inputs");
    // A file that was encrypted with another key, or modified, cannot be opened.
    fs::write(home.join(&run), [0xFF; 64]).expect("writes");
    let said = terminal(&place, &format!("approve {run}"), &["y"]);
    assert_eq!(said.code, 4, "{}", said.out);
    assert_eq!(server.seen().len(), 0);
    let shown = place.run(["show", &run, "--json"]).ends(0).json();
    let next = shown["next"].as_str().expect("a command").to_owned();
    assert!(next.contains(&format!("resume {run} -i pass=")), "{shown}");
    place.run(["resume", &run, "-i", &format!("pass={CANARY}")]).ends(0);
    assert_eq!(server.last().body, json!({"key": CANARY}).to_string());
    assert_eq!(sealed(&place), 0);
}

#[test]
fn secret_inputs_are_kept_for_as_long_as_the_configuration_says() {
    let server = server();
    let (place, run) = waiting(&server);
    // Eight days later the input has expired, and the process leaves nothing behind.
    let mut later = place.command();
    later.env("MILEPOST_CLOCK", (8 * 24 * 60 * 60 * 1000_u64).to_string());
    crate::finish(later.args(["resume", &run]), "");
    assert_eq!(sealed(&place), 0);
    place.run(["config", "set", "secrets.inputs_days", "0"]).ends(0);
    started(&place);
    assert_eq!(sealed(&place), 0);
}

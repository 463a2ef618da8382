//! An approval covers exactly what was shown: a different request needs another approval, the same
//! one does not.

use serde_json::json;

use crate::Place;
use crate::runs::{DEPOT, in_terminal, last};
use crate::server::{Server, json as answer};

const ASKED: &str = r#"
workflow: asked
inputs: {name: {type: string}}
steps:
  - {id: look, run: depot parts:list}
  - {id: ok, approve: "Make ${{ inputs.name }} of ${{ steps.look.output.id }}?"}
  - id: make
    run: depot parts:create
    depends_on: [ok]
    body: {name: "${{ inputs.name }}"}
    headers: {X-Of: "${{ steps.look.output.id }}"}
"#;

/// A folder with a run that is waiting for an approval, the run's server, and a second server.
struct Asked {
    place: Place,
    server: Server,
    other: Server,
    run: String,
}

fn asked() -> Asked {
    let [server, other] = [(); 2].map(|()| Server::start(|_| answer(201, &json!({"id": "p1"}))));
    let place = Place::with(&[("depot.yaml", DEPOT), ("asked.yaml", ASKED)]);
    place.run(["catalog", "import", "depot.yaml", "--base-url", &server.url]).ends(0);
    let run = last(&place.run(["run", "asked.yaml", "-i", "name=bolt", "--json"]).ends(4));
    let run = run["run_id"].as_str().expect("an id").to_owned();
    Asked { place, server, other, run }
}

impl Asked {
    fn import(&self, document: &str, base: &str) {
        self.place.put("depot.yaml", document);
        let words = ["catalog", "import", "depot.yaml", "--base-url", base, "--overwrite"];
        self.place.run(words).ends(0);
    }

    fn writes(&self) -> usize {
        let both = [&self.server, &self.other].map(Server::seen);
        both.iter().flatten().filter(|request| request.method != "GET").count()
    }

    fn approve(&self) -> i32 {
        in_terminal(&self.place, &format!("approve {}", self.run), "y\n").code
    }
}

/// A change between the question and the approval.
type Change = fn(&Asked);

/// Changes to a catalog do not affect a run until a person moves the run to the new version.
#[test]
fn a_different_request_is_asked_about_again() {
    let another: [(&str, Change); 3] = [
        ("host", |asked| asked.import(DEPOT, &asked.other.url)),
        ("path", |asked| {
            let base = format!("{}/v2", asked.server.url);
            asked.import(DEPOT, &base);
        }),
        ("media type", |asked| {
            let (json, other) = (
                "{application/json: {schema: {type: object, properties: {name",
                "{application/merge-patch+json: {schema: {type: object, properties: {name",
            );
            let document = DEPOT.replacen(json, other, 1);
            assert_ne!(document, DEPOT);
            asked.import(&document, &asked.server.url);
        }),
    ];
    for (what, change) in another {
        let asked = asked();
        change(&asked);
        asked.place.run(["pause", &asked.run]).ends(0);
        let moved = ["resume", &asked.run, "--latest-catalogs", "--yes"];
        asked.place.run(moved).ends(4);
        assert_eq!(asked.approve(), 4, "{what}: asked again");
        assert_eq!(asked.writes(), 0, "{what}: nothing is sent");
        let view = asked.place.run(["show", &asked.run, "--json"]).ends(0).json();
        assert_eq!(view["waiting"][0]["kind"], "approval", "{what}: {view}");
        assert_eq!(asked.approve(), 0, "{what}: once is enough");
        assert_eq!(asked.writes(), 1, "{what}");
    }
}

#[test]
fn the_same_request_is_not_asked_about_again() {
    let same: [(&str, Change); 5] = [
        ("another host", |asked| asked.import(DEPOT, &asked.other.url)),
        ("nothing", |_| {}),
        ("the same document", |asked| asked.import(DEPOT, &asked.server.url)),
        ("another title", |asked| {
            asked.import(&DEPOT.replacen("title: Depot", "title: Stock", 1), &asked.server.url);
        }),
        ("another text of the workflow", |asked| {
            asked.place.put("asked.yaml", &ASKED.replace("name: \"${{", "name: \"x ${{"));
            asked.place.run(["workflow", "save", "asked.yaml"]).ends(0);
        }),
    ];
    for (what, change) in same {
        let asked = asked();
        change(&asked);
        asked.place.run(["resume", &asked.run]);
        assert_eq!(asked.approve(), 0, "{what}");
        assert_eq!(asked.writes(), 1, "{what}");
        assert_eq!(asked.server.last().body, r#"{"name":"bolt"}"#, "{what}");
        let logs = asked.place.run(["logs", &asked.run, "--json"]).ends(0).out;
        assert_eq!(logs.matches("\"approval_requested\"").count(), 1, "{what}");
    }
}

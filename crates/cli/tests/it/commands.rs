//! Commands without a test file of their own.

use std::fs;

use serde_json::{Value, json};

use crate::{Place, Ran, SLIP, SOUND, base, finish};

const INPUTS: &str = "workflow: asks
inputs: {flag: {type: boolean}, name: {type: string}}
steps:
  - {id: a, prompt: 'Look at ${{ inputs.name }}'}
  - {id: b, prompt: Go on, if: inputs.flag, depends_on: [a]}
";

#[test]
fn an_unknown_command_is_reported() {
    let place = Place::new();
    place.run(["--version"]).ends(0).quiet();
    place.run(["--help"]).ends(0).quiet();
    place.run(["bogus"]).ends(2);
    place.workflow("bogus").ends(2);
}

#[test]
fn missing_and_broken_documents_are_reported() {
    let place = Place::with(&[("slip.yaml", SLIP), ("good.yaml", SOUND)]);
    for verb in ["show", "plan", "graph"] {
        place.workflow(&format!("{verb} good.yaml")).ends(0).quiet();
        place.workflow(&format!("{verb} nowhere.yaml")).ends(6);
        place.workflow(&format!("{verb} nowhere")).ends(6);
        place.workflow(&format!("{verb} .")).ends(8);
        place.workflow(verb).ends(2);
        place.workflow_of(&format!("{verb} -"), SOUND).ends(0).quiet();
        let ran = place.workflow(&format!("{verb} slip.yaml")).ends(3);
        assert_eq!(ran.out, "", "{verb}");
        assert!(ran.err.contains("unknown key `promt`"), "{}", ran.err);
        assert!(ran.err.contains("error[WORKFLOW_INVALID]"), "{}", ran.err);
    }
}

#[test]
fn problems_are_json_when_json_is_asked_for() {
    let place = Place::with(&[("slip.yaml", SLIP)]);
    for verb in ["show", "plan"] {
        let ran = place.workflow(&format!("{verb} --json slip.yaml")).ends(3);
        assert_eq!(ran.out, "");
        let problem: Value = serde_json::from_str(&ran.err).expect("is JSON alone");
        assert_eq!(problem["error"]["error_code"], "WORKFLOW_INVALID");
        assert_eq!(problem["error"]["violations"][0]["rule"], "unknown-key");
        let ran = place.workflow(&format!("{verb} --json nowhere")).ends(6);
        let problem: Value = serde_json::from_str(&ran.err).expect("is JSON alone");
        assert_eq!(problem["error"]["category"], "not_found");
    }
}

#[test]
fn show() {
    let place = Place::with(&[("asks.yaml", INPUTS)]);
    let ran = place.workflow("show asks.yaml").ends(0).quiet();
    assert!(ran.out.starts_with("asks (asks)\nmanifest, version not set, asks.yaml\n"));
    let shown = place.workflow("show --json asks.yaml").ends(0).quiet().json();
    assert_eq!(shown["workflow_id"], "asks");
    assert_eq!(shown["content"], INPUTS);
    assert_eq!(shown["parsed"]["inputs"]["flag"]["type"], "boolean");
    assert_eq!(shown["version"].as_str().map(str::len), Some(64));
}

#[test]
fn plan_evaluates_what_depends_on_inputs() {
    let place = Place::with(&[("asks.yaml", INPUTS)]);
    let holds = |arguments: &str| {
        let ran = place.workflow(&format!("plan --json asks.yaml{arguments}")).ends(0).quiet();
        ran.json()["steps"][1]["condition_holds"].clone()
    };
    assert_eq!(holds(""), json!(null));
    assert_eq!(holds(" -i flag=true"), json!(true));
    assert_eq!(holds(" -i flag=false -i name=x=y"), json!(false));
    place.workflow("plan asks.yaml -i flag=false").ends(0).quiet();
    for (input, words) in [
        ("flag=maybe", "input `flag` is not a boolean: `maybe`"),
        ("flga=true", "did you mean `flag`?"),
        ("flag", "`flag` has no value"),
        ("flag=true -i flag=false", "input `flag` is given twice"),
    ] {
        let ran = place.workflow(&format!("plan asks.yaml -i {input}")).ends(2);
        assert!(ran.err.contains(words), "{}", ran.err);
    }
}

#[test]
fn graph_has_three_forms() {
    let place = Place::with(&[("asks.yaml", INPUTS)]);
    let text = place.workflow("graph asks.yaml").ends(0).quiet().out;
    assert_eq!(text, place.workflow("graph asks.yaml --text").ends(0).quiet().out);
    assert!(
        place.workflow("graph asks.yaml --mermaid").ends(0).quiet().out.starts_with("flowchart")
    );
    let svg = place.workflow("graph asks.yaml --svg").ends(0).quiet().out;
    assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
    place.workflow("graph asks.yaml --svg --mermaid").ends(2);
}

#[test]
fn new_writes_a_valid_file_and_never_overwrites() {
    let place = Place::new();
    for (arguments, file) in [
        ("new tidy", "tidy.yaml"),
        ("new tidy-guide --kind guide", "tidy-guide.yaml"),
        ("new mine --from refund-order", "mine.yaml"),
        ("new my-review --from code-review", "my-review.json"),
        ("new other -o sub.yml", "sub.yml"),
    ] {
        let ran = place.workflow(arguments).ends(0);
        assert_eq!(ran.out, format!("wrote {file}\n"));
        assert_eq!(ran.err, format!("next: milepost workflow validate {file}\n"));
        place.workflow(&format!("validate {file}")).ends(0).quiet();
        let before = place.text(file);
        let again = place.workflow(arguments).ends(7);
        assert_eq!(again.out, "");
        assert_eq!(place.text(file), before);
    }
    let made = place.workflow("new fifth --json").ends(0).quiet().json();
    assert_eq!(made, json!({"path": "fifth.yaml", "workflow_id": "fifth"}));
}

#[test]
fn new_refuses_what_it_cannot_write() {
    let place = Place::with(&[("slip.yaml", SLIP)]);
    place.workflow("new Not_An_Id!").ends(2);
    place.workflow("new ../up").ends(2);
    place.workflow("new ab --kind guide").ends(2);
    place.workflow("new fine --from nowhere").ends(6);
    place.workflow("new fine --from slip.yaml").ends(3);
    place.workflow("new fine -o none/fine.yaml").ends(6);
    place.workflow("new fine -o fine.json").ends(2);
    place.workflow("new fine --kind sonnet").ends(2);
    assert_eq!(fs::read_dir(place.path("")).expect("reads").count(), 1);
}

fn in_library(place: &Place, arguments: &str) -> Ran {
    let mut command = place.command();
    command.env("WORKFLOW_STORAGE_PATH", "one:two").env("REGISTRY_WORKFLOWS_PATH", "run");
    finish(command.arg("workflow").args(arguments.split(' ')), "")
}

#[test]
fn list_shows_valid_workflows_and_reports_the_rest() {
    let place = Place::with(&[
        ("one/sound.yaml", SOUND),
        ("one/slip.yaml", SLIP),
        ("two/sound.yaml", SOUND),
        ("run/e\u{1b}[31m.yaml", SLIP),
    ]);
    let ran = in_library(&place, "list").ends(0);
    assert_eq!(
        ran.out,
        "ID                      KIND      STEPS  SOURCE    TITLE\n\
         bug-investigation       guide     14     built-in  Bug investigation\n\
         code-review             guide     11     built-in  Code review\n\
         feature-implementation  guide     15     built-in  Feature implementation\n\
         refund-order            manifest  5      built-in  Refund an order\n\
         release-checklist       guide     14     built-in  Release checklist\n\
         sound                   manifest  1      path      sound\n"
    );
    assert!(ran.err.contains("slip.yaml`: line 4: unknown key `promt`"), "{}", ran.err);
    assert!(ran.err.contains("e\\u{1b}[31m.yaml"), "{}", ran.err);
    assert!(!ran.err.contains('\u{1b}'));
    let listed = in_library(&place, "list --json").ends(0).quiet().json();
    let workflows = listed["workflows"].as_array().expect("is a list");
    assert_eq!(workflows.len(), 6);
    assert_eq!(
        (&workflows[5]["source"], base(&workflows[5]["path"])),
        (&json!("path"), "sound.yaml")
    );
    assert_eq!(listed["invalid"].as_array().map(Vec::len), Some(2));
}

#[test]
fn sources_show_which_directory_wins() {
    let place = Place::with(&[("one/sound.yaml", SOUND), ("two/sound.yaml", SOUND)]);
    let ran = in_library(&place, "sources").ends(0).quiet();
    assert!(ran.out.contains("`sound` in path is shadowed by path\n"), "{}", ran.out);
    let sources = in_library(&place, "sources --json").ends(0).quiet().json();
    let rows: Vec<(&str, u64, bool)> = sources["sources"]
        .as_array()
        .expect("is a list")
        .iter()
        .map(|row| {
            let count = row["count"].as_u64().expect("is a number");
            (row["source"].as_str().expect("is text"), count, row["exists"] == true)
        })
        .collect();
    let expected = [
        ("built-in", 5, true),
        ("user", 0, false),
        ("path", 1, true),
        ("path", 1, true),
        ("runtime", 0, false),
    ];
    assert_eq!(rows, expected);
    assert_eq!(sources["sources"][2]["shadowed"], json!([{"workflow_id": "sound", "by": "path"}]));
}

#[test]
fn printed_schemas_are_valid() {
    let place = Place::new();
    for of in ["workflow", "guide"] {
        let schema = place.run(["schema", of]).ends(0).quiet().json();
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
        assert!(jsonschema::meta::is_valid(&schema));
    }
    place.run(["schema"]).ends(2);
    place.run(["schema", "poem"]).ends(2);
}

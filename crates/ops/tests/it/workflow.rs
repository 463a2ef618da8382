//! The operations on workflow documents.

use std::fs;
use std::path::PathBuf;

use milepost_ops::{Caller, CallerKind, Code, Operations, Problem, Reader, SilentCaller, Writer};
use milepost_store::Locations;
use milepost_store::secrets::Environment;
use serde_json::{Value, json};

const ONE: &str = "workflow: greet  # mine\nsteps:\n  - {id: hello, prompt: Say hello.}\n";
const TWO: &str = "workflow: greet  # mine\nsteps:\n  - {id: hello, prompt: Say good day.}\n";

/// A caller who confirms everything.
struct Yes;

impl Caller for Yes {
    fn progress(&self, message: &str) {
        SilentCaller.progress(message);
    }

    fn warn(&self, message: &str) {
        SilentCaller.warn(message);
    }

    fn ask(&self, _question: &str) -> Option<bool> {
        Some(true)
    }

    fn kind(&self) -> CallerKind {
        CallerKind::Person
    }

    fn cancelled(&self) -> bool {
        false
    }
}

/// The operations of one user, whose runtime directory is `run`.
struct Place {
    root: tempfile::TempDir,
    operations: Operations,
}

impl Place {
    fn new() -> Place {
        let root = tempfile::tempdir().expect("a folder");
        let below = |name: &str| root.path().join(name).display().to_string();
        let (home, run, path) = (below("home"), below("run"), below("path"));
        let variable = |name: &str| match name {
            "HOME" => Some(home.clone()),
            "REGISTRY_WORKFLOWS_PATH" => Some(run.clone()),
            "WORKFLOW_STORAGE_PATH" => Some(path.clone()),
            _ => None,
        };
        let locations = Locations::resolve(&variable, root.path());
        let writer = Writer::open(Reader::open(locations), Environment::default());
        Place { root, operations: Operations::new(writer) }
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("run").join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("read")
    }

    fn call_as(&self, call: &dyn Caller, name: &str, arguments: Value) -> Result<Value, Problem> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let answer = self.operations.call_and_wait(name, call, arguments);
        let answer = runtime.block_on(answer)?;
        Ok(serde_json::from_str(answer.json()).expect("JSON"))
    }

    fn call(&self, name: &str, arguments: Value) -> Value {
        self.call_as(&SilentCaller, name, arguments).expect("an answer")
    }

    fn save(&self, text: &str) -> Value {
        self.call("workflow.save", json!({"content": text, "overwrite": true}))
    }

    fn refused(&self, name: &str, arguments: Value) -> Problem {
        self.call_as(&SilentCaller, name, arguments).expect_err("a problem")
    }
}

fn version(text: &str) -> String {
    milepost_model::document::version(text.as_bytes())
}

#[test]
fn what_is_saved_is_got_and_saved_again() {
    let place = Place::new();
    let text = format!("\u{feff}{}", ONE.replace('\n', "\r\n"));
    let saved = place.call("workflow.save", json!({"content": text}));
    assert_eq!(saved["workflow_id"], "greet");
    assert_eq!(saved["version"], version(&text));
    assert_eq!(saved["path"], place.path("greet.yaml").display().to_string());
    assert_eq!(saved["warnings"], json!([]));
    let got = place.call("workflow.get", json!({"workflow_id": "greet"}));
    assert_eq!(got["content"], text, "every byte");
    assert_eq!((&got["version"], &got["format"]), (&saved["version"], &json!("yaml")));
    assert_eq!(got["parsed"]["steps"][0]["id"], "hello");
    assert_eq!((&got["read_only"], &got["valid"]), (&json!(false), &json!(true)));
    let arguments = json!({"content": TWO, "expected_version": got["version"]});
    let again = place.call("workflow.save", arguments.clone());
    assert_eq!(again["previous_version"], got["version"]);
    let problem = place.refused("workflow.save", arguments);
    assert_eq!(problem.code, Code::WorkflowVersionConflict);
    assert_eq!(problem.context["expected"], got["version"]);
    assert_eq!(problem.context["found"], again["version"]);
    let listed = place.call("workflow.list", json!({"source": "runtime"}));
    assert_eq!(listed["workflows"][0]["version"], again["version"]);
}

#[test]
fn a_workflow_that_is_there_is_not_replaced_unasked() {
    let place = Place::new();
    place.save(ONE);
    let problem = place.refused("workflow.save", json!({"content": TWO}));
    assert_eq!(problem.code, Code::WorkflowExists);
    assert_eq!(problem.context["version"], version(ONE));
    let arguments = json!({"content": TWO, "overwrite": true, "expected_version": version(TWO)});
    let problem = place.refused("workflow.save", arguments);
    assert_eq!(problem.code, Code::WorkflowVersionConflict, "the version decides");
    let other = TWO.replace("greet", "other");
    let arguments = json!({"content": other, "expected_version": version(ONE)});
    let problem = place.refused("workflow.save", arguments);
    assert_eq!(problem.code, Code::WorkflowVersionConflict);
    assert_eq!(problem.context["found"], Value::Null);
    let problem = place.refused("workflow.save", json!({"content": ONE, "expected_version": "x"}));
    assert_eq!(problem.code, Code::ParamsInvalid);
    assert_eq!(place.text("greet.yaml"), ONE);
}

#[test]
fn what_is_not_valid_is_not_saved() {
    let place = Place::new();
    let slip =
        "workflow: slip\nsteps:\n  - {id: a, promt: Look}\n  - {id: b, prompt: Look, titel: B}\n";
    let problem = place.refused("workflow.save", json!({"content": slip}));
    assert_eq!(problem.code, Code::WorkflowInvalid);
    assert_eq!(problem.violations.len(), 2, "{:?}", problem.violations);
    assert_eq!(problem.context["line"], 3);
    let problem = place.refused("workflow.save", json!({"content": ONE, "workflow_id": "other"}));
    assert_eq!(problem.code, Code::WorkflowInvalid);
    assert_eq!(problem.violations[0].path, "/workflow");
    assert!(fs::symlink_metadata(place.path("")).is_err(), "nothing is made for it");
}

#[test]
fn the_form_of_a_text_is_seen_or_said() {
    let place = Place::new();
    let json_text = r#"{"workflow": "a", "steps": [{"id": "x", "prompt": "Look"}]}"#;
    assert_eq!(place.save(json_text)["format"], "json");
    let flow = "{workflow: b, steps: [{id: x, prompt: Look}]}";
    assert_eq!(place.save(flow)["format"], "yaml", "it begins like JSON and is none");
    let said = json!({"content": json_text.replace("\"a\"", "\"c\""), "format": "yaml"});
    assert_eq!(place.call("workflow.save", said)["format"], "yaml");
    let listed = fs::read_dir(place.path("")).expect("read").filter_map(Result::ok);
    let mut names: Vec<_> = listed.map(|entry| entry.file_name()).collect();
    names.retain(|name| name != ".lock");
    names.sort();
    assert_eq!(names, ["a.json", "b.yaml", "c.yaml"]);
}

#[test]
fn what_is_only_read_is_overridden_and_comes_back() {
    let place = Place::new();
    place.put("path/greet.yaml", ONE);
    for (name, arguments) in [
        ("workflow.rename", json!({"workflow_id": "greet", "new_id": "meet"})),
        ("workflow.delete", json!({"workflow_id": "greet"})),
        ("workflow.versions", json!({"workflow_id": "greet"})),
    ] {
        let problem = place.call_as(&Yes, name, arguments).expect_err("only read");
        assert_eq!(problem.code, Code::WorkflowReadOnly, "{name}");
        assert_eq!(problem.context["source"], "path");
    }
    // A caller who has read that file may save over its version.
    let arguments = json!({"content": TWO, "expected_version": version(ONE)});
    let saved = place.call("workflow.save", arguments);
    assert_eq!(saved["overrides"]["source"], "path");
    let got = place.call("workflow.get", json!({"workflow_id": "greet"}));
    assert_eq!((&got["content"], &got["read_only"]), (&json!(TWO), &json!(false)));
    let deleted = place.call_as(&Yes, "workflow.delete", json!({"workflow_id": "greet"}));
    assert_eq!(deleted.expect("deleted")["uncovers"]["source"], "path");
    let got = place.call("workflow.get", json!({"workflow_id": "greet"}));
    assert_eq!((&got["content"], &got["read_only"]), (&json!(ONE), &json!(true)));
    assert_eq!(fs::read_to_string(place.root.path().join("path/greet.yaml")).expect("read"), ONE);
}

#[test]
fn a_rename_names_those_who_run_the_old_id() {
    let place = Place::new();
    place.save(ONE);
    place.save("workflow: outer\nsteps:\n  - {id: inner, run: workflow greet}\n");
    let arguments = json!({"workflow_id": "greet", "new_id": "meet"});
    let renamed = place.call("workflow.rename", arguments.clone());
    assert_eq!(
        renamed["warnings"],
        json!(["workflow `outer` runs `greet`: change that to `meet`"])
    );
    assert_eq!(renamed["previous_version"], version(ONE));
    assert_eq!(place.text("meet.yaml"), ONE.replace("greet", "meet"));
    assert_eq!(renamed["version"], version(&ONE.replace("greet", "meet")));
    assert_eq!(place.refused("workflow.rename", arguments).code, Code::WorkflowNotFound);
    let taken = json!({"workflow_id": "meet", "new_id": "outer"});
    assert_eq!(place.refused("workflow.rename", taken).code, Code::WorkflowExists);
    for odd in ["../up", "Meet", "a/b", ""] {
        let arguments = json!({"workflow_id": "meet", "new_id": odd});
        assert_eq!(place.refused("workflow.rename", arguments).code, Code::IdInvalid, "{odd}");
    }
}

#[test]
fn a_deletion_needs_a_yes_and_can_be_taken_back() {
    let place = Place::new();
    place.save(ONE);
    let arguments = json!({"workflow_id": "greet"});
    let asked = place.call("workflow.delete", arguments.clone());
    assert_eq!(asked["waiting"][0]["kind"], "approval", "{asked}");
    assert_eq!(place.text("greet.yaml"), ONE);
    let deleted = place.call_as(&Yes, "workflow.delete", arguments.clone()).expect("deleted");
    assert_eq!((&deleted["deleted"], &deleted["version"]), (&json!(true), &json!(version(ONE))));
    let problem = place.refused("workflow.get", arguments.clone());
    assert_eq!(problem.code, Code::WorkflowNotFound);
    let problem = place.call_as(&Yes, "workflow.delete", arguments.clone()).expect_err("gone");
    assert_eq!(problem.code, Code::WorkflowNotFound);
    let versions = place.call("workflow.versions", arguments);
    assert!(versions["deleted_at"].as_str().is_some_and(|at| at.ends_with('Z')), "{versions}");
    let arguments = json!({"workflow_id": "greet", "version": &version(ONE)[..4]});
    let restored = place.call("workflow.restore", arguments);
    assert_eq!((&restored["version"], &restored["valid"]), (&json!(version(ONE)), &json!(true)));
    assert_eq!(place.text("greet.yaml"), ONE);
}

#[test]
fn versions_are_compared() {
    let place = Place::new();
    place.save(ONE);
    let alone = place.refused("workflow.diff", json!({"workflow_id": "greet"}));
    assert_eq!(alone.code, Code::WorkflowVersionNotFound);
    place.save(TWO);
    // An external edit is current before it is stored in the history.
    let three = TWO.replace("# mine", "# ours");
    place.put("run/greet.yaml", &three);
    let diff = |arguments: Value| place.call("workflow.diff", arguments);
    let last = diff(json!({"workflow_id": "greet"}));
    assert_eq!((&last["from"], &last["to"]), (&json!(version(TWO)), &json!(version(&three))));
    assert_eq!((&last["added"], &last["removed"]), (&json!(1), &json!(1)));
    let from = version(ONE);
    let all = diff(json!({"workflow_id": "greet", "from": &from[..8], "to": version(TWO)}));
    let (one, two) = (&from[..12], &version(TWO)[..12]);
    assert_eq!(
        all["diff"],
        format!(
            "--- greet {one}\n+++ greet {two}\n@@ -1,3 +1,3 @@\n workflow: greet  # mine\n steps:\n\
             -  - {{id: hello, prompt: Say hello.}}\n+  - {{id: hello, prompt: Say good day.}}\n"
        )
    );
    for odd in ["", "f", "zzzz", "0123456789abcdef"] {
        let arguments = json!({"workflow_id": "greet", "from": odd});
        let problem = place.refused("workflow.diff", arguments);
        assert_eq!(problem.code, Code::WorkflowVersionNotFound, "{odd}");
    }
    let listed = place.call("workflow.versions", json!({"workflow_id": "greet", "limit": 2}));
    assert_eq!(listed["more"], true);
    let told: Vec<_> = listed["versions"].as_array().expect("a list").iter().collect();
    assert_eq!((&told[0]["operation"], &told[0]["current"]), (&json!("edit"), &json!(true)));
    assert_eq!(
        (&told[1]["operation"], &told[1]["version"]),
        (&json!("save"), &json!(version(TWO)))
    );
}

#[test]
fn a_file_that_is_no_workflow_can_be_read_mended_and_kept() {
    let place = Place::new();
    let slip = "workflow: greet\nsteps:\n  - {id: a, promt: Look}\n";
    place.put("run/greet.yaml", slip);
    let got = place.call("workflow.get", json!({"workflow_id": "greet"}));
    assert_eq!((&got["valid"], &got["content"]), (&json!(false), &json!(slip)));
    assert_eq!(got["violations"][0]["rule"], "unknown-key");
    let arguments = json!({"content": ONE, "expected_version": got["version"]});
    place.call("workflow.save", arguments);
    let arguments = json!({"workflow_id": "greet", "version": version(slip)});
    let restored = place.call("workflow.restore", arguments);
    assert_eq!((&restored["valid"], place.text("greet.yaml").as_str()), (&json!(false), slip));
    assert_eq!(restored["violations"][0]["rule"], "unknown-key");
}

#[test]
fn validation_tells_everything_and_changes_nothing() {
    let place = Place::new();
    let slip = "workflow: slip\nsteps:\n  - {id: a, promt: Look}\n  - {id: b, run: shop a:b}\n";
    let verdict = place.call("workflow.validate", json!({"manifest": slip}));
    assert_eq!((&verdict["valid"], &verdict["workflow_id"]), (&json!(false), &json!("slip")));
    let first = &verdict["violations"][0];
    assert_eq!((&first["rule"], &first["line"]), (&json!("unknown-key"), &json!(3)));
    assert_eq!(first["fix"]["edits"][0]["text"], "prompt");
    assert_eq!(verdict["unchecked"][0]["target"], "shop a:b");
    let verdict = place.call("workflow.validate", json!({"workflow_id": "refund-order"}));
    assert_eq!(verdict["valid"], true, "{verdict}");
    for arguments in [json!({}), json!({"manifest": slip, "workflow_id": "refund-order"})] {
        assert_eq!(place.refused("workflow.validate", arguments).code, Code::ParamsInvalid);
    }
    let missing = place.refused("workflow.validate", json!({"workflow_id": "refund-ordr"}));
    assert_eq!(missing.code, Code::WorkflowNotFound);
    assert!(fs::symlink_metadata(place.path("")).is_err());
}

#[test]
fn a_list_is_narrowed_and_paged() {
    let place = Place::new();
    for number in 0..5 {
        place.save(&format!(
            "workflow: own-{number}\ntags: [t{}]\nsteps:\n  - {{id: a, approve: Go on?}}\n",
            number % 2
        ));
    }
    let ids = |arguments: Value| -> (Vec<String>, Value) {
        let listed = place.call("workflow.list", arguments);
        let items = listed["workflows"].as_array().expect("a list").iter();
        let ids = items.map(|item| item["workflow_id"].as_str().expect("an id").to_owned());
        (ids.collect(), listed["next_cursor"].clone())
    };
    assert_eq!(ids(json!({"tag": "t1"})).0, ["own-1", "own-3"]);
    assert_eq!(ids(json!({"query": "OWN 4"})).0, ["own-4"]);
    let (first, cursor) = ids(json!({"source": "runtime", "limit": 3}));
    assert_eq!(first, ["own-0", "own-1", "own-2"]);
    let (rest, cursor) = ids(json!({"source": "runtime", "limit": 3, "cursor": cursor}));
    assert_eq!((rest, cursor), (vec!["own-3".to_owned(), "own-4".to_owned()], Value::Null));
    let listed = place.call("workflow.list", json!({"query": "refund"}));
    let item = &listed["workflows"][0];
    assert_eq!((&item["source"], &item["read_only"]), (&json!("built-in"), &json!(true)));
    assert_eq!(item["kinds"], json!(["agent", "command", "approval"]));
}

/// Each operation has one name for the text of a workflow, and also accepts the names of the
/// others.
#[test]
fn manifest_content_and_manifest_content_mean_the_same() {
    let place = Place::new();
    let text = "workflow: greet\nsteps: [{id: hello, prompt: Say hello.}]\n";
    for name in ["manifest", "content", "manifest_content"] {
        for operation in [
            "workflow.validate",
            "workflow.preview_inputs",
            "workflow.preview_rendered",
            "workflow.step_plan",
            "workflow.resolve_inputs",
        ] {
            let answer = place.call_as(&SilentCaller, operation, json!({ name: text }));
            assert!(answer.is_ok(), "{operation} {name}: {answer:?}");
        }
        let saved = place.call("workflow.save", json!({ name: text, "overwrite": true }));
        assert_eq!(saved["workflow_id"], "greet", "{name}");
    }
    let twice = json!({"manifest": text, "content": text});
    let problem = place.refused("workflow.validate", twice);
    assert!(problem.message.contains("content is not a parameter"), "{}", problem.message);
}

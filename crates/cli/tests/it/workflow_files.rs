//! `milepost workflow save|rename|delete|versions|diff|restore` with the real binary.

use std::fs;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::catalog::problem;
use crate::{Place, Ran, SLIP, SOUND};

const OLD: &str = "workflow: greet # mine\nsteps:\n  - id: hello\n    prompt: Say hello.\n";
const NEW: &str = "workflow: greet # mine\nsteps:\n  - id: hello\n    prompt: Say good day.\n";

impl Place {
    /// A file in the user's runtime directory.
    fn kept(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join("home/.config/milepost/workflows").join(name)
    }

    fn kept_text(&self, name: &str) -> String {
        fs::read_to_string(self.kept(name)).expect("reads")
    }

    /// Runs a command as typed and compares its output.
    fn types(&self, arguments: &str, expected: &Expect) {
        let ran = self.workflow(arguments);
        let without_times = |text: &str| untimed(&self.tidy(text));
        let (out, err) = (without_times(&ran.out), without_times(&ran.err));
        expected.assert_eq(&format!("{out}--- {}\n{err}", ran.code));
    }
}

/// Removes timestamps.
fn untimed(text: &str) -> String {
    let is_moment = |word: &str| {
        let shape: String =
            word.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
        shape == "9999-99-99T99:99:99Z"
    };
    let words: Vec<&str> = text.split(' ').collect();
    let words = words.iter().map(|word| {
        let (word, end) = word.split_at(word.find('\n').unwrap_or(word.len()));
        let shown = if is_moment(word) { "[TIME]" } else { word };
        format!("{shown}{end}")
    });
    words.collect::<Vec<_>>().join(" ")
}

fn version(text: &str) -> String {
    milepost_model::document::version(text.as_bytes())
}

fn error(ran: &Ran) -> Value {
    problem(ran)
}

#[test]
fn a_concurrent_change_is_not_overwritten() {
    let place = Place::with(&[("old.yaml", OLD), ("new.yaml", NEW)]);
    place.types(
        "save old.yaml",
        &expect![[r"
        saved greet 5fd409d9a3b2: [ROOT]/home/.config/milepost/workflows/greet.yaml
        --- 0
    "]],
    );
    place.types(
        "save new.yaml",
        &expect![[r"
            --- 7
            error[WORKFLOW_EXISTS]: workflow `greet` already exists
            hint: to replace it, give `--overwrite`, or `--expect <VERSION>` if you know the current one
            more: milepost docs WORKFLOW_EXISTS
        "]],
    );
    place.types(&format!("save new.yaml --expect {}", version(OLD)), &expect![[r"
        saved greet 1e1c5498bed2, replacing 5fd409d9a3b2: [ROOT]/home/.config/milepost/workflows/greet.yaml
        --- 0
        undo: milepost workflow restore greet 5fd409d9a3b2
    "]]);
    place.types(
        &format!("save old.yaml --expect {}", version(OLD)),
        &expect![[r"
            --- 7
            error[WORKFLOW_VERSION_CONFLICT]: workflow `greet` is not the expected version: it is 1e1c5498bed2
            hint: read it again, repeat your edit on that text, and pass `--expect <VERSION>`
            more: milepost docs WORKFLOW_VERSION_CONFLICT
        "]],
    );
    place.types(
        "save new.yaml --overwrite",
        &expect![[r"
            greet is already at 1e1c5498bed2: [ROOT]/home/.config/milepost/workflows/greet.yaml
            --- 0
        "]],
    );
    place.types(
        "diff greet",
        &expect![[r"
        --- greet 5fd409d9a3b2
        +++ greet 1e1c5498bed2
        @@ -1,4 +1,4 @@
         workflow: greet # mine
         steps:
           - id: hello
        -    prompt: Say hello.
        +    prompt: Say good day.
        --- 0
        5fd409d9a3b2 to 1e1c5498bed2: 1 line added, 1 removed
    "]],
    );
}

#[test]
fn renamed_and_deleted_workflows_can_be_restored() {
    let place = Place::with(&[("old.yaml", OLD), ("new.yaml", NEW)]);
    place.workflow("save old.yaml").ends(0);
    place.workflow("save new.yaml --overwrite").ends(0);
    place.types(
        "rename greet meet",
        &expect![[r"
        renamed greet to meet 7380f0b14799: [ROOT]/home/.config/milepost/workflows/meet.yaml
        --- 0
    "]],
    );
    assert_eq!(place.kept_text("meet.yaml"), NEW.replace("greet", "meet"));
    place.types("delete meet", &expect![[r"
        --- 7
        error[CONFIRMATION_REQUIRED]: this deletes workflow `meet` (`[ROOT]/home/.config/milepost/workflows/meet.yaml`); its versions are kept and can be restored
        hint: repeat the command with `--yes` if you mean it
        more: milepost docs CONFIRMATION_REQUIRED
    "]]);
    place.types(
        "delete meet --yes",
        &expect![[r"
        deleted meet 7380f0b14799: [ROOT]/home/.config/milepost/workflows/meet.yaml
        --- 0
        undo: milepost workflow restore meet 7380f0b14799
    "]],
    );
    place.types(
        "versions meet",
        &expect![[r"
        VERSION       WHEN                  ACTION  NOTE
        7380f0b14799  [TIME]  rename  was greet
        1e1c5498bed2  [TIME]  save
        5fd409d9a3b2  [TIME]  save
        --- 0
        note: the workflow was deleted at [TIME]
        next: milepost workflow restore meet 7380f0b14799
    "]],
    );
    place.types(
        &format!("restore meet {}", &version(OLD)[..6]),
        &expect![[r"
        restored meet 19c4f88aaf8d: [ROOT]/home/.config/milepost/workflows/meet.yaml
        --- 0
    "]],
    );
    assert_eq!(place.kept_text("meet.yaml"), OLD.replace("greet", "meet"));
    place.types(
        "versions meet --limit 1",
        &expect![[r"
        VERSION       WHEN                  ACTION   NOTE
        19c4f88aaf8d  [TIME]  restore  current
        --- 0
        note: older versions exist; show more with `--limit`
    "]],
    );
}

#[test]
fn impossible_changes_are_reported() {
    let place = Place::with(&[("slip.yaml", SLIP)]);
    place.types(
        "save slip.yaml",
        &expect![[r"
            --- 3
            error[WORKFLOW_INVALID]: the workflow is not valid: line 4: unknown key `promt`
            hint: did you mean `prompt`?
            more: milepost docs WORKFLOW_INVALID
        "]],
    );
    place.types(
        "save none.yaml",
        &expect![[r"
            --- 6
            error[FILE_NOT_FOUND]: there is no file `none.yaml`
            hint: check the path
            more: milepost docs FILE_NOT_FOUND
        "]],
    );
    place.types(
        "rename code-review mine",
        &expect![[r"
        --- 7
        error[WORKFLOW_READ_ONLY]: workflow `code-review` comes from a read-only source (built-in)
        hint: copy it with `milepost workflow new code-review --from code-review`, then save it: your copy takes precedence
        more: milepost docs WORKFLOW_READ_ONLY
    "]],
    );
    place.types(
        "delete nothing --yes",
        &expect![[r"
            --- 6
            error[WORKFLOW_NOT_FOUND]: there is no workflow `nothing`
            hint: see `milepost workflow list`
            more: milepost docs WORKFLOW_NOT_FOUND
        "]],
    );
    place.types(
        "versions nothing",
        &expect![[r"
            --- 6
            error[WORKFLOW_NOT_FOUND]: there is no workflow `nothing`
            hint: see `milepost workflow list`
            more: milepost docs WORKFLOW_NOT_FOUND
        "]],
    );
    place.types(
        "restore code-review abcd",
        &expect![[r"
        --- 7
        error[WORKFLOW_READ_ONLY]: workflow `code-review` comes from a read-only source (built-in)
        hint: copy it with `milepost workflow new code-review --from code-review`, then save it: your copy takes precedence
        more: milepost docs WORKFLOW_READ_ONLY
    "]],
    );
    place.types("rename ../up down", &expect![[r"
        --- 2
        error[ID_INVALID]: `../up` is not a valid workflow id: use lowercase letters, digits, `-` and `_`, at most one `.`, 1 to 64 characters
        hint: use lowercase letters, digits, `-` and `_`, at most one `.`, 1 to 64 characters
        more: milepost docs ID_INVALID
    "]]);
    place.workflow("save slip.yaml --new --overwrite").ends(2);
    place.workflow("save slip.yaml --new --expect x").ends(2);
    assert!(!place.kept("").exists(), "nothing is made for it");
}

#[test]
fn json_output_is_the_response_of_the_operation() {
    let place = Place::with(&[("old.yaml", OLD), ("new.yaml", NEW)]);
    let saved = place.workflow("save --json old.yaml").ends(0).quiet().json();
    let path = place.kept("greet.yaml").display().to_string();
    assert_eq!(
        saved,
        json!({
            "workflow_id": "greet", "path": path, "format": "yaml",
            "version": version(OLD), "warnings": [],
        })
    );
    let conflict = place.workflow(&format!("save --json new.yaml --expect {}", version(NEW)));
    let told = error(&conflict.ends(7));
    assert_eq!(told["error_code"], "WORKFLOW_VERSION_CONFLICT");
    assert_eq!(told["context"]["found"], version(OLD));
    place.workflow("save new.yaml --overwrite").ends(0);
    let diff = place.workflow("diff --json greet").ends(0).quiet().json();
    assert_eq!((&diff["from"], &diff["to"]), (&json!(version(OLD)), &json!(version(NEW))));
    let versions = place.workflow("versions --json greet").ends(0).quiet().json();
    assert_eq!(versions["versions"][0]["version"], version(NEW));
    let listed = place.workflow("list --json").ends(0).quiet().json();
    let item = listed["workflows"].as_array().expect("is a list").iter();
    let item = item.clone().find(|item| item["workflow_id"] == "greet").expect("is there");
    assert_eq!((&item["version"], &item["source"]), (&json!(version(NEW)), &json!("runtime")));
    let deleted = place.workflow("delete --json --yes greet").ends(0).quiet().json();
    assert_eq!((&deleted["deleted"], &deleted["version"]), (&json!(true), &json!(version(NEW))));
    let told = error(&place.workflow("delete --json --yes greet").ends(6));
    assert_eq!(told["error_code"], "WORKFLOW_NOT_FOUND");
}

#[test]
fn standard_input_is_saved_byte_for_byte() {
    let place = Place::new();
    let text = format!("\u{feff}{}", SOUND.replace('\n', "\r\n"));
    place.workflow_of("save -", &text).ends(0).quiet();
    assert_eq!(place.kept_text("sound.yaml"), text);
    place.workflow("validate sound").ends(0).quiet();
}

#[test]
fn a_built_in_workflow_is_overridden() {
    let place = Place::new();
    place.workflow("new code-review --from code-review -o mine.json").ends(0);
    let ran = place.workflow("save mine.json").ends(0);
    assert!(ran.err.contains("the read-only workflow (built-in: code-review.json)"), "{}", ran.err);
    let ran = place.workflow("delete code-review --yes").ends(0);
    assert!(ran.err.contains("is used again (built-in: code-review.json)"), "{}", ran.err);
    place.workflow("show code-review").ends(0).quiet();
}

#[test]
fn a_diff_cannot_control_the_terminal() {
    let place = Place::with(&[("old.yaml", OLD)]);
    place.workflow("save old.yaml").ends(0);
    let odd = format!("{OLD}# \u{202e}txet\r\n");
    place.workflow_of("save - --overwrite", &odd).ends(0);
    let ran = place.workflow("diff greet").ends(0);
    assert!(ran.out.contains("+# \\u{202e}txet"), "{}", ran.out);
}

/// Fixing a workflow named by its id is a change like any other: the old text can be restored.
#[test]
fn a_fix_of_a_library_workflow_can_be_undone() {
    let place = Place::new();
    fs::create_dir_all(place.kept("")).expect("makes the folder");
    fs::write(place.kept("slip.yaml"), SLIP).expect("writes");
    let ran = place.run(["workflow", "list", "--json"]).ends(0);
    let listed = ran.json();
    let invalid = listed["invalid"].as_array().expect("a list").first().expect("one").clone();
    assert_eq!(invalid["violations"][0]["rule"], "unknown-key", "{invalid}");
    assert_eq!(invalid["violations"][0]["line"], 4, "{invalid}");
    place.workflow("validate --fix slip").ends(0);
    assert_eq!(place.kept_text("slip.yaml"), SLIP.replace("promt", "prompt"));
    let versions = place.workflow("versions slip --json").ends(0).json();
    let versions: Vec<&str> = versions["versions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["version"].as_str())
        .collect();
    let (before, after) = (version(SLIP), version(&SLIP.replace("promt", "prompt")));
    assert_eq!(versions, [after.as_str(), before.as_str()]);
}

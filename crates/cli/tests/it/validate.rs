//! `milepost workflow validate`.

use serde_json::json;

use crate::{Place, SLIP, SOUND};

#[test]
fn exit_codes() {
    let place = Place::with(&[("good.yaml", SOUND), ("slip.yaml", SLIP)]);
    place.workflow("validate good.yaml").ends(0).quiet();
    place.workflow("validate slip.yaml").ends(3).quiet();
    place.workflow("validate nowhere.yaml").ends(6);
    place.workflow("validate nowhere").ends(6);
    place.workflow("validate").ends(2);
    place.workflow("validate --bogus good.yaml").ends(2);
    place.workflow("validate .").ends(8);
    place.workflow("validate good.yaml slip.yaml nowhere.yaml").ends(6);
    place.workflow("validate good.yaml slip.yaml").ends(3);
}

#[test]
fn only_results_go_to_standard_output() {
    let place = Place::with(&[("good.yaml", SOUND)]);
    let ran = place.workflow("validate good.yaml nowhere.yaml").ends(6);
    assert_eq!(
        ran.out,
        "good.yaml: valid manifest `sound` with 1 step\n1 document: 1 valid, 0 invalid\n"
    );
    assert_eq!(
        ran.err,
        "error[FILE_NOT_FOUND]: there is no file `nowhere.yaml`\nhint: check the path\n\
         more: milepost docs FILE_NOT_FOUND\n"
    );
}

#[test]
fn json_has_the_documented_shape() {
    let place = Place::with(&[("slip.yaml", SLIP)]);
    let ran = place.workflow("validate --json slip.yaml").ends(3).quiet();
    assert_eq!(
        ran.json(),
        json!({"files": [{
            "path": "slip.yaml",
            "kind": "manifest",
            "id": "slip",
            "valid": false,
            "violations": [{
                "severity": "error",
                "path": "/steps/0/promt",
                "rule": "unknown-key",
                "message": "unknown key `promt`",
                "expected": "`prompt`",
                "line": 4,
                "column": 5,
                "suggestion": "did you mean `prompt`?",
                "fix": {
                    "patch": [{"op": "move", "from": "/steps/0/promt", "path": "/steps/0/prompt"}],
                    "edits": [{"start": 57, "end": 62, "text": "prompt"}],
                },
            }],
            "unchecked": [],
        }]})
    );
    assert_eq!(ran.out.lines().count(), 1);
}

#[test]
fn json_of_an_unreadable_document_has_the_same_shape() {
    let place = Place::with(&[("a.yaml", "- 1\n"), ("b.json", "")]);
    let ran = place.workflow("validate --json a.yaml b.json").ends(3).quiet();
    for file in ran.json()["files"].as_array().expect("is a list") {
        assert_eq!(
            (&file["kind"], &file["id"], &file["valid"]),
            (&json!(null), &json!(null), &json!(false))
        );
        assert_eq!(file["violations"].as_array().map(Vec::len), Some(1));
    }
}

#[test]
fn a_missing_file_among_others_is_reported_in_json() {
    let place = Place::with(&[("good.yaml", SOUND)]);
    let ran = place.workflow("validate --json nowhere.yaml good.yaml").ends(6);
    let files = ran.json()["files"].as_array().cloned().expect("is a list");
    assert_eq!((files.len(), &files[0]["valid"]), (2, &json!(false)));
    assert_eq!(files[0]["problem"]["error_code"], "FILE_NOT_FOUND");
    let problem: serde_json::Value = serde_json::from_str(&ran.err).expect("is JSON");
    assert_eq!(problem["error"]["error_code"], "FILE_NOT_FOUND");
}

#[test]
fn standard_input_is_a_document() {
    let place = Place::new();
    let ran = place.workflow_of("validate -", SOUND).ends(0).quiet();
    assert_eq!(ran.out, "<stdin>: valid manifest `sound` with 1 step\n");
    place.workflow_of("validate -", SLIP).ends(3).quiet();
    place.workflow_of("validate -", "").ends(3).quiet();
    let ran = place.workflow_of("validate --json -", SLIP).ends(3).quiet();
    assert_eq!(ran.json()["files"][0]["path"], "<stdin>");
}

#[test]
fn ids_and_paths_are_told_apart() {
    let place = Place::with(&[("lib/x.yaml", SOUND), ("sound/keep", "")]);
    let mut command = place.command();
    command.env("WORKFLOW_STORAGE_PATH", "lib").args(["workflow", "validate", "refund-order"]);
    let ran = crate::finish(&mut command, "").ends(0);
    assert!(ran.out.starts_with("refund-order.yaml: "), "{}", ran.out);
    // A folder of that name takes precedence over the id: the user named an existing path.
    let mut command = place.command();
    command.env("WORKFLOW_STORAGE_PATH", "lib").args(["workflow", "validate", "sound"]);
    crate::finish(&mut command, "").ends(8);
    let ran = place.workflow("validate refund-ordre").ends(6);
    assert!(ran.err.contains("did you mean `refund-order`?"), "{}", ran.err);
    place.workflow("validate Not/an/id").ends(6);
}

#[test]
fn an_invalid_workflow_of_the_library_is_found_by_its_id() {
    let place = Place::with(&[("lib/x.yaml", SLIP)]);
    let mut command = place.command();
    command.env("WORKFLOW_STORAGE_PATH", "lib").args(["workflow", "validate", "slip"]);
    let ran = crate::finish(&mut command, "").ends(3);
    assert!(ran.out.contains("unknown key `promt`"), "{}", ran.out);
}

#[test]
fn a_file_of_the_library_without_an_id_is_found_by_its_name() {
    let place = Place::with(&[("lib/cut-off.json", "{\"workflow\": \"x\"")]);
    let mut command = place.command();
    command.env("WORKFLOW_STORAGE_PATH", "lib").args(["workflow", "validate", "cut-off"]);
    let ran = crate::finish(&mut command, "").ends(3);
    assert!(ran.out.contains("unexpected end of JSON input"), "{}", ran.out);
}

#[test]
fn a_fix_rewrites_the_file_and_keeps_its_comments() {
    let place = Place::with(&[("slip.yaml", SLIP)]);
    let ran = place.workflow("validate --fix slip.yaml").ends(0).quiet();
    assert_eq!(ran.out, "slip.yaml: valid manifest `slip` with 1 step, 1 error fixed\n");
    assert_eq!(place.text("slip.yaml"), SLIP.replace("promt", "prompt"));
    let left: Vec<_> = std::fs::read_dir(place.path("")).expect("reads").collect();
    assert_eq!(left.len(), 1, "{left:?}");
}

#[test]
fn a_file_without_mistakes_is_left_alone() {
    let place = Place::with(&[("good.yaml", SOUND)]);
    let before = std::fs::metadata(place.path("good.yaml")).expect("is there").modified().ok();
    place.workflow("validate --fix good.yaml").ends(0).quiet();
    let after = std::fs::metadata(place.path("good.yaml")).expect("is there").modified().ok();
    assert_eq!((before, place.text("good.yaml").as_str()), (after, SOUND));
}

#[test]
fn a_byte_order_mark_and_line_endings_survive_a_fix() {
    let text = format!("\u{feff}{}", SLIP.replace('\n', "\r\n"));
    let place = Place::with(&[("slip.yaml", &text)]);
    place.workflow("validate --fix slip.yaml").ends(0);
    assert_eq!(place.text("slip.yaml"), text.replace("promt", "prompt"));
}

#[test]
fn fixing_standard_input_prints_the_fixed_text() {
    let place = Place::new();
    let ran = place.workflow_of("validate --fix -", SLIP).ends(0);
    assert_eq!(ran.out, SLIP.replace("promt", "prompt"));
    assert_eq!(ran.err, "<stdin>: valid manifest `slip` with 1 step, 1 error fixed\n");
    // A document that needs no fix passes through unchanged.
    let ran = place.workflow_of("validate --fix -", SOUND).ends(0);
    assert_eq!(ran.out, SOUND);
}

#[test]
fn json_output_is_nothing_but_json() {
    let place = Place::with(&[("slip.yaml", SLIP)]);
    let ran = place.workflow("validate --fix --json slip.yaml").ends(0).quiet();
    assert_eq!(ran.json()["files"][0]["valid"], true);
    let ran = place.workflow_of("validate --fix --json -", SLIP).ends(0);
    let file = &ran.json()["files"][0];
    assert_eq!(file["valid"], true);
    assert_eq!(file["fixed"], SLIP.replace("promt", "prompt"));
}

#[test]
fn built_in_workflows_are_not_written() {
    let place = Place::new();
    place.workflow("validate --fix refund-order").ends(0);
}

#[cfg(unix)]
#[test]
fn a_file_name_that_is_not_utf_8_works() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let place = Place::new();
    let name = OsStr::from_bytes(b"odd\xff.yaml");
    std::fs::write(place.path("").join(name), SOUND).expect("writes");
    let verb = ["workflow", "validate"].map(OsStr::new);
    let ran = place.run(verb.into_iter().chain([name])).ends(0).quiet();
    assert!(ran.out.ends_with(".yaml: valid manifest `sound` with 1 step\n"), "{}", ran.out);
    let json = ["workflow", "validate", "--json"].map(OsStr::new);
    place.run(json.into_iter().chain([name])).ends(0).json();
}

#[cfg(unix)]
#[test]
fn a_named_pipe_is_refused_at_once() {
    let place = Place::new();
    let made = std::process::Command::new("mkfifo").arg(place.path("p.yaml")).status();
    assert!(made.expect("runs mkfifo").success());
    let ran = place.workflow("validate p.yaml").ends(8);
    assert!(ran.err.starts_with("error[FILE_REFUSED]"), "{}", ran.err);
}

#[test]
fn a_closed_pipe_does_not_change_the_exit_code() {
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;

    let keys: Vec<String> = (0..900).map(|number| format!("key{number}: 1\n")).collect();
    let place = Place::with(&[("bad.yaml", &format!("{SOUND}{}", keys.concat()))]);
    let mut command = place.command();
    command.args(["workflow", "validate", "bad.yaml"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("is piped"));
    out.read_line(&mut line).expect("reads");
    drop(out);
    let output = child.wait_with_output().expect("ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn the_size_limit_applies_to_streams() {
    let place = Place::with(&[("large.yaml", &"#".repeat(3 * 1024 * 1024))]);
    let file = place.workflow("validate large.yaml").ends(3).out;
    assert!(file.contains("the document is 3145728 bytes long"), "{file}");
    let large = std::fs::File::open(place.path("large.yaml")).expect("opens");
    let mut command = place.command();
    let output = command.args(["workflow", "validate", "-"]).stdin(large).output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("the document is more than 1048576 bytes long"), "{text}");
}

#[test]
fn a_fix_that_changes_nothing_is_not_written() {
    let text = "workflow: w\nsteps:\n  - id: h\n   prompt: x\n";
    let place = Place::with(&[("odd.yaml", text)]);
    let ran = place.workflow("validate --fix odd.yaml").ends(3);
    assert!(!ran.out.contains("fixed"), "{}", ran.out);
    assert_eq!(place.text("odd.yaml"), text);
}

//! Which file a workflow is saved to, and what is never overwritten.

use milepost_store::FileError;

use super::*;
use crate::{names, put};

#[test]
fn a_workflow_stays_in_its_file() {
    let place = Place::new();
    put(&place.path("team/odd name.yml"), &manifest("a", "One"));
    let saved = place.save(&manifest("a", "Two"), ExpectedVersion::Any).expect("writes");
    assert_eq!(saved.path, place.path("team/odd name.yml"));
    assert_eq!(names(&place.path("")), ["team"]);
    let renamed = place.rename("a", "b").expect("renames");
    assert_eq!(renamed.path, place.path("team/b.yml"));
    assert_eq!(names(&place.path("team")), ["b.yml"]);
    assert_eq!(place.text("team/b.yml"), manifest("b", "Two"));
}

#[test]
fn another_format_takes_the_place_of_the_old_one() {
    let place = Place::new();
    let json = r#"{"workflow": "a", "steps": [{"id": "x", "prompt": "Look"}]}"#;
    let draft = WorkflowDraft { bytes: json.as_bytes(), format: Format::Json, id: None };
    place.workflows.save(&id("a"), draft, at(1, ExpectedVersion::Absent)).expect("writes");
    assert_eq!(names(&place.path("")), ["a.json"]);
    let yaml = manifest("a", "One");
    let saved = place.save(&yaml, version(json)).expect("writes");
    assert_eq!(saved.previous, Some(Digest::of(json.as_bytes())));
    assert_eq!(names(&place.path("")), ["a.yaml"]);
    let change = at(2, ExpectedVersion::Any);
    place.workflows.restore(&id("a"), Digest::of(json.as_bytes()), change).expect("restores");
    assert_eq!(names(&place.path("")), ["a.json"]);
    assert_eq!(place.text("a.json"), json);
}

#[test]
fn a_change_of_format_that_was_cut_short_is_brought_to_its_end() {
    let place = Place::new();
    let [one, two] = ["One", "Two"].map(|title| manifest("a", title));
    place.save(&one, ExpectedVersion::Any).expect("writes");
    place.save(&two, ExpectedVersion::Any).expect("writes");
    // The state after a crash: both files exist, and both sources are kept.
    fs::rename(place.path("a.yaml"), place.path("a.yml")).expect("renames");
    fs::write(place.path("a.yaml"), &one).expect("writes");
    place.save(&manifest("a", "Three"), version(&one)).expect("the first one counts");
    assert_eq!(names(&place.path("")), ["a.yaml"]);
    // A second file created by the user belongs to them.
    put(&place.path("a.yml"), &manifest("a", "Mine"));
    place.save(&manifest("a", "Four"), ExpectedVersion::Any).expect("writes");
    assert_eq!(names(&place.path("")), ["a.yaml", "a.yml"]);
}

#[test]
fn of_several_files_the_one_that_counts_is_changed() {
    let place = Place::new();
    put(&place.path("a-broken.yaml"), "workflow: a\nsteps: 7\n");
    put(&place.path("b-sound.yaml"), &manifest("a", "Sound"));
    let saved = place.save(&manifest("a", "New"), version(&manifest("a", "Sound")));
    assert_eq!(saved.expect("writes").path, place.path("b-sound.yaml"));
    assert_eq!(names(&place.path("")), ["a-broken.yaml", "b-sound.yaml"]);
}

#[test]
fn a_file_of_the_name_that_is_something_else_stays() {
    let place = Place::new();
    put(&place.path("a.yaml"), &manifest("other", "Other"));
    put(&place.path("c.yaml"), &manifest("c", "C"));
    fs::create_dir(place.path("b.yaml")).expect("makes a folder");
    for (name, file) in [("a", "a.yaml"), ("b", "b.yaml")] {
        let error = place.save(&manifest(name, "New"), ExpectedVersion::Any).expect_err("is taken");
        let WorkflowError::Taken { path, .. } = error else { panic!("{error:?}") };
        assert_eq!(path, place.path(file));
        let error = place.rename("c", name).expect_err("is taken");
        assert!(matches!(error, WorkflowError::Taken { .. }), "{error:?}");
    }
    let error = place.rename("c", "other").expect_err("is there");
    assert!(matches!(error, WorkflowError::Exists { .. }), "{error:?}");
    assert_eq!(place.text("a.yaml"), manifest("other", "Other"));
    assert_eq!(place.text("c.yaml"), manifest("c", "C"));
}

#[test]
fn a_rename_changes_the_id_and_no_other_byte() {
    let place = Place::new();
    for (before, after) in [
        ("workflow: a # a\r\nsteps: [{id: a, prompt: a}]\r\n", "workflow: b # a\r\n"),
        ("# a\nworkflow:   'a'\nsteps: [{id: a, prompt: a}]\n", "# a\nworkflow:   'b'\n"),
        ("workflow: \"a\"\nsteps: [{id: a, prompt: a}]\n", "workflow: \"b\"\n"),
        ("\u{feff}workflow: a\nsteps: [{id: a, prompt: a}]\n", "\u{feff}workflow: b\n"),
        ("{workflow: a, steps: [{id: a, prompt: a}]}\n", "{workflow: b, steps:"),
    ] {
        put(&place.path("a.yaml"), before);
        place.rename("a", "b").expect("renames");
        let text = place.text("b.yaml");
        assert!(text.starts_with(after), "{text:?}");
        assert_eq!(text.replacen('b', "a", 1), before);
        fs::remove_file(place.path("b.yaml")).expect("removes");
    }
}

#[test]
fn an_id_that_reads_as_a_number_gets_quotes() {
    let place = Place::new();
    for to in ["123", "1e5", "0x1", "true", "null", "a.b"] {
        place.save(&manifest("a", "One"), ExpectedVersion::Any).expect("writes");
        let renamed = place.rename("a", to).expect("renames");
        assert_eq!(renamed.path, place.path(&format!("{to}.yaml")));
        place.workflows.delete(&id(to), at(1, ExpectedVersion::Any)).expect("is found by it");
    }
}

#[test]
fn what_would_not_be_valid_is_not_renamed() {
    let place = Place::new();
    let guide = r#"{"id": "abc", "name": "A", "description": "d", "version": "1.0.0",
        "steps": [{"id": "x", "title": "X", "prompt": "p"}]}"#;
    put(&place.path("abc.json"), guide);
    let error = place.rename("abc", "ab").expect_err("a guide has at least three letters");
    let WorkflowError::Unfit { violations, .. } = error else { panic!("{error:?}") };
    assert!(!violations.is_empty());
    put(
        &place.path("odd.yaml"),
        "workflow: &name odd\ntitle: *name\nsteps: [{id: a, prompt: p}]\n",
    );
    let error = place.rename("odd", "even").expect_err("the id is read elsewhere");
    assert!(matches!(error, WorkflowError::NoHold { .. }), "{error:?}");
    assert_eq!(names(&place.path("")), ["abc.json", "odd.yaml"]);
}

#[test]
fn a_directory_that_is_none_is_told() {
    let place = Place::new();
    let run = place.root.path().join("run");
    fs::write(&run, "a file").expect("writes");
    let error =
        place.save(&manifest("a", "One"), ExpectedVersion::Any).expect_err("is no directory");
    assert!(matches!(error, WorkflowError::File(_)), "{error:?}");
    assert_eq!(fs::read_to_string(run).expect("reads"), "a file");
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_link_out_of_the_directory_is_neither_read_nor_written_through() {
        let place = Place::new();
        let outside = place.root.path().join("outside.yaml");
        put(&outside, &manifest("a", "Outside"));
        fs::create_dir(place.path("")).expect("makes a folder");
        symlink(&outside, place.path("a.yaml")).expect("links");
        for error in [
            place.save(&manifest("a", "New"), ExpectedVersion::Any).expect_err("refuses"),
            place.rename("a", "b").expect_err("refuses"),
            place.workflows.delete(&id("a"), at(1, ExpectedVersion::Any)).expect_err("refuses"),
        ] {
            assert!(matches!(error, WorkflowError::File(FileError::Outside { .. })), "{error:?}");
        }
        assert_eq!(fs::read_to_string(&outside).expect("reads"), manifest("a", "Outside"));
        assert!(fs::symlink_metadata(place.path("a.yaml")).expect("is there").is_symlink());
    }

    #[test]
    fn a_link_within_the_directory_is_written_through() {
        let place = Place::new();
        put(&place.path("real/a.yaml"), &manifest("a", "One"));
        symlink("real/a.yaml", place.path("a.yaml")).expect("links");
        place.save(&manifest("a", "Two"), ExpectedVersion::Any).expect("writes");
        assert!(fs::symlink_metadata(place.path("a.yaml")).expect("is there").is_symlink());
        assert_eq!(place.text("real/a.yaml"), manifest("a", "Two"));
    }

    #[test]
    fn a_directory_that_may_not_be_written_to_stays_as_it_is() {
        let place = Place::new();
        place.save(&manifest("a", "One"), ExpectedVersion::Any).expect("writes");
        let set = |mode| fs::set_permissions(place.path(""), fs::Permissions::from_mode(mode));
        set(0o555).expect("locks");
        // Permissions do not restrict root.
        let is_locked = fs::write(place.path("probe"), "").is_err();
        let outcome = place.save(&manifest("a", "Two"), ExpectedVersion::Any);
        set(0o755).expect("unlocks");
        if is_locked {
            let error = outcome.expect_err("cannot be written");
            assert!(matches!(error, WorkflowError::File(FileError::Io { .. })), "{error:?}");
            assert_eq!(place.text("a.yaml"), manifest("a", "One"));
        }
        assert!(place.texts("a").contains(&manifest("a", "One")));
    }
}

//! Changing workflows: version checks, history, and recovery after a crash.

mod crash;
mod faults;
mod files;
mod history;
mod race;

use std::fs;
use std::path::{Path, PathBuf};

use milepost_model::id::WorkflowId;
use milepost_store::workflows::{
    ExpectedVersion, SavedWorkflow, StoredVersion, WorkflowChange, WorkflowDraft, WorkflowError,
    WorkflowHistory, WorkflowStore,
};
use milepost_store::{Digest, Locations, SourceKind};
use milepost_syntax::source::Format;

use crate::{locations, manifest};

fn id(text: &str) -> WorkflowId {
    WorkflowId::parse(text).expect("is an id")
}

/// Locations below one directory; workflows are written to `run`.
fn places(root: &Path) -> Locations {
    Locations { directories: vec![(SourceKind::Runtime, root.join("run"))], ..locations(root) }
}

/// Workflows in a temporary directory.
struct Place {
    root: tempfile::TempDir,
    workflows: WorkflowStore,
}

impl Place {
    fn new() -> Place {
        Place::at(tempfile::tempdir().expect("makes a directory"))
    }

    fn at(root: tempfile::TempDir) -> Place {
        let workflows = WorkflowStore::open(&places(root.path()));
        Place { root, workflows }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join("run").join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("reads")
    }

    fn history(&self) -> WorkflowHistory {
        WorkflowHistory::open(&places(self.root.path()))
    }

    fn save(&self, text: &str, expected: ExpectedVersion) -> Result<SavedWorkflow, WorkflowError> {
        let name = text.trim_start_matches('\u{feff}').split_whitespace().nth(1);
        let draft = WorkflowDraft { bytes: text.as_bytes(), format: Format::Yaml, id: None };
        self.workflows.save(&id(name.expect("has an id")), draft, at(1, expected))
    }

    fn rename(&self, from: &str, to: &str) -> Result<SavedWorkflow, WorkflowError> {
        self.workflows.rename(&id(from), &id(to), at(2, ExpectedVersion::Any))
    }

    /// The versions of a workflow, newest first.
    fn versions(&self, name: &str, current: Option<&str>) -> Vec<StoredVersion> {
        let current = current.map(|text| (Digest::of(text.as_bytes()), Format::Yaml));
        self.history().versions(&id(name), current).expect("reads").items
    }

    /// Every known source of a workflow, newest first.
    fn texts(&self, name: &str) -> Vec<String> {
        let history = self.history();
        let versions = self.versions(name, None);
        let text =
            |one: &StoredVersion| history.text(&id(name), one.version).expect("is kept").bytes;
        versions.iter().map(|one| String::from_utf8(text(one)).expect("is text")).collect()
    }
}

fn at(at_ms: u64, expected: ExpectedVersion) -> WorkflowChange {
    WorkflowChange { expected, at_ms }
}

fn version(text: &str) -> ExpectedVersion {
    ExpectedVersion::Version(Digest::of(text.as_bytes()))
}

#[test]
fn a_new_workflow_is_written_byte_by_byte() {
    let place = Place::new();
    let text = "workflow: a  # mine\r\nsteps:   [{id: x, prompt: Look}]\r\n\r\n# end";
    let saved = place.save(text, ExpectedVersion::Absent).expect("writes");
    assert_eq!(saved.path, place.path("a.yaml"));
    assert_eq!((saved.version, saved.previous), (Digest::of(text.as_bytes()), None));
    assert_eq!(place.text("a.yaml"), text);
    let marked = format!("\u{feff}{text}\n");
    let saved = place.save(&marked, ExpectedVersion::Any).expect("writes");
    assert_eq!(saved.previous, Some(Digest::of(text.as_bytes())));
    assert_eq!(place.text("a.yaml"), marked);
    assert_eq!(place.texts("a"), [marked.as_str(), text]);
}

#[test]
fn what_is_expected_decides() {
    let place = Place::new();
    let (one, two) = (manifest("a", "One"), manifest("a", "Two"));
    let error = place.save(&one, version(&two)).expect_err("nothing is there");
    assert!(matches!(error, WorkflowError::Conflict { found: None, .. }), "{error:?}");
    place.save(&one, ExpectedVersion::Absent).expect("writes");
    let error = place.save(&two, ExpectedVersion::Absent).expect_err("is there");
    let WorkflowError::Exists { version: found, path, .. } = error else { panic!("{error:?}") };
    assert_eq!((found, path), (Digest::of(one.as_bytes()), place.path("a.yaml")));
    let error = place.save(&two, version(&two)).expect_err("is another");
    let WorkflowError::Conflict { expected, found, .. } = error else { panic!("{error:?}") };
    assert_eq!(expected, Digest::of(two.as_bytes()));
    assert_eq!(found, Some(Digest::of(one.as_bytes())));
    place.save(&two, version(&one)).expect("is what was expected");
    place.save(&one, ExpectedVersion::Any).expect("is whatever it is");
    assert_eq!(place.text("a.yaml"), one);
}

#[test]
fn what_an_editor_wrote_is_seen_and_kept() {
    let place = Place::new();
    let [one, two, three] = ["One", "Two", "Three"].map(|title| manifest("a", title));
    place.save(&one, ExpectedVersion::Absent).expect("writes");
    fs::write(place.path("a.yaml"), &two).expect("an editor writes");
    let error = place.save(&three, version(&one)).expect_err("was edited");
    let WorkflowError::Conflict { found, .. } = error else { panic!("{error:?}") };
    assert_eq!(found, Some(Digest::of(two.as_bytes())));
    for (from, to) in [("a", "b"), ("a", "a")] {
        let change = at(1, version(&one));
        let error = place.workflows.rename(&id(from), &id(to), change).expect_err("was edited");
        assert!(matches!(error, WorkflowError::Conflict { .. }), "{error:?}");
    }
    let error = place.workflows.delete(&id("a"), at(1, version(&one))).expect_err("was edited");
    assert!(matches!(error, WorkflowError::Conflict { .. }), "{error:?}");
    assert_eq!(place.text("a.yaml"), two);
    place.save(&three, version(&two)).expect("writes");
    assert_eq!(place.texts("a"), [three.as_str(), &two, &one]);
    fs::remove_file(place.path("a.yaml")).expect("somebody removes it");
    let error = place.save(&one, version(&three)).expect_err("is gone");
    assert!(matches!(error, WorkflowError::Conflict { found: None, .. }), "{error:?}");
}

#[test]
fn the_same_text_again_changes_nothing() {
    let place = Place::new();
    let text = manifest("a", "One");
    place.save(&text, ExpectedVersion::Absent).expect("writes");
    let before = fs::metadata(place.path("a.yaml")).expect("is there").modified().expect("known");
    let saved = place.save(&text, ExpectedVersion::Any).expect("is as it was");
    assert_eq!(saved.previous, Some(saved.version));
    let after = fs::metadata(place.path("a.yaml")).expect("is there").modified().expect("known");
    assert_eq!(before, after);
    assert_eq!(place.texts("a"), [text]);
}

#[test]
fn a_text_of_another_id_is_refused() {
    let place = Place::new();
    let text = manifest("other", "Other");
    let draft = WorkflowDraft { bytes: text.as_bytes(), format: Format::Yaml, id: Some("other") };
    let error =
        place.workflows.save(&id("a"), draft, at(1, ExpectedVersion::Any)).expect_err("refuses");
    assert!(
        matches!(&error, WorkflowError::OtherId { found, .. } if found == "other"),
        "{error:?}"
    );
    assert!(fs::symlink_metadata(place.path("")).is_err(), "nothing is made for it");
}

#[test]
fn a_deleted_workflow_is_gone_and_can_be_restored() {
    let place = Place::new();
    let text = manifest("a", "One");
    for error in [
        place.workflows.delete(&id("a"), at(1, ExpectedVersion::Any)).expect_err("is not there"),
        place.rename("a", "b").expect_err("is not there"),
    ] {
        assert!(matches!(error, WorkflowError::NotFound { .. }), "{error:?}");
    }
    place.save(&text, ExpectedVersion::Absent).expect("writes");
    let deleted = place.workflows.delete(&id("a"), at(7, version(&text))).expect("deletes");
    assert_eq!(deleted.path, place.path("a.yaml"));
    assert_eq!(crate::names(&place.path("")), [""; 0]);
    let versions = place.history().versions(&id("a"), None).expect("reads");
    assert_eq!(versions.deleted_ms, Some(7));
    let change = at(8, ExpectedVersion::Absent);
    let restored = place.workflows.restore(&id("a"), deleted.version, change).expect("restores");
    assert_eq!((restored.version, restored.previous), (deleted.version, None));
    assert_eq!(place.text("a.yaml"), text);
    let versions = place.history().versions(&id("a"), None).expect("reads");
    assert_eq!(versions.deleted_ms, None);
}

#[test]
fn only_versions_of_the_workflow_are_restored() {
    let place = Place::new();
    place.save(&manifest("a", "One"), ExpectedVersion::Any).expect("writes");
    let other = manifest("b", "Two");
    place.save(&other, ExpectedVersion::Any).expect("writes");
    let foreign = Digest::of(other.as_bytes());
    let error = place.workflows.restore(&id("a"), foreign, at(1, ExpectedVersion::Any));
    let error = error.expect_err("is of another");
    assert!(matches!(error, WorkflowError::NoVersion { .. }), "{error:?}");
}

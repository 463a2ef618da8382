//! Earlier versions of a workflow, and how to find them.

use milepost_store::workflows::ChangeKind;

use super::*;

fn told(versions: &[StoredVersion]) -> Vec<(&str, Option<u64>, bool)> {
    versions.iter().map(|one| (one.operation.name(), one.at_ms, one.current)).collect()
}

#[test]
fn every_change_is_listed_the_newest_first() {
    let place = Place::new();
    let [one, two, three] = ["One", "Two", "Three"].map(|title| manifest("a", title));
    place.save(&one, ExpectedVersion::Any).expect("writes");
    fs::write(place.path("a.yaml"), &two).expect("an editor writes");
    place.save(&three, ExpectedVersion::Any).expect("writes");
    let change = at(5, ExpectedVersion::Any);
    place.workflows.restore(&id("a"), Digest::of(one.as_bytes()), change).expect("restores");
    let expected = [
        ("restore", Some(5), true),
        ("save", Some(1), false),
        ("edit", None, false),
        ("save", Some(1), false),
    ];
    assert_eq!(told(&place.versions("a", Some(&one))), expected);
    fs::write(place.path("a.yaml"), &two).expect("an editor writes");
    let versions = place.versions("a", Some(&two));
    assert_eq!(told(&versions)[..2], [("edit", None, true), ("restore", Some(5), false)]);
}

#[test]
fn a_workflow_that_was_never_written_here_has_what_it_says() {
    let place = Place::new();
    assert_eq!(place.versions("a", None), []);
    let versions = place.versions("a", Some("workflow: a"));
    assert_eq!(told(&versions), [("edit", None, true)]);
}

#[test]
fn a_rename_carries_the_history() {
    let place = Place::new();
    let (one, two) = (manifest("a", "One"), manifest("a", "Two"));
    place.save(&one, ExpectedVersion::Any).expect("writes");
    place.save(&two, ExpectedVersion::Any).expect("writes");
    place.rename("a", "b").expect("renames");
    assert_eq!(place.texts("b"), [manifest("b", "Two"), two.clone(), one.clone()]);
    assert_eq!(place.texts("a"), [""; 0]);
    let versions = place.versions("b", None);
    assert_eq!(versions[0].operation, ChangeKind::Rename);
    assert_eq!(versions[0].renamed_from.as_deref(), Some("a"));
    // A source saved under the old name is restored under the new name.
    let change = at(9, ExpectedVersion::Any);
    let version = Digest::of(one.as_bytes());
    let restored = place.workflows.restore(&id("b"), version, change).expect("restores");
    assert_eq!(place.text("b.yaml"), manifest("b", "One"));
    assert_eq!(restored.version, Digest::of(manifest("b", "One").as_bytes()));
}

#[test]
fn going_back_and_forth_does_not_make_the_history_grow_twofold() {
    let place = Place::new();
    place.save(&manifest("a", "One"), ExpectedVersion::Any).expect("writes");
    for _ in 0..20 {
        place.rename("a", "b").expect("renames");
        place.rename("b", "a").expect("renames back");
    }
    assert_eq!(place.texts("a").len(), 1 + 2 * 20, "each change is there once");
}

#[test]
fn the_history_of_a_name_that_is_taken_again_stays() {
    let place = Place::new();
    let old = manifest("b", "Old");
    place.save(&old, ExpectedVersion::Any).expect("writes");
    place.workflows.delete(&id("b"), at(3, ExpectedVersion::Any)).expect("deletes");
    place.save(&manifest("a", "New"), ExpectedVersion::Any).expect("writes");
    place.rename("a", "b").expect("renames");
    assert!(place.texts("b").contains(&old));
    assert_eq!(place.versions("b", None)[0].operation, ChangeKind::Rename);
}

#[test]
fn directories_have_histories_of_their_own() {
    let place = Place::new();
    place.save(&manifest("a", "One"), ExpectedVersion::Any).expect("writes");
    let mut other = places(place.root.path());
    other.directories = vec![(SourceKind::Runtime, place.root.path().join("elsewhere"))];
    assert_eq!(WorkflowHistory::open(&other).versions(&id("a"), None).expect("reads").items, []);
    // Another path to the same directory is the same directory.
    other.directories = vec![(SourceKind::Runtime, place.root.path().join("work/../run"))];
    assert_eq!(
        WorkflowHistory::open(&other).versions(&id("a"), None).expect("reads").items.len(),
        1
    );
}

/// The only matching file in a folder of the history.
fn kept(place: &Place, folder: &str, name: impl Fn(&str) -> bool) -> PathBuf {
    let history = place.root.path().join("data/history");
    let [key] = crate::names(&history).try_into().expect("one directory");
    let folder = history.join(key).join(folder);
    let found = crate::names(&folder).into_iter().find(|one| name(one)).expect("is there");
    folder.join(found)
}

#[test]
fn a_torn_line_hides_no_other() {
    let place = Place::new();
    let texts = ["One", "Two", "Three"].map(|title| manifest("a", title));
    place.save(&texts[0], ExpectedVersion::Any).expect("writes");
    place.save(&texts[1], ExpectedVersion::Any).expect("writes");
    let log = kept(&place, "", |name| name == "a.log");
    let whole = fs::read(&log).expect("reads");
    fs::write(&log, &whole[..whole.len() - 10]).expect("tears it");
    place.save(&texts[2], ExpectedVersion::Any).expect("writes");
    assert_eq!(place.texts("a"), [texts[2].as_str(), &texts[1], &texts[0]]);
}

#[test]
fn a_damaged_text_is_told() {
    let place = Place::new();
    let text = manifest("a", "One");
    place.save(&text, ExpectedVersion::Any).expect("writes");
    let path = kept(&place, "texts", |_| true);
    let mut bytes = fs::read(&path).expect("reads");
    bytes[3] ^= 1;
    fs::write(&path, bytes).expect("damages");
    let version = Digest::of(text.as_bytes());
    let error = place.history().text(&id("a"), version).expect_err("is damaged");
    assert!(matches!(&error, WorkflowError::Damaged { path: at } if *at == path), "{error:?}");
    fs::remove_file(&path).expect("removes");
    let error = place.history().text(&id("a"), version).expect_err("is gone");
    assert!(matches!(error, WorkflowError::NoVersion { .. }), "{error:?}");
}

#[cfg(unix)]
#[test]
fn what_is_kept_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    place.save(&manifest("a", "One"), ExpectedVersion::Any).expect("writes");
    let (log, text) = (kept(&place, "", |name| name == "a.log"), kept(&place, "texts", |_| true));
    for file in [&log, &text] {
        let mode = fs::metadata(file).expect("is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
    let folder = log.parent().expect("has a folder");
    assert_eq!(fs::metadata(folder).expect("is there").permissions().mode() & 0o777, 0o700);
}

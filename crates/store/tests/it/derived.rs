//! Derived data: present as a whole or not at all, and never an obstacle.

use std::fs;
use std::path::PathBuf;

use milepost_store::catalogs::{CatalogRecord, DerivedCache, DerivedKey, ProfileName};
use milepost_store::{Digest, FileError, limits};

use crate::catalogs::{id, record};
use crate::{locations, names, put};

fn key(name: &str, document: &str) -> DerivedKey {
    DerivedKey::of(&record(name, name), Digest::of(document.as_bytes()), 1)
}

/// A cache of derived data in a new directory, and its path.
fn open() -> (tempfile::TempDir, DerivedCache, PathBuf) {
    let root = tempfile::tempdir().expect("makes a directory");
    let locations = locations(root.path());
    let path = locations.cache.join("derived");
    (root, DerivedCache::open(&locations), path)
}

#[test]
fn what_was_written_is_read() {
    let (_root, derived, _) = open();
    assert_eq!(derived.read(&key("a", "{}")), None);
    for bytes in [b"".as_slice(), b"x", &vec![7; 100_000]] {
        derived.write(&key("a", "{}"), bytes).expect("writes");
        assert_eq!(derived.read(&key("a", "{}")).as_deref(), Some(bytes));
    }
    assert_eq!(derived.read(&key("a", "[]")), None);
    assert_eq!(derived.read(&key("b", "{}")), None);
}

#[test]
fn the_key_is_what_commands_come_from() {
    let document = Digest::of(b"{}");
    let base = record("a", "A");
    let same = |record: &CatalogRecord| {
        DerivedKey::of(record, document, 1) == DerivedKey::of(&base, document, 1)
    };
    let mut auth = base.clone();
    auth.enabled = false;
    auth.auth.insert(ProfileName::default(), std::collections::BTreeMap::new());
    assert!(same(&auth));
    let mut named = base.clone();
    named.names.insert("GET /a".to_owned(), "a:list".to_owned());
    assert!(!same(&named));
    let mut titled = base.clone();
    titled.title = "B".to_owned();
    assert!(!same(&titled));
    assert_ne!(DerivedKey::of(&base, document, 1), DerivedKey::of(&base, document, 2));
    assert_ne!(DerivedKey::of(&base, document, 1), DerivedKey::of(&base, Digest::of(b""), 1));
}

#[test]
fn older_data_of_the_same_catalog_goes() {
    let (_root, derived, path) = open();
    derived.write(&key("git", "1"), b"old").expect("writes");
    derived.write(&key("git-hub", "1"), b"other").expect("writes");
    put(&path.join("git-notes.bin"), "not ours");
    derived.write(&key("git", "2"), b"new").expect("writes");
    assert_eq!(derived.read(&key("git", "1")), None);
    assert_eq!(derived.read(&key("git", "2")).as_deref(), Some(b"new".as_slice()));
    assert_eq!(derived.read(&key("git-hub", "1")).as_deref(), Some(b"other".as_slice()));
    derived.forget(&id("git")).expect("forgets");
    assert_eq!(derived.read(&key("git", "2")), None);
    assert_eq!(names(&path).len(), 2);
}

#[test]
fn what_is_damaged_is_not_there() {
    let (_root, derived, path) = open();
    let key = key("a", "{}");
    derived.write(&key, b"some bytes").expect("writes");
    let file = path.join(&names(&path)[0]);
    let whole = fs::read(&file).expect("reads");
    for at in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[at] ^= 1;
        fs::write(&file, damaged).expect("writes");
        assert_eq!(derived.read(&key), None, "byte {at}");
        fs::write(&file, &whole[..at]).expect("writes");
        assert_eq!(derived.read(&key), None, "cut at {at}");
    }
    fs::write(&file, [&whole[..], b"x"].concat()).expect("writes");
    assert_eq!(derived.read(&key), None, "longer");
    derived.write(&key, b"some bytes").expect("writes over it");
    assert!(derived.read(&key).is_some());
    fs::remove_dir_all(&path).expect("removes");
    assert_eq!(derived.read(&key), None);
    derived.write(&key, b"some bytes").expect("makes the folder again");
    assert!(derived.read(&key).is_some());
}

#[test]
fn a_file_in_place_of_the_folder_is_in_nobodys_way() {
    let (_root, derived, path) = open();
    put(&path, "a file");
    assert_eq!(derived.read(&key("a", "{}")), None);
    derived.write(&key("a", "{}"), b"x").expect_err("has nowhere to go");
}

#[test]
fn the_size_is_bounded() {
    let (_root, derived, path) = open();
    let bytes = vec![0; limits::DERIVED_BYTES + 1];
    let error = derived.write(&key("a", "{}"), &bytes).expect_err("is too large");
    assert!(matches!(error, FileError::TooLarge { .. }), "{error:?}");
    assert!(!path.try_exists().expect("looks"));
}

#[cfg(unix)]
#[test]
fn a_link_is_replaced_and_not_followed() {
    let (root, derived, path) = open();
    let key = key("a", "{}");
    derived.write(&key, b"x").expect("writes");
    let file = path.join(&names(&path)[0]);
    let outside = root.path().join("outside");
    fs::rename(&file, &outside).expect("moves");
    std::os::unix::fs::symlink(&outside, &file).expect("links");
    assert_eq!(derived.read(&key), None);
    let before = fs::read(&outside).expect("reads");
    derived.write(&key, b"y").expect("writes");
    assert_eq!(derived.read(&key).as_deref(), Some(b"y".as_slice()));
    assert_eq!(fs::read(&outside).expect("reads"), before);
}

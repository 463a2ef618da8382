//! A long-lived library: each call sees all changes made to the files before it.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use milepost_store::limits::DOCUMENTS;
use milepost_store::{Library, LibraryMatch, SourceKind, write_atomic};

use crate::{get, ids, invalid, left_out, listing, manifest, open, put, title, workflow, world};

use SourceKind::{Path as Listed, Runtime, User};

/// A guide in JSON, the format of most files.
fn guide(id: &str, name: &str) -> String {
    let step = r#"{"id": "one", "title": "One", "prompt": "Look"}"#;
    let head = format!(r#""id": "{id}", "name": "{name}", "description": "d""#);
    format!(r#"{{{head}, "version": "1.0.0", "steps": [{step}]}}"#)
}

const BROKEN: &str = "workflow: x\nsteps: [{id: a, promt: x}]\n";

/// A library of one directory in which `x.json` has the title `one` and has already been read.
fn begun(root: &Path) -> Library {
    put(&root.join("x.json"), &guide("xyz", "one"));
    let library = open(&[(Runtime, root)]);
    assert_eq!(title(&library, "xyz"), "one");
    assert_eq!(ids(&listing(&library)), ["xyz"]);
    library
}

/// Checks the title of `xyz` in both calls.
fn check_title(library: &Library, expected: &str) {
    assert_eq!(title(library, "xyz"), expected);
    let listing = listing(library);
    let item = listing.items.iter().find(|item| item.id == "xyz").expect("is listed");
    assert_eq!(item.title, expected);
}

#[test]
fn a_library_is_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Library>();
}

#[test]
fn opening_looks_at_nothing() {
    let root = tempfile::tempdir().expect("makes a directory");
    let library = open(&[(Runtime, &root.path().join("file"))]);
    put(&root.path().join("file"), "no directory");
    assert!(library.get("x", world()).is_err());
}

#[test]
fn an_edit_in_place_is_seen() {
    let root = tempfile::tempdir().expect("makes a directory");
    let library = begun(root.path());
    // Same size and same time: only the bytes differ.
    for name in ["two", "six", "ten", "one", "two"] {
        put(&root.path().join("x.json"), &guide("xyz", name));
        check_title(&library, name);
    }
    put(&root.path().join("x.json"), &guide("xyz", "another size"));
    check_title(&library, "another size");
}

#[test]
fn an_edit_is_seen_though_its_time_is_set_back() {
    let root = tempfile::tempdir().expect("makes a directory");
    let path = root.path().join("x.json");
    let library = begun(root.path());
    let before = fs::metadata(&path).expect("is there").modified().expect("has a time");
    for name in ["two", "six", "ten"] {
        put(&path, &guide("xyz", name));
        let file = File::options().write(true).open(&path).expect("opens");
        file.set_modified(before).expect("sets the time");
        check_title(&library, name);
    }
}

#[test]
fn a_file_renamed_over_another_is_seen() {
    let root = tempfile::tempdir().expect("makes a directory");
    let library = begun(root.path());
    for name in ["two", "six", "ten"] {
        let text = guide("xyz", name);
        write_atomic(&root.path().join("x.json"), text.as_bytes(), true).expect("writes");
        check_title(&library, name);
    }
}

#[test]
fn files_come_and_go() {
    let root = tempfile::tempdir().expect("makes a directory");
    let file = |name: &str| root.path().join(name);
    let library = begun(root.path());
    put(&file("y.json"), &guide("new", "new"));
    assert_eq!(title(&library, "new"), "new");
    assert_eq!(ids(&listing(&library)), ["new", "xyz"]);
    fs::rename(file("y.json"), file("z.json")).expect("renames");
    assert_eq!(workflow(&library, "new").path, file("z.json"));
    fs::remove_file(file("z.json")).expect("removes");
    assert!(get(&library, "new").is_none());
    fs::remove_file(file("x.json")).expect("removes");
    assert_eq!(ids(&listing(&library)), [""; 0]);
    assert!(get(&library, "xyz").is_none());
}

#[test]
fn folders_come_and_go() {
    let root = tempfile::tempdir().expect("makes a directory");
    let file = |name: &str| root.path().join(name);
    let library = begun(root.path());
    put(&file("a/b/y.json"), &guide("deep", "one"));
    assert_eq!(title(&library, "deep"), "one");
    put(&file("a/b/z.json"), &guide("deeper", "one"));
    assert_eq!(ids(&listing(&library)), ["deep", "deeper", "xyz"]);
    fs::rename(file("a"), file("c")).expect("renames");
    assert_eq!(workflow(&library, "deep").path, file("c/b/y.json"));
    fs::remove_dir_all(file("c")).expect("removes");
    assert!(get(&library, "deep").is_none());
    assert_eq!(ids(&listing(&library)), ["xyz"]);
}

#[test]
fn a_source_that_comes_late_is_seen_and_one_that_goes_too() {
    let root = tempfile::tempdir().expect("makes a directory");
    let (user, late) = (root.path().join("user"), root.path().join("not/yet"));
    put(&user.join("x.json"), &guide("xyz", "user"));
    let library = open(&[(User, &user), (Runtime, &late)]);
    check_title(&library, "user");
    assert!(!listing(&library).sources[2].exists);
    put(&late.join("y.json"), &guide("xyz", "late"));
    check_title(&library, "late");
    assert!(listing(&library).sources[2].exists);
    fs::remove_dir_all(&late).expect("removes");
    check_title(&library, "user");
    assert!(!listing(&library).sources[2].exists);
}

#[test]
fn another_directory_in_the_place_of_a_source_is_seen() {
    let root = tempfile::tempdir().expect("makes a directory");
    let (here, other) = (root.path().join("here"), root.path().join("other"));
    put(&other.join("x.json"), &guide("xyz", "other"));
    let library = begun(&here);
    fs::rename(&here, root.path().join("gone")).expect("renames");
    fs::rename(&other, &here).expect("renames");
    check_title(&library, "other");
}

#[test]
fn a_file_with_another_id_is_another_workflow() {
    let root = tempfile::tempdir().expect("makes a directory");
    let library = begun(root.path());
    put(&root.path().join("x.json"), &guide("abc", "one"));
    assert!(get(&library, "xyz").is_none());
    assert_eq!(title(&library, "abc"), "one");
    put(&root.path().join("x.json"), &guide("xyz", "one"));
    // The new id is requested first and is still unknown, so every file is examined.
    assert_eq!(title(&library, "xyz"), "one");
    assert!(get(&library, "abc").is_none());
    assert_eq!(ids(&listing(&library)), ["xyz"]);
}

#[test]
fn a_file_that_breaks_and_is_mended_is_seen() {
    let root = tempfile::tempdir().expect("makes a directory");
    let path = root.path().join("x.yaml");
    put(&path, &manifest("x", "one"));
    let library = open(&[(Runtime, root.path())]);
    for name in ["two", "six"] {
        put(&path, BROKEN);
        assert_eq!(invalid(&library, "x").reason, "line 2: unknown key `promt`");
        assert_eq!(listing(&library).invalid.len(), 1);
        put(&path, "workflow: [");
        assert!(invalid(&library, "x").reason.starts_with("line 1: "));
        put(&path, &manifest("x", name));
        assert_eq!(title(&library, "x"), name);
        assert_eq!(left_out(&listing(&library)), []);
    }
}

#[test]
fn what_did_not_change_is_shared() {
    let root = tempfile::tempdir().expect("makes a directory");
    let library = begun(root.path());
    let (one, two) = (workflow(&library, "xyz"), workflow(&library, "xyz"));
    assert!(Arc::ptr_eq(&one, &two));
    assert!(Arc::ptr_eq(&listing(&library), &listing(&library)));
    // After rewriting the file with the same bytes, the entry is still shared.
    put(&root.path().join("x.json"), &guide("xyz", "one"));
    assert!(Arc::ptr_eq(&one, &workflow(&library, "xyz")));
    put(&root.path().join("y.json"), &guide("other", "other"));
    let before = listing(&library);
    assert_eq!(ids(&before), ["other", "xyz"]);
    fs::remove_file(root.path().join("y.json")).expect("removes");
    assert!(!Arc::ptr_eq(&before, &listing(&library)));
}

#[test]
fn more_documents_than_are_kept_are_all_right() {
    let root = tempfile::tempdir().expect("makes a directory");
    let name = |number: usize| format!("guide-{number}");
    for number in 0..DOCUMENTS + 136 {
        put(&root.path().join(name(number)).with_extension("json"), &guide(&name(number), "n"));
    }
    let library = open(&[(Runtime, root.path())]);
    for _ in 0..2 {
        for number in 0..DOCUMENTS + 136 {
            assert_eq!(workflow(&library, &name(number)).id, name(number));
        }
    }
    // The most recently requested entry is shared, and the oldest was evicted.
    let first = workflow(&library, &name(0));
    assert!(Arc::ptr_eq(&first, &workflow(&library, &name(0))));
    for number in 1..=DOCUMENTS {
        workflow(&library, &name(number));
    }
    assert!(!Arc::ptr_eq(&first, &workflow(&library, &name(0))));
}

#[test]
fn a_hundred_broken_files_among_a_thousand() {
    let root = tempfile::tempdir().expect("makes a directory");
    for number in 0..1_000 {
        let name = format!("guide-{number:03}");
        let text = match number % 10 {
            0 => guide(&name, "n").replace("prompt", "promt"),
            _ => guide(&name, "n"),
        };
        put(&root.path().join(name).with_extension("json"), &text);
    }
    let library = open(&[(Runtime, root.path())]);
    let listing = listing(&library);
    assert_eq!((ids(&listing).len(), listing.invalid.len()), (900, 100));
    assert_eq!(listing.sources[1].count, 900);
    assert!(listing.items.is_sorted_by_key(|item| &item.id));
    assert!(listing.invalid.is_sorted_by_key(|one| &one.path));
    assert!(invalid(&library, "guide-990").document.is_some());
}

#[test]
fn changes_are_seen_in_many_folders() {
    const FOLDERS: usize = 64;
    let root = tempfile::tempdir().expect("makes a directory");
    let file = |number: usize| root.path().join(format!("folder-{number}/x.json"));
    for number in 0..=FOLDERS {
        put(&file(number), &guide(&format!("guide-{number}"), "one"));
    }
    let library = open(&[(Listed, root.path())]);
    assert_eq!(title(&library, "guide-3"), "one");
    let text = guide("guide-3", "two");
    write_atomic(&file(3), text.as_bytes(), true).expect("writes");
    assert_eq!(title(&library, "guide-3"), "two");
    fs::remove_file(file(3)).expect("removes");
    assert!(get(&library, "guide-3").is_none());
    fs::remove_dir_all(root.path().join("folder-4")).expect("removes");
    assert!(get(&library, "guide-4").is_none());
    put(&root.path().join("folder-5/new.json"), &guide("new", "new"));
    assert_eq!(title(&library, "new"), "new");
    assert_eq!(ids(&listing(&library)).len(), FOLDERS);
}

#[test]
fn readers_see_the_old_or_the_new_while_files_are_written() {
    let root = tempfile::tempdir().expect("makes a directory");
    let library = begun(root.path());
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut last = 0;
                while !done.load(Ordering::Relaxed) {
                    let Some(LibraryMatch::Workflow(entry)) = get(&library, "xyz") else {
                        panic!("it is always there");
                    };
                    let workflow = entry.document.workflow.as_ref().expect("is a workflow");
                    let number = workflow.display_title().parse().unwrap_or(0);
                    assert!(number >= last, "{number} after {last}");
                    last = number;
                }
            });
        }
        for number in 1..=25 {
            let text = guide("xyz", &format!("{number}"));
            write_atomic(&root.path().join("x.json"), text.as_bytes(), true).expect("writes");
            put(&root.path().join("y.json"), &guide("other", &format!("{number}")));
            // Each call sees what was written before it, despite concurrent callers.
            assert_eq!(title(&library, "xyz"), format!("{number}"));
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[cfg(unix)]
#[test]
fn a_link_that_is_turned_is_seen() {
    use std::os::unix::fs::symlink;
    let root = tempfile::tempdir().expect("makes a directory");
    let library = root.path().join("library");
    put(&root.path().join("outside.json"), &guide("xyz", "outside"));
    put(&library.join(".versions/1.json"), &guide("xyz", "one"));
    put(&library.join(".versions/2.json"), &guide("xyz", "two"));
    let turn = |to: &str| {
        fs::remove_file(library.join("x.json")).ok();
        symlink(to, library.join("x.json")).expect("links");
    };
    let living = open(&[(Runtime, &library)]);
    turn(".versions/1.json");
    check_title(&living, "one");
    turn(".versions/2.json");
    check_title(&living, "two");
    turn("../outside.json");
    assert!(get(&living, "xyz").is_none());
    assert!(invalid(&living, "x").reason.ends_with("is outside its directory"));
    turn("nowhere.json");
    assert!(invalid(&living, "x").document.is_none());
    // The target of a link may appear without any change to the directory that contains the link.
    put(&library.join("nowhere.json"), &guide("xyz", "here"));
    check_title(&living, "here");
}

//! Editing files that belong to other programs in place.

use std::fs;

use milepost_store::{EditError, EditedFile, FileError};

#[test]
fn a_file_that_somebody_else_wrote_meanwhile_is_left_alone() {
    let root = tempfile::tempdir().expect("makes a directory");
    let path = root.path().join("a/b/config.json");
    let open = || EditedFile::open(&path, None, 100).expect("opens");

    let missing = open();
    assert_eq!(missing.bytes(), None);
    let folders = missing.missing_directories();
    assert_eq!(folders.len(), 2);
    fs::create_dir_all(root.path().join("a/b")).expect("makes folders");
    fs::write(&path, "theirs").expect("writes");
    let refused = missing.replace(b"ours", false);
    assert!(matches!(refused, Err(EditError::Changed { .. })), "{refused:?}");

    let found = open();
    assert_eq!(found.bytes(), Some(&b"theirs"[..]));
    fs::write(&path, "theirs, too").expect("writes");
    for refused in [found.replace(b"ours", false), found.remove(&folders)] {
        assert!(matches!(refused, Err(EditError::Changed { .. })), "{refused:?}");
    }
    assert_eq!(fs::read_to_string(&path).expect("reads"), "theirs, too");

    open().replace(b"ours", false).expect("writes");
    fs::write(root.path().join("a/other"), "").expect("writes");
    open().remove(&folders).expect("removes");
    assert!(!root.path().join("a/b").exists(), "it is empty");
    assert!(root.path().join("a/other").exists(), "it is somebody else's");
    open().replace(&[b'x'; 101], true).expect("writes");
    let large = EditedFile::open(&path, None, 100);
    assert!(matches!(large, Err(EditError::File(FileError::TooLarge { .. }))), "{large:?}");
}

#[test]
fn a_path_stays_within_its_folder() {
    let root = tempfile::tempdir().expect("makes a directory");
    let inside = root.path().join("inside");
    fs::create_dir(&inside).expect("makes a folder");
    EditedFile::open(&inside.join("a/b"), Some(&inside), 100).expect("lies in it");
    let outside = EditedFile::open(&inside.join("../b"), Some(&inside), 100);
    assert!(matches!(outside, Err(EditError::File(FileError::Outside { .. }))), "{outside:?}");
}

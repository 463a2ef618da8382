//! Every limit of the library: one below, at, and one above it.

use std::fs;

use milepost_store::limits::{DEPTH, FILES};
use milepost_store::{FileError, SourceKind, read_document};

use crate::{ids, list, manifest, put};

#[test]
fn folders_are_searched_to_a_depth() {
    let root = tempfile::tempdir().expect("makes a directory");
    let mut folder = root.path().to_owned();
    for depth in 1..=DEPTH + 1 {
        folder.push("d");
        if depth + 1 >= DEPTH {
            put(&folder.join("x.yaml"), &manifest(&format!("at-{depth}"), "x"));
        }
    }
    let library = list(&[(SourceKind::Runtime, root.path())]);
    assert_eq!(ids(&library), [format!("at-{}", DEPTH - 1), format!("at-{DEPTH}")]);
    assert!(library.sources[1].cut);
}

#[test]
fn files_are_counted() {
    let root = tempfile::tempdir().expect("makes a directory");
    for number in 0..FILES - 1 {
        fs::write(root.path().join(format!("{number}.json")), "").expect("writes");
    }
    for (extra, cut) in [(0, false), (1, false), (2, true)] {
        fs::write(root.path().join(format!("x{extra}.json")), "").expect("writes");
        fs::remove_file(root.path().join("x0.json")).ok();
        let library = list(&[(SourceKind::Runtime, root.path())]);
        assert_eq!(library.sources[1].cut, cut, "{extra}");
        assert_eq!(library.invalid.len(), (FILES - 1 + extra).min(FILES));
    }
}

#[test]
fn a_file_is_read_up_to_its_limit() {
    let root = tempfile::tempdir().expect("makes a directory");
    let path = root.path().join("x");
    for (size, fits) in [(0, true), (9, true), (10, true), (11, false)] {
        fs::write(&path, vec![b'x'; size]).expect("writes");
        match read_document(&path, 10) {
            Ok(bytes) => assert!(fits && bytes.len() == size),
            Err(FileError::TooLarge { bytes, .. }) => assert!(!fits && bytes == size as u64),
            Err(other) => unreachable!("{other}"),
        }
    }
}

//! Files are written completely or not at all.

use std::fs;
use std::path::Path;
use std::thread;

use milepost_store::{FileError, write_atomic};

use crate::names;

#[test]
fn writes_new_files_and_replaces_old_ones() {
    let root = tempfile::tempdir().expect("makes a directory");
    let path = root.path().join("a.yaml");
    write_atomic(&path, b"one", false).expect("writes");
    write_atomic(&path, b"two", true).expect("replaces");
    assert_eq!(fs::read(&path).expect("reads"), b"two");
    assert_eq!(names(root.path()), ["a.yaml"]);
}

#[test]
fn leaves_what_is_there_alone_when_told_to() {
    let root = tempfile::tempdir().expect("makes a directory");
    let path = root.path().join("a.yaml");
    fs::write(&path, "one").expect("writes");
    let error = write_atomic(&path, b"two", false).expect_err("refuses");
    assert!(matches!(&error, FileError::Exists { path: at } if *at == path), "{error:?}");
    assert_eq!(fs::read(&path).expect("reads"), b"one");
    assert_eq!(names(root.path()), ["a.yaml"]);
}

#[test]
fn a_failure_leaves_nothing_behind() {
    let root = tempfile::tempdir().expect("makes a directory");
    let folder = root.path().join("folder");
    fs::create_dir(&folder).expect("makes a folder");
    write_atomic(&folder, b"x", true).expect_err("a folder is no file");
    write_atomic(&root.path().join("none/a.yaml"), b"x", true).expect_err("there is no folder");
    assert_eq!(names(root.path()), ["folder"]);
    assert_eq!(names(&folder), [""; 0]);
}

#[test]
fn a_missing_folder_is_named() {
    let root = tempfile::tempdir().expect("makes a directory");
    let path = root.path().join("none/a.yaml");
    let error = write_atomic(&path, b"x", false).expect_err("there is no folder");
    assert!(matches!(&error, FileError::NotFound { path } if path.ends_with("none")), "{error:?}");
}

#[test]
fn a_name_without_a_folder_is_one_of_the_working_directory() {
    // Nothing is written, because tests share their working directory.
    let error = write_atomic(Path::new("Cargo.toml"), b"x", false).expect_err("exists");
    assert!(matches!(error, FileError::Exists { .. }), "{error:?}");
    let left: Vec<String> =
        names(Path::new(".")).into_iter().filter(|name| name.contains(".tmp")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn writers_at_once_leave_one_whole_text() {
    let root = tempfile::tempdir().expect("makes a directory");
    let path = root.path().join("a.yaml");
    let texts: Vec<Vec<u8>> = (b'a'..=b'h').map(|letter| vec![letter; 100_000]).collect();
    thread::scope(|scope| {
        for text in &texts {
            scope.spawn(|| {
                for _ in 0..5 {
                    write_atomic(&path, text, true).expect("writes");
                }
            });
        }
    });
    assert!(texts.contains(&fs::read(&path).expect("reads")));
    assert_eq!(names(root.path()), ["a.yaml"]);
}

#[test]
fn of_writers_at_once_that_replace_nothing_one_wins() {
    let root = tempfile::tempdir().expect("makes a directory");
    let path = root.path().join("a.yaml");
    let outcomes: Vec<Result<(), FileError>> = thread::scope(|scope| {
        let writers: Vec<_> = (0..8u8)
            .map(|letter| {
                scope.spawn({
                    let path = &path;
                    move || write_atomic(path, &[letter; 1000], false)
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().expect("does not panic")).collect()
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    assert_eq!(fs::read(&path).expect("reads").len(), 1000);
    assert_eq!(names(root.path()), ["a.yaml"]);
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("is there").permissions().mode() & 0o777
    }

    #[test]
    fn permissions_are_kept() {
        let root = tempfile::tempdir().expect("makes a directory");
        let path = root.path().join("a.yaml");
        for kept in [0o600, 0o640, 0o755] {
            fs::write(&path, "one").expect("writes");
            fs::set_permissions(&path, fs::Permissions::from_mode(kept)).expect("sets");
            write_atomic(&path, b"two", true).expect("writes");
            assert_eq!(mode(&path), kept);
        }
    }

    #[test]
    fn a_link_is_written_through() {
        let root = tempfile::tempdir().expect("makes a directory");
        fs::create_dir(root.path().join("real")).expect("makes a folder");
        let (real, link) = (root.path().join("real/a.yaml"), root.path().join("link.yaml"));
        fs::write(&real, "one").expect("writes");
        symlink("real/a.yaml", &link).expect("links");
        write_atomic(&link, b"two", true).expect("writes");
        assert!(fs::symlink_metadata(&link).expect("is there").is_symlink());
        assert_eq!(fs::read(&real).expect("reads"), b"two");
        assert_eq!(names(&root.path().join("real")), ["a.yaml"]);
        let error = write_atomic(&link, b"three", false).expect_err("something is there");
        assert!(matches!(error, FileError::Exists { .. }), "{error:?}");
    }

    #[test]
    fn a_link_to_nothing_is_not_replaced_by_a_file() {
        let root = tempfile::tempdir().expect("makes a directory");
        let link = root.path().join("link.yaml");
        symlink("nowhere.yaml", &link).expect("links");
        for overwrite in [false, true] {
            let error = write_atomic(&link, b"x", overwrite).expect_err("the link is kept");
            assert!(matches!(error, FileError::Exists { .. }), "{error:?}");
        }
        assert!(fs::symlink_metadata(&link).expect("is there").is_symlink());
        assert_eq!(names(root.path()), ["link.yaml"]);
    }
}

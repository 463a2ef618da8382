//! The files of the runs, their permissions, and what is refused.

use std::fs;
use std::path::Path;
use std::thread;

use milepost_engine::ports::JournalError;
use milepost_store::runs::{OpenOptions, Runs, RunsError};

use super::{begun, fresh, open, texts};
use crate::names;

fn refused(root: &Path) -> RunsError {
    Runs::open(root, OpenOptions::default()).expect_err("is refused")
}

#[test]
fn a_directory_is_made_with_its_files() {
    let root = tempfile::tempdir().expect("makes a directory");
    let data = root.path().join("share/milepost");
    let runs = open(&data);
    begun(&runs);
    assert_eq!(runs.directory(), data);
    assert!(!runs.has_failed());
    drop(runs);
    assert_eq!(names(&data), ["chain.key", "runs.db", "runs.reserve", "runs.use"]);
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_them() {
    use std::os::unix::fs::PermissionsExt;

    let root = tempfile::tempdir().expect("makes a directory");
    let data = root.path().join("milepost");
    let runs = open(&data);
    begun(&runs);
    let mode = |path: &Path| fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    assert_eq!(mode(&data), 0o700);
    for name in ["chain.key", "runs.db", "runs.db-wal", "runs.db-shm", "runs.use"] {
        assert_eq!(mode(&data.join(name)), 0o600, "{name}");
    }
    drop(runs);
    let key = data.join("chain.key");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o640)).expect("sets");
    let error = refused(&data);
    assert!(matches!(error, RunsError::KeyExposed { mode: 0o640, .. }), "{error:?}");
}

#[test]
fn runs_without_their_key_are_refused() {
    let (root, runs) = fresh();
    let run = begun(&runs).run;
    drop(runs);
    let key = root.path().join("chain.key");
    let bytes = fs::read(&key).expect("reads");
    fs::remove_file(&key).expect("removes");
    let error = refused(root.path());
    assert!(matches!(error, RunsError::KeyMissing { .. }), "{error:?}");
    assert!(!key.exists(), "no other key takes its place");
    fs::rename(root.path().join("runs.db"), root.path().join("kept.db")).expect("renames");
    drop(open(root.path()));
    // A database next to a key that is not its own.
    fs::rename(root.path().join("kept.db"), root.path().join("runs.db")).expect("renames");
    let error = refused(root.path());
    assert!(matches!(error, RunsError::WrongKey { .. }), "{error:?}");
    for wrong in [&bytes[..31], &[], &[bytes.as_slice(), b"\n"].concat()] {
        fs::write(&key, wrong).expect("writes");
        let error = refused(root.path());
        assert!(matches!(error, RunsError::WrongKey { .. }), "{error:?}");
    }
    fs::write(&key, bytes).expect("writes");
    assert_eq!(texts(&open(root.path()), &run), ["created"]);
}

#[test]
fn a_later_version_is_refused_and_left_as_it_is() {
    let (root, runs) = fresh();
    drop(runs);
    let path = root.path().join("runs.db");
    let db = rusqlite::Connection::open(&path).expect("opens");
    db.pragma_update(None, "user_version", 99).expect("sets");
    drop(db);
    let error = refused(root.path());
    assert!(
        matches!(error, RunsError::Journal(JournalError::Newer { found: 99, known: 1, .. })),
        "{error:?}"
    );
}

#[test]
fn what_is_no_database_is_refused() {
    let root = tempfile::tempdir().expect("makes a directory");
    let path = root.path().join("runs.db");
    fs::write(&path, "no database, but longer than its header would be".repeat(100))
        .expect("writes");
    let error = refused(root.path());
    assert!(matches!(error, RunsError::Storage(_)), "{error:?}");
    assert!(fs::read(&path).expect("reads").starts_with(b"no database"));
}

#[test]
fn many_open_a_new_directory_at_once() {
    let root = tempfile::tempdir().expect("makes a directory");
    let opened: Vec<(Runs, _)> = thread::scope(|scope| {
        let openers: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let runs = open(root.path());
                    let run = begun(&runs).run;
                    (runs, run)
                })
            })
            .collect();
        openers.into_iter().map(|opener| opener.join().expect("does not panic")).collect()
    });
    for (runs, _) in &opened {
        for (_, run) in &opened {
            assert_eq!(texts(runs, run), ["created"]);
        }
    }
}

#[test]
fn the_mark_is_cleared_by_the_last_process_to_leave() {
    let (root, runs) = fresh();
    let mark = || fs::read_to_string(root.path().join("runs.use")).expect("reads");
    begun(&runs);
    let other = open(root.path());
    drop(runs);
    assert_eq!(mark(), "open\n");
    drop(other);
    assert_eq!(mark(), "done\n");
    // Earlier versions left an empty mark after a clean exit; a killed process leaves its own.
    for left in ["", "open\n"] {
        fs::write(root.path().join("runs.use"), left).expect("writes");
        let runs = open(root.path());
        assert_eq!(mark(), "open\n");
        drop(runs);
        assert_eq!(mark(), "done\n");
    }
}

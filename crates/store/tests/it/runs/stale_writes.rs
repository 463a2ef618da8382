//! A write is refused if another process has changed the run since the last write.

use milepost_engine::ports::JournalError;
use milepost_store::runs::{AppendRows, Lease, RunStatus, Runs, RunsError};
use rusqlite::Connection;
use tempfile::TempDir;

use super::{Now, append, begun, fresh, standing, texts};

/// A run with two writes.
fn known() -> (TempDir, Runs, Lease) {
    let (root, runs) = fresh();
    let lease = begun(&runs);
    runs.append_now(append(&lease, 1, &["a"])).expect("appends");
    runs.append_now(append(&lease, 2, &["b"])).expect("appends");
    (root, runs, lease)
}

/// The error of a write after another process changed something.
fn after(change: &str) -> RunsError {
    let (root, runs, lease) = known();
    let other = Connection::open(root.path().join("runs.db")).expect("opens");
    assert_eq!(other.execute(change, []).expect("changes"), 1, "{change}");
    drop(other);
    runs.append_now(append(&lease, 3, &["c"])).expect_err(change)
}

#[test]
fn what_another_process_changed_is_seen() {
    let error = after("UPDATE runs SET title = 'Other'");
    assert!(matches!(error, RunsError::Journal(JournalError::Corrupt { .. })), "{error:?}");
    let error = after("UPDATE runs SET quarantined = 1");
    assert!(matches!(error, RunsError::Journal(JournalError::Quarantined { .. })), "{error:?}");
    let error = after("UPDATE leases SET epoch = epoch + 1");
    assert!(matches!(error, RunsError::Journal(JournalError::Fenced { .. })), "{error:?}");
    let error = after("DELETE FROM events WHERE seq = 3");
    assert!(
        matches!(error, RunsError::Journal(JournalError::OutOfOrder { last: 2, .. })),
        "{error:?}"
    );
    let error = after("DELETE FROM runs");
    assert!(matches!(error, RunsError::Journal(JournalError::NotFound { .. })), "{error:?}");
}

#[test]
fn what_this_process_changed_is_seen() {
    let (_root, runs, lease) = known();
    runs.release_now(lease.clone()).expect("gives it back");
    let error = runs.append_now(append(&lease, 3, &["c"])).expect_err("is not held");
    assert!(matches!(error, RunsError::Journal(JournalError::Fenced { .. })), "{error:?}");
    let taken = runs
        .take_now(lease.run.clone(), lease.holder, super::glance())
        .expect("takes")
        .expect("is free");
    runs.append_now(append(&taken, 3, &["c"])).expect("appends");
    assert_eq!(texts(&runs, &taken.run), ["created", "a", "b", "c"]);
}

#[test]
fn a_write_that_was_refused_changes_nothing_that_is_known() {
    let (_root, runs, lease) = known();
    let error = runs.append_now(append(&lease, 7, &["x"])).expect_err("is out of order");
    assert!(
        matches!(error, RunsError::Journal(JournalError::OutOfOrder { last: 3, .. })),
        "{error:?}"
    );
    runs.append_now(append(&lease, 3, &["c"])).expect("appends");
    assert_eq!(texts(&runs, &lease.run), ["created", "a", "b", "c"]);
}

#[test]
fn writers_of_several_runs_do_not_mix_them_up() {
    let (_root, runs, first) = known();
    let second = begun(&runs);
    for seq in 1..=20 {
        runs.append_now(append(&second, seq, &["x"])).expect("appends");
        let standing = Some(standing(RunStatus::Running));
        let what = AppendRows { standing, ..append(&first, seq + 2, &["y"]) };
        runs.append_now(what).expect("appends");
    }
    assert_eq!(texts(&runs, &first.run).len(), 23);
    assert_eq!(texts(&runs, &second.run).len(), 21);
    assert_eq!(runs.run(&first.run).expect("is sound").last_seq, 23);
}

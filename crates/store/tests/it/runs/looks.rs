//! Read-only access sees everything that is committed, and changes nothing.

use std::fs;

use milepost_engine::ports::JournalError;
use milepost_store::Digest;
use milepost_store::runs::{RunFilter, RunStatus, RunsError, RunsReader};
use rusqlite::Connection;

use super::{Now, append, begun, end, fresh, id, open};

#[test]
fn where_there_are_no_runs_nothing_is_made() {
    let root = tempfile::tempdir().expect("makes a directory");
    assert!(RunsReader::open(root.path()).expect("looks").is_none());
    assert!(RunsReader::open(&root.path().join("nowhere")).expect("looks").is_none());
    assert_eq!(fs::read_dir(root.path()).expect("reads").count(), 0);
}

#[test]
fn what_is_committed_is_seen_while_others_write_and_after_they_are_gone() {
    let (root, runs) = fresh();
    let reader = RunsReader::open(root.path()).expect("looks").expect("there are runs");
    let lease = begun(&runs);
    assert_eq!(reader.run(&lease.run).expect("is there").last_seq, 1);
    runs.append_now(append(&lease, 1, &["two", "three"])).expect("appends");
    end(&runs, &lease, 3, RunStatus::Succeeded);
    let found = reader.events(&lease.run, 1, 100).expect("reads").events;
    assert_eq!(found.iter().map(|event| event.seq).collect::<Vec<_>>(), [2, 3, 4]);
    drop((runs, reader));
    let reader = RunsReader::open(root.path()).expect("looks").expect("there are runs");
    let page = reader.list(&RunFilter::default(), 10).expect("lists");
    assert_eq!(page.runs.iter().map(|row| &row.id).collect::<Vec<_>>(), [&lease.run]);
    assert_eq!(page.runs[0].standing.status, RunStatus::Succeeded);
    assert_eq!(reader.find_prefix(&lease.run.as_str()[..12]).expect("finds"), [lease.run]);
    let text = Digest::of(b"workflow: tidy-inbox\n");
    assert_eq!(reader.text(text).expect("reads").as_deref(), Some("workflow: tidy-inbox\n"));
    let missing = reader.run(&id()).expect_err("is not there");
    assert!(matches!(missing, RunsError::Journal(JournalError::NotFound { .. })), "{missing:?}");
}

#[test]
fn a_damaged_run_is_not_believed_and_not_set_aside() {
    let (root, runs) = fresh();
    let lease = begun(&runs);
    let db = Connection::open(root.path().join("runs.db")).expect("opens");
    db.execute("UPDATE events SET kind = 'x'", []).expect("changes");
    let reader = RunsReader::open(root.path()).expect("looks").expect("there are runs");
    let error = reader.events(&lease.run, 0, 10).expect_err("is damaged");
    assert!(matches!(error, RunsError::Journal(JournalError::Corrupt { .. })), "{error:?}");
    let aside: u64 =
        db.query_row("SELECT quarantined FROM runs", [], |row| row.get(0)).expect("reads");
    assert_eq!(aside, 0);
    drop((db, runs));
    drop(open(root.path()));
}

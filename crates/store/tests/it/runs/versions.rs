//! Processes of several versions on the same runs: additions do not disturb processes that have the
//! database open, and data written by a newer version is recognized as such.

use milepost_engine::ports::{Journal, JournalError};
use milepost_store::runs::{JournalOptions, NewEvent, NewRunRow, RunFilter, SqliteJournal};
use rusqlite::Connection;

use super::{Now, append, begun, fresh, holder, id, new_run, open};

/// Changes that a newer version may make to the tables while older processes have them open:
/// additions only.
const ADDITIONS: &str = "
    ALTER TABLE runs ADD COLUMN world TEXT;
    ALTER TABLE events ADD COLUMN note TEXT;
    ALTER TABLE inbox ADD COLUMN note TEXT;
    ALTER TABLE holders ADD COLUMN beats INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE leases ADD COLUMN since_ms INTEGER;
    CREATE TABLE later(run TEXT NOT NULL PRIMARY KEY) STRICT;
    CREATE INDEX runs_world ON runs(world) WHERE world IS NOT NULL;";

/// Everything that version 0.1.0 writes, in its own SQL.
const WRITES_OF_0_1_0: &str = "
    INSERT INTO texts(hash, text) VALUES (x'01', 't') ON CONFLICT DO NOTHING;
    INSERT INTO runs(id, workflow, title, text, actor, workspace, parent, durability, created_ms, \
        status, updated_ms, last_seq, head, seal) \
        VALUES ('run_old', 'w', 'W', x'01', 'ada', '/', NULL, 'full', 1, 'running', 1, 0, x'', x'');
    INSERT INTO blobs(hash, bytes) VALUES (x'05', x'06') ON CONFLICT DO NOTHING;
    INSERT INTO events(run, seq, at_ms, kind, data, blob, mac) \
        SELECT key, 1, 1, 'noted', NULL, x'05', x'04' FROM runs WHERE id = 'run_old';
    UPDATE runs SET updated_ms = 2, last_seq = 1, head = x'04', seal = x'05' WHERE id = 'run_old';
    UPDATE runs SET status = 'waiting', waiting = 'x', wake_ms = 3, ended_ms = NULL, \
        updated_ms = 3, last_seq = 1, head = x'04', seal = x'06' WHERE id = 'run_old';
    INSERT INTO inbox(id, run, at_ms, data, mac) \
        SELECT 'm', key, 1, x'07', x'08' FROM runs WHERE id = 'run_old';
    UPDATE inbox SET answer = x'09', answer_mac = x'0a', answered_ms = 4 WHERE id = 'm';
    INSERT INTO holders(id, pid, expires_ms) VALUES ('h', 1, 2) \
        ON CONFLICT (id) DO UPDATE SET expires_ms = excluded.expires_ms;
    INSERT INTO leases(run, holder, epoch) SELECT key, 'h', 1 FROM runs WHERE id = 'run_old';
    UPDATE leases SET holder = NULL WHERE holder = 'h';
    INSERT INTO input_history(workspace, workflow, input, value, at_ms) \
        VALUES ('/', 'w', 'i', '1', 1);
    UPDATE runs SET quarantined = 1 WHERE id = 'run_old';
    DELETE FROM events WHERE run = (SELECT key FROM runs WHERE id = 'run_old');
    DELETE FROM runs WHERE id = 'run_old';";

#[test]
fn a_process_goes_on_while_a_newer_one_adds_to_the_tables() {
    let (root, runs) = fresh();
    let lease = begun(&runs);
    let newer = Connection::open(root.path().join("runs.db")).expect("opens");
    newer.execute_batch(ADDITIONS).expect("are made");
    // Both this process, with its prepared statements, and one that opens the database later still
    // work.
    runs.append_now(append(&lease, 1, &["more"])).expect("is written");
    assert_eq!(runs.events(&lease.run, 0, 10).expect("reads").events.len(), 2);
    begun(&runs);
    let later = open(root.path());
    let other = begun(&later);
    later.append_now(append(&other, 1, &["more"])).expect("is written");
    for runs in [&runs, &later] {
        assert_eq!(runs.list(&RunFilter::default(), 10).expect("reads").runs.len(), 3);
    }
}

#[test]
fn what_0_1_0_writes_fits_the_tables_of_now() {
    let (root, runs) = fresh();
    begun(&runs);
    drop(runs);
    let older = Connection::open(root.path().join("runs.db")).expect("opens");
    older.execute_batch("PRAGMA foreign_keys = ON; BEGIN").expect("begins");
    older.execute_batch(WRITES_OF_0_1_0).expect("is written");
    older.execute_batch("ROLLBACK").expect("is taken back");
}

#[test]
fn an_event_of_a_newer_version_is_known_as_such() {
    let (root, runs) = fresh();
    let stored = |data: &str| {
        let (kind, data) = ("run_canceled".to_owned(), data.as_bytes().to_vec());
        let events = vec![NewEvent { at_ms: 7, kind, data }];
        let run = NewRunRow { events, ..new_run(&id()) };
        let created = runs.create_now(run, Some(holder())).expect("creates");
        created.lease.expect("was asked for").run
    };
    let (known, newer) = (r#"{"event":"run_canceled"}"#, r#"{"v":2,"event":"run_canceled"}"#);
    let all = [stored(known), stored(newer), stored(r#"{"event":"later"}"#), stored("{}")];
    let journal = SqliteJournal::at(root.path().to_owned(), JournalOptions::default());
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let read = all.map(|run| runtime.block_on(journal.events(&run, 0, 10)));
    assert!(read[0].is_ok(), "{:?}", read[0]);
    assert!(matches!(read[1], Err(JournalError::NewerEvent { seq: 1, .. })), "{:?}", read[1]);
    assert!(matches!(read[2], Err(JournalError::NewerEvent { seq: 1, .. })), "{:?}", read[2]);
    assert!(matches!(read[3], Err(JournalError::Undecodable { .. })), "{:?}", read[3]);
}

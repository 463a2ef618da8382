//! Rows that were tampered with: the run is quarantined, and all others continue.

use std::fs;
use std::path::Path;

use milepost_engine::ports::JournalError;
use milepost_model::id::RunId;
use milepost_store::runs::{
    AppendRows, CheckReport, InboxRow, MessageId, NewEvent, OpenOptions, RunFilter, RunStatus,
    Runs, RunsError,
};
use rusqlite::Connection;

use super::{Now, append, begun, end, event, fresh, id, new_run, open, texts};

/// Changes the database without the program's knowledge.
fn sql(root: &Path, statement: &str) {
    let db = Connection::open(root.join("runs.db")).expect("opens");
    db.execute_batch("PRAGMA foreign_keys = OFF").expect("sets");
    assert_ne!(db.execute(statement, []).expect(statement), 0, "{statement} changes something");
}

/// Creates two runs of five events, applies the statement, and returns where the journal of the
/// first one breaks.
fn broken_at(statement: &str) -> u64 {
    let (root, runs) = fresh();
    let [broken, whole] = [(); 2].map(|()| {
        let lease = begun(&runs);
        runs.append_now(append(&lease, 1, &["two", "three", "four"])).expect("appends");
        end(&runs, &lease, 4, RunStatus::Succeeded);
        lease
    });
    sql(root.path(), statement);
    let error = runs.events(&broken.run, 0, 100).expect_err(statement);
    let RunsError::Journal(JournalError::Corrupt { run, seq }) = error else {
        unreachable!("{error:?}")
    };
    assert_eq!(run, broken.run);
    // The run is quarantined after this write at the latest.
    runs.append_now(append(&whole, 5, &["six"])).expect("appends");
    let error = runs.append_now(append(&broken, 5, &["six"])).expect_err("is set aside");
    let aside = matches!(
        error,
        RunsError::Journal(JournalError::Quarantined { .. } | JournalError::Corrupt { .. })
    );
    assert!(aside, "{error:?}");
    assert_eq!(texts(&runs, &whole.run).len(), 6, "the other goes on");
    let report = runs.check().expect("checks");
    assert_eq!(report.corrupt, [(broken.run.clone(), seq)], "{statement}");
    let listed = runs.list(&RunFilter::default(), 10).expect("lists").runs;
    let aside: Vec<bool> = listed.iter().map(|row| row.quarantined).collect();
    assert_eq!(aside, [false, true]);
    seq
}

#[test]
fn a_changed_event() {
    assert_eq!(broken_at("UPDATE events SET data = x'00' WHERE run = 1 AND seq = 3"), 3);
    assert_eq!(broken_at("UPDATE events SET kind = 'x' WHERE run = 1 AND seq = 1"), 1);
    assert_eq!(broken_at("UPDATE events SET at_ms = at_ms + 1 WHERE run = 1 AND seq = 5"), 5);
    assert_eq!(broken_at("UPDATE events SET mac = zeroblob(16) WHERE run = 1 AND seq = 2"), 2);
    assert_eq!(broken_at("UPDATE events SET mac = x'' WHERE run = 1 AND seq = 2"), 2);
    assert_eq!(broken_at("UPDATE events SET data = NULL WHERE run = 1 AND seq = 4"), 4);
}

#[test]
fn a_removed_event() {
    assert_eq!(broken_at("DELETE FROM events WHERE run = 1 AND seq = 1"), 1);
    assert_eq!(broken_at("DELETE FROM events WHERE run = 1 AND seq = 3"), 3);
    assert_eq!(broken_at("DELETE FROM events WHERE run = 1 AND seq = 5"), 5);
    assert_eq!(broken_at("DELETE FROM events WHERE run = 1"), 1);
}

#[test]
fn an_added_event() {
    let add = "INSERT INTO events(run, seq, at_ms, kind, data, mac) ";
    assert_eq!(broken_at(&format!("{add} VALUES (1, 6, 1, 'approved', x'00', zeroblob(16))")), 6);
    // Unmodified copies, but for another run or at another position.
    let copy = "at_ms, kind, data, mac FROM events";
    assert_eq!(broken_at(&format!("{add} SELECT 1, 6, {copy} WHERE run = 2 AND seq = 5")), 6);
    assert_eq!(broken_at(&format!("{add} SELECT 1, 6, {copy} WHERE run = 1 AND seq = 2")), 6);
}

#[test]
fn events_that_changed_places() {
    let other = |column| format!("(SELECT {column} FROM events o WHERE o.run = 2 AND o.seq = 4)");
    let (data, mac) = (other("data"), other("mac"));
    let moved = format!("UPDATE events SET data = {data}, mac = {mac} WHERE run = 1 AND seq = 4");
    assert_eq!(broken_at(&moved), 4);
    assert_eq!(broken_at("UPDATE events SET seq = seq + 10 WHERE run = 1 AND seq >= 4"), 4);
}

#[test]
fn a_changed_row_of_the_index() {
    for change in [
        "status = 'failed'",
        "title = 'Other'",
        "workspace = '/'",
        "actor = 'eve'",
        "last_seq = 4",
        "head = zeroblob(16)",
        "seal = zeroblob(16)",
        "text = zeroblob(32)",
        "wake_ms = 0",
        "waiting = ''",
        "ended_ms = NULL",
        "parent = 'run_00000000000000000000000000'",
    ] {
        assert_eq!(broken_at(&format!("UPDATE runs SET {change} WHERE key = 1")), 0, "{change}");
    }
}

#[test]
fn an_unreadable_row_of_the_index_is_counted() {
    for change in ["status = 'odd'", "workflow = 'No Id'", "head = x'00'", "created_ms = -1"] {
        let (root, runs) = fresh();
        let (broken, whole) = (begun(&runs).run, begun(&runs).run);
        sql(root.path(), &format!("UPDATE runs SET {change} WHERE key = 1"));
        let page = runs.list(&RunFilter::default(), 10).expect("lists");
        assert_eq!((page.runs.len(), page.unreadable), (1, 1), "{change}");
        assert_eq!(page.runs[0].id, whole);
        let error = runs.run(&broken).expect_err("is damaged");
        assert!(
            matches!(error, RunsError::Journal(JournalError::Corrupt { seq: 0, .. })),
            "{error:?}"
        );
        assert_eq!(runs.check().expect("checks").corrupt, [(broken, 0)]);
    }
}

#[test]
fn a_row_that_is_changed_while_it_is_driven_is_not_sealed_anew() {
    let (root, runs) = fresh();
    let lease = begun(&runs);
    sql(root.path(), "UPDATE runs SET actor = 'eve'");
    let ended = AppendRows {
        standing: Some(super::standing(RunStatus::Succeeded)),
        ..append(&lease, 1, &["ended"])
    };
    let error = runs.append_now(ended).expect_err("is damaged");
    assert!(matches!(error, RunsError::Journal(JournalError::Corrupt { seq: 0, .. })), "{error:?}");
    let error = runs.append_now(append(&lease, 1, &["x"])).expect_err("is set aside");
    assert!(matches!(error, RunsError::Journal(JournalError::Quarantined { .. })), "{error:?}");
    let error = runs
        .take_now(lease.run.clone(), super::holder(), super::glance())
        .expect_err("is set aside");
    assert!(matches!(error, RunsError::Journal(JournalError::Quarantined { .. })), "{error:?}");
    assert!(
        runs.adrift(1, None, 10, super::glance()).expect("asks").is_empty(),
        "nobody is to drive it"
    );
}

#[test]
fn large_data_and_texts_are_checked_against_their_hashes() {
    for change in ["UPDATE blobs SET bytes = x'00'", "DELETE FROM blobs"] {
        let (root, runs) = fresh();
        let lease = begun(&runs);
        let large = NewEvent { data: vec![1; 100_000], ..event("") };
        let what = AppendRows { events: vec![large], ..append(&lease, 1, &[]) };
        runs.append_now(what).expect("appends");
        sql(root.path(), change);
        let error = runs.events(&lease.run, 0, 10).expect_err(change);
        assert!(
            matches!(error, RunsError::Journal(JournalError::Corrupt { seq: 2, .. })),
            "{error:?}"
        );
    }
    let (root, runs) = fresh();
    let run = begun(&runs).run;
    sql(root.path(), "UPDATE texts SET text = 'workflow: other'");
    let hash = runs.run(&run).expect("reads").text;
    assert_eq!(runs.text(hash).expect("reads"), None);
    assert_eq!(runs.check().expect("checks").corrupt, [(run, 0)]);
}

#[test]
fn a_forged_message_is_never_taken_up() {
    let (root, runs) = fresh();
    let (lease, other) = (begun(&runs), begun(&runs));
    let real = InboxRow {
        id: MessageId::parse("real").expect("is one"),
        run: lease.run.clone(),
        at_ms: 1,
        data: b"rejected".to_vec(),
    };
    runs.send_now(real.clone()).expect("sends");
    let add = "INSERT INTO inbox(id, run, at_ms, data, mac)";
    sql(
        root.path(),
        &format!("{add} VALUES ('forged', 1, 1, 'approved', zeroblob(16))")
            .replace("'approved'", "CAST('approved' AS BLOB)"),
    );
    // Copies of a real message under another id, and for another run.
    sql(root.path(), &format!("{add} SELECT 'copy', 1, at_ms, data, mac FROM inbox WHERE key = 1"));
    sql(
        root.path(),
        &format!("{add} SELECT 'moved', 2, at_ms, data, mac FROM inbox WHERE key = 1"),
    );
    assert_eq!(runs.check().expect("checks").forged, 3);
    let pending = runs.pending(&lease.run).expect("reads");
    assert_eq!((pending.messages, pending.forged), (vec![real], 2));
    let pending = runs.pending(&other.run).expect("reads");
    assert_eq!((pending.messages.len(), pending.forged), (0, 1));
    // Forged messages are removed after the next write, and were never answered.
    runs.append_now(append(&lease, 1, &["x"])).expect("appends");
    assert_eq!(runs.pending(&lease.run).expect("reads").forged, 0);
    assert_eq!(runs.pending(&lease.run).expect("reads").messages.len(), 1);
    assert_eq!(runs.answer(&MessageId::parse("forged").expect("is one")).expect("reads"), None);
}

#[test]
fn a_forged_answer_is_none() {
    let (root, runs) = fresh();
    let lease = begun(&runs);
    let id = MessageId::parse("m").expect("is one");
    let message = InboxRow { id: id.clone(), run: lease.run.clone(), at_ms: 1, data: vec![1] };
    runs.send_now(message).expect("sends");
    sql(root.path(), "UPDATE inbox SET answer = x'01', answer_mac = mac");
    assert_eq!(runs.answer(&id).expect("reads"), None);
}

/// Counts the intact runs in a file that may be damaged anywhere.
fn survey(root: &Path, all: &[(RunId, Vec<String>)]) -> Result<(usize, CheckReport), RunsError> {
    let runs = Runs::open(root, OpenOptions::default())?;
    let mut whole = 0;
    for (run, said) in all {
        match runs.events(run, 0, 1_000) {
            Ok(found) => {
                let found = found.events.into_iter().map(|event| event.data);
                assert!(found.eq(said.iter().map(|text| text.as_bytes().to_vec())), "as written");
                whole += 1;
            }
            Err(RunsError::Journal(JournalError::Corrupt { run: hit, .. })) => {
                assert_eq!(hit, *run);
            }
            // An index is damaged, which SQLite's own check reports.
            Err(RunsError::Journal(JournalError::NotFound { .. }) | RunsError::Storage(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok((whole, runs.check()?))
}

#[test]
fn flipped_bits_are_found_or_do_no_harm() {
    const FLIPS: usize = 150;
    let root = tempfile::tempdir().expect("makes a directory");
    let mut all = Vec::new();
    {
        let runs = open(root.path());
        for number in 0..48 {
            let lease = begun(&runs);
            let said: Vec<String> = (0..12).map(|at| format!("{number}/{at}").repeat(9)).collect();
            let said: Vec<&str> = said.iter().map(String::as_str).collect();
            runs.append_now(append(&lease, 1, &said)).expect("appends");
            end(&runs, &lease, 13, RunStatus::Succeeded);
            all.push((lease.run.clone(), texts(&runs, &lease.run)));
        }
    }
    let path = root.path().join("runs.db");
    let good = fs::read(&path).expect("reads");
    let (mut hits, mut refused, mut some_whole) = (0, 0, 0);
    for number in 0..FLIPS {
        let mut bytes = good.clone();
        // The step size shares no factor with the page size, so every part of a page is hit.
        let at = number * (good.len() / FLIPS) + (number * 37) % 97;
        bytes[at] ^= 1 << (number % 8);
        // Removes a log that belongs to the previous damage.
        for log in ["runs.db-wal", "runs.db-shm"] {
            fs::remove_file(root.path().join(log)).ok();
        }
        fs::write(&path, &bytes).expect("writes");
        match survey(root.path(), &all) {
            Ok((whole, report)) => {
                let found = whole == all.len() || !report.is_sound();
                assert!(found, "the bit at {at} is lost without a word");
                hits += usize::from(whole < all.len());
                some_whole += usize::from(whole > 0);
            }
            // The schema, or the verification of the key itself, is damaged.
            Err(_) => refused += 1,
        }
    }
    assert!(hits > FLIPS / 5, "{hits} hits");
    assert!(refused < FLIPS / 4, "{refused} refused");
    assert!(some_whole + refused > FLIPS * 9 / 10, "others go on: {some_whole}");
}

#[test]
fn a_run_that_is_not_there_is_nobodys_damage() {
    let (_root, runs) = fresh();
    let run = id();
    runs.create_now(new_run(&run), None).expect("creates");
    let error = runs.events(&id(), 0, 10).expect_err("there is none");
    assert!(matches!(error, RunsError::Journal(JournalError::NotFound { .. })), "{error:?}");
    assert!(runs.check().expect("checks").is_sound());
}

//! Runs are recorded once, and their events are appended in order.

use std::collections::HashMap;
use std::sync::{Arc, mpsc};
use std::thread;

use milepost_engine::ports::JournalError;
use milepost_store::Digest;
use milepost_store::limits::{APPEND_BYTES, EVENT_BYTES, EVENT_INLINE_BYTES, QUICK_COMMIT};
use milepost_store::runs::{
    AppendRows, Created, Durability, NewEvent, NewRunRow, OpenOptions, RunRecord, RunStatus,
    RunSummary, Runs, RunsError, StoragePoint,
};

use super::{
    Now, append, begun, end, event, events, fresh, holder, id, new_of, new_run, open, record, texts,
};

#[test]
fn a_run_is_there_once_it_is_recorded() {
    let (root, runs) = fresh();
    let (run, parent) = (id(), id());
    let new = new_of(RunRecord {
        parent: Some(parent.clone()),
        durability: Durability::Relaxed,
        standing: RunSummary {
            status: RunStatus::Waiting,
            waiting: Some("approval".to_owned()),
            wake_ms: Some(99),
            ended_ms: None,
            updated_ms: 10,
        },
        ..record(&run)
    });
    let created = runs.create_now(new.clone(), None).expect("creates");
    assert_eq!(created, Created { already: false, lease: None });
    drop(runs);
    let runs = open(root.path());
    let row = runs.run(&run).expect("is there");
    let NewRunRow { record: new, text, .. } = new;
    assert_eq!((&row.id, &row.workflow, &row.title), (&run, &new.workflow, &new.title));
    assert_eq!((&row.actor, &row.workspace), (&new.actor, &new.workspace));
    assert_eq!((row.parent, row.durability), (Some(parent), Durability::Relaxed));
    assert_eq!((row.created_ms, row.standing), (5, new.standing));
    assert_eq!((row.last_seq, row.quarantined), (1, false));
    assert_eq!(runs.text(row.text).expect("reads").as_deref(), Some(text.as_str()));
    assert_eq!(runs.text(Digest::of(b"other")).expect("reads"), None);
    assert_eq!(texts(&runs, &run), ["created"]);
    let error = runs.run(&id()).expect_err("there is none");
    assert!(matches!(error, RunsError::Journal(JournalError::NotFound { .. })), "{error:?}");
}

#[test]
fn recording_a_run_twice_is_recording_it_once() {
    let (_root, runs) = fresh();
    let run = id();
    runs.create_now(new_run(&run), None).expect("creates");
    let other = new_of(RunRecord { title: "Other".to_owned(), ..record(&run) });
    let created = runs.create_now(other, Some(holder())).expect("is there");
    assert_eq!(created, Created { already: true, lease: None });
    assert_eq!(runs.run(&run).expect("is there").title, "Tidy the inbox");
    assert_eq!(texts(&runs, &run), ["created"]);
}

#[test]
fn events_come_back_as_they_were_written() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    let odd = NewEvent { at_ms: u64::MAX / 2, kind: String::new(), data: vec![0, 255, 10] };
    let mut what = append(&lease, 1, &["a", ""]);
    what.events.push(odd.clone());
    assert_eq!(runs.append_now(what).expect("appends").last_seq, 4);
    let found = events(&runs, &lease.run);
    assert_eq!(found.iter().map(|event| event.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
    let last = &found[3];
    assert_eq!((last.at_ms, &last.kind, &last.data), (odd.at_ms, &odd.kind, &odd.data));
    let page = runs.events(&lease.run, 1, 2).expect("reads");
    assert_eq!((page.events.as_slice(), page.more), (&found[1..3], true));
    let page = runs.events(&lease.run, 3, 2).expect("reads");
    assert_eq!((page.events.as_slice(), page.more), (&found[3..], false));
    for beyond in [4, 5, 1000] {
        assert_eq!(runs.events(&lease.run, beyond, 2).expect("reads").events, []);
    }
}

#[test]
fn who_does_not_know_the_last_event_is_told() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    for wrong in [0, 2, 100] {
        let error = runs.append_now(append(&lease, wrong, &["x"])).expect_err("out of order");
        assert!(
            matches!(error, RunsError::Journal(JournalError::OutOfOrder { last: 1, .. })),
            "{error:?}"
        );
    }
    assert_eq!(texts(&runs, &lease.run), ["created"]);
    runs.append_now(append(&lease, 1, &["x"])).expect("appends");
    // Repeating a write, as after a lost acknowledgement, does not write it twice.
    let error = runs.append_now(append(&lease, 1, &["x"])).expect_err("out of order");
    assert!(
        matches!(error, RunsError::Journal(JournalError::OutOfOrder { last: 2, .. })),
        "{error:?}"
    );
}

#[test]
fn how_a_run_stands_changes_with_its_events() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    runs.append_now(append(&lease, 1, &["x"])).expect("appends");
    assert_eq!(runs.run(&lease.run).expect("reads").last_seq, 1, "it stands as before");
    end(&runs, &lease, 2, RunStatus::Failed);
    let row = runs.run(&lease.run).expect("reads");
    assert_eq!(row.standing.status, RunStatus::Failed);
    assert_eq!((row.standing.ended_ms, row.last_seq), (Some(20), 3));
    // A refused write changes neither events nor summary.
    let again = AppendRows {
        standing: Some(super::standing(RunStatus::Running)),
        ..append(&lease, 1, &["y"])
    };
    runs.append_now(again).expect_err("out of order");
    assert_eq!(runs.run(&lease.run).expect("reads"), row);
}

#[test]
fn large_data_is_kept_once() {
    let (root, runs) = fresh();
    let lease = begun(&runs);
    let large = |letter: u8| NewEvent { data: vec![letter; EVENT_INLINE_BYTES + 1], ..event("") };
    let inline = NewEvent { data: vec![b'i'; EVENT_INLINE_BYTES], ..event("") };
    let written = vec![inline, large(b'a'), large(b'a'), large(b'b')];
    let what = AppendRows { events: written.clone(), ..append(&lease, 1, &[]) };
    runs.append_now(what).expect("appends");
    let found = events(&runs, &lease.run);
    assert!(found[1..].iter().map(|event| &event.data).eq(written.iter().map(|new| &new.data)));
    drop(runs);
    let db = rusqlite::Connection::open(root.path().join("runs.db")).expect("opens");
    let kept: u64 =
        db.query_row("SELECT count(*) FROM blobs", [], |row| row.get(0)).expect("counts");
    assert_eq!(kept, 2);
}

#[test]
fn too_much_at_once_is_refused() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    let of = |size: usize| NewEvent { data: vec![0; size], ..event("") };
    for (events, fits) in [
        (vec![of(EVENT_BYTES)], true),
        (vec![of(EVENT_BYTES + 1)], false),
        (vec![of(EVENT_BYTES); APPEND_BYTES / EVENT_BYTES], false),
    ] {
        let what = AppendRows { events, ..append(&lease, 1, &[]) };
        match runs.append_now(what) {
            Ok(_) => assert!(fits),
            Err(RunsError::Journal(JournalError::TooLarge { .. })) => assert!(!fits),
            Err(other) => unreachable!("{other}"),
        }
    }
}

#[test]
fn many_writers_lose_nothing_and_keep_the_order_of_each_run() {
    const THREADS: usize = 64;
    const EVENTS: u64 = 20;
    let (root, runs) = fresh();
    let written: HashMap<_, _> = thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let runs = &runs;
                scope.spawn(move || {
                    let lease = begun(runs);
                    let mut said = vec!["created".to_owned()];
                    for number in 1..=EVENTS {
                        let text = format!("{thread}/{number}");
                        let appended = runs.append_now(append(&lease, number, &[&text]));
                        assert_eq!(appended.expect("appends").last_seq, number + 1);
                        said.push(text);
                    }
                    (lease.run, said)
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().expect("does not panic")).collect()
    });
    assert_eq!(written.len(), THREADS);
    drop(runs);
    let runs = open(root.path());
    for (run, said) in &written {
        assert_eq!(&texts(&runs, run), said);
    }
    assert!(runs.check().expect("checks").is_sound());
}

#[test]
fn what_is_handed_over_is_answered_in_order_and_once() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    let (sender, answers) = mpsc::channel();
    for number in 1..=300 {
        let sender = sender.clone();
        // Nobody waits: each write builds on one that may not be on disk yet.
        runs.append(append(&lease, number, &["x"]), move |outcome| {
            sender.send(outcome.map(|appended| appended.last_seq)).expect("is heard");
        });
    }
    drop(sender);
    let answers: Vec<u64> = answers.iter().map(|outcome| outcome.expect("appends")).collect();
    assert_eq!(answers, (2..=301).collect::<Vec<_>>());
}

#[test]
fn one_that_is_refused_takes_only_itself_back() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    let (sender, answers) = mpsc::channel();
    for (after_seq, text) in [(1, "a"), (1, "refused"), (2, "b"), (7, "refused"), (3, "c")] {
        let sender = sender.clone();
        runs.append(append(&lease, after_seq, &[text]), move |outcome| {
            sender.send(outcome.is_ok()).expect("is heard");
        });
    }
    drop(sender);
    assert_eq!(answers.iter().collect::<Vec<_>>(), [true, false, true, false, true]);
    assert_eq!(texts(&runs, &lease.run), ["created", "a", "b", "c"]);
}

#[test]
fn relaxed_and_durable_writes_go_together() {
    let (root, runs) = fresh();
    let lease = begun(&runs);
    for number in 1..=20 {
        let durability = if number % 3 == 0 { Durability::Full } else { Durability::Relaxed };
        let what = AppendRows { durability, ..append(&lease, number, &["x"]) };
        runs.append_now(what).expect("appends");
    }
    drop(runs);
    assert_eq!(texts(&open(root.path()), &lease.run).len(), 21);
}

#[test]
fn a_relaxed_write_is_done_at_once_when_nobody_else_writes() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    let (sender, done) = mpsc::channel();
    let what = AppendRows { durability: Durability::Relaxed, ..append(&lease, 1, &["a"]) };
    let caller = thread::current().id();
    runs.append(what, move |appended| {
        let _ = sender.send((thread::current().id(), appended.expect("appends").last_seq));
    });
    assert_eq!(done.try_recv(), Ok((caller, 2)), "no other thread had to wake up");
}

#[test]
fn nobody_waits_for_a_slow_disk_on_a_thread_of_its_own() {
    let root = tempfile::tempdir().expect("makes a directory");
    let slow = |point| {
        if point == StoragePoint::Commit {
            thread::sleep(QUICK_COMMIT);
        }
        None
    };
    let options = OpenOptions { faults: Some(Arc::new(slow)), ..OpenOptions::default() };
    let runs = Runs::open(root.path(), options).expect("opens");
    let lease = begun(&runs);
    let (sender, done) = mpsc::channel();
    runs.append(append(&lease, 1, &["a"]), move |appended| {
        let _ = sender.send((thread::current().id(), appended.expect("appends").last_seq));
    });
    let (thread, last) = done.recv().expect("is answered");
    assert_eq!(last, 2);
    assert_ne!(thread, thread::current().id());
}

#[test]
fn a_relaxed_write_does_not_make_its_caller_wait_for_other_processes() {
    let (root, runs) = fresh();
    let lease = begun(&runs);
    let other = rusqlite::Connection::open(root.path().join("runs.db")).expect("opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("begins");
    let (sender, done) = mpsc::channel();
    let what = AppendRows { durability: Durability::Relaxed, ..append(&lease, 1, &["a"]) };
    runs.append(what, move |appended| {
        let _ = sender.send(appended.expect("appends").last_seq);
    });
    assert!(done.try_recv().is_err(), "the other one is still writing");
    other.execute_batch("COMMIT").expect("commits");
    assert_eq!(done.recv(), Ok(2), "it was handed on, not lost");
    assert_eq!(texts(&runs, &lease.run), ["created", "a"]);
}

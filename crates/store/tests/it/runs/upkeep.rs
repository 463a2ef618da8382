//! Backups, purging, and shrinking the file while other processes write.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use milepost_engine::ports::JournalError;
use milepost_model::id::RunId;
use milepost_store::FileError;
use milepost_store::runs::{
    AppendRows, InboxRow, MessageId, NewEvent, NewRunRow, Pins, PurgeFilter, PurgeReport,
    RunFilter, RunRecord, RunStatus, RunSummary, Runs, RunsError,
};

use super::{
    Now, append, begun, end, event, events, fresh, id, new_of, open, record, standing, texts,
    workflow,
};

#[test]
fn a_copy_can_be_opened_and_goes_on_by_itself() {
    let (root, runs) = fresh();
    let lease = begun(&runs);
    let large = NewEvent { data: vec![1; 100_000], ..event("") };
    runs.append_now(AppendRows { events: vec![large], ..append(&lease, 1, &[]) }).expect("appends");
    let to = root.path().join("copy");
    runs.backup(&to).expect("copies");
    runs.append_now(append(&lease, 2, &["later"])).expect("appends");
    let copy = open(&to);
    assert_eq!(events(&copy, &lease.run), events(&runs, &lease.run)[..2]);
    assert!(copy.check().expect("checks").is_sound());
    // The lease is valid for the original only.
    let fenced = copy.append_now(append(&lease, 2, &["other"]));
    assert!(matches!(fenced, Err(RunsError::Journal(JournalError::Fenced { .. }))), "{fenced:?}");
    let taken = copy.take_now(lease.run.clone(), super::holder(), super::glance());
    let own = taken.expect("takes").expect("is free");
    copy.append_now(append(&own, 2, &["other"])).expect("appends");
    assert_eq!(events(&runs, &lease.run)[2].data, b"later");
}

#[test]
fn a_copy_replaces_nothing() {
    let (root, runs) = fresh();
    begun(&runs);
    let to = root.path().join("copy");
    fs::create_dir(&to).expect("makes the folder");
    fs::write(to.join("mine"), "x").expect("writes");
    let error = runs.backup(&to).expect_err("something is there");
    assert!(matches!(error, RunsError::File(FileError::Exists { .. })), "{error:?}");
    assert_eq!(crate::names(&to), ["mine"]);
    let error = runs.backup(&root.path().join("no/copy")).expect_err("there is no folder");
    assert!(matches!(error, RunsError::File(FileError::NotFound { .. })), "{error:?}");
}

#[cfg(unix)]
#[test]
fn only_the_owner_may_read_a_copy() {
    use std::os::unix::fs::PermissionsExt;

    let (root, runs) = fresh();
    begun(&runs);
    let to = root.path().join("copy");
    runs.backup(&to).expect("copies");
    let mode = |path| fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    assert_eq!(crate::names(&to), ["chain.key", "runs.db"]);
    assert_eq!((mode(to.clone()), mode(to.join("runs.db"))), (0o700, 0o600));
    assert_eq!(mode(to.join("chain.key")), 0o600);
}

#[test]
fn a_copy_made_while_others_write_is_of_one_moment() {
    let (root, runs) = fresh();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let lease = begun(&runs);
                    let mut known = 1;
                    while !over.load(Ordering::Relaxed) {
                        // Two events in one write: a copy has both or neither.
                        let what = append(&lease, known, &["left", "right"]);
                        known = runs.append_now(what).expect("appends").last_seq;
                    }
                    (lease.run, known)
                })
            })
            .collect();
        let copies: Vec<_> = (0..5).map(|number| root.path().join(format!("{number}"))).collect();
        for to in &copies {
            runs.backup(to).expect("copies");
        }
        over.store(true, Ordering::Relaxed);
        let written: Vec<_> =
            writers.into_iter().map(|writer| writer.join().expect("does not panic")).collect();
        for to in &copies {
            let copy = open(to);
            assert!(copy.check().expect("checks").is_sound());
            for row in copy.list(&RunFilter::default(), 10).expect("lists").runs {
                assert_eq!(events(&copy, &row.id).len() % 2, 1, "one and pairs");
            }
        }
        for (run, known) in written {
            assert_eq!(events(&runs, &run).len() as u64, known);
        }
    });
}

/// A finished run with a large event.
fn ended(runs: &Runs, change: impl FnOnce(&mut NewRunRow), letter: u8) -> RunId {
    let run = id();
    let large = NewEvent { data: vec![letter; 100_000], ..event("") };
    let events = vec![event("created"), large];
    let standing = standing(RunStatus::Succeeded);
    let mut new = NewRunRow { events, ..new_of(RunRecord { standing, ..record(&run) }) };
    change(&mut new);
    runs.create_now(new, None).expect("creates");
    run
}

fn none() -> PurgeReport {
    PurgeReport::default()
}

/// The part of a report that is known in advance.
fn counted(report: PurgeReport) -> PurgeReport {
    PurgeReport { bytes: 0, files: 0, ..report }
}

/// A child run is purged with its parent: not before it, and not while either is open.
#[test]
fn a_run_that_another_run_needs_stays() {
    let (_root, runs) = fresh();
    let outer = begun(&runs);
    let of = |parent: &RunId| {
        let parent = Some(parent.clone());
        let inside = workflow("inside");
        ended(&runs, |new| (new.record.parent, new.record.workflow) = (parent, inside), b'i')
    };
    let inner = of(&outer.run);
    let innermost = of(&inner);
    let any = PurgeFilter::default();
    let inside = PurgeFilter { workflow: Some(workflow("inside")), ..any.clone() };
    for filter in [&any, &inside] {
        assert_eq!(runs.purge(filter, 9).expect("purges").runs, 0, "the outer run is open");
    }
    end(&runs, &outer, 1, RunStatus::Failed);
    assert_eq!(runs.purge(&inside, 9).expect("purges").runs, 0, "the outer run can be resumed");
    let lease = runs.create_now(
        new_of(RunRecord { parent: Some(inner.clone()), ..record(&id()) }),
        Some(super::holder()),
    );
    let lease = lease.expect("creates").lease.expect("was asked for");
    assert_eq!(runs.purge(&any, 9).expect("purges").runs, 0, "one of them is open");
    end(&runs, &lease, 1, RunStatus::Succeeded);
    assert_eq!(runs.purgeable(&any).expect("counts").runs, 4);
    assert_eq!(runs.purge(&any, 9).expect("purges").runs, 4);
    assert!(runs.run(&innermost).is_err());
}

/// No content of a purged run is left in any file, but sources that other runs refer to are kept.
#[test]
fn nothing_of_a_purged_run_is_left_on_the_disk() {
    let (root, runs) = fresh();
    let blobs = root.path().join("blobs");
    fs::create_dir(&blobs).expect("makes a folder");
    let kept = |text: &str| {
        let name = milepost_model::digest::Digest::of(text.as_bytes()).to_string();
        fs::write(blobs.join(&name), text).expect("writes");
        name
    };
    let (own, shared) = (kept("marker: own file"), kept("shared file"));
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let now = u64::try_from(now.expect("is later").as_millis()).expect("fits") + 10;
    for (marker, names) in [("marker", vec![&own, &shared]), ("other", vec![&shared])] {
        for number in 0..40 {
            let names = format!("{names:?} {number}");
            let long = format!("{marker} {names} {}", format!("{marker} ").repeat(number * 500));
            let standing = RunSummary { ended_ms: Some(now), ..standing(RunStatus::Succeeded) };
            let (workspace, text) = (format!("/{marker}"), format!("text: {marker}"));
            let events = vec![event(&long)];
            let record = RunRecord { standing, workspace, ..record(&id()) };
            let new = NewRunRow { record, text, events, pins: Pins::default() };
            runs.create_now(new, None).expect("creates");
        }
    }
    let filter = PurgeFilter { workspace: Some("/marker".to_owned()), ..PurgeFilter::default() };
    let report = runs.purge(&filter, now).expect("purges");
    assert_eq!((report.runs, report.projects, report.files), (40, 1, 1));
    assert!(report.bytes > 100_000, "{report:?}");
    for place in [root.path(), &blobs, &root.path().join("progress")] {
        for name in crate::names(place) {
            let Ok(bytes) = fs::read(place.join(&name)) else { continue };
            let found = bytes.windows(6).any(|window| window == b"marker");
            assert!(!found, "{name} still tells of it");
        }
    }
    assert_eq!(crate::names(&blobs), [shared]);
    assert_eq!(runs.list(&RunFilter::default(), 100).expect("lists").runs.len(), 40);
    assert!(runs.check().expect("checks").is_sound());
}

#[test]
fn what_ended_is_removed_with_all_that_is_its_own() {
    let (root, runs) = fresh();
    let old = ended(&runs, |new| new.text = "old".to_owned(), b'a');
    let older = ended(&runs, |new| new.text = "old".to_owned(), b'b');
    let other = ended(&runs, |new| new.record.workflow = workflow("other"), b'b');
    let lease = begun(&runs);
    let message = InboxRow {
        id: MessageId::parse("m").expect("is one"),
        run: old.clone(),
        at_ms: 1,
        data: vec![1],
    };
    runs.send_now(message.clone()).expect("sends");
    let filter = PurgeFilter { workflow: Some(workflow("tidy-inbox")), ..PurgeFilter::default() };
    let expected = PurgeReport { runs: 2, events: 4, blobs: 1, texts: 1, projects: 1, ..none() };
    assert_eq!(runs.purgeable(&filter).expect("counts"), expected);
    assert_eq!(runs.run(&old).expect("is there").id, old, "nothing is gone yet");
    assert_eq!(counted(runs.purge(&filter, 9).expect("purges")), expected);
    assert_eq!(runs.purge(&filter, 9).expect("purges"), PurgeReport::default());
    for gone in [&old, &older] {
        let error = runs.run(gone).expect_err("is gone");
        assert!(matches!(error, RunsError::Journal(JournalError::NotFound { .. })), "{error:?}");
    }
    assert_eq!(events(&runs, &other).len(), 2, "what others have stays");
    assert_eq!(texts(&runs, &lease.run), ["created"], "what is open stays");
    assert_eq!(runs.tally().expect("reads").inbox, 0);
    let expected = PurgeReport { runs: 1, events: 2, blobs: 1, projects: 1, ..none() };
    assert_eq!(runs.purgeable(&PurgeFilter::default()).expect("counts"), expected);
    assert_eq!(counted(runs.purge(&PurgeFilter::default(), 9).expect("purges")), expected);
    assert!(runs.check().expect("checks").is_sound());
    drop(runs);
    let db = rusqlite::Connection::open(root.path().join("runs.db")).expect("opens");
    for (table, left) in [("runs", 1), ("events", 1), ("blobs", 0), ("texts", 1), ("inbox", 0)] {
        let sql = format!("SELECT count(*) FROM {table}");
        let count: u64 = db.query_row(&sql, [], |row| row.get(0)).expect("counts");
        assert_eq!(count, left, "{table}");
    }
}

#[test]
fn a_filter_of_a_purge_means_what_it_says() {
    let (_root, runs) = fresh();
    let of = |status, ended_ms, workspace: &str| {
        let run = id();
        let standing = RunSummary { ended_ms: Some(ended_ms), ..standing(status) };
        let workspace = workspace.to_owned();
        let new = new_of(RunRecord { standing, workspace, ..record(&run) });
        runs.create_now(new, None).expect("creates");
    };
    of(RunStatus::Failed, 100, "/a");
    of(RunStatus::Failed, 200, "/b");
    of(RunStatus::Canceled, 100, "/b");
    let any = PurgeFilter::default;
    for (filter, count) in [
        (any(), 3),
        (PurgeFilter { ended_before_ms: Some(100), ..any() }, 0),
        (PurgeFilter { ended_before_ms: Some(101), ..any() }, 2),
        (PurgeFilter { status: Some(RunStatus::Failed), ..any() }, 2),
        (PurgeFilter { status: Some(RunStatus::Succeeded), ..any() }, 0),
        (PurgeFilter { workspace: Some("/b".to_owned()), ..any() }, 2),
        (PurgeFilter { workflow: Some(workflow("other")), ..any() }, 0),
    ] {
        assert_eq!(runs.purgeable(&filter).expect("counts").runs, count, "{filter:?}");
    }
    let filter =
        PurgeFilter { ended_before_ms: Some(101), status: Some(RunStatus::Failed), ..any() };
    assert_eq!(runs.purge(&filter, 9).expect("purges").runs, 1);
    assert_eq!(runs.list(&RunFilter::default(), 10).expect("lists").runs.len(), 2);
}

#[test]
fn many_runs_are_removed_some_at_a_time() {
    let (_root, runs) = fresh();
    for _ in 0..450 {
        let standing = standing(RunStatus::Succeeded);
        let new = new_of(RunRecord { standing, ..record(&id()) });
        runs.create(new, None, |created| assert!(created.is_ok()));
    }
    let lease = begun(&runs);
    let report = runs.purge(&PurgeFilter::default(), 9).expect("purges");
    assert_eq!((report.runs, report.events, report.texts), (450, 450, 0));
    end(&runs, &lease, 1, RunStatus::Succeeded);
    assert_eq!(runs.purge(&PurgeFilter::default(), 9).expect("purges").texts, 1);
}

#[test]
fn the_file_shrinks_to_what_is_in_it() {
    let (root, runs) = fresh();
    let size = || fs::metadata(root.path().join("runs.db")).expect("is there").len();
    let lease = begun(&runs);
    for letter in 0..90 {
        ended(&runs, |_| {}, letter);
    }
    runs.vacuum().expect("shrinks");
    runs.append_now(append(&lease, 1, &["x"])).expect("appends");
    let log = fs::metadata(root.path().join("runs.db-wal")).expect("is there").len();
    assert!(log < 1_000_000, "the log does not become as large as the database: {log}");
    let before = size();
    runs.purge(&PurgeFilter::default(), 9).expect("purges");
    runs.vacuum().expect("shrinks");
    assert!(size() + 2_000_000 < before, "{before} to {}", size());
    runs.append_now(append(&lease, 2, &["y"])).expect("appends");
    assert!(runs.check().expect("checks").is_sound());
}

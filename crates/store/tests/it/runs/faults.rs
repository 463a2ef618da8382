//! A full or failing disk: no failed write is ever reported as a success.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};

use milepost_engine::ports::JournalError;
use milepost_model::id::RunId;
use milepost_store::limits::LOG_PAGES;
use milepost_store::runs::{
    AppendRows, InboxRow, MessageId, NewEvent, OpenOptions, RunStatus, Runs, RunsError,
    StorageFault, StoragePoint,
};

use super::{Now, append, begun, event, holder, id, new_run, open, standing, texts};

/// A fault of one kind, triggered after a countdown of calls.
struct Trap {
    countdown: AtomicUsize,
    fault: Mutex<Option<(StoragePoint, StorageFault)>>,
}

impl Trap {
    fn set(&self, point: StoragePoint, calls_before: usize, fault: StorageFault) {
        self.countdown.store(calls_before, Ordering::SeqCst);
        *self.fault.lock().expect("is not poisoned") = Some((point, fault));
    }

    /// Whether the fault was triggered, which happens once.
    fn went_off(&self) -> bool {
        self.fault.lock().expect("is not poisoned").is_none()
    }
}

/// Opens runs on a disk with a fault that is armed later.
fn trapped(root: &Path) -> (Runs, Arc<Trap>) {
    let trap = Arc::new(Trap { countdown: AtomicUsize::new(0), fault: Mutex::new(None) });
    let inside = Arc::clone(&trap);
    let faults = move |point| {
        let mut set = inside.fault.lock().expect("is not poisoned");
        let (_, fault) = set.filter(|(at, _)| *at == point)?;
        if inside.countdown.load(Ordering::SeqCst) > 0 {
            inside.countdown.fetch_sub(1, Ordering::SeqCst);
            return None;
        }
        *set = None;
        Some(fault)
    };
    let options = OpenOptions { faults: Some(Arc::new(faults)), ..OpenOptions::default() };
    (Runs::open(root, options).expect("opens"), trap)
}

#[test]
fn a_full_disk_is_told_and_writing_goes_on() {
    for point in [StoragePoint::Begin, StoragePoint::Statement, StoragePoint::Commit] {
        for calls in 0..30 {
            let root = tempfile::tempdir().expect("makes a directory");
            let (runs, trap) = trapped(root.path());
            let lease = begun(&runs);
            runs.append_now(append(&lease, 1, &["known"])).expect("appends");
            trap.set(point, calls, StorageFault::Full);
            let what = AppendRows {
                standing: Some(standing(RunStatus::Waiting)),
                ..append(&lease, 2, &["a", "b"])
            };
            let outcome = runs.append_now(what.clone());
            if !trap.went_off() {
                // The write makes fewer calls than that.
                assert!(calls > 0, "{point:?}");
                outcome.expect("appends");
                break;
            }
            // Nothing was started, so the writer thread may have succeeded after all.
            if point == StoragePoint::Begin && outcome.is_ok() {
                assert_eq!(texts(&runs, &lease.run), ["created", "known", "a", "b"]);
                continue;
            }
            assert!(matches!(outcome, Err(RunsError::Journal(JournalError::Full))), "{outcome:?}");
            assert!(!runs.has_failed());
            assert_eq!(texts(&runs, &lease.run), ["created", "known"], "nothing of it is there");
            runs.append_now(what).expect("there is room again");
            assert_eq!(texts(&runs, &lease.run), ["created", "known", "a", "b"]);
        }
    }
}

/// What was acknowledged, and what was pending when the fault occurred.
#[derive(Default)]
struct Told {
    run: Option<RunId>,
    events: Vec<String>,
    messages: usize,
    /// Events that were being appended.
    pending: Vec<String>,
    /// Whether a message was being sent.
    leaving: bool,
}

impl Told {
    fn begin(&mut self, texts: &[&str]) {
        self.pending = texts.iter().map(|text| (*text).to_owned()).collect();
    }

    fn done(&mut self) {
        self.events.append(&mut self.pending);
    }
}

/// Makes every kind of write about a run: create, append, message, wait, end.
fn play(runs: &Runs, told: &mut Told) -> Result<(), RunsError> {
    let run = told.run.insert(id()).clone();
    told.begin(&["created"]);
    let created = runs.create_now(new_run(&run), Some(holder()))?;
    told.done();
    runs.release_now(created.lease.expect("was asked for"))?;
    let lease = runs.take_now(run.clone(), holder(), super::glance())?.expect("is free");
    for number in 0..3 {
        let known = told.events.len() as u64;
        told.begin(&["one", "two"]);
        let waits = Some(standing(RunStatus::Waiting));
        runs.append_now(AppendRows { standing: waits, ..append(&lease, known, &["one", "two"]) })?;
        told.done();
        told.leaving = true;
        let data = vec![number; 40];
        let name = MessageId::parse(&format!("m{number}")).expect("is one");
        runs.send_now(InboxRow { id: name, run: run.clone(), at_ms: 1, data })?;
        (told.leaving, told.messages) = (false, told.messages + 1);
    }
    told.begin(&["ended"]);
    let known = told.events.len() as u64;
    let ends = Some(standing(RunStatus::Succeeded));
    runs.append_now(AppendRows { standing: ends, ..append(&lease, known, &["ended"]) })?;
    told.done();
    Ok(())
}

/// Every storage call fails in every way: what was acknowledged is there, and what was pending is
/// there completely or not at all.
#[test]
fn every_call_to_the_storage_may_go_wrong() {
    let mut tried = 0;
    for point in [StoragePoint::Begin, StoragePoint::Statement, StoragePoint::Commit] {
        for fault in [StorageFault::Io, StorageFault::Full, StorageFault::Late] {
            for calls in 0.. {
                let root = crate::in_memory();
                let (runs, trap) = trapped(root.path());
                trap.set(point, calls, fault);
                let mut told = Told::default();
                let outcome = play(&runs, &mut told);
                if !trap.went_off() {
                    assert!(calls >= 5, "{point:?}: only {calls} calls");
                    outcome.expect("nothing goes wrong");
                    break;
                }
                tried += 1;
                let at = format!("{fault:?} at {point:?}, call {calls}");
                let failed = fault != StorageFault::Full;
                match outcome {
                    Err(RunsError::Journal(JournalError::Failed)) => assert!(failed, "{at}"),
                    Err(RunsError::Journal(JournalError::Full)) => assert!(!failed, "{at}"),
                    // The fault hit a background write, such as a heartbeat.
                    Ok(()) => {}
                    Err(error) => panic!("{at}: {error:?}"),
                }
                if !failed {
                    assert!(!runs.has_failed(), "{at}");
                }
                drop(runs);
                there(
                    root.path(),
                    &told,
                    &at,
                    fault == StorageFault::Late && point == StoragePoint::Commit,
                );
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

/// Checks in a new process that what was acknowledged is there, and that the rest can be done.
fn there(root: &Path, told: &Told, at: &str, late: bool) {
    let runs = open(root);
    assert!(runs.check().expect("checks").is_sound(), "{at}");
    let run = told.run.as_ref().expect("has one");
    let begun = runs.run(run).is_ok();
    let found = if begun { texts(&runs, run) } else { Vec::new() };
    let whole: Vec<String> = told.events.iter().chain(&told.pending).cloned().collect();
    assert!(
        found == told.events || late && found == whole,
        "{at}: {found:?}, told {:?}",
        told.events
    );
    let left = || runs.pending(run).expect("reads").messages.len();
    let messages = if begun { left() } else { 0 };
    let one_more = late && told.leaving && messages == told.messages + 1;
    assert!(messages == told.messages || one_more, "{at}: {messages} of {}", told.messages);
}

#[test]
fn a_disk_that_fails_is_never_trusted_again() {
    for point in [StoragePoint::Begin, StoragePoint::Statement, StoragePoint::Commit] {
        for fault in [StorageFault::Io, StorageFault::Late] {
            for calls in 0..12 {
                fails(point, calls, fault);
            }
        }
    }
}

fn fails(point: StoragePoint, calls: usize, fault: StorageFault) {
    let root = crate::in_memory();
    let (runs, trap) = trapped(root.path());
    let lease = begun(&runs);
    trap.set(point, calls, fault);
    let mut known = 1;
    let error = loop {
        match runs.append_now(append(&lease, known, &["x"])) {
            Ok(appended) => known = appended.last_seq,
            Err(error) => break error,
        }
    };
    assert!(
        matches!(error, RunsError::Journal(JournalError::Failed)),
        "{point:?} {fault:?}: {error:?}"
    );
    assert!(runs.has_failed());
    // The failure is permanent and affects all writers.
    let error = runs.create_now(new_run(&id()), None).expect_err("nothing is written");
    assert!(matches!(error, RunsError::Journal(JournalError::Failed)), "{error:?}");
    assert!(texts(&runs, &lease.run).len() as u64 >= known, "reading goes on");
    drop(runs);
    let runs = open(root.path());
    let there = texts(&runs, &lease.run).len() as u64;
    assert!(there == known || there == known + 1, "{there} of {known}: acknowledged and lost");
    let kept = fault == StorageFault::Late && point == StoragePoint::Commit;
    assert_eq!(there == known + 1, kept, "{point:?} {fault:?}");
    assert!(runs.check().expect("checks").is_sound());
}

#[test]
fn everybody_in_a_batch_hears_of_a_failure() {
    let root = tempfile::tempdir().expect("makes a directory");
    let (runs, trap) = trapped(root.path());
    let lease = begun(&runs);
    let (sender, answers) = mpsc::channel();
    trap.set(StoragePoint::Commit, 1, StorageFault::Io);
    for number in 0..50 {
        let sender = sender.clone();
        let message = InboxRow {
            id: MessageId::parse(&format!("m{number}")).expect("is one"),
            run: lease.run.clone(),
            at_ms: 1,
            data: vec![1],
        };
        runs.send(message, move |outcome| sender.send(outcome).expect("is heard"));
    }
    drop(sender);
    let answers: Vec<_> = answers.iter().collect();
    assert_eq!(answers.len(), 50, "each is answered");
    let acknowledged = answers.iter().filter(|answer| answer.is_ok()).count();
    let failed = |answer: &&Result<_, RunsError>| {
        matches!(answer, Err(RunsError::Journal(JournalError::Failed)))
    };
    drop(runs);
    let kept = open(root.path()).pending(&lease.run).expect("reads").messages.len();
    assert_eq!(kept, acknowledged, "as many as were acknowledged");
    assert_eq!(answers.iter().filter(failed).count() + acknowledged, 50);
}

#[test]
fn a_log_that_cannot_be_moved_ends_all_writing_and_loses_nothing() {
    let root = tempfile::tempdir().expect("makes a directory");
    let (runs, trap) = trapped(root.path());
    let lease = begun(&runs);
    trap.set(StoragePoint::Checkpoint, 0, StorageFault::Io);
    let large = NewEvent { data: vec![7; 64 * 1024], ..event("") };
    let mut known = 1;
    // Enough to fill the log several times.
    for _ in 0..LOG_PAGES {
        let what = AppendRows { events: vec![large.clone(); 4], ..append(&lease, known, &[]) };
        match runs.append_now(what) {
            Ok(appended) => known = appended.last_seq,
            Err(error) => {
                assert!(matches!(error, RunsError::Journal(JournalError::Failed)), "{error:?}");
                break;
            }
        }
    }
    assert!(runs.has_failed() && trap.went_off());
    drop(runs);
    assert_eq!(super::events(&open(root.path()), &lease.run).len() as u64, known);
}

#[test]
fn a_database_that_is_really_full_is_told() {
    let root = tempfile::tempdir().expect("makes a directory");
    drop(open(root.path()));
    let options = OpenOptions { pages_max: Some(200), ..OpenOptions::default() };
    let runs = Runs::open(root.path(), options).expect("opens");
    let lease = begun(&runs);
    let large = NewEvent { data: vec![7; 50_000], ..event("") };
    let mut known = 1;
    let error = loop {
        let what = AppendRows { events: vec![large.clone()], ..append(&lease, known, &[]) };
        match runs.append_now(what) {
            Ok(appended) => known = appended.last_seq,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, RunsError::Journal(JournalError::Full)), "{error:?}");
    assert!(known > 2 && !runs.has_failed());
    // Small writes still fit, and nothing is lost.
    runs.append_now(append(&lease, known, &["small"])).expect("fits");
    assert_eq!(super::events(&runs, &lease.run).len() as u64, known + 1);
    assert!(runs.check().expect("checks").is_sound());
    drop(runs);
    let runs = open(root.path());
    let taken = runs
        .take_now(lease.run.clone(), holder(), super::glance())
        .expect("asks")
        .expect("is free");
    let what = AppendRows { events: vec![large], ..append(&taken, known + 1, &[]) };
    runs.append_now(what).expect("there is room again");
}

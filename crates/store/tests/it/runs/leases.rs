//! One process at a time drives a run; when it is gone, another one takes over.

use std::slice;
use std::time::Duration;

use milepost_engine::ports::JournalError;
use milepost_store::runs::{
    AppendRows, HeartbeatRow, HolderId, InboxRow, Lease, LivenessQuery, MessageId, RunRecord,
    RunStatus, RunSummary, Runs, RunsError, RunsReader, Takeover,
};

use super::{Now, append, begun, end, fresh, holder, id, new_of, record, standing, texts};

const TTL: u64 = 1_000;
/// How long a silent process without a lock counts as alive, on the clock of the observer.
const BELIEVED: u64 = 6_000;
/// How long a silent process whose lock is held counts as alive.
const HELD: u64 = 60_000;

fn beat(runs: &Runs, holder: &HolderId, now_ms: u64) {
    let beat = HeartbeatRow { holder: holder.clone(), pid: 1, now_ms, ttl_ms: TTL };
    runs.beat_now(beat).expect("beats");
}

fn at(ms: u64) -> LivenessQuery {
    LivenessQuery { at: Duration::from_millis(ms), takeover: Takeover::Silent }
}

fn take(runs: &Runs, lease: &Lease, holder: &HolderId, at_ms: u64) -> Option<Lease> {
    runs.take_now(lease.run.clone(), holder.clone(), at(at_ms)).expect("asks")
}

/// Polls for a period of time, as an observer does.
fn watched(runs: &Runs, lease: &Lease, from_ms: u64, for_ms: u64) -> Option<Lease> {
    let other = holder();
    let mut looks = (0..=for_ms).step_by(1_000);
    looks.find_map(|passed| take(runs, lease, &other, from_ms + passed))
}

#[test]
fn a_holder_without_a_lock_is_believed_until_its_heartbeat_stands_still() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    beat(&runs, &lease.holder, 100);
    assert_eq!(watched(&runs, &lease, 0, BELIEVED - 1_000), None);
    // A new heartbeat counts regardless of the time it states, because the holder's clock may be
    // wrong.
    beat(&runs, &lease.holder, 1);
    assert_eq!(watched(&runs, &lease, BELIEVED, BELIEVED - 1_000), None);
    let taken = watched(&runs, &lease, 2 * BELIEVED, BELIEVED).expect("the holder is gone");
    assert_eq!(taken.epoch, 2);
}

/// A stopped process is still alive: its lock proves it, for ten times as long.
#[test]
fn a_holder_whose_lock_is_held_is_alive() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    let _alive = runs.claim(&lease.holder).expect("claims");
    beat(&runs, &lease.holder, 100);
    assert_eq!(watched(&runs, &lease, 0, HELD - 1_000), None);
    let taken = watched(&runs, &lease, HELD, 2_000).expect("it does not come back");
    assert_eq!(taken.epoch, 2);
}

/// This holds even if a process of an earlier version, with its clock ahead, removed the holder
/// from the list.
#[test]
fn a_holder_whose_lock_is_held_need_not_be_on_the_list() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    let _alive = runs.claim(&lease.holder).expect("claims");
    assert_eq!(watched(&runs, &lease, 0, HELD / 2), None);
}

/// A period without polling proves nothing: the observer may have been stopped as well.
#[test]
fn who_did_not_look_has_seen_nothing() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    let _alive = runs.claim(&lease.holder).expect("claims");
    beat(&runs, &lease.holder, 100);
    let other = holder();
    assert_eq!(take(&runs, &lease, &other, 0), None);
    assert_eq!(take(&runs, &lease, &other, 10 * HELD), None);
    let away = LivenessQuery { takeover: Takeover::Free, ..at(11 * HELD) };
    let taken = runs.take_now(lease.run.clone(), other, away).expect("asks");
    assert_eq!(taken, None, "and who was away judges nobody");
}

/// If the acknowledgement of a lease was lost, its holder does not know that it holds the lease.
#[test]
fn what_is_held_and_not_driven_is_given_back() {
    let (_root, runs) = fresh();
    let (driven, lost) = (begun(&runs), begun(&runs));
    let me = holder();
    let _alive = runs.claim(&me).expect("claims");
    let driven = take(&runs, &driven, &me, 0).expect("is free");
    let lost = take(&runs, &lost, &me, 0).expect("is free");
    let (done, outcome) = std::sync::mpsc::channel();
    runs.disown(me, vec![driven.run.clone()], move |result| done.send(result).expect("waits"));
    outcome.recv().expect("answers").expect("disowns");
    runs.append_now(append(&driven, 1, &["x"])).expect("is still held");
    runs.append_now(append(&lost, 1, &["x"])).expect_err("is not");
}

/// A holder whose process has ended is gone, regardless of what its last heartbeat promised.
#[test]
fn the_run_of_a_process_that_ended_is_free_at_once() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    let alive = runs.claim(&lease.holder).expect("claims");
    beat(&runs, &lease.holder, 100);
    let other = holder();
    let reader = RunsReader::open(runs.directory()).expect("looks").expect("there are runs");
    assert!(reader.is_driven(&lease.run, 100).expect("reads"));
    assert_eq!(take(&runs, &lease, &other, 100), None);
    drop(alive);
    assert!(!reader.is_driven(&lease.run, 100).expect("reads"));
    assert_eq!(runs.adrift(100, None, 10, at(0)).expect("reads"), slice::from_ref(&lease.run));
    assert_eq!(take(&runs, &lease, &other, 100).expect("it is gone").epoch, 2);
    // Files left behind are removed by the next process.
    let dead = holder();
    let left = runs.directory().join("wake").join(format!("{dead}.alive"));
    std::fs::write(&left, "").expect("writes");
    let next = holder();
    let _alive = runs.claim(&next).expect("claims");
    assert!(!left.exists());
}

#[test]
fn who_lost_a_run_cannot_write_to_it() {
    let (_root, runs) = fresh();
    let old = begun(&runs);
    let new = take(&runs, &old, &holder(), 100).expect("the holder never was alive");
    let error = runs.append_now(append(&old, 1, &["late"])).expect_err("is fenced");
    assert!(
        matches!(&error, RunsError::Journal(JournalError::Fenced { run }) if *run == old.run),
        "{error:?}"
    );
    runs.append_now(append(&new, 1, &["on time"])).expect("appends");
    // A write with an epoch that is not the holder's own fails as well.
    let forged = Lease { epoch: new.epoch, ..old.clone() };
    runs.append_now(append(&forged, 2, &["late"])).expect_err("is fenced");
    let forged = Lease { epoch: new.epoch + 1, ..new.clone() };
    runs.append_now(append(&forged, 2, &["late"])).expect_err("is fenced");
    assert_eq!(texts(&runs, &old.run), ["created", "on time"]);
}

#[test]
fn taking_it_again_voids_what_one_had() {
    let (_root, runs) = fresh();
    let first = begun(&runs);
    beat(&runs, &first.holder, 100);
    let second = take(&runs, &first, &first.holder, 100).expect("is its own");
    assert_eq!(second.epoch, 2);
    runs.append_now(append(&first, 1, &["x"])).expect_err("is fenced");
    runs.append_now(append(&second, 1, &["x"])).expect("appends");
}

#[test]
fn what_is_given_back_is_free_and_its_epoch_grows() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    beat(&runs, &lease.holder, 100);
    runs.release_now(lease.clone()).expect("releases");
    runs.append_now(append(&lease, 1, &["x"])).expect_err("is fenced");
    let other = holder();
    beat(&runs, &other, 100);
    let taken = take(&runs, &lease, &other, 100).expect("is free");
    assert_eq!(taken.epoch, 2);
    // Releasing a lease that was already lost is a no-op.
    runs.release_now(lease).expect("releases");
    runs.append_now(append(&taken, 1, &["x"])).expect("appends");
    runs.leave_now(other).expect("leaves");
    runs.append_now(append(&taken, 2, &["x"])).expect_err("is fenced");
    assert_eq!(take(&runs, &taken, &holder(), 100).expect("is free").epoch, 3);
}

#[test]
fn a_run_that_is_not_there_is_not_taken() {
    let (_root, runs) = fresh();
    let error = runs.take_now(id(), holder(), at(1)).expect_err("there is none");
    assert!(matches!(error, RunsError::Journal(JournalError::NotFound { .. })), "{error:?}");
}

#[test]
fn runs_are_adrift_when_there_is_something_to_do_and_nobody_to_do_it() {
    let (_root, runs) = fresh();
    let of = |standing: RunSummary| {
        let run = id();
        runs.create_now(new_of(RunRecord { standing, ..record(&run) }), None).expect("creates");
        run
    };
    let pending = of(standing(RunStatus::Pending));
    let running = of(standing(RunStatus::Running));
    let waiting = of(standing(RunStatus::Waiting));
    let woken = of(RunSummary { wake_ms: Some(500), ..standing(RunStatus::Waiting) });
    let ended = of(standing(RunStatus::Succeeded));
    assert_eq!(
        runs.adrift(499, None, 10, at(0)).expect("asks"),
        [pending.clone(), running.clone()]
    );
    let now = [pending.clone(), running.clone(), woken.clone()];
    assert_eq!(runs.adrift(500, None, 10, at(0)).expect("asks"), now);
    assert_eq!(runs.adrift(500, None, 2, at(0)).expect("asks"), now[..2]);
    for run in [&waiting, &ended] {
        let message = InboxRow {
            id: MessageId::parse(run.as_str()).expect("is one"),
            run: run.clone(),
            at_ms: 1,
            data: b"hello".to_vec(),
        };
        runs.send_now(message).expect("sends");
    }
    assert_eq!(runs.adrift(500, None, 10, at(0)).expect("asks").len(), 5);
    // Runs with a living driver are not adrift.
    let driver = holder();
    beat(&runs, &driver, 500);
    for run in [&pending, &running, &waiting, &woken, &ended] {
        runs.take_now(run.clone(), driver.clone(), at(0)).expect("asks").expect("is free");
    }
    assert!(runs.adrift(500, None, 10, at(0)).expect("asks").is_empty());
    for at_ms in (0..BELIEVED).step_by(1_000) {
        assert!(runs.adrift(500 + TTL, None, 10, at(at_ms)).expect("asks").is_empty());
    }
    let gone = runs.adrift(500, None, 10, at(BELIEVED)).expect("asks");
    assert_eq!(gone.len(), 5, "the driver is gone");
}

#[test]
fn a_run_that_ended_is_not_adrift() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    assert_eq!(runs.adrift(1, None, 10, at(0)).expect("asks"), slice::from_ref(&lease.run));
    end(&runs, &lease, 1, RunStatus::Succeeded);
    assert!(runs.adrift(1, None, 10, at(0)).expect("asks").is_empty());
    let again = AppendRows {
        standing: Some(standing(RunStatus::Running)),
        ..append(&lease, 2, &["resumed"])
    };
    runs.append_now(again).expect("appends");
    assert_eq!(runs.adrift(1, None, 10, at(0)).expect("asks"), [lease.run]);
}

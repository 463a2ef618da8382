//! One process at a time drives a run, and the next one when that is gone.

use std::slice;

use milepost_store::runs::{
    Append, Beat, HolderId, InboxRow, Lease, MessageId, NewRun, RunStatus, Runs, RunsError,
    RunsReader, Standing,
};

use super::{append, begun, end, fresh, holder, id, new_run, standing, texts};

const TTL: u64 = 1_000;

fn beat(runs: &Runs, holder: &HolderId, now_ms: u64) {
    let beat = Beat { holder: holder.clone(), pid: 1, now_ms, ttl_ms: TTL };
    runs.beat_now(beat).expect("beats");
}

fn take(runs: &Runs, lease: &Lease, holder: &HolderId, now_ms: u64) -> Option<Lease> {
    runs.take_now(lease.run.clone(), holder.clone(), now_ms).expect("asks")
}

#[test]
fn nobody_takes_the_run_of_a_holder_that_is_alive() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    beat(&runs, &lease.holder, 100);
    let other = holder();
    assert_eq!(take(&runs, &lease, &other, 100), None);
    assert_eq!(take(&runs, &lease, &other, 100 + TTL - 1), None);
    let taken = take(&runs, &lease, &other, 100 + TTL).expect("the holder is gone");
    assert_eq!((taken.epoch, &taken.holder), (2, &other));
}

/// A holder whose process has ended is gone, whatever its last sign of life promised.
#[test]
fn the_run_of_a_process_that_ended_is_free_at_once() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    let alive = runs.claim(&lease.holder, 100).expect("claims");
    beat(&runs, &lease.holder, 100);
    let other = holder();
    let reader = RunsReader::open(runs.directory()).expect("looks").expect("there are runs");
    assert!(reader.is_driven(&lease.run, 100).expect("reads"));
    assert_eq!(take(&runs, &lease, &other, 100), None);
    drop(alive);
    assert!(!reader.is_driven(&lease.run, 100).expect("reads"));
    assert_eq!(runs.adrift(100, 10).expect("reads"), slice::from_ref(&lease.run));
    assert_eq!(take(&runs, &lease, &other, 100).expect("it is gone").epoch, 2);
    // What is left behind is cleared away by whoever comes next.
    let dead = holder();
    let left = runs.directory().join("wake").join(format!("{dead}.alive"));
    std::fs::write(&left, "").expect("writes");
    let next = holder();
    let _alive = runs.claim(&next, 100).expect("claims");
    assert!(!left.exists());
}

#[test]
fn who_lost_a_run_cannot_write_to_it() {
    let (_root, runs) = fresh();
    let old = begun(&runs);
    let new = take(&runs, &old, &holder(), 100).expect("the holder never was alive");
    let error = runs.append_now(append(&old, 1, &["late"])).expect_err("is fenced");
    assert!(matches!(&error, RunsError::Fenced { run } if *run == old.run), "{error:?}");
    runs.append_now(append(&new, 1, &["on time"])).expect("appends");
    // Neither with an epoch that is not its own.
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
    // Giving back what one has no more changes nothing.
    runs.release_now(lease).expect("releases");
    runs.append_now(append(&taken, 1, &["x"])).expect("appends");
    runs.leave_now(other).expect("leaves");
    runs.append_now(append(&taken, 2, &["x"])).expect_err("is fenced");
    assert_eq!(take(&runs, &taken, &holder(), 100).expect("is free").epoch, 3);
}

#[test]
fn a_run_that_is_not_there_is_not_taken() {
    let (_root, runs) = fresh();
    let error = runs.take_now(id(), holder(), 1).expect_err("there is none");
    assert!(matches!(error, RunsError::NotFound { .. }), "{error:?}");
}

#[test]
fn runs_are_adrift_when_there_is_something_to_do_and_nobody_to_do_it() {
    let (_root, runs) = fresh();
    let of = |standing: Standing| {
        let run = id();
        runs.create_now(NewRun { standing, ..new_run(&run) }, None).expect("creates");
        run
    };
    let pending = of(standing(RunStatus::Pending));
    let running = of(standing(RunStatus::Running));
    let waiting = of(standing(RunStatus::Waiting));
    let woken = of(Standing { wake_ms: Some(500), ..standing(RunStatus::Waiting) });
    let ended = of(standing(RunStatus::Succeeded));
    assert_eq!(runs.adrift(499, 10).expect("asks"), [pending.clone(), running.clone()]);
    let now = [pending.clone(), running.clone(), woken.clone()];
    assert_eq!(runs.adrift(500, 10).expect("asks"), now);
    assert_eq!(runs.adrift(500, 2).expect("asks"), now[..2]);
    for run in [&waiting, &ended] {
        let message = InboxRow {
            id: MessageId::parse(run.as_str()).expect("is one"),
            run: run.clone(),
            at_ms: 1,
            data: b"hello".to_vec(),
        };
        runs.send_now(message).expect("sends");
    }
    assert_eq!(runs.adrift(500, 10).expect("asks").len(), 5);
    // Driven by somebody alive, they are not.
    let driver = holder();
    beat(&runs, &driver, 500);
    for run in [&pending, &running, &waiting, &woken, &ended] {
        runs.take_now(run.clone(), driver.clone(), 500).expect("asks").expect("is free");
    }
    assert!(runs.adrift(500, 10).expect("asks").is_empty());
    assert_eq!(runs.adrift(500 + TTL, 10).expect("asks").len(), 5, "the driver is gone");
}

#[test]
fn a_run_that_ended_is_not_adrift() {
    let (_root, runs) = fresh();
    let lease = begun(&runs);
    assert_eq!(runs.adrift(1, 10).expect("asks"), slice::from_ref(&lease.run));
    end(&runs, &lease, 1, RunStatus::Succeeded);
    assert!(runs.adrift(1, 10).expect("asks").is_empty());
    let again =
        Append { standing: Some(standing(RunStatus::Running)), ..append(&lease, 2, &["resumed"]) };
    runs.append_now(again).expect("appends");
    assert_eq!(runs.adrift(1, 10).expect("asks"), [lease.run]);
}

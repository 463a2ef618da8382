//! A log that is damaged after a process was killed: if an acknowledged event is missing, its run
//! is quarantined and named.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use milepost_engine::ports::JournalError;
use milepost_model::id::RunId;
use milepost_store::runs::{
    AppendRows, Durability, FILE, InboxRow, Lease, MessageId, RunFilter, RunRecord, RunStatus,
    RunSummary, Runs, RunsError, RunsReader,
};
use tempfile::TempDir;

use super::{Now, append, end, glance, holder, id, new_of, new_run, open, record, standing, texts};

/// Pseudo-random numbers that are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).expect("fits") % bound
    }
}

/// The number of damaged logs to check: a dozen, unless a soak test requests more.
fn damages() -> u64 {
    let wanted = std::env::var("MILEPOST_DAMAGES").ok();
    wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(12)
}

/// Copies the files of a running process, as found after it was killed.
fn killed(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("reads") {
        let path = entry.expect("is there").path();
        let target = to.join(path.file_name().expect("has a name"));
        if path.is_dir() {
            fs::create_dir(&target).expect("makes a folder");
            killed(&path, &target);
        } else if path.is_file() {
            fs::copy(&path, &target).expect("copies");
        }
    }
}

fn copy_of(root: &Path) -> TempDir {
    let copy = crate::in_memory();
    killed(root, copy.path());
    // Shared memory disappears with the last process.
    drop(fs::remove_file(copy.path().join(format!("{FILE}-shm"))));
    copy
}

/// A write as drivers make it, which always includes the summary of the run.
fn moved(lease: &Lease, seq: u64, text: &str) -> AppendRows {
    let standing = RunSummary { updated_ms: 10 + seq, ..standing(RunStatus::Running) };
    AppendRows { standing: Some(standing), ..append(lease, seq, &[text]) }
}

/// Concurrent runs, and the number of acknowledged events of each.
fn busy(root: &Path, dice: &mut Dice) -> (Runs, BTreeMap<RunId, usize>) {
    let runs = open(root);
    let (mut leases, mut acknowledged): (Vec<Lease>, _) = (Vec::new(), BTreeMap::new());
    for round in 0..40 {
        if round % 8 == 0 {
            let relaxed = dice.below(2) == 0;
            let durability = if relaxed { Durability::Relaxed } else { Durability::Full };
            let new = new_of(RunRecord { durability, ..record(&id()) });
            let created = runs.create_now(new, Some(holder())).expect("creates");
            leases.push(created.lease.expect("was asked for"));
        } else {
            let lease = &leases[dice.below(leases.len())];
            let seq = acknowledged.get(&lease.run).copied().unwrap_or(1) as u64;
            let long = "x".repeat(dice.below(3_000));
            let durability = runs.run(&lease.run).expect("is there").durability;
            runs.append_now(AppendRows { durability, ..moved(lease, seq, &long) })
                .expect("appends");
        }
        for lease in &leases {
            let there = texts(&runs, &lease.run).len();
            acknowledged.insert(lease.run.clone(), there);
        }
    }
    (runs, acknowledged)
}

/// Flips a bit, truncates the log, or removes it.
fn damage(log: &Path, dice: &mut Dice) -> String {
    let mut bytes = fs::read(log).expect("reads");
    let at = dice.below(bytes.len());
    match dice.below(4) {
        0 => {
            fs::remove_file(log).expect("removes");
            "removed".to_owned()
        }
        1 => {
            bytes.truncate(at);
            fs::write(log, &bytes).expect("writes");
            format!("cut at {at}")
        }
        _ => {
            bytes[at] ^= 1 << dice.below(8);
            fs::write(log, &bytes).expect("writes");
            format!("flipped at {at}")
        }
    }
}

/// Checks that everything missing is reported, and returns the number of quarantined runs.
fn check(root: &Path, acknowledged: &BTreeMap<RunId, usize>, what: &str) -> usize {
    let named = |when: &str| -> Vec<RunId> {
        let found = RunsReader::open(root).expect("opens").map(|reader| reader.examine(1));
        match found.transpose().expect(when) {
            Some(found) => found.behind.into_iter().map(|(run, _)| run).collect(),
            None => {
                milepost_store::runs::noted_runs(root).into_iter().map(|(run, _)| run).collect()
            }
        }
    };
    let before = named("looks before anybody writes");
    let runs = open(root);
    let mut set_aside = 0;
    for (run, events) in acknowledged {
        match runs.run(run) {
            Ok(row) if !row.quarantined => {
                assert!(texts(&runs, run).len() >= *events, "{what}: {run} lost events silently");
                assert!(!before.contains(run), "{what}: {run} is whole");
            }
            Ok(_) | Err(RunsError::Journal(JournalError::Quarantined { .. })) => {
                set_aside += 1;
                assert!(before.contains(run), "{what}: {run} is not named before");
                assert!(named("looks after").contains(run), "{what}: {run} is not named after");
                let taken = runs.take_now(run.clone(), holder(), glance());
                assert!(
                    matches!(taken, Err(RunsError::Journal(JournalError::Quarantined { .. }))),
                    "{what}: {taken:?}"
                );
                let again = runs.create_now(new_run(run), None);
                let refused =
                    matches!(again, Err(RunsError::Journal(JournalError::Quarantined { .. })))
                        || again.as_ref().is_ok_and(|created| created.already);
                assert!(refused, "{what}: {again:?}");
            }
            other => panic!("{what}: {run} is gone silently: {other:?}"),
        }
    }
    assert!(runs.list(&RunFilter::default(), 100).is_ok(), "{what}");
    // Other runs continue, and later processes still know about the quarantined ones.
    runs.create_now(new_run(&id()), None).expect("begins");
    drop(runs);
    let runs = open(root);
    let still = acknowledged.keys().filter(|run| match runs.run(run) {
        Ok(row) => row.quarantined,
        Err(_) => true,
    });
    assert_eq!(still.count(), set_aside, "{what}: opened once more");
    set_aside
}

#[test]
fn a_damaged_log_loses_nothing_silently() {
    let mut found = 0;
    for seed in 0..damages() {
        let mut dice = Dice(seed * 7 + 1);
        let root = crate::in_memory();
        let (runs, acknowledged) = busy(root.path(), &mut dice);
        let copy = copy_of(root.path());
        drop(runs);
        let what = damage(&copy.path().join(format!("{FILE}-wal")), &mut dice);
        found += check(copy.path(), &acknowledged, &format!("seed {seed}: {what}"));
    }
    assert!(found > 0, "some of it hurts");
}

#[test]
fn a_log_that_is_whole_accuses_nobody() {
    let mut dice = Dice(3);
    let root = crate::in_memory();
    let (runs, acknowledged) = busy(root.path(), &mut dice);
    let copy = copy_of(root.path());
    assert_eq!(check(copy.path(), &acknowledged, "killed"), 0);
    drop(runs);
    let left = fs::read_dir(root.path().join("progress")).map_or(0, Iterator::count);
    assert_eq!(left, 0, "what was noted goes with the last one out");
    assert_eq!(check(root.path(), &acknowledged, "in order"), 0);
}

/// A power failure may tear unsynced commits anywhere.
#[test]
fn an_unsynced_end_that_power_took_is_no_damage() {
    let root = crate::in_memory();
    let runs = open(root.path());
    let new = new_of(RunRecord { durability: Durability::Relaxed, ..record(&id()) });
    let lease = runs.create_now(new, Some(holder())).expect("creates").lease.expect("is there");
    for seq in 1..20 {
        let what = moved(&lease, seq, "y");
        runs.append_now(AppendRows { durability: Durability::Relaxed, ..what }).expect("appends");
    }
    let copy = copy_of(root.path());
    drop(runs);
    // Simulates a reboot.
    let used = copy.path().join("runs.use");
    fs::write(&used, "open\n00000000-0000-0000-0000-000000000000\n").expect("writes");
    fs::remove_dir_all(copy.path().join("progress")).expect("removes");
    let log = copy.path().join(format!("{FILE}-wal"));
    let mut bytes = fs::read(&log).expect("reads");
    // One page never reached the disk, but later pages did.
    let frame = 32 + (bytes.len() - 32) / 4120 * 3 / 4 * 4120;
    bytes[frame..frame + 4120].fill(0);
    fs::write(&log, &bytes).expect("writes");
    let runs = open(copy.path());
    let there = texts(&runs, &lease.run).len();
    assert!((1..20).contains(&there), "{there}");
    let taken = runs.take_now(lease.run.clone(), holder(), glance()).expect("asks");
    let taken = taken.expect("is free");
    end(&runs, &taken, there as u64, RunStatus::Succeeded);
}

/// A lost message that was acknowledged is detected like a lost event.
#[test]
fn a_lost_message_is_missed() {
    let root = crate::in_memory();
    let runs = open(root.path());
    let run = id();
    runs.create_now(new_run(&run), None).expect("creates");
    let log = root.path().join(format!("{FILE}-wal"));
    let before = fs::metadata(&log).expect("is there").len();
    let message = InboxRow {
        id: MessageId::parse("approve:1").expect("is an id"),
        run: run.clone(),
        at_ms: 9,
        data: b"yes".to_vec(),
    };
    runs.send_now(message).expect("sends");
    let copy = copy_of(root.path());
    drop(runs);
    let log = copy.path().join(format!("{FILE}-wal"));
    let bytes = fs::read(&log).expect("reads");
    fs::write(&log, &bytes[..usize::try_from(before).expect("fits")]).expect("cuts");
    assert!(open(copy.path()).run(&run).expect("is there").quarantined);
}

/// A run that was removed on purpose is not reported as missing.
#[test]
fn a_purged_run_is_not_missed() {
    let root = crate::in_memory();
    let runs = open(root.path());
    let created = runs.create_now(new_run(&id()), Some(holder())).expect("creates");
    let lease = created.lease.expect("was asked for");
    end(&runs, &lease, 1, RunStatus::Succeeded);
    let other = open(root.path());
    other.purge(&milepost_store::runs::PurgeFilter::default(), 9).expect("purges");
    let copy = copy_of(root.path());
    let found = RunsReader::open(copy.path()).expect("opens").expect("is there");
    assert_eq!(found.examine(1).expect("looks").behind, []);
    let found = open(copy.path()).run(&lease.run);
    assert!(matches!(found, Err(RunsError::Journal(JournalError::NotFound { .. }))), "{found:?}");
}

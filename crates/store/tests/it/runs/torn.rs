//! A log that is torn off at every frame and in the middle of each: what was acknowledged before
//! that point is there, and nothing is there partially.

use std::fs;
use std::path::Path;

use milepost_model::id::RunId;
use milepost_store::runs::{FILE, Lease, RunStatus, Runs};

use super::{Now, append, begun, end, holder, new_run, open, texts};

/// The sizes of the log header and of each frame header.
const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;

/// Offsets of the cut relative to the end of a frame.
const TEARS: [isize; 4] = [-1_000, -1, 0, 25];

/// A point in time: the length of the log, and what had been acknowledged.
struct Moment {
    log: usize,
    texts: Vec<String>,
}

fn log_of(root: &Path) -> Vec<u8> {
    fs::read(root.join(format!("{FILE}-wal"))).expect("reads")
}

fn page_of(log: &[u8]) -> usize {
    u32::from_be_bytes(log[8..12].try_into().expect("four bytes")) as usize
}

/// Copies the current files, as found after a machine stopped.
fn copy(from: &Path, to: &Path, log: &[u8]) {
    for entry in fs::read_dir(from).expect("reads") {
        let entry = entry.expect("is there");
        let name = entry.file_name().to_string_lossy().into_owned();
        // Shared memory is lost when the machine stops.
        if entry.path().is_file() && !name.ends_with("-shm") && !name.ends_with("-wal") {
            fs::copy(entry.path(), to.join(&name)).expect("copies");
        }
    }
    fs::write(to.join(format!("{FILE}-wal")), log).expect("writes");
}

/// Appends to a run event by event, and records the length of the log after each.
fn written(runs: &Runs, root: &Path) -> (Lease, Vec<Moment>) {
    let lease = begun(runs);
    let mut moments = vec![Moment { log: log_of(root).len(), texts: vec!["created".to_owned()] }];
    for number in 0..6_u64 {
        let long = format!("{number} {}", "x".repeat(usize::try_from(number).unwrap_or(0) * 200));
        let events = [long.as_str(), "more"];
        runs.append_now(append(&lease, 1 + number * 2, &events)).expect("appends");
        let mut texts = moments.last().expect("has one").texts.clone();
        texts.extend(events.map(str::to_owned));
        moments.push(Moment { log: log_of(root).len(), texts });
    }
    (lease, moments)
}

#[test]
fn a_torn_log_ends_at_its_last_whole_commit() {
    let root = crate::in_memory();
    let runs = open(root.path());
    let (lease, moments) = written(&runs, root.path());
    let log = log_of(root.path());
    let page = page_of(&log);
    let frames = (log.len() - HEADER) / (page + FRAME_HEADER);
    assert!(frames > 12, "{frames} frames");
    let torn = crate::in_memory();
    for frame in 0..=frames {
        for tear in TEARS {
            let at = HEADER + frame * (page + FRAME_HEADER);
            let Some(at) = at.checked_add_signed(tear).filter(|at| *at <= log.len()) else {
                continue;
            };
            // Truncated, or with the rest replaced by garbage or zeros.
            for (rest, byte) in [(0, 0), (300, 0xA5), (5_000, 0)] {
                let mut short = log[..at].to_vec();
                short.extend(std::iter::repeat_n(byte, rest));
                let folder = torn.path().join(format!("{at}-{rest}"));
                fs::create_dir(&folder).expect("makes a folder");
                copy(root.path(), &folder, &short);
                check(&folder, &lease.run, at, &moments);
            }
        }
    }
}

fn check(folder: &Path, run: &RunId, at: usize, moments: &[Moment]) {
    let whole = moments.iter().rev().find(|moment| moment.log <= at);
    let runs = open(folder);
    let Some(whole) = whole else {
        // This run was never acknowledged: it is there in its initial state, or not at all.
        return;
    };
    let there = texts(&runs, run);
    assert_eq!(there, whole.texts, "cut at {at}");
    assert!(runs.check().expect("checks").is_sound(), "cut at {at}");
    // Another process takes over the run, and a new run starts.
    let taken =
        runs.take_now(run.clone(), holder(), super::glance()).expect("asks").expect("is free");
    end(&runs, &taken, there.len() as u64, RunStatus::Succeeded);
    runs.create_now(new_run(&super::id()), None).expect("begins");
    drop(runs);
    assert_eq!(texts(&open(folder), run).len(), whole.texts.len() + 1, "cut at {at}");
}

//! Faults on purpose, for tests of the whole program; no release build has them.
//!
//! `MILEPOST_FAIL=<what>@<call>:<n>` lets the n-th call of a kind to the storage of runs go wrong,
//! and `n+` every one from there on. `MILEPOST_CLOCK=<ms>` puts the clock of runs before or after
//! the one of the system.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use milepost_store::runs::{Fault, Faults, Point};

/// The faults that a text asks for; nothing when it is none.
pub(crate) fn faults(text: &str) -> Option<Faults> {
    let (fault, rest) = text.split_once('@')?;
    let (point, number) = rest.split_once(':')?;
    let fault = match fault {
        "dies" => Fault::Dies,
        "dies-after" => Fault::DiesAfter,
        "io" => Fault::Io,
        "late" => Fault::Late,
        "full" => Fault::Full,
        _ => return None,
    };
    let wanted = match point {
        "begin" => Point::Begin,
        "statement" => Point::Statement,
        "commit" => Point::Commit,
        "checkpoint" => Point::Checkpoint,
        _ => return None,
    };
    let (number, stays) = match number.strip_suffix('+') {
        Some(number) => (number, true),
        None => (number, false),
    };
    let number: u64 = number.parse().ok()?;
    let seen = AtomicU64::new(0);
    Some(Arc::new(move |point| {
        if point != wanted {
            return None;
        }
        let nth = seen.fetch_add(1, Ordering::SeqCst) + 1;
        (nth == number || stays && nth > number).then_some(fault)
    }))
}

/// How much room there seems to be on the disk: `MILEPOST_DISK=<bytes>`.
pub(crate) fn free_bytes() -> Option<u64> {
    std::env::var("MILEPOST_DISK").ok()?.parse().ok()
}

/// By how much the clock of runs is wrong.
pub(crate) fn skew_ms() -> i64 {
    let text = std::env::var("MILEPOST_CLOCK").unwrap_or_default();
    text.parse().unwrap_or(0)
}

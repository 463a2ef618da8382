//! How long the next attempt has to wait after wrong PINs. The wait grows and never becomes a lock.
//!
//! The end of a wait is stored as a wall-clock time, because the process that counted the wrong PIN
//! may be gone. The process that counted it also knows the end on its monotonic clock and believes
//! only that. If the wall clock is set back, the wait begins again instead of lasting until the old
//! time comes round.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::limits::{self, PIN_DELAY_MAX, PIN_FREE_TRIES};

/// A point in time on both clocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct PinClock {
    pub(super) wall_ms: u64,
    pub(super) monotonic: Instant,
}

impl PinClock {
    pub(super) fn now() -> PinClock {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        PinClock { wall_ms: millis(wall), monotonic: Instant::now() }
    }
}

/// The end of a wait that this process began: the stored time, and the same on its own clock.
static BEGUN: Mutex<BTreeMap<PathBuf, (u64, Instant)>> = Mutex::new(BTreeMap::new());

/// The wait after this many wrong PINs in a row.
pub(super) fn after(wrong: u32) -> Duration {
    let Some(doublings) = wrong.checked_sub(PIN_FREE_TRIES + 1) else { return Duration::ZERO };
    let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
    limits::pin_delay().saturating_mul(factor).min(PIN_DELAY_MAX)
}

/// Begins a wait; returns its end, to be stored.
pub(super) fn begin(file: &Path, wait: Duration, now: PinClock) -> u64 {
    let until_ms = now.wall_ms.saturating_add(millis(wait));
    let mut begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    begun.insert(file.to_owned(), (until_ms, now.monotonic + wait));
    until_ms
}

/// What is left of a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Remaining {
    Nothing,
    Wait(Duration),
    /// The wall clock was set back, so how much has passed is unknown.
    ClockSetBack,
}

/// What is left of the wait that ends at `until_ms`.
pub(super) fn remaining(file: &Path, until_ms: u64, wrong: u32, now: PinClock) -> Remaining {
    let begun = BEGUN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((known_ms, until)) = begun.get(file)
        && *known_ms == until_ms
    {
        return of(until.saturating_duration_since(now.monotonic));
    }
    let left = Duration::from_millis(until_ms.saturating_sub(now.wall_ms));
    if left > after(wrong) { Remaining::ClockSetBack } else { of(left) }
}

fn of(left: Duration) -> Remaining {
    if left.is_zero() { Remaining::Nothing } else { Remaining::Wait(left) }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

//! The time as a run sees it: it follows the clock of the machine, and never goes back.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// The time, in milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = millis(since);
    #[cfg(debug_assertions)]
    let now = now.saturating_add_signed(skew_ms());
    now
}

/// By how much tests want the clock to be wrong; no release build asks.
#[cfg(debug_assertions)]
fn skew_ms() -> i64 {
    let text = std::env::var("MILEPOST_CLOCK").unwrap_or_default();
    text.parse().unwrap_or(0)
}

/// A clock in milliseconds since 1970: the system's, or that of a test.
pub type WallClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A clock that only ever goes on, also while the machine sleeps; where it begins does not matter.
pub type MonotonicClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The system's clock that only ever goes on.
///
/// That of `Instant` stands still on Linux while the machine sleeps: a laptop that is opened again
/// after a night would believe that its last sign of life is fresh.
pub fn monotonic() -> Duration {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    {
        static BEGAN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        BEGAN.get_or_init(std::time::Instant::now).elapsed()
    }
}

/// The clock of one run while it is driven.
///
/// A machine whose clock is set back would wait for the time it has been to come again. What a
/// run has seen of the time is the least there is, and from there on it goes on.
pub(crate) struct RunClock {
    wall: WallClock,
    /// By how much the run is ahead of the machine.
    ahead_ms: u64,
    began_ms: u64,
    began: Instant,
}

impl RunClock {
    /// For a run whose last event was at this time.
    pub(crate) fn of(wall: &WallClock, last_ms: u64) -> RunClock {
        let now = wall();
        let ahead_ms = last_ms.saturating_sub(now);
        let wall = Arc::clone(wall);
        RunClock { wall, ahead_ms, began_ms: now + ahead_ms, began: Instant::now() }
    }

    /// The time. A machine that slept has lost some of what passed, one whose clock was set back
    /// has lost the rest: the later one is right.
    pub(crate) fn now_ms(&self) -> u64 {
        let passed = self.began_ms.saturating_add(millis(self.began.elapsed()));
        (self.wall)().saturating_add(self.ahead_ms).max(passed)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

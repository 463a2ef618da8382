//! The time as a run sees it: it follows the system clock, but never goes backwards.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

/// The current time, in milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = millis(since);
    #[cfg(debug_assertions)]
    let now = now.saturating_add_signed(skew_ms());
    now
}

/// The clock skew that tests set; not part of release builds.
#[cfg(debug_assertions)]
fn skew_ms() -> i64 {
    let text = std::env::var("MILEPOST_CLOCK").unwrap_or_default();
    text.parse().unwrap_or(0)
}

/// A clock in milliseconds since 1970: the system's, or a test's.
pub type WallClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// A clock that never goes backwards and does not stop while the machine sleeps; its starting point
/// is arbitrary.
pub type MonotonicClock = Arc<dyn Fn() -> Duration + Send + Sync>;

/// The system's monotonic clock.
///
/// On Linux, `Instant` stops while the machine sleeps: a laptop opened the next morning would
/// consider its last heartbeat recent.
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
/// If the system clock is set back, a run must not wait for the same time to come around again. So
/// a run's time is never earlier than the latest time it has seen, and advances from there.
pub(crate) struct RunClock {
    wall: WallClock,
    /// How far the run is ahead of the system clock.
    ahead_ms: u64,
    began_ms: u64,
    began: Instant,
}

impl RunClock {
    /// The clock for a run whose last event was at this time.
    pub(crate) fn of(wall: &WallClock, last_ms: u64) -> RunClock {
        let now = wall();
        let ahead_ms = last_ms.saturating_sub(now);
        let wall = Arc::clone(wall);
        RunClock { wall, ahead_ms, began_ms: now + ahead_ms, began: Instant::now() }
    }

    /// The run's current time. The monotonic clock may have stopped while the machine slept, and
    /// the wall clock may have been set back, so the later of the two is right.
    pub(crate) fn now_ms(&self) -> u64 {
        let passed = self.began_ms.saturating_add(millis(self.began.elapsed()));
        (self.wall)().saturating_add(self.ahead_ms).max(passed)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

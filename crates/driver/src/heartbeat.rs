//! Tracks whether this process may still start new work. It sends heartbeats, and for some time
//! after each one, other processes leave its runs alone. Once that time has passed, nothing decided
//! earlier may be started, no matter how short the delay.
//!
//! A process does not notice when it is suspended. All it can do is check a clock that keeps
//! running, immediately before it acts.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use milepost_engine::ports::{SendPermit, Takeover};

use crate::clock::{MonotonicClock, WallClock};
use crate::{limits, locked};

/// The acknowledged heartbeats of this process.
pub(crate) struct Heartbeat {
    clock: MonotonicClock,
    wall: WallClock,
    beating: Mutex<Beating>,
}

#[derive(Debug, Default)]
struct Beating {
    /// How many times this process has returned after being suspended.
    incarnation: u64,
    /// The time until which others leave its runs alone; `None` while it drives no runs.
    valid_until: Option<Duration>,
    /// How long a heartbeat is valid.
    counts_for: Duration,
    /// Both clocks at the last check.
    seen: Option<Moment>,
    /// Until this time, it takes no runs from other processes, because it has not had enough time
    /// to see their heartbeats.
    judges_from: Duration,
    /// Whether this process has returned since the last call to `has_returned`.
    returned: bool,
    /// Whether the wall clock has not been set back since the last call to `was_set_back`.
    steady: bool,
}

/// The readings of both clocks, taken together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    at: Duration,
    wall_ms: u64,
}

impl Beating {
    /// Invalidates everything that has been decided so far.
    fn lapse(&mut self, at: Duration) {
        self.incarnation += 1;
        self.valid_until = None;
        self.judges_from = at + self.counts_for + self.counts_for / 2;
        self.returned = true;
    }

    fn is_late(&self, at: Duration) -> bool {
        self.valid_until.is_some_and(|until| at >= until)
    }
}

impl Heartbeat {
    pub(crate) fn new(clock: MonotonicClock, wall: WallClock) -> Heartbeat {
        Heartbeat { clock, wall, beating: Mutex::default() }
    }

    /// The time at which a heartbeat is sent: it is valid from then on, not from its
    /// acknowledgment.
    pub(crate) fn sends(&self) -> Moment {
        Moment { at: (self.clock)(), wall_ms: (self.wall)() }
    }

    /// Records that a heartbeat was acknowledged.
    pub(crate) fn acknowledged(&self, sent: Moment, counts_for: Duration) {
        let mut beating = locked(&self.beating);
        beating.counts_for = counts_for;
        // If the previous heartbeat has expired, a late acknowledgment does not revive its permits.
        let now = (self.clock)();
        if beating.is_late(now) {
            beating.lapse(now);
        }
        // Acknowledgments may arrive out of order.
        let until = sent.at + counts_for;
        beating.valid_until = Some(beating.valid_until.map_or(until, |last| last.max(until)));
    }

    /// Checks the clocks periodically, to detect that the process was suspended, that the machine
    /// slept, or that the wall clock jumped.
    pub(crate) fn looks(&self) {
        let now = self.sends();
        let mut beating = locked(&self.beating);
        let Some(last) = beating.seen.replace(now) else { return };
        let passed = now.at.saturating_sub(last.at);
        let told = Duration::from_millis(now.wall_ms.saturating_sub(last.wall_ms));
        let set_back = now.wall_ms < last.wall_ms;
        beating.steady &= !set_back;
        let jumped = set_back || passed.abs_diff(told) > limits::CLOCK_JUMP;
        if jumped || passed > beating.counts_for || beating.is_late(now.at) {
            beating.lapse(now.at);
        }
    }

    /// Records that this process is driving nothing, so that sending no heartbeats from now on does
    /// not count as an absence.
    pub(crate) fn rests(&self) {
        locked(&self.beating).valid_until = None;
    }

    /// The interval between heartbeats.
    pub(crate) fn period(&self) -> Duration {
        (locked(&self.beating).counts_for / 3).max(limits::BEAT_LEAST)
    }

    /// Returns a permit to start new work, or `None` if a heartbeat must be acknowledged first.
    pub(crate) fn permit(self: &Arc<Heartbeat>) -> Option<HeartbeatPermit> {
        let beating = locked(&self.beating);
        let valid = beating.valid_until.is_some_and(|until| (self.clock)() < until);
        let incarnation = beating.incarnation;
        valid.then(|| HeartbeatPermit { heartbeat: Arc::clone(self), incarnation })
    }

    /// Which runs this process may take over now.
    pub(crate) fn takeover(&self) -> Takeover {
        let now = (self.clock)();
        let beating = locked(&self.beating);
        let unseen =
            beating.seen.is_some_and(|seen| now.saturating_sub(seen.at) > beating.counts_for);
        let away = unseen || beating.is_late(now) || now < beating.judges_from;
        if away { Takeover::Free } else { Takeover::Silent }
    }

    /// Whether the wall clock may have been set back since the last call. The first call returns
    /// true, because the clock may have been set back before this process started.
    pub(crate) fn was_set_back(&self) -> bool {
        !std::mem::replace(&mut locked(&self.beating).steady, true)
    }

    /// Makes the next call to [`Heartbeat::has_returned`] return true again.
    pub(crate) fn returns_again(&self) {
        locked(&self.beating).returned = true;
    }

    /// Whether this process has returned from an absence since the last call.
    pub(crate) fn has_returned(&self) -> bool {
        std::mem::take(&mut locked(&self.beating).returned)
    }
}

/// A permit to start what was decided in one incarnation of this process.
#[derive(Clone)]
pub(crate) struct HeartbeatPermit {
    heartbeat: Arc<Heartbeat>,
    incarnation: u64,
}

impl HeartbeatPermit {
    pub(crate) fn holds(&self) -> bool {
        // Lock before reading the clock, so that waiting for the lock cannot make the reading
        // stale.
        let beating = locked(&self.heartbeat.beating);
        let now = (self.heartbeat.clock)();
        beating.incarnation == self.incarnation
            && beating.valid_until.is_some_and(|until| now < until)
    }

    pub(crate) fn of_sending(&self) -> SendPermit {
        let own = self.clone();
        SendPermit::new(move || own.holds())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const TTL: Duration = Duration::from_secs(6);

    /// A heartbeat with test clocks: monotonic and wall clock, in milliseconds.
    fn heartbeat() -> (Arc<Heartbeat>, Arc<AtomicU64>, Arc<AtomicU64>) {
        let (at, wall) = (Arc::new(AtomicU64::new(1_000)), Arc::new(AtomicU64::new(500_000)));
        let (read_at, read_wall) = (Arc::clone(&at), Arc::clone(&wall));
        let clock: MonotonicClock =
            Arc::new(move || Duration::from_millis(read_at.load(Ordering::SeqCst)));
        let heartbeat = Heartbeat::new(clock, Arc::new(move || read_wall.load(Ordering::SeqCst)));
        (Arc::new(heartbeat), at, wall)
    }

    fn pass(clocks: [&AtomicU64; 2], ms: u64) {
        for clock in clocks {
            clock.fetch_add(ms, Ordering::SeqCst);
        }
    }

    #[test]
    fn nothing_begins_before_the_first_sign_of_life_is_acknowledged() {
        let (heartbeat, ..) = heartbeat();
        assert!(heartbeat.permit().is_none());
        heartbeat.acknowledged(heartbeat.sends(), TTL);
        assert!(heartbeat.permit().is_some_and(|permit| permit.holds()));
    }

    /// A late acknowledgment proves nothing about the present.
    #[test]
    fn a_heartbeat_is_valid_from_when_it_was_sent() {
        let (heartbeat, at, wall) = heartbeat();
        let sent = heartbeat.sends();
        pass([&at, &wall], 6_000);
        heartbeat.acknowledged(sent, TTL);
        assert!(heartbeat.permit().is_none());
    }

    #[test]
    fn late_once_is_dead_for_what_was_decided_before() {
        let (heartbeat, at, wall) = heartbeat();
        heartbeat.acknowledged(heartbeat.sends(), TTL);
        let before = heartbeat.permit().expect("is alive");
        pass([&at, &wall], 5_999);
        assert!(before.holds());
        pass([&at, &wall], 1);
        assert!(!before.holds());
        heartbeat.acknowledged(heartbeat.sends(), TTL);
        assert!(!before.holds(), "a new incarnation does not revive the old one");
        assert!(heartbeat.permit().is_some_and(|permit| permit.holds()));
    }

    #[test]
    fn who_was_away_judges_nobody_for_a_while() {
        let (heartbeat, at, wall) = heartbeat();
        heartbeat.looks();
        heartbeat.acknowledged(heartbeat.sends(), TTL);
        assert_eq!(heartbeat.takeover(), Takeover::Silent);
        pass([&at, &wall], 7_000);
        assert_eq!(heartbeat.takeover(), Takeover::Free, "before it has noticed its own absence");
        heartbeat.looks();
        heartbeat.acknowledged(heartbeat.sends(), TTL);
        assert!(heartbeat.has_returned() && !heartbeat.has_returned());
        for _ in 0..8 {
            assert_eq!(heartbeat.takeover(), Takeover::Free);
            pass([&at, &wall], 1_125);
            heartbeat.looks();
            heartbeat.acknowledged(heartbeat.sends(), TTL);
        }
        assert_eq!(heartbeat.takeover(), Takeover::Silent);
    }

    #[test]
    fn a_wall_clock_that_jumps_is_an_absence() {
        for jump_ms in [10_000_i64, -10_000] {
            let (heartbeat, at, wall) = heartbeat();
            heartbeat.looks();
            heartbeat.acknowledged(heartbeat.sends(), TTL);
            let before = heartbeat.permit().expect("is alive");
            pass([&at, &wall], 1_000);
            let jumped = wall.load(Ordering::SeqCst).saturating_add_signed(jump_ms);
            wall.store(jumped, Ordering::SeqCst);
            heartbeat.looks();
            assert!(!before.holds());
            assert_eq!(heartbeat.takeover(), Takeover::Free);
        }
    }

    /// A process that is driving nothing sends no heartbeats, which does not count as an absence.
    #[test]
    fn who_rests_is_not_away() {
        let (heartbeat, at, wall) = heartbeat();
        heartbeat.acknowledged(heartbeat.sends(), TTL);
        for _ in 0..10 {
            heartbeat.rests();
            heartbeat.looks();
            pass([&at, &wall], 2_000);
        }
        assert_eq!(heartbeat.takeover(), Takeover::Silent);
        heartbeat.acknowledged(heartbeat.sends(), TTL);
        assert!(heartbeat.permit().is_some() && !heartbeat.has_returned());
    }
}

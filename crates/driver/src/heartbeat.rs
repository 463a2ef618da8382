//! Whether this process may still begin something: it says that it is alive, and from the moment at
//! which it last said so, others leave its runs alone for a time. Once that time is over, nothing
//! that was decided before it begins any more, however short the delay.
//!
//! A process is stopped without noticing. All it can do is to look at a clock that goes on
//! meanwhile, directly before it acts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use milepost_engine::ports::{SendPermit, Takeover};

use crate::clock::{MonotonicClock, WallClock};
use crate::limits;

/// The signs of life of this process, as far as they were acknowledged.
pub(crate) struct Heartbeat {
    clock: MonotonicClock,
    wall: WallClock,
    beating: Mutex<Beating>,
}

#[derive(Debug, Default)]
struct Beating {
    /// How often this process came back after it was away.
    incarnation: u64,
    /// Until when others leave its runs alone; nothing while it drives none.
    valid_until: Option<Duration>,
    /// For how long a sign of life counts.
    counts_for: Duration,
    /// Both clocks when it last looked at them.
    seen: Option<Moment>,
    /// It takes nothing from those it has not heard of before this.
    judges_from: Duration,
    /// It was away since somebody last asked.
    returned: bool,
    /// The wall clock has not been set back since somebody last asked.
    steady: bool,
}

/// Both clocks at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    at: Duration,
    wall_ms: u64,
}

impl Beating {
    /// Nothing that was decided so far begins any more.
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

    fn beating(&self) -> MutexGuard<'_, Beating> {
        self.beating.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The moment at which a sign of life is sent: it counts from here, not from its answer.
    pub(crate) fn sends(&self) -> Moment {
        Moment { at: (self.clock)(), wall_ms: (self.wall)() }
    }

    /// A sign of life was acknowledged.
    pub(crate) fn acknowledged(&self, sent: Moment, counts_for: Duration) {
        let mut beating = self.beating();
        beating.counts_for = counts_for;
        // Late is late, also for a sign that was sent in time and acknowledged afterwards.
        let now = (self.clock)();
        if beating.is_late(now) {
            beating.lapse(now);
        }
        // Answers may come in another order than what they answer.
        let until = sent.at + counts_for;
        beating.valid_until = Some(beating.valid_until.map_or(until, |last| last.max(until)));
    }

    /// Looks at the clocks, again and again: a process that was stopped, slept with its machine, or
    /// whose wall clock jumped has been away.
    pub(crate) fn looks(&self) {
        let now = self.sends();
        let mut beating = self.beating();
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

    /// This process drives nothing: that it says nothing from here on is no absence.
    pub(crate) fn rests(&self) {
        self.beating().valid_until = None;
    }

    /// How often a sign of life is due.
    pub(crate) fn period(&self) -> Duration {
        (self.beating().counts_for / 3).max(limits::BEAT_LEAST)
    }

    /// The right to begin something, unless a sign of life has to be acknowledged first.
    pub(crate) fn permit(self: &Arc<Heartbeat>) -> Option<HeartbeatPermit> {
        let beating = self.beating();
        let valid = beating.valid_until.is_some_and(|until| (self.clock)() < until);
        let incarnation = beating.incarnation;
        valid.then(|| HeartbeatPermit { heartbeat: Arc::clone(self), incarnation })
    }

    /// From whom this process may take runs now.
    pub(crate) fn takeover(&self) -> Takeover {
        let now = (self.clock)();
        let beating = self.beating();
        let unseen =
            beating.seen.is_some_and(|seen| now.saturating_sub(seen.at) > beating.counts_for);
        let away = unseen || beating.is_late(now) || now < beating.judges_from;
        if away { Takeover::Free } else { Takeover::Silent }
    }

    /// Whether the wall clock may have been set back since the last time that it was asked: it may
    /// have been before this process was there.
    pub(crate) fn was_set_back(&self) -> bool {
        !std::mem::replace(&mut self.beating().steady, true)
    }

    /// Whoever asks next whether this process was away is to be told so once more.
    pub(crate) fn returns_again(&self) {
        self.beating().returned = true;
    }

    /// Whether this process was away since the last time that it was asked.
    pub(crate) fn has_returned(&self) -> bool {
        std::mem::take(&mut self.beating().returned)
    }
}

/// The right to begin what was decided in one incarnation of this process.
#[derive(Clone)]
pub(crate) struct HeartbeatPermit {
    heartbeat: Arc<Heartbeat>,
    incarnation: u64,
}

impl HeartbeatPermit {
    pub(crate) fn holds(&self) -> bool {
        // Read first: what passes after this is at most what the caller needs to act.
        let beating = self.heartbeat.beating();
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

    /// A heartbeat whose clocks a test sets: the monotonic one and the wall's, in milliseconds.
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

    /// What counts is when it was sent: an answer that comes late says nothing about now.
    #[test]
    fn a_sign_of_life_counts_from_its_sending() {
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
        assert_eq!(heartbeat.takeover(), Takeover::Free, "before it has noticed itself");
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

    /// Who drives nothing says nothing, and is not away for that.
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

//! Runs that this process released because they are only waiting until a certain time. It wakes
//! them when they are due, and so does any process that adopts orphaned runs. A single timer is set
//! for the earliest.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;

use milepost_model::id::RunId;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::{limits, locked};

/// The sleeping runs, by the time at which they wake.
#[derive(Debug, Default)]
pub(crate) struct Sleepers {
    sleeping: Mutex<Sleeping>,
    /// Notified when the next wake-up time may have changed.
    pub(crate) changed: Notify,
    /// Notified when one of them may have received a message.
    pub(crate) told: Notify,
}

#[derive(Debug, Default)]
struct Sleeping {
    by_run: HashMap<RunId, Alarm>,
    /// Runs that are due, until the attempt to wake them is over.
    waking: HashSet<RunId>,
    /// Sorted by wall-clock time.
    order: BTreeSet<(u64, RunId)>,
    /// The next wake time of the runs that other processes released, in case none of those
    /// processes is left to wake them.
    others_ms: Option<u64>,
}

/// When a run wakes: at a wall-clock time, or after the same duration if the clock was set back.
#[derive(Debug, Clone, Copy)]
struct Alarm {
    wall_ms: u64,
    wake_ms: u64,
    deadline: Instant,
}

/// A run that is due, with a lower bound for the run's time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DueRun {
    pub(crate) run: RunId,
    pub(crate) wake_ms: u64,
}

impl Sleepers {
    /// Adds a run that wakes at this time on its own clock, which may be ahead of the wall clock.
    pub(crate) fn add(&self, run: &RunId, wake_ms: u64, now_ms: u64, wall_now_ms: u64) {
        let left_ms = wake_ms.saturating_sub(now_ms);
        let wall_ms = wall_now_ms.saturating_add(left_ms);
        let alarm =
            Alarm { wall_ms, wake_ms, deadline: Instant::now() + Duration::from_millis(left_ms) };
        let mut sleeping = locked(&self.sleeping);
        sleeping.remove(run);
        sleeping.by_run.insert(run.clone(), alarm);
        sleeping.order.insert((wall_ms, run.clone()));
        drop(sleeping);
        self.changed.notify_one();
    }

    /// Removes a run that is no longer sleeping.
    pub(crate) fn remove(&self, run: &RunId) {
        locked(&self.sleeping).remove(run);
    }

    /// Sets when the next run released by another process is due.
    pub(crate) fn watch(&self, others_ms: Option<u64>) {
        locked(&self.sleeping).others_ms = others_ms;
        self.changed.notify_one();
    }

    /// The current time of a sleeping run. Elapsed time counts even if the wall clock was set back.
    pub(crate) fn time_of(&self, run: &RunId) -> Option<u64> {
        let alarm = locked(&self.sleeping).by_run.get(run).copied()?;
        let left = alarm.deadline.saturating_duration_since(Instant::now());
        Some(alarm.wake_ms.saturating_sub(u64::try_from(left.as_millis()).unwrap_or(u64::MAX)))
    }

    /// Whether this process will wake a run, or is waking it.
    pub(crate) fn contains(&self, run: &RunId) -> bool {
        let sleeping = locked(&self.sleeping);
        sleeping.by_run.contains_key(run) || sleeping.waking.contains(run)
    }

    pub(crate) fn is_empty(&self) -> bool {
        let sleeping = locked(&self.sleeping);
        sleeping.by_run.is_empty() && sleeping.waking.is_empty()
    }

    /// Records that an attempt to wake a run is over.
    pub(crate) fn tried(&self, run: &RunId) {
        locked(&self.sleeping).waking.remove(run);
    }

    /// All sleeping runs, if there are only a few.
    pub(crate) fn few(&self) -> Option<Vec<RunId>> {
        let sleeping = locked(&self.sleeping);
        let few = sleeping.by_run.len() <= limits::SLEEPERS_SEEN;
        few.then(|| sleeping.by_run.keys().cloned().collect())
    }

    /// How long until something is due; `None` if nothing is sleeping.
    pub(crate) fn nap(&self, wall_now_ms: u64) -> Option<Duration> {
        let sleeping = locked(&self.sleeping);
        let own = sleeping.order.first().map(|(wall_ms, run)| {
            let passes = sleeping.by_run.get(run).map(|alarm| alarm.deadline);
            let passes = passes.map(|at| at.saturating_duration_since(Instant::now()));
            let told = Duration::from_millis(wall_ms.saturating_sub(wall_now_ms));
            told.min(passes.unwrap_or(told))
        });
        let others = sleeping.others_ms;
        let others = others.map(|at| Duration::from_millis(at.saturating_sub(wall_now_ms)));
        let next = own.into_iter().chain(others).min()?;
        Some(next.min(limits::ALARM_POLL))
    }

    /// Removes and returns the runs that are due, and whether a run released by another process is
    /// due. Each run must then be marked as [tried](Sleepers::tried).
    pub(crate) fn due(&self, wall_now_ms: u64) -> (Vec<DueRun>, bool) {
        let mut sleeping = locked(&self.sleeping);
        let mut due = Vec::new();
        while let Some((wall_ms, run)) = sleeping.order.first().cloned() {
            let alarm = sleeping.by_run.get(&run).copied();
            let passed = alarm.is_some_and(|alarm| alarm.deadline <= Instant::now());
            if wall_ms > wall_now_ms && !passed {
                break;
            }
            sleeping.order.pop_first();
            sleeping.by_run.remove(&run);
            sleeping.waking.insert(run.clone());
            due.extend(alarm.map(|alarm| DueRun { run, wake_ms: alarm.wake_ms }));
        }
        let others = sleeping.others_ms.is_some_and(|at| at <= wall_now_ms);
        if others {
            sleeping.others_ms = None;
        }
        (due, others)
    }
}

impl Sleeping {
    fn remove(&mut self, run: &RunId) {
        if let Some(alarm) = self.by_run.remove(run) {
            self.order.remove(&(alarm.wall_ms, run.clone()));
        }
    }
}

//! Every bound of driving runs, named once.

use std::time::Duration;

/// How often a process that drives something says that it is alive, at most; it does so three times
/// for as long as a sign of life counts.
pub const BEAT_LEAST: Duration = Duration::from_millis(20);
/// By how much the wall clock may drift from the monotonic one between two signs of life.
pub const CLOCK_JUMP: Duration = Duration::from_secs(3);
/// How often whoever waits for the answer of another process looks for it.
pub const ANSWER_POLL: Duration = Duration::from_millis(15);
/// How long whoever tells a sleeping run something leaves it to the process that wakes it.
pub const OTHERS_FIRST: Duration = Duration::from_millis(150);
/// How long whoever has an answer waits until its consequences can be seen.
pub const SHOWN: Duration = Duration::from_secs(1);
/// Orphaned runs that are looked up at a time.
pub const ADOPTED: usize = 32;
/// Orphaned runs that this process cannot drive and looks at before it lets the rest wait for the
/// next look.
pub const LEFT_ALONE: usize = 1_000;
/// Runs that can be acquired at the same time.
pub const CLAIMS: usize = 32;
/// How long a run above has to take in that one of its steps' runs has ended; it is told again when
/// it is acquired.
pub const PARENT_TOLD: Duration = Duration::from_secs(1);
/// How long the run of a step has to take in what the run above it says.
pub const CHILD_TOLD: Duration = Duration::from_secs(5);
/// Ends of requests of one run that wait to be handled.
pub const OUTCOMES: usize = 64;
/// How often a run looks for messages and for its children, should a wake-up be lost.
pub const RUN_POLL: Duration = Duration::from_secs(5);
/// A run that goes on by itself within this time is not released.
pub const SOON_MS: u64 = 1_500;
/// How often a process that has put runs to sleep looks at the clock, which may be set.
pub const ALARM_POLL: Duration = Duration::from_secs(5);
/// Runs that one process wakes at the same time.
pub const WOKEN: usize = 32;
/// Sleeping runs that are looked at before a process ends: others may have ended them.
pub const SLEEPERS_SEEN: usize = 16;
/// How long a run waits before it writes again when the disk is full, or others keep it busy.
pub const WRITE_AGAIN: Duration = Duration::from_secs(2);
/// Events that are read at a time.
pub const EVENTS_PAGE: usize = 1_000;
/// How often whoever waits for a run of another process looks at it.
pub const WATCH_POLL: Duration = Duration::from_millis(60);
/// How often whoever waits for a run that sleeps looks at it, should another process end it.
pub const SLEEPER_POLL: Duration = Duration::from_millis(500);
/// How often a process that is about to end looks whether something is left to do, besides whenever
/// something has been done.
pub const IDLE_POLL: Duration = Duration::from_millis(5);
/// How long whoever looks at a run that has ended waits for its driver to hand it over; without
/// that there is more to read and the same to see.
pub const HAND_OVER: Duration = Duration::from_millis(50);
/// Events of a driven run that are kept for its followers; one that falls behind reads the journal.
pub const RECENT_EVENTS: usize = 512;
/// Runs of other processes, or at rest, that are kept for the next look.
pub const RECENT_RUNS: usize = 16;
/// Ids that are offered when a prefix fits several runs.
pub const IDS_OFFERED: usize = 5;

//! Every limit of driving runs, named once.

use std::time::Duration;

/// The shortest interval between heartbeats; usually three are sent per validity period.
pub const BEAT_LEAST: Duration = Duration::from_millis(20);
/// How far the wall clock may drift from the monotonic one between two heartbeats.
pub const CLOCK_JUMP: Duration = Duration::from_secs(3);
/// How often an answer from another process is polled for.
pub const ANSWER_POLL: Duration = Duration::from_millis(15);
/// How long the sender of a message to a sleeping run leaves it to the process that wakes the run.
pub const OTHERS_FIRST: Duration = Duration::from_millis(150);
/// How long the receiver of an answer waits until its effects are visible.
pub const SHOWN: Duration = Duration::from_secs(1);
/// Orphaned runs that are looked up per page.
pub const ADOPTED: usize = 32;
/// How many orphaned runs that this process cannot drive one sweep visits before it leaves the rest
/// to the next sweep.
pub const LEFT_ALONE: usize = 1_000;
/// Runs that can be acquired at the same time.
pub const CLAIMS: usize = 32;
/// How long a parent run may take to accept that a child run has ended; it is told again when it is
/// acquired.
pub const PARENT_TOLD: Duration = Duration::from_secs(1);
/// How long a child run may take to accept a message from its parent.
pub const CHILD_TOLD: Duration = Duration::from_secs(5);
/// Request outcomes of one run that may be queued.
pub const OUTCOMES: usize = 64;
/// How often a run checks for messages and on its children, in case a wake-up was lost.
pub const RUN_POLL: Duration = Duration::from_secs(5);
/// A run that continues on its own within this time is not released.
pub const SOON_MS: u64 = 1_500;
/// How often a process with sleeping runs checks the clock, because it may be set.
pub const ALARM_POLL: Duration = Duration::from_secs(5);
/// Runs that one process wakes at the same time.
pub const WOKEN: usize = 32;
/// How many sleeping runs are checked before a process exits: others may have ended them.
pub const SLEEPERS_SEEN: usize = 16;
/// How long a run waits before it writes again if the disk is full or the journal is busy.
pub const WRITE_AGAIN: Duration = Duration::from_secs(2);
/// Events that are read per page.
pub const EVENTS_PAGE: usize = 1_000;
/// How often a run driven by another process is polled while somebody waits for it.
pub const WATCH_POLL: Duration = Duration::from_millis(60);
/// How often a sleeping run is polled while somebody waits for it, in case another process ends it.
pub const SLEEPER_POLL: Duration = Duration::from_millis(500);
/// How often an exiting process checks whether anything is left to do, besides whenever something
/// has been done.
pub const IDLE_POLL: Duration = Duration::from_millis(5);
/// How long a reader of an ended run waits for its driver to hand it over; otherwise the reader
/// loads the same state from the journal.
pub const HAND_OVER: Duration = Duration::from_millis(50);
/// Events of a driven run that are kept for its followers; a follower that falls behind reads the
/// journal.
pub const RECENT_EVENTS: usize = 512;
/// Runs not driven by this process that are cached for the next read.
pub const RECENT_RUNS: usize = 16;
/// Ids that are suggested if a prefix matches several runs.
pub const IDS_OFFERED: usize = 5;

//! All driver limits.

use std::time::Duration;

/// Minimum interval between heartbeats; usually three are sent per validity period.
pub const BEAT_LEAST: Duration = Duration::from_millis(20);
/// Maximum drift of the wall clock from the monotonic one between two heartbeats.
pub const CLOCK_JUMP: Duration = Duration::from_secs(3);
/// How often to poll for an answer from another process.
pub const ANSWER_POLL: Duration = Duration::from_millis(15);
/// How long the sender of a message to a sleeping run waits for another process to wake the run
/// before acquiring the run itself.
pub const OTHERS_FIRST: Duration = Duration::from_millis(150);
/// How long the receiver of an answer waits for its effects to become visible.
pub const SHOWN: Duration = Duration::from_secs(1);
/// Maximum number of orphaned runs that are looked up per page.
pub const ADOPTED: usize = 32;
/// Maximum number of orphaned runs that one sweep visits even though this process cannot drive
/// them; the rest are left to the next sweep.
pub const LEFT_ALONE: usize = 1_000;
/// Maximum number of runs that are acquired at the same time.
pub const CLAIMS: usize = 32;
/// How long a parent run may take to accept that a child run has ended. It is notified again when
/// it is acquired.
pub const PARENT_TOLD: Duration = Duration::from_secs(1);
/// How long a child run may take to accept a message from its parent.
pub const CHILD_TOLD: Duration = Duration::from_secs(5);
/// Maximum number of queued request outcomes for one run.
pub const OUTCOMES: usize = 64;
/// How often a run checks its inbox and its child runs, in case a wake-up was lost.
pub const RUN_POLL: Duration = Duration::from_secs(5);
/// A run that will continue on its own within this many milliseconds is kept instead of being
/// released.
pub const SOON_MS: u64 = 1_500;
/// How often a process with sleeping runs checks the clock, because the clock may be changed.
pub const ALARM_POLL: Duration = Duration::from_secs(5);
/// Maximum number of runs that one process wakes at the same time.
pub const WOKEN: usize = 32;
/// Maximum number of sleeping runs that are checked before a process exits, because others may have
/// ended them.
pub const SLEEPERS_SEEN: usize = 16;
/// How long a run waits before it retries a write if the disk is full or the journal is busy.
pub const WRITE_AGAIN: Duration = Duration::from_secs(2);
/// Maximum number of events that are read per page.
pub const EVENTS_PAGE: usize = 1_000;
/// How often a run driven by another process is polled while somebody is waiting for it.
pub const WATCH_POLL: Duration = Duration::from_millis(60);
/// How often a sleeping run is polled while somebody is waiting for it, in case another process
/// ends it.
pub const SLEEPER_POLL: Duration = Duration::from_millis(500);
/// How often an exiting process checks whether anything is left to do, in addition to the checks
/// after each completed piece of work.
pub const IDLE_POLL: Duration = Duration::from_millis(5);
/// How long a reader of an ended run waits for its driver to hand it over; otherwise the reader
/// loads the same state from the journal.
pub const HAND_OVER: Duration = Duration::from_millis(50);
/// Maximum number of a driven run's events that are kept for its followers; a follower that falls
/// behind reads the journal.
pub const RECENT_EVENTS: usize = 512;
/// Maximum number of cached runs that this process does not drive.
pub const RECENT_RUNS: usize = 16;
/// Maximum number of ids that are suggested if a prefix matches several runs.
pub const IDS_OFFERED: usize = 5;

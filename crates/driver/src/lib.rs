//! Drives runs: [`RunService`] is everything that the rest of the product knows about them.
//!
//! One task drives a run while this process holds the run's lease. A run that is waiting for
//! somebody is released, so that waiting costs only a row in the journal; a process that sends it a
//! message acquires it again. Storage and sending requests are behind the engine's ports.

mod active;
mod background;
mod children;
pub mod clock;
mod driver;
mod error;
mod heartbeat;
mod ids;
pub mod limits;
mod load;
mod missing_world;
mod run_task;
mod service;
mod sleepers;
mod snapshot;
mod trace;
mod watcher;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use children::plan_continuation;
pub use driver::{Driver, DriverPorts};
pub use error::RunError;
pub use ids::{new_nonce, new_run_id};
pub use load::{LoadedRun, load};
pub use service::{
    RunFuture, RunReader, RunService, RunUpdates, SignalRequest, Until, WaitOptions,
};
pub use snapshot::Snapshot;
pub use watcher::RunWatcher;

/// Locks a mutex even if it is poisoned: a panic never leaves the guarded value half-updated.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

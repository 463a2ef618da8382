//! Decides whether another holder is alive, based on what this process has observed.
//!
//! The clocks of two processes need not agree, so a time written by another process proves nothing.
//! What counts is the other process's lock, and how long its heartbeat has remained unchanged
//! according to this process's monotonic clock.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use milepost_engine::ports::{HolderId, Takeover};

use super::alive::{self, LockState};
use crate::limits;

/// What this process has observed about other holders.
#[derive(Debug, Default)]
pub(super) struct Observer {
    seen: Mutex<HashMap<HolderId, Seen>>,
}

/// A heartbeat, and how long it has been unchanged.
#[derive(Debug, Clone, Copy)]
struct Seen {
    mark: Option<u64>,
    at: Duration,
    still: Duration,
}

/// The parameters of a liveness check.
#[derive(Debug, Clone, Copy)]
pub struct LivenessQuery {
    /// The current time on a monotonic clock with an arbitrary starting point.
    pub at: Duration,
    /// Whether this process may conclude from silence that a holder is dead.
    pub takeover: Takeover,
}

impl Observer {
    /// Whether a holder counts as alive. `mark` is its heartbeat, which differs from all earlier
    /// ones; `None` if it has none.
    pub(super) fn is_alive(
        &self,
        directory: &Path,
        holder: &HolderId,
        mark: Option<u64>,
        glance: LivenessQuery,
    ) -> bool {
        let patience = match alive::sign(directory, holder) {
            LockState::Free => return false,
            LockState::Held => limits::held_ttl(),
            // Neither a file nor a heartbeat: it has withdrawn, or was removed after its death.
            LockState::Missing if mark.is_none() => return false,
            // Its file was removed, so only its heartbeat shows whether it is alive.
            LockState::Missing => limits::holder_ttl(),
        };
        self.still(holder, mark, glance.at) < patience || glance.takeover == Takeover::Free
    }

    /// How long a heartbeat has been unchanged. The time counted between two checks is capped,
    /// because this process may itself have been suspended, along with the other one.
    fn still(&self, holder: &HolderId, mark: Option<u64>, at: Duration) -> Duration {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() > limits::LISTENERS {
            seen.clear();
        }
        let one = seen.entry(holder.clone()).or_insert(Seen { mark, at, still: Duration::ZERO });
        if one.mark == mark {
            one.still += at.saturating_sub(one.at).min(limits::holder_ttl());
        } else {
            (one.mark, one.still) = (mark, Duration::ZERO);
        }
        // Checks may complete out of order.
        one.at = one.at.max(at);
        one.still
    }

    /// Forgets a holder that is no longer listed.
    pub(super) fn forget(&self, holder: &HolderId) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).remove(holder);
    }
}

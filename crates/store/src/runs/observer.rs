//! Whether another holder is alive, judged by what this process has seen of it.
//!
//! Clocks of two processes need not agree, so the time that another one wrote down proves nothing.
//! What counts is its lock, and for how long this process has seen its heartbeat stand still, on a
//! clock of its own that nobody can set.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use milepost_engine::ports::{HolderId, Takeover};

use super::alive::{self, LockState};
use crate::limits;

/// What this process has seen of other holders.
#[derive(Debug, Default)]
pub(super) struct Observer {
    seen: Mutex<HashMap<HolderId, Seen>>,
}

/// A heartbeat, and for how long it has been seen to stand still.
#[derive(Debug, Clone, Copy)]
struct Seen {
    mark: Option<u64>,
    at: Duration,
    still: Duration,
}

/// What one look at a holder goes by.
#[derive(Debug, Clone, Copy)]
pub struct LivenessQuery {
    /// The time, on a clock that only ever goes on; where it begins does not matter.
    pub at: Duration,
    /// Whether this process may judge by what it has not heard.
    pub takeover: Takeover,
}

impl Observer {
    /// Whether a holder is to be believed alive. `mark` is its heartbeat, which differs from every
    /// one before; nothing where it has none.
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
            // Without a file and off the list it has withdrawn, or was buried.
            LockState::Missing if mark.is_none() => return false,
            // Somebody removed its file: only its heartbeat is left to go by.
            LockState::Missing => limits::holder_ttl(),
        };
        self.still(holder, mark, glance.at) < patience || glance.takeover == Takeover::Free
    }

    /// For how long a heartbeat has been seen to stand still. Between two looks no more than a
    /// moment counts: this process may have been stopped itself, and the other one with it.
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
        // Looks may overtake each other.
        one.at = one.at.max(at);
        one.still
    }

    /// Forgets a holder that is off the list.
    pub(super) fn forget(&self, holder: &HolderId) {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).remove(holder);
    }
}

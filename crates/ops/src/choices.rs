//! Choices that were fetched a moment ago: forms ask for the same ones again and again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::provider::values::Fetched;

/// Answers that are kept.
const KEPT: usize = 100;

/// What was fetched, and when.
#[derive(Debug, Default)]
pub(crate) struct Choices {
    kept: Mutex<HashMap<String, (Instant, Arc<Fetched>)>>,
}

impl Choices {
    /// What was fetched for a key, unless that is longer ago than it may be.
    pub(crate) fn get(&self, key: &str, ttl: Duration) -> Option<Arc<Fetched>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (when, fetched) = kept.get(key)?;
        (when.elapsed() < ttl).then(|| Arc::clone(fetched))
    }

    /// Keeps what was fetched.
    pub(crate) fn put(&self, key: String, fetched: Fetched) -> Arc<Fetched> {
        let fetched = Arc::new(fetched);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key, (Instant::now(), Arc::clone(&fetched)));
        fetched
    }
}

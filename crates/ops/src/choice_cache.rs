//! Choices that were fetched: a moment ago, since forms ask for the same ones again and again, and
//! the last good ones, which serve when the provider cannot be asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use milepost_store::Locations;

use crate::prelude::*;
use crate::provider::values::FetchedItems;

/// What was fetched, and when.
#[derive(Debug)]
pub(crate) struct ChoiceCache {
    kept: Mutex<HashMap<String, (Instant, Arc<FetchedItems>)>>,
    disk: milepost_store::ChoiceCache,
}

impl ChoiceCache {
    /// Those of a process, and those on disk.
    pub(crate) fn open(locations: &Locations) -> ChoiceCache {
        ChoiceCache { kept: Mutex::default(), disk: milepost_store::ChoiceCache::open(locations) }
    }

    /// What this process fetched for a key, unless that is longer ago than it may be.
    pub(crate) fn recent(&self, key: &str, ttl: Duration) -> Option<Arc<FetchedItems>> {
        let kept = locked(&self.kept);
        let (when, fetched) = kept.get(key)?;
        (when.elapsed() < ttl).then(|| Arc::clone(fetched))
    }

    /// What any process fetched for a key, unless that is longer ago than it may be.
    pub(crate) fn fresh(&self, key: &str, ttl: Duration) -> Option<Arc<FetchedItems>> {
        if let Some(fetched) = self.recent(key, ttl) {
            return Some(fetched);
        }
        let kept = self.disk.read(key).filter(|kept| kept.age < ttl)?;
        serde_json::from_slice(&kept.bytes).ok().map(Arc::new)
    }

    /// What was fetched last for a key, however long ago.
    pub(crate) fn last(&self, key: &str) -> Option<Arc<FetchedItems>> {
        if let Some(fetched) = self.recent(key, Duration::MAX) {
            return Some(fetched);
        }
        let kept = self.disk.read(key)?;
        serde_json::from_slice(&kept.bytes).ok().map(Arc::new)
    }

    /// Keeps what was fetched in this process.
    pub(crate) fn put(&self, key: String, fetched: FetchedItems) -> Arc<FetchedItems> {
        let fetched = Arc::new(fetched);
        let mut kept = locked(&self.kept);
        if kept.len() >= limits::CHOICES_KEPT {
            kept.clear();
        }
        kept.insert(key, (Instant::now(), Arc::clone(&fetched)));
        fetched
    }

    /// Keeps what was fetched for other processes as well.
    pub(crate) fn keep(&self, key: String, fetched: FetchedItems) -> Arc<FetchedItems> {
        // That it could not be kept costs a question to the API, and nothing else.
        if let Ok(bytes) = serde_json::to_vec(&fetched) {
            let _ = self.disk.write(&key, &bytes);
        }
        self.put(key, fetched)
    }
}

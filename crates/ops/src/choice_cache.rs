//! Choices that were fetched: a moment ago, since forms ask for the same ones again and again, and
//! the last good ones, which serve when the provider cannot be asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use milepost_store::Locations;

use crate::prelude::*;
use crate::provider::values::FetchedItems;
use crate::recent::Recent;

/// What was fetched, and when.
#[derive(Debug)]
pub(crate) struct ChoiceCache {
    kept: Recent<String, (Instant, Arc<FetchedItems>)>,
    disk: milepost_store::ChoiceCache,
}

impl ChoiceCache {
    /// Those of a process, and those on disk.
    pub(crate) fn open(locations: &Locations) -> ChoiceCache {
        let disk = milepost_store::ChoiceCache::open(locations);
        ChoiceCache { kept: Recent::new(limits::CHOICES_KEPT), disk }
    }

    /// What this process fetched for a key, unless that is longer ago than it may be.
    pub(crate) fn recent(&self, key: &str, ttl: Duration) -> Option<Arc<FetchedItems>> {
        let (_, fetched) =
            self.kept.find(|known, (when, _)| known == key && when.elapsed() < ttl)?;
        Some(fetched)
    }

    /// What any process fetched for a key, unless that is longer ago than it may be.
    pub(crate) fn fresh(&self, key: &str, ttl: Duration) -> Option<Arc<FetchedItems>> {
        self.recent(key, ttl).or_else(|| {
            let kept = self.disk.read(key).filter(|kept| kept.age < ttl)?;
            serde_json::from_slice(&kept.bytes).ok().map(Arc::new)
        })
    }

    /// What was fetched last for a key, however long ago.
    pub(crate) fn last(&self, key: &str) -> Option<Arc<FetchedItems>> {
        self.fresh(key, Duration::MAX)
    }

    /// Keeps what was fetched in this process.
    pub(crate) fn put(&self, key: String, fetched: FetchedItems) -> Arc<FetchedItems> {
        let fetched = Arc::new(fetched);
        self.kept.keep(key, (Instant::now(), Arc::clone(&fetched)));
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

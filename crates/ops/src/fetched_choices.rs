//! Caches fetched choices: recent ones, because forms request the same ones repeatedly, and the
//! last good ones, as a fallback when the provider is unavailable.

use std::sync::Arc;
use std::time::{Duration, Instant};

use milepost_model::secret::known_secrets;
use milepost_store::Locations;

use crate::lru_cache::LruCache;
use crate::prelude::*;
use crate::provider::values::FetchedItems;

/// Fetched items with the time they were fetched.
#[derive(Debug)]
pub(crate) struct FetchedChoices {
    kept: LruCache<String, (Instant, Arc<FetchedItems>)>,
    disk: milepost_store::ChoiceCache,
}

impl FetchedChoices {
    /// Opens the cache: in memory, and on disk.
    pub(crate) fn open(locations: &Locations) -> FetchedChoices {
        let disk = milepost_store::ChoiceCache::open(locations);
        FetchedChoices { kept: LruCache::new(limits::CHOICES_KEPT), disk }
    }

    /// Items that this process fetched within the TTL.
    pub(crate) fn recent(&self, key: &str, ttl: Duration) -> Option<Arc<FetchedItems>> {
        let (_, fetched) =
            self.kept.find(|known, (when, _)| known == key && when.elapsed() < ttl)?;
        Some(fetched)
    }

    /// Items that any process fetched within the TTL.
    pub(crate) fn fresh(&self, key: &str, ttl: Duration) -> Option<Arc<FetchedItems>> {
        self.recent(key, ttl).or_else(|| {
            let kept = self.disk.read(key).filter(|kept| kept.age < ttl)?;
            serde_json::from_slice(&kept.bytes).ok().map(Arc::new)
        })
    }

    /// The last items fetched, regardless of their age.
    pub(crate) fn last(&self, key: &str) -> Option<Arc<FetchedItems>> {
        self.fresh(key, Duration::MAX)
    }

    /// Caches items in this process.
    pub(crate) fn put(&self, key: String, fetched: FetchedItems) -> Arc<FetchedItems> {
        let fetched = Arc::new(fetched);
        self.kept.keep(key, (Instant::now(), Arc::clone(&fetched)));
        fetched
    }

    /// Caches items for other processes as well, unless they contain a secret.
    pub(crate) fn keep(&self, key: String, fetched: FetchedItems) -> Arc<FetchedItems> {
        // Best effort: a failure only costs another request to the API. Files are not encrypted.
        let is_secret =
            |bytes: &[u8]| known_secrets::mask().is_some_and(|mask| mask.finds_bytes(bytes));
        if let Some(bytes) = serde_json::to_vec(&fetched).ok().filter(|bytes| !is_secret(bytes)) {
            let _ = self.disk.write(&key, &bytes);
        }
        self.put(key, fetched)
    }
}

//! A bounded cache that evicts the least recently used entry.

use std::collections::VecDeque;
use std::sync::Mutex;

use crate::prelude::*;

/// The most recently used entries, newest last. There are few, so lookups scan them.
#[derive(Debug)]
pub(crate) struct LruCache<K, V> {
    entries: Mutex<VecDeque<(K, V)>>,
    most: usize,
}

impl<K: PartialEq, V: Clone> LruCache<K, V> {
    pub(crate) fn new(most: usize) -> LruCache<K, V> {
        LruCache { entries: Mutex::default(), most }
    }

    /// The first matching entry, which becomes the most recently used.
    pub(crate) fn find(&self, fits: impl Fn(&K, &V) -> bool) -> Option<V> {
        let mut entries = locked(&self.entries);
        let index = entries.iter().position(|(key, value)| fits(key, value))?;
        let (key, value) = entries.remove(index)?;
        entries.push_back((key, value.clone()));
        Some(value)
    }

    /// Adds an entry, replacing any with the same key. If the cache is full, the least recently
    /// used entry is evicted.
    pub(crate) fn keep(&self, key: K, value: V) {
        let mut entries = locked(&self.entries);
        entries.retain(|(known, _)| *known != key);
        if entries.len() >= self.most {
            entries.pop_front();
        }
        entries.push_back((key, value));
    }
}

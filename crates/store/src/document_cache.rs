//! A bounded cache of recently used documents, so that a large library needs little memory.

use std::collections::VecDeque;

use crate::index::FileId;
use crate::library::LibraryMatch;
use crate::limits;

/// The recently used documents, most recent last.
#[derive(Debug, Default)]
pub(crate) struct DocumentCache {
    held: VecDeque<Held>,
    bytes: usize,
}

#[derive(Debug)]
struct Held {
    file: FileId,
    found: LibraryMatch,
    bytes: usize,
}

impl DocumentCache {
    /// The cached match for a file, which becomes the most recent.
    pub(crate) fn get(&mut self, file: FileId) -> Option<LibraryMatch> {
        let at = self.held.iter().rposition(|held| held.file == file)?;
        if let Some(held) = self.held.remove(at) {
            self.held.push_back(held);
        }
        self.held.back().map(|held| held.found.clone())
    }

    /// Caches a match and evicts the least recently used ones. The newest is always kept, even if
    /// it alone exceeds the limit.
    pub(crate) fn put(&mut self, file: FileId, found: LibraryMatch, bytes: usize) {
        self.held.push_back(Held { file, found, bytes });
        self.bytes += bytes;
        while self.held.len() > 1
            && (self.held.len() > limits::DOCUMENTS || self.bytes > limits::DOCUMENTS_BYTES)
        {
            let eldest = self.held.pop_front();
            self.bytes -= eldest.map_or(0, |held| held.bytes);
        }
    }
}

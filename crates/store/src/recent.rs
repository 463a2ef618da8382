//! The documents asked for last. Bounded, so that a large library stays small in memory.

use std::collections::VecDeque;

use crate::index::FileId;
use crate::library::LibraryMatch;
use crate::limits;

/// The documents asked for last, the latest at the end.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    held: VecDeque<Held>,
    bytes: usize,
}

#[derive(Debug)]
struct Held {
    file: FileId,
    found: LibraryMatch,
    bytes: usize,
}

impl Recent {
    /// What is held of a file, which is then the latest.
    pub(crate) fn get(&mut self, file: FileId) -> Option<LibraryMatch> {
        let at = self.held.iter().rposition(|held| held.file == file)?;
        if let Some(held) = self.held.remove(at) {
            self.held.push_back(held);
        }
        self.held.back().map(|held| held.found.clone())
    }

    /// Holds what was found, and lets go of what was not asked for longest. The latest is always
    /// held, however large it is.
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

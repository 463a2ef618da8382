//! Byte ranges in the source of a document.

use std::ops::Range;

/// A range of byte offsets in a source; both ends are on character boundaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The offset of the first byte.
    pub start: u32,
    /// The offset after the last byte.
    pub end: u32,
}

impl Span {
    pub const START: Span = Span { start: 0, end: 0 };

    /// The span from `start` up to but not including `end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The span from the start of this one to the end of `last`.
    #[must_use]
    pub fn to(self, last: Span) -> Span {
        Span { start: self.start, end: last.end }
    }

    /// This span in a larger string that contains the source at `offset`.
    #[must_use]
    pub fn shifted(self, offset: u32) -> Span {
        Span { start: self.start + offset, end: self.end + offset }
    }

    pub fn holds(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// The span as a range to slice a string with.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

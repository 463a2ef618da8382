//! Parts of a document that was read whole before, and is known to be as it was then.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::stamp::FileStamp;

/// What a document is known by again without reading it: its stamp at a time when that had settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentMark(pub(super) FileStamp);

/// A document that lies open.
#[derive(Debug)]
pub struct DocumentReader {
    file: File,
    length: u64,
}

impl DocumentReader {
    pub(super) fn new(file: File, stamp: FileStamp) -> DocumentReader {
        DocumentReader { file, length: stamp.length() }
    }

    /// Bytes of the whole document.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The text at a range of bytes; `None` when there is none.
    pub fn read(&mut self, range: Range<u64>) -> Option<String> {
        let length = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        self.file.seek(SeekFrom::Start(range.start)).ok()?;
        let mut text = String::with_capacity(length);
        self.file.by_ref().take(length as u64).read_to_string(&mut text).ok()?;
        (text.len() == length).then_some(text)
    }
}

//! Reading parts of a document that was read in full earlier and has not changed since.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::stamp::FileStamp;

/// Recognises a document without reading it: its settled stamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentMark(pub(super) FileStamp);

/// An open document.
#[derive(Debug)]
pub struct DocumentReader {
    file: File,
    length: u64,
}

impl DocumentReader {
    pub(super) fn new(file: File, stamp: FileStamp) -> DocumentReader {
        DocumentReader { file, length: stamp.length() }
    }

    /// The size of the document in bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The text in a byte range; `None` if the range is invalid or cannot be read.
    pub fn read(&mut self, range: Range<u64>) -> Option<String> {
        let length = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
        self.file.seek(SeekFrom::Start(range.start)).ok()?;
        let mut text = String::with_capacity(length);
        self.file.by_ref().take(length as u64).read_to_string(&mut text).ok()?;
        (text.len() == length).then_some(text)
    }
}

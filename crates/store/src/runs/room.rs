//! Room for the log of a journal, made before it is needed.
//!
//! A file that grows is synced with its size and its blocks, which takes two to three times as long
//! as the bytes alone. What is written here are zeros behind the last record, where SQLite expects
//! anything that an earlier log left: a record counts only with the salt and the sums of its log.

use std::fs::OpenOptions;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use crate::limits;

/// Bytes of the header of a log.
const HEADER: u64 = 32;
/// Bytes of a page in the log, with those in front of it.
const RECORD: u64 = 24 + 4096;
/// Pages of the last commit, which may begin when there is room for one more.
const LAST: u64 = 16;

/// Makes the log of a database as long as one that is written over becomes. Only for who may write:
/// anybody else's records would be overwritten.
pub(super) fn make(database: &Path) -> io::Result<()> {
    let mut path = database.as_os_str().to_owned();
    path.push("-wal");
    let mut log = OpenOptions::new().write(true).open(path)?;
    let length = log.seek(SeekFrom::End(0))?;
    let pages = u64::from(limits::LOG_PAGES_LONE.unsigned_abs()) + LAST;
    let missing = (HEADER + pages * RECORD).saturating_sub(length);
    log.write_all(&vec![0; usize::try_from(missing).unwrap_or(0)])
}

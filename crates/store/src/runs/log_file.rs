//! The file of a journal's log: room in it that is made early, and its way to the disk.
//!
//! A file that grows is synced with its size and its blocks, which takes two to three times as long
//! as the bytes alone. What is written here are zeros behind the last record, where `SQLite`
//! expects anything that an earlier log left: a record counts only with the salt and the sums of
//! its log.

#[cfg(target_os = "linux")]
use std::fs::File;
use std::fs::{self, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::mem;
#[cfg(target_os = "linux")]
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::{Path, PathBuf};

#[cfg(target_os = "linux")]
use rustix::fs::Advice;

use crate::limits;

/// Bytes of the header of a log.
const HEADER: u64 = 32;
/// Bytes of a page in the log, with those in front of it.
const RECORD: u64 = 24 + 4096;
/// Pages of the last commit, which may begin when there is room for one more.
const LAST: u32 = 16;

/// The log of a database.
pub(super) struct LogFile {
    path: PathBuf,
    /// Whether nothing was written to it by this process.
    fresh: bool,
    /// Whether there is room in it, as far as that can be made.
    roomy: bool,
}

impl LogFile {
    /// Of a database.
    pub(super) fn of(database: &Path) -> LogFile {
        let mut path = database.as_os_str().to_owned();
        path.push("-wal");
        LogFile { path: path.into(), fresh: true, roomy: false }
    }

    /// Makes it as long as one that is written over becomes, once. Only for who may write: anybody
    /// else's records would be overwritten. Without room it grows by itself, and a full disk is
    /// told of by that.
    pub(super) fn make_room(&mut self) {
        if !mem::replace(&mut self.roomy, true) {
            drop(self.fill());
        }
    }

    fn fill(&self) -> io::Result<()> {
        let mut log = OpenOptions::new().write(true).open(&self.path)?;
        let length = log.seek(SeekFrom::End(0))?;
        let pages = limits::LOG_PAGES_LONE.unsigned_abs() + LAST;
        let missing = end_of(pages).saturating_sub(length);
        // Half of it is worth nothing to anybody.
        let zeros = vec![0; usize::try_from(missing).unwrap_or(0)];
        log.write_all(&zeros).inspect_err(|_| drop(log.set_len(length)))
    }

    /// Whether this process writes to it for the first time, and this is that time.
    pub(super) fn begins(&mut self) -> bool {
        mem::take(&mut self.fresh)
    }

    /// Whether nobody has written to it.
    pub(super) fn is_empty(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() == 0)
    }

    /// Lets the disk begin with pages that nobody syncs yet: whoever has to wait for them at the
    /// end waits for less. No error is taken from whoever syncs them.
    pub(super) fn write_back(&self, pages: Range<i32>) {
        #[cfg(target_os = "linux")]
        {
            let from = end_of(pages.start.unsigned_abs());
            let length = NonZeroU64::new(end_of(pages.end.unsigned_abs()).saturating_sub(from));
            // What was not written yet is only begun with by this, and stays in memory.
            let begin = |log: File| rustix::fs::fadvise(&log, from, length, Advice::DontNeed);
            drop(File::open(&self.path).map(begin));
        }
        #[cfg(not(target_os = "linux"))]
        drop(pages);
    }
}

/// Where so many pages of a log end.
fn end_of(pages: u32) -> u64 {
    HEADER + u64::from(pages) * RECORD
}

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
/// What the room is filled with, at a time.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// The log of a database.
pub(super) struct LogFile {
    path: PathBuf,
    /// Whether nothing was written to it by this process.
    fresh: bool,
    /// How many pages there is room for, as far as that could be made.
    room: u32,
}

impl LogFile {
    /// Of a database.
    pub(super) fn of(database: &Path) -> LogFile {
        let mut path = database.as_os_str().to_owned();
        path.push("-wal");
        LogFile { path: path.into(), fresh: true, room: 0 }
    }

    /// Makes room for a commit behind so many pages, and for some more. Only for who may write:
    /// anybody else's records would be overwritten. Without room it grows by itself, and a full
    /// disk is told of by that.
    pub(super) fn make_room(&mut self, pages: i32) {
        let wanted = pages.unsigned_abs() + limits::LOG_COMMIT_PAGES;
        if wanted > self.room {
            self.room = wanted + limits::LOG_PART_PAGES.unsigned_abs();
            drop(self.fill());
        }
    }

    fn fill(&self) -> io::Result<()> {
        let mut log = OpenOptions::new().write(true).open(&self.path)?;
        let length = log.seek(SeekFrom::End(0))?;
        let mut missing = end_of(self.room).saturating_sub(length);
        while missing > 0 {
            let some = usize::try_from(missing).map_or(ZEROS.len(), |all| all.min(ZEROS.len()));
            // What is half there is worth nothing to anybody.
            log.write_all(&ZEROS[..some]).inspect_err(|_| drop(log.set_len(length)))?;
            missing -= some as u64;
        }
        Ok(())
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

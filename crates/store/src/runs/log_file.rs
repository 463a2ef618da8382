//! The file of a journal's log: room in it that is made before it is needed, and its way to the disk.
//!
//! A file that grows is synced with its size and its blocks, which takes two to three times as long
//! as the bytes alone. What is written here are zeros behind the last record, where SQLite expects
//! anything that an earlier log left: a record counts only with the salt and the sums of its log.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::limits;

/// Bytes of the header of a log.
const HEADER: u64 = 32;
/// Bytes of a page in the log, with those in front of it.
const RECORD: u64 = 24 + 4096;
/// Pages of the last commit, which may begin when there is room for one more.
const LAST: u64 = 16;

/// The log of a database.
pub(super) struct LogFile {
    path: PathBuf,
    /// Whether a part of it is on its way to the disk.
    leaving: Arc<AtomicBool>,
}

impl LogFile {
    /// Of a database.
    pub(super) fn of(database: &str) -> LogFile {
        let path = PathBuf::from(format!("{database}-wal"));
        LogFile { path, leaving: Arc::default() }
    }

    /// Makes it as long as one that is written over becomes. Only for who may write: anybody else's
    /// records would be overwritten.
    pub(super) fn make_room(&self) -> io::Result<()> {
        let mut log = OpenOptions::new().write(true).open(&self.path)?;
        let length = log.seek(SeekFrom::End(0))?;
        let pages = u64::from(limits::LOG_PAGES_LONE.unsigned_abs()) + LAST;
        let missing = (HEADER + pages * RECORD).saturating_sub(length);
        log.write_all(&vec![0; usize::try_from(missing).unwrap_or(0)])
    }

    /// Whether nothing has been written to it.
    pub(super) fn is_empty(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() == 0)
    }

    /// Lets the disk have what it has not got yet, while others go on: whoever has to wait for it
    /// at the end waits for less.
    pub(super) fn write_back(&self) {
        if self.leaving.swap(true, Ordering::AcqRel) {
            return;
        }
        let (path, leaving) = (self.path.clone(), Arc::clone(&self.leaving));
        let write_back = move || {
            // Nobody was promised anything: what fails here fails again where it counts.
            drop(File::open(path).and_then(|log| log.sync_data()));
            leaving.store(false, Ordering::Release);
        };
        if thread::Builder::new().name("runs-log".to_owned()).spawn(write_back).is_err() {
            self.leaving.store(false, Ordering::Release);
        }
    }
}

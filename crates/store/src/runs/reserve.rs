//! Room on the disk that is kept for what must still be written when it is full: how requests
//! ended that are under way. It is given up for that, and nothing new is written before it is there
//! again.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{file, limits};

const FILE: &str = "runs.reserve";
/// What it is filled with, at a time.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// The reserve of a directory.
#[derive(Debug)]
pub(super) struct DiskReserve {
    path: PathBuf,
    /// Whether this process has given it up.
    used: AtomicBool,
}

impl DiskReserve {
    /// Makes it where it is not there. On a disk that has no room for it there is none.
    pub(super) fn of(directory: &Path) -> DiskReserve {
        let reserve = DiskReserve { path: directory.join(FILE), used: AtomicBool::new(false) };
        reserve.make();
        reserve
    }

    /// Gives it up, so that there is room.
    pub(super) fn give_up(&self) {
        self.used.store(true, Ordering::Release);
        drop(fs::remove_file(&self.path));
    }

    /// Whether something new may be written: the reserve was not needed, or is there again.
    pub(super) fn is_there(&self) -> bool {
        if !self.used.load(Ordering::Acquire) {
            return true;
        }
        let made = self.make();
        if made {
            self.used.store(false, Ordering::Release);
        }
        made
    }

    fn make(&self) -> bool {
        let is_whole = |file: fs::Metadata| file.len() >= limits::RESERVE_BYTES as u64;
        if fs::metadata(&self.path).is_ok_and(is_whole) {
            return true;
        }
        // Written, because a file system may promise room that it does not have. The room counts
        // as taken from then on, so nobody waits until it is on the disk.
        let written = file::owned().truncate(true).open(&self.path).and_then(|mut file| {
            for _ in 0..limits::RESERVE_BYTES / ZEROS.len() {
                file.write_all(&ZEROS)?;
            }
            Ok(())
        });
        if written.is_err() {
            drop(fs::remove_file(&self.path));
        }
        written.is_ok()
    }
}

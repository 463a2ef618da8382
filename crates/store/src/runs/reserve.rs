//! Disk space reserved for data that must be written even when the disk is full: the outcomes of
//! requests in flight. Once the reserve has been used, nothing new is written until it is restored.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{file, limits};

const FILE: &str = "runs.reserve";
/// One chunk of the reserve file, which consists of zeros.
static ZEROS: [u8; 64 * 1024] = [0; 64 * 1024];

/// A directory's disk reserve.
#[derive(Debug)]
pub(super) struct DiskReserve {
    path: PathBuf,
    /// Whether this process has used the reserve.
    used: AtomicBool,
}

impl DiskReserve {
    /// Creates the reserve if it does not exist. If the disk is full, the reserve is not created.
    pub(super) fn of(directory: &Path) -> DiskReserve {
        let reserve = DiskReserve { path: directory.join(FILE), used: AtomicBool::new(false) };
        reserve.make();
        reserve
    }

    /// Frees the reserved space.
    pub(super) fn give_up(&self) {
        self.used.store(true, Ordering::Release);
        drop(fs::remove_file(&self.path));
    }

    /// Whether new data may be written: the reserve was not used, or has been restored.
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
        // The file is actually written, because a file system may promise space that it does not
        // have. The space is allocated from then on, so no sync is needed.
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

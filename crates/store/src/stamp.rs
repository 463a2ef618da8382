//! File metadata used to detect changes to a file without opening it, and whether that metadata can
//! be relied on.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use cap_std::fs::Metadata;
#[cfg(unix)]
use cap_std::fs::MetadataExt;
use serde::{Deserialize, Serialize};

use crate::limits;

/// If two observations yield the same stamp, and the first one is settled, the file did not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileStamp {
    pub(crate) length: u64,
    modified_ns: i64,
    /// The time of the last metadata change, if the system records it. Unlike the modification
    /// time, it cannot be set back.
    changed_ns: i64,
    inode: u64,
    device: u64,
}

impl FileStamp {
    /// The stamp for metadata from the standard library.
    pub(crate) fn of_file(metadata: std::fs::Metadata) -> FileStamp {
        FileStamp::of(&Metadata::from_just_metadata(metadata))
    }

    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> FileStamp {
        let ns = |seconds: i64, rest: i64| seconds.saturating_mul(1_000_000_000) + rest;
        FileStamp {
            length: metadata.len(),
            modified_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
            changed_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
            device: metadata.dev(),
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn of(metadata: &Metadata) -> FileStamp {
        let modified = metadata.modified().map_or(UNIX_EPOCH, |time| time.into_std());
        let created = metadata.created().map_or(UNIX_EPOCH, |time| time.into_std());
        let modified_ns = since_epoch_ns(modified);
        FileStamp {
            length: metadata.len(),
            modified_ns,
            changed_ns: modified_ns,
            // The creation time is the closest thing to an identity here: a file that replaces this
            // one is created later.
            inode: since_epoch_ns(created) as u64,
            device: 0,
        }
    }

    /// The stamp as observed after `clock` was read.
    ///
    /// A later write gets a timestamp of at least `clock`, within the precision of the file system.
    /// Unless the last change is well before that, such a write could get the same timestamp as the
    /// last change.
    pub(crate) fn seen(self, clock: SystemTime) -> ObservedStamp {
        let age = since_epoch_ns(clock).saturating_sub(self.changed_ns);
        let whole_seconds = self.changed_ns % 1_000_000_000 == 0;
        let enough =
            if whole_seconds { limits::SETTLED_AFTER_COARSE } else { limits::SETTLED_AFTER };
        ObservedStamp { stamp: self, settled: age >= as_ns(enough) }
    }
}

/// A stamp, and whether seeing an equal stamp later proves that nothing changed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ObservedStamp {
    stamp: FileStamp,
    settled: bool,
}

impl ObservedStamp {
    /// The stamp, if seeing an equal one later proves that nothing changed.
    pub(crate) fn settled(&self) -> Option<FileStamp> {
        self.settled.then_some(self.stamp)
    }

    /// Whether the file is known not to have changed since this observation.
    pub(crate) fn is_still(&self, now: FileStamp) -> bool {
        self.settled && self.stamp == now
    }
}

fn since_epoch_ns(time: SystemTime) -> i64 {
    time.duration_since(UNIX_EPOCH).map_or(0, as_ns)
}

fn as_ns(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp(changed_ns: i64) -> FileStamp {
        FileStamp { length: 1, modified_ns: 0, changed_ns, inode: 1, device: 1 }
    }

    fn check_settled(changed_ns: i64, looked_ns: i64, expected: bool) {
        let clock = UNIX_EPOCH + Duration::from_nanos(looked_ns.unsigned_abs());
        let stamp = stamp(changed_ns);
        assert_eq!(stamp.seen(clock).is_still(stamp), expected, "{changed_ns} {looked_ns}");
    }

    #[test]
    fn a_change_settles_after_a_while() {
        const MS: i64 = 1_000_000;
        check_settled(1_001 * MS, 1_001 * MS, false);
        check_settled(1_001 * MS, 1_051 * MS - 1, false);
        check_settled(1_001 * MS, 1_051 * MS, true);
        // Another machine's clock may be ahead.
        check_settled(1_001 * MS, 900 * MS, false);
        // A timestamp without a fraction comes from a file system that stores only whole seconds.
        check_settled(1_000 * MS, 3_999 * MS, false);
        check_settled(1_000 * MS, 4_000 * MS, true);
    }

    #[test]
    fn another_stamp_is_never_the_same_file() {
        let seen = stamp(1).seen(UNIX_EPOCH + Duration::from_mins(1));
        assert!(seen.is_still(stamp(1)));
        assert!(!seen.is_still(stamp(2)));
        assert!(!seen.is_still(FileStamp { length: 2, ..stamp(1) }));
        assert!(!seen.is_still(FileStamp { inode: 2, ..stamp(1) }));
    }
}

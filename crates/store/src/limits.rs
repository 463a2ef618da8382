//! Every bound of the library, named once.

use std::time::Duration;

/// Files that are looked at in one source.
pub const FILES: usize = 20_000;
/// How deep a source is searched.
pub const DEPTH: usize = 16;
/// Documents that are kept in memory.
pub const DOCUMENTS: usize = 64;
/// Bytes of text of all documents that are kept in memory.
pub const DOCUMENTS_BYTES: usize = 4 * 1024 * 1024;
/// Folders of all sources that every call looks at. Of more, those that do not hold the workflow
/// asked for are looked at every [`FOLDERS_EVERY`].
pub const FOLDERS: usize = 64;
/// How often the folders beyond [`FOLDERS`] are looked at.
pub const FOLDERS_EVERY: Duration = Duration::from_secs(1);
/// How old a change must be when it is looked at: another one shortly after a younger change could
/// bear the same time.
pub const SETTLED_AFTER: Duration = Duration::from_millis(50);
/// The same on file systems that count whole seconds, the coarsest of them two at a time.
pub const SETTLED_AFTER_COARSE: Duration = Duration::from_secs(3);
/// Ids that calls which arrived together look at once.
pub const LOOKED_FOR: usize = 16;
/// Threads that read files at once.
pub const THREADS: usize = 4;
/// Files that are read on one thread: for so few, others are not worth starting.
pub const FILES_ON_ONE_THREAD: usize = 64;

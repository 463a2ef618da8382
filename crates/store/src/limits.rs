//! Every bound of what is on disk, named once.

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
/// How long a writer waits for another one of the same directory.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How often it looks whether the other is done.
pub const LOCK_EVERY: Duration = Duration::from_millis(2);
/// Bytes of the configuration.
pub const CONFIG_BYTES: usize = 1024 * 1024;
/// Catalogs in one directory.
pub const CATALOGS: usize = 1_000;
/// Bytes of the record of a catalog.
pub const RECORD_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of a file that are compared at a time with what it should hold.
pub const COMPARED_BYTES: usize = 64 * 1024;
/// Bytes of what is derived from a catalog.
pub const DERIVED_BYTES: usize = 128 * 1024 * 1024;
/// Secrets that are kept.
pub const SECRETS: usize = 1_000;
/// Bytes of one secret: a certificate with its chain fits.
pub const SECRET_BYTES: usize = 64 * 1024;
/// Bytes of all secrets, encrypted.
pub const SECRETS_FILE_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of the key of the secrets.
pub const KEY_BYTES: usize = 4 * 1024;
/// How much work it is to try a passphrase, as a power of two: 128 MiB and a fraction of a second.
pub const SCRYPT_LOG_N: u8 = 17;
/// How much work a file may demand: what the `age` tool demands.
pub const SCRYPT_LOG_N_MAX: u8 = 18;
/// Files that a document refers to.
pub const REFERENCED_FILES: usize = 256;
/// Bytes of all files that a document refers to.
pub const REFERENCED_BYTES: usize = 64 * 1024 * 1024;
/// Characters of a reference that are shown when it is refused.
pub const REFERENCE_SHOWN_CHARS: usize = 200;

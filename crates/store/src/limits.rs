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
/// How old a change must be when it is looked at: another one shortly after a younger change could
/// bear the same time.
pub const SETTLED_AFTER: Duration = Duration::from_millis(50);
/// The same on file systems that count whole seconds, the coarsest of them two at a time.
pub const SETTLED_AFTER_COARSE: Duration = Duration::from_secs(3);
/// Threads that read files at once.
pub const THREADS: usize = 4;
/// Files that are read on one thread: for so few, others are not worth starting.
pub const FILES_ON_ONE_THREAD: usize = 64;
/// How long a writer waits for another one of the same directory.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How often it looks whether the other is done.
pub const LOCK_EVERY: Duration = Duration::from_millis(2);
/// How old a part of a file is before its writer may be taken for gone: no write takes so long.
pub const LEFT_AFTER: Duration = Duration::from_mins(10);
/// Bytes of the configuration.
pub const CONFIG_BYTES: usize = 1024 * 1024;
/// Bytes of the log of a workflow's changes that are looked at, from its end: some 50,000 changes.
pub const HISTORY_LOG_BYTES: usize = 16 * 1024 * 1024;
/// Catalogs in one directory.
pub const CATALOGS: usize = 1_000;
/// Bytes of the record of a catalog.
pub const RECORD_BYTES: usize = 4 * 1024 * 1024;
/// Bytes of what is derived from a catalog.
pub const DERIVED_BYTES: usize = 128 * 1024 * 1024;
/// Bytes of the choices of one provider that are kept.
pub const CHOICES_BYTES: usize = 8 * 1024 * 1024;
/// Providers, each with its arguments, whose choices are kept.
pub const CHOICES: usize = 200;
/// Secrets that are kept.
pub const SECRETS: usize = 1_000;
/// Bytes of one secret: a certificate with its chain fits.
pub const SECRET_BYTES: usize = 64 * 1024;
/// Bytes of all secrets, encrypted.
pub const SECRETS_FILE_BYTES: usize = 8 * 1024 * 1024;
/// Bytes of all secret inputs of one run, sealed.
pub const SEALED_INPUTS_BYTES: usize = 1024 * 1024;
/// Sealed inputs that a process looks at to remove those that expired.
pub const SEALED_INPUTS_SWEPT: usize = 1_000;
/// Days that the secret inputs of a run are kept for, unless the configuration says otherwise.
pub const SECRET_INPUTS_DAYS: u64 = 7;
/// Bytes of a file that holds a key.
pub const KEY_FILE_BYTES: usize = 4 * 1024;
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
/// Writes of the journal that wait for the writer; who has one more waits with it.
pub const WRITES_WAITING: usize = 4_096;
/// Writes that are committed at once.
pub const WRITES_AT_ONCE: usize = 256;
/// A synced commit that takes no longer is not worth another thread.
pub const QUICK_COMMIT: Duration = Duration::from_millis(2);
/// Pages of the journal's log that are moved into the database at once: 4 MiB.
pub const LOG_PAGES: i32 = 1_000;
/// Pages that are moved while nobody waits for a write: a log that begins anew need not grow, and a
/// file that grows takes half as long again to sync.
pub const LOG_PAGES_AT_REST: i32 = 100;
/// Runs whose progress a process keeps noted beside the database: more than a log of
/// [`LOG_PAGES`] can hold.
pub const PROGRESS_NOTES: usize = 4_096;
/// Bytes of the file of these notes.
pub(crate) const PROGRESS_FILE_BYTES: usize = 1024 * 1024;
/// Files of such notes that are looked at.
pub(crate) const PROGRESS_FILES: usize = 10_000;
/// Bytes of what tells one start of the machine from another.
pub(crate) const BOOT_ID_BYTES: usize = 64;
/// Bytes on the disk that are kept for the ends of requests under way when it is full.
pub const RESERVE_BYTES: usize = 1024 * 1024;
/// How long a write waits for the writes of other processes.
pub const BUSY_WAIT: Duration = Duration::from_secs(10);
/// How often it looks whether they are done.
pub const BUSY_EVERY: Duration = Duration::from_micros(500);
/// Statements that a connection keeps ready.
pub const STATEMENTS: usize = 64;
/// Connections that are kept for readers.
pub const READERS: usize = 4;
/// Bytes of an event that are kept beside it; more are kept once under their hash.
pub const EVENT_INLINE_BYTES: usize = 64 * 1024;
/// Bytes of an event: what is stored of an answer, and what is said about it.
pub const EVENT_BYTES: usize = 16 * 1024 * 1024;
/// Bytes of all events of one write.
pub const APPEND_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of a message to a run, and of its answer.
pub const MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Messages to one run that are taken up at once.
pub const MESSAGES: usize = 256;
/// Runs that are told of at once.
pub const RUNS_AT_ONCE: usize = 1_000;
/// Events that are read at once.
pub const EVENTS_AT_ONCE: usize = 10_000;
/// Bytes of events after which a page of them ends.
pub const EVENTS_BYTES: usize = 32 * 1024 * 1024;
/// Runs that the beginning of an id may mean before nobody would read the list.
pub const RUNS_MEANT: usize = 20;
/// Runs that are purged in one transaction, so that others need not wait for all of them.
pub const RUNS_PURGED_AT_ONCE: usize = 200;
/// Files beside the journal that are looked at when runs are copied or purged.
pub(crate) const KEPT_FILES: usize = 1_000_000;
/// Bytes of such a file: more than any answer that is kept.
pub(crate) const KEPT_FILE_BYTES: usize = 1024 * 1024 * 1024;
/// How long a file that no run names is kept: a day, for whoever was told where it is.
pub(crate) const KEPT_UNNAMED_MS: u64 = 24 * 60 * 60 * 1_000;
/// Errors of a file that a listing shows.
pub const VIOLATIONS_LISTED: usize = 20;
/// Processes that are woken at once.
pub const LISTENERS: usize = 1_000;
/// For how long a process counts as alive without a sign of life.
pub const HOLDER_TTL: Duration = Duration::from_secs(6);
/// For how many of these a process is believed whose lock is held: it lives, and may only be
/// stopped.
pub const HELD_TTLS: u32 = 10;

/// [`HOLDER_TTL`], which a test may shorten; no release build asks.
pub fn holder_ttl() -> Duration {
    #[cfg(debug_assertions)]
    {
        let text = std::env::var("MILEPOST_LEASE_MS").unwrap_or_default();
        if let Ok(ms) = text.parse() {
            return Duration::from_millis(ms);
        }
    }
    HOLDER_TTL
}

/// For how long a process is believed whose lock is held and whose heartbeat stands still.
pub fn held_ttl() -> Duration {
    holder_ttl().saturating_mul(HELD_TTLS)
}

/// How long a process waits for a wake-up before it looks whether anybody still listens.
pub const LISTEN: Duration = Duration::from_mins(1);

// Documents that runs are pinned to.

/// How long a document stays that no run refers to: the run it was kept for may be about to begin.
pub(crate) const DOCUMENT_UNUSED: Duration = Duration::from_hours(1);

// Names and keys.

/// Characters of the name of a secret.
pub const SECRET_NAME_CHARS: usize = 64;
/// Random bytes of a token that is generated.
pub(crate) const TOKEN_BYTES: usize = 32;
/// Characters that a token has at least: as many as 128 bits take in base64.
pub const TOKEN_CHARS_MIN: usize = 22;
/// Bytes of the file that holds a token.
pub(crate) const TOKEN_FILE_BYTES: usize = 4 << 10;

// The person who decides.

/// Wrong PINs in a row after which the PIN is locked.
pub const PIN_TRIES: u32 = 5;
/// Characters that a PIN has at least.
pub const PIN_CHARS_MIN: usize = 6;
/// How much work it is to try a PIN, as a power of two.
pub(crate) const PIN_SCRYPT_LOG_N: u8 = 15;

// Processes that drive runs.

/// Tries to lock the file that shows a process to be alive. A process that cleans up may hold the
/// lock for a moment.
pub(crate) const ALIVE_TRIES: usize = 100;
/// Pause between two of these tries.
pub(crate) const ALIVE_EVERY: Duration = Duration::from_millis(2);
/// Bytes of the path of a socket, the final zero left out: the least that a supported system
/// allows.
pub(crate) const SOCKET_PATH_BYTES: usize = 103;

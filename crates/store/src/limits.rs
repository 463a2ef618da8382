//! All store limits.

use std::time::Duration;

/// Maximum number of files in one source.
pub const FILES: usize = 20_000;
/// Maximum folder depth in a source.
pub const DEPTH: usize = 16;
/// Maximum number of documents cached in memory.
pub const DOCUMENTS: usize = 64;
/// Maximum total size of the documents cached in memory, in bytes.
pub const DOCUMENTS_BYTES: usize = 4 * 1024 * 1024;
/// How old a change must be before its timestamp can be relied on: another change shortly
/// afterwards could get the same timestamp.
pub const SETTLED_AFTER: Duration = Duration::from_millis(50);
/// Like [`SETTLED_AFTER`], for file systems whose timestamps have a precision of only one or two
/// seconds.
pub const SETTLED_AFTER_COARSE: Duration = Duration::from_secs(3);
/// Maximum number of threads that read files in parallel.
pub const THREADS: usize = 4;
/// Maximum number of files that are read on one thread. Starting more threads for them is not
/// worthwhile.
pub const FILES_ON_ONE_THREAD: usize = 64;
/// How long a writer waits for a directory's lock.
pub const LOCK_WAIT: Duration = Duration::from_secs(10);
/// How long a waiting writer sleeps between attempts to take the lock.
pub const LOCK_EVERY: Duration = Duration::from_millis(2);
/// How old a temporary file must be before its writer can be presumed dead: no write takes that
/// long.
pub const LEFT_AFTER: Duration = Duration::from_mins(10);
/// Maximum size of the configuration file, in bytes.
pub const CONFIG_BYTES: usize = 1024 * 1024;
/// How many bytes of a workflow's change log are read, counted from its end: about 50,000 changes.
pub const HISTORY_LOG_BYTES: usize = 16 * 1024 * 1024;
/// Maximum number of catalogs in one directory.
pub const CATALOGS: usize = 1_000;
/// Maximum size of a catalog record, in bytes.
pub const RECORD_BYTES: usize = 4 * 1024 * 1024;
/// Maximum size of the data derived from a catalog, in bytes.
pub const DERIVED_BYTES: usize = 128 * 1024 * 1024;
/// Maximum size of the cached choices from one provider, in bytes.
pub const CHOICES_BYTES: usize = 8 * 1024 * 1024;
/// Maximum number of cached choice lists, one per provider and arguments.
pub const CHOICES: usize = 200;
/// Maximum number of secrets.
pub const SECRETS: usize = 1_000;
/// Maximum size of a secret, in bytes: enough for a certificate with its chain.
pub const SECRET_BYTES: usize = 64 * 1024;
/// Maximum size of the encrypted secrets file, in bytes.
pub const SECRETS_FILE_BYTES: usize = 8 * 1024 * 1024;
/// Maximum size of a run's encrypted secret inputs, in bytes.
pub const SEALED_INPUTS_BYTES: usize = 1024 * 1024;
/// Maximum number of secret-input files that a process checks for expiry.
pub const SEALED_INPUTS_SWEPT: usize = 1_000;
/// Number of days a run's secret inputs are kept, unless configured otherwise.
pub const SECRET_INPUTS_DAYS: u64 = 7;
/// Maximum size of a key file, in bytes.
pub const KEY_FILE_BYTES: usize = 4 * 1024;
/// The base-2 logarithm of the scrypt work factor for passphrases: 128 MiB and a fraction of a
/// second.
pub const SCRYPT_LOG_N: u8 = 17;
/// The highest logarithm accepted from a file, which is what the `age` tool uses.
pub const SCRYPT_LOG_N_MAX: u8 = 18;
/// Maximum number of files that a document may refer to.
pub const REFERENCED_FILES: usize = 256;
/// Maximum total size of the files that a document refers to, in bytes.
pub const REFERENCED_BYTES: usize = 64 * 1024 * 1024;
/// Maximum number of characters shown of a rejected reference.
pub const REFERENCE_SHOWN_CHARS: usize = 200;
/// Maximum number of journal writes in the writer's queue; further callers block.
pub const WRITES_WAITING: usize = 4_096;
/// Maximum number of writes in one commit.
pub const WRITES_AT_ONCE: usize = 256;
/// If a synced commit takes no longer than this, the next one runs on the calling thread, because
/// handing it to another thread would take longer.
pub const QUICK_COMMIT: Duration = Duration::from_millis(2);
/// Number of pages in the write-ahead log that trigger a checkpoint: 4 MiB.
pub const LOG_PAGES: i32 = 1_000;
/// Like [`LOG_PAGES`], while no write is waiting. Checkpointing early keeps the log from growing,
/// and syncing a growing file takes 50% longer.
pub const LOG_PAGES_AT_REST: i32 = 100;
/// Maximum number of runs whose progress a process records next to the database: more than a log of
/// [`LOG_PAGES`] can hold.
pub const PROGRESS_NOTES: usize = 4_096;
/// Maximum size of a progress file, in bytes.
pub(crate) const PROGRESS_FILE_BYTES: usize = 1024 * 1024;
/// Maximum number of progress files that are read.
pub(crate) const PROGRESS_FILES: usize = 10_000;
/// Maximum size of the machine's boot id, in bytes.
pub(crate) const BOOT_ID_BYTES: usize = 64;
/// Disk space reserved for recording the outcomes of requests in flight when the disk is full, in
/// bytes.
pub const RESERVE_BYTES: usize = 1024 * 1024;
/// How long a write waits for writes by other processes.
pub const BUSY_WAIT: Duration = Duration::from_secs(10);
/// How long a waiting write sleeps between attempts.
pub const BUSY_EVERY: Duration = Duration::from_micros(500);
/// Number of prepared statements cached per connection.
pub const STATEMENTS: usize = 64;
/// Maximum number of idle connections kept for readers.
pub const READERS: usize = 4;
/// Maximum size of an event stored inline, in bytes; larger ones are stored once, under their hash.
pub const EVENT_INLINE_BYTES: usize = 64 * 1024;
/// Maximum size of an event, in bytes: the stored part of a response plus its metadata.
pub const EVENT_BYTES: usize = 16 * 1024 * 1024;
/// Maximum total size of the events in one write, in bytes.
pub const APPEND_BYTES: usize = 64 * 1024 * 1024;
/// Maximum size of a message to a run, and of its reply, in bytes.
pub const MESSAGE_BYTES: usize = 16 * 1024 * 1024;
/// Maximum number of messages to one run that are taken from its inbox at once.
pub const MESSAGES: usize = 256;
/// Maximum number of runs returned by one query.
pub const RUNS_AT_ONCE: usize = 1_000;
/// Maximum number of events read at once.
pub const EVENTS_AT_ONCE: usize = 10_000;
/// Size in bytes at which a page of events ends.
pub const EVENTS_BYTES: usize = 32 * 1024 * 1024;
/// Maximum number of runs listed for an ambiguous id prefix.
pub const RUNS_MEANT: usize = 20;
/// Number of runs purged in one transaction, so that other writers do not have to wait for all of
/// them.
pub const RUNS_PURGED_AT_ONCE: usize = 200;
/// Maximum number of files next to the journal that are examined when runs are backed up or purged.
pub(crate) const KEPT_FILES: usize = 1_000_000;
/// Maximum size of a file next to the journal, in bytes: more than any stored response.
pub(crate) const KEPT_FILE_BYTES: usize = 1024 * 1024 * 1024;
/// How long a file that no run refers to is kept: one day, because someone may have been given its
/// path.
pub(crate) const KEPT_UNNAMED_MS: u64 = 24 * 60 * 60 * 1_000;
/// Maximum number of errors listed for a file.
pub const VIOLATIONS_LISTED: usize = 20;
/// Maximum number of processes that are woken or examined at once.
pub const LISTENERS: usize = 1_000;
/// How long a process counts as alive without a heartbeat.
pub const HOLDER_TTL: Duration = Duration::from_secs(6);
/// Multiple of [`HOLDER_TTL`] to wait for a process that still holds its lock: it is alive and may
/// just be suspended.
pub const HELD_TTLS: u32 = 10;

/// [`HOLDER_TTL`], which tests can shorten through an environment variable. Release builds ignore
/// the variable.
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

/// How long a process counts as alive if it holds its lock but its heartbeat has stopped.
pub fn held_ttl() -> Duration {
    holder_ttl().saturating_mul(HELD_TTLS)
}

/// How long a thread waits for a wake-up before it checks whether anyone is still listening.
pub const LISTEN: Duration = Duration::from_mins(1);

// Documents that runs are pinned to.

/// How long an unreferenced document is kept: the run it was stored for may be about to start.
pub(crate) const DOCUMENT_UNUSED: Duration = Duration::from_hours(1);

// Names and keys.

/// Maximum number of characters in the name of a secret.
pub const SECRET_NAME_CHARS: usize = 64;
/// Number of random bytes in a generated token.
pub(crate) const TOKEN_BYTES: usize = 32;
/// Minimum number of characters in a token: the length of 128 bits in base64.
pub const TOKEN_CHARS_MIN: usize = 22;
/// Maximum size of a token file, in bytes.
pub(crate) const TOKEN_FILE_BYTES: usize = 4 << 10;

// The person who approves.

/// Number of consecutive wrong PINs that cost nothing.
pub const PIN_FREE_TRIES: u32 = 3;
/// How long the next attempt has to wait after one more wrong PIN. Every further one doubles it.
pub const PIN_DELAY: Duration = Duration::from_secs(5);
/// Maximum wait between two attempts.
pub const PIN_DELAY_MAX: Duration = Duration::from_mins(15);
/// How long a PIN that was replaced without the old one is reported.
pub const PIN_REPLACED_SHOWN: Duration = Duration::from_hours(7 * 24);
/// Maximum number of PINs in a row that are remembered.
pub(crate) const PINS: usize = 64;

/// [`PIN_DELAY`], which tests can shorten through an environment variable. Release builds ignore
/// the variable.
pub fn pin_delay() -> Duration {
    #[cfg(debug_assertions)]
    {
        let text = std::env::var("MILEPOST_PIN_DELAY_MS").unwrap_or_default();
        if let Ok(ms) = text.parse() {
            return Duration::from_millis(ms);
        }
    }
    PIN_DELAY
}

/// Minimum number of characters in a PIN.
pub const PIN_CHARS_MIN: usize = 6;
/// The base-2 logarithm of the scrypt work factor for PINs.
pub(crate) const PIN_SCRYPT_LOG_N: u8 = 15;

/// Number of bytes of the code of a secret in a question.
pub(crate) const SECRET_CODE_BYTES: usize = 16;
/// The permission for users other than the owner and the group to change a file.
#[cfg(unix)]
pub(crate) const OTHERS_WRITE_MODE: u32 = 0o002;

// What the person allowed.

/// Maximum number of grants.
pub const GRANTS: usize = 10_000;
/// Maximum size of the file that contains them, in bytes.
pub(crate) const GRANTS_BYTES: usize = 32 << 20;
/// Number of versions of a catalog that stay accepted: open runs may be pinned to older ones.
pub(crate) const ACCEPTED_VERSIONS: usize = 32;
/// Number of characters in the short name of a grant.
pub(crate) const GRANT_ID_CHARS: usize = 12;

// Processes that drive runs.

/// Maximum number of attempts to lock a process's liveness file. A process that is cleaning up may
/// hold the lock briefly.
pub(crate) const ALIVE_TRIES: usize = 100;
/// Pause between attempts to lock that file.
pub(crate) const ALIVE_EVERY: Duration = Duration::from_millis(2);
/// Maximum length of a socket path in bytes, excluding the trailing NUL: the smallest limit of any
/// supported system.
pub(crate) const SOCKET_PATH_BYTES: usize = 103;

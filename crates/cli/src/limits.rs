//! Every limit of the command line.

use std::time::Duration;

// Waiting.

/// How often the spinner turns.
pub(crate) const SPINNER_TICK: Duration = Duration::from_millis(100);
/// How long something takes before a spinner is shown for it.
pub(crate) const SPINNER_DELAY: Duration = Duration::from_millis(200);
/// How long releasing runs may take before the user is told what it waits for.
pub(crate) const LEAVE_DELAY: Duration = Duration::from_millis(200);
/// Seconds that one request for the events of a run waits for new ones: the longest that the
/// operation allows.
pub(crate) const FOLLOW_WAIT_S: u64 = 25;
/// Events within this time are shown together: nobody reads faster.
pub(crate) const FOLLOW_GATHER_MS: u64 = 25;

// Columns of a terminal.

/// Columns that the text of a spinner leaves for the spinner, the time, and the spaces between.
pub(crate) const SPINNER_RESERVED_COLUMNS: usize = 16;
/// Terminals narrower than this are not wrapped for.
pub(crate) const PROSE_COLUMNS_MIN: usize = 20;
/// The minimum width of a column of a table, however narrow the terminal.
pub(crate) const TABLE_COLUMN_MIN: usize = 10;

// What is shown; of more, how many there are.

/// Lines of each kind in the overview; the commands it names list all.
pub(crate) const STATUS_LINES: usize = 10;
/// Warnings about a catalog that are shown one by one.
pub(crate) const REMARKS: usize = 20;
/// Commands in the summary of a catalog.
pub(crate) const CATALOG_COMMANDS: usize = 10;
/// Parameters in one row of a table of providers.
pub(crate) const PROVIDER_PARAMETERS: usize = 3;
/// Fields or values that are named in one cell of a command's tables.
pub(crate) const CELL_NAMES: usize = 8;
/// Bytes of source that are shown on either side of a finding in a very long line.
pub(crate) const SOURCE_AROUND_BYTES: usize = 512;

// Installing into clients.

/// Bytes of a client's configuration. Some clients keep years of history in it.
pub(crate) const CLIENT_CONFIG_BYTES: usize = 64 * 1024 * 1024;
/// Characters of the name that a server is installed under.
pub(crate) const SERVER_NAME_CHARS: usize = 64;
/// Bytes of the receipt of an install: a path, and what was around the entry.
pub(crate) const RECEIPT_BYTES: usize = 256 * 1024;
/// Arrays and objects inside each other in a client's configuration.
pub(crate) const JSONC_DEPTH: usize = 128;
/// Seconds that goose waits for a response: its own default.
pub(crate) const GOOSE_TIMEOUT_S: u64 = 300;

// Traces.

/// How long sending the last spans to a collector may take when the process ends.
#[cfg(feature = "otlp")]
pub(crate) const OTLP_FLUSH: Duration = Duration::from_secs(5);
/// Bytes of a collector's response.
#[cfg(feature = "otlp")]
pub(crate) const OTLP_ANSWER_BYTES: usize = 64 << 10;

// Servers.

/// Threads of a server that work on calls at a time: one that waits for a disk must not keep others
/// waiting.
pub(crate) const SERVER_WORKERS: usize = 4;
/// How often a server without runs checks whether there are any.
pub(crate) const TEND_EVERY: Duration = Duration::from_secs(2);
/// Bytes per token of English and JSON, roughly.
pub(crate) const BYTES_A_TOKEN: usize = 4;
/// Bytes of a file with the keys of an issuer.
pub(crate) const JWKS_FILE_BYTES: usize = 256 << 10;

// Runs.

/// Characters of a hash that are shown.
pub(crate) const HASH_CHARS: usize = 12;

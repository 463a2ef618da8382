//! All limits of the command line.

use std::time::Duration;

// Waiting.

/// How often the spinner is redrawn.
pub(crate) const SPINNER_TICK: Duration = Duration::from_millis(100);
/// How long an operation runs before a spinner is shown.
pub(crate) const SPINNER_DELAY: Duration = Duration::from_millis(200);
/// How long releasing runs may take before the user is told what is being waited for.
pub(crate) const LEAVE_DELAY: Duration = Duration::from_millis(200);
/// Seconds that one request for a run's events waits for new ones, which is the maximum that the
/// operation allows.
pub(crate) const FOLLOW_WAIT_S: u64 = 25;
/// Events within this time are shown together, because nobody reads faster.
pub(crate) const FOLLOW_GATHER_MS: u64 = 25;

// Terminal columns.

/// Columns reserved for the spinner, the time and the spaces between them.
pub(crate) const SPINNER_RESERVED_COLUMNS: usize = 16;
/// Text is not wrapped for terminals narrower than this.
pub(crate) const PROSE_COLUMNS_MIN: usize = 20;
/// The minimum width of a table column, however narrow the terminal.
pub(crate) const TABLE_COLUMN_MIN: usize = 10;

// How much is shown; beyond these limits, only the number of further items.

/// Lines of each kind in the overview; the commands it names list everything.
pub(crate) const STATUS_LINES: usize = 10;
/// Catalog warnings that are shown individually.
pub(crate) const REMARKS: usize = 20;
/// Commands in the summary of a catalog.
pub(crate) const CATALOG_COMMANDS: usize = 10;
/// Parameters in one row of the provider table.
pub(crate) const PROVIDER_PARAMETERS: usize = 3;
/// Fields or values listed in one cell of a command's tables.
pub(crate) const CELL_NAMES: usize = 8;
/// Bytes of source shown on either side of a finding in a very long line.
pub(crate) const SOURCE_AROUND_BYTES: usize = 512;

// Installing into clients.

/// Bytes of a client's configuration file. Some clients keep years of history in it.
pub(crate) const CLIENT_CONFIG_BYTES: usize = 64 * 1024 * 1024;
/// Characters in the name that a server is installed under.
pub(crate) const SERVER_NAME_CHARS: usize = 64;
/// Bytes of an install receipt: a path, and the text around the entry.
pub(crate) const RECEIPT_BYTES: usize = 256 * 1024;
/// Nesting depth of arrays and objects in a client's configuration.
pub(crate) const JSONC_DEPTH: usize = 128;
/// Seconds that goose waits for a response; the same as its own default.
pub(crate) const GOOSE_TIMEOUT_S: u64 = 300;

// Traces.

/// How long sending the last spans to a collector may take when the process exits.
#[cfg(feature = "otlp")]
pub(crate) const OTLP_FLUSH: Duration = Duration::from_secs(5);
/// Bytes of a collector's response.
#[cfg(feature = "otlp")]
pub(crate) const OTLP_ANSWER_BYTES: usize = 64 << 10;

// Servers.

/// Approximate bytes per token of English text and JSON.
pub(crate) const BYTES_A_TOKEN: usize = 4;
/// Bytes of a file with an issuer's keys.
pub(crate) const JWKS_FILE_BYTES: usize = 256 << 10;

// Runs.

/// Characters of a hash that are shown.
pub(crate) const HASH_CHARS: usize = 12;

//! All limits of the command-line interface.

use std::time::Duration;

// Waiting.

/// How often the spinner is redrawn.
pub(crate) const SPINNER_TICK: Duration = Duration::from_millis(100);
/// How often the inbox is read while somebody watches it.
pub(crate) const INBOX_LOOK: Duration = Duration::from_secs(1);
/// How long an operation runs before a spinner is shown.
pub(crate) const SPINNER_DELAY: Duration = Duration::from_millis(200);
/// How long releasing runs may take before the user is told about it.
pub(crate) const LEAVE_DELAY: Duration = Duration::from_millis(200);
/// How long one request for a run's events waits for new ones, in seconds. This is the maximum that
/// the operation allows.
pub(crate) const FOLLOW_WAIT_S: u64 = 25;
/// How long events are collected before they are shown together, in milliseconds. Nobody reads
/// faster than that.
pub(crate) const FOLLOW_GATHER_MS: u64 = 25;

// Terminal columns.

/// Number of columns reserved for the spinner, the time and the spaces between them.
pub(crate) const SPINNER_RESERVED_COLUMNS: usize = 16;
/// Minimum width of a terminal for which text is wrapped, in columns.
pub(crate) const PROSE_COLUMNS_MIN: usize = 20;
/// Minimum width of a table column, regardless of the width of the terminal.
pub(crate) const TABLE_COLUMN_MIN: usize = 10;

// How much is shown. Beyond these limits, only the number of remaining items is shown.

/// Maximum number of lines of each kind in the overview; the commands it names list everything.
pub(crate) const STATUS_LINES: usize = 10;
/// Maximum number of catalog warnings that are shown individually.
pub(crate) const REMARKS: usize = 20;
/// Maximum number of commands in the summary of a catalog.
pub(crate) const CATALOG_COMMANDS: usize = 10;
/// Maximum number of parameters in one row of the provider table.
pub(crate) const PROVIDER_PARAMETERS: usize = 3;
/// Maximum number of fields or values listed in one cell of a command's tables.
pub(crate) const CELL_NAMES: usize = 8;
/// Maximum number of bytes of source shown on either side of a finding in a very long line.
pub(crate) const SOURCE_AROUND_BYTES: usize = 512;

// Installing into clients.

/// Maximum size of a client's configuration file, in bytes. Some clients keep years of history in
/// it.
pub(crate) const CLIENT_CONFIG_BYTES: usize = 64 * 1024 * 1024;
/// Maximum number of characters in the name that a server is installed under.
pub(crate) const SERVER_NAME_CHARS: usize = 64;
/// Maximum size of an install receipt, in bytes. It contains a path and the text around the entry.
pub(crate) const RECEIPT_BYTES: usize = 256 * 1024;
/// Maximum nesting depth of arrays and objects in a client's configuration.
pub(crate) const JSONC_DEPTH: usize = 128;
/// How long goose waits for a response, in seconds; the same as its own default.
pub(crate) const GOOSE_TIMEOUT_S: u64 = 300;

// Traces.

/// How long sending the last spans to a collector may take when the process exits.
#[cfg(feature = "otlp")]
pub(crate) const OTLP_FLUSH: Duration = Duration::from_secs(5);
/// Maximum size of a collector's response, in bytes.
#[cfg(feature = "otlp")]
pub(crate) const OTLP_ANSWER_BYTES: usize = 64 << 10;

// Servers.

/// Approximate bytes per token of English text and JSON.
pub(crate) const BYTES_A_TOKEN: usize = 4;
/// Maximum size of a file with an issuer's keys, in bytes.
pub(crate) const JWKS_FILE_BYTES: usize = 256 << 10;

// Runs.

/// Number of characters of a hash that are shown.
pub(crate) const HASH_CHARS: usize = 12;
/// Maximum number of characters of a form field's name in its prompt.
pub(crate) const FIELD_CHARS: usize = 60;

//! Every bound of the edge, named once.

use std::time::Duration;

/// Bytes of one line, without its line end. A longer one is skipped and answered with a fault.
pub const LINE_BYTES: usize = 4 << 20;
/// Arrays and objects inside each other in one line. What reads `params` recurses, this deep.
pub const DEPTH: usize = 128;
/// Messages in one batch.
pub const BATCH_MESSAGES: usize = 1_000;
/// Answers to one batch, in bytes: an array cannot leave before it is complete.
pub const BATCH_ANSWER_BYTES: usize = 32 << 20;
/// What one read from the input takes at most.
pub const READ_BYTES: usize = 64 << 10;
/// Answers that wait for the end of a chunk; more than this is written at once. Half of what a
/// pipe holds on Linux: the client reads one half while the other is filled, and nobody waits.
pub const UNSENT_BYTES: usize = 32 << 10;
/// A buffer that a large line or answer made larger than this is given back.
pub const KEPT_BYTES: usize = 256 << 10;
/// Significant digits before a number is looked at again: it may be too large for a float.
pub(crate) const PLAIN_DIGITS: usize = 300;
/// How long the input must be quiet after a signal before the server ends.
pub const QUIET: Duration = Duration::from_millis(20);
/// How long after a signal the server still answers what keeps arriving.
pub const LAST_INPUT: Duration = Duration::from_secs(3);
/// When a server that a signal was to end is ended, whatever it is doing. Later than
/// [`LAST_INPUT`], so that a client that does not stop sending gets its answers in full.
pub const GRACE: Duration = Duration::from_secs(5);
/// Notes of progress that were made and are not yet sent.
pub(crate) const NOTES: usize = 64;
/// Connections over HTTP at a time; more wait until one of them is closed.
pub const CONNECTIONS: usize = 64;
/// Sessions of clients that shook hands, over HTTP, at a time.
pub const SESSIONS: usize = 256;
/// How long a session lives in which nothing happens and nothing is under way.
pub const SESSION_IDLE: Duration = Duration::from_mins(30);
/// How long a client may take to send the head of a request, or to send the next one.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may take to send the body of a request.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Of a body that is too large, how much is read past the limit: a client that still writes would
/// not see its answer.
pub const DISCARDED_BYTES: usize = 16 << 20;
/// Resources that the clients of a server watch together.
pub const WATCHED: usize = 256;

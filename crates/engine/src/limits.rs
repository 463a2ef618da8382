//! All engine limits.

/// Default maximum number of submissions that an agent may make for a step.
pub const SUBMISSIONS: u32 = 5;
/// Maximum number of items in a list that a step runs over.
pub const ITEMS: usize = 10_000;
/// Maximum length of a list for which a person is shown the request of every item; for a longer
/// list, only the step is named.
pub const SHOWN_ITEMS: usize = 100;
/// Maximum depth of nested runs.
pub const DEPTH: u32 = 16;
/// Default delay before the first retry.
pub const BACKOFF_MS: u64 = 500;
/// Default maximum delay before a retry.
pub const BACKOFF_MAX_MS: u64 = 30_000;
/// Maximum delay that a server may request.
pub const RETRY_AFTER_MAX_MS: u64 = 600_000;
/// Default timeout for one attempt.
pub const ATTEMPT_MS: u64 = 30_000;
/// How long after its timeout a request may still arrive: it starts shortly after it is recorded,
/// and the operating system keeps delivering what is already in a socket buffer.
pub const ARRIVAL_MARGIN_MS: u64 = 30_000;
/// Default timeout for a run.
pub const RUN_MS: u64 = 24 * 60 * 60 * 1000;
/// Default delay between two polling passes.
pub const POLL_MS: u64 = 5_000;
/// Default timeout for polling, if the workflow does not limit the number of passes.
pub const POLL_TOTAL_MS: u64 = 600_000;
/// Default maximum number of times that a rejection may send a run back.
pub const SENT_BACK: u32 = 3;
/// Maximum number of characters shown of an actor's name.
pub const COMMENT_CHARS: usize = 4_096;
/// Maximum number of steps in a workflow for which a debug build compares the incrementally updated
/// frontier with one derived from the state.
pub(crate) const COMPARED: usize = 64;
/// Maximum number of characters in the id of a message to a run.
pub const MESSAGE_ID_CHARS: usize = 256;
/// Maximum number of bytes of a request body that are kept with an attempt.
pub const SENT_BODY_BYTES: usize = 4 * 1024;
/// Maximum number of bytes of a request's URL, and of each of its headers, that are kept with an
/// attempt.
pub const SENT_LINE_BYTES: usize = 2 * 1024;
/// Maximum number of request headers that are kept with an attempt.
pub const SENT_HEADERS: usize = 32;
/// Maximum number of writes of one kind, if their number is not known in advance and the run has no
/// budget for writes.
pub const UNKNOWN_WRITES: u64 = 25;
/// Maximum number of lines about a bound in a question.
pub const BOUND_LINES: usize = 20;
/// Number of digits of a request's digest in the key of the question about it.
pub(crate) const QUESTION_DIGITS: usize = 16;

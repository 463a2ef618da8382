//! Every limit of the protocol layer.

use std::time::Duration;

/// Maximum number of bytes in a line, without its line break. A longer line is skipped and answered
/// with an error.
pub const LINE_BYTES: usize = 4 << 20;
/// Maximum nesting of arrays and objects in a line. Parsing `params` recurses this deep.
pub const DEPTH: usize = 128;
/// Maximum number of messages in a batch.
pub const BATCH_MESSAGES: usize = 1_000;
/// Maximum total number of bytes in the answers to a batch. The array can only be sent when it is
/// complete.
pub const BATCH_ANSWER_BYTES: usize = 32 << 20;
/// Maximum number of bytes per read from the input.
pub const READ_BYTES: usize = 64 << 10;
/// Number of bytes of buffered answers above which they are written even before the end of a
/// chunk. This is half of the capacity of a pipe on Linux: the client reads one half while the
/// other is filled, and neither side waits.
pub const UNSENT_BYTES: usize = 32 << 10;
/// Maximum capacity of a buffer that is kept for reuse, in bytes. A larger one is freed.
pub const KEPT_BYTES: usize = 256 << 10;
/// How long the input must be quiet after a signal before the server exits.
pub const QUIET: Duration = Duration::from_millis(20);
/// How long after a signal the server still answers requests that keep arriving.
pub const LAST_INPUT: Duration = Duration::from_secs(3);
/// How long after a signal the process exits, even if it is still working. This is longer than
/// [`LAST_INPUT`], so that a client that keeps sending gets its answers in full.
pub const GRACE: Duration = Duration::from_secs(5);
/// Maximum number of progress notifications that are queued for sending.
pub(crate) const NOTES: usize = 64;
/// Maximum number of concurrent HTTP connections. An additional one takes the place of one that
/// does nothing.
pub const CONNECTIONS: usize = 64;
/// Maximum number of concurrent HTTP connections that have not shown a token.
pub const NEWCOMERS: usize = 32;
/// One in this many places for HTTP connections is left over by streams on which clients only
/// listen, and by the requests of any one caller whom its token names.
pub(crate) const PLACES_LEFT: usize = 4;
/// How long the client of an HTTP connection may leave an answer unread.
pub const WRITE_TIMEOUT: Duration = Duration::from_secs(30);
/// How long an answer must have been unread before its connection is closed for another one.
pub(crate) const STALLED: Duration = Duration::from_millis(200);
/// How often a connection over the limit looks for one that can be closed.
pub(crate) const SLOT_LOOKS: Duration = Duration::from_millis(50);
/// Maximum number of concurrent HTTP sessions, which clients open with a handshake.
pub const SESSIONS: usize = 256;
/// Maximum number of concurrent HTTP sessions of one caller, if tokens name their callers.
pub const SESSIONS_PER_CALLER: usize = 64;
/// Maximum number of requests in flight per HTTP session; additional ones are refused.
pub const SESSION_REQUESTS: usize = 512;
/// How long a session with no activity and nothing in flight is kept.
pub const SESSION_IDLE: Duration = Duration::from_mins(30);
/// How long a client may take to send the head of a request, or to start the next request.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may take to send the body of a request.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of bytes of an oversized body that are read past the limit and discarded, because
/// a client that is still writing would not see its answer.
pub const DISCARDED_BYTES: usize = 16 << 20;
/// Maximum total number of resource subscriptions across all of a server's clients.
pub const WATCHED: usize = 256;
/// Maximum number of resource subscriptions of one caller, if tokens name their callers.
pub const WATCHED_PER_CALLER: usize = 64;
/// Maximum number of bytes of answers over a pipe that are still unread by the client. Above this
/// or [`OUTBOX_MESSAGES`], no more of its requests are read.
pub const OUTBOX_BYTES: usize = 1 << 20;
/// Like [`OUTBOX_BYTES`], counted in messages.
pub const OUTBOX_MESSAGES: usize = 1_024;
/// Maximum number of requests over a pipe that have been read but not yet passed to `rmcp`.
pub(crate) const UNREAD_REQUESTS: usize = 64;
/// Number of requests in flight over a pipe above which each additional one is delayed by up to
/// [`OPEN_PAUSE`].
pub const OPEN_REQUESTS: usize = 512;
/// Like [`OPEN_REQUESTS`], counted in bytes as received.
pub const OPEN_BYTES: usize = 32 << 20;
/// Maximum delay per request. It is bounded because requests may be waiting for something in the
/// client's next line.
pub const OPEN_PAUSE: Duration = Duration::from_millis(50);
/// Maximum number of requests in flight over a pipe; additional ones are refused.
pub const OPEN_REQUESTS_MAX: usize = 4_096;
/// Maximum number of tokens of each kind that are kept for calls that were answered with a
/// question. The oldest is dropped first.
pub(crate) const TOKENS: usize = 256;
/// How long the token of a call that was answered with a question is valid.
pub(crate) const TOKEN_VALID: Duration = Duration::from_mins(5);
/// Maximum number of characters in a question. Anything longer cannot be reviewed in a form.
pub(crate) const QUESTION_CHARS: usize = 8_000;
/// Maximum number of characters of a text beside a form field.
pub(crate) const LABEL_CHARS: usize = 300;
/// Maximum number of questions that are remembered, so that nobody is asked twice.
pub(crate) const QUESTIONS: usize = 1_024;
/// Maximum number of questions that one call may ask.
pub(crate) const QUESTIONS_A_CALL: usize = 8;
/// Minimum and maximum time to wait for the effect of a decision, in seconds.
pub(crate) const DECIDED_WAIT_S: (u64, u64) = (1, 25);
/// Maximum number of failures that are remembered, to detect repeated ones.
pub(crate) const FAILURES: usize = 64;
/// Maximum number of drafts that models may be writing at the same time.
pub(crate) const DRAFTS: usize = 64;
/// Maximum number of times the model is asked for the same block of a draft. Remaining issues are
/// reported with the whole draft.
pub(crate) const BLOCK_TRIES: u32 = 3;
/// Maximum number of tokens for sampling a draft.
pub(crate) const DRAFT_TOKENS: u32 = 16_000;
/// Maximum number of revision 2025-11-25 tasks that are followed at a time, to send status
/// notifications and ask for the input that they are waiting for.
pub(crate) const FOLLOWED: usize = 1_024;
/// The pause between two checks of a run that is waiting for somebody.
pub(crate) const TASK_REST: Duration = Duration::from_millis(250);
/// Maximum number of checks of a run that is waiting for somebody before its current state is
/// returned.
pub(crate) const TASK_LOOKS: usize = 4;
/// Minimum time between two notifications about a task, regardless of how much happens in it.
pub(crate) const TASK_NOTES_APART: Duration = Duration::from_millis(100);
/// How long one status call waits for something to happen in a run, in seconds.
pub(crate) const TASK_WAIT_S: u64 = 20;
/// How long to wait for an event before a run is checked anyway, in seconds. When a child run
/// starts waiting, its parent records no event.
pub(crate) const TASK_NEWS_S: u64 = 1;
/// The poll interval suggested to clients, in milliseconds: for a run that is working, and for one
/// that is waiting.
pub(crate) const TASK_POLL_MS: (u64, u64) = (1_000, 5_000);
pub(crate) const TASK_PAGE: usize = 50;
/// Maximum number of characters that a task summary quotes from the issues with a submission.
pub(crate) const ISSUES_CHARS: usize = 2_000;
/// Maximum number of guides that are listed as prompts.
pub(crate) const PROMPT_GUIDES: usize = 50;
/// Number of worker threads in a server; more than one, so that a call waiting for the disk does
/// not block other calls.
pub(crate) const WORKERS: usize = 4;
/// How often a server without runs checks for new ones.
pub(crate) const TEND_EVERY: Duration = Duration::from_secs(2);
/// How often subscribed resources are checked for changes.
pub(crate) const WATCH_EVERY: Duration = Duration::from_secs(1);
/// How long an HTTP message that overtook another one waits for it: a notification for the request
/// it is about, or a request for an earlier one with the same id.
pub(crate) const OVERTAKEN: Duration = Duration::from_secs(5);
/// Number of times per idle period that sessions are checked.
pub(crate) const SESSION_LOOKS: u32 = 4;
/// Maximum number of characters in a token; a longer one is rejected unread.
pub(crate) const TOKEN_CHARS: usize = 16 << 10;
/// Maximum number of characters in the subject of a token, which names its caller.
pub(crate) const SUBJECT_CHARS: usize = 1_024;
/// Maximum difference between our clock and a token issuer's, in seconds.
pub(crate) const CLOCK_LEEWAY_S: u64 = 30;
/// Maximum number of bytes in metadata or a key set.
pub(crate) const KEYS_BYTES: usize = 256 << 10;
/// How long an authorization server may take to answer.
pub(crate) const KEYS_TIMEOUT: Duration = Duration::from_secs(10);
/// How old keys may get before they are fetched again.
pub(crate) const KEYS_LAST: Duration = Duration::from_mins(10);
/// Minimum age at which keys are fetched again for a token with an unknown key. Anybody can send
/// such a token.
pub(crate) const KEYS_REST: Duration = Duration::from_secs(30);
/// The pause after a failure to accept a connection, which means that the system is short of some
/// resource.
pub(crate) const ACCEPT_REST: Duration = Duration::from_millis(50);
/// How long the last answers may take to be delivered after the server has stopped waiting for
/// requests in flight.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(1);
/// Maximum number of bytes in a plain-text error from `rmcp`, which is always one line.
pub(crate) const REASON_BYTES: usize = 4 << 10;
/// How long the journal may take to answer before it is considered unavailable.
pub(crate) const PROBE_PATIENCE: Duration = Duration::from_secs(2);
/// Number of failures of the same kind after which a tool's schema and an example are shown.
pub(crate) const FAILURES_ENOUGH: u32 = 3;
/// How long a client may cache built-in content, in milliseconds. Such content changes only with a
/// new version of the program.
pub(crate) const FIXED_MS: u64 = 3_600_000;
/// Default maximum number of bytes in a reply.
pub(crate) const REPLY_BYTES: usize = 8 * 1024;
/// Maximum number of bytes in a reply that a caller may request.
pub(crate) const REPLY_BYTES_MAX: usize = 256 * 1024;
/// Maximum number of bytes in the prompt of a due step. It may be longer than other values because
/// it is what the caller asked for.
pub(crate) const PROMPT_BYTES: usize = 64 * 1024;
/// Maximum number of characters shown at each end of a shortened value: with few values, with many,
/// and with very many.
pub(crate) const ENDS_CHARS: [usize; 3] = [400, 80, 0];
/// A value of at most this many bytes is not shortened, because the link would take more space.
pub(crate) const SMALL_BYTES: usize = 200;
/// Maximum number of bytes in a result that is repeated as text. A longer result is complete only
/// as structured content.
pub(crate) const TWICE_BYTES: usize = 32 * 1024;
/// A description of at most this many bytes is omitted, because it adds nothing to the name.
pub(crate) const PLAIN_BYTES: usize = 30;
/// Maximum number of required fields of a result that a tool's output schema lists.
pub(crate) const RESULT_FIELDS: usize = 4;

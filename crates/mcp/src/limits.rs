//! Every limit of the protocol layer, named once.

use std::time::Duration;

/// The maximum number of bytes in a line, without its line break. A longer line is skipped and
/// answered with an error.
pub const LINE_BYTES: usize = 4 << 20;
/// The maximum nesting of arrays and objects in a line. Parsing `params` recurses this deep.
pub const DEPTH: usize = 128;
/// The maximum number of messages in a batch.
pub const BATCH_MESSAGES: usize = 1_000;
/// The maximum number of bytes of all answers to a batch: the array can only be sent when it is
/// complete.
pub const BATCH_ANSWER_BYTES: usize = 32 << 20;
/// The maximum number of bytes per read from the input.
pub const READ_BYTES: usize = 64 << 10;
/// Buffered answers are written at the end of a chunk, or as soon as there are more bytes than
/// this. Half of what a pipe holds on Linux: the client reads one half while the other is filled,
/// and neither side waits.
pub const UNSENT_BYTES: usize = 32 << 10;
/// A buffer that a large line or answer grew beyond this is freed.
pub const KEPT_BYTES: usize = 256 << 10;
/// How long the input must be quiet after a signal before the server exits.
pub const QUIET: Duration = Duration::from_millis(20);
/// How long after a signal the server still answers requests that keep arriving.
pub const LAST_INPUT: Duration = Duration::from_secs(3);
/// When the process exits after a signal, whatever it is doing. Later than [`LAST_INPUT`], so that
/// a client that keeps sending gets its answers in full.
pub const GRACE: Duration = Duration::from_secs(5);
/// Progress notifications that may be queued for sending.
pub(crate) const NOTES: usize = 64;
/// Concurrent HTTP connections; further ones wait until one is closed.
pub const CONNECTIONS: usize = 64;
/// Concurrent HTTP sessions, which clients open with a handshake.
pub const SESSIONS: usize = 256;
/// Requests in flight per HTTP session; further ones are refused.
pub const SESSION_REQUESTS: usize = 512;
/// How long a session with no activity and nothing in flight is kept.
pub const SESSION_IDLE: Duration = Duration::from_mins(30);
/// How long a client may take to send the head of a request, or to start the next request.
pub const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a client may take to send the body of a request.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How many bytes of an oversized body are read past the limit and discarded: a client that is
/// still writing would not see its answer.
pub const DISCARDED_BYTES: usize = 16 << 20;
/// Resources that all clients of a server together may be subscribed to.
pub const WATCHED: usize = 256;
/// Bytes of answers over a pipe that the client has not read yet. Above this or
/// [`OUTBOX_MESSAGES`], no more of its requests are read.
pub const OUTBOX_BYTES: usize = 1 << 20;
/// Like [`OUTBOX_BYTES`], counted in messages.
pub const OUTBOX_MESSAGES: usize = 1_024;
/// Requests over a pipe that have been read but not yet passed to `rmcp`.
pub(crate) const UNREAD_REQUESTS: usize = 64;
/// Requests in flight over a pipe before each further one is delayed by [`OPEN_PAUSE`].
pub const OPEN_REQUESTS: usize = 512;
/// Like [`OPEN_REQUESTS`], counted in bytes as received.
pub const OPEN_BYTES: usize = 32 << 20;
/// The maximum delay per request. It is bounded because requests may be waiting for something that
/// the client says in its next line.
pub const OPEN_PAUSE: Duration = Duration::from_millis(50);
/// The maximum number of requests in flight over a pipe; further ones are refused.
pub const OPEN_REQUESTS_MAX: usize = 4_096;
/// Tokens kept for calls that were answered with a question, per kind; the oldest is dropped first.
pub(crate) const TOKENS: usize = 256;
/// How long such a token is valid.
pub(crate) const TOKEN_VALID: Duration = Duration::from_mins(5);
/// Characters in a question. Anything longer cannot be reviewed in a form.
pub(crate) const QUESTION_CHARS: usize = 8_000;
/// Questions that are remembered, so that nobody is asked twice.
pub(crate) const QUESTIONS: usize = 1_024;
/// Questions that one call may ask.
pub(crate) const QUESTIONS_A_CALL: usize = 8;
/// How many seconds to wait for the effect of a decision: minimum and maximum.
pub(crate) const DECIDED_WAIT_S: (u64, u64) = (1, 25);
/// Failures that are remembered, to detect repeated ones.
pub(crate) const FAILURES: usize = 64;
/// Drafts that models may be writing at the same time.
pub(crate) const DRAFTS: usize = 64;
/// How often the model is asked for the same block of a draft; issues that remain are reported with
/// the whole draft.
pub(crate) const BLOCK_TRIES: u32 = 3;
/// The token limit for sampling a draft.
pub(crate) const DRAFT_TOKENS: u32 = 16_000;
/// Tasks of 2025-11-25 that are followed at a time, to send status notifications and ask for the
/// input they wait for.
pub(crate) const FOLLOWED: usize = 1_024;
/// The pause between two checks of a run that is waiting for somebody.
pub(crate) const TASK_REST: Duration = Duration::from_millis(250);
/// How many times a run that is waiting for somebody is checked before it is shown as it is.
pub(crate) const TASK_LOOKS: usize = 4;
/// The minimum time between two notifications about a task, however much happens in it.
pub(crate) const TASK_NOTES_APART: Duration = Duration::from_millis(100);
/// How many seconds one look at a run waits for something to happen.
pub(crate) const TASK_WAIT_S: u64 = 20;
/// Seconds after which a run is checked even if nothing happened in it: what a child run is waiting
/// for is not an event of its parent.
pub(crate) const TASK_NEWS_S: u64 = 1;
/// The poll interval suggested to clients, in milliseconds: for a run that is working, and for one
/// that is waiting.
pub(crate) const TASK_POLL_MS: (u64, u64) = (1_000, 5_000);
pub(crate) const TASK_PAGE: usize = 50;
/// Characters of the issues with a submission that the summary of a task quotes.
pub(crate) const ISSUES_CHARS: usize = 2_000;
/// Guides that are listed as prompts.
pub(crate) const PROMPT_GUIDES: usize = 50;
/// Worker threads of a server; there are several so that a call waiting for the disk does not block
/// others.
pub(crate) const WORKERS: usize = 4;
/// How often a server without runs checks for new ones.
pub(crate) const TEND_EVERY: Duration = Duration::from_secs(2);
/// How often subscribed resources are checked for changes.
pub(crate) const WATCH_EVERY: Duration = Duration::from_secs(1);
/// How long an HTTP message that overtook another one waits for it: a notification for the request
/// it is about, or a request for an earlier one with the same id.
pub(crate) const OVERTAKEN: Duration = Duration::from_secs(5);
/// How many times per idle period sessions are checked.
pub(crate) const SESSION_LOOKS: u32 = 4;
/// The maximum number of characters in a token; a longer one is rejected unread.
pub(crate) const TOKEN_CHARS: usize = 16 << 10;
/// How many seconds two clocks may differ.
pub(crate) const CLOCK_LEEWAY_S: u64 = 30;
/// The maximum number of bytes in metadata or a key set.
pub(crate) const KEYS_BYTES: usize = 256 << 10;
/// How long an authorization server may take to answer.
pub(crate) const KEYS_TIMEOUT: Duration = Duration::from_secs(10);
/// How old keys may get before they are fetched again.
pub(crate) const KEYS_LAST: Duration = Duration::from_mins(10);
/// The minimum age at which keys are fetched again for a token with an unknown key. Anybody can
/// send such a token.
pub(crate) const KEYS_REST: Duration = Duration::from_secs(30);
/// The pause after a connection could not be accepted: the system is short of some resource.
pub(crate) const ACCEPT_REST: Duration = Duration::from_millis(50);
/// How long the last answers may take to be delivered after the server has stopped waiting for
/// requests in flight.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(1);
/// Bytes of a plain-text error from `rmcp`, which is always one line.
pub(crate) const REASON_BYTES: usize = 4 << 10;
/// How long the journal may take to answer before it counts as unavailable.
pub(crate) const PROBE_PATIENCE: Duration = Duration::from_secs(2);
/// How often a tool must fail in the same way before its schema and an example are shown.
pub(crate) const FAILURES_ENOUGH: u32 = 3;
/// How long a client may cache built-in content, in milliseconds: it changes only with the program.
pub(crate) const FIXED_MS: u64 = 3_600_000;
/// Bytes of a reply, unless the caller asks for another size.
pub(crate) const REPLY_BYTES: usize = 8 * 1024;
/// The maximum number of bytes in a reply.
pub(crate) const REPLY_BYTES_MAX: usize = 256 * 1024;
/// Bytes of a prompt that is due, which is allowed more because it is what the caller came for.
pub(crate) const PROMPT_BYTES: usize = 64 * 1024;
/// Characters shown at each end of a shortened value: with few values, with many, and with very
/// many.
pub(crate) const ENDS_CHARS: [usize; 3] = [400, 80, 0];
/// Values of up to this many bytes are not shortened: the link would take more space.
pub(crate) const SMALL_BYTES: usize = 200;
/// The largest result, in bytes, that is also repeated as text. A longer one is complete in one
/// form only.
pub(crate) const TWICE_BYTES: usize = 32 * 1024;
/// A description of up to this many bytes says no more than the name it belongs to.
pub(crate) const PLAIN_BYTES: usize = 30;
/// Required fields of a result that a tool's output schema lists.
pub(crate) const RESULT_FIELDS: usize = 4;

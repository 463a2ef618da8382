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
/// Requests of one such session that are under way; one more is refused.
pub const SESSION_REQUESTS: usize = 512;
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
/// Answers over a pipe that the client has not read: above either, no more of its requests are
/// read.
pub const OUTBOX_BYTES: usize = 1 << 20;
/// The same in messages.
pub const OUTBOX_MESSAGES: usize = 1_024;
/// Requests over a pipe that were read and are not yet with `rmcp`.
pub(crate) const UNREAD_REQUESTS: usize = 64;
/// Requests over a pipe that are under way before each further one waits a moment.
pub const OPEN_REQUESTS: usize = 512;
/// The same in bytes, as they were sent.
pub const OPEN_BYTES: usize = 32 << 20;
/// How long that moment is at most. Requests may wait for what the client says in its next line.
pub const OPEN_PAUSE: Duration = Duration::from_millis(50);
/// Requests over a pipe that are under way at most; one more is refused.
pub const OPEN_REQUESTS_MAX: usize = 4_096;
/// Tokens of calls that were answered with a question, of each kind; the oldest goes first.
pub(crate) const TOKENS: usize = 256;
/// How long such a token is good.
pub(crate) const TOKEN_VALID: Duration = Duration::from_mins(5);
/// Characters of a question. What is longer cannot be looked at in a form.
pub(crate) const QUESTION_CHARS: usize = 8_000;
/// Questions that are remembered, so that nobody is asked twice.
pub(crate) const QUESTIONS: usize = 1_024;
/// Questions that one call asks.
pub(crate) const QUESTIONS_A_CALL: usize = 8;
/// Seconds to see what comes of a decision: at least, and at most.
pub(crate) const DECIDED_WAIT_S: (u64, u64) = (1, 25);
/// Failures that are remembered, to see which of them come again.
pub(crate) const FAILURES: usize = 64;
/// Drafts that models are writing at a time.
pub(crate) const DRAFTS: usize = 64;
/// How often one block of a draft is asked for; what is wrong with it then is told with the whole.
pub(crate) const BLOCK_TRIES: u32 = 3;
/// Tokens of a draft.
pub(crate) const DRAFT_TOKENS: u32 = 16_000;
/// Tasks of 2025-11-25 that are followed at a time: told of, and asked for what they wait for.
pub(crate) const FOLLOWED: usize = 1_024;
/// Between two looks at a run that waits for somebody.
pub(crate) const TASK_REST: Duration = Duration::from_millis(250);
/// How often a run that waits for somebody is looked at before it is shown as it is.
pub(crate) const TASK_LOOKS: usize = 4;
/// Between two notes on a task, however much happens in it.
pub(crate) const TASK_NOTES_APART: Duration = Duration::from_millis(100);
/// Seconds that one look at a run waits for something to happen.
pub(crate) const TASK_WAIT_S: u64 = 20;
/// Seconds after which a run is looked at though nothing happened in it: what a run of one of its
/// steps waits for is no event of its own.
pub(crate) const TASK_NEWS_S: u64 = 1;
/// How soon a client looks again, in milliseconds: at a run that works, and at one that waits.
pub(crate) const TASK_POLL_MS: (u64, u64) = (1_000, 5_000);
/// Tasks on one page.
pub(crate) const TASK_PAGE: usize = 50;
/// Characters of what was wrong with a submission that the summary of a task quotes.
pub(crate) const ISSUES_CHARS: usize = 2_000;
/// Guides that become prompts of their own.
pub(crate) const PROMPT_GUIDES: usize = 50;
/// How often what somebody watches is looked at.
pub(crate) const WATCH_EVERY: Duration = Duration::from_secs(1);
/// How long whatever overtook a request over HTTP waits for it: a note about it, or a request with
/// the same id.
pub(crate) const OVERTAKEN: Duration = Duration::from_secs(5);
/// How often, in one idle time, sessions are looked at.
pub(crate) const SESSION_LOOKS: u32 = 4;
/// Characters of the longest token that is looked at.
pub(crate) const TOKEN_CHARS: usize = 16 << 10;
/// How far two clocks may be apart.
pub(crate) const CLOCK_LEEWAY_S: u64 = 30;
/// Bytes of the largest metadata or key set.
pub(crate) const KEYS_BYTES: usize = 256 << 10;
/// How long an authorization server may take to answer.
pub(crate) const KEYS_TIMEOUT: Duration = Duration::from_secs(10);
/// When keys are read again although they still serve.
pub(crate) const KEYS_LAST: Duration = Duration::from_mins(10);
/// How soon keys are read again for a token whose key is not among them. Anybody can send one.
pub(crate) const KEYS_REST: Duration = Duration::from_secs(30);
/// Before another connection is taken after one could not be: the system is short of something.
pub(crate) const ACCEPT_REST: Duration = Duration::from_millis(50);
/// How long answers may take to leave once nothing is waited for any longer.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(1);
/// Bytes of an answer of `rmcp` that says why there is none: always one line.
pub(crate) const REASON_BYTES: usize = 4 << 10;
/// How long a journal may take to answer before it counts as one that does not.
pub(crate) const PROBE_PATIENCE: Duration = Duration::from_secs(2);
/// How often a tool fails in the same way before its schema and an example are shown.
pub(crate) const FAILURES_ENOUGH: u32 = 3;
/// How long a client may keep what comes with the program, in milliseconds: it changes with the
/// program alone.
pub(crate) const FIXED_MS: u64 = 3_600_000;
/// Bytes of a reply unless asked otherwise.
pub(crate) const REPLY_BYTES: usize = 8 * 1024;
/// Bytes of a reply at most.
pub(crate) const REPLY_BYTES_MAX: usize = 256 * 1024;
/// Bytes of a prompt that is due: that is what a caller came for.
pub(crate) const PROMPT_BYTES: usize = 64 * 1024;
/// Characters of each end: of few values, of many, of very many.
pub(crate) const ENDS_CHARS: [usize; 3] = [400, 80, 0];
/// A value that is no longer takes less than its address.
pub(crate) const SMALL_BYTES: usize = 200;
/// Bytes of a result that is also told as text. A longer one is whole in one form only.
pub(crate) const TWICE_BYTES: usize = 32 * 1024;
/// A description as long as this says no more than the name it is of.
pub(crate) const PLAIN_BYTES: usize = 30;
/// Fields of a result that are listed.
pub(crate) const RESULT_FIELDS: usize = 4;

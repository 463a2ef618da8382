//! Every bound of the engine.

/// Submissions an agent has for a step, unless authored.
pub const SUBMISSIONS: u32 = 5;
/// Items a step runs over at most.
pub const ITEMS: usize = 10_000;
/// Items of a list up to which a person is shown what is done with each; a longer one is named.
pub const SHOWN_ITEMS: usize = 100;
/// Runs inside runs.
pub const DEPTH: u32 = 16;
/// The first pause before another try, unless authored.
pub const BACKOFF_MS: u64 = 500;
/// The longest pause before another try, unless authored.
pub const BACKOFF_MAX_MS: u64 = 30_000;
/// The longest that a server may ask for.
pub const RETRY_AFTER_MAX_MS: u64 = 600_000;
/// How long one try may take, unless authored.
pub const ATTEMPT_MS: u64 = 30_000;
/// How long after its time was up a request may still arrive: it begins a moment after it is
/// recorded, and the system goes on delivering what stands in a socket.
pub const ARRIVAL_MARGIN_MS: u64 = 30_000;
/// How long a run may take, unless authored.
pub const RUN_MS: u64 = 24 * 60 * 60 * 1000;
/// The pause between two passes of polling, unless authored.
pub const POLL_MS: u64 = 5_000;
/// How long polling may take, unless authored.
pub const POLL_TOTAL_MS: u64 = 600_000;
/// How often a rejection goes back, unless authored.
pub const SENT_BACK: u32 = 3;
/// Characters of a submitted text or a message that are kept with a decision.
pub const COMMENT_CHARS: usize = 4_096;
/// Steps of a workflow up to which a debug build compares what is kept of a run along the way with
/// what follows from its state.
pub(crate) const COMPARED: usize = 64;
/// Characters of the id of a message to a run.
pub const MESSAGE_ID_CHARS: usize = 256;
/// Bytes of the body of a request that are kept with an attempt.
pub const SENT_BODY_BYTES: usize = 4 * 1024;
/// Bytes of the address of a request, and of each of its headers, that are kept with an attempt.
pub const SENT_LINE_BYTES: usize = 2 * 1024;
/// Headers of a request that are kept with an attempt.
pub const SENT_HEADERS: usize = 32;

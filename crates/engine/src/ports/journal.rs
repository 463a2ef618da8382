//! The journal of all runs: what happened in each run, who drives it, and the messages to it.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use milepost_model::digest::Digest;
use milepost_model::id::{RunId, WorkflowId};

use super::{JournalFuture, PinnedText};
use crate::event::JournalEntry;
use crate::signal::{Reply, Signal};
use milepost_model::serialized_enum;

/// Where runs are stored. Every write is atomic, and durable once it is acknowledged. The journal
/// decides whether a holder is alive, without ever comparing the clocks of two processes.
pub trait Journal: Send + Sync + fmt::Debug {
    /// Records a run with its source and first events, and gives its lease to the holder.
    fn create<'a>(&'a self, run: NewRun, holder: &'a HolderId) -> JournalFuture<'a, Created>;

    /// Appends events to a run.
    fn append(&self, what: Append) -> JournalFuture<'_, ()>;

    /// Writes the outcomes of requests even though the disk is full, using space reserved for this;
    /// after that, everything new is refused until there is space again.
    fn append_from_reserve(&self, what: Append) -> JournalFuture<'_, ()> {
        self.append(what)
    }

    /// Acquires a run's lease; `None` if another live holder has it. Any lease that this holder had
    /// before becomes invalid.
    fn take<'a>(
        &'a self,
        run: &'a RunId,
        holder: &'a HolderId,
        takeover: Takeover,
    ) -> JournalFuture<'a, Option<Lease>>;

    /// Releases a lease.
    fn release(&self, lease: Lease) -> JournalFuture<'_, ()>;

    /// Registers a holder as alive before it drives anything. Returns the same as
    /// [`Journal::beat`].
    fn announce<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, Duration>;

    /// Reports that a holder is still alive. Once this is acknowledged, nobody takes over the
    /// holder's runs for the returned duration, counted from when the call was *sent*.
    fn beat<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, Duration>;

    /// Releases all of a holder's leases except those for these runs. If the reply to
    /// [`Journal::take`] was lost, the holder has a lease that it does not know about.
    fn disown<'a>(&'a self, holder: &'a HolderId, driven: Vec<RunId>) -> JournalFuture<'a, ()>;

    /// Releases all of a holder's leases at once.
    fn leave<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, ()>;

    /// Releases all leases held by a process that is exiting, without waiting for the result. The
    /// next process completes what is left undone.
    fn withdraw(&self, holder: &HolderId);

    /// Puts a message into a run's inbox.
    fn send<'a>(
        &'a self,
        run: &'a RunId,
        id: &'a MessageId,
        signal: &'a Signal,
    ) -> JournalFuture<'a, Sent>;

    /// The unanswered messages to a run, in order of arrival.
    fn pending<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, Vec<InboxMessage>>;

    /// The reply to a message, once there is one.
    fn answer<'a>(&'a self, id: &'a MessageId) -> JournalFuture<'a, Option<Reply>>;

    /// Runs that are due or have messages but no live driver, in the order in which they were
    /// started, continuing after `after`.
    fn orphaned<'a>(
        &'a self,
        after: Option<&'a RunId>,
        limit: usize,
        takeover: Takeover,
    ) -> JournalFuture<'a, Vec<RunId>>;

    /// Runs that are only waiting for a timer and whose last event is dated in the future, because
    /// the clock was set back. The rest of their waiting time is measured on the clock of the
    /// process that wakes them.
    fn dated_ahead(&self, limit: usize) -> JournalFuture<'_, Vec<RunId>>;

    /// When the next run becomes due, among those that are not due yet.
    fn next_wake(&self) -> JournalFuture<'_, Option<u64>>;

    /// Whether a live holder is driving a run, or will wake it if it is only waiting for a timer.
    fn is_driven<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, bool>;

    /// A run's record in the index.
    fn run<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, RunRecord>;

    /// A run's events after a sequence number.
    fn events<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
        limit: usize,
    ) -> JournalFuture<'a, EventPage>;

    /// The source of a workflow that a run was pinned to.
    fn text(&self, hash: Digest) -> JournalFuture<'_, Option<String>>;

    /// Stores a source that a run will be pinned to.
    fn keep_text(&self, text: String) -> JournalFuture<'_, ()>;

    /// Lists runs, newest first.
    fn list<'a>(&'a self, filter: &'a RunFilter, limit: usize) -> JournalFuture<'a, RunPage>;

    /// The ids that start with a prefix, with or without `run_`; only the first few if there are
    /// many.
    fn find_prefix<'a>(&'a self, text: &'a str) -> JournalFuture<'a, Vec<RunId>>;

    /// Counts runs, using only the index.
    fn tally(&self) -> JournalFuture<'_, RunCounts>;

    /// Checks that the journal responds. A journal that has not been created yet counts as healthy.
    fn health(&self) -> JournalFuture<'_, ()>;

    /// Whether a write to disk has failed: nothing is acknowledged after that.
    fn has_failed(&self) -> bool;

    /// Whether the journal has ever been created. Checking does not create it.
    fn exists(&self) -> bool;
}

serialized_enum! {
    /// The status of a run in the index.
    RunStatus {
        /// It is recorded but has not started.
        Pending = "pending",
        /// There is something to do now.
        Running = "running",
        /// It is waiting for an agent, a person or a timer.
        Waiting = "waiting",
        /// It ended successfully.
        Succeeded = "succeeded",
        /// It ended in failure.
        Failed = "failed",
        Canceled = "canceled",
    }
}

impl RunStatus {
    /// Whether the run can continue without waiting for anybody.
    pub fn is_moving(self) -> bool {
        matches!(self, RunStatus::Pending | RunStatus::Running)
    }
}

serialized_enum! {
    /// What a run may lose in a power failure.
    Durability {
        /// Nothing that was acknowledged.
        Full = "full",
        /// The most recently acknowledged events. They are written in order and survive the end of
        /// the process; they reach the disk with the next durable write of any run in this process,
        /// or when the log is checkpointed into the database.
        Relaxed = "relaxed",
    }
}

/// A run's state as shown in the index. It follows from the events, but the index cannot interpret
/// them, so the writer supplies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    pub status: RunStatus,
    /// What the run is waiting for.
    pub waiting: Option<String>,
    /// When the run is due again, even if nothing else happens.
    pub wake_ms: Option<u64>,
    pub ended_ms: Option<u64>,
    pub updated_ms: u64,
}

impl RunSummary {
    /// Whether the run is only waiting for a timer.
    pub fn is_asleep(&self) -> bool {
        self.status == RunStatus::Waiting && self.waiting.is_none() && self.wake_ms.is_some()
    }
}

/// Identifies a process that drives runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HolderId(String);

impl HolderId {
    /// Creates an id from eight random bytes. It is short because the path of a socket is limited
    /// to about a hundred bytes.
    pub fn from_bytes(bytes: [u8; 8]) -> HolderId {
        HolderId(format!("{:016x}", u64::from_be_bytes(bytes)))
    }

    /// Parses sixteen hexadecimal digits. Nothing else is accepted, because the id becomes part of
    /// a path.
    pub fn parse(text: &str) -> Option<HolderId> {
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        digits.then(|| HolderId(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HolderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which holders' runs may be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// Only those of holders whose process has certainly ended: a process that was itself suspended
    /// cannot judge whether others are silent.
    Free,
    /// Those of holders that have been silent for too long, as well.
    Silent,
}

/// The right to write to the journal of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    pub run: RunId,
    pub holder: HolderId,
    /// How many times the lease has changed hands.
    pub epoch: u64,
}

/// The id of a message, chosen by its sender: sending a message twice has the same effect as
/// sending it once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(String);

/// The string is not a valid message id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a message id must have 1 to {} visible ASCII characters", crate::limits::MESSAGE_ID_CHARS)]
pub struct InvalidMessageId;

impl MessageId {
    /// Parses a message id.
    pub fn parse(text: &str) -> Result<MessageId, InvalidMessageId> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if visible && (1..=crate::limits::MESSAGE_ID_CHARS).contains(&text.len()) {
            return Ok(MessageId(text.to_owned()));
        }
        Err(InvalidMessageId)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MessageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A message to a run.
#[derive(Debug, Clone, PartialEq)]
pub struct InboxMessage {
    pub id: MessageId,
    /// The content, or why this program cannot read it.
    pub signal: Result<Signal, String>,
}

/// The result of sending a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The message is in the inbox.
    New,
    /// The same message was already there.
    Same,
    /// Another message with this id was already there and is unchanged.
    Other,
}

/// A run to record. The caller chooses its id: recording a run twice has the same effect as
/// recording it once.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// Its record in the index.
    pub record: RunRecord,
    /// The source of the workflow, which the run is pinned to.
    pub text: String,
    /// Other sources that the run refers to, kept for as long as it does.
    pub pinned: Vec<PinnedText>,
    pub entries: Vec<JournalEntry>,
}

/// The result of recording a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// Whether a run with this id already existed; if so, it is unchanged.
    pub already: bool,
    /// The lease, if the run is new.
    pub lease: Option<Lease>,
}

/// Events to append to a run, written atomically.
#[derive(Debug, Clone, PartialEq)]
pub struct Append {
    /// The right to write, which another holder may have taken over in the meantime.
    pub lease: Lease,
    /// The sequence number of the last event that the writer knows.
    pub after_seq: u64,
    pub entries: Vec<JournalEntry>,
    /// The run's state in the index after these events.
    pub standing: RunSummary,
    /// The messages that were handled, each with its reply.
    pub answers: Vec<(MessageId, Reply)>,
    /// When the messages were handled.
    pub at_ms: u64,
    /// What may be lost in a power failure.
    pub durability: Durability,
}

/// A run's record in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    pub id: RunId,
    pub workflow: WorkflowId,
    /// The workflow's display title.
    pub title: String,
    /// The hash of the workflow's source.
    pub text: Digest,
    pub actor: String,
    /// The folder that the run belongs to.
    pub workspace: String,
    /// The run that started this one as a step.
    pub parent: Option<RunId>,
    /// What may be lost in a power failure.
    pub durability: Durability,
    pub created_ms: u64,
    /// The run's state.
    pub standing: RunSummary,
    /// The sequence number of the last event reflected in the state.
    pub last_seq: u64,
    /// Whether the run was quarantined because its journal is damaged.
    pub quarantined: bool,
}

/// Consecutive events.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventPage {
    pub entries: Vec<JournalEntry>,
    /// Whether there are later events.
    pub more: bool,
}

/// Which runs to list: those that meet every condition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs with this status.
    pub status: Option<RunStatus>,
    /// Only runs of this workflow.
    pub workflow: Option<WorkflowId>,
    /// Only runs that belong to this folder.
    pub workspace: Option<String>,
    /// Only runs that this actor started.
    pub actor: Option<String>,
    /// Only child runs of this run.
    pub parent: Option<RunId>,
    /// Only runs that have not ended.
    pub open_only: bool,
    /// Only runs after the page that ended here.
    pub before: Option<Cursor>,
}

/// The end of a page of runs, as a number that callers can serialize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(pub u64);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunPage {
    /// The runs, newest first. A run whose record is damaged counts as quarantined.
    pub runs: Vec<RunRecord>,
    /// The number of records that cannot be read at all.
    pub unreadable: usize,
    /// Where the next page starts; `None` if this is the last page.
    pub next: Option<Cursor>,
}

/// The number of runs of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// Runs by status; statuses without any runs are omitted.
    pub runs: Vec<(String, u64)>,
    /// Waiting runs by the first word of what they are waiting for; the word is empty if they are
    /// waiting for a timer.
    pub waiting: Vec<(String, u64)>,
    /// The number of unanswered messages.
    pub inbox: u64,
}

/// Why a journal could not be read or written; each variant calls for a different reaction.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JournalError {
    #[error("there is no run `{run}`")]
    NotFound { run: RunId },
    /// Another process is driving the run now: stop driving it.
    #[error("another process is now driving run `{run}`")]
    Fenced { run: RunId },
    /// Someone else has appended events: read them and decide again.
    #[error("the last event of run `{run}` is number {last}")]
    OutOfOrder { run: RunId, last: u64 },
    /// One of the run's rows is damaged. The run is quarantined, and all others continue. `seq` is
    /// the first event that cannot be trusted; 0 is the row for the run itself.
    #[error("the journal of run `{run}` is damaged at event {seq}")]
    Corrupt { run: RunId, seq: u64 },
    /// An event is intact, but this program cannot decode it.
    #[error("run `{run}` cannot be read: {reason}")]
    Undecodable { run: RunId, reason: String },
    /// A later version of this program wrote one of the run's events.
    #[error("run `{run}` cannot be read: a newer version of this program wrote its event {seq}")]
    NewerEvent { run: RunId, seq: u64 },
    /// A later version of this program changed the journal in a way that this one cannot handle.
    #[error("`{}` has version {found}; this program supports up to {known}", path.display())]
    Newer { path: PathBuf, found: u32, known: u32 },
    /// The run was quarantined because its journal is damaged.
    #[error("run `{run}` was quarantined because its journal is damaged")]
    Quarantined { run: RunId },
    /// A message with this id was sent to another run.
    #[error("a message with this id was sent to a run other than `{run}`")]
    OtherRun { run: RunId },
    /// More data than may be written at once.
    #[error("{bytes} bytes is too much for one write: the limit is {limit}")]
    TooLarge { bytes: usize, limit: usize },
    /// The disk is full. Nothing was written; later writes may succeed.
    #[error("no space left on disk")]
    Full,
    /// Other processes kept the journal busy for too long. Nothing was written.
    #[error("other processes are keeping the journal busy")]
    Busy,
    /// The disk failed to store a write. Whether the write took effect is unknown. Nothing more is
    /// written until the process is restarted.
    #[error("writing the journal failed: nothing more will be written")]
    Failed,
    /// The target of a copy already exists.
    #[error("`{}` already exists", path.display())]
    Exists { path: PathBuf },
    /// The journal cannot be used at all, because of its file, its key or its version.
    #[error(transparent)]
    Unusable(Arc<dyn Error + Send + Sync>),
}

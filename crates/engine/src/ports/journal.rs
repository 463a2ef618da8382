//! The journal of all runs: what happened in each, who drives it, and what is said to it.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use milepost_model::digest::Digest;
use milepost_model::id::{RunId, WorkflowId};

use super::{JournalFuture, PinnedText};
use crate::event::JournalEntry;
use crate::named_enum::named_enum;
use crate::signal::{Reply, Signal};

/// Where runs are kept. Every write is atomic, and durable when it is acknowledged. Whether a
/// holder is alive is the journal's to judge, and never by comparing the clocks of two processes.
pub trait Journal: Send + Sync + fmt::Debug {
    /// Records a run with its text and first events, and gives its lease to the holder.
    fn create<'a>(&'a self, run: NewRun, holder: &'a HolderId) -> JournalFuture<'a, Created>;

    /// Writes what happened in a run.
    fn append(&self, what: Append) -> JournalFuture<'_, ()>;

    /// Writes how requests ended although there is no room, with what a journal keeps for that; it
    /// then refuses everything new until there is room again.
    fn append_from_reserve(&self, what: Append) -> JournalFuture<'_, ()> {
        self.append(what)
    }

    /// Takes the lease of a run; `None` when another holder that is alive has it. A lease that the
    /// taker had before is void.
    fn take<'a>(
        &'a self,
        run: &'a RunId,
        holder: &'a HolderId,
        takeover: Takeover,
    ) -> JournalFuture<'a, Option<Lease>>;

    /// Gives a lease back.
    fn release(&self, lease: Lease) -> JournalFuture<'_, ()>;

    /// Says for the first time that a holder is alive, before it drives anything. Answers as
    /// [`Journal::beat`] does.
    fn announce<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, Duration>;

    /// Says that a holder is still alive. Once it is acknowledged, nobody takes the holder's runs
    /// for this long from the moment at which it was *sent*.
    fn beat<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, Duration>;

    /// Gives back whatever a holder has but for these runs: a lease whose answer was lost is held
    /// by somebody who does not know it.
    fn disown<'a>(&'a self, holder: &'a HolderId, driven: Vec<RunId>) -> JournalFuture<'a, ()>;

    /// Gives all leases of a holder back at once.
    fn leave<'a>(&'a self, holder: &'a HolderId) -> JournalFuture<'a, ()>;

    /// Gives all leases of a holder back, for a process that has come to its end. Nobody waits for
    /// it: whatever is not done is done by the next process.
    fn withdraw(&self, holder: &HolderId);

    /// Puts a message into the inbox of a run.
    fn send<'a>(
        &'a self,
        run: &'a RunId,
        id: &'a MessageId,
        signal: &'a Signal,
    ) -> JournalFuture<'a, Sent>;

    /// The messages to a run that nobody answered, in the order in which they came.
    fn pending<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, Vec<InboxMessage>>;

    /// The answer to a message, once there is one.
    fn answer<'a>(&'a self, id: &'a MessageId) -> JournalFuture<'a, Option<Reply>>;

    /// Runs that have something to do, or messages, and that no living holder drives: those behind
    /// one of them, in the order in which they were started.
    fn orphaned<'a>(
        &'a self,
        after: Option<&'a RunId>,
        limit: usize,
        takeover: Takeover,
    ) -> JournalFuture<'a, Vec<RunId>>;

    /// Runs that only wait for a time, although their last event is later than it is now: the clock
    /// was set back, and what is left of their time runs on the clock of whoever wakes them.
    fn dated_ahead(&self, limit: usize) -> JournalFuture<'_, Vec<RunId>>;

    /// When the next run is due by its time, of all that are not due yet.
    fn next_wake(&self) -> JournalFuture<'_, Option<u64>>;

    /// Whether a living holder drives a run, or would wake it where it only waits for a time.
    fn is_driven<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, bool>;

    /// A run as the index has it.
    fn run<'a>(&'a self, run: &'a RunId) -> JournalFuture<'a, RunRecord>;

    /// The events of a run behind a number.
    fn events<'a>(
        &'a self,
        run: &'a RunId,
        after: u64,
        limit: usize,
    ) -> JournalFuture<'a, EventPage>;

    /// The text of a workflow that a run was pinned to.
    fn text(&self, hash: Digest) -> JournalFuture<'_, Option<String>>;

    /// Keeps a text that a run will be pinned to.
    fn keep_text(&self, text: String) -> JournalFuture<'_, ()>;

    /// Runs, newest first.
    fn list<'a>(&'a self, filter: &'a RunFilter, limit: usize) -> JournalFuture<'a, RunPage>;

    /// The ids that begin with a text, with or without `run_`; of many, the first few.
    fn find_prefix<'a>(&'a self, text: &'a str) -> JournalFuture<'a, Vec<RunId>>;

    /// How many runs there are, from the index alone.
    fn tally(&self) -> JournalFuture<'_, RunCounts>;

    /// Whether the journal answers. One that nobody has begun yet does.
    fn health(&self) -> JournalFuture<'_, ()>;

    /// Whether the disk failed under a write: nothing is acknowledged from then on.
    fn has_failed(&self) -> bool;

    /// Whether there have ever been runs. Looking creates nothing.
    fn exists(&self) -> bool;
}

named_enum! {
    /// The status of a run in the index.
    RunStatus {
        /// It is recorded and has not begun.
        Pending = "pending",
        /// There is something to do now.
        Running = "running",
        /// It waits for an agent, a person or a time.
        Waiting = "waiting",
        /// It ended well.
        Succeeded = "succeeded",
        /// It ended badly.
        Failed = "failed",
        /// It was canceled.
        Canceled = "canceled",
    }
}

impl RunStatus {
    /// Whether there is something to do that waits for nobody.
    pub fn is_moving(self) -> bool {
        matches!(self, RunStatus::Pending | RunStatus::Running)
    }
}

named_enum! {
    /// What a loss of power may cost a run.
    Durability {
        /// Nothing that was acknowledged.
        Full = "full",
        /// What was acknowledged last. It is written in order, and lasts through the end of the
        /// process; it reaches the disk with the next durable write of any run in this process,
        /// or when the log is moved into the database.
        Relaxed = "relaxed",
    }
}

/// The state of a run as the index shows it. It follows from the events; the index is told because
/// it does not know what they mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunSummary {
    /// Its status.
    pub status: RunStatus,
    /// What it waits for.
    pub waiting: Option<String>,
    /// When it is due again, whatever happens.
    pub wake_ms: Option<u64>,
    /// When it ended.
    pub ended_ms: Option<u64>,
    /// When this became so.
    pub updated_ms: u64,
}

impl RunSummary {
    /// Whether the run waits for nothing but a time.
    pub fn is_asleep(&self) -> bool {
        self.status == RunStatus::Waiting && self.waiting.is_none() && self.wake_ms.is_some()
    }
}

/// A process that drives runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HolderId(String);

impl HolderId {
    /// Of eight random bytes. Short, because the path of a socket may be no longer than about a
    /// hundred bytes.
    pub fn from_bytes(bytes: [u8; 8]) -> HolderId {
        HolderId(format!("{:016x}", u64::from_be_bytes(bytes)))
    }

    /// Reads sixteen hexadecimal digits; anything else could be part of a path.
    pub fn parse(text: &str) -> Option<HolderId> {
        let digits = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        digits.then(|| HolderId(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for HolderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// From whom a run may be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// From nobody but those whose process has certainly ended: whoever was away itself cannot tell
    /// that others are.
    Free,
    /// Also from those who have not been heard of for too long.
    Silent,
}

/// The right to write to the journal of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run: RunId,
    /// Who has it.
    pub holder: HolderId,
    /// How often it changed hands.
    pub epoch: u64,
}

/// The identity of a message, chosen by its sender: sending it twice is sending it once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageId(String);

/// A text that identifies no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the id of a message has 1 to {} visible ASCII characters",
    crate::limits::MESSAGE_ID_CHARS
)]
pub struct InvalidMessageId;

impl MessageId {
    /// Checks a text.
    pub fn parse(text: &str) -> Result<MessageId, InvalidMessageId> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        if visible && (1..=crate::limits::MESSAGE_ID_CHARS).contains(&text.len()) {
            return Ok(MessageId(text.to_owned()));
        }
        Err(InvalidMessageId)
    }

    /// The text.
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
    /// Its identity.
    pub id: MessageId,
    /// What it says, or why this program cannot read it.
    pub signal: Result<Signal, String>,
}

/// What became of a message that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// It is in the inbox.
    New,
    /// It was there already.
    Same,
    /// Another message with this id was there already, and stays as it was.
    Other,
}

/// A run to record. Its id is chosen by the caller: recording it twice is recording it once.
#[derive(Debug, Clone, PartialEq)]
pub struct NewRun {
    /// Its row in the index.
    pub record: RunRecord,
    /// The text of the workflow, which is the run's own from now on.
    pub text: String,
    /// Other texts that it refers to, kept for as long as it does.
    pub pinned: Vec<PinnedText>,
    /// Its first events.
    pub entries: Vec<JournalEntry>,
}

/// What became of a run to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// A run with this id was there already, and stays as it was.
    pub already: bool,
    /// The lease, where the run is new.
    pub lease: Option<Lease>,
}

/// What happened in a run, to be written whole or not at all.
#[derive(Debug, Clone, PartialEq)]
pub struct Append {
    /// The right to write, which another holder may have taken meanwhile.
    pub lease: Lease,
    /// The number of the last event that the writer knows.
    pub after_seq: u64,
    /// What happened.
    pub entries: Vec<JournalEntry>,
    /// The state of the run in the index after that.
    pub standing: RunSummary,
    /// Messages that were taken in, each with its answer.
    pub answers: Vec<(MessageId, Reply)>,
    /// When they were.
    pub at_ms: u64,
    /// What a loss of power may cost.
    pub durability: Durability,
}

/// A run as the index has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    /// Its identity.
    pub id: RunId,
    /// The workflow.
    pub workflow: WorkflowId,
    /// The workflow's name for people.
    pub title: String,
    /// The hash of the workflow's text.
    pub text: Digest,
    /// Who started it.
    pub actor: String,
    /// The folder it belongs to.
    pub workspace: String,
    /// The run one of whose steps it is.
    pub parent: Option<RunId>,
    /// What a loss of power may cost.
    pub durability: Durability,
    /// When it was started.
    pub created_ms: u64,
    /// Its state.
    pub standing: RunSummary,
    /// The number of the last event that its state follows from.
    pub last_seq: u64,
    /// It was set aside because its journal is damaged.
    pub quarantined: bool,
}

/// Events that follow one another.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct EventPage {
    /// The events.
    pub entries: Vec<JournalEntry>,
    /// There are later ones.
    pub more: bool,
}

/// Which runs are asked for: those that meet every condition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// They have this status.
    pub status: Option<RunStatus>,
    /// They are of this workflow.
    pub workflow: Option<WorkflowId>,
    /// They belong to this folder.
    pub workspace: Option<String>,
    /// They are steps of this run.
    pub parent: Option<RunId>,
    /// They have not ended.
    pub open_only: bool,
    /// They come after the page that ended here.
    pub before: Option<Cursor>,
}

/// Where a page of runs ended, as a number for whoever has to write it down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(pub u64);

/// A page of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunPage {
    /// The runs, newest first. One whose row is damaged counts as set aside.
    pub runs: Vec<RunRecord>,
    /// Rows that cannot be read at all.
    pub unreadable: usize,
    /// Where the next page begins; `None` when this is the last one.
    pub next: Option<Cursor>,
}

/// How many runs there are of each kind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// Runs by their status; a status that no run has is not among them.
    pub runs: Vec<(String, u64)>,
    /// Runs that wait, by the first word of what they wait for; empty where that is a time.
    pub waiting: Vec<(String, u64)>,
    /// Messages that nobody answered.
    pub inbox: u64,
}

/// Why a journal could not be read or written; each variant is another thing to do about it.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JournalError {
    /// There is no such run.
    #[error("there is no run `{run}`")]
    NotFound { run: RunId },
    /// Another process drives the run now: stop driving it.
    #[error("run `{run}` is driven by another process now")]
    Fenced { run: RunId },
    /// The journal goes on elsewhere: read the events and decide again.
    #[error("the last event of run `{run}` is number {last}")]
    OutOfOrder { run: RunId, last: u64 },
    /// A row of the run is not as it was written. The run is set aside; all others go on. `seq` is
    /// the first event that cannot be believed; 0 is the row of the run itself.
    #[error("the journal of run `{run}` is damaged at event {seq}")]
    Corrupt { run: RunId, seq: u64 },
    /// An event is as it was written, and this program cannot read it.
    #[error("run `{run}` cannot be read: {reason}")]
    Undecodable { run: RunId, reason: String },
    /// A later version of this program wrote an event of the run.
    #[error("run `{run}` cannot be read: a newer version of this program wrote its event {seq}")]
    NewerEvent { run: RunId, seq: u64 },
    /// A later version of this program changed the journal so that this one cannot use it.
    #[error("`{}` has version {found}, and this program knows {known}", path.display())]
    Newer { path: PathBuf, found: u32, known: u32 },
    /// The run was set aside because its journal is damaged.
    #[error("run `{run}` was set aside because its journal is damaged")]
    Quarantined { run: RunId },
    /// A message of this id was sent to another run.
    #[error("a message of the same id was sent to another run than `{run}`")]
    OtherRun { run: RunId },
    /// More than is ever written at once.
    #[error("{bytes} bytes are too much at once: at most {limit}")]
    TooLarge { bytes: usize, limit: usize },
    /// The disk is full. Nothing of this was written; later writes may be.
    #[error("there is no room left on the disk")]
    Full,
    /// Other processes wrote without a pause for too long. Nothing of this was written.
    #[error("other processes keep the journal busy")]
    Busy,
    /// The disk could not be trusted to keep a write. Whether this one is there is unknown, and
    /// nothing is written any more: end the process and begin anew.
    #[error("the journal could not be written: nothing more will be")]
    Failed,
    /// Something is already there where a copy was to be made.
    #[error("`{}` exists", path.display())]
    Exists { path: PathBuf },
    /// The journal cannot be used at all: its file, its key or its version.
    #[error(transparent)]
    Unusable(Arc<dyn Error + Send + Sync>),
}

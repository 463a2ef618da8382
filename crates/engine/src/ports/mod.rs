//! What a driver of runs needs from its environment: a journal to write to, a way to wake other
//! drivers, and a sender of requests.
//!
//! These are ports: the engine names what it needs, and higher-level crates implement it. Nothing
//! here depends on a database. All methods return boxed futures, so that a driver can hold the
//! ports as `dyn`.

mod dispatch;
mod history;
mod journal;
mod sender;

use std::pin::Pin;

pub use dispatch::{Dispatch, Subscription, Wake};
pub use history::{
    Forgetting, Forgotten, History, PurgeFilter, PurgeReport, RememberedInputs, RestoreReport,
    remembered_in, remembered_prefix,
};
pub use journal::{
    Append, Created, Cursor, Durability, EventPage, HolderId, InboxMessage, InvalidMessageId,
    Journal, JournalError, Lease, MessageId, NewRun, RunCounts, RunFilter, RunPage, RunRecord,
    RunStatus, RunSummary, Sent, Takeover,
};
pub use sender::{
    ChildRun, OpenWorld, OutgoingRequest, PinnedText, PreparedRun, RequestSender, RunContext,
    SendPermit, WorldPin, WorldResult,
};

/// A future that a port returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The result of a journal operation.
pub type JournalFuture<'a, T> = BoxFuture<'a, Result<T, JournalError>>;
